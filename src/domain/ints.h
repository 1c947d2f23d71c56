// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"

// Integer expressions and conditions in a normal form, for proofs that hold for all sizes.
//
// An integer is a polynomial with integer coefficients over *atoms*: variables and the operations that no polynomial
// has (floor division, minimum, maximum, choice). Remainder and ceiling division are written with floor division, and a
// multiple of a constant divisor leaves the division: (8*k + r) // 8 is k + r // 8. So two expressions that are equal
// as polynomials get equal ids, and "the same index" is a comparison of two numbers:
//
//   k*32 + (kk + 16)  and  (k*4 + 2)*8 + kk  have one id;   (k + 3 - 1) - k  is the constant 2.
//
// Equal ids mean equal integers for all values of the variables; different ids mean nothing. Divisors are taken to be
// positive (a separate obligation). Arithmetic on coefficients that leaves 64 bits gives a fresh variable, which equals
// nothing.
namespace tw::domain {

using VarId = Id<struct VarTag>;
using AtomId = Id<struct AtomTag>;
using IntId = Id<struct IntTag>;
using CondId = Id<struct CondTag>;

enum class AtomKind : uint8_t { Var, FloorDiv, Min, Max, Select };

struct Atom {
  AtomKind kind = AtomKind::Var;
  VarId var;
  IntId a, b;
  CondId condition;
  friend bool operator==(const Atom&, const Atom&) = default;
};

// coefficient * product of factors; factors sorted, at least one.
struct Monomial {
  std::vector<AtomId> factors;
  int64_t coefficient = 0;
  friend bool operator==(const Monomial&, const Monomial&) = default;
};

// Monomials sorted by factors, none with coefficient 0.
struct Polynomial {
  std::vector<Monomial> monomials;
  int64_t constant = 0;
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
};

// NonNegative: value >= 0. Negations are pushed inwards when a condition is made.
enum class CondKind : uint8_t { False, True, NonNegative, Zero, NonZero, And, Or };

struct Condition {
  CondKind kind = CondKind::True;
  IntId value;
  // And, Or: sorted, at least two.
  std::vector<CondId> parts;
  friend bool operator==(const Condition&, const Condition&) = default;
};

using Substitution = std::unordered_map<VarId, IntId>;
using Assignment = std::unordered_map<VarId, int64_t>;

class Ints {
 public:
  VarId add_var(std::string name);
  [[nodiscard]] const std::string& name(VarId var) const { return names_[var.index]; }
  [[nodiscard]] size_t var_count() const { return names_.size(); }

  IntId constant(int64_t value);
  IntId var(VarId var);
  IntId add(IntId a, IntId b);
  IntId sub(IntId a, IntId b) { return add(a, scale(b, -1)); }
  IntId mul(IntId a, IntId b);
  IntId scale(IntId a, int64_t factor);
  IntId floor_div(IntId a, IntId b);
  IntId mod(IntId a, IntId b) { return sub(a, mul(b, floor_div(a, b))); }
  IntId ceil_div(IntId a, IntId b) { return floor_div(add(a, sub(b, constant(1))), b); }
  IntId min(IntId a, IntId b);
  IntId max(IntId a, IntId b);
  IntId select(CondId condition, IntId if_true, IntId if_false);

  CondId truth(bool value) { return value ? true_ : false_; }
  CondId non_negative(IntId a);
  CondId zero(IntId a);
  CondId le(IntId a, IntId b) { return non_negative(sub(b, a)); }
  CondId lt(IntId a, IntId b) { return non_negative(add(sub(b, a), constant(-1))); }
  CondId eq(IntId a, IntId b) { return zero(sub(a, b)); }
  CondId conjunction(std::vector<CondId> parts) { return combine(CondKind::And, std::move(parts)); }
  CondId disjunction(std::vector<CondId> parts) { return combine(CondKind::Or, std::move(parts)); }
  CondId negate(CondId condition);

  [[nodiscard]] const Polynomial& polynomial(IntId id) const { return ints_[id.index].polynomial; }
  [[nodiscard]] const Atom& atom(AtomId id) const { return atoms_[id.index]; }
  [[nodiscard]] const Condition& condition(CondId id) const { return conds_[id.index].condition; }
  [[nodiscard]] std::optional<int64_t> constant_value(IntId id) const;
  [[nodiscard]] bool is_constant(IntId id, int64_t value) const { return constant_value(id) == value; }
  // Variables anywhere inside, ascending.
  [[nodiscard]] const std::vector<VarId>& vars(IntId id) const { return ints_[id.index].vars; }
  [[nodiscard]] const std::vector<VarId>& vars(CondId id) const { return conds_[id.index].vars; }
  [[nodiscard]] bool uses(IntId id, VarId var) const;
  [[nodiscard]] bool uses(CondId id, VarId var) const;
  [[nodiscard]] const std::vector<VarId>& vars(AtomId id) const { return atom_vars_[id.index]; }

  // a = coefficient * var + rest with a constant coefficient and no `var` in the rest (coefficient 0: `var` does not
  // occur).
  struct Linear {
    int64_t coefficient = 0;
    IntId rest;
  };
  std::optional<Linear> linear_in(IntId a, VarId var);

  IntId substitute(IntId id, const Substitution& replacements);
  CondId substitute(CondId id, const Substitution& replacements);
  // nullopt on a variable without a value, a divisor that is not positive, or overflow.
  [[nodiscard]] std::optional<int64_t> evaluate(IntId id, const Assignment& values) const;
  [[nodiscard]] std::optional<bool> evaluate(CondId id, const Assignment& values) const;
  [[nodiscard]] std::string to_string(IntId id) const;
  [[nodiscard]] std::string to_string(CondId id) const;

  Ints();

 private:
  struct IntEntry {
    Polynomial polynomial;
    std::vector<VarId> vars;
  };
  struct CondEntry {
    Condition condition;
    std::vector<VarId> vars;
  };
  IntId intern(Polynomial polynomial);
  CondId intern(Condition condition);
  AtomId intern(Atom atom);
  IntId of_atom(Atom atom);
  IntId overflowed();
  CondId combine(CondKind kind, std::vector<CondId> parts);
  [[nodiscard]] std::optional<int64_t> evaluate(AtomId id, const Assignment& values) const;

  std::vector<std::string> names_;
  std::vector<Atom> atoms_;
  std::vector<std::vector<VarId>> atom_vars_;
  std::vector<IntEntry> ints_;
  std::vector<CondEntry> conds_;
  std::unordered_multimap<uint64_t, AtomId> atom_index_;
  std::unordered_multimap<uint64_t, IntId> int_index_;
  std::unordered_multimap<uint64_t, CondId> cond_index_;
  CondId true_, false_;
};

}  // namespace tw::domain
