// SPDX-License-Identifier: Apache-2.0
#include "passes/facts.h"

#include <algorithm>
#include <numeric>

namespace tw::passes {
namespace {

using ir::ExprId;
using ir::ExprKind;
using ir::SymbolKind;

constexpr int64_t kInf = Range::kUnbounded;

int64_t saturate(__int128 value) {
  if (value > kInf) {
    return kInf;
  }
  return value < -kInf ? -kInf : static_cast<int64_t>(value);
}

int64_t add_bounds(int64_t a, int64_t b) {
  if (a == kInf || b == kInf) {
    return kInf;
  }
  if (a == -kInf || b == -kInf) {
    return -kInf;
  }
  return saturate(static_cast<__int128>(a) + b);
}

int64_t mul_bounds(int64_t a, int64_t b) {
  return saturate(static_cast<__int128>(a) * b);
}

int64_t floor_divide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

Range multiply(Range a, Range b) {
  const int64_t corners[] = {mul_bounds(a.lo, b.lo), mul_bounds(a.lo, b.hi), mul_bounds(a.hi, b.lo),
                             mul_bounds(a.hi, b.hi)};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}

// b.lo > 0. Assumptions that nothing satisfies leave empty ranges: of those, everything holds.
Range divide(Range a, Range b) {
  if (b.hi < b.lo) {
    return {};
  }
  auto quotient = [](int64_t x, int64_t y) {
    if (x == kInf || x == -kInf) {
      return x;
    }
    return y == kInf ? (x < 0 ? int64_t{-1} : int64_t{0}) : floor_divide(x, y);
  };
  const int64_t corners[] = {quotient(a.lo, b.lo), quotient(a.lo, b.hi), quotient(a.hi, b.lo), quotient(a.hi, b.hi)};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}

void accumulate(const ir::ExprPool& exprs, ExprId id, int64_t factor, Linear& out) {
  const ir::ExprNode& node = exprs.node(id);
  switch (node.kind) {
    case ExprKind::Const:
      out.constant += factor * node.value;
      return;
    case ExprKind::Add:
      accumulate(exprs, node.operands[0], factor, out);
      accumulate(exprs, node.operands[1], factor, out);
      return;
    case ExprKind::Sub:
      accumulate(exprs, node.operands[0], factor, out);
      accumulate(exprs, node.operands[1], -factor, out);
      return;
    case ExprKind::Mul:
      for (int side = 0; side < 2; ++side) {
        if (auto value = exprs.constant_value(node.operands[side])) {
          accumulate(exprs, node.operands[1 - side], factor * *value, out);
          return;
        }
      }
      break;
    default:
      break;
  }
  int64_t& coefficient = out.terms[id];
  coefficient += factor;
  if (coefficient == 0) {
    out.terms.erase(id);
  }
}

}  // namespace

Linear linear_form(const ir::ExprPool& exprs, ExprId id) {
  Linear out;
  accumulate(exprs, id, 1, out);
  return out;
}

std::optional<int64_t> constant_difference(const ir::ExprPool& exprs, ExprId a, ExprId b) {
  Linear out;
  accumulate(exprs, a, 1, out);
  accumulate(exprs, b, -1, out);
  if (!out.terms.empty()) {
    return std::nullopt;
  }
  return out.constant;
}

Facts::Facts(const ir::Function& function) : function_(function) {
  for (ir::SymbolId size : function.sizes) {
    symbols_[size].range = {0, kMaxSize};
  }
  for (const ir::ScalarParameter& scalar : function.scalars) {
    if (scalar.symbol.is_valid() && scalar.element == ElementType::I32) {
      symbols_[scalar.symbol].range = {INT32_MIN, INT32_MAX};
    }
  }
  for (const ir::Assumption& assumption : function.assumptions) {
    if (assumption.condition.is_valid()) {
      assume(assumption.condition);
    }
    if (assumption.finite.is_valid()) {
      finite_.insert(assumption.finite.index);
    }
  }
  int spaces = 0;
  ir::for_each_op(function.body,
                  [&](const ir::Op& op) { spaces += std::holds_alternative<ir::TilesOp>(op.body) ? 1 : 0; });
  has_one_space_ = spaces == 1;
  scan(function.body);
  ranges_.clear();
  divisors_.clear();
}

void Facts::refine(ExprId id, Range range) {
  auto [it, is_new] = assumed_ranges_.try_emplace(id, range);
  if (!is_new) {
    it->second.lo = std::max(it->second.lo, range.lo);
    it->second.hi = std::min(it->second.hi, range.hi);
  }
}

void Facts::assume(ExprId condition) {
  const ir::ExprPool& exprs = function_.exprs;
  const ir::ExprNode& node = exprs.node(condition);
  const auto [a, b, c] = node.operands;
  switch (node.kind) {
    case ExprKind::And:
      assume(a);
      assume(b);
      return;
    case ExprKind::Eq:
      for (int side = 0; side < 2; ++side) {
        auto value = exprs.constant_value(node.operands[side]);
        if (!value) {
          continue;
        }
        ExprId other = node.operands[1 - side];
        refine(other, {*value, *value});
        const ir::ExprNode& inner = exprs.node(other);
        if (*value == 0 && inner.kind == ExprKind::Mod) {
          if (auto modulus = exprs.constant_value(inner.operands[1]); modulus && *modulus > 0) {
            int64_t& known = assumed_divisors_.try_emplace(inner.operands[0], 1).first->second;
            known = std::lcm(known, *modulus);
          }
        }
      }
      return;
    case ExprKind::Lt:
      if (auto value = exprs.constant_value(b)) {
        refine(a, {-kInf, *value - 1});
      } else if (auto low = exprs.constant_value(a)) {
        refine(b, {*low + 1, kInf});
      }
      return;
    case ExprKind::Le:
      if (auto value = exprs.constant_value(b)) {
        refine(a, {-kInf, *value});
      } else if (auto low = exprs.constant_value(a)) {
        refine(b, {*low, kInf});
      }
      return;
    default:
      return;
  }
}

void Facts::scan(const ir::Block& block) {
  for (const ir::Op& op : block) {
    if (const auto* loop = std::get_if<ir::ForOp>(&op.body)) {
      Range begin = range(loop->begin);
      Range end = range(loop->end);
      SymbolFacts& facts = symbols_[loop->variable];
      facts.range = {begin.lo, std::max(begin.lo, add_bounds(end.hi, -1))};
      facts.divisor = std::gcd(divisor(loop->begin), loop->step);
      add_below(loop->variable, loop->end);
      // A counter that only grows by a constant stays within init .. init + trips * constant.
      Range trips = divide({0, std::max<int64_t>(0, add_bounds(add_bounds(end.hi, -begin.lo), loop->step - 1))},
                           {loop->step, loop->step});
      for (const ir::CarriedScalar& scalar : loop->scalars) {
        Range init = range(scalar.init);
        SymbolFacts carried;
        carried.divisor = 1;
        ExprId self{};
        for (const auto& [term, coefficient] : linear_form(function_.exprs, scalar.yield).terms) {
          const ir::ExprNode& node = function_.exprs.node(term);
          if (node.kind == ExprKind::Symbol && node.symbol == scalar.argument && coefficient == 1) {
            self = term;
          }
        }
        auto step = self.is_valid() ? constant_difference(function_.exprs, scalar.yield, self) : std::nullopt;
        if (step && *step >= 0) {
          carried.range = {init.lo, add_bounds(init.hi, mul_bounds(trips.hi, *step))};
          carried.divisor = std::gcd(divisor(scalar.init), *step);
        }
        symbols_[scalar.argument] = carried;
        symbols_[scalar.result] = carried;
      }
      scan(loop->body);
    } else if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      for (size_t i = 0; i < tiles->variables.size(); ++i) {
        // Nothing runs for an empty space, so inside the only one every extent is at least 1.
        if (has_one_space_) {
          refine(tiles->extents[i], {1, kInf});
          ranges_.erase(tiles->extents[i]);
        }
        SymbolFacts& facts = symbols_[tiles->variables[i]];
        facts.range = {0, std::max<int64_t>(0, add_bounds(range(tiles->extents[i]).hi, -1))};
        add_below(tiles->variables[i], tiles->extents[i]);
      }
      if (tiles->linear.is_valid()) {
        // Grids have at most 2^31 - 1 blocks, and a persistent block's index stays below the number of points.
        symbols_[tiles->linear].range = {0, kMaxSize - 1};
      }
      scan(tiles->body);
    } else if (const auto* branch = std::get_if<ir::IfOp>(&op.body)) {
      scan(branch->then_body);
      scan(branch->else_body);
    }
  }
}

const Facts::SymbolFacts* Facts::find(ir::SymbolId symbol) const {
  auto it = symbols_.find(symbol);
  return it == symbols_.end() ? nullptr : &it->second;
}

Range Facts::range(ExprId id) const {
  auto it = ranges_.find(id);
  if (it != ranges_.end()) {
    return it->second;
  }
  Range out = compute_range(id);
  if (auto assumed = assumed_ranges_.find(id); assumed != assumed_ranges_.end()) {
    out.lo = std::max(out.lo, assumed->second.lo);
    out.hi = std::min(out.hi, assumed->second.hi);
  }
  ranges_.emplace(id, out);
  return out;
}

Range Facts::compute_range(ExprId id) const {
  const ir::ExprNode& node = function_.exprs.node(id);
  auto operand = [&](int i) { return range(node.operands[i]); };
  switch (node.kind) {
    case ExprKind::Const:
      return {node.value, node.value};
    case ExprKind::Symbol: {
      const SymbolFacts* facts = find(node.symbol);
      if (facts != nullptr) {
        return facts->range;
      }
      switch (function_.exprs.symbol(node.symbol).kind) {
        case SymbolKind::Size:
          return {0, kMaxSize};
        case SymbolKind::BlockIndex:
          return {0, kMaxSize - 1};
        case SymbolKind::ThreadIndex:
          return {0, function_.threads - 1};
        default:
          return {};
      }
    }
    case ExprKind::Add: {
      Range a = operand(0);
      Range b = operand(1);
      return {add_bounds(a.lo, b.lo), add_bounds(a.hi, b.hi)};
    }
    case ExprKind::Sub: {
      Range a = operand(0);
      Range b = operand(1);
      return {add_bounds(a.lo, -b.hi), add_bounds(a.hi, -b.lo)};
    }
    case ExprKind::Mul:
      return multiply(operand(0), operand(1));
    case ExprKind::FloorDiv: {
      Range b = operand(1);
      return b.lo > 0 ? divide(operand(0), b) : Range{};
    }
    case ExprKind::CeilDiv: {
      Range a = operand(0);
      Range b = operand(1);
      if (b.lo <= 0) {
        return {};
      }
      Range q = divide(a, b);
      // ceil(a/b) = floor((a-1)/b) + 1, and the smallest divisor gives the largest quotient.
      return {q.lo, a.hi == kInf ? kInf : std::max<int64_t>(0, divide({a.hi - 1, a.hi - 1}, b).hi + 1)};
    }
    case ExprKind::Mod: {
      Range a = operand(0);
      Range b = operand(1);
      if (b.lo <= 0) {
        return {};
      }
      int64_t hi = add_bounds(b.hi, -1);
      return {0, a.lo >= 0 ? std::min(a.hi, hi) : hi};
    }
    case ExprKind::Min: {
      Range a = operand(0);
      Range b = operand(1);
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case ExprKind::Max: {
      Range a = operand(0);
      Range b = operand(1);
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case ExprKind::Select: {
      Range a = operand(1);
      Range b = operand(2);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    default:
      return {0, 1};
  }
}

int64_t Facts::divisor(ExprId id) const {
  auto it = divisors_.find(id);
  if (it != divisors_.end()) {
    return it->second;
  }
  int64_t out = compute_divisor(id);
  if (auto assumed = assumed_divisors_.find(id); assumed != assumed_divisors_.end()) {
    out = out == 0 ? 0 : std::lcm(out, assumed->second);
  }
  divisors_.emplace(id, out);
  return out;
}

int64_t Facts::compute_divisor(ExprId id) const {
  const ir::ExprNode& node = function_.exprs.node(id);
  auto operand = [&](int i) { return divisor(node.operands[i]); };
  // Caps products, so that chains of them stay in range; a power of two keeps every alignment question intact.
  constexpr int64_t kCap = int64_t{1} << 30;
  switch (node.kind) {
    case ExprKind::Const:
      return node.value < 0 ? -node.value : node.value;
    case ExprKind::Symbol: {
      const SymbolFacts* facts = find(node.symbol);
      return facts != nullptr ? facts->divisor : 1;
    }
    case ExprKind::Add:
    case ExprKind::Sub:
    case ExprKind::Min:
    case ExprKind::Max:
    case ExprKind::Mod:
      return std::gcd(operand(0), operand(1));
    case ExprKind::Select:
      return std::gcd(operand(1), operand(2));
    case ExprKind::Mul: {
      int64_t a = operand(0);
      int64_t b = operand(1);
      return a > kCap || b > kCap ? std::max(a, b) : a * b;
    }
    case ExprKind::FloorDiv:
    case ExprKind::CeilDiv: {
      auto by = function_.exprs.constant_value(node.operands[1]);
      int64_t a = operand(0);
      return by && *by > 0 && a % *by == 0 ? a / *by : 1;
    }
    default:
      return 1;
  }
}

std::optional<int64_t> Facts::offset_from_multiple(ExprId a, int64_t factor, const Below& pair) const {
  Linear form = linear_form(function_.exprs, a);
  for (const auto& [term, coefficient] : pair.value.terms) {
    int64_t& own = form.terms[term];
    own -= coefficient * factor;
    if (own == 0) {
      form.terms.erase(term);
    }
  }
  if (!form.terms.empty()) {
    return std::nullopt;
  }
  return form.constant - pair.value.constant * factor;
}

bool Facts::is_below(ExprId a, ExprId b) const {
  if (range(a).hi < range(b).lo) {
    return true;
  }
  if (auto difference = constant_difference(function_.exprs, b, a)) {
    return *difference > 0;
  }
  for (const Below& pair : below_) {
    if (pair.upper == b) {
      auto offset = offset_from_multiple(a, 1, pair);
      if (offset && *offset <= 0) {
        return true;
      }
      continue;
    }
    const ir::ExprNode& upper = function_.exprs.node(pair.upper);
    if ((upper.kind != ExprKind::CeilDiv && upper.kind != ExprKind::FloorDiv) || upper.operands[0] != b) {
      continue;
    }
    // x < ceil(b / d): d * x <= d * (ceil(b / d) - 1) < b.
    auto by = function_.exprs.constant_value(upper.operands[1]);
    if (by && *by > 0) {
      auto offset = offset_from_multiple(a, *by, pair);
      if (offset && *offset <= 0) {
        return true;
      }
    }
  }
  return false;
}

bool Facts::fits(ExprId lo, int64_t extent, ExprId bound) const {
  if (add_bounds(range(lo).hi, extent) <= range(bound).lo) {
    return true;
  }
  if (auto difference = constant_difference(function_.exprs, bound, lo)) {
    return *difference >= extent;
  }
  const int64_t unit = std::gcd(divisor(lo), divisor(bound));
  if (unit >= extent && is_below(lo, bound)) {
    return true;
  }
  for (const Below& pair : below_) {
    const ir::ExprNode& upper = function_.exprs.node(pair.upper);
    if ((upper.kind != ExprKind::CeilDiv && upper.kind != ExprKind::FloorDiv) || upper.operands[0] != bound) {
      continue;
    }
    auto by = function_.exprs.constant_value(upper.operands[1]);
    if (!by || *by <= 0 || (upper.kind == ExprKind::CeilDiv && divisor(bound) % *by != 0)) {
      continue;
    }
    // x < bound / d exactly: d * x + d <= bound.
    auto offset = offset_from_multiple(lo, *by, pair);
    if (offset && *offset + extent <= *by) {
      return true;
    }
  }
  return false;
}

void Facts::add_condition(ExprId condition) {
  const ir::ExprNode& node = function_.exprs.node(condition);
  if (node.kind == ExprKind::And) {
    add_condition(node.operands[0]);
    add_condition(node.operands[1]);
  } else if (node.kind == ExprKind::Lt) {
    below_.push_back({linear_form(function_.exprs, node.operands[0]), node.operands[1]});
  }
}

void Facts::add_below(ir::SymbolId symbol, ExprId upper) {
  for (uint32_t i = 0; i < function_.exprs.size(); ++i) {
    const ir::ExprNode& node = function_.exprs.node(ExprId(i));
    if (node.kind == ExprKind::Symbol && node.symbol == symbol) {
      Linear form;
      form.terms[ExprId(i)] = 1;
      below_.push_back({std::move(form), upper});
      return;
    }
  }
}

}  // namespace tw::passes
