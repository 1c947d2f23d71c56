// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "emulator/memory.h"
#include "emulator/report.h"
#include "ir/function.h"

namespace tw::emulator {

// How a tensor without given bytes starts.
enum class Fill : uint8_t {
  Uniform,  // floats: [-1, 1) with all bits of the mantissa used; integers: small
  Grid,     // floats: multiples of 1/8 in [-1, 1]: sums of short products are exact in f32
  Special,  // as Uniform, with infinities and NaN in between
  Zero,
};

struct TensorInput {
  // All bytes of the allocation, or empty: made by `fill` from the problem's seed.
  std::shared_ptr<const std::vector<std::byte>> bytes;
  Fill fill = Fill::Uniform;
};

// One launch: sizes and scalar arguments by name, contents of the tensors. Out and Work tensors start poisoned.
struct Problem {
  std::map<std::string, int64_t> sizes;
  std::map<std::string, double> scalars;
  std::map<std::string, TensorInput> tensors;
  uint64_t seed = 1;
  Fill default_fill = Fill::Uniform;
  // Blocks of a persistent kernel; 0: as many as points, at most `default_persistent_blocks`.
  int64_t persistent_blocks = 0;
};
constexpr int64_t kDefaultPersistentBlocks = 3;

struct BoundTensor {
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
  int element_bytes = 1;
  // Elements from the first to the last one; 0 when an extent is 0.
  int64_t allocation_elements = 0;

  [[nodiscard]] int64_t element_count() const;
  // Coordinates of the element at this distance, nullopt in a gap between rows or outside.
  [[nodiscard]] std::optional<std::vector<int64_t>> coordinates(int64_t element) const;
};

// The function with its sizes known.
struct BoundProblem {
  const ir::Function* function = nullptr;
  // By symbol; sizes and scalars only.
  std::vector<std::optional<int64_t>> symbols;
  std::vector<BoundTensor> tensors;
  // By position in Function::scalars.
  std::vector<double> scalars;
  // Blocks of the grid.
  int64_t grid = 1;
};

Result<BoundProblem, ReadingError> bind(const ir::Function& function, const Problem& problem);

// Bytes of one tensor's allocation. Reads outside it are the caller's mistake.
class TensorMemory {
 public:
  TensorMemory(const ir::Function& function, size_t tensor, const BoundTensor& bound, const Problem& problem);
  void read(int64_t byte, int64_t count, std::byte* out) { bytes_.read(byte, count, out); }
  void write(int64_t byte, int64_t count, const std::byte* in) { bytes_.write(byte, count, in); }

 private:
  Paged<std::byte> bytes_;
};

// The bytes with which every tensor starts, for callers that need the inputs themselves (a reference computation).
Result<std::vector<std::byte>, ReadingError> initial_bytes(const ir::Function& function, const Problem& problem,
                                                           ir::TensorId tensor);

}  // namespace tw::emulator
