// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "spec/term.h"

// Terms up to the algebra that a kernel may use: one normal form, so that a term derived from a kernel and the task's
// term are compared by `equal` up to constants. The laws used, and no others:
//
//   + and * are associative and commutative; a - b = a + (-1) * b; a / b = a * (1 / b); constants fold and distribute
//   over +; equal summands add up; x * (1 / x) = 1 for sizes; sum is linear: constants and factors that do not use its
//   index move out, a sum of summands splits, sum(i, c) = N * c; nested reductions of one kind are one reduction over
//   all their indices, whose order does not matter; inside a sum, f * sum(i, g) = sum(i, f * g); maximum, minimum, and,
//   or are commutative and associative; exp(x) = exp2(x * log2(e)); relu, gelu, silu, sigmoid and rsqrt by definition.
//
// Rounding (`.to`) stays where it is written: it is never moved, dropped or doubled. Real-number laws only: nothing is
// said about how far apart two such programs are in floating point.
namespace tw::spec {

// All `let`s replaced by their definitions. Fails when the result would have more than `max_nodes` nodes.
Result<Term> expanded(const Computation& computation, const Term& term, size_t max_nodes = 20000);

// The normal form. `term` must be expanded. Fails when the result would be too large.
Result<Term> normalized(const Term& term, size_t max_nodes = 20000);

// Node by node, with constants equal within `relative_tolerance` (a kernel writes log2(e) with f32 precision).
bool equivalent(const Term& a, const Term& b, double relative_tolerance = 1e-6);

}  // namespace tw::spec
