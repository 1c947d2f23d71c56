// SPDX-License-Identifier: Apache-2.0
#include "layout/complement.h"

#include <algorithm>
#include <fmt/format.h>

#include "layout/simplify.h"

namespace tw::layout {
namespace {

// How many times blocks of `block` elements fill the cotarget, extent by extent.
Checked<int64_t> blocks_in(const IntTuple& cotarget, int64_t& block) {
  if (!cotarget.is_tuple()) {
    const int64_t extent = cotarget.value();
    const int64_t count = ceil_div_nonnegative(extent, block);
    block = ceil_div_nonnegative(block, extent);
    return count;
  }
  int64_t count = 1;
  for (const IntTuple& mode : cotarget.elements()) {
    TW_TRY(const int64_t part, blocks_in(mode, block));
    TW_TRY(count, checked_mul(count, part));
  }
  return count;
}

}  // namespace

Checked<Layout> complement(const Layout& a, const IntTuple& cotarget) {
  // The laws of a shape are those of a layout over it.
  TW_TRY(const Layout target, Layout::col_major(cotarget));
  const Layout filtered = filter(a);
  if (filtered.size() == 1) {
    return Layout::col_major(target.size());
  }
  std::vector<FlatMode> modes = flat_modes(filtered);
  for (const FlatMode& mode : modes) {
    if (mode.stride < 0) {
      return fail_law(
          Law::NonNegativeStride, {{"stride", mode.stride}},
          fmt::format("{} has the stride {}; a complement needs strides from 0", a.to_string(), mode.stride));
    }
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const FlatMode& x, const FlatMode& y) { return x.stride < y.stride; });
  std::vector<FlatMode> result;
  int64_t current = 1;
  for (const FlatMode& mode : modes) {
    if (mode.stride < current) {
      return fail_law(Law::Injectivity, {{"stride", mode.stride}, {"covered", current}},
                      fmt::format("{} is not injective: its mode {}:{} steps within the first {} indices, which "
                                  "smaller strides already take",
                                  a.to_string(), mode.extent, mode.stride, current));
    }
    result.push_back({mode.stride / current, current});
    TW_TRY(current, checked_mul(mode.extent, mode.stride));
  }
  int64_t block = current;
  TW_TRY(const int64_t count, blocks_in(cotarget, block));
  result.push_back({count, current});
  TW_TRY(const Layout whole, from_flat_modes(result));
  return coalesce(whole);
}

Checked<Layout> complement(const Layout& a) {
  return complement(a, filter(a).cosize());
}

}  // namespace tw::layout
