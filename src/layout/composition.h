// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/layout.h"
#include "layout/tiler.h"

namespace tw::layout {

// The layout R with the shape of B and R(c) = A(B(c)) for every coordinate c of B, also where B(c) lies beyond A's
// domain (A goes on there, see Layout).
//   composition(20:2, (5,4):(4,1)) = (5,4):(8,2)
//   composition((10,2):(16,4), (5,4):(1,5)) = (5,(2,2)):(16,(80,4))
//
// There is an answer when each mode n:d of B walks through the merged modes s:e of A without being cut: while d >= s, s
// divides d (else stride-divisibility); then the part taken, min(ceil(s/d), n), divides n (else shape-divisibility),
// and d divides s unless the rest of n fits in this mode (else stride-divisibility). And the modes of B together must
// stay within each extent of A but the last (else carry): (2,2) with strides (3,3) on (4,2) reaches 6 = 2 + 1*4, which
// is not the sum of the parts. C++ CuTe 4.2 checks neither the last condition on d nor the carry, and then returns a
// layout that is not A(B(c)): (6,4):(1,100) with 4:4 gives (2,2):(4,100), though A(8) is 102. We refuse them
// (docs/decisions/0002).
[[nodiscard]] Checked<Layout> composition(const Layout& a, const Layout& b);
// Mode by mode. Modes of `a` that the tiler does not name are dropped, as in C++ CuTe (pycute keeps them).
[[nodiscard]] Checked<Layout> composition(const Layout& a, const Tiler& tiler);

// Whether composition(a, b) has an answer.
[[nodiscard]] bool is_admissible(const Layout& a, const Layout& b);

}  // namespace tw::layout
