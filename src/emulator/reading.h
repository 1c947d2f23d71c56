// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "emulator/memory.h"
#include "emulator/problem.h"
#include "emulator/report.h"
#include "emulator/tile.h"
#include "emulator/walk.h"

namespace tw::emulator {

// The first half of the emulator: the reading R(P) executed directly, on a function of any stage. A block is one unit;
// tiles are whole arrays; there are no layouts, no slots, no barriers. `commit`, `drain` and `sync` do nothing.

// A value to look at each time that an op (a `check` too) has run, also when the reading stops later.
struct Watch {
  uint32_t op_id = 0;
  ir::ValueId value;
  std::function<void(const TilePtr&)> seen;
};

struct ReadingOptions {
  // Which blocks to run; empty: all.
  std::vector<int64_t> blocks;
  WalkLimits limits;
  // Bytes of shared cells (all versions) of one block.
  size_t shared_cell_bytes = size_t{1} << 30;
  // Carry along how far products added in another order, or with cut bits, may be away.
  bool mma_in_any_order = false;
  // Complain about Out elements that no block wrote; only when all blocks run.
  bool check_coverage = true;
  std::optional<Watch> watch;
};

// Write instances that a read gets, as instance + 1; kIncoming: the value at launch; kOutside: a pad.
constexpr uint32_t kIncoming = 0;
constexpr uint32_t kOutside = UINT32_MAX;
constexpr uint32_t kMixed = UINT32_MAX - 1;
struct ReadTrace {
  // kMixed: one a tile element (row-major).
  uint32_t uniform = kIncoming;
  std::vector<uint32_t> per_element;
  [[nodiscard]] uint32_t writer(size_t element) const { return uniform == kMixed ? per_element[element] : uniform; }
};

// What is known of a global element that the launch may write.
struct CellShadow {
  // Block + 1 of the writer and of the reader; UINT32_MAX: several readers.
  uint32_t writer_block = 0;
  uint32_t reader_block = 0;
  // Instance + 1 in the writer's block.
  uint32_t writer_instance = 0;
  uint32_t contributions = 0;
  const ir::Op* writer_op = nullptr;
  float slack = 0;
  // Sum of magnitudes of contributions: they may be added in any order.
  float magnitude = 0;
  Status status = Status::Real;
};

// Global memory as the reading sees it: elements, and who wrote them.
class ReadingMemory {
 public:
  ReadingMemory(const BoundProblem& bound, const Problem& problem);

  TensorMemory& bytes(size_t tensor) { return bytes_[tensor]; }
  Paged<CellShadow>& shadow(size_t tensor) { return shadows_[tensor]; }
  [[nodiscard]] const Paged<CellShadow>& shadow(size_t tensor) const { return shadows_[tensor]; }
  int64_t& written(size_t tensor) { return written_[tensor]; }

 private:
  std::vector<TensorMemory> bytes_;
  std::vector<Paged<CellShadow>> shadows_;
  std::vector<int64_t> written_;
};

// The reading of one block. `traces[i]` belongs to Walk::regions[i] (empty for regions that are only written).
struct BlockReading {
  Walk walk;
  std::vector<ReadTrace> traces;
};

// Runs one block on `memory`. `with_trace` fills BlockReading::traces.
Result<BlockReading, ReadingError> read_block(const BoundProblem& bound, int64_t block, const ReadingOptions& options,
                                              bool with_trace, ReadingMemory& memory);

// The result of a whole launch.
struct Reading {
  BoundProblem bound;
  std::shared_ptr<ReadingMemory> memory;
  // The first finding; the reading is complete only without one.
  std::optional<ReadingError> error;

  // All bytes of a tensor's allocation after the launch.
  [[nodiscard]] std::vector<std::byte> bytes_of(ir::TensorId tensor) const;
};

// REQUIRES: `function` outlives the result.
Reading run_reading(const ir::Function& function, const Problem& problem, const ReadingOptions& options = {});

// Where two readings of one problem leave different outputs, beyond what another order of additions explains:
// R(lowered) against R(source). REQUIRES: equal tensors. At most `limit` differences.
struct OutputDifference {
  CellName cell;
  std::string first;
  std::string second;
};
std::vector<OutputDifference> compare_outputs(const Reading& first, const Reading& second, size_t limit = 8);

// Is the difference of two elements explained by the order of additions in the reading that `shadow` belongs to? Equal
// bits and two NaNs always are.
bool is_within_reassociation(ElementType type, const std::byte* a, const std::byte* b, const CellShadow& shadow);

// The first Out element that nobody wrote.
std::optional<ReadingError> find_unwritten(const BoundProblem& bound, ReadingMemory& memory);

}  // namespace tw::emulator
