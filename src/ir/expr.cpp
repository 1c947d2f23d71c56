// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace tw::ir {
namespace {

std::optional<int64_t> floor_div_value(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) {
    return std::nullopt;
  }
  int64_t quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

// The value of one node on constant operands; nullopt: overflow or division by zero.
std::optional<int64_t> apply(ExprKind kind, int64_t a, int64_t b, int64_t c) {
  int64_t out = 0;
  switch (kind) {
    case ExprKind::Add:
      return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
    case ExprKind::Sub:
      return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
    case ExprKind::Mul:
      return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
    case ExprKind::FloorDiv:
      return floor_div_value(a, b);
    case ExprKind::Mod: {
      auto quotient = floor_div_value(a, b);
      return quotient ? std::optional<int64_t>(a - *quotient * b) : std::nullopt;
    }
    case ExprKind::CeilDiv: {
      auto quotient = floor_div_value(a, b);
      return quotient ? std::optional<int64_t>(*quotient + (*quotient * b != a ? 1 : 0)) : std::nullopt;
    }
    case ExprKind::Min:
      return std::min(a, b);
    case ExprKind::Max:
      return std::max(a, b);
    case ExprKind::Eq:
      return a == b;
    case ExprKind::Ne:
      return a != b;
    case ExprKind::Lt:
      return a < b;
    case ExprKind::Le:
      return a <= b;
    case ExprKind::And:
      return (a != 0 && b != 0) ? 1 : 0;
    case ExprKind::Or:
      return (a != 0 || b != 0) ? 1 : 0;
    case ExprKind::Not:
      return a == 0 ? 1 : 0;
    case ExprKind::Select:
      return a != 0 ? b : c;
    case ExprKind::Const:
    case ExprKind::Symbol:
      break;
  }
  TW_CHECK(false);
  return std::nullopt;
}

std::string_view infix(ExprKind kind) {
  switch (kind) {
    case ExprKind::Add:
      return "+";
    case ExprKind::Sub:
      return "-";
    case ExprKind::Mul:
      return "*";
    case ExprKind::FloorDiv:
      return "//";
    case ExprKind::Mod:
      return "%";
    case ExprKind::Eq:
      return "==";
    case ExprKind::Ne:
      return "!=";
    case ExprKind::Lt:
      return "<";
    case ExprKind::Le:
      return "<=";
    case ExprKind::And:
      return "and";
    case ExprKind::Or:
      return "or";
    default:
      return "";
  }
}

}  // namespace

bool is_commutative(ExprKind kind) {
  switch (kind) {
    case ExprKind::Add:
    case ExprKind::Mul:
    case ExprKind::Min:
    case ExprKind::Max:
    case ExprKind::Eq:
    case ExprKind::Ne:
      return true;
    // And, Or: the first operand guards the second, so their order stays.
    default:
      return false;
  }
}

int operand_count(ExprKind kind) {
  switch (kind) {
    case ExprKind::Const:
    case ExprKind::Symbol:
      return 0;
    case ExprKind::Not:
      return 1;
    case ExprKind::Select:
      return 3;
    default:
      return 2;
  }
}

size_t ExprPool::NodeHash::operator()(const ExprNode& node) const noexcept {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(node.kind));
  hasher.add(static_cast<uint64_t>(node.value));
  hasher.add(uint64_t{node.symbol.index});
  for (ExprId operand : node.operands) {
    hasher.add(uint64_t{operand.index});
  }
  return hasher.value();
}

SymbolId ExprPool::add_symbol(std::string name, SymbolKind kind, diag::Span span) {
  symbols_.push_back({std::move(name), kind, span});
  return SymbolId(static_cast<uint32_t>(symbols_.size() - 1));
}

ExprId ExprPool::intern(ExprNode node) {
  auto [entry, is_new] = index_.try_emplace(node, ExprId(static_cast<uint32_t>(nodes_.size())));
  if (is_new) {
    nodes_.push_back(node);
  }
  return entry->second;
}

ExprId ExprPool::constant(int64_t value) {
  return intern({.kind = ExprKind::Const, .value = value});
}

ExprId ExprPool::symbol_ref(SymbolId symbol) {
  TW_CHECK(symbol.index < symbols_.size());
  return intern({.kind = ExprKind::Symbol, .symbol = symbol});
}

std::optional<int64_t> ExprPool::constant_value(ExprId id) const {
  const ExprNode& n = node(id);
  return n.kind == ExprKind::Const ? std::optional<int64_t>(n.value) : std::nullopt;
}

bool ExprPool::is_constant(ExprId id, int64_t value) const {
  return constant_value(id) == value;
}

ExprId ExprPool::make(ExprKind kind, ExprId a, ExprId b, ExprId c) {
  const int count = operand_count(kind);
  TW_CHECK(count > 0);
  if (is_commutative(kind) && b < a) {
    std::swap(a, b);
  }
  auto va = constant_value(a);
  auto vb = count > 1 ? constant_value(b) : std::optional<int64_t>(0);
  auto vc = count > 2 ? constant_value(c) : std::optional<int64_t>(0);
  if (va && vb && vc) {
    if (auto folded = apply(kind, *va, *vb, *vc)) {
      return constant(*folded);
    }
  }
  switch (kind) {
    case ExprKind::Add:
      if (va == 0)
        return b;
      if (vb == 0)
        return a;
      break;
    case ExprKind::Sub:
      if (vb == 0)
        return a;
      if (a == b)
        return constant(0);
      break;
    case ExprKind::Mul:
      if (va == 1)
        return b;
      if (vb == 1)
        return a;
      if (va == 0 || vb == 0)
        return constant(0);
      break;
    case ExprKind::FloorDiv:
    case ExprKind::CeilDiv:
      if (vb == 1)
        return a;
      break;
    case ExprKind::Mod:
      if (vb == 1)
        return constant(0);
      break;
    case ExprKind::Min:
    case ExprKind::Max:
      if (a == b)
        return a;
      break;
    case ExprKind::Eq:
    case ExprKind::Le:
      if (a == b)
        return constant(1);
      break;
    case ExprKind::Ne:
    case ExprKind::Lt:
      if (a == b)
        return constant(0);
      break;
    case ExprKind::And:
      if (va == 0 || vb == 0)
        return constant(0);
      if (va)
        return b;
      if (vb)
        return a;
      if (a == b)
        return a;
      break;
    case ExprKind::Or:
      if ((va && va != 0) || (vb && vb != 0))
        return constant(1);
      if (va)
        return b;
      if (vb)
        return a;
      if (a == b)
        return a;
      break;
    case ExprKind::Not:
      if (node(a).kind == ExprKind::Not)
        return node(a).operands[0];
      break;
    case ExprKind::Select:
      if (va)
        return *va != 0 ? b : c;
      if (b == c)
        return b;
      break;
    case ExprKind::Const:
    case ExprKind::Symbol:
      break;
  }
  return intern({.kind = kind, .operands = {a, count > 1 ? b : ExprId{}, count > 2 ? c : ExprId{}}});
}

ExprId ExprPool::add(ExprId a, ExprId b) {
  return make(ExprKind::Add, a, b);
}
ExprId ExprPool::sub(ExprId a, ExprId b) {
  return make(ExprKind::Sub, a, b);
}
ExprId ExprPool::mul(ExprId a, ExprId b) {
  return make(ExprKind::Mul, a, b);
}
ExprId ExprPool::floor_div(ExprId a, ExprId b) {
  return make(ExprKind::FloorDiv, a, b);
}
ExprId ExprPool::mod(ExprId a, ExprId b) {
  return make(ExprKind::Mod, a, b);
}
ExprId ExprPool::ceil_div(ExprId a, ExprId b) {
  return make(ExprKind::CeilDiv, a, b);
}
ExprId ExprPool::min(ExprId a, ExprId b) {
  return make(ExprKind::Min, a, b);
}
ExprId ExprPool::max(ExprId a, ExprId b) {
  return make(ExprKind::Max, a, b);
}
ExprId ExprPool::eq(ExprId a, ExprId b) {
  return make(ExprKind::Eq, a, b);
}
ExprId ExprPool::ne(ExprId a, ExprId b) {
  return make(ExprKind::Ne, a, b);
}
ExprId ExprPool::lt(ExprId a, ExprId b) {
  return make(ExprKind::Lt, a, b);
}
ExprId ExprPool::le(ExprId a, ExprId b) {
  return make(ExprKind::Le, a, b);
}
ExprId ExprPool::logical_and(ExprId a, ExprId b) {
  return make(ExprKind::And, a, b);
}
ExprId ExprPool::logical_or(ExprId a, ExprId b) {
  return make(ExprKind::Or, a, b);
}
ExprId ExprPool::logical_not(ExprId a) {
  return make(ExprKind::Not, a);
}
ExprId ExprPool::select(ExprId condition, ExprId if_true, ExprId if_false) {
  return make(ExprKind::Select, condition, if_true, if_false);
}

ExprId ExprPool::substitute(ExprId id, const std::unordered_map<SymbolId, ExprId>& replacements) {
  // A copy: interning may move the nodes.
  const ExprNode n = node(id);
  if (n.kind == ExprKind::Const) {
    return id;
  }
  if (n.kind == ExprKind::Symbol) {
    auto found = replacements.find(n.symbol);
    return found == replacements.end() ? id : found->second;
  }
  std::array<ExprId, 3> operands{};
  for (int i = 0; i < operand_count(n.kind); ++i) {
    operands[i] = substitute(n.operands[i], replacements);
  }
  return operands == n.operands ? id : make(n.kind, operands[0], operands[1], operands[2]);
}

std::optional<int64_t> ExprPool::evaluate(ExprId id,
                                          const std::function<std::optional<int64_t>(SymbolId)>& value_of) const {
  const ExprNode& n = node(id);
  if (n.kind == ExprKind::Const) {
    return n.value;
  }
  if (n.kind == ExprKind::Symbol) {
    return value_of(n.symbol);
  }
  auto a = evaluate(n.operands[0], value_of);
  if (!a) {
    return std::nullopt;
  }
  // Conditions guard the other side: `k > 0 and x // k > 1` has a value at k = 0.
  if (n.kind == ExprKind::And && *a == 0) {
    return 0;
  }
  if (n.kind == ExprKind::Or && *a != 0) {
    return 1;
  }
  if (n.kind == ExprKind::Select) {
    return evaluate(*a != 0 ? n.operands[1] : n.operands[2], value_of);
  }
  int64_t b = 0;
  if (operand_count(n.kind) > 1) {
    auto second = evaluate(n.operands[1], value_of);
    if (!second) {
      return std::nullopt;
    }
    b = *second;
  }
  return apply(n.kind, *a, b, 0);
}

void ExprPool::collect_symbols(ExprId id, std::vector<SymbolId>& out) const {
  const ExprNode& n = node(id);
  if (n.kind == ExprKind::Symbol && std::ranges::find(out, n.symbol) == out.end()) {
    out.push_back(n.symbol);
  }
  for (int i = 0; i < operand_count(n.kind); ++i) {
    collect_symbols(n.operands[i], out);
  }
}

std::string ExprPool::to_string(ExprId id) const {
  return to_string(id, [this](SymbolId symbol_id) { return symbol(symbol_id).name; });
}

std::string ExprPool::to_string(ExprId id, const std::function<std::string(SymbolId)>& name_of) const {
  const ExprNode& n = node(id);
  auto operand = [&](int i) { return to_string(n.operands[i], name_of); };
  switch (n.kind) {
    case ExprKind::Const:
      return fmt::format("{}", n.value);
    case ExprKind::Symbol:
      return name_of(n.symbol);
    case ExprKind::CeilDiv:
      return fmt::format("cdiv({}, {})", operand(0), operand(1));
    case ExprKind::Min:
      return fmt::format("min({}, {})", operand(0), operand(1));
    case ExprKind::Max:
      return fmt::format("max({}, {})", operand(0), operand(1));
    case ExprKind::Not:
      return fmt::format("not({})", operand(0));
    case ExprKind::Select:
      return fmt::format("select({}, {}, {})", operand(0), operand(1), operand(2));
    default:
      return fmt::format("({} {} {})", operand(0), infix(n.kind), operand(1));
  }
}

}  // namespace tw::ir
