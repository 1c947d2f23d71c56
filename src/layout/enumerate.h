// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/composed.h"
#include "layout/layout.h"

namespace tw::layout {

// Exact answers by looking at every coordinate. Anything larger than the limit fails with EnumerationLimit rather than
// guess; 2^24 elements take about 0.1 s.
inline constexpr int64_t kMaxEnumeration = int64_t{1} << 24;

// The values at 0, 1, ..., size-1.
[[nodiscard]] Checked<std::vector<int64_t>> all_values(const ComposedLayout& layout, int64_t limit = kMaxEnumeration);
// The distinct values, increasing.
[[nodiscard]] Checked<std::vector<int64_t>> image(const ComposedLayout& layout, int64_t limit = kMaxEnumeration);

// Two indices of equal value: `second` is the smallest index whose value came before, `first` where it came first.
struct Collision {
  int64_t first = 0;
  int64_t second = 0;
  IntTuple first_coordinate;
  IntTuple second_coordinate;
  int64_t value = 0;
};
[[nodiscard]] Checked<std::optional<Collision>> first_collision(const ComposedLayout& layout,
                                                                int64_t limit = kMaxEnumeration);
[[nodiscard]] Checked<bool> is_injective(const ComposedLayout& layout, int64_t limit = kMaxEnumeration);

// The smallest of 0, ..., n-1 that is not a value, if there is one.
[[nodiscard]] Checked<std::optional<int64_t>> first_gap(const ComposedLayout& layout, int64_t n,
                                                        int64_t limit = kMaxEnumeration);
// Each of 0, ..., n-1 is a value (values outside are allowed).
[[nodiscard]] Checked<bool> is_surjective_onto(const ComposedLayout& layout, int64_t n,
                                               int64_t limit = kMaxEnumeration);
// Each of 0, ..., n-1 is the value of exactly one index, and no value lies outside.
[[nodiscard]] Checked<bool> is_bijective_onto(const ComposedLayout& layout, int64_t n, int64_t limit = kMaxEnumeration);

// Without looking at coordinates: strides, sorted, each step over all smaller modes. True implies injective; false says
// nothing ((2,2):(3,2) is injective too).
[[nodiscard]] bool is_injective_by_strides(const Layout& layout);

// Equal as functions: same size and same value at every index.
[[nodiscard]] Checked<bool> is_equal_function(const ComposedLayout& a, const ComposedLayout& b,
                                              int64_t limit = kMaxEnumeration);

}  // namespace tw::layout
