// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ir/expr.h"

namespace tw::verify {

// constant + sum of coefficient * atom. Atoms are symbols and whole sub-expressions that are not linear (cdiv(K, 32),
// M*N); equal expressions are equal atoms because the pool hash-conses. (3*k + cdiv(K, 32) - 1) - k  has  {k: 2,
// cdiv(K, 32): 1}, constant -1.
struct Linear {
  std::map<ir::ExprId, int64_t> terms;
  int64_t constant = 0;

  [[nodiscard]] bool is_constant() const { return terms.empty(); }
  [[nodiscard]] int64_t coefficient(ir::ExprId atom) const;
  // This without `atom`.
  [[nodiscard]] Linear without(ir::ExprId atom) const;
  // The only atom, when there is exactly one.
  [[nodiscard]] std::optional<ir::ExprId> single_atom() const;
  friend bool operator==(const Linear&, const Linear&) = default;
};

// Never fails: what is not linear, or would overflow, becomes an atom.
Linear linear_of(const ir::ExprPool& pool, ir::ExprId expr);
Linear difference(const Linear& a, const Linear& b);
Linear sum(const Linear& a, const Linear& b);

}  // namespace tw::verify
