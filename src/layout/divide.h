// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/composed.h"
#include "layout/layout.h"
#include "layout/tiler.h"

namespace tw::layout {

// Splits a layout by a tiler into (within a tile, which tile): composition(A, (T, complement(T, shape of A))).
//   logical_divide(16:3, 4:1) = (4,4):(3,12)
//   logical_divide((4,2,3):(2,1,8), 4:2) = ((2,2),(2,3)):((4,1),(2,8))
// A tuple tiler acts mode by mode; modes that it does not name, or names with `_`, stay as they are.
[[nodiscard]] Checked<Layout> logical_divide(const Layout& a, const Tiler& tiler);
// ((tile modes), (rest modes)): the two halves gathered. `_` makes a tile of one element, as in pycute.
[[nodiscard]] Checked<Layout> zipped_divide(const Layout& a, const Tiler& tiler);
// ((tile modes), rest, rest, ...)
[[nodiscard]] Checked<Layout> tiled_divide(const Layout& a, const Tiler& tiler);
// (tile, tile, ..., rest, rest, ...)
[[nodiscard]] Checked<Layout> flat_divide(const Layout& a, const Tiler& tiler);

// The same on the inner layout of a swizzled one.
[[nodiscard]] Checked<ComposedLayout> logical_divide(const ComposedLayout& a, const Tiler& tiler);
[[nodiscard]] Checked<ComposedLayout> zipped_divide(const ComposedLayout& a, const Tiler& tiler);
[[nodiscard]] Checked<ComposedLayout> tiled_divide(const ComposedLayout& a, const Tiler& tiler);
[[nodiscard]] Checked<ComposedLayout> flat_divide(const ComposedLayout& a, const Tiler& tiler);

// Whether (T, complement(T, n)) is a bijection onto the first n indices: then dividing n elements by T loses and
// repeats none. 4:2 divides 8 exactly; (2,2):(1,3) does not (index 2 lies in no tile), nor does 3:1 divide 4.
[[nodiscard]] bool divides_exactly(const Layout& tiler, int64_t n);

}  // namespace tw::layout
