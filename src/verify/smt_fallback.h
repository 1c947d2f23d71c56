// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "domain/facts.h"
#include "smt/smt.h"

namespace tw::verify {

// Hands what the cheap arguments leave open to the SMT solver, as linear integer arithmetic: a product of variables
// becomes a variable of its own (so "no proof" may be wrong, a proof never is), a floor division its defining
// inequalities.
class SmtFallback final : public domain::Fallback {
 public:
  explicit SmtFallback(int effort) : solver_(terms_, {.resource_units = 150'000U * static_cast<uint32_t>(effort)}) {}

  bool implies(domain::Ints& ints, std::span<const domain::CondId> facts, domain::CondId goal) override;
  // Values that satisfy all conditions, or nullopt, which says nothing.
  std::optional<domain::Assignment> satisfy(domain::Ints& ints, const std::vector<domain::CondId>& conditions);
  [[nodiscard]] const smt::Statistics& statistics() const { return solver_.statistics(); }

 private:
  // Adds the definitions of all atoms in `conditions` to the query's assumptions; gives these atoms.
  std::set<domain::AtomId> add_definitions(domain::Ints& ints, const std::vector<domain::CondId>& conditions,
                                           smt::Query& query);
  smt::TermId of(domain::Ints& ints, domain::IntId id);
  smt::TermId of(domain::Ints& ints, domain::CondId id);
  smt::TermId of(domain::Ints& ints, domain::AtomId id);
  smt::TermId product(domain::Ints& ints, const std::vector<domain::AtomId>& factors);

  smt::Terms terms_;
  smt::Solver solver_;
  std::unordered_map<domain::IntId, smt::TermId> int_terms_;
  std::unordered_map<domain::CondId, smt::TermId> cond_terms_;
  std::unordered_map<domain::AtomId, smt::TermId> atom_terms_;
  // Definitions of atoms, by the atom; those of the atoms inside it are found through its parts.
  std::unordered_map<domain::AtomId, std::vector<smt::TermId>> definitions_;
  std::vector<std::pair<std::vector<domain::AtomId>, smt::TermId>> products_;
};

}  // namespace tw::verify
