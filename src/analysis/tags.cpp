// SPDX-License-Identifier: Apache-2.0
#include "analysis/tags.h"

#include <algorithm>
#include <set>

namespace tw::analysis {

using domain::Facts;
using domain::FactScope;
using domain::Ints;

namespace {

constexpr size_t kMostSegments = 32;

bool same_segments(const Covered& a, const Covered& b) {
  return std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                    [](const Segment& p, const Segment& q) { return p.lo == q.lo && p.hi == q.hi; });
}

}  // namespace

Tag Tagger::tag(TermId term, Facts& facts) {
  memo_.clear();
  return visit(term, facts);
}

void Tagger::join(Tag& into, const Tag& other, bool adds, Facts& facts) {
  Ints& ints = env_.ints;
  for (const auto& [name, field] : other.fields) {
    auto [it, is_new] = into.fields.emplace(name, field);
    if (is_new || it->second.is_mixed) {
      continue;
    }
    if (field.is_mixed) {
      it->second = field;
    } else if (it->second.value != field.value) {
      FactScope scope(facts);
      for (CondId c : into.defined) {
        facts.assume(c);
      }
      for (CondId c : other.defined) {
        facts.assume(c);
      }
      if (!env_.prover.proves(facts, ints.eq(it->second.value, field.value))) {
        it->second.is_mixed = true;
        it->second.other = field.value;
      }
    }
  }
  for (const auto& [name, covered] : other.covered) {
    auto [it, is_new] = into.covered.emplace(name, covered);
    if (is_new) {
      continue;
    }
    const bool same = same_segments(it->second, covered);
    if (!adds && same && it->second.doubt == covered.doubt) {
      continue;
    }
    if (it->second.doubt.empty()) {
      it->second.doubt = covered.doubt;
    }
    if (!adds && !same && it->second.doubt.empty()) {
      it->second.doubt = "reductions over different ranges are combined, not added";
    }
    // A value that is added to itself again and again doubles them; nobody covers a range in so many runs.
    if (it->second.segments.size() + covered.segments.size() > kMostSegments) {
      it->second.segments.clear();
      it->second.doubt = "more runs than are followed";
    } else {
      it->second.segments.insert(it->second.segments.end(), covered.segments.begin(), covered.segments.end());
    }
    it->second.is_repeated |= covered.is_repeated;
  }
  for (CondId c : other.defined) {
    if (std::find(into.defined.begin(), into.defined.end(), c) == into.defined.end()) {
      into.defined.push_back(c);
    }
  }
  if (into.doubt.empty()) {
    into.doubt = other.doubt;
  }
}

Tag Tagger::leaf(const TermNode& n, Facts& facts) {
  Tag result;
  const ir::Tensor& tensor = f_.tensors[n.index];
  for (const auto& [name, expr] : tensor.tag.fields) {
    result.fields.emplace(name, TagField{to_int(env_, f_, expr, tensor.tag.axes, n.coords), false, {}});
  }
  result.defined = settler_.open_bounds(n, facts);
  return result;
}

Tag Tagger::reduce(TermId term, Facts& facts) {
  Ints& ints = env_.ints;
  const TermNode n = env_.values.node(term);
  Values::Opened opened = env_.values.open(term);
  FactScope scope(facts);
  for (const Binder& b : opened.binders) {
    facts.assume(ints.le(b.lo, ints.var(b.var)));
    facts.assume(ints.lt(ints.var(b.var), b.hi));
  }
  // Tags found under these ranges do not hold outside.
  std::map<TermId, Tag> outer_memo;
  outer_memo.swap(memo_);
  Tag body = visit(opened.body, facts);
  memo_.swap(outer_memo);
  auto uses_binder = [&](IntId value) {
    return std::any_of(opened.binders.begin(), opened.binders.end(),
                       [&](const Binder& b) { return ints.uses(value, b.var); });
  };
  Tag result;
  result.doubt = body.doubt;
  // Summands that are pads are left out of what is covered, so their conditions must not vanish silently.
  for (CondId c : body.defined) {
    bool varies =
        std::any_of(opened.binders.begin(), opened.binders.end(), [&](const Binder& b) { return ints.uses(c, b.var); });
    if (!varies) {
      result.defined.push_back(c);
    } else if (result.doubt.empty()) {
      result.doubt = "a reduction over elements that may be pads: " + ints.to_string(c);
    }
  }
  std::map<std::string, Covered> covered;
  std::vector<bool> used(opened.binders.size(), false);
  for (const auto& [name, field] : body.fields) {
    if (field.is_mixed || !uses_binder(field.value)) {
      result.fields.emplace(name, field);
      continue;
    }
    Covered cover;
    size_t count = 0, which = 0;
    for (size_t i = 0; i < opened.binders.size(); ++i) {
      if (ints.uses(field.value, opened.binders[i].var)) {
        used[i] = true;
        ++count;
        which = i;
      }
    }
    const Binder& b = opened.binders[which];
    auto linear = ints.linear_in(field.value, b.var);
    if (count != 1 || !linear || linear->coefficient != 1 || uses_binder(b.lo) || uses_binder(b.hi)) {
      cover.doubt = "the values of `" + name + "` in the reduction, " + ints.to_string(field.value) +
                    ", are not a single run of consecutive ones";
    } else {
      cover.segments.push_back({ints.add(b.lo, linear->rest), ints.add(b.hi, linear->rest)});
    }
    covered.emplace(name, std::move(cover));
  }
  for (auto& [name, cover] : covered) {
    for (size_t i = 0; i < opened.binders.size(); ++i) {
      // An index that no covered name shows: every value comes as often as that index has values.
      if (!used[i] && cover.doubt.empty() && n.reduce == ir::ReduceKind::Add) {
        cover.doubt = "each value is added once for every value of another loop";
        cover.is_repeated = true;
      }
    }
  }
  const bool repeats =
      n.reduce == ir::ReduceKind::Add && std::any_of(used.begin(), used.end(), [](bool u) { return !u; });
  for (auto& [name, cover] : body.covered) {
    // What inner reductions covered stays, unless this one goes over the same name (a sum over exp(x - max(x))).
    if (!covered.contains(name)) {
      if (repeats && cover.doubt.empty()) {
        cover.doubt = "each value is added once for every value of another loop";
        cover.is_repeated = true;
      }
      bool varies = std::any_of(cover.segments.begin(), cover.segments.end(),
                                [&](const Segment& s) { return uses_binder(s.lo) || uses_binder(s.hi); });
      if (varies) {
        cover.segments.clear();
        cover.doubt = "nested reductions of different extent";
      }
      covered.emplace(name, cover);
    }
  }
  result.covered = std::move(covered);
  return result;
}

Tag Tagger::loop(const TermNode& n, Facts& facts) {
  Ints& ints = env_.ints;
  const size_t slots = n.operands.size() / 2;
  const uint32_t loop_number = 0x80000000U + n.slot;
  // Fresh variables for the iteration and the coordinates.
  domain::Substitution replace;
  std::vector<VarId> fresh;
  for (const Binder& b : n.binders) {
    fresh.push_back(ints.add_var("k" + std::to_string(ints.var_count())));
    replace.emplace(b.var, ints.var(fresh.back()));
  }
  std::vector<VarId> axes(fresh.begin() + 1, fresh.end());
  FactScope scope(facts);
  facts.assume(ints.non_negative(ints.var(fresh[0])));
  std::vector<TermId> inits, yields;
  for (size_t i = 0; i < slots; ++i) {
    inits.push_back(env_.values.substitute(n.operands[i], replace));
    yields.push_back(env_.values.substitute(n.operands[slots + i], replace));
  }
  for (size_t i = 0; i < slots; ++i) {
    carried_[{loop_number, static_cast<uint32_t>(i)}] = {visit(settler_.settle(inits[i], facts), facts), axes};
  }
  Tag result;
  std::set<std::string> moving;
  bool is_stable = false;
  // Names only ever join, so this ends; a tag that still changes after a few rounds is not modelled.
  for (int round = 0; round < 4 && !is_stable; ++round) {
    is_stable = true;
    for (size_t i = 0; i < slots; ++i) {
      memo_.clear();
      Tag next = visit(yields[i], facts);
      auto& current = carried_[{loop_number, static_cast<uint32_t>(i)}].first;
      // What depends on the iteration is not a name of the result, whatever the value began with.
      for (const auto& [name, field] : next.fields) {
        if (ints.uses(field.value, fresh[0]) || (field.other.is_valid() && ints.uses(field.other, fresh[0]))) {
          moving.insert(name);
        }
      }
      std::erase_if(next.fields, [&](const auto& f) { return moving.contains(f.first); });
      std::erase_if(next.defined, [&](CondId c) { return ints.uses(c, fresh[0]); });
      for (auto& [name, cover] : next.covered) {
        cover.segments.clear();
        cover.doubt = "a loop whose values have no closed form";
      }
      size_t before = current.fields.size();
      std::erase_if(current.fields, [&](const auto& f) { return moving.contains(f.first); });
      auto mixed = [](const Tag& t) {
        return std::count_if(t.fields.begin(), t.fields.end(), [](const auto& f) { return f.second.is_mixed; });
      };
      auto mixed_before = mixed(current);
      std::vector<CondId> defined = current.defined;
      join(current, next, false, facts);
      std::sort(current.defined.begin(), current.defined.end());
      current.defined.erase(std::unique(current.defined.begin(), current.defined.end()), current.defined.end());
      for (auto& [name, cover] : current.covered) {
        cover.segments.clear();
      }
      is_stable = is_stable && before == current.fields.size() && mixed_before == mixed(current);
    }
  }
  result = carried_[{loop_number, 0}].first;
  if (!is_stable) {
    result.doubt = "a loop whose carried values have no closed form";
  }
  domain::Substitution at;
  for (size_t i = 0; i < axes.size(); ++i) {
    at.emplace(axes[i], i + 1 < n.coords.size() ? n.coords[i + 1] : ints.constant(0));
  }
  for (auto& [name, field] : result.fields) {
    field.value = ints.substitute(field.value, at);
    if (field.other.is_valid()) {
      field.other = ints.substitute(field.other, at);
    }
  }
  for (CondId& c : result.defined) {
    c = ints.substitute(c, at);
  }
  return result;
}

// Are there elements at which `term` is no pad? Facts: those under which something else stands in its place.
bool Tagger::takes_place(TermId term, Facts& facts) {
  std::map<TermId, Tag> outer_memo;
  outer_memo.swap(memo_);
  const Tag there = visit(term, facts);
  memo_.swap(outer_memo);
  return !env_.prover.proves(facts, env_.ints.negate(env_.ints.conjunction(there.defined)));
}

// The data decides: what one side has and the other lacks is no property of the value.
void Tagger::check_choice(Tag& result, const TermNode& n, Facts& facts) {
  auto is_constant = [&](TermId t) {
    const TermKind kind = env_.values.node(t).kind;
    return kind == TermKind::Constant || kind == TermKind::Integer;
  };
  if (is_constant(n.operands[1]) || is_constant(n.operands[2])) {
    return;
  }
  const Tag yes = visit(n.operands[1], facts), no = visit(n.operands[2], facts);
  const bool same_names = std::equal(yes.fields.begin(), yes.fields.end(), no.fields.begin(), no.fields.end(),
                                     [](const auto& a, const auto& b) { return a.first == b.first; });
  const bool same_cover =
      std::equal(yes.covered.begin(), yes.covered.end(), no.covered.begin(), no.covered.end(),
                 [](const auto& a, const auto& b) { return a.first == b.first && same_segments(a.second, b.second); });
  if (!same_names || !same_cover) {
    result.doubt = "a choice between elements with different names, or reductions over different ranges";
  }
}

// One of the two, by the condition.
void Tagger::choose(Tag& result, CondId condition, const Tag& yes, const Tag& no, Facts& facts) {
  domain::Ints& ints = env_.ints;
  const CondId otherwise = ints.negate(condition);
  auto proves_under = [&](CondId assumed, CondId goal) {
    FactScope scope(facts);
    facts.assume(assumed);
    return env_.prover.proves(facts, goal);
  };
  result.doubt = !yes.doubt.empty() ? yes.doubt : no.doubt;
  if (yes.fields.size() != no.fields.size()) {
    result.doubt = "a choice between elements with different names";
  }
  for (const auto& [name, field] : yes.fields) {
    auto other = no.fields.find(name);
    if (other == no.fields.end()) {
      result.doubt = "a choice between elements with different names";
      continue;
    }
    if (field.is_mixed || other->second.is_mixed) {
      result.fields.emplace(name, field.is_mixed ? field : other->second);
      continue;
    }
    const CondId same = ints.eq(field.value, other->second.value);
    TagField joined = field;
    if (proves_under(condition, same)) {
      joined.value = other->second.value;
    } else if (!proves_under(otherwise, same)) {
      joined.value = ints.select(condition, field.value, other->second.value);
    }
    result.fields.emplace(name, joined);
  }
  result.covered = yes.covered;
  for (const auto& [name, cover] : no.covered) {
    result.covered.try_emplace(name).first->second.is_repeated |= cover.is_repeated;
  }
  for (auto& [name, cover] : result.covered) {
    auto first = yes.covered.find(name);
    auto second = no.covered.find(name);
    const bool same =
        first != yes.covered.end() && second != no.covered.end() && same_segments(first->second, second->second);
    if (!same) {
      cover.doubt = "a choice between reductions over different ranges";
    } else if (cover.doubt.empty()) {
      cover.doubt = second->second.doubt;
    }
  }
  for (CondId c : yes.defined) {
    result.defined.push_back(ints.disjunction({otherwise, c}));
  }
  for (CondId c : no.defined) {
    result.defined.push_back(ints.disjunction({condition, c}));
  }
}

Tag Tagger::visit(TermId term, Facts& facts) {
  if (auto it = memo_.find(term); it != memo_.end()) {
    return it->second;
  }
  Ints& ints = env_.ints;
  const TermNode n = env_.values.node(term);
  Tag result;
  switch (n.kind) {
    case TermKind::Leaf:
      result = leaf(n, facts);
      break;
    case TermKind::Reduce:
      if (n.is_ordered) {
        // Tags do not see the order of a sum: as one reduction over all its indices the ranges join.
        Values::Opened opened = env_.values.open(term);
        TermId plain = env_.values.reduce(n.reduce, n.type, std::move(opened.binders), opened.body, false);
        result = visit(settler_.settle(plain, facts), facts);
      } else {
        result = reduce(term, facts);
      }
      break;
    case TermKind::Loop:
      result = loop(n, facts);
      break;
    case TermKind::Carried: {
      auto it = carried_.find({n.index, n.slot});
      if (it == carried_.end()) {
        result.doubt = "a value carried by a loop";
        break;
      }
      result = it->second.first;
      domain::Substitution at;
      for (size_t i = 0; i + 1 < n.coords.size() && i < it->second.second.size(); ++i) {
        at.emplace(it->second.second[i], n.coords[i + 1]);
      }
      for (auto& [name, field] : result.fields) {
        field.value = ints.substitute(field.value, at);
      }
      for (CondId& c : result.defined) {
        c = ints.substitute(c, at);
      }
      break;
    }
    case TermKind::Select: {
      std::vector<Tag> sides;
      for (int side = 0; side < 2; ++side) {
        FactScope scope(facts);
        CondId here = side == 0 ? n.condition : ints.negate(n.condition);
        facts.assume(here);
        std::map<TermId, Tag> outer_memo;
        outer_memo.swap(memo_);
        Tag t = visit(n.operands[side], facts);
        memo_.swap(outer_memo);
        const TermKind kind = env_.values.node(n.operands[side]).kind;
        // A pad has no names, nor has a cell without a value, which `init` is about. A constant of the author's stands
        // for a pad only where the other side's elements are outside their tensors.
        if (kind == TermKind::Constant || kind == TermKind::Integer || kind == TermKind::Uninitialized) {
          const bool is_pad = kind == TermKind::Uninitialized || Values::is_pad(env_.values.node(n.operands[side]));
          if (!is_pad && takes_place(n.operands[1 - side], facts)) {
            // Nothing may be assumed away: the check is about these elements too.
            result.doubt = "a constant takes the place of elements";
            continue;
          }
          CondId other = ints.negate(here);
          result.defined.push_back(other);
          continue;
        }
        sides.push_back(std::move(t));
      }
      if (sides.size() == 1) {
        join(result, sides[0], false, facts);
      } else if (sides.size() == 2) {
        choose(result, n.condition, sides[0], sides[1], facts);
      }
      break;
    }
    case TermKind::Opaque:
      result.doubt = "a value that is not modelled";
      break;
    case TermKind::Uninitialized:
      result.doubt = "a cell without a value";
      break;
    default:
      if (n.kind == TermKind::Apply && n.function == ir::ElementwiseKind::Where) {
        check_choice(result, n, facts);
      }
      for (TermId o : n.operands) {
        bool adds = n.kind == TermKind::Accumulate
                        ? n.reduce == ir::ReduceKind::Add
                        : n.kind == TermKind::Apply &&
                              (n.function == ir::ElementwiseKind::Add || n.function == ir::ElementwiseKind::Sub);
        join(result, visit(o, facts), adds, facts);
      }
      break;
  }
  memo_.emplace(term, result);
  return result;
}

}  // namespace tw::analysis
