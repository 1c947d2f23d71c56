// SPDX-License-Identifier: Apache-2.0

// Rule        check-failed, coverage-of-names (defects D1, D2, D18, D20, whatever the author asserts)
// Scope       every `check(...)`
// Invariant   the value's tag has the stated names with the stated values at every element that is not a pad (and where
//             `where` holds); each name in `over` was covered exactly once for each value of its range
// Criterion   polynomial equality of the tag's and the expected values; the segments that the reductions covered chain
// up from
//             the range's start to its end
// Valid near  an accumulator at the edge of a ragged problem: its rows beyond the tensor are pads and are not compared
// Diagnostic  TW3003, TW3004
#include <algorithm>

#include "verify/context.h"

namespace tw::verify {

namespace {

using analysis::Covered;
using analysis::Tag;

struct CheckSite {
  const analysis::CheckRecord* record;
  const ir::CheckOp* op;
  WatchedValue watched;
};

void wrong_value(Context& context, Obligation& obligation, const CheckSite& site, TermId value, const Facts& facts,
                 const std::string& name, IntId got, IntId expected) {
  // An invalid `got`: the tag has no such name.
  std::vector<CondId> broken;
  if (got.is_valid()) {
    broken.push_back(context.ints().negate(context.ints().eq(got, expected)));
  }
  auto values = find_witness(context, facts, broken);
  if (!values) {
    give_up(obligation, got.is_valid() ? "`" + name + "` is " + context.ints().to_string(got) + ", not proved to be " +
                                             context.ints().to_string(expected)
                                       : "the value has no `" + name + "`");
    return;
  }
  Counterexample cex;
  cex.rule = "check-failed";
  describe(context, site.record->place, *values, cex);
  for (size_t i = 0; i < site.record->shape.size(); ++i) {
    auto it = values->find(context.values().axis_var(static_cast<int>(i)));
    cex.element.push_back(it == values->end() ? 0 : it->second);
  }
  cex.object = context.lowered.value(site.op->value).name;
  auto number = [&](IntId id) {
    auto result = context.ints().evaluate(id, *values);
    return result ? std::to_string(*result) : std::string("?");
  };
  cex.expected = name + " = " + number(expected);
  cex.got = got.is_valid() ? name + " = " + number(got) : "no " + name;
  cex.claim = "an element has " + cex.got + " where the check says " + cex.expected;
  cex.points.push_back({site.record->place.op->span, site.record->place.op->id, "checks"});
  cex.why = "the value was computed from elements of another " + name;
  cex.replay = ReplayKind::Tags;
  cex.watched = site.watched;
  add_elements(context, value, *values, cex);
  conclude(context, obligation, std::move(cex));
}

// The axis of `tensor` that is called `name`, or -1.
int axis_named(const ir::Function& f, const std::string& tensor, const std::string& name) {
  for (const ir::Tensor& t : f.tensors) {
    for (size_t d = 0; t.name == tensor && d < t.dims.size(); ++d) {
      if (t.dims[d] == name) {
        return static_cast<int>(d);
      }
    }
  }
  return -1;
}

// What shows that the value does not cover `name` as stated: of the values of `name` that are asked for or that take
// part, one that does one and not the other. `parts`: the runs that take part.
void add_cover_elements(Context& context, TermId value, const domain::Assignment& at, const std::string& name,
                        std::pair<int64_t, int64_t> asked, const std::vector<std::pair<int64_t, int64_t>>& parts,
                        Counterexample& cex) {
  auto takes_part = [&](int64_t v) {
    return std::ranges::any_of(parts, [&](const auto& run) { return run.first <= v && v < run.second; });
  };
  // Ends of runs tell the difference, if anything does.
  std::vector<int64_t> candidates{asked.first, asked.second - 1};
  for (const auto& [lo, hi] : parts) {
    candidates.insert(candidates.end(), {lo - 1, lo, hi - 1, hi});
  }
  std::optional<int64_t> missing, extra;
  for (int64_t v : candidates) {
    const bool is_asked = asked.first <= v && v < asked.second;
    if (is_asked && !takes_part(v)) {
      missing = v;
    } else if (!is_asked && takes_part(v)) {
      extra = v;
    }
  }
  if (!missing && !extra) {
    return;
  }
  Counterexample scratch;
  add_elements(context, value, at, scratch);
  for (TouchedElement& element : scratch.elements) {
    const int axis = axis_named(context.lowered, element.tensor, name);
    if (axis >= 0) {
      element.coords[static_cast<size_t>(axis)] = missing ? *missing : *extra;
      element.reaches = !missing;
      cex.elements.push_back(std::move(element));
      return;
    }
  }
  // No element of the name takes part at all: the first ones of each other axis stand for those that should.
  for (const ir::Tensor& tensor : context.lowered.tensors) {
    const int axis = axis_named(context.lowered, tensor.name, name);
    if (missing && axis >= 0 && tensor.direction == ir::Direction::In) {
      TouchedElement element{tensor.name, std::vector<int64_t>(tensor.dims.size(), 0), false};
      element.coords[static_cast<size_t>(axis)] = *missing;
      cex.elements.push_back(std::move(element));
      return;
    }
  }
}

void check_cover(Context& context, Obligation& obligation, const CheckSite& site, TermId value, const Facts& facts,
                 const std::string& name, const Tag& tag, IntId lo, IntId hi) {
  domain::Ints& ints = context.ints();
  domain::Prover& prover = context.env.prover;
  auto candidate = [&](const std::vector<CondId>& broken, const std::string& what) {
    auto values = find_witness(context, facts, broken);
    if (!values) {
      give_up(obligation, what + " (not proved, and no small counterexample)");
      return;
    }
    Counterexample cex;
    cex.rule = "coverage-of-names";
    describe(context, site.record->place, *values, cex);
    for (size_t i = 0; i < site.record->shape.size(); ++i) {
      auto it = values->find(context.values().axis_var(static_cast<int>(i)));
      cex.element.push_back(it == values->end() ? 0 : it->second);
    }
    cex.object = context.lowered.value(site.op->value).name;
    auto number = [&](IntId id) {
      auto value = ints.evaluate(id, *values);
      return value ? std::to_string(*value) : std::string("?");
    };
    cex.expected = name + " in [" + number(lo) + ", " + number(hi) + "), each once";
    std::vector<std::pair<int64_t, int64_t>> parts;
    auto covered = tag.covered.find(name);
    if (covered != tag.covered.end()) {
      for (const analysis::Segment& s : covered->second.segments) {
        parts.emplace_back(ints.evaluate(s.lo, *values).value_or(0), ints.evaluate(s.hi, *values).value_or(0));
        cex.got += (cex.got.empty() ? "" : " and ") + std::string("[") + number(s.lo) + ", " + number(s.hi) + ")";
      }
    } else {
      cex.got = "nothing";
    }
    cex.claim = "the reduction covers " + cex.got + " of `" + name + "`; the check asks for " + cex.expected;
    cex.points.push_back({site.record->place.op->span, site.record->place.op->id, "checks"});
    cex.why = what;
    cex.replay = ReplayKind::Tags;
    cex.watched = site.watched;
    if (auto varies = tag.fields.find(name); varies != tag.fields.end()) {
      // Of the elements that differ in this name alone, only one takes part.
      const int64_t only = ints.evaluate(varies->second.value, *values).value_or(0);
      parts.emplace_back(only, only + 1);
      add_elements(context, value, *values, cex);
    }
    add_cover_elements(context, value, *values, name,
                       {ints.evaluate(lo, *values).value_or(0), ints.evaluate(hi, *values).value_or(0)}, parts, cex);
    conclude(context, obligation, std::move(cex));
  };
  ++obligation.compared;
  auto it = tag.covered.find(name);
  if (it == tag.covered.end()) {
    if (!tag.doubt.empty()) {
      give_up(obligation, tag.doubt);
    } else if (tag.fields.contains(name)) {
      // Two values at least are asked for, else one element covers them.
      candidate({ints.lt(ints.add(lo, ints.constant(1)), hi)},
                "`" + name + "` still varies over the value: nothing was reduced along it");
    } else if (!prover.proves(facts, ints.le(hi, lo))) {
      candidate({ints.lt(lo, hi)}, "no reduction went over `" + name + "`");
    }
    return;
  }
  const Covered& covered = it->second;
  if (covered.is_repeated) {
    candidate({ints.lt(lo, hi)}, covered.doubt);
    return;
  }
  if (!covered.doubt.empty()) {
    give_up(obligation, covered.doubt);
    return;
  }
  // Chain: [lo, s1.hi), [s1.hi, s2.hi), ... up to hi.
  std::vector<analysis::Segment> left = covered.segments;
  IntId at = lo;
  while (!left.empty()) {
    bool found = false;
    for (size_t i = 0; i < left.size() && !found; ++i) {
      if (prover.proves(facts, ints.eq(left[i].lo, at)) && prover.proves(facts, ints.le(left[i].lo, left[i].hi))) {
        at = left[i].hi;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        found = true;
      }
    }
    if (!found) {
      break;
    }
  }
  if (left.empty() && prover.proves(facts, ints.eq(at, hi))) {
    return;
  }
  if (covered.segments.size() == 1) {
    const analysis::Segment s = covered.segments[0];
    // Empty on both sides is no difference.
    candidate({ints.disjunction({ints.negate(ints.eq(s.lo, lo)), ints.negate(ints.eq(s.hi, hi))}),
               ints.disjunction({ints.lt(s.lo, s.hi), ints.lt(lo, hi)})},
              "what was covered is not the range of the check");
    return;
  }
  if (left.empty()) {
    candidate({ints.negate(ints.eq(at, hi)), ints.disjunction({ints.lt(lo, at), ints.lt(lo, hi)})},
              "what was covered ends elsewhere");
    return;
  }
  // A segment that starts where the chain does not stand: a gap or an overlap, when the segment is not empty.
  const analysis::Segment s = left[0];
  candidate({ints.negate(ints.eq(s.lo, at)), ints.lt(s.lo, s.hi)}, "the covered runs leave a gap or overlap");
}

}  // namespace

void check_tags(Context& context) {
  domain::Ints& ints = context.ints();
  for (const analysis::CheckRecord& record : context.checks()) {
    const auto& op = std::get<ir::CheckOp>(record.place.op->body);
    CheckSite site{&record, &op, {record.place.op->id, context.checks_are_of_source()}};
    Obligation& obligation =
        context.add("check", "the tag of every real element is the stated one", record.place.op->span);
    Timer timer(obligation);
    Facts facts;
    context.assume(facts, record.place, record.shape);
    facts.assume(record.where);
    TermId value = context.settler->settle(record.value, facts);
    Tag tag = context.tagger->tag(value, facts);
    for (CondId c : tag.defined) {
      facts.assume(c);
    }
    if (context.env.prover.contradictory(facts)) {
      obligation.verdict = Verdict::Vacuous;
      obligation.reason = "no element of the value is ever a real element that satisfies `where`";
      continue;
    }
    // With what makes the elements real assumed, what they are made of may settle further.
    value = context.settler->settle(value, facts);
    tag = context.tagger->tag(value, facts);
    for (size_t i = 0; i < op.expected.fields.size(); ++i) {
      const std::string& name = op.expected.fields[i].first;
      ++obligation.compared;
      auto it = tag.fields.find(name);
      if (it == tag.fields.end()) {
        if (!tag.doubt.empty()) {
          give_up(obligation, tag.doubt);
          continue;
        }
        // Reduced along it, or none of the elements behind the value has that name.
        wrong_value(context, obligation, site, value, facts, name, {}, record.expected[i]);
        continue;
      }
      if (it->second.is_mixed) {
        wrong_value(context, obligation, site, value, facts, name, it->second.value, it->second.other);
      } else if (!context.env.prover.proves(facts, ints.eq(it->second.value, record.expected[i]))) {
        wrong_value(context, obligation, site, value, facts, name, it->second.value, record.expected[i]);
      }
    }
    if (!op.over.empty()) {
      // What was covered does not depend on the order in which a loop added it up.
      value = context.settler->settle(record.value, facts, true);
      tag = context.tagger->tag(value, facts);
    }
    for (size_t i = 0; i < op.over.size(); ++i) {
      check_cover(context, obligation, site, value, facts, op.over[i].name, tag, record.over[i].first,
                  record.over[i].second);
    }
    if (obligation.verdict == Verdict::Proved && !tag.doubt.empty()) {
      give_up(obligation, tag.doubt);
    }
    if (obligation.verdict == Verdict::Proved && obligation.compared == 0) {
      obligation.verdict = Verdict::Vacuous;
      obligation.reason = "the check names nothing";
    }
  }
}

}  // namespace tw::verify
