// SPDX-License-Identifier: Apache-2.0
#include "layout/recast.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "layout/divide.h"
#include "layout/inverse.h"
#include "layout/simplify.h"

namespace tw::layout {
namespace {

Checked<int> check_factor(int64_t n) {
  if (n < 1) {
    return fail_law(Law::PositiveExtent, {{"n", n}}, fmt::format("a recast by {} is not possible", n));
  }
  return 0;
}

template <class F>
Checked<Layout> each_leaf(const IntTuple& shape, const IntTuple& stride, const F& apply) {
  if (!shape.is_tuple()) {
    return apply(shape.value(), stride.value());
  }
  std::vector<Layout> modes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    auto mode = each_leaf(shape.mode(i), stride.mode(i), apply);
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes.push_back(*std::move(mode));
  }
  return Layout::concat(modes);
}

Checked<Layout> upcast_leaf(int64_t extent, int64_t stride, int64_t n) {
  if (stride == 0) {
    return Layout::make(extent, stride);
  }
  TW_TRY(const int64_t distance, stride < 0 ? checked_mul(stride, -1) : Checked<int64_t>(stride));
  if (distance % n != 0 && n % distance != 0) {
    return fail_law(Law::RecastDivisibility, {{"stride", stride}, {"n", n}},
                    fmt::format("neither of stride {} and {} divides the other", stride, n));
  }
  const int64_t new_distance = ceil_div_nonnegative(distance, n);
  return Layout::make(ceil_div_nonnegative(extent, ceil_div_nonnegative(n, distance)),
                      stride < 0 ? -new_distance : new_distance);
}

Checked<Layout> downcast_leaf(int64_t extent, int64_t stride, int64_t n) {
  if (stride == 1 || stride == -1) {
    TW_TRY(const int64_t new_extent, checked_mul(extent, n));
    return Layout::make(new_extent, stride);
  }
  TW_TRY(const int64_t new_stride, checked_mul(stride, n));
  return Layout::make(extent, new_stride);
}

struct Ratio {
  int64_t up = 1;
  int64_t down = 1;
};

Checked<Ratio> ratio_of(int64_t old_bits, int64_t new_bits) {
  if (old_bits < 1 || new_bits < 1) {
    return fail_law(Law::PositiveExtent, {{"old_bits", old_bits}, {"new_bits", new_bits}},
                    "an element has at least one bit");
  }
  const int64_t common = std::gcd(old_bits, new_bits);
  return Ratio{new_bits / common, old_bits / common};
}

}  // namespace

Checked<Layout> upcast(const Layout& layout, int64_t n) {
  TW_TRY([[maybe_unused]] const int done, check_factor(n));
  return each_leaf(layout.shape(), layout.stride(), [n](int64_t s, int64_t d) { return upcast_leaf(s, d, n); });
}

Checked<Layout> downcast(const Layout& layout, int64_t n) {
  TW_TRY([[maybe_unused]] const int done, check_factor(n));
  const std::vector<int64_t> strides = layout.stride().leaves();
  if (std::none_of(strides.begin(), strides.end(), [](int64_t d) { return d == 1 || d == -1; })) {
    return fail_law(Law::RecastDivisibility, {{"n", n}},
                    fmt::format("{} holds no adjacent elements to split", layout.to_string()));
  }
  return each_leaf(layout.shape(), layout.stride(), [n](int64_t s, int64_t d) { return downcast_leaf(s, d, n); });
}

Checked<Layout> recast(const Layout& layout, int64_t old_bits, int64_t new_bits) {
  TW_TRY(const Ratio ratio, ratio_of(old_bits, new_bits));
  Layout result = layout;
  if (ratio.up != 1) {
    TW_TRY(result, upcast(result, ratio.up));
  }
  if (ratio.down != 1) {
    TW_TRY(result, downcast(result, ratio.down));
  }
  return result;
}

Checked<ComposedLayout> recast(const ComposedLayout& layout, int64_t old_bits, int64_t new_bits) {
  TW_TRY(const Ratio ratio, ratio_of(old_bits, new_bits));
  TW_TRY(Layout inner, recast(layout.inner(), old_bits, new_bits));
  TW_TRY(const int64_t scaled, checked_mul(layout.offset(), ratio.down));
  if (scaled % ratio.up != 0) {
    return fail_law(Law::RecastDivisibility, {{"offset", layout.offset()}, {"n", ratio.up}},
                    fmt::format("the offset {} lies inside an element of {} bits", layout.offset(), new_bits));
  }
  Swizzle outer = layout.outer();
  if (!outer.is_identity()) {
    TW_TRY(outer, upcast(outer, ratio.up));
    TW_TRY(outer, downcast(outer, ratio.down));
  }
  return ComposedLayout::make(outer, scaled / ratio.up, std::move(inner));
}

Checked<int64_t> max_alignment(const Layout& layout) {
  const Layout flat = coalesce(layout);
  TW_TRY(const Layout contiguous, right_inverse(flat));
  TW_TRY(const Layout permuted, logical_divide(flat, contiguous));
  int64_t result = permuted.mode(0).size();
  for (int64_t stride : permuted.mode(1).stride().leaves()) {
    if (stride == INT64_MIN) {
      continue;
    }
    result = std::gcd(result, stride);
  }
  return result;
}

Checked<Layout> domain_distribute(const IntTuple& shape, int64_t count) {
  TW_TRY([[maybe_unused]] const int done, check_factor(count));
  TW_TRY(const Layout domain, Layout::col_major(shape));
  std::vector<FlatMode> result;
  int64_t rest = count;
  for (const FlatMode& mode : flat_modes(domain)) {
    const int64_t part = std::gcd(mode.extent, rest);
    result.push_back({part, mode.stride});
    rest /= part;
  }
  TW_TRY(const Layout whole, from_flat_modes(result));
  return coalesce(whole);
}

}  // namespace tw::layout
