// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/composed.h"
#include "layout/layout.h"

namespace tw::layout {

// The longest R found by following strides from 1 with A(R(i)) = i for every i < size(R).
//   right_inverse((4,8):(8,1)) = (8,4):(4,1)      right_inverse((2,4):(0,1)) = 4:2      right_inverse(4:2) = 1:0
// Always has an answer, perhaps only 1:0.
[[nodiscard]] Checked<Layout> right_inverse(const Layout& a);

// L with A(L(A(i))) = A(i) for every i < size(A); for injective A, L(A(i)) = i.
//   left_inverse((4,8):(1,5)) = (5,8):(1,4)
// Fails when a stride is negative, is not a multiple of the next smaller one, or when overlapping modes make the digits
// of a value in the strides ambiguous ((3,2,2):(1,2,8): 4 = 2*1 + 1*2 would be read as 2*2). C++ CuTe answers the last
// kind wrongly; see docs/decisions/0002.
[[nodiscard]] Checked<Layout> left_inverse(const Layout& a);

// The coordinates that A sends to 0: A(N(i)) = 0, from the modes of stride 0. nullspace((2,4):(0,1)) = 2:1.
[[nodiscard]] Layout nullspace(const Layout& a);

// The longest vector that both layouts hold contiguously at the same coordinates: R with a(R(i)) = i and b(R(i)) = i.
[[nodiscard]] Checked<Layout> max_common_layout(const Layout& a, const Layout& b);
// Its size; a swizzle limits it to 2^M elements unless both sides have the same one.
[[nodiscard]] Checked<int64_t> max_common_vector(const Layout& a, const Layout& b);
[[nodiscard]] Checked<int64_t> max_common_vector(const ComposedLayout& a, const ComposedLayout& b);

// R with a(R(i)) = i for i < size(R), for a swizzled layout with offset 0: the swizzle moves through the inverse of the
// inner layout. Fails with SwizzleMerge or F2Linear where no swizzle on the outside is equal.
[[nodiscard]] Checked<ComposedLayout> right_inverse(const ComposedLayout& a);
// a(swizzle(i)) as a swizzle after a layout, if there is one.
[[nodiscard]] Checked<ComposedLayout> composition(const Layout& a, const Swizzle& swizzle);

}  // namespace tw::layout
