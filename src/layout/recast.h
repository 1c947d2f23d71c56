// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/composed.h"
#include "layout/layout.h"

namespace tw::layout {

// The same memory in elements n times as large: a mode of stride 1 holds n times fewer, other strides shrink by n.
// upcast((4,8):(1,4), 2) = (2,8):(1,2). Fails unless each stride divides n or is divided by it.
[[nodiscard]] Checked<Layout> upcast(const Layout& layout, int64_t n);
// In elements n times as small: downcast((4,8):(1,4), 2) = (8,8):(1,8). Needs a mode of stride 1 or -1.
[[nodiscard]] Checked<Layout> downcast(const Layout& layout, int64_t n);
// From elements of `old_bits` to elements of `new_bits`.
[[nodiscard]] Checked<Layout> recast(const Layout& layout, int64_t old_bits, int64_t new_bits);
[[nodiscard]] Checked<ComposedLayout> recast(const ComposedLayout& layout, int64_t old_bits, int64_t new_bits);

// The largest n for which the layout is a layout of aligned vectors of n elements.
[[nodiscard]] Checked<int64_t> max_alignment(const Layout& layout);

// A layout of as many as `count` coordinates of the shape, increasing, that divides the shape evenly.
// domain_distribute((15,14), 6) = (3,2):(1,15)
[[nodiscard]] Checked<Layout> domain_distribute(const IntTuple& shape, int64_t count);

}  // namespace tw::layout
