// SPDX-License-Identifier: Apache-2.0
#include "domain/ints.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"

namespace tw::domain {

namespace {

int64_t floor_of(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

void merge_vars(std::vector<VarId>& into, const std::vector<VarId>& from) {
  std::vector<VarId> merged;
  merged.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
  into = std::move(merged);
}

bool contains(const std::vector<VarId>& sorted, VarId var) {
  return std::binary_search(sorted.begin(), sorted.end(), var);
}

uint64_t hash_of(const Polynomial& p) {
  Hasher h;
  h.add(static_cast<uint64_t>(p.constant));
  for (const Monomial& m : p.monomials) {
    h.add(static_cast<uint64_t>(m.coefficient));
    h.add(uint64_t{m.factors.size()});
    for (AtomId f : m.factors) {
      h.add(uint64_t{f.index});
    }
  }
  return h.value();
}

uint64_t hash_of(const Atom& a) {
  Hasher h;
  h.add(static_cast<uint64_t>(a.kind));
  h.add(uint64_t{a.var.index});
  h.add((uint64_t{a.a.index} << 32) | a.b.index);
  h.add(uint64_t{a.condition.index});
  return h.value();
}

uint64_t hash_of(const Condition& c) {
  Hasher h;
  h.add(static_cast<uint64_t>(c.kind));
  h.add(uint64_t{c.value.index});
  for (CondId part : c.parts) {
    h.add(uint64_t{part.index});
  }
  return h.value();
}

}  // namespace

Ints::Ints() {
  true_ = intern(Condition{CondKind::True, {}, {}});
  false_ = intern(Condition{CondKind::False, {}, {}});
}

VarId Ints::add_var(std::string name) {
  names_.push_back(std::move(name));
  return VarId(static_cast<uint32_t>(names_.size() - 1));
}

IntId Ints::intern(Polynomial polynomial) {
  uint64_t hash = hash_of(polynomial);
  auto [first, last] = int_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (ints_[it->second.index].polynomial == polynomial) {
      return it->second;
    }
  }
  IntId id(static_cast<uint32_t>(ints_.size()));
  IntEntry entry;
  for (const Monomial& m : polynomial.monomials) {
    for (AtomId f : m.factors) {
      merge_vars(entry.vars, atom_vars_[f.index]);
    }
  }
  entry.polynomial = std::move(polynomial);
  ints_.push_back(std::move(entry));
  int_index_.emplace(hash, id);
  return id;
}

AtomId Ints::intern(Atom atom) {
  uint64_t hash = hash_of(atom);
  auto [first, last] = atom_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (atoms_[it->second.index] == atom) {
      return it->second;
    }
  }
  AtomId id(static_cast<uint32_t>(atoms_.size()));
  std::vector<VarId> vars;
  if (atom.kind == AtomKind::Var) {
    vars.push_back(atom.var);
  } else {
    vars = ints_[atom.a.index].vars;
    merge_vars(vars, ints_[atom.b.index].vars);
    if (atom.condition.is_valid()) {
      merge_vars(vars, conds_[atom.condition.index].vars);
    }
  }
  atoms_.push_back(atom);
  atom_vars_.push_back(std::move(vars));
  atom_index_.emplace(hash, id);
  return id;
}

CondId Ints::intern(Condition condition) {
  uint64_t hash = hash_of(condition);
  auto [first, last] = cond_index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (conds_[it->second.index].condition == condition) {
      return it->second;
    }
  }
  CondId id(static_cast<uint32_t>(conds_.size()));
  CondEntry entry;
  if (condition.value.is_valid()) {
    entry.vars = ints_[condition.value.index].vars;
  }
  for (CondId part : condition.parts) {
    merge_vars(entry.vars, conds_[part.index].vars);
  }
  entry.condition = std::move(condition);
  conds_.push_back(std::move(entry));
  cond_index_.emplace(hash, id);
  return id;
}

IntId Ints::of_atom(Atom atom) {
  return intern(Polynomial{{Monomial{{intern(atom)}, 1}}, 0});
}
IntId Ints::overflowed() {
  return var(add_var("overflow"));
}
IntId Ints::constant(int64_t value) {
  return intern(Polynomial{{}, value});
}
IntId Ints::var(VarId var) {
  return of_atom(Atom{AtomKind::Var, var, {}, {}, {}});
}

std::optional<int64_t> Ints::constant_value(IntId id) const {
  const Polynomial& p = polynomial(id);
  return p.monomials.empty() ? std::optional(p.constant) : std::nullopt;
}

bool Ints::uses(IntId id, VarId var) const {
  return contains(vars(id), var);
}
bool Ints::uses(CondId id, VarId var) const {
  return contains(vars(id), var);
}

IntId Ints::add(IntId a, IntId b) {
  const Polynomial& pa = polynomial(a);
  const Polynomial& pb = polynomial(b);
  Polynomial sum;
  if (__builtin_add_overflow(pa.constant, pb.constant, &sum.constant)) {
    return overflowed();
  }
  size_t i = 0, j = 0;
  while (i < pa.monomials.size() || j < pb.monomials.size()) {
    if (j == pb.monomials.size() || (i < pa.monomials.size() && pa.monomials[i].factors < pb.monomials[j].factors)) {
      sum.monomials.push_back(pa.monomials[i++]);
    } else if (i == pa.monomials.size() || pb.monomials[j].factors < pa.monomials[i].factors) {
      sum.monomials.push_back(pb.monomials[j++]);
    } else {
      Monomial m = pa.monomials[i++];
      if (__builtin_add_overflow(m.coefficient, pb.monomials[j++].coefficient, &m.coefficient)) {
        return overflowed();
      }
      if (m.coefficient != 0) {
        sum.monomials.push_back(std::move(m));
      }
    }
  }
  return intern(std::move(sum));
}

IntId Ints::scale(IntId a, int64_t factor) {
  if (factor == 1) {
    return a;
  }
  if (factor == 0) {
    return constant(0);
  }
  Polynomial p = polynomial(a);
  if (__builtin_mul_overflow(p.constant, factor, &p.constant)) {
    return overflowed();
  }
  for (Monomial& m : p.monomials) {
    if (__builtin_mul_overflow(m.coefficient, factor, &m.coefficient)) {
      return overflowed();
    }
  }
  return intern(std::move(p));
}

IntId Ints::mul(IntId a, IntId b) {
  if (auto c = constant_value(a)) {
    return scale(b, *c);
  }
  if (auto c = constant_value(b)) {
    return scale(a, *c);
  }
  Polynomial pa = polynomial(a);
  IntId result = scale(b, pa.constant);
  for (const Monomial& m : pa.monomials) {
    Polynomial pb = polynomial(b);
    Polynomial product;
    for (const Monomial& n : pb.monomials) {
      Monomial out;
      std::merge(m.factors.begin(), m.factors.end(), n.factors.begin(), n.factors.end(),
                 std::back_inserter(out.factors));
      if (__builtin_mul_overflow(m.coefficient, n.coefficient, &out.coefficient)) {
        return overflowed();
      }
      product.monomials.push_back(std::move(out));
    }
    if (pb.constant != 0) {
      Monomial out = m;
      if (__builtin_mul_overflow(m.coefficient, pb.constant, &out.coefficient)) {
        return overflowed();
      }
      product.monomials.push_back(std::move(out));
    }
    std::sort(product.monomials.begin(), product.monomials.end(),
              [](const Monomial& x, const Monomial& y) { return x.factors < y.factors; });
    result = add(result, intern(std::move(product)));
  }
  return result;
}

IntId Ints::floor_div(IntId a, IntId b) {
  if (is_constant(a, 0) || is_constant(b, 1)) {
    return a;
  }
  auto divisor = constant_value(b);
  if (!divisor) {
    if (a == b) {
      return constant(1);
    }
    // A single-variable divisor: summands that contain it leave the division.
    const Polynomial& pb = polynomial(b);
    if (pb.constant == 0 && pb.monomials.size() == 1 && pb.monomials[0].coefficient == 1 &&
        pb.monomials[0].factors.size() == 1) {
      AtomId d = pb.monomials[0].factors[0];
      Polynomial inside = polynomial(a);
      Polynomial outside;
      std::erase_if(inside.monomials, [&](const Monomial& m) {
        auto it = std::find(m.factors.begin(), m.factors.end(), d);
        if (it == m.factors.end()) {
          return false;
        }
        Monomial quotient = m;
        quotient.factors.erase(quotient.factors.begin() + (it - m.factors.begin()));
        if (quotient.factors.empty()) {
          outside.constant += quotient.coefficient;
        } else {
          outside.monomials.push_back(std::move(quotient));
        }
        return true;
      });
      if (!outside.monomials.empty() || outside.constant != 0) {
        std::sort(outside.monomials.begin(), outside.monomials.end(),
                  [](const Monomial& x, const Monomial& y) { return x.factors < y.factors; });
        IntId out = intern(std::move(outside));
        return add(out, floor_div(intern(std::move(inside)), b));
      }
    }
    return of_atom(Atom{AtomKind::FloorDiv, {}, a, b, {}});
  }
  if (*divisor <= 0) {
    return of_atom(Atom{AtomKind::FloorDiv, {}, a, b, {}});
  }
  const int64_t d = *divisor;
  Polynomial inside = polynomial(a);
  Polynomial outside;
  outside.constant = floor_of(inside.constant, d);
  inside.constant -= outside.constant * d;
  std::vector<Monomial> rest;
  for (Monomial& m : inside.monomials) {
    int64_t quotient = floor_of(m.coefficient, d);
    int64_t remainder = m.coefficient - quotient * d;
    if (quotient != 0) {
      outside.monomials.push_back({m.factors, quotient});
    }
    if (remainder != 0) {
      rest.push_back({m.factors, remainder});
    }
  }
  inside.monomials = std::move(rest);
  IntId out = intern(std::move(outside));
  if (inside.monomials.empty()) {
    // 0 <= constant < d.
    return out;
  }
  int64_t common = d;
  for (const Monomial& m : inside.monomials) {
    common = std::gcd(common, m.coefficient);
  }
  for (Monomial& m : inside.monomials) {
    m.coefficient /= common;
  }
  inside.constant = floor_of(inside.constant, common);
  if (common == d) {
    return add(out, intern(std::move(inside)));
  }
  IntId numerator = intern(std::move(inside));
  // floor(floor(x / p) / q) = floor(x / (p*q)).
  const Polynomial& pn = polynomial(numerator);
  if (pn.constant == 0 && pn.monomials.size() == 1 && pn.monomials[0].coefficient == 1 &&
      pn.monomials[0].factors.size() == 1) {
    const Atom inner = atom(pn.monomials[0].factors[0]);
    auto inner_divisor = inner.kind == AtomKind::FloorDiv ? constant_value(inner.b) : std::nullopt;
    int64_t product = 0;
    if (inner_divisor && *inner_divisor > 0 && !__builtin_mul_overflow(*inner_divisor, d / common, &product)) {
      return add(out, floor_div(inner.a, constant(product)));
    }
  }
  return add(out, of_atom(Atom{AtomKind::FloorDiv, {}, numerator, constant(d / common), {}}));
}

IntId Ints::min(IntId a, IntId b) {
  if (auto difference = constant_value(sub(a, b))) {
    return *difference <= 0 ? a : b;
  }
  if (b < a) {
    std::swap(a, b);
  }
  return of_atom(Atom{AtomKind::Min, {}, a, b, {}});
}

IntId Ints::max(IntId a, IntId b) {
  if (auto difference = constant_value(sub(a, b))) {
    return *difference >= 0 ? a : b;
  }
  if (b < a) {
    std::swap(a, b);
  }
  return of_atom(Atom{AtomKind::Max, {}, a, b, {}});
}

IntId Ints::select(CondId condition, IntId if_true, IntId if_false) {
  if (condition == true_ || if_true == if_false) {
    return if_true;
  }
  if (condition == false_) {
    return if_false;
  }
  return of_atom(Atom{AtomKind::Select, {}, if_true, if_false, condition});
}

CondId Ints::non_negative(IntId a) {
  Polynomial p = polynomial(a);
  if (p.monomials.empty()) {
    return truth(p.constant >= 0);
  }
  int64_t common = 0;
  for (const Monomial& m : p.monomials) {
    common = std::gcd(common, m.coefficient);
  }
  if (common > 1) {
    for (Monomial& m : p.monomials) {
      m.coefficient /= common;
    }
    p.constant = floor_of(p.constant, common);
  }
  return intern(Condition{CondKind::NonNegative, intern(std::move(p)), {}});
}

CondId Ints::zero(IntId a) {
  Polynomial p = polynomial(a);
  if (p.monomials.empty()) {
    return truth(p.constant == 0);
  }
  int64_t common = 0;
  for (const Monomial& m : p.monomials) {
    common = std::gcd(common, m.coefficient);
  }
  if (p.constant % common != 0) {
    return false_;
  }
  if (p.monomials.front().coefficient < 0) {
    common = -common;
  }
  for (Monomial& m : p.monomials) {
    m.coefficient /= common;
  }
  p.constant /= common;
  return intern(Condition{CondKind::Zero, intern(std::move(p)), {}});
}

CondId Ints::combine(CondKind kind, std::vector<CondId> parts) {
  const CondId neutral = truth(kind == CondKind::And);
  const CondId absorbing = truth(kind != CondKind::And);
  std::vector<CondId> flat;
  for (CondId part : parts) {
    if (part == absorbing) {
      return absorbing;
    }
    if (part == neutral) {
      continue;
    }
    const Condition& c = condition(part);
    if (c.kind == kind) {
      flat.insert(flat.end(), c.parts.begin(), c.parts.end());
    } else {
      flat.push_back(part);
    }
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) {
    return neutral;
  }
  if (flat.size() == 1) {
    return flat.front();
  }
  for (CondId part : flat) {
    const Condition& c = condition(part);
    if (c.kind == CondKind::And || c.kind == CondKind::Or) {
      continue;
    }
    if (std::binary_search(flat.begin(), flat.end(), negate(part))) {
      return absorbing;
    }
  }
  return intern(Condition{kind, {}, std::move(flat)});
}

CondId Ints::negate(CondId id) {
  const Condition c = condition(id);
  switch (c.kind) {
    case CondKind::False:
      return true_;
    case CondKind::True:
      return false_;
    case CondKind::NonNegative:
      return non_negative(add(scale(c.value, -1), constant(-1)));
    case CondKind::Zero:
      return intern(Condition{CondKind::NonZero, c.value, {}});
    case CondKind::NonZero:
      return intern(Condition{CondKind::Zero, c.value, {}});
    case CondKind::And:
    case CondKind::Or: {
      std::vector<CondId> parts;
      for (CondId part : c.parts) {
        parts.push_back(negate(part));
      }
      return combine(c.kind == CondKind::And ? CondKind::Or : CondKind::And, std::move(parts));
    }
  }
  return false_;
}

std::optional<Ints::Linear> Ints::linear_in(IntId a, VarId var) {
  if (!uses(a, var)) {
    return Linear{0, a};
  }
  Polynomial rest = polynomial(a);
  Linear linear;
  bool is_linear = true;
  std::erase_if(rest.monomials, [&](const Monomial& m) {
    bool has_var = false;
    for (AtomId f : m.factors) {
      has_var |= contains(vars(f), var);
    }
    if (!has_var) {
      return false;
    }
    if (m.factors.size() == 1 && atom(m.factors[0]).kind == AtomKind::Var) {
      linear.coefficient = m.coefficient;
    } else {
      is_linear = false;
    }
    return true;
  });
  if (!is_linear) {
    return std::nullopt;
  }
  linear.rest = intern(std::move(rest));
  return linear;
}

IntId Ints::substitute(IntId id, const Substitution& replacements) {
  bool touched = false;
  for (VarId v : vars(id)) {
    touched |= replacements.contains(v);
  }
  if (!touched) {
    return id;
  }
  Polynomial p = polynomial(id);
  IntId result = constant(p.constant);
  for (const Monomial& m : p.monomials) {
    IntId product = constant(m.coefficient);
    for (AtomId f : m.factors) {
      const Atom a = atom(f);
      IntId factor;
      switch (a.kind) {
        case AtomKind::Var: {
          auto it = replacements.find(a.var);
          factor = it == replacements.end() ? var(a.var) : it->second;
          break;
        }
        case AtomKind::FloorDiv:
          factor = floor_div(substitute(a.a, replacements), substitute(a.b, replacements));
          break;
        case AtomKind::Min:
          factor = min(substitute(a.a, replacements), substitute(a.b, replacements));
          break;
        case AtomKind::Max:
          factor = max(substitute(a.a, replacements), substitute(a.b, replacements));
          break;
        case AtomKind::Select:
          factor = select(substitute(a.condition, replacements), substitute(a.a, replacements),
                          substitute(a.b, replacements));
          break;
      }
      product = mul(product, factor);
    }
    result = add(result, product);
  }
  return result;
}

CondId Ints::substitute(CondId id, const Substitution& replacements) {
  bool touched = false;
  for (VarId v : vars(id)) {
    touched |= replacements.contains(v);
  }
  if (!touched) {
    return id;
  }
  const Condition c = condition(id);
  switch (c.kind) {
    case CondKind::False:
    case CondKind::True:
      return id;
    case CondKind::NonNegative:
      return non_negative(substitute(c.value, replacements));
    case CondKind::Zero:
      return zero(substitute(c.value, replacements));
    case CondKind::NonZero:
      return negate(zero(substitute(c.value, replacements)));
    case CondKind::And:
    case CondKind::Or: {
      std::vector<CondId> parts;
      for (CondId part : c.parts) {
        parts.push_back(substitute(part, replacements));
      }
      return combine(c.kind, std::move(parts));
    }
  }
  return id;
}

std::optional<int64_t> Ints::evaluate(AtomId id, const Assignment& values) const {
  const Atom& a = atom(id);
  if (a.kind == AtomKind::Var) {
    auto it = values.find(a.var);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  }
  if (a.kind == AtomKind::Select) {
    auto condition = evaluate(a.condition, values);
    return condition ? evaluate(*condition ? a.a : a.b, values) : std::nullopt;
  }
  auto x = evaluate(a.a, values);
  auto y = evaluate(a.b, values);
  if (!x || !y) {
    return std::nullopt;
  }
  switch (a.kind) {
    case AtomKind::FloorDiv:
      return *y > 0 ? std::optional(floor_of(*x, *y)) : std::nullopt;
    case AtomKind::Min:
      return std::min(*x, *y);
    default:
      return std::max(*x, *y);
  }
}

std::optional<int64_t> Ints::evaluate(IntId id, const Assignment& values) const {
  const Polynomial& p = polynomial(id);
  int64_t sum = p.constant;
  for (const Monomial& m : p.monomials) {
    int64_t product = m.coefficient;
    for (AtomId f : m.factors) {
      auto value = evaluate(f, values);
      if (!value || __builtin_mul_overflow(product, *value, &product)) {
        return std::nullopt;
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) {
      return std::nullopt;
    }
  }
  return sum;
}

std::optional<bool> Ints::evaluate(CondId id, const Assignment& values) const {
  const Condition& c = condition(id);
  switch (c.kind) {
    case CondKind::False:
      return false;
    case CondKind::True:
      return true;
    case CondKind::NonNegative:
    case CondKind::Zero:
    case CondKind::NonZero: {
      auto value = evaluate(c.value, values);
      if (!value) {
        return std::nullopt;
      }
      return c.kind == CondKind::NonNegative ? *value >= 0 : (*value == 0) == (c.kind == CondKind::Zero);
    }
    case CondKind::And:
    case CondKind::Or: {
      bool unknown = false;
      for (CondId part : c.parts) {
        auto value = evaluate(part, values);
        if (!value) {
          unknown = true;
        } else if (*value == (c.kind == CondKind::Or)) {
          return *value;
        }
      }
      return unknown ? std::nullopt : std::optional(c.kind == CondKind::And);
    }
  }
  return std::nullopt;
}

std::string Ints::to_string(IntId id) const {
  const Polynomial& p = polynomial(id);
  std::string text;
  auto term = [&](int64_t coefficient, const std::string& body) {
    if (text.empty()) {
      text += coefficient < 0 ? "-" : "";
    } else {
      text += coefficient < 0 ? " - " : " + ";
    }
    uint64_t magnitude = coefficient < 0 ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    if (body.empty()) {
      text += std::to_string(magnitude);
    } else {
      text += magnitude == 1 ? body : std::to_string(magnitude) + "*" + body;
    }
  };
  for (const Monomial& m : p.monomials) {
    std::string body;
    for (AtomId f : m.factors) {
      const Atom& a = atom(f);
      body += body.empty() ? "" : "*";
      switch (a.kind) {
        case AtomKind::Var:
          body += name(a.var);
          break;
        case AtomKind::FloorDiv:
          body += "((" + to_string(a.a) + ") // (" + to_string(a.b) + "))";
          break;
        case AtomKind::Min:
        case AtomKind::Max:
          body += (a.kind == AtomKind::Min ? "min(" : "max(") + to_string(a.a) + ", " + to_string(a.b) + ")";
          break;
        case AtomKind::Select:
          body += "(" + to_string(a.a) + " if " + to_string(a.condition) + " else " + to_string(a.b) + ")";
          break;
      }
    }
    term(m.coefficient, body);
  }
  if (p.constant != 0 || text.empty()) {
    term(p.constant, "");
  }
  return text;
}

std::string Ints::to_string(CondId id) const {
  const Condition& c = condition(id);
  switch (c.kind) {
    case CondKind::False:
      return "False";
    case CondKind::True:
      return "True";
    case CondKind::NonNegative:
      return to_string(c.value) + " >= 0";
    case CondKind::Zero:
      return to_string(c.value) + " == 0";
    case CondKind::NonZero:
      return to_string(c.value) + " != 0";
    case CondKind::And:
    case CondKind::Or: {
      std::string text;
      for (CondId part : c.parts) {
        text += (text.empty() ? "(" : c.kind == CondKind::And ? " and " : " or ") + to_string(part);
      }
      return text + ")";
    }
  }
  return "";
}

}  // namespace tw::domain
