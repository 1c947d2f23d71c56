// SPDX-License-Identifier: Apache-2.0
#include "layout/inverse.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "layout/composition.h"
#include "layout/f2.h"
#include "layout/simplify.h"

namespace tw::layout {
namespace {

struct SourceMode {
  int64_t extent = 1;
  int64_t stride = 0;
  // Where a step along this mode lies in the index.
  int64_t index_step = 1;
  // The last leaf, which takes indices beyond the domain.
  bool is_last = false;
};

// Exchange sort, which is not stable: among equal strides CuTe's choice of inverse depends on this very order.
void exchange_sort(std::vector<SourceMode>& modes) {
  for (size_t i = 0; i < modes.size(); ++i) {
    for (size_t j = i + 1; j < modes.size(); ++j) {
      if (modes[j].stride < modes[i].stride) {
        std::swap(modes[i], modes[j]);
      }
    }
  }
}

std::vector<SourceMode> sorted_modes(const Layout& a) {
  std::vector<SourceMode> modes;
  int64_t step = 1;
  for (const FlatMode& mode : merged_modes(a, OutOfRange::Free)) {
    modes.push_back({mode.extent, mode.stride, step, false});
    step *= mode.extent;
  }
  // A trailing extent of 1 takes the open end to itself: then no mode of size above 1 is open.
  const std::vector<int64_t> extents = a.shape().leaves();
  if (!modes.empty() && extents.back() != 1) {
    modes.back().is_last = true;
  }
  exchange_sort(modes);
  return modes;
}

}  // namespace

Checked<Layout> right_inverse(const Layout& a) {
  std::vector<FlatMode> result;
  int64_t current = 1;
  for (const SourceMode& mode : sorted_modes(a)) {
    if (mode.stride == current) {
      result.push_back({mode.extent, mode.index_step});
      TW_TRY(current, checked_mul(mode.extent, mode.stride));
    }
  }
  TW_TRY(const Layout whole, from_flat_modes(result));
  return coalesce(whole);
}

Checked<Layout> left_inverse(const Layout& a) {
  std::vector<SourceMode> modes = sorted_modes(a);
  if (!modes.empty() && modes.front().stride < 0) {
    return fail_law(
        Law::NonNegativeStride, {{"stride", modes.front().stride}},
        fmt::format("{} has the stride {}; a left inverse needs strides from 0", a.to_string(), modes.front().stride));
  }
  std::erase_if(modes, [](const SourceMode& mode) { return mode.stride == 0; });
  if (modes.empty()) {
    // Every coordinate is at 0: any of them answers, CuTe's form is n:0.
    return Layout::make(a.size(), 0);
  }
  int64_t highest = 0;
  std::vector<FlatMode> result;
  int64_t previous_stride = 1;
  int64_t previous_step = 0;
  for (size_t i = 0; i < modes.size(); ++i) {
    const SourceMode& mode = modes[i];
    if (mode.stride % previous_stride != 0) {
      return fail_law(Law::InverseDivisibility, {{"stride", mode.stride}, {"smaller_stride", previous_stride}},
                      fmt::format("stride {} of {} is not a multiple of its smaller stride {}", mode.stride,
                                  a.to_string(), previous_stride));
    }
    result.push_back({mode.stride / previous_stride, previous_step});
    previous_stride = mode.stride;
    previous_step = mode.index_step;
    // The digit of a value at this stride must be a coordinate of this mode: either digits are cut to its extent by the
    // next stride, or smaller modes never carry into it so far, or the mode is the open end of the index.
    highest += (mode.extent - 1) * mode.stride;
    const bool is_top = i + 1 == modes.size();
    const bool is_cut = !is_top && modes[i + 1].stride / mode.stride <= mode.extent;
    if (!is_cut && !(is_top && mode.is_last) && highest / mode.stride >= mode.extent) {
      return fail_law(Law::Injectivity, {{"stride", mode.stride}, {"extent", mode.extent}, {"reached", highest}},
                      fmt::format("modes of {} overlap: values up to {} carry beyond the mode {}:{}", a.to_string(),
                                  highest, mode.extent, mode.stride));
    }
  }
  result.push_back({modes.back().extent, previous_step});
  TW_TRY(const Layout whole, from_flat_modes(result));
  return coalesce(whole);
}

Layout nullspace(const Layout& a) {
  std::vector<FlatMode> result;
  int64_t step = 1;
  for (const FlatMode& mode : flat_modes(a)) {
    if (mode.stride == 0) {
      result.push_back({mode.extent, mode.extent == 1 ? 0 : step});
    }
    step *= mode.extent;
  }
  return from_flat_modes(result).value();
}

Checked<Layout> max_common_layout(const Layout& a, const Layout& b) {
  TW_TRY(const Layout inverse_b, right_inverse(b));
  TW_TRY(const Layout common, composition(a, inverse_b));
  const Layout first = coalesce(common).mode(0);
  if (first.stride() != IntTuple(1)) {
    return Layout();
  }
  return composition(inverse_b, first);
}

Checked<int64_t> max_common_vector(const Layout& a, const Layout& b) {
  TW_TRY(const Layout common, max_common_layout(a, b));
  return common.size();
}

Checked<int64_t> max_common_vector(const ComposedLayout& a, const ComposedLayout& b) {
  TW_TRY(int64_t vector, max_common_vector(a.inner(), b.inner()));
  const bool is_same = a.outer() == b.outer() && a.offset() == b.offset();
  for (const ComposedLayout* side : {&a, &b}) {
    if (is_same || side->is_plain()) {
      continue;
    }
    // Within aligned blocks of 2^M elements a swizzle keeps the order; the offset must not cut such a block.
    int64_t block = side->outer().is_identity() ? vector : int64_t{1} << side->outer().base();
    if (side->offset() != 0) {
      block = std::min(block, side->offset() & -side->offset());
    }
    vector = std::min(vector, block);
  }
  return vector;
}

Checked<ComposedLayout> composition(const Layout& a, const Swizzle& swizzle) {
  if (swizzle.is_identity()) {
    return ComposedLayout(a);
  }
  // The outer swizzle must act on a's values as the inner one does on a's indices: compare as bit matrices.
  const int bits = std::bit_width(static_cast<uint64_t>(swizzle.period() - 1));
  TW_TRY(const F2Matrix before, F2Matrix::from_layout_prefix(a, bits));
  TW_TRY(const F2Matrix inner, F2Matrix::from_swizzle(swizzle, before.in_bits()));
  TW_TRY(const Swizzle outer, Swizzle::from_masks(a(swizzle.y_mask()), a(swizzle.z_mask())));
  TW_TRY(const F2Matrix after, F2Matrix::from_swizzle(outer, before.out_bits()));
  TW_TRY(const F2Matrix left, multiply(before, inner));
  TW_TRY(const F2Matrix right, multiply(after, before));
  if (left != right) {
    return fail_law(Law::SwizzleMerge, {{"y_mask", outer.y_mask()}, {"z_mask", outer.z_mask()}},
                    fmt::format("{} after {} is not a swizzle after a layout", a.to_string(), swizzle.to_string()));
  }
  return ComposedLayout::make(outer, 0, a);
}

Checked<ComposedLayout> right_inverse(const ComposedLayout& a) {
  if (a.offset() != 0) {
    return fail_law(
        Law::SwizzleMerge, {{"offset", a.offset()}},
        fmt::format("the inverse of {} is not a swizzle after a layout: its offset is {}", a.to_string(), a.offset()));
  }
  TW_TRY(const Layout inverse, right_inverse(a.inner()));
  return composition(inverse, a.outer());
}

}  // namespace tw::layout
