// SPDX-License-Identifier: Apache-2.0
#include "verify/smt_fallback.h"

#include <set>

namespace tw::verify {

using domain::Atom;
using domain::AtomId;
using domain::AtomKind;
using domain::CondId;
using domain::Condition;
using domain::CondKind;
using domain::IntId;
using domain::Ints;
using domain::Polynomial;

smt::TermId SmtFallback::product(Ints& ints, const std::vector<AtomId>& factors) {
  if (factors.size() == 1) {
    return of(ints, factors[0]);
  }
  for (const auto& [known, term] : products_) {
    if (known == factors) {
      return term;
    }
  }
  smt::TermId term = terms_.variable("product");
  products_.emplace_back(factors, term);
  return term;
}

smt::TermId SmtFallback::of(Ints& ints, AtomId id) {
  if (auto it = atom_terms_.find(id); it != atom_terms_.end()) {
    return it->second;
  }
  const Atom a = ints.atom(id);
  smt::TermId term = terms_.variable(a.kind == AtomKind::Var ? ints.name(a.var) : "atom");
  atom_terms_.emplace(id, term);
  std::vector<smt::TermId> definition;
  switch (a.kind) {
    case AtomKind::Var:
      break;
    case AtomKind::FloorDiv: {
      // b*q <= a < b*q + b
      IntId self = ints.floor_div(a.a, a.b);
      IntId multiple = ints.mul(a.b, self);
      definition.push_back(of(ints, ints.le(multiple, a.a)));
      definition.push_back(of(ints, ints.lt(a.a, ints.add(multiple, a.b))));
      break;
    }
    case AtomKind::Min:
    case AtomKind::Max: {
      smt::TermId x = of(ints, a.a), y = of(ints, a.b);
      smt::TermId first = a.kind == AtomKind::Min ? terms_.le(x, y) : terms_.le(y, x);
      definition.push_back(terms_.eq(term, terms_.ite(first, x, y)));
      break;
    }
    case AtomKind::Select:
      definition.push_back(terms_.eq(term, terms_.ite(of(ints, a.condition), of(ints, a.a), of(ints, a.b))));
      break;
  }
  definitions_[id] = std::move(definition);
  return term;
}

smt::TermId SmtFallback::of(Ints& ints, IntId id) {
  if (auto it = int_terms_.find(id); it != int_terms_.end()) {
    return it->second;
  }
  const Polynomial p = ints.polynomial(id);
  std::vector<smt::TermId> summands;
  for (const domain::Monomial& m : p.monomials) {
    smt::TermId factor = product(ints, m.factors);
    summands.push_back(m.coefficient == 1 ? factor : terms_.mul(terms_.constant(m.coefficient), factor));
  }
  if (p.constant != 0 || summands.empty()) {
    summands.push_back(terms_.constant(p.constant));
  }
  smt::TermId term = summands.size() == 1 ? summands[0] : terms_.add(std::move(summands));
  int_terms_.emplace(id, term);
  return term;
}

smt::TermId SmtFallback::of(Ints& ints, CondId id) {
  if (auto it = cond_terms_.find(id); it != cond_terms_.end()) {
    return it->second;
  }
  const Condition c = ints.condition(id);
  smt::TermId term;
  switch (c.kind) {
    case CondKind::False:
    case CondKind::True:
      term = terms_.boolean(c.kind == CondKind::True);
      break;
    case CondKind::NonNegative:
      term = terms_.le(terms_.constant(0), of(ints, c.value));
      break;
    case CondKind::Zero:
      term = terms_.eq(of(ints, c.value), terms_.constant(0));
      break;
    case CondKind::NonZero:
      term = terms_.negation(terms_.eq(of(ints, c.value), terms_.constant(0)));
      break;
    case CondKind::And:
    case CondKind::Or: {
      std::vector<smt::TermId> parts;
      for (CondId part : c.parts) {
        parts.push_back(of(ints, part));
      }
      term = c.kind == CondKind::And ? terms_.conjunction(std::move(parts)) : terms_.disjunction(std::move(parts));
      break;
    }
  }
  cond_terms_.emplace(id, term);
  return term;
}

std::set<AtomId> SmtFallback::add_definitions(Ints& ints, const std::vector<CondId>& conditions, smt::Query& query) {
  std::set<AtomId> seen;
  std::vector<IntId> open;
  auto note = [&](auto&& self, CondId id) -> void {
    const Condition& c = ints.condition(id);
    if (c.value.is_valid()) {
      open.push_back(c.value);
    }
    for (CondId part : c.parts) {
      self(self, part);
    }
  };
  for (CondId c : conditions) {
    note(note, c);
  }
  while (!open.empty()) {
    const Polynomial p = ints.polynomial(open.back());
    open.pop_back();
    for (const domain::Monomial& m : p.monomials) {
      for (AtomId f : m.factors) {
        if (!seen.insert(f).second) {
          continue;
        }
        const Atom a = ints.atom(f);
        of(ints, f);
        for (smt::TermId definition : definitions_[f]) {
          query.assumptions.push_back(definition);
        }
        if (a.kind != AtomKind::Var) {
          open.push_back(a.a);
          open.push_back(a.b);
          if (a.kind == AtomKind::FloorDiv) {
            open.push_back(ints.mul(a.b, ints.floor_div(a.a, a.b)));
          }
          if (a.condition.is_valid()) {
            note(note, a.condition);
          }
        }
      }
    }
  }
  return seen;
}

bool SmtFallback::implies(Ints& ints, std::span<const CondId> facts, CondId goal) {
  smt::Query query;
  query.name = "implies";
  query.goal = of(ints, goal);
  for (CondId c : facts) {
    query.assumptions.push_back(of(ints, c));
  }
  std::vector<CondId> conditions(facts.begin(), facts.end());
  conditions.push_back(goal);
  add_definitions(ints, conditions, query);
  return solver_.prove(query).verdict == smt::Verdict::Proved;
}

std::optional<domain::Assignment> SmtFallback::satisfy(Ints& ints, const std::vector<CondId>& conditions) {
  smt::Query query;
  query.name = "satisfy";
  query.goal = terms_.boolean(false);
  for (CondId c : conditions) {
    query.assumptions.push_back(of(ints, c));
  }
  const std::set<AtomId> atoms = add_definitions(ints, conditions, query);
  const smt::Answer answer = solver_.prove(query);
  if (answer.verdict != smt::Verdict::Refuted) {
    return std::nullopt;
  }
  domain::Assignment values;
  for (AtomId id : atoms) {
    const Atom a = ints.atom(id);
    if (a.kind == AtomKind::Var) {
      auto found = answer.model.find(of(ints, id));
      values[a.var] = found == answer.model.end() ? 0 : found->second;
    }
  }
  // Products were variables of their own.
  for (CondId c : conditions) {
    if (ints.evaluate(c, values) != std::optional(true)) {
      return std::nullopt;
    }
  }
  return values;
}

}  // namespace tw::verify
