// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/layout.h"
#include "layout/tiler.h"

namespace tw::layout {

// What divisions and products share: apply(layout, tiler layout) gives two modes, (block, rest); a tuple tiler applies
// it mode by mode, and the gathered forms collect the blocks and the rests.
using SplitFunction = Checked<Layout> (*)(const Layout&, const Layout&);

// ((block, rest), (block, rest), ..., untouched, ...)
[[nodiscard]] Checked<Layout> by_mode(const Layout& layout, const Tiler& tiler, SplitFunction apply);
// ((block, block, ...), (rest, rest, ..., untouched, ...))
[[nodiscard]] Checked<Layout> zipped(const Layout& layout, const Tiler& tiler, SplitFunction apply);
// (m0, m1) -> (m0, modes of m1...). REQUIRES: two modes. A mode of rank 1 stays as it is, as in C++ CuTe.
[[nodiscard]] Checked<Layout> unpack_second(const Layout& pair);
// (m0, m1) -> (modes of m0..., modes of m1...). REQUIRES: two modes.
[[nodiscard]] Checked<Layout> unpack_both(const Layout& pair);

}  // namespace tw::layout
