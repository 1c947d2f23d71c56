// SPDX-License-Identifier: Apache-2.0
#include "analysis/settle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tw::analysis {

using domain::Facts;
using domain::FactScope;
using domain::Ints;
using ir::ElementwiseKind;
using ir::ReduceKind;

namespace {

// Nested case splits and re-settled bodies stay below this.
constexpr int kMaxDepth = 60;
// Shared parts are compared once for every path to them; sides that need more are taken to differ.
constexpr int kMostComparisons = 2000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void collect_leaves(const Values& values, TermId term, bool into_reductions, std::vector<TermId>& out) {
  std::set<TermId> seen;
  std::vector<TermId> open{term};
  while (!open.empty()) {
    TermId t = open.back();
    open.pop_back();
    if (!seen.insert(t).second) {
      continue;
    }
    const TermNode& n = values.node(t);
    if (n.kind == TermKind::Leaf) {
      out.push_back(t);
    }
    if (!into_reductions && (n.kind == TermKind::Reduce || n.kind == TermKind::Loop)) {
      continue;
    }
    open.insert(open.end(), n.operands.rbegin(), n.operands.rend());
  }
}

Settler::Settler(Environment& environment, const ir::Function& function, const std::vector<bool>& finite)
    : env_(environment), ints_(environment.ints), values_(environment.values), finite_(finite) {
  for (const ir::Tensor& tensor : function.tensors) {
    std::vector<IntId> extents;
    for (ir::ExprId extent : tensor.extents) {
      extents.push_back(to_int(environment, function, extent));
    }
    extents_.push_back(std::move(extents));
  }
}

TermId Settler::settle(TermId term, Facts& facts, bool relaxed) {
  is_relaxed_ = relaxed;
  for (bool clip : {false, true}) {
    may_clip_ = clip;
    memo_.clear();
    memo_.emplace_back();
    term = visit(term, facts);
  }
  return term;
}

void Settler::assume_ranges(const std::vector<Binder>& binders, Facts& facts) {
  for (const Binder& b : binders) {
    facts.assume(ints_.le(b.lo, ints_.var(b.var)));
    facts.assume(ints_.lt(ints_.var(b.var), b.hi));
  }
}

std::vector<CondId> Settler::open_bounds(const TermNode& leaf, Facts& facts) {
  std::vector<CondId> open;
  for (size_t i = 0; i < leaf.coords.size(); ++i) {
    for (CondId inside : {ints_.non_negative(leaf.coords[i]), ints_.lt(leaf.coords[i], extents_[leaf.index][i])}) {
      if (!env_.prover.proves(facts, inside)) {
        open.push_back(inside);
      }
    }
  }
  return open;
}

TermId Settler::leaf(const TermNode& n, TermId term, Facts& facts) {
  std::vector<CondId> open = open_bounds(n, facts);
  if (open.empty()) {
    // Inside for sure: the pad value does not matter.
    return values_.leaf(n.index, n.type, n.coords, 0);
  }
  for (CondId inside : open) {
    if (env_.prover.proves(facts, ints_.negate(inside))) {
      return values_.pad(n.number, n.type);
    }
  }
  return term;
}

TermId Settler::visit(TermId term, Facts& facts) {
  for (const auto& level : memo_) {
    if (auto it = level.find(term); it != level.end()) {
      return it->second;
    }
  }
  if (++depth_ > kMaxDepth) {
    --depth_;
    return term;
  }
  const TermNode n = values_.node(term);
  TermId result = term;
  auto scoped = [&](CondId condition, TermId t) {
    FactScope scope(facts);
    facts.assume(condition);
    memo_.emplace_back();
    // Results without the condition are still right, but may decide less.
    std::vector<std::unordered_map<TermId, TermId>> outer;
    outer.swap(memo_);
    memo_.emplace_back();
    TermId settled = visit(t, facts);
    memo_.swap(outer);
    memo_.pop_back();
    return settled;
  };
  switch (n.kind) {
    case TermKind::Leaf:
      result = leaf(n, term, facts);
      break;
    case TermKind::Truth:
      if (env_.prover.proves(facts, n.condition)) {
        result = values_.truth(ints_.truth(true));
      } else if (env_.prover.proves(facts, ints_.negate(n.condition))) {
        result = values_.truth(ints_.truth(false));
      }
      break;
    case TermKind::Select: {
      domain::Decision decision = env_.prover.decide(facts, n.condition);
      if (decision == domain::Decision::True) {
        result = visit(n.operands[0], facts);
      } else if (decision == domain::Decision::False) {
        result = visit(n.operands[1], facts);
      } else {
        TermId yes = scoped(n.condition, n.operands[0]);
        TermId no = scoped(ints_.negate(n.condition), n.operands[1]);
        result = choose(n.condition, yes, no, facts);
      }
      break;
    }
    case TermKind::Reduce:
      result = reduce(term, facts);
      break;
    case TermKind::Accumulate: {
      std::vector<TermId> operands;
      for (TermId o : n.operands) {
        operands.push_back(visit(o, facts));
      }
      result = accumulate(n, std::move(operands), facts);
      break;
    }
    case TermKind::Apply:
    case TermKind::Product: {
      std::vector<TermId> operands;
      for (TermId o : n.operands) {
        operands.push_back(visit(o, facts));
      }
      result = fold(values_.with_operands(term, std::move(operands)));
      break;
    }
    default:
      break;
  }
  --depth_;
  memo_.back().emplace(term, result);
  return result;
}

// A side that is the other one wherever it is taken needs no choice.
TermId Settler::choose(CondId condition, TermId yes, TermId no, Facts& facts) {
  for (bool side : {true, false}) {
    FactScope scope(facts);
    facts.assume(side ? condition : ints_.negate(condition));
    int budget = kMostComparisons;
    if (is_same(yes, no, facts, budget)) {
      return side ? no : yes;
    }
  }
  return values_.select(condition, yes, no);
}

// The same value under the facts: equal up to indices that are proved equal. Reductions must be equal as they stand.
bool Settler::is_same(TermId a, TermId b, Facts& facts, int& budget) {
  if (a == b) {
    return true;
  }
  if (--budget < 0) {
    return false;
  }
  const TermNode x = values_.node(a), y = values_.node(b);
  if (x.kind != y.kind || x.type != y.type || x.operands.size() != y.operands.size()) {
    return false;
  }
  switch (x.kind) {
    case TermKind::Leaf: {
      if (x.index != y.index || x.number != y.number || x.coords.size() != y.coords.size()) {
        return false;
      }
      for (size_t i = 0; i < x.coords.size(); ++i) {
        if (!env_.prover.proves(facts, ints_.eq(x.coords[i], y.coords[i]))) {
          return false;
        }
      }
      return true;
    }
    case TermKind::Apply:
      if (x.function != y.function || x.integer != y.integer || x.condition != y.condition) {
        return false;
      }
      [[fallthrough]];
    case TermKind::Product: {
      for (size_t i = 0; i < x.operands.size(); ++i) {
        if (!is_same(x.operands[i], y.operands[i], facts, budget)) {
          return false;
        }
      }
      return true;
    }
    default:
      return false;
  }
}

bool Settler::is_finite(TermId term) {
  const TermNode& n = values_.node(term);
  switch (n.kind) {
    case TermKind::Constant:
      return std::isfinite(n.number);
    case TermKind::Leaf:
      return finite_[n.index] && std::isfinite(n.number);
    case TermKind::Integer:
    case TermKind::Truth:
      return true;
    case TermKind::Select:
      return is_finite(n.operands[0]) && is_finite(n.operands[1]);
    default:
      return false;
  }
}

bool Settler::is_row_maximum(TermId term) {
  const TermNode& n = values_.node(term);
  switch (n.kind) {
    case TermKind::Constant:
      return std::isfinite(n.number);
    case TermKind::Reduce:
      return n.reduce == ReduceKind::Max;
    case TermKind::Accumulate:
      return n.reduce == ReduceKind::Max;
    case TermKind::Select:
      return is_row_maximum(n.operands[0]) && is_row_maximum(n.operands[1]);
    case TermKind::Apply:
      return n.function == ElementwiseKind::Where && is_row_maximum(n.operands[1]) && is_row_maximum(n.operands[2]);
    default:
      return false;
  }
}

TermId Settler::fold(TermId term) {
  const TermNode n = values_.node(term);
  auto is_number = [&](TermId t, double number) {
    const TermNode& o = values_.node(t);
    return o.kind == TermKind::Constant && o.number == number;
  };
  if (n.kind == TermKind::Product || (n.kind == TermKind::Apply && n.function == ElementwiseKind::Mul)) {
    for (int side = 0; side < 2; ++side) {
      if (is_number(n.operands[side], 0) && is_finite(n.operands[1 - side])) {
        return Values::is_pad(values_.node(n.operands[side])) ? values_.pad(0, n.type) : values_.constant(0, n.type);
      }
    }
  }
  if (n.kind == TermKind::Apply && n.function == ElementwiseKind::Sub && is_number(n.operands[0], -kInfinity) &&
      is_row_maximum(n.operands[1])) {
    return Values::is_pad(values_.node(n.operands[0])) ? values_.pad(-kInfinity, n.type)
                                                       : values_.constant(-kInfinity, n.type);
  }
  if (n.kind == TermKind::Apply && n.function == ElementwiseKind::Add) {
    for (int side = 0; side < 2; ++side) {
      // x + 0 is x exactly.
      if (is_number(n.operands[side], 0) && values_.node(n.operands[1 - side]).type == n.type) {
        return n.operands[1 - side];
      }
    }
  }
  return term;
}

// A loop that counts down is one that counts up: x becomes lo + hi - 1 - x where indices fall as x grows.
void Settler::turn_binders(std::vector<Binder>& binders, TermId& body) {
  std::vector<TermId> leaves;
  collect_leaves(values_, body, true, leaves);
  for (const Binder& b : binders) {
    bool falls = false, rises = false, is_bound = false;
    for (TermId id : leaves) {
      for (IntId c : values_.node(id).coords) {
        auto linear = ints_.uses(c, b.var) ? ints_.linear_in(c, b.var) : std::nullopt;
        falls = falls || (linear && linear->coefficient < 0);
        rises = rises || (linear && linear->coefficient > 0);
      }
    }
    for (const Binder& other : binders) {
      is_bound = is_bound || ints_.uses(other.lo, b.var) || ints_.uses(other.hi, b.var);
    }
    if (falls && !rises && !is_bound) {
      IntId mirrored = ints_.sub(ints_.add(ints_.add(b.lo, b.hi), ints_.constant(-1)), ints_.var(b.var));
      body = values_.substitute(body, {{b.var, mirrored}});
    }
  }
}

// Binders p, q of which the body sees only Q*p + q, 0 <= q < Q: one binder.
bool Settler::merge_binders(std::vector<Binder>& binders, TermId& body) {
  for (size_t i = 0; i < binders.size(); ++i) {
    for (size_t j = 0; j < binders.size(); ++j) {
      if (i == j) {
        continue;
      }
      const Binder p = binders[i], q = binders[j];
      auto width = ints_.constant_value(ints_.sub(q.hi, q.lo));
      if (!width || *width < 1 || ints_.uses(q.lo, p.var) || ints_.uses(q.hi, p.var) || ints_.uses(p.lo, q.var) ||
          ints_.uses(p.hi, q.var)) {
        continue;
      }
      bool used_elsewhere = false;
      for (size_t other = 0; other < binders.size(); ++other) {
        if (other != i && other != j) {
          for (IntId bound : {binders[other].lo, binders[other].hi}) {
            used_elsewhere |= ints_.uses(bound, p.var) || ints_.uses(bound, q.var);
          }
        }
      }
      if (used_elsewhere) {
        continue;
      }
      VarId t = ints_.add_var("k" + std::to_string(ints_.var_count()));
      // q = q.lo + (t - Q*p), with t in [Q*p.lo, Q*p.hi).
      IntId offset = ints_.sub(ints_.var(t), ints_.scale(ints_.var(p.var), *width));
      TermId merged = values_.substitute(body, {{q.var, ints_.add(q.lo, offset)}});
      if (values_.uses(merged, p.var) || !values_.uses(merged, t)) {
        continue;
      }
      Binder one{t, ints_.scale(p.lo, *width), ints_.scale(p.hi, *width)};
      // In p's place: the new bounds may speak of what p's bounds speak of.
      binders[i] = one;
      binders.erase(binders.begin() + static_cast<std::ptrdiff_t>(j));
      body = merged;
      return true;
    }
  }
  return false;
}

// Restricts the binder to coefficient * x + rest < bound (`at_most`) or >= 0.
bool Settler::clip(Binder& b, int64_t a, IntId rest, bool at_most, IntId bound, Facts& facts) {
  // at_most:   a*x + rest <= bound - 1;   else   a*x + rest >= 0.
  IntId room = at_most ? ints_.sub(ints_.add(bound, ints_.constant(-1)), rest) : rest;
  if (at_most == (a > 0)) {
    int64_t magnitude = a > 0 ? a : -a;
    // x <= floor(room / |a|)
    IntId hi = ints_.add(ints_.floor_div(room, ints_.constant(magnitude)), ints_.constant(1));
    b.hi = env_.prover.proves(facts, ints_.le(hi, b.hi)) ? hi : ints_.min(b.hi, hi);
  } else {
    int64_t magnitude = a > 0 ? a : -a;
    // x >= ceil(-room / |a|)
    IntId lo = ints_.scale(ints_.floor_div(room, ints_.constant(magnitude)), -1);
    b.lo = env_.prover.proves(facts, ints_.le(b.lo, lo)) ? lo : ints_.max(b.lo, lo);
  }
  return true;
}

bool Settler::clip_binders(const TermNode& node, std::vector<Binder>& binders, TermId& body, Facts& facts) {
  std::vector<TermId> leaves;
  collect_leaves(values_, body, false, leaves);
  for (TermId id : leaves) {
    const TermNode leaf = values_.node(id);
    for (size_t axis = 0; axis < leaf.coords.size(); ++axis) {
      for (size_t which = 0; which < binders.size(); ++which) {
        auto linear = ints_.linear_in(leaf.coords[axis], binders[which].var);
        if (!linear || linear->coefficient == 0) {
          continue;
        }
        bool uses_later = false;
        for (size_t later = which + 1; later < binders.size(); ++later) {
          uses_later |= ints_.uses(linear->rest, binders[later].var);
        }
        if (uses_later) {
          continue;
        }
        for (bool at_most : {true, false}) {
          IntId extent = extents_[leaf.index][axis];
          CondId inside = at_most ? ints_.lt(leaf.coords[axis], extent) : ints_.non_negative(leaf.coords[axis]);
          bool must_clip = false;
          {
            FactScope scope(facts);
            assume_ranges(binders, facts);
            if (env_.prover.proves(facts, inside)) {
              continue;
            }
            facts.assume(ints_.negate(inside));
            std::vector<std::unordered_map<TermId, TermId>> outer;
            outer.swap(memo_);
            memo_.emplace_back();
            const TermNode outside = values_.node(visit(body, facts));
            memo_.swap(outer);
            must_clip = outside.kind == TermKind::Constant && outside.number == Values::neutral(node.reduce);
          }
          if (must_clip) {
            // Bounds of this binder may speak of earlier ones only, whose ranges hold.
            FactScope scope(facts);
            std::vector<Binder> earlier(binders.begin(), binders.begin() + static_cast<std::ptrdiff_t>(which));
            assume_ranges(earlier, facts);
            clip(binders[which], linear->coefficient, linear->rest, at_most, extent, facts);
            return true;
          }
        }
      }
    }
  }
  return false;
}

TermId Settler::reduce(TermId term, Facts& facts) {
  if (is_relaxed_ && values_.node(term).is_ordered) {
    const TermNode ordered = values_.node(term);
    Values::Opened steps = values_.open(term);
    TermId plain = values_.reduce(ordered.reduce, ordered.type, std::move(steps.binders), steps.body, false);
    return visit(plain, facts);
  }
  const TermNode n = values_.node(term);
  Values::Opened opened = values_.open(term);
  std::vector<Binder> binders = std::move(opened.binders);
  TermId body = opened.body;
  auto settle_body = [&] {
    FactScope scope(facts);
    assume_ranges(binders, facts);
    std::vector<std::unordered_map<TermId, TermId>> outer;
    outer.swap(memo_);
    memo_.emplace_back();
    body = visit(body, facts);
    memo_.swap(outer);
  };
  if (!n.is_ordered) {
    turn_binders(binders, body);
    // Before the body is settled: case splits of single digits would hide the sum.
    while (merge_binders(binders, body)) {
    }
  }
  settle_body();
  const TermNode inner = values_.node(body);
  if (!n.is_ordered && ((inner.kind == TermKind::Accumulate || inner.kind == TermKind::Reduce) &&
                        inner.reduce == n.reduce && inner.type == n.type)) {
    TermId flat = values_.reduce(n.reduce, n.type, binders, body, false);
    if (flat != term) {
      return visit(flat, facts);
    }
  }
  for (int round = 0; round < 16; ++round) {
    for (size_t i = 0; i < binders.size();) {
      auto width = ints_.constant_value(ints_.sub(binders[i].hi, binders[i].lo));
      if (width && *width <= 0) {
        return values_.constant(Values::neutral(n.reduce), n.type);
      }
      // While ranges still join, a range of one value may be the neighbour of another.
      if (width && *width == 1 && may_clip_) {
        domain::Substitution at{{binders[i].var, binders[i].lo}};
        body = values_.substitute(body, at);
        for (size_t j = i + 1; j < binders.size(); ++j) {
          binders[j].lo = ints_.substitute(binders[j].lo, at);
          binders[j].hi = ints_.substitute(binders[j].hi, at);
        }
        binders.erase(binders.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    if (!n.is_ordered && merge_binders(binders, body)) {
      settle_body();
      continue;
    }
    if (!may_clip_ || !clip_binders(n, binders, body, facts)) {
      break;
    }
    settle_body();
  }
  // Independent ranges in one order.
  if (!n.is_ordered && binders.size() > 1) {
    bool independent = true;
    for (const Binder& b : binders) {
      for (const Binder& other : binders) {
        independent = independent && !ints_.uses(b.lo, other.var) && !ints_.uses(b.hi, other.var);
      }
    }
    if (independent) {
      std::stable_sort(binders.begin(), binders.end(),
                       [](const Binder& a, const Binder& b) { return std::pair(a.lo, a.hi) < std::pair(b.lo, b.hi); });
    }
  }
  TermId result = values_.reduce(n.reduce, n.type, std::move(binders), body, n.is_ordered);
  const TermNode& out = values_.node(result);
  return out.kind == TermKind::Accumulate ? accumulate(out, out.operands, facts) : result;
}

// Sum over [a, b) and sum over [b, c) of one body.
std::optional<TermId> Settler::join(TermId first, TermId second, Facts& facts) {
  const TermNode a = values_.node(first), b = values_.node(second);
  if (a.kind != TermKind::Reduce || b.kind != TermKind::Reduce || a.is_ordered || b.is_ordered ||
      a.reduce != b.reduce || a.type != b.type || a.binders.size() != b.binders.size()) {
    return std::nullopt;
  }
  Values::Opened x = values_.open(first), y = values_.open(second);
  for (size_t which = 0; which < x.binders.size(); ++which) {
    // The others have equal ranges, free of this one.
    domain::Substitution same;
    bool fits = true;
    for (size_t i = 0; i < x.binders.size(); ++i) {
      if (i == which) {
        continue;
      }
      same.emplace(y.binders[i].var, ints_.var(x.binders[i].var));
      fits = fits && x.binders[i].lo == ints_.substitute(y.binders[i].lo, same) &&
             x.binders[i].hi == ints_.substitute(y.binders[i].hi, same) &&
             !ints_.uses(x.binders[i].lo, x.binders[which].var) && !ints_.uses(x.binders[i].hi, x.binders[which].var);
    }
    if (!fits) {
      continue;
    }
    // y's index t is x's index t + (x.hi - y.lo).
    const Binder& p = x.binders[which];
    Binder q = y.binders[which];
    q.lo = ints_.substitute(q.lo, same);
    q.hi = ints_.substitute(q.hi, same);
    IntId shift = ints_.sub(p.hi, q.lo);
    if (ints_.uses(shift, p.var) || ints_.uses(shift, q.var)) {
      continue;
    }
    same.emplace(q.var, ints_.sub(ints_.var(p.var), shift));
    if (values_.substitute(y.body, same) != x.body) {
      continue;
    }
    {
      // [a, b) and [b, c) add up to [a, c) only if a <= b <= c.
      FactScope scope(facts);
      std::vector<Binder> earlier(x.binders.begin(), x.binders.begin() + static_cast<std::ptrdiff_t>(which));
      assume_ranges(earlier, facts);
      if (!env_.prover.proves(facts, ints_.le(p.lo, p.hi)) || !env_.prover.proves(facts, ints_.le(q.lo, q.hi))) {
        continue;
      }
    }
    std::vector<Binder> binders = x.binders;
    binders[which].hi = ints_.add(q.hi, shift);
    return values_.reduce(a.reduce, a.type, std::move(binders), x.body, false);
  }
  return std::nullopt;
}

TermId Settler::accumulate(const TermNode& n, std::vector<TermId> operands, Facts& facts) {
  // Constants other than the neutral one stay; joins only reductions.
  TermId whole = values_.accumulate(n.reduce, n.type, std::move(operands));
  for (bool progress = true; progress;) {
    progress = false;
    const TermNode flat = values_.node(whole);
    if (flat.kind != TermKind::Accumulate || flat.operands.size() > 64) {
      break;
    }
    for (size_t i = 0; i < flat.operands.size() && !progress; ++i) {
      for (size_t j = 0; j < flat.operands.size() && !progress; ++j) {
        if (i == j) {
          continue;
        }
        if (auto joined = join(flat.operands[i], flat.operands[j], facts)) {
          std::vector<TermId> rest{*joined};
          for (size_t k = 0; k < flat.operands.size(); ++k) {
            if (k != i && k != j) {
              rest.push_back(flat.operands[k]);
            }
          }
          const TermNode merged = values_.node(*joined);
          if (merged.kind == TermKind::Reduce) {
            Values::Opened opened = values_.open(*joined);
            while (merge_binders(opened.binders, opened.body)) {
            }
            rest[0] = values_.reduce(merged.reduce, merged.type, opened.binders, opened.body, false);
          }
          whole = values_.accumulate(n.reduce, n.type, std::move(rest));
          progress = true;
        }
      }
    }
  }
  return whole;
}

}  // namespace tw::analysis
