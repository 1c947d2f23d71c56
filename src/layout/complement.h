// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/layout.h"

namespace tw::layout {

// The layout C that says where copies of A can be put without meeting each other: (A, C) is injective up to A's modes
// of stride 0, C is increasing, and C repeats A until `cotarget` indices are reached.
//   complement(4:1, 24) = 6:4        complement(6:4, 24) = 4:1       complement((2,2):(1,6), 24) = (3,2):(2,12)
// It is exact, (A, C) reaches each index below cotarget once, when each stride of A divides the next (and the last
// extent*stride divides cotarget); otherwise gaps are left between the copies, as between the rows of a padded tile:
// complement((8,8):(1,9), 144) = 2:72. See divides_exactly in divide.h.
// Fails with Injectivity when A itself meets, as (4,2):(1,2) does, and with NonNegativeStride.
// The cotarget may be a shape; its extents are then divided from left to right, rounding up in each (CuTe's ceil_div).
[[nodiscard]] Checked<Layout> complement(const Layout& a, const IntTuple& cotarget);
// cotarget = cosize(A).
[[nodiscard]] Checked<Layout> complement(const Layout& a);

}  // namespace tw::layout
