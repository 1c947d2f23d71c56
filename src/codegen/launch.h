// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/function.h"

namespace tw::codegen {

// The launch ABI: extern "C" NAME(pointers in the order of the parameters, sizes in order of first appearance as i32,
// scalar arguments), one-dimensional grid and block, dynamic shared memory.
struct LaunchParameter {
  enum class Kind : uint8_t { Pointer, Size, Scalar } kind = Kind::Pointer;
  std::string name;
  ElementType element = ElementType::I32;
  bool is_const = false;
  ir::TensorId tensor;
  ir::SymbolId symbol;
};

struct Precondition {
  enum class Kind : uint8_t {
    // A condition over sizes and scalar arguments.
    Condition,
    // A pointer is a multiple of 16 bytes.
    Aligned,
    // A written tensor shares no memory with any other.
    Disjoint,
    // Contents; a launcher cannot check them.
    Finite,
  } kind = Kind::Condition;
  std::string text;
  ir::ExprId condition;
  ir::TensorId tensor;
};

struct LaunchPlan {
  std::string kernel_name;
  std::vector<LaunchParameter> parameters;
  // The grid is the largest of the tile spaces' products (each factor list); 1 without tile spaces.
  struct TileSpace {
    std::vector<ir::ExprId> extents;
    bool is_persistent = false;
  };
  std::vector<TileSpace> spaces;
  // Blocks that a persistent kernel starts at most.
  int64_t persistent_blocks = 0;
  int threads = 0;
  int64_t shared_bytes = 0;
  std::vector<Precondition> preconditions;
};

using SymbolValues = std::function<std::optional<int64_t>(ir::SymbolId)>;

LaunchPlan plan_launch(const ir::Function& function);
// Number of blocks; the error says which expression has no value or that the grid exceeds 2^31 - 1 blocks. 0: nothing
// to do.
Result<int64_t> grid_blocks(const LaunchPlan& plan, const ir::Function& function, const SymbolValues& values);
// The conditions that do not hold for these sizes and arguments.
std::vector<std::string> violated_conditions(const LaunchPlan& plan, const ir::Function& function,
                                             const SymbolValues& values);

// What an emitter needs of a function: Stage::Lowered, layouts, address maps, decodings, no pipelines, no operands of
// mma in memory, vector widths that the hardware has. The error names the op and what is missing.
Status check_ready(const ir::Function& function);

}  // namespace tw::codegen
