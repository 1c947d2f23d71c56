// SPDX-License-Identifier: Apache-2.0
#include "analysis/expr_reader.h"

namespace tw::analysis {

using domain::Ints;
using ir::ExprId;
using ir::ExprKind;

IntId ExprReader::read_int(ExprId id) {
  if (auto it = memo_ints_.find(id); it != memo_ints_.end()) {
    return it->second;
  }
  const ir::ExprNode& n = f_.exprs.node(id);
  Ints& ints = env_.ints;
  auto a = [&] { return read_int(n.operands[0]); };
  auto b = [&] { return read_int(n.operands[1]); };
  IntId result;
  switch (n.kind) {
    case ExprKind::Const:
      result = ints.constant(n.value);
      break;
    case ExprKind::Symbol: {
      auto it = symbols.find(n.symbol);
      if (it != symbols.end()) {
        result = it->second;
      } else {
        problem = "the symbol `" + f_.exprs.symbol(n.symbol).name + "` is used where it has no value";
        result = ints.var(ints.add_var("unbound"));
      }
      break;
    }
    case ExprKind::Add:
      result = ints.add(a(), b());
      break;
    case ExprKind::Sub:
      result = ints.sub(a(), b());
      break;
    case ExprKind::Mul:
      result = ints.mul(a(), b());
      break;
    case ExprKind::FloorDiv:
      result = ints.floor_div(a(), divisor(n));
      break;
    case ExprKind::Mod:
      result = ints.mod(a(), divisor(n));
      break;
    case ExprKind::CeilDiv:
      result = ints.ceil_div(a(), divisor(n));
      break;
    case ExprKind::Min:
      result = ints.min(a(), b());
      break;
    case ExprKind::Max:
      result = ints.max(a(), b());
      break;
    case ExprKind::Select:
      result = ints.select(read_cond(n.operands[0]), b(), read_int(n.operands[2]));
      break;
    default:
      // A truth value as a number.
      result = ints.select(read_cond(id), ints.constant(1), ints.constant(0));
      break;
  }
  memo_ints_.emplace(id, result);
  return result;
}

CondId ExprReader::read_cond(ExprId id) {
  if (auto it = memo_conds_.find(id); it != memo_conds_.end()) {
    return it->second;
  }
  const ir::ExprNode& n = f_.exprs.node(id);
  Ints& ints = env_.ints;
  auto a = [&] { return read_int(n.operands[0]); };
  auto b = [&] { return read_int(n.operands[1]); };
  CondId result;
  switch (n.kind) {
    case ExprKind::Eq:
      result = ints.eq(a(), b());
      break;
    case ExprKind::Ne:
      result = ints.negate(ints.eq(a(), b()));
      break;
    case ExprKind::Lt:
      result = ints.lt(a(), b());
      break;
    case ExprKind::Le:
      result = ints.le(a(), b());
      break;
    case ExprKind::And:
      result = ints.conjunction({read_cond(n.operands[0]), read_cond(n.operands[1])});
      break;
    case ExprKind::Or:
      result = ints.disjunction({read_cond(n.operands[0]), read_cond(n.operands[1])});
      break;
    case ExprKind::Not:
      result = ints.negate(read_cond(n.operands[0]));
      break;
    case ExprKind::Select: {
      CondId c = read_cond(n.operands[0]);
      result = ints.disjunction({ints.conjunction({c, read_cond(n.operands[1])}),
                                 ints.conjunction({ints.negate(c), read_cond(n.operands[2])})});
      break;
    }
    default:
      // A number as a truth value.
      result = ints.negate(ints.zero(read_int(id)));
      break;
  }
  memo_conds_.emplace(id, result);
  return result;
}

IntId ExprReader::divisor(const ir::ExprNode& n) {
  IntId d = read_int(n.operands[1]);
  if (!env_.ints.constant_value(d)) {
    divisors.push_back(d);
  } else if (*env_.ints.constant_value(d) <= 0) {
    divisors.push_back(d);
  }
  return d;
}

}  // namespace tw::analysis
