// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fmt/format.h>

#include "sema/lowering.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;
using ir::ElementwiseKind;
using ir::ExprId;

namespace {

std::optional<ElementwiseKind> elementwise_of(syntax::BinaryOp op) {
  switch (op) {
    case syntax::BinaryOp::Add:
      return ElementwiseKind::Add;
    case syntax::BinaryOp::Sub:
      return ElementwiseKind::Sub;
    case syntax::BinaryOp::Mul:
      return ElementwiseKind::Mul;
    case syntax::BinaryOp::Div:
      return ElementwiseKind::Div;
    case syntax::BinaryOp::BitAnd:
      return ElementwiseKind::And;
    case syntax::BinaryOp::BitOr:
      return ElementwiseKind::Or;
    default:
      return std::nullopt;
  }
}

}  // namespace

Value Lowering::eval_unary(const syntax::Expr& expr, const syntax::Unary& node) {
  const Value value = eval(*node.operand);
  if (value.is_poison()) {
    return PoisonValue{};
  }
  if (node.op == syntax::UnaryOp::Not) {
    if (value.is<TileValue>() && function_.value(value.as<TileValue>()->id).element == ElementType::Bool) {
      note(sink_.report(codes::TruthValue{}, node.operand->span, "the operand of `not`", describe(value))
               .note("write `~x` for a tile of truth values")
               .emit());
      return PoisonValue{};
    }
    std::optional<ExprId> operand = to_bool(value, node.operand->span, "the operand of `not`");
    return operand ? Value(BoolValue{exprs().logical_not(*operand)}) : Value(PoisonValue{});
  }
  const Operand operand{value, node.operand->span};
  if (node.op == syntax::UnaryOp::Invert) {
    if (const auto* boolean = value.as<BoolValue>()) {
      return BoolValue{exprs().logical_not(boolean->expr)};
    }
    if (std::optional<int64_t> constant = constant_of(value)) {
      return IntValue{exprs().constant(~*constant)};
    }
    if (value.is<TileValue>()) {
      return elementwise(ElementwiseKind::Not, {operand}, expr.span, "`~`");
    }
    return poison_wrong_kind(expr.span, "the operand of `~`", value, "a truth value or a tile of truth values");
  }
  if (const auto* integer = value.as<IntValue>()) {
    return node.op == syntax::UnaryOp::Plus
               ? value
               : int_binary(syntax::BinaryOp::Sub, exprs().constant(0), integer->expr, expr.span, {});
  }
  if (const auto* number = value.as<FloatValue>()) {
    return FloatValue{node.op == syntax::UnaryOp::Plus ? number->value : -number->value};
  }
  if (value.is<TileValue>()) {
    return node.op == syntax::UnaryOp::Plus ? value : elementwise(ElementwiseKind::Neg, {operand}, expr.span, "`-`");
  }
  return poison_wrong_kind(node.operand->span, fmt::format("the operand of `{}`", syntax::spelling(node.op)), value,
                           "a number or a register tile");
}

Value Lowering::eval_binary(const syntax::Expr& expr, const syntax::Binary& node) {
  Operand left{eval(*node.left), node.left->span};
  Operand right{eval(*node.right), node.right->span};
  return binary(node.op, left, right, expr.span, node.op_span);
}

Value Lowering::binary(syntax::BinaryOp op, const Operand& left, const Operand& right, Span span, Span op_span) {
  if (left.value.is_poison() || right.value.is_poison()) {
    return PoisonValue{};
  }
  const std::string what = fmt::format("`{}`", syntax::spelling(op));
  const auto* left_int = left.value.as<IntValue>();
  const auto* right_int = right.value.as<IntValue>();
  if (left_int != nullptr && right_int != nullptr) {
    return int_binary(op, left_int->expr, right_int->expr, span, op_span);
  }
  const auto* left_bool = left.value.as<BoolValue>();
  const auto* right_bool = right.value.as<BoolValue>();
  if (left_bool != nullptr && right_bool != nullptr) {
    if (op == syntax::BinaryOp::BitAnd) {
      return BoolValue{exprs().logical_and(left_bool->expr, right_bool->expr)};
    }
    if (op == syntax::BinaryOp::BitOr) {
      return BoolValue{exprs().logical_or(left_bool->expr, right_bool->expr)};
    }
    if (op == syntax::BinaryOp::BitXor) {
      return BoolValue{exprs().ne(left_bool->expr, right_bool->expr)};
    }
    return poison_wrong_kind(left.span, fmt::format("an operand of {}", what), left.value,
                             "a number or a register tile");
  }
  auto number = [&](const Value& value) -> std::optional<double> {
    if (const auto* f = value.as<FloatValue>()) {
      return f->value;
    }
    const auto* i = value.as<IntValue>();
    std::optional<int64_t> constant = i != nullptr ? exprs().constant_value(i->expr) : std::nullopt;
    return constant ? std::optional<double>(static_cast<double>(*constant)) : std::nullopt;
  };
  std::optional<double> left_number = number(left.value);
  std::optional<double> right_number = number(right.value);
  if (left_number && right_number) {
    return float_binary(op, *left_number, *right_number, span);
  }
  if (left.value.is<TileValue>() || right.value.is<TileValue>()) {
    std::optional<ElementwiseKind> kind = elementwise_of(op);
    if (!kind) {
      report_not_lowered(span, fmt::format("{} on register tiles", what));
      return PoisonValue{};
    }
    return elementwise(*kind, {left, right}, span, what);
  }
  auto fits = [](const Value& value) { return value.is<IntValue>() || value.is<FloatValue>(); };
  if (fits(left.value) && fits(right.value)) {
    // A run-time integer and a real number.
    const bool left_is_int = left.value.is<IntValue>();
    note(sink_
             .report(codes::ElementTypeMismatch{}, span, left_is_int ? "i32" : "real", left_is_int ? "real" : "i32",
                     what)
             .label((left_is_int ? left : right).span, "a run-time integer; convert it with `.to(f32)`")
             .emit());
    return PoisonValue{};
  }
  const Operand& wrong = fits(left.value) ? right : left;
  if (refuse_memory_scalar(wrong.value, wrong.span, "an operand of arithmetic")) {
    return PoisonValue{};
  }
  if (wrong.value.is<MemoryValue>()) {
    note(sink_
             .report(codes::WrongKind{}, wrong.span, fmt::format("an operand of {}", what), describe(wrong.value),
                     "a number or a register tile")
             .note("only `mma` and `copy` take memory operands; read it with `load(..)` first")
             .emit());
    return PoisonValue{};
  }
  return poison_wrong_kind(wrong.span, fmt::format("an operand of {}", what), wrong.value,
                           "a number or a register tile");
}

Value Lowering::int_binary(syntax::BinaryOp op, ExprId left, ExprId right, Span span, Span op_span) {
  std::optional<int64_t> a = exprs().constant_value(left);
  std::optional<int64_t> b = exprs().constant_value(right);
  auto refuse = [&](std::string_view why) -> Value {
    note(sink_.report(codes::CompileTimeArithmetic{}, span, syntax::spelling(op), text_of(left), text_of(right), why)
             .emit());
    return PoisonValue{};
  };
  const bool divides = op == syntax::BinaryOp::FloorDiv || op == syntax::BinaryOp::Mod;
  if (divides && b && *b <= 0) {
    return refuse("a divisor is positive");
  }
  if (a && b) {
    int64_t result = 0;
    bool overflows = false;
    switch (op) {
      case syntax::BinaryOp::Add:
        overflows = __builtin_add_overflow(*a, *b, &result);
        break;
      case syntax::BinaryOp::Sub:
        overflows = __builtin_sub_overflow(*a, *b, &result);
        break;
      case syntax::BinaryOp::Mul:
        overflows = __builtin_mul_overflow(*a, *b, &result);
        break;
      case syntax::BinaryOp::FloorDiv:
        result = *a / *b - (*a % *b < 0 ? 1 : 0);
        break;
      case syntax::BinaryOp::Mod:
        result = *a % *b + (*a % *b < 0 ? *b : 0);
        break;
      case syntax::BinaryOp::BitAnd:
        result = *a & *b;
        break;
      case syntax::BinaryOp::BitOr:
        result = *a | *b;
        break;
      case syntax::BinaryOp::BitXor:
        result = *a ^ *b;
        break;
      case syntax::BinaryOp::ShiftLeft:
        if (*b < 0 || *b > 62) {
          return refuse("a shift is from 0 to 62");
        }
        overflows = __builtin_mul_overflow(*a, int64_t{1} << *b, &result);
        break;
      case syntax::BinaryOp::ShiftRight:
        if (*b < 0 || *b > 62) {
          return refuse("a shift is from 0 to 62");
        }
        result = *a >> *b;
        break;
      case syntax::BinaryOp::Pow: {
        if (*b < 0) {
          return refuse("an integer power has no negative exponent");
        }
        result = 1;
        // Any base but -1, 0 and 1 overflows within 63 steps.
        const bool is_trivial = *a >= -1 && *a <= 1;
        const int64_t steps = is_trivial ? *b % 2 + (*b > 0 ? 2 : 0) : *b;
        for (int64_t i = 0; i < steps && !overflows; ++i) {
          overflows = __builtin_mul_overflow(result, *a, &result);
        }
        break;
      }
      case syntax::BinaryOp::Div:
        if (*b == 0) {
          return refuse("a divisor is not zero");
        }
        return FloatValue{static_cast<double>(*a) / static_cast<double>(*b)};
    }
    if (overflows) {
      return refuse("the result does not fit in 64 bits");
    }
    return IntValue{exprs().constant(result)};
  }
  switch (op) {
    case syntax::BinaryOp::Add:
    case syntax::BinaryOp::Sub:
      return IntValue{add_constants(left, right, op == syntax::BinaryOp::Sub, b)};
    case syntax::BinaryOp::Mul:
      return IntValue{exprs().mul(left, right)};
    case syntax::BinaryOp::FloorDiv:
      return IntValue{exprs().floor_div(left, right)};
    case syntax::BinaryOp::Mod:
      return IntValue{exprs().mod(left, right)};
    case syntax::BinaryOp::Div: {
      diag::Builder builder = sink_.report(codes::IntegerDivision{}, op_span.is_valid() ? op_span : span);
      if (op_span.is_valid()) {
        builder.fixit({"round down", {{op_span, "//"}}, diag::Applicability::MaybeWrong});
      }
      note(builder.note("for a real quotient convert both sides first: `x.to(f32) / y.to(f32)`").emit());
      return PoisonValue{};
    }
    case syntax::BinaryOp::ShiftLeft:
      if (b && *b >= 0 && *b <= 62) {
        return IntValue{exprs().mul(left, exprs().constant(int64_t{1} << *b))};
      }
      break;
    case syntax::BinaryOp::ShiftRight:
      if (b && *b >= 0 && *b <= 62) {
        return IntValue{exprs().floor_div(left, exprs().constant(int64_t{1} << *b))};
      }
      break;
    default:
      break;
  }
  report_not_lowered(span, fmt::format("`{}` on run-time integers", syntax::spelling(op)), "use `*`, `//` and `%`");
  return PoisonValue{};
}

// `(k + 4) - 1` is `k + 3`: offsets stay small and comparable.
ExprId Lowering::add_constants(ExprId left, ExprId right, bool is_sub, std::optional<int64_t> constant) {
  const ir::ExprNode node = exprs().node(left);
  int64_t sum = 0;
  if (constant && node.kind == ir::ExprKind::Add) {
    for (int i = 0; i < 2; ++i) {
      std::optional<int64_t> inner = exprs().constant_value(node.operands[static_cast<size_t>(i)]);
      const bool overflows = inner && (is_sub ? __builtin_sub_overflow(*inner, *constant, &sum)
                                              : __builtin_add_overflow(*inner, *constant, &sum));
      if (inner && !overflows) {
        const ExprId rest = node.operands[static_cast<size_t>(1 - i)];
        return sum >= 0          ? exprs().add(rest, exprs().constant(sum))
               : sum > INT64_MIN ? exprs().sub(rest, exprs().constant(-sum))
                                 : exprs().add(left, right);
      }
    }
  }
  return is_sub ? exprs().sub(left, right) : exprs().add(left, right);
}

Value Lowering::float_binary(syntax::BinaryOp op, double left, double right, Span span) {
  switch (op) {
    case syntax::BinaryOp::Add:
      return FloatValue{left + right};
    case syntax::BinaryOp::Sub:
      return FloatValue{left - right};
    case syntax::BinaryOp::Mul:
      return FloatValue{left * right};
    case syntax::BinaryOp::Div:
      if (right == 0) {
        note(sink_
                 .report(codes::CompileTimeArithmetic{}, span, "/", fmt::format("{}", left), fmt::format("{}", right),
                         "a divisor is not zero")
                 .emit());
        return PoisonValue{};
      }
      return FloatValue{left / right};
    case syntax::BinaryOp::Pow:
      return FloatValue{std::pow(left, right)};
    default:
      note(sink_
               .report(codes::CompileTimeArithmetic{}, span, syntax::spelling(op), fmt::format("{}", left),
                       fmt::format("{}", right), "it is defined on integers only")
               .emit());
      return PoisonValue{};
  }
}

Value Lowering::eval_compare(const syntax::Expr& expr, const syntax::Compare& node) {
  Operand left{eval(*node.first), node.first->span};
  std::optional<Value> result;
  bool is_good = true;
  for (const auto& [op, operand] : node.rest) {
    Operand right{eval(*operand), operand->span};
    Value pair = compare(op, left, right, expr.span);
    left = std::move(right);
    if (pair.is_poison()) {
      is_good = false;
    } else if (!result) {
      result = std::move(pair);
    } else if (result->is<BoolValue>() && pair.is<BoolValue>()) {
      result = BoolValue{exprs().logical_and(result->as<BoolValue>()->expr, pair.as<BoolValue>()->expr)};
    } else {
      result = elementwise(ElementwiseKind::And, {{*result, expr.span}, {pair, expr.span}}, expr.span,
                           "a chain of comparisons");
    }
  }
  return is_good ? *result : Value(PoisonValue{});
}

Value Lowering::compare(syntax::CompareOp op, const Operand& left, const Operand& right, Span span) {
  using syntax::CompareOp;
  if (left.value.is_poison() || right.value.is_poison()) {
    return PoisonValue{};
  }
  const auto* a = left.value.as<IntValue>();
  const auto* b = right.value.as<IntValue>();
  if (a != nullptr && b != nullptr) {
    switch (op) {
      case CompareOp::Less:
        return BoolValue{exprs().lt(a->expr, b->expr)};
      case CompareOp::LessEqual:
        return BoolValue{exprs().le(a->expr, b->expr)};
      case CompareOp::Greater:
        return BoolValue{exprs().lt(b->expr, a->expr)};
      case CompareOp::GreaterEqual:
        return BoolValue{exprs().le(b->expr, a->expr)};
      case CompareOp::Equal:
        return BoolValue{exprs().eq(a->expr, b->expr)};
      case CompareOp::NotEqual:
        return BoolValue{exprs().ne(a->expr, b->expr)};
    }
  }
  if (left.value.is<TileValue>() || right.value.is<TileValue>()) {
    const std::string what = fmt::format("`{}`", syntax::spelling(op));
    switch (op) {
      case CompareOp::Less:
        return elementwise(ElementwiseKind::Lt, {left, right}, span, what);
      case CompareOp::LessEqual:
        return elementwise(ElementwiseKind::Le, {left, right}, span, what);
      case CompareOp::Greater:
        return elementwise(ElementwiseKind::Lt, {right, left}, span, what);
      case CompareOp::GreaterEqual:
        return elementwise(ElementwiseKind::Le, {right, left}, span, what);
      case CompareOp::Equal:
        return elementwise(ElementwiseKind::Eq, {left, right}, span, what);
      case CompareOp::NotEqual:
        return elementwise(ElementwiseKind::Ne, {left, right}, span, what);
    }
  }
  const bool is_equality = op == CompareOp::Equal || op == CompareOp::NotEqual;
  auto constant = [&](const Value& value) -> std::optional<double> {
    if (const auto* number = value.as<FloatValue>()) {
      return number->value;
    }
    std::optional<int64_t> integer = constant_of(value);
    return integer ? std::optional<double>(static_cast<double>(*integer)) : std::nullopt;
  };
  const auto* left_bool = left.value.as<BoolValue>();
  const auto* right_bool = right.value.as<BoolValue>();
  if (is_equality && left_bool != nullptr && right_bool != nullptr) {
    ExprId same = exprs().eq(left_bool->expr, right_bool->expr);
    return BoolValue{op == CompareOp::Equal ? same : exprs().logical_not(same)};
  }
  const auto* left_text = left.value.as<StringValue>();
  const auto* right_text = right.value.as<StringValue>();
  if (is_equality && left_text != nullptr && right_text != nullptr) {
    return BoolValue{exprs().constant((left_text->text == right_text->text) == (op == CompareOp::Equal) ? 1 : 0)};
  }
  const auto* left_type = left.value.as<TypeValue>();
  const auto* right_type = right.value.as<TypeValue>();
  if (is_equality && left_type != nullptr && right_type != nullptr) {
    return BoolValue{exprs().constant((left_type->type == right_type->type) == (op == CompareOp::Equal) ? 1 : 0)};
  }
  std::optional<double> x = constant(left.value);
  std::optional<double> y = constant(right.value);
  if (x && y) {
    const bool result = op == CompareOp::Less           ? *x < *y
                        : op == CompareOp::LessEqual    ? *x <= *y
                        : op == CompareOp::Greater      ? *x > *y
                        : op == CompareOp::GreaterEqual ? *x >= *y
                        : op == CompareOp::Equal        ? *x == *y
                                                        : *x != *y;
    return BoolValue{exprs().constant(result ? 1 : 0)};
  }
  const bool left_fits = left.value.is<IntValue>() || left.value.is<FloatValue>();
  const Operand& wrong = left_fits ? right : left;
  if (refuse_memory_scalar(wrong.value, wrong.span, "an operand of a comparison")) {
    return PoisonValue{};
  }
  return poison_wrong_kind(wrong.span, fmt::format("an operand of `{}`", syntax::spelling(op)), wrong.value,
                           "a number or a register tile");
}

Value Lowering::eval_bool_expr(const syntax::Expr& expr, const syntax::BoolExpr& node) {
  const bool is_and = node.op == syntax::BoolOp::And;
  const std::string what = fmt::format("an operand of `{}`", syntax::spelling(node.op));
  ExprId result = exprs().constant(is_and ? 1 : 0);
  bool is_good = true;
  for (const syntax::ExprPtr& operand : node.operands) {
    const Value value = eval(*operand);
    if (const auto* tile = value.as<TileValue>();
        tile != nullptr && function_.value(tile->id).element == ElementType::Bool) {
      note(sink_.report(codes::TruthValue{}, operand->span, what, describe(value))
               .note(fmt::format("element by element it is `(a) {} (b)`", is_and ? "&" : "|"))
               .emit());
      is_good = false;
      continue;
    }
    std::optional<ExprId> condition = to_bool(value, operand->span, what);
    if (!condition) {
      is_good = false;
      continue;
    }
    result = is_and ? exprs().logical_and(result, *condition) : exprs().logical_or(result, *condition);
    // What is decided stays undone, as in Python: `i > 0 and f(i - 1)`.
    if (is_good && exprs().is_constant(result, is_and ? 0 : 1)) {
      return BoolValue{result};
    }
  }
  static_cast<void>(expr);
  return is_good ? Value(BoolValue{result}) : Value(PoisonValue{});
}

Value Lowering::eval_conditional(const syntax::Expr& expr, const syntax::Conditional& node) {
  std::optional<ExprId> condition = eval_bool(*node.condition, "the condition");
  if (!condition) {
    eval(*node.then);
    eval(*node.otherwise);
    return PoisonValue{};
  }
  if (std::optional<int64_t> known = exprs().constant_value(*condition)) {
    return eval(*known != 0 ? *node.then : *node.otherwise);
  }
  const Value then = eval(*node.then);
  const Value otherwise = eval(*node.otherwise);
  if (then.is_poison() || otherwise.is_poison()) {
    return PoisonValue{};
  }
  if (then.is<IntValue>() && otherwise.is<IntValue>()) {
    return IntValue{exprs().select(*condition, then.as<IntValue>()->expr, otherwise.as<IntValue>()->expr)};
  }
  if (then.is<BoolValue>() && otherwise.is<BoolValue>()) {
    return BoolValue{exprs().select(*condition, then.as<BoolValue>()->expr, otherwise.as<BoolValue>()->expr)};
  }
  return elementwise(
      ElementwiseKind::Where,
      {{BoolValue{*condition}, node.condition->span}, {then, node.then->span}, {otherwise, node.otherwise->span}},
      expr.span, "a conditional expression");
}

}  // namespace tw::sema
