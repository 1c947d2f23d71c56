// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/function.h"

namespace tw::passes {

// Inclusive; kUnbounded stands for "no bound known".
struct Range {
  static constexpr int64_t kUnbounded = int64_t{1} << 62;
  int64_t lo = -kUnbounded;
  int64_t hi = kUnbounded;
};

// Largest extent of a tensor axis: sizes travel as 32-bit integers.
constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;

// coefficient * term summed up, plus a constant; terms are expressions that are not sums or constant multiples.
struct Linear {
  std::map<ir::ExprId, int64_t> terms;
  int64_t constant = 0;
};
Linear linear_form(const ir::ExprPool& exprs, ir::ExprId id);
// a - b when it is the same number for all values of the symbols.
std::optional<int64_t> constant_difference(const ir::ExprPool& exprs, ir::ExprId a, ir::ExprId b);

// What is known of scalar expressions without a solver: intervals, divisors, and strict upper bounds that loops and
// tile spaces give to their variables. Facts come from sizes (0 .. 2^31-1), `assume` and loop bounds.
//
// Example: with `assume(M % 128 == 0)` and bm from tiles(cdiv(M, 128)): fits(bm * 128, 128, M) holds, since both are
// multiples of 128 and bm * 128 < M.
// Sound, incomplete: "not proved" is no statement. Expressions made after construction may be asked about.
class Facts {
 public:
  explicit Facts(const ir::Function& function);

  [[nodiscard]] Range range(ir::ExprId id) const;
  // A number that divides the expression for sure, at least 1; 0 when the expression is 0.
  [[nodiscard]] int64_t divisor(ir::ExprId id) const;
  [[nodiscard]] bool is_below(ir::ExprId a, ir::ExprId b) const;
  // lo + extent <= bound.
  [[nodiscard]] bool fits(ir::ExprId lo, int64_t extent, ir::ExprId bound) const;
  // Holds from here until the mark is restored: the condition of a branch that is being visited.
  void add_condition(ir::ExprId condition);
  [[nodiscard]] size_t mark() const { return below_.size(); }
  void restore(size_t mark) { below_.resize(mark); }
  [[nodiscard]] bool is_finite(ir::TensorId tensor) const { return finite_.contains(tensor.index); }

 private:
  struct SymbolFacts {
    Range range;
    int64_t divisor = 1;
  };
  // value < upper.
  struct Below {
    Linear value;
    ir::ExprId upper;
  };
  void add_below(ir::SymbolId symbol, ir::ExprId upper);
  // a - factor * pair.value, when that is a constant.
  [[nodiscard]] std::optional<int64_t> offset_from_multiple(ir::ExprId a, int64_t factor, const Below& pair) const;
  void assume(ir::ExprId condition);
  void refine(ir::ExprId id, Range range);
  void scan(const ir::Block& block);
  [[nodiscard]] const SymbolFacts* find(ir::SymbolId symbol) const;
  [[nodiscard]] Range compute_range(ir::ExprId id) const;
  [[nodiscard]] int64_t compute_divisor(ir::ExprId id) const;

  const ir::Function& function_;
  bool has_one_space_ = false;
  std::unordered_map<ir::SymbolId, SymbolFacts> symbols_;
  std::unordered_map<ir::ExprId, int64_t> assumed_divisors_;
  std::unordered_map<ir::ExprId, Range> assumed_ranges_;
  std::vector<Below> below_;
  std::unordered_set<uint32_t> finite_;
  mutable std::unordered_map<ir::ExprId, Range> ranges_;
  mutable std::unordered_map<ir::ExprId, int64_t> divisors_;
};

}  // namespace tw::passes
