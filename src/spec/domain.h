// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "spec/term.h"

namespace tw::spec {

// The values that one size may take: multiples of `multiple_of` in [min, max].
struct SizeRange {
  int64_t min = 1;
  int64_t max = std::numeric_limits<int32_t>::max();
  int64_t multiple_of = 1;

  [[nodiscard]] bool contains(int64_t value) const { return value >= min && value <= max && value % multiple_of == 0; }
  // Whether every value of `inner` is one of ours.
  [[nodiscard]] bool contains(const SizeRange& inner) const;
  // The smallest and largest values that are really taken; REQUIRES: not empty.
  [[nodiscard]] int64_t smallest() const;
  [[nodiscard]] int64_t largest() const;
  [[nodiscard]] bool is_empty() const { return smallest() > max; }
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

// "1 <= K <= 4096, K % 8 == 0"
std::string print(std::string_view name, const SizeRange& range);

// The problem sizes of a task: a range for each dim, independent of each other.
struct ShapeDomain {
  std::vector<SizeRange> ranges;

  [[nodiscard]] bool contains(std::span<const int64_t> extents) const;
  [[nodiscard]] bool contains(const ShapeDomain& inner) const;
};

}  // namespace tw::spec
