// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "layout/composed.h"
#include "layout/layout.h"

namespace tw::layout {

// The modes that the coordinate leaves open with `_`: slice((_,2), (4,8):(8,1)) = (4):(8). The result is the layout
// itself for `_` alone, and a tuple otherwise, as in CuTe; `():()` when nothing is open.
[[nodiscard]] Checked<Layout> slice(const IntTuple& coordinate, const Layout& layout);
// The modes that the coordinate fixes: dice((_,2), (4,8):(8,1)) = (8):(1).
[[nodiscard]] Checked<Layout> dice(const IntTuple& coordinate, const Layout& layout);

struct Slice {
  Layout layout;
  int64_t offset = 0;
};
// For every coordinate c of the slice: layout(coordinate with its open modes filled by c) = offset + slice(c).
[[nodiscard]] Checked<Slice> slice_and_offset(const IntTuple& coordinate, const Layout& layout);
// A slice of a swizzled layout keeps its offset inside, before the swizzle.
[[nodiscard]] Checked<ComposedLayout> slice(const IntTuple& coordinate, const ComposedLayout& layout);

}  // namespace tw::layout
