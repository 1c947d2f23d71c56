// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/layout.h"
#include "layout/tiler.h"

namespace tw::layout {

// Repeats a block as the tiler says: (A, composition(complement(A, size(A)*cosize(T)), T)).
//   logical_product((2,2):(4,1), 6:1) = ((2,2),(2,3)):((4,1),(2,8))
// Copies never meet while the complement has at least cosize(T) places. It has when each stride of A divides the next;
// a block with gaps, (3,2):(11,3) say, can run out of them, and then CuTe and we repeat places beyond the last one. A
// tuple tiler acts mode by mode; modes that it does not name, or names with `_`, stay as they are.
[[nodiscard]] Checked<Layout> logical_product(const Layout& block, const Tiler& tiler);
// ((block modes), (repeat modes))
[[nodiscard]] Checked<Layout> zipped_product(const Layout& block, const Tiler& tiler);
// ((block modes), repeat, repeat, ...)
[[nodiscard]] Checked<Layout> tiled_product(const Layout& block, const Tiler& tiler);
// (block, block, ..., repeat, repeat, ...)
[[nodiscard]] Checked<Layout> flat_product(const Layout& block, const Tiler& tiler);

// Each element of the tiler becomes a block; mode i of the result is (block mode i, tiler mode i).
//   blocked_product((2,5):(5,1), (3,4):(1,3)) = ((2,3),(5,4)):((5,10),(1,30))
[[nodiscard]] Checked<Layout> blocked_product(const Layout& block, const Layout& tiler);
// The same interleaved; mode i of the result is (tiler mode i, block mode i).
[[nodiscard]] Checked<Layout> raked_product(const Layout& block, const Layout& tiler);
// blocked_product with the tiler that fills `shape`, column-major or in the given order of modes. The block's extents
// must divide those of the shape.
[[nodiscard]] Checked<Layout> tile_to_shape(const Layout& block, const IntTuple& shape);
[[nodiscard]] Checked<Layout> tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple& order);

}  // namespace tw::layout
