// SPDX-License-Identifier: Apache-2.0
#include "layout/composition.h"

#include <algorithm>

#include <fmt/format.h>

#include "layout/simplify.h"

namespace tw::layout {
namespace {

// |value|, or nothing for the one number that has none.
Checked<int64_t> magnitude(int64_t value) { return value < 0 ? checked_mul(value, -1) : Checked<int64_t>(value); }

Checked<Layout> compose_leaf(const std::vector<FlatMode>& a, int64_t extent, int64_t stride) {
  if (stride == 0) {
    return Layout::make(extent, 0);
  }
  if (a.size() <= 1) {
    TW_TRY(const int64_t value, checked_mul(stride, a.empty() ? 0 : a[0].stride));
    return Layout::make(extent, value);
  }
  const int64_t sign = stride < 0 ? -1 : 1;
  std::vector<FlatMode> result;
  int64_t rest_extent = extent;
  TW_TRY(int64_t rest_stride, magnitude(stride));
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    const int64_t s = a[i].extent;
    if (rest_stride % s != 0 && rest_stride >= s) {
      return fail_law(Law::StrideDivisibility,
                      {{"stride", rest_stride}, {"extent", s}, {"left_mode", static_cast<int64_t>(i)}},
                      fmt::format("stride {} of {}:{} steps over mode {} of the left side, whose extent {} does not "
                                  "divide it",
                                  rest_stride, extent, stride, i, s));
    }
    const int64_t available = ceil_div_nonnegative(s, rest_stride);
    if (available != 1 && rest_extent != 1) {
      const int64_t taken = std::min(available, rest_extent);
      if (rest_extent % taken != 0) {
        return fail_law(
            Law::ShapeDivisibility,
            {{"extent", rest_extent}, {"taken", taken}, {"left_mode", static_cast<int64_t>(i)}},
            fmt::format("{}:{} takes {} steps in mode {} of the left side, which do not divide the {} that are left",
                        extent, stride, taken, i, rest_extent));
      }
      // Steps of rest_stride that leave the mode must land on its end exactly, or the next mode would be off by the
      // remainder.
      if (s % rest_stride != 0 && taken < rest_extent) {
        return fail_law(Law::StrideDivisibility,
                        {{"stride", rest_stride}, {"extent", s}, {"left_mode", static_cast<int64_t>(i)}},
                        fmt::format("stride {} of {}:{} leaves mode {} of the left side but does not divide its "
                                    "extent {}",
                                    rest_stride, extent, stride, i, s));
      }
      TW_TRY(const int64_t value, checked_mul(sign * rest_stride, a[i].stride));
      result.push_back({taken, value});
      rest_extent /= taken;
    }
    rest_stride = ceil_div_nonnegative(rest_stride, s);
  }
  if (result.empty() || rest_extent != 1) {
    TW_TRY(const int64_t value, checked_mul(sign * rest_stride, a.back().stride));
    result.push_back({rest_extent, value});
  }
  return from_flat_modes(result);
}

Checked<Layout> compose_at(const std::vector<FlatMode>& a, const IntTuple& shape, const IntTuple& stride) {
  if (!shape.is_tuple()) {
    return compose_leaf(a, shape.value(), stride.value());
  }
  std::vector<Layout> modes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    auto mode = compose_at(a, shape.mode(i), stride.mode(i));
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes.push_back(*std::move(mode));
  }
  return Layout::concat(modes);
}

}  // namespace

Checked<Layout> composition(const Layout& a, const Layout& b) {
  return compose_at(merged_modes(a, OutOfRange::Kept), b.shape(), b.stride());
}

Checked<Layout> composition(const Layout& a, const Tiler& tiler) {
  if (tiler.is_keep()) {
    return a;
  }
  if (tiler.is_layout()) {
    return composition(a, tiler.layout());
  }
  if (tiler.modes().size() > a.rank()) {
    return fail_law(
        Law::Rank,
        {{"tiler", static_cast<int64_t>(tiler.modes().size())}, {"layout", static_cast<int64_t>(a.rank())}},
        fmt::format("the tiler has {} modes, the layout {}", tiler.modes().size(), a.rank()));
  }
  std::vector<Layout> modes;
  for (size_t i = 0; i < tiler.modes().size(); ++i) {
    auto mode = composition(a.mode(i), tiler.modes()[i]);
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes.push_back(*std::move(mode));
  }
  return Layout::concat(modes);
}

bool is_admissible(const Layout& a, const Layout& b) { return composition(a, b).has_value(); }

}  // namespace tw::layout
