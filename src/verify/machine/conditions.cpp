// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/conditions.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tw::verify {
namespace {

constexpr int64_t kMaxModulus = 256;
constexpr int64_t kMaxLookahead = 24;
constexpr int64_t kLowest = INT64_MIN;
constexpr int64_t kHighest = INT64_MAX;

int64_t saturating_add(int64_t a, int64_t b) {
  if (a == kLowest || b == kLowest) {
    return kLowest;
  }
  if (a == kHighest || b == kHighest) {
    return kHighest;
  }
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) {
    return a < 0 ? kLowest : kHighest;
  }
  return out;
}

int64_t saturating_mul(int64_t a, int64_t factor) {
  if (a == kLowest || a == kHighest) {
    return (a == kHighest) == (factor > 0) ? kHighest : kLowest;
  }
  int64_t out = 0;
  if (__builtin_mul_overflow(a, factor, &out)) {
    return (a < 0) == (factor < 0) ? kHighest : kLowest;
  }
  return out;
}

int64_t floor_mod(int64_t a, int64_t m) {
  return ((a % m) + m) % m;
}

bool is_comparison(ir::ExprKind kind) {
  return kind == ir::ExprKind::Lt || kind == ir::ExprKind::Le || kind == ir::ExprKind::Eq || kind == ir::ExprKind::Ne;
}

}  // namespace

std::optional<Bounds> bounds_of(const ir::Function& function) {
  Bounds bounds;
  auto include_modulus = [&](int64_t m) {
    if (m > 0 && bounds.modulus > 0) {
      bounds.modulus = std::lcm(bounds.modulus, m);
      if (bounds.modulus > kMaxModulus) {
        bounds.modulus = 0;
      }
    }
  };
  int64_t lookahead = 2;
  for (const ir::SharedObject& object : function.shared) {
    if (object.ring > 0) {
      include_modulus(object.ring);
      lookahead = std::max<int64_t>(lookahead, object.ring + 1);
    }
  }
  ir::for_each_op(function.body, [&](const ir::Op& op) {
    if (const auto* branch = std::get_if<ir::IfOp>(&op.body)) {
      // Constants of comparisons with loop variables and trip counts.
      std::vector<ir::ExprId> todo{branch->condition};
      while (!todo.empty()) {
        const ir::ExprNode node = function.exprs.node(todo.back());
        todo.pop_back();
        if (is_comparison(node.kind)) {
          Linear d =
              difference(linear_of(function.exprs, node.operands[1]), linear_of(function.exprs, node.operands[0]));
          if (d.constant > -kMaxLookahead && d.constant < kMaxLookahead) {
            lookahead = std::max(lookahead, std::abs(d.constant) + 1);
          }
        }
        if (node.kind == ir::ExprKind::Mod) {
          if (auto m = function.exprs.constant_value(node.operands[1])) {
            include_modulus(*m);
          }
        }
        for (ir::ExprId operand : node.operands) {
          if (operand.is_valid()) {
            todo.push_back(operand);
          }
        }
      }
    }
  });
  if (bounds.modulus == 0) {
    return std::nullopt;
  }
  bounds.lookahead = std::min(lookahead, kMaxLookahead);
  return bounds;
}

const AtomClass* Conditions::find_atom(const OrderState& state, ir::ExprId atom) const {
  for (const AtomClass& a : state.atoms) {
    if (a.atom == atom) {
      return &a;
    }
  }
  return nullptr;
}

bool Conditions::is_non_negative(ir::ExprId expr) const {
  const ir::ExprNode& node = f_.exprs.node(expr);
  auto operand = [&](int i) { return is_non_negative(node.operands[i]); };
  switch (node.kind) {
    case ir::ExprKind::Const:
      return node.value >= 0;
    case ir::ExprKind::Symbol: {
      const ir::SymbolKind kind = f_.exprs.symbol(node.symbol).kind;
      return kind == ir::SymbolKind::Size || kind == ir::SymbolKind::TileCoord || kind == ir::SymbolKind::TileIndex ||
             kind == ir::SymbolKind::BlockIndex;
    }
    case ir::ExprKind::Add:
    case ir::ExprKind::Mul:
    case ir::ExprKind::FloorDiv:
    case ir::ExprKind::CeilDiv:
    case ir::ExprKind::Min:
      return operand(0) && operand(1);
    case ir::ExprKind::Max:
      return operand(0) || operand(1);
    case ir::ExprKind::Mod:
      return operand(1);
    default:
      return false;
  }
}

bool Conditions::is_invariant(ir::ExprId expr) const {
  std::vector<ir::SymbolId> symbols;
  f_.exprs.collect_symbols(expr, symbols);
  return std::ranges::all_of(symbols, [&](ir::SymbolId id) {
    const ir::SymbolKind kind = f_.exprs.symbol(id).kind;
    return kind == ir::SymbolKind::Size || kind == ir::SymbolKind::Scalar || kind == ir::SymbolKind::TileCoord ||
           kind == ir::SymbolKind::TileIndex || kind == ir::SymbolKind::BlockIndex;
  });
}

// The term of a loop's variable in a linear form, if it has one.
std::optional<ir::ExprId> Conditions::variable_term(const Linear& linear, const ir::ForOp& loop) const {
  for (const auto& [atom, coefficient] : linear.terms) {
    if (atom.is_valid() && f_.exprs.node(atom).kind == ir::ExprKind::Symbol &&
        f_.exprs.node(atom).symbol == loop.variable) {
      return atom;
    }
  }
  return std::nullopt;
}

// Is `linear` = coefficient * (variable - end) + rest with coefficient < 0? Then returns rest.
std::optional<Linear> Conditions::without_distance_to_end(const Linear& linear, ir::ExprId variable,
                                                          const ir::ForOp& loop) const {
  const int64_t coefficient = linear.coefficient(variable);
  const Linear end = linear_of(f_.exprs, loop.end);
  if (coefficient >= 0 || loop.step != 1 || end.is_constant()) {
    return std::nullopt;
  }
  Linear rest = linear.without(variable);
  for (const auto& [atom, factor] : end.terms) {
    if (linear.coefficient(atom) != -coefficient * factor) {
      return std::nullopt;
    }
    rest.terms.erase(atom);
  }
  rest.constant += coefficient * end.constant;
  return rest;
}

Linear Conditions::resolve_loops(const OrderState& state, Linear linear) const {
  for (auto it = state.loops.rbegin(); it != state.loops.rend(); ++it) {
    auto variable = variable_term(linear, *it->loop);
    if (!variable) {
      continue;
    }
    const int64_t coefficient = linear.coefficient(*variable);
    // The distance to the end knows more than the iteration: `range` bounds it when many iterations are left.
    if (auto rest = without_distance_to_end(linear, *variable, *it->loop)) {
      if (!it->left.is_big()) {
        linear = *rest;
        linear.constant += -coefficient * it->left.value;
      }
      continue;
    }
    const Linear begin = linear_of(f_.exprs, it->loop->begin);
    if (!it->iteration.is_big() && begin.is_constant()) {
      linear.terms.erase(*variable);
      linear.constant += coefficient * (begin.constant + it->iteration.value * it->loop->step);
    }
  }
  return linear;
}

Conditions::Range Conditions::range(const OrderState& state, Linear linear) const {
  linear = resolve_loops(state, std::move(linear));
  Range out{0, 0};
  // c * (end - variable) of loops with many iterations left.
  for (auto it = state.loops.rbegin(); it != state.loops.rend(); ++it) {
    auto variable = variable_term(linear, *it->loop);
    auto rest = variable ? without_distance_to_end(linear, *variable, *it->loop) : std::nullopt;
    if (rest && it->left.is_big()) {
      const int64_t factor = -linear.coefficient(*variable);
      linear = *rest;
      out = {saturating_add(out.lo, saturating_mul(bounds_.big(), factor)), kHighest};
    }
  }
  out.lo = saturating_add(out.lo, linear.constant);
  out.hi = saturating_add(out.hi, linear.constant);
  for (const auto& [atom, coefficient] : linear.terms) {
    Range r{kLowest, kHighest};
    if (atom.is_valid()) {
      r = range(state, atom);
    }
    const int64_t x = saturating_mul(r.lo, coefficient);
    const int64_t y = saturating_mul(r.hi, coefficient);
    out.lo = saturating_add(out.lo, std::min(x, y));
    out.hi = saturating_add(out.hi, std::max(x, y));
  }
  return out;
}

Conditions::Range Conditions::range(const OrderState& state, ir::ExprId expr) const {
  if (const AtomClass* atom = find_atom(state, expr)) {
    return atom->count.is_big() ? Range{bounds_.big(), kHighest} : Range{atom->count.value, atom->count.value};
  }
  const ir::ExprNode& node = f_.exprs.node(expr);
  switch (node.kind) {
    case ir::ExprKind::Const:
      return {node.value, node.value};
    case ir::ExprKind::Symbol:
      for (const LoopState& l : state.loops) {
        if (l.loop->variable == node.symbol) {
          const Range begin = range(state, linear_of(f_.exprs, l.loop->begin));
          const int64_t step = l.loop->step;
          const int64_t lo = l.iteration.is_big() ? bounds_.big() : l.iteration.value;
          const int64_t hi = l.iteration.is_big() ? kHighest : l.iteration.value;
          return {saturating_add(begin.lo, saturating_mul(lo, step)),
                  saturating_add(begin.hi, saturating_mul(hi, step))};
        }
      }
      return {is_non_negative(expr) ? 0 : kLowest, kHighest};
    case ir::ExprKind::Add:
    case ir::ExprKind::Sub:
      return range(state, linear_of(f_.exprs, expr));
    case ir::ExprKind::Mul: {
      const Linear linear = linear_of(f_.exprs, expr);
      if (!linear.single_atom() || *linear.single_atom() != expr) {
        return range(state, linear);
      }
      return {is_non_negative(expr) ? 0 : kLowest, kHighest};
    }
    case ir::ExprKind::Mod:
      if (auto m = f_.exprs.constant_value(node.operands[1]); m && *m > 0) {
        auto r = residue(state, node.operands[0]);
        if (r && bounds_.modulus % *m == 0) {
          return {*r % *m, *r % *m};
        }
        return {0, *m - 1};
      }
      return {kLowest, kHighest};
    case ir::ExprKind::Min: {
      const Range a = range(state, node.operands[0]);
      const Range b = range(state, node.operands[1]);
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case ir::ExprKind::Max: {
      const Range a = range(state, node.operands[0]);
      const Range b = range(state, node.operands[1]);
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    default:
      return {is_non_negative(expr) ? 0 : kLowest, kHighest};
  }
}

std::optional<bool> Conditions::truth(const OrderState& state, ir::ExprId condition) const {
  for (const auto& [fact, value] : state.facts) {
    if (fact == condition) {
      return value;
    }
  }
  const ir::ExprNode& node = f_.exprs.node(condition);
  switch (node.kind) {
    case ir::ExprKind::Const:
      return node.value != 0;
    case ir::ExprKind::Not: {
      auto a = truth(state, node.operands[0]);
      return a ? std::optional(!*a) : std::nullopt;
    }
    case ir::ExprKind::And:
    case ir::ExprKind::Or: {
      const bool absorbing = node.kind == ir::ExprKind::Or;
      auto a = truth(state, node.operands[0]);
      auto b = truth(state, node.operands[1]);
      if (a == absorbing || b == absorbing) {
        return absorbing;
      }
      return a && b ? std::optional(!absorbing) : std::nullopt;
    }
    default:
      break;
  }
  if (!is_comparison(node.kind)) {
    return std::nullopt;
  }
  const Range d =
      range(state, difference(linear_of(f_.exprs, node.operands[1]), linear_of(f_.exprs, node.operands[0])));
  switch (node.kind) {
    case ir::ExprKind::Lt:
      return d.lo >= 1 ? std::optional(true) : (d.hi <= 0 ? std::optional(false) : std::nullopt);
    case ir::ExprKind::Le:
      return d.lo >= 0 ? std::optional(true) : (d.hi <= -1 ? std::optional(false) : std::nullopt);
    case ir::ExprKind::Eq:
    case ir::ExprKind::Ne: {
      const bool when_equal = node.kind == ir::ExprKind::Eq;
      if (d.is_single() && d.lo == 0) {
        return when_equal;
      }
      return d.lo > 0 || d.hi < 0 ? std::optional(!when_equal) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<ir::ExprId> Conditions::undecided_atom(const OrderState& state, const Linear& linear) const {
  const Linear rest = resolve_loops(state, linear);
  std::optional<ir::ExprId> found;
  for (const auto& [atom, coefficient] : rest.terms) {
    if (!atom.is_valid() || find_atom(state, atom) != nullptr) {
      continue;
    }
    if (is_invariant(atom) && is_non_negative(atom) && (coefficient == 1 || coefficient == -1)) {
      found = atom;
    }
  }
  return found;
}

std::optional<ir::ExprId> Conditions::undecided_atom(const OrderState& state, ir::ExprId condition) const {
  const ir::ExprNode& node = f_.exprs.node(condition);
  if (is_comparison(node.kind)) {
    return undecided_atom(state,
                          difference(linear_of(f_.exprs, node.operands[1]), linear_of(f_.exprs, node.operands[0])));
  }
  if (node.kind == ir::ExprKind::And || node.kind == ir::ExprKind::Or || node.kind == ir::ExprKind::Not) {
    for (ir::ExprId operand : node.operands) {
      if (operand.is_valid() && !truth(state, operand)) {
        if (auto atom = undecided_atom(state, operand)) {
          return atom;
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<AtomClass> Conditions::classes(ir::ExprId atom) const {
  // `assume(K >= 1)` excludes 0 of K and of cdiv(K, c).
  bool is_positive = false;
  const ir::ExprNode& node = f_.exprs.node(atom);
  const ir::ExprId size = node.kind == ir::ExprKind::CeilDiv ? node.operands[0] : atom;
  for (const ir::Assumption& assumption : f_.assumptions) {
    if (!assumption.condition.is_valid()) {
      continue;
    }
    std::vector<ir::ExprId> todo{assumption.condition};
    while (!todo.empty()) {
      const ir::ExprNode c = f_.exprs.node(todo.back());
      todo.pop_back();
      if (c.kind == ir::ExprKind::And) {
        todo.push_back(c.operands[0]);
        todo.push_back(c.operands[1]);
      } else if (c.kind == ir::ExprKind::Le || c.kind == ir::ExprKind::Lt) {
        auto low = f_.exprs.constant_value(c.operands[0]);
        is_positive =
            is_positive || (c.operands[1] == size && low && (c.kind == ir::ExprKind::Le ? *low : *low + 1) >= 1);
      }
    }
  }
  std::vector<AtomClass> out;
  for (int64_t value = is_positive ? 1 : 0; value <= bounds_.lookahead; ++value) {
    out.push_back({atom, {value}, floor_mod(value, bounds_.modulus)});
  }
  out.push_back({atom, {Count::kBig}, -1});
  return out;
}

std::optional<Version> Conditions::version(const OrderState& state, ir::ExprId expr) const {
  Linear linear = resolve_loops(state, linear_of(f_.exprs, expr));
  Version out;
  out.offset = linear.constant;
  for (const auto& [atom, coefficient] : linear.terms) {
    if (!atom.is_valid()) {
      return std::nullopt;
    }
    const Range r = range(state, atom);
    if (r.is_single()) {
      out.offset += coefficient * r.lo;
      continue;
    }
    if (coefficient != 1 || out.base != Version::Base::Constant) {
      return std::nullopt;
    }
    const ir::ExprNode& node = f_.exprs.node(atom);
    bool is_loop = false;
    for (size_t depth = 0; depth < state.loops.size(); ++depth) {
      const ir::ForOp& loop = *state.loops[depth].loop;
      if (node.kind == ir::ExprKind::Symbol && loop.variable == node.symbol) {
        auto begin = f_.exprs.constant_value(loop.begin);
        if (!begin || loop.step != 1) {
          return std::nullopt;
        }
        out.base = Version::Base::Loop;
        out.of = static_cast<uint32_t>(depth);
        out.offset += *begin;
        is_loop = true;
      }
    }
    if (!is_loop) {
      if (!is_invariant(atom)) {
        return std::nullopt;
      }
      out.base = Version::Base::Atom;
      out.of = atom.index;
    }
  }
  return out;
}

std::optional<int64_t> Conditions::residue(const OrderState& state, ir::ExprId expr) const {
  const Linear linear = resolve_loops(state, linear_of(f_.exprs, expr));
  int64_t sum = floor_mod(linear.constant, bounds_.modulus);
  for (const auto& [atom, coefficient] : linear.terms) {
    if (!atom.is_valid()) {
      return std::nullopt;
    }
    std::optional<int64_t> r;
    if (const AtomClass* known = find_atom(state, atom); known != nullptr && known->residue >= 0) {
      r = known->residue;
    }
    const ir::ExprNode& node = f_.exprs.node(atom);
    for (const LoopState& l : state.loops) {
      auto begin = f_.exprs.constant_value(l.loop->begin);
      if (node.kind == ir::ExprKind::Symbol && l.loop->variable == node.symbol && begin) {
        r = floor_mod(*begin + l.residue * l.loop->step, bounds_.modulus);
      }
    }
    if (!r) {
      return std::nullopt;
    }
    sum = floor_mod(sum + floor_mod(coefficient, bounds_.modulus) * *r, bounds_.modulus);
  }
  return sum;
}

}  // namespace tw::verify
