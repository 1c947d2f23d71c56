// SPDX-License-Identifier: Apache-2.0

// Rule        uninitialized-read, pad-reaches-output (defect D18; obligation 3)
// Scope       every read of memory that the kernel writes; every value that is written to global memory
// Invariant   a read gets a write of the same block that comes before it; elements outside their tensor (pads)
// contribute to
//             no element of an output
// Criterion   the earlier writes' cells cover the read's cells under the conditions of the read; in the normal form of
// a
//             written value no element may lie outside: pads that were neutral in a reduction have left its range
// Valid near  `exp(x - m)` over a row padded with -inf: exp(-inf) = 0 adds nothing
// Diagnostic  TW3020, TW3021
#include <set>

#include "verify/context.h"

namespace tw::verify {

namespace {

using emulator::ReadingErrorKind;

void check_written(Context& context) {
  Obligation& obligation =
      context.add("init", "every read of shared memory finds an earlier write", context.lowered.span);
  Timer timer(obligation);
  for (const analysis::AccessRecord& access : context.reading.accesses) {
    obligation.compared += !access.is_write && !access.region->is_global() ? 1 : 0;
  }
  domain::Ints& ints = context.ints();
  for (const analysis::UnwrittenRead& read : context.reading.unwritten) {
    Facts facts;
    context.assume(facts, read.access.place, read.access.shape);
    for (CondId c : read.open) {
      facts.assume(c);
    }
    if (context.env.prover.contradictory(facts)) {
      continue;
    }
    std::string name = read.access.region->is_global()
                           ? context.lowered.tensor(read.access.region->tensor()).name
                           : context.lowered.shared_object(read.access.region->shared()).name;
    if (!obligation.span.is_valid() || obligation.verdict == Verdict::Proved) {
      obligation.span = read.access.region->span.is_valid() ? read.access.region->span : read.access.place.op->span;
    }
    auto values = find_witness(context, facts, {});
    if (!values) {
      give_up(obligation, "that `" + name + "` is written before this read is not proved");
      continue;
    }
    Counterexample cex;
    cex.rule = "uninitialized-read";
    describe(context, read.access.place, *values, cex);
    cex.object = name;
    if (read.access.version.is_valid()) {
      cex.version = ints.evaluate(read.access.version, *values);
    }
    for (IntId c : read.access.coords) {
      cex.element.push_back(ints.evaluate(c, *values).value_or(-1));
    }
    cex.claim = "`" + name + "` is read where nothing was written before";
    cex.expected = "a write before the read";
    cex.got = read.is_stale ? "what an earlier tile left there" : "no write";
    cex.points.push_back({read.access.place.op->span, read.access.place.op->id, "reads"});
    cex.replay = ReplayKind::Reading;
    conclude(context, obligation, std::move(cex));
  }
  // Where it is not known which write serves a read, it may be none.
  if (obligation.verdict != Verdict::Refuted && context.options.replay && !context.reading.approximations.empty()) {
    if (auto found = hunt_reading(context, {ReadingErrorKind::UninitializedRead}, {})) {
      found->rule = "uninitialized-read";
      if (!found->points.empty()) {
        obligation.span = found->points.front().span;
      }
      conclude(context, obligation, std::move(*found));
    }
  }
}

// Elements in `term` that may lie outside their tensor, with the conditions under which they do, and constants that
// stand for such elements; reductions are opened. `neutral`: a constant that does nothing where `term` stands.
void open_pads(Context& context, TermId term, Facts& facts, std::set<TermId>& seen, int64_t& compared,
               const std::function<void(TermId, CondId, bool)>& found, bool inside_reduction,
               std::optional<double> neutral = std::nullopt) {
  analysis::Values& values = context.values();
  domain::Ints& ints = context.ints();
  const analysis::TermNode n = values.node(term);
  if (n.kind == analysis::TermKind::Constant) {
    if (analysis::Values::is_pad(n) && !(neutral && n.number == *neutral)) {
      ++compared;
      found(term, ints.truth(true), inside_reduction);
    }
    return;
  }
  // `seen` holds what was looked at under these facts or weaker ones.
  if (!seen.insert(term).second) {
    return;
  }
  switch (n.kind) {
    case analysis::TermKind::Leaf:
      ++compared;
      for (CondId inside : context.settler->open_bounds(n, facts)) {
        found(term, ints.negate(inside), inside_reduction);
      }
      return;
    case analysis::TermKind::Reduce: {
      analysis::Values::Opened opened = values.open(term);
      domain::FactScope scope(facts);
      for (const analysis::Binder& b : opened.binders) {
        facts.assume(ints.le(b.lo, ints.var(b.var)));
        facts.assume(ints.lt(ints.var(b.var), b.hi));
      }
      std::set<TermId> seen_inside;
      open_pads(context, opened.body, facts, seen_inside, compared, found, true, analysis::Values::neutral(n.reduce));
      return;
    }
    case analysis::TermKind::Select:
      for (bool side : {true, false}) {
        domain::FactScope scope(facts);
        facts.assume(side ? n.condition : ints.negate(n.condition));
        // What is inside under this condition need not be elsewhere.
        std::set<TermId> seen_here = seen;
        open_pads(context, n.operands[side ? 0 : 1], facts, seen_here, compared, found, inside_reduction, neutral);
      }
      return;
    case analysis::TermKind::Loop: {
      // The iteration is any that runs; coordinates are those of the element.
      domain::Substitution at;
      VarId iteration = ints.add_var("iteration");
      at.emplace(n.binders[0].var, ints.var(iteration));
      domain::FactScope scope(facts);
      facts.assume(ints.non_negative(ints.var(iteration)));
      facts.assume(ints.lt(ints.var(iteration), n.coords[0]));
      for (size_t i = 1; i < n.binders.size(); ++i) {
        at.emplace(n.binders[i].var, i < n.coords.size() ? n.coords[i] : ints.constant(0));
      }
      std::set<TermId> seen_inside;
      for (TermId o : n.operands) {
        TermId body = context.settler->settle(values.substitute(o, at), facts);
        open_pads(context, body, facts, seen_inside, compared, found, true);
      }
      return;
    }
    default:
      for (TermId o : n.operands) {
        open_pads(context, o, facts, seen, compared, found, inside_reduction);
      }
  }
}

void check_pads(Context& context, const analysis::StoreRecord& store) {
  const ir::Tensor& tensor = context.lowered.tensor(store.tensor);
  domain::Ints& ints = context.ints();
  Obligation& obligation = context.add("init", "no element outside its tensor contributes to `" + tensor.name + "`",
                                       store.access.place.op->span);
  Timer timer(obligation);
  Facts facts;
  context.assume(facts, store.access.place, store.access.shape);
  const std::vector<IntId>& extents = context.settler->extents()[store.tensor.index];
  for (size_t i = 0; i < extents.size(); ++i) {
    facts.assume(ints.non_negative(store.access.coords[i]));
    facts.assume(ints.lt(store.access.coords[i], extents[i]));
  }
  TermId value = context.settler->settle(store.value, facts);
  if (context.values().has_opaque(value)) {
    give_up(obligation, "the written value contains something that is not modelled");
  }
  if (context.values().has_uninitialized(value)) {
    give_up(obligation, "the written value may contain a cell that nothing wrote");
  }
  std::set<TermId> seen;
  std::set<TermId> reported;
  bool hunted = false;
  open_pads(
      context, value, facts, seen, obligation.compared,
      [&](TermId leaf, CondId outside, bool in_reduction) {
        if (obligation.verdict == Verdict::Refuted || !reported.insert(leaf).second) {
          return;
        }
        std::vector<std::pair<std::string, int64_t>> sizes;
        const analysis::TermNode node = context.values().node(leaf);
        const std::string name = node.kind == analysis::TermKind::Leaf ? context.lowered.tensors[node.index].name
                                                                       : std::string("its tensor");
        auto values = find_witness(context, facts, {outside});
        std::string claim =
            "elements outside `" + name + "` (pads of value " + std::to_string(node.number) + ") " +
            (in_reduction ? "take part in a reduction where they are not neutral" : "reach an element of the output");
        if (!values) {
          give_up(obligation, claim + " unless " + ints.to_string(ints.negate(outside)) + ", which is not proved");
          return;
        }
        Counterexample cex;
        cex.rule = "pad-reaches-output";
        describe(context, store.access.place, *values, cex);
        cex.object = tensor.name;
        for (IntId c : store.access.coords) {
          cex.element.push_back(ints.evaluate(c, *values).value_or(-1));
        }
        cex.claim = claim;
        cex.expected = "elements of `" + name + "`";
        cex.got = name + format_coords(ints, node.coords, *values) + ", outside";
        cex.points.push_back({store.access.place.op->span, store.access.place.op->id, "writes"});
        cex.replay = ReplayKind::Reading;
        conclude(context, obligation, cex);
        if (obligation.verdict != Verdict::Refuted && !hunted && context.options.replay) {
          hunted = true;
          if (auto found = hunt_reading(context, {ReadingErrorKind::PadReachesOutput}, cex.sizes)) {
            found->rule = cex.rule;
            found->claim = cex.claim;
            conclude(context, obligation, std::move(*found));
          }
        }
      },
      false);
}

}  // namespace

void check_initialized(Context& context) {
  check_written(context);
  for (const analysis::StoreRecord& store : context.reading.stores) {
    check_pads(context, store);
  }
}

}  // namespace tw::verify
