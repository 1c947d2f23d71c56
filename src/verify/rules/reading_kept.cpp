// SPDX-License-Identifier: Apache-2.0

// Rule        reading-kept (obligation 0b)
// Scope       every store to global memory
// Invariant   the lowered program writes the same terms to the same elements under the same conditions as the source
// Criterion   stores correspond in order; coordinates are equal polynomials, conditions imply each other, and the
// written
//             terms have one normal form for every element inside the tensor
// Valid near  a pipeline that copies each slice three iterations early into a ring
// Diagnostic  TW3010
#include <algorithm>

#include "verify/context.h"

namespace tw::verify {

namespace {

using analysis::LoopVar;
using analysis::StoreRecord;

std::string compare(Context& context, const StoreRecord& source, const StoreRecord& lowered) {
  domain::Ints& ints = context.ints();
  const Place& from = source.access.place;
  const Place& to = lowered.access.place;
  if (source.tensor != lowered.tensor || source.is_red != lowered.is_red || source.red != lowered.red) {
    return "the lowered program writes another tensor here";
  }
  if (from.loops.size() != to.loops.size() || source.access.shape != lowered.access.shape) {
    return "the lowered program writes another tile or in other loops here";
  }
  domain::Substitution rename;
  for (size_t i = 0; i < from.loops.size(); ++i) {
    if (from.loops[i].var != to.loops[i].var) {
      rename.emplace(from.loops[i].var, ints.var(to.loops[i].var));
    }
  }
  Facts facts;
  context.assume(facts, to, lowered.access.shape);
  for (size_t i = 0; i < from.loops.size(); ++i) {
    for (auto [a, b] : {std::pair(from.loops[i].lo, to.loops[i].lo), std::pair(from.loops[i].hi, to.loops[i].hi)}) {
      if (!context.env.prover.proves(facts, ints.eq(ints.substitute(a, rename), b))) {
        return "the loop over `" + to.loops[i].name + "` has other bounds";
      }
    }
  }
  for (size_t i = 0; i < source.access.coords.size(); ++i) {
    IntId expected = ints.substitute(source.access.coords[i], rename);
    if (expected != lowered.access.coords[i] &&
        !context.env.prover.proves(facts, ints.eq(expected, lowered.access.coords[i]))) {
      return "axis " + std::to_string(i) + " of the written slice is not proved equal";
    }
  }
  auto is_choice = [&](CondId c) {
    return std::ranges::all_of(ints.vars(c), [&](VarId v) {
      return std::ranges::find(context.reading.choices, v) != context.reading.choices.end() ||
             std::ranges::find(context.source_reading.choices, v) != context.source_reading.choices.end();
    });
  };
  for (CondId c : from.path) {
    if (is_choice(c)) {
      continue;
    }
    if (!context.env.prover.proves(facts, ints.substitute(c, rename))) {
      return "the lowered program writes under weaker conditions: " + ints.to_string(c);
    }
  }
  {
    Facts other;
    for (CondId c : from.path) {
      other.assume(ints.substitute(c, rename));
    }
    for (CondId c : to.path) {
      if (is_choice(c)) {
        continue;
      }
      if (!context.env.prover.proves(other, c)) {
        return "the lowered program writes under stronger conditions: " + ints.to_string(c);
      }
    }
  }
  // Elements outside are dropped on both sides.
  const std::vector<IntId>& extents = context.settler->extents()[lowered.tensor.index];
  for (size_t i = 0; i < extents.size(); ++i) {
    facts.assume(ints.non_negative(lowered.access.coords[i]));
    facts.assume(ints.lt(lowered.access.coords[i], extents[i]));
  }
  TermId expected = context.values().substitute(source.value, rename);
  if (expected == lowered.value && !context.values().has_opaque(expected)) {
    return "";
  }
  TermId a = context.settler->settle(expected, facts);
  TermId b = context.settler->settle(lowered.value, facts);
  if (a != b) {
    return "the written values have different normal forms: source " + context.values().to_string(a).substr(0, 300) +
           "; lowered " + context.values().to_string(b).substr(0, 300);
  }
  if (context.values().has_opaque(a)) {
    return "the written value contains something that is not modelled";
  }
  return "";
}

}  // namespace

void check_reading_kept(Context& context) {
  const auto& source = context.source_reading.stores;
  const auto& lowered = context.reading.stores;
  bool tried_difference = false;
  auto failed = [&](Obligation& obligation, std::string reason) {
    if (!tried_difference) {
      tried_difference = true;
      if (auto cex = hunt_difference(context)) {
        cex->points.push_back({obligation.span, 0, "writes"});
        conclude(context, obligation, std::move(*cex));
        return;
      }
    }
    give_up(obligation, std::move(reason));
  };
  if (source.size() != lowered.size()) {
    Obligation& obligation = context.add("reading", "source and lowered program write the same", context.source.span);
    Timer timer(obligation);
    failed(obligation, "the source has " + std::to_string(source.size()) +
                           " stores to global memory, the lowered program " + std::to_string(lowered.size()));
    return;
  }
  if (lowered.empty()) {
    Obligation& obligation = context.add("reading", "source and lowered program write the same", context.source.span);
    obligation.verdict = Verdict::Vacuous;
    obligation.reason = "the kernel writes nothing";
    return;
  }
  for (size_t i = 0; i < lowered.size(); ++i) {
    Obligation& obligation =
        context.add("reading", "the lowered program writes the source's terms to the same elements",
                    lowered[i].access.place.op->span);
    Timer timer(obligation);
    ++obligation.compared;
    std::string reason = compare(context, source[i], lowered[i]);
    if (!reason.empty()) {
      failed(obligation, std::move(reason));
    }
  }
}

}  // namespace tw::verify
