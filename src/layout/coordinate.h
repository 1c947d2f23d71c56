// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layout/layout.h"

namespace tw::layout {

// Coordinates into a shape come in every form that is weakly congruent to it: for ((4,8),(2,2)), the index 37 (linear),
// (5,2) (one number a mode, each counted within its mode), ((1,1),(0,1)) (natural), or a mixture such as (5,(0,1)).
// A leaf `_` counts as 0: it is the part that a slice leaves open. Indices beyond the shape go on in the last leaf.

// The inner product of the coordinate with the stride.
//   crd2idx((5,2), ((4,8),(2,2)), ((32,1),(16,8))) = 1*32 + 1*1 + 0*16 + 1*8 = 41
[[nodiscard]] Checked<int64_t> crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride);
[[nodiscard]] Checked<int64_t> crd2idx(const IntTuple& coordinate, const Layout& layout);
// The linear index of the coordinate, leftmost leaf fastest.
[[nodiscard]] Checked<int64_t> crd2idx(const IntTuple& coordinate, const IntTuple& shape);

// The natural coordinate of an index (or of each index of a partial coordinate): crd2idx(idx2crd(i, s), s) = i for i >=
// 0.
[[nodiscard]] Checked<IntTuple> idx2crd(const IntTuple& index, const IntTuple& shape);
// The natural coordinate of a value of the compact layout shape:stride: each leaf is (index / stride) % extent.
[[nodiscard]] Checked<IntTuple> idx2crd(const IntTuple& index, const IntTuple& shape, const IntTuple& stride);
// The coordinate in `to` with the linear index that `coordinate` has in `from`.
[[nodiscard]] Checked<IntTuple> crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to);

// Every leaf of the coordinate lies within its (sub)shape. False also when the nesting does not fit.
[[nodiscard]] bool is_in_range(const IntTuple& coordinate, const IntTuple& shape);

}  // namespace tw::layout
