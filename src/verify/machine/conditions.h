// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/function.h"
#include "verify/machine/linear.h"
#include "verify/machine/order_state.h"

namespace tw::verify {

// Numbers that make the exploration finite, taken from the program: constants up to `lookahead` are told apart, larger
// counts are `big`; residues are kept modulo `modulus`, a multiple of every ring's size and every constant divisor.
struct Bounds {
  int64_t lookahead = 4;
  int64_t modulus = 1;
  [[nodiscard]] int64_t big() const { return lookahead + 1; }
};
// nullopt: the program's rings and divisors have no common multiple up to a limit.
std::optional<Bounds> bounds_of(const ir::Function& function);

// What a state knows about scalar expressions.
class Conditions {
 public:
  Conditions(const ir::Function& function, Bounds bounds) : f_(function), bounds_(bounds) {}

  // [lo, hi] of an integer expression in a state; hi = INT64_MAX, lo = INT64_MIN: not bounded.
  struct Range {
    int64_t lo, hi;
    [[nodiscard]] bool is_single() const { return lo == hi; }
  };
  [[nodiscard]] Range range(const OrderState& state, Linear linear) const;
  [[nodiscard]] Range range(const OrderState& state, ir::ExprId expr) const;

  // nullopt: not decided.
  [[nodiscard]] std::optional<bool> truth(const OrderState& state, ir::ExprId condition) const;
  // An atom whose class would help to decide `condition`, if there is one.
  [[nodiscard]] std::optional<ir::ExprId> undecided_atom(const OrderState& state, ir::ExprId condition) const;
  [[nodiscard]] std::optional<ir::ExprId> undecided_atom(const OrderState& state, const Linear& linear) const;

  // The classes that an atom may have: the values 0 .. lookahead that the assumptions admit, and big.
  [[nodiscard]] std::vector<AtomClass> classes(ir::ExprId atom) const;
  [[nodiscard]] bool is_non_negative(ir::ExprId expr) const;

  [[nodiscard]] std::optional<Version> version(const OrderState& state, ir::ExprId expr) const;
  // expr mod modulus; nullopt: not known, then `undecided_atom` may name what to split on.
  [[nodiscard]] std::optional<int64_t> residue(const OrderState& state, ir::ExprId expr) const;

  [[nodiscard]] const Bounds& bounds() const { return bounds_; }
  // Does the expression mention a variable of an enclosing loop, or a carried scalar?
  [[nodiscard]] bool is_invariant(ir::ExprId expr) const;

 private:
  [[nodiscard]] const AtomClass* find_atom(const OrderState& state, ir::ExprId atom) const;
  [[nodiscard]] std::optional<ir::ExprId> variable_term(const Linear& linear, const ir::ForOp& loop) const;
  [[nodiscard]] std::optional<Linear> without_distance_to_end(const Linear& linear, ir::ExprId variable,
                                                              const ir::ForOp& loop) const;
  // Replaces loop variables with known iterations and known differences (end - variable).
  [[nodiscard]] Linear resolve_loops(const OrderState& state, Linear linear) const;

  const ir::Function& f_;
  Bounds bounds_;
};

}  // namespace tw::verify
