// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "spec/evaluate.h"
#include "task/task.h"

namespace tw::task {

// A small generator that gives the same numbers on every machine (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // In [0, 1).
  double uniform();
  // Mean 0, deviation 1.
  double normal();
  // In [0, bound); REQUIRES: bound > 0.
  uint64_t below(uint64_t bound);

 private:
  uint64_t state_;
};

// Values of one operand, every one representable in the operand's type. Inputs get the distribution; outputs are zero
// (the caller poisons their memory); `inout` operands get values too. Different operands of one seed are independent.
spec::Array generate(const Task& task, size_t operand, const Shape& shape, Distribution distribution, uint64_t seed);

// All operands of one test, as `spec::evaluate` takes them.
struct Inputs {
  Shape shape;
  Distribution distribution = Distribution::Normal;
  uint64_t seed = 0;
  // One entry an operand; outputs are empty.
  std::vector<spec::Array> values;
};
Inputs generate_all(const Task& task, const Shape& shape, Distribution distribution, uint64_t seed);

// The reference on these inputs: one array an operand, filled for outputs, with error bounds.
Result<std::vector<spec::Array>> reference(const Task& task, const Inputs& inputs);

// Rounds one value to what the type can hold.
double representable(double value, ElementType type);

// Memory image of values: element c at offset sum(c[i] * stride[i]); bytes that no element occupies keep what `bytes`
// held. REQUIRES: `bytes` holds the span of the strides.
void encode(const spec::Array& values, ElementType type, std::span<const int64_t> strides_elems,
            std::span<std::byte> bytes);
spec::Array decode(std::span<const std::byte> bytes, ElementType type, std::span<const int64_t> extents,
                   std::span<const int64_t> strides_elems);

// Per element in row-major order: 1 where all its bytes are still `poison`. (A kernel may write the poison pattern by
// chance: only together with a wrong value does it say "never written".)
std::vector<uint8_t> untouched(std::span<const std::byte> bytes, ElementType type, std::span<const int64_t> extents,
                               std::span<const int64_t> strides_elems, std::byte poison);

}  // namespace tw::task
