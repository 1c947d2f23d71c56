// SPDX-License-Identifier: Apache-2.0
#include "layout/divide.h"

#include <algorithm>
#include <fmt/format.h>

#include "layout/complement.h"
#include "layout/composition.h"
#include "layout/gather.h"
#include "layout/simplify.h"

namespace tw::layout {
namespace {

Checked<Layout> divide_by(const Layout& a, const Layout& tiler) {
  TW_TRY(const Layout rest, complement(tiler, coalesce(a).shape()));
  TW_TRY(const Layout both, Layout::concat({tiler, rest}));
  return composition(a, both);
}

template <class F>
Checked<ComposedLayout> on_inner(const ComposedLayout& a, const F& apply) {
  TW_TRY(Layout inner, apply(a.inner()));
  return ComposedLayout::make(a.outer(), a.offset(), std::move(inner));
}

}  // namespace

Checked<Layout> logical_divide(const Layout& a, const Tiler& tiler) {
  return by_mode(a, tiler, divide_by);
}

Checked<Layout> zipped_divide(const Layout& a, const Tiler& tiler) {
  return zipped(a, tiler, divide_by);
}

Checked<Layout> tiled_divide(const Layout& a, const Tiler& tiler) {
  TW_TRY(const Layout result, zipped_divide(a, tiler));
  return unpack_second(result);
}

Checked<Layout> flat_divide(const Layout& a, const Tiler& tiler) {
  TW_TRY(const Layout result, zipped_divide(a, tiler));
  return unpack_both(result);
}

Checked<ComposedLayout> logical_divide(const ComposedLayout& a, const Tiler& tiler) {
  return on_inner(a, [&](const Layout& inner) { return logical_divide(inner, tiler); });
}

Checked<ComposedLayout> zipped_divide(const ComposedLayout& a, const Tiler& tiler) {
  return on_inner(a, [&](const Layout& inner) { return zipped_divide(inner, tiler); });
}

Checked<ComposedLayout> tiled_divide(const ComposedLayout& a, const Tiler& tiler) {
  return on_inner(a, [&](const Layout& inner) { return tiled_divide(inner, tiler); });
}

Checked<ComposedLayout> flat_divide(const ComposedLayout& a, const Tiler& tiler) {
  return on_inner(a, [&](const Layout& inner) { return flat_divide(inner, tiler); });
}

bool divides_exactly(const Layout& tiler, int64_t n) {
  std::vector<FlatMode> modes = flat_modes(coalesce(tiler));
  if (n < 1 ||
      std::any_of(modes.begin(), modes.end(), [](const FlatMode& m) { return m.stride < 1 && m.extent > 1; })) {
    return false;
  }
  std::erase_if(modes, [](const FlatMode& m) { return m.extent == 1; });
  std::sort(modes.begin(), modes.end(), [](const FlatMode& x, const FlatMode& y) { return x.stride < y.stride; });
  int64_t covered = 1;
  for (const FlatMode& mode : modes) {
    if (mode.stride % covered != 0 || __builtin_mul_overflow(mode.extent, mode.stride, &covered)) {
      return false;
    }
  }
  return n % covered == 0;
}

}  // namespace tw::layout
