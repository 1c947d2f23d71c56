// SPDX-License-Identifier: Apache-2.0

// Rule        k-slice-mismatch, accumulator-mismatch (defect D1)
// Scope       every `mma` of the lowered program, for all sizes, tiles and iterations
// Invariant   the two operands agree on every name that they share, element by element along k; a name that only one of
// them
//             has is the accumulator's too
// Criterion   tags are polynomials in sizes, tile and loop coordinates (m, n, k): a shared name's two polynomials are
// proved
//             equal where both elements are inside their tensors. Names come from the tensors' dimensions or `tag`.
// Valid near  a second operand read one k-step ahead, from the version of the ring that holds the same step
// Diagnostic  TW3001
#include "verify/context.h"

namespace tw::verify {

namespace {

using analysis::Tag;
using analysis::TagField;

void mismatch(Context& context, Obligation& obligation, const analysis::MmaRecord& mma, const Facts& facts,
              const std::string& name, IntId a, IntId b, VarId n_var, TermId a_term, TermId b_term,
              const std::vector<CondId>& defined) {
  std::vector<CondId> broken = defined;
  broken.push_back(context.ints().negate(context.ints().eq(a, b)));
  auto values = find_witness(context, facts, broken);
  if (!values) {
    give_up(obligation, "`" + name + "` of the two operands is not proved equal: " + context.ints().to_string(a) +
                            " against " + context.ints().to_string(b));
    return;
  }
  Counterexample cex;
  cex.rule = "k-slice-mismatch";
  describe(context, mma.place, *values, cex);
  auto at = [&](VarId v) { return values->contains(v) ? values->at(v) : 0; };
  const analysis::Values& terms = context.values();
  int64_t m = at(terms.axis_var(0)), k = at(terms.axis_var(1)), n = at(n_var);
  cex.element = {m, n, k};
  cex.object = "accumulator";
  cex.expected = name + " = " + std::to_string(*context.ints().evaluate(a, *values));
  cex.got = name + " = " + std::to_string(*context.ints().evaluate(b, *values));
  cex.claim = "the first operand's element (m=" + std::to_string(m) + ", k=" + std::to_string(k) + ") has " +
              cex.expected + ", the second one's (n=" + std::to_string(n) + ", k=" + std::to_string(k) + ") has " +
              cex.got;
  cex.points.push_back({mma.place.op->span, mma.place.op->id, "multiplies"});
  cex.why = "elements that are multiplied must belong to the same " + name;
  cex.replay = ReplayKind::Tags;
  cex.watched = WatchedValue{mma.place.op->id, false};
  add_elements(context, a_term, *values, cex);
  const size_t before = cex.elements.size();
  add_elements(context, b_term, *values, cex);
  cex.is_product = before > 0 && cex.elements.size() > before;
  for (size_t i = before; i < cex.elements.size(); ++i) {
    cex.elements[i].is_second = true;
  }
  conclude(context, obligation, std::move(cex));
}

void check_one(Context& context, const analysis::MmaRecord& mma) {
  domain::Ints& ints = context.ints();
  analysis::Values& terms = context.values();
  Obligation& obligation =
      context.add("contraction", "both operands agree on every shared name, element by element", mma.place.op->span);
  Timer timer(obligation);
  Facts facts;
  context.assume(facts, mma.place, {mma.m, mma.k});
  VarId n_var = ints.add_var("n");
  facts.assume(ints.non_negative(ints.var(n_var)));
  facts.assume(ints.lt(ints.var(n_var), ints.constant(mma.n)));
  TermId a = context.settler->settle(mma.a, facts);
  TermId b = context.settler->settle(
      terms.substitute(mma.b, {{terms.axis_var(0), ints.var(n_var)}, {terms.axis_var(1), terms.axis(1)}}), facts);
  Tag tag_a = context.tagger->tag(a, facts);
  Tag tag_b = context.tagger->tag(b, facts);
  VarId k_var = terms.axis_var(1);
  std::vector<CondId> defined = tag_a.defined;
  defined.insert(defined.end(), tag_b.defined.begin(), tag_b.defined.end());
  domain::FactScope scope(facts);
  for (CondId c : defined) {
    facts.assume(c);
  }
  int64_t along_k = 0;
  for (const auto& [name, field] : tag_a.fields) {
    auto other = tag_b.fields.find(name);
    if (field.is_mixed || (other != tag_b.fields.end() && other->second.is_mixed)) {
      const TagField& mixed = field.is_mixed ? field : other->second;
      mismatch(context, obligation, mma, facts, name, mixed.value, mixed.other, n_var, a, b, {});
      continue;
    }
    if (other == tag_b.fields.end()) {
      continue;
    }
    ++obligation.compared;
    along_k += ints.uses(field.value, k_var) || ints.uses(other->second.value, k_var) ? 1 : 0;
    if (field.value != other->second.value &&
        !context.env.prover.proves(facts, ints.eq(field.value, other->second.value))) {
      mismatch(context, obligation, mma, facts, name, field.value, other->second.value, n_var, a, b, {});
    }
  }
  // A name of one operand that changes from iteration to iteration of a loop that carries the accumulator.
  TermId c = context.settler->settle(terms.substitute(mma.c, {{terms.axis_var(1), ints.var(n_var)}}), facts);
  Tag tag_c = context.tagger->tag(c, facts);
  for (const Tag* side : {&tag_a, &tag_b}) {
    const Tag& other = side == &tag_a ? tag_b : tag_a;
    for (const auto& [name, field] : side->fields) {
      if (other.fields.contains(name) || field.is_mixed || ints.uses(field.value, k_var)) {
        continue;
      }
      auto in_c = tag_c.fields.find(name);
      if (in_c != tag_c.fields.end() && !in_c->second.is_mixed) {
        ++obligation.compared;
        if (!context.env.prover.proves(facts, ints.eq(in_c->second.value, field.value))) {
          mismatch(context, obligation, mma, facts, name, in_c->second.value, field.value, n_var, a, b, tag_c.defined);
        }
      } else if (auto covered = tag_c.covered.find(name); covered != tag_c.covered.end()) {
        // The accumulator went over values of a name that this product holds fixed.
        for (const analysis::Segment& s : covered->second.segments) {
          mismatch(context, obligation, mma, facts, name, s.lo, field.value, n_var, a, b, {ints.lt(s.lo, s.hi)});
        }
        if (covered->second.segments.empty()) {
          give_up(obligation, "`" + name + "` changes while the accumulator is carried: " + covered->second.doubt);
        }
      }
    }
  }
  if (obligation.verdict != Verdict::Proved) {
    return;
  }
  if (!tag_a.doubt.empty() || !tag_b.doubt.empty()) {
    give_up(obligation, tag_a.doubt.empty() ? tag_b.doubt : tag_a.doubt);
  } else if (along_k == 0) {
    if (context.env.prover.contradictory(facts)) {
      // No element of either operand is ever inside its tensor, or the statement is never reached.
      obligation.verdict = Verdict::Vacuous;
      obligation.reason = "no multiplication of two real elements is ever reached";
    } else {
      obligation.verdict = Verdict::Vacuous;
      obligation.reason = "the operands share no name along k, so nothing says which elements belong together";
    }
  }
}

}  // namespace

void check_contractions(Context& context) {
  for (const analysis::MmaRecord& mma : context.reading.mmas) {
    check_one(context, mma);
  }
}

}  // namespace tw::verify
