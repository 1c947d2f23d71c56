// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "analysis/reading.h"

namespace tw::analysis {

// The normal form of a term under facts, in which equal values of two programs get equal ids. What is used:
//
//   an element outside its tensor is its pad value; a pad goes through functions of constants (exp(-inf) = 0);
//   0 * x is 0 only if x is finite for sure (a constant, or an element of a tensor assumed finite);
//   -inf - y is -inf where y is a maximum over row elements (if that is +inf or NaN, so is every element's own
//   difference); a reduction over (p, q) that sees only Q*p + q, with 0 <= q < Q, is a reduction over one index;
//   indices for which the body is neutral leave the range; neighbouring ranges of one body join.
//
// Example: sum over k < cdiv(K, 32), kk < 32 of A[m, 32*k + kk] * B[n, 32*k + kk] becomes a sum over x < K.
// Never moves a rounding: ordered reductions are only clipped.
class Settler {
 public:
  // REQUIRES: the arguments outlive the settler.
  Settler(Environment& environment, const ir::Function& function, const std::vector<bool>& finite);

  // `relaxed`: sums that a loop adds up in order count as reductions too (real-number equality, not rounding).
  TermId settle(TermId term, domain::Facts& facts, bool relaxed = false);

  // Conditions under which the leaf's coordinates are inside its tensor, one an axis and side that is not proved.
  std::vector<CondId> open_bounds(const TermNode& leaf, domain::Facts& facts);
  [[nodiscard]] const std::vector<std::vector<IntId>>& extents() const { return extents_; }
  [[nodiscard]] Environment& environment() { return env_; }

 private:
  TermId visit(TermId term, domain::Facts& facts);
  TermId leaf(const TermNode& node, TermId term, domain::Facts& facts);
  TermId choose(CondId condition, TermId yes, TermId no, domain::Facts& facts);
  bool is_same(TermId a, TermId b, domain::Facts& facts, int& budget);
  TermId reduce(TermId term, domain::Facts& facts);
  TermId accumulate(const TermNode& node, std::vector<TermId> operands, domain::Facts& facts);
  TermId fold(TermId term);
  void turn_binders(std::vector<Binder>& binders, TermId& body);
  bool merge_binders(std::vector<Binder>& binders, TermId& body);
  bool clip_binders(const TermNode& node, std::vector<Binder>& binders, TermId& body, domain::Facts& facts);
  bool clip(Binder& binder, int64_t coefficient, IntId rest, bool at_most, IntId bound, domain::Facts& facts);
  std::optional<TermId> join(TermId a, TermId b, domain::Facts& facts);
  bool is_finite(TermId term);
  bool is_row_maximum(TermId term);
  void assume_ranges(const std::vector<Binder>& binders, domain::Facts& facts);

  Environment& env_;
  domain::Ints& ints_;
  Values& values_;
  const std::vector<bool>& finite_;
  std::vector<std::vector<IntId>> extents_;
  // Results under the facts so far, one level a scope.
  std::vector<std::unordered_map<TermId, TermId>> memo_;
  int depth_ = 0;
  // Off while neighbouring ranges are still to be joined: a clipped range has no plain neighbour.
  bool may_clip_ = true;
  bool is_relaxed_ = false;
};

// Leaves of `term`, each once; those under reductions with their canonical bound variables.
void collect_leaves(const Values& values, TermId term, bool into_reductions, std::vector<TermId>& out);

}  // namespace tw::analysis
