// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "sema/lowering.h"
#include "syntax/printer.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;
using ir::ElementwiseKind;
using ir::ValueId;

namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    out += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

bool is_comparison(ElementwiseKind kind) {
  return kind == ElementwiseKind::Eq || kind == ElementwiseKind::Ne || kind == ElementwiseKind::Lt ||
         kind == ElementwiseKind::Le;
}

bool is_logical(ElementwiseKind kind) {
  return kind == ElementwiseKind::And || kind == ElementwiseKind::Or || kind == ElementwiseKind::Not;
}

bool needs_floating(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::Div:
    case ElementwiseKind::Exp:
    case ElementwiseKind::Exp2:
    case ElementwiseKind::Log:
    case ElementwiseKind::Sqrt:
    case ElementwiseKind::Rsqrt:
    case ElementwiseKind::Tanh:
    case ElementwiseKind::Erf:
    case ElementwiseKind::Sigmoid:
      return true;
    default:
      return false;
  }
}

double fold(ElementwiseKind kind, double x) {
  switch (kind) {
    case ElementwiseKind::Exp:
      return std::exp(x);
    case ElementwiseKind::Exp2:
      return std::exp2(x);
    case ElementwiseKind::Log:
      return std::log(x);
    case ElementwiseKind::Sqrt:
      return std::sqrt(x);
    case ElementwiseKind::Rsqrt:
      return 1.0 / std::sqrt(x);
    case ElementwiseKind::Tanh:
      return std::tanh(x);
    case ElementwiseKind::Erf:
      return std::erf(x);
    case ElementwiseKind::Sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    default:
      return std::fabs(x);
  }
}

}  // namespace

ValueId Lowering::new_value(ElementType element, std::vector<int64_t> shape, Span span, std::string name) {
  ir::Value value;
  value.name = std::move(name);
  value.element = element;
  value.shape = std::move(shape);
  value.span = span;
  return function_.add_value(std::move(value));
}

ValueId Lowering::broadcast(ValueId from, const std::vector<int64_t>& shape, std::vector<int> axis_map, Span span) {
  // Two broadcasts in a row are one from the first's operand.
  if (auto found = broadcasts_.find(from.index); found != broadcasts_.end()) {
    std::vector<int> composed;
    for (int axis : found->second.second) {
      composed.push_back(axis_map[static_cast<size_t>(axis)]);
    }
    from = found->second.first;
    axis_map = std::move(composed);
  }
  ValueId result = new_value(function_.value(from).element, shape, span);
  broadcasts_[result.index] = {from, axis_map};
  emit(span, ir::BroadcastOp{from, std::move(axis_map), result});
  return result;
}

ValueId Lowering::materialize(const Value& value, ElementType type, const std::vector<int64_t>& shape, Span span) {
  if (const auto* tile = value.as<TileValue>()) {
    const std::vector<int64_t> from = function_.value(tile->id).shape;
    if (from == shape) {
      return tile->id;
    }
    std::vector<int> axis_map;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      axis_map.push_back(static_cast<int>(axis));
    }
    return broadcast(tile->id, shape, std::move(axis_map), span);
  }
  double constant = 0;
  bool is_constant = true;
  if (const auto* number = value.as<FloatValue>()) {
    constant = number->value;
  } else if (std::optional<int64_t> integer = constant_of(value)) {
    constant = static_cast<double>(*integer);
  } else {
    is_constant = false;
  }
  if (is_constant) {
    ValueId result = new_value(type, shape, span);
    emit(span, ir::ConstantOp{constant, result});
    return result;
  }
  const auto* integer = value.as<IntValue>();
  ValueId scalar = new_value(type, {}, span);
  emit(span, ir::ExprOp{integer != nullptr ? integer->expr : value.as<BoolValue>()->expr, scalar});
  return shape.empty() ? scalar : broadcast(scalar, shape, {}, span);
}

std::optional<std::vector<int64_t>> Lowering::common_shape(const std::vector<Operand>& operands, std::string_view what,
                                                           Span span) {
  std::vector<int64_t> out;
  const Operand* first = nullptr;
  for (const Operand& operand : operands) {
    const auto* tile = operand.value.as<TileValue>();
    if (tile == nullptr || function_.value(tile->id).shape.empty()) {
      continue;
    }
    const std::vector<int64_t>& shape = function_.value(tile->id).shape;
    if (first == nullptr) {
      first = &operand;
      out = shape;
      continue;
    }
    bool fits = shape.size() == out.size();
    for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
      fits = shape[axis] == out[axis] || shape[axis] == 1 || out[axis] == 1;
    }
    if (!fits) {
      diag::Builder builder =
          sink_.report(codes::ShapeMismatch{}, span, shape_text(out), shape_text(shape), what,
                       shape.size() == out.size() ? "extents are equal or 1" : "the number of axes differs");
      builder.label(first->span, shape_text(out)).label(operand.span, shape_text(shape));
      if (shape.size() != out.size()) {
        builder.note("`x[:, None]` and `x[None, :]` insert an axis");
      }
      note(builder.emit());
      return std::nullopt;
    }
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      out[axis] = std::max(out[axis], shape[axis]);
    }
  }
  return out;
}

Value Lowering::elementwise(ElementwiseKind kind, const std::vector<Operand>& operands, Span span,
                            std::string_view what, bool fast) {
  const bool is_where = kind == ElementwiseKind::Where;
  // The operands whose types must agree; `where` chooses by its first one.
  const size_t first = is_where ? 1 : 0;
  std::optional<ElementType> type;
  const Operand* typed = nullptr;
  bool has_real = false;
  const Operand* run_time_int = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.value.is_poison()) {
      return PoisonValue{};
    }
    if (operand.value.is<MemoryValue>()) {
      note(sink_
               .report(codes::WrongKind{}, operand.span, fmt::format("an operand of {}", what), describe(operand.value),
                       "a number or a register tile")
               .note("only `mma` and `copy` take memory operands; read it with `load(..)` first")
               .emit());
      return PoisonValue{};
    }
    const bool is_scalar =
        operand.value.is<IntValue>() || operand.value.is<FloatValue>() || operand.value.is<BoolValue>();
    if (!operand.value.is<TileValue>() && !is_scalar) {
      return poison_wrong_kind(operand.span, fmt::format("an operand of {}", what), operand.value,
                               "a number or a register tile");
    }
    if (i < first) {
      continue;
    }
    std::optional<ElementType> own;
    if (const auto* tile = operand.value.as<TileValue>()) {
      own = function_.value(tile->id).element;
    } else if (operand.value.is<BoolValue>()) {
      own = ElementType::Bool;
    } else if (operand.value.is<FloatValue>()) {
      has_real = true;
    } else if (!constant_of(operand.value)) {
      run_time_int = &operand;
    }
    if (own && type && *own != *type) {
      note(sink_.report(codes::ElementTypeMismatch{}, span, tw::name_of(*type), tw::name_of(*own), what)
               .label(typed->span, std::string(tw::name_of(*type)))
               .label(operand.span, std::string(tw::name_of(*own)))
               .note(fmt::format("convert one side with `.to({})`", tw::name_of(is_floating(*own) ? *own : *type)))
               .emit());
      return PoisonValue{};
    }
    if (own && !type) {
      type = own;
      typed = &operand;
    }
  }
  if (run_time_int != nullptr && !type) {
    type = ElementType::I32;
    typed = run_time_int;
  }
  if (!type) {
    type = has_real ? ElementType::F32 : ElementType::I32;
  }
  // A run-time integer is an i32; a literal takes the other operand's type when it can.
  const bool int_meets_other = run_time_int != nullptr && *type != ElementType::I32 && *type != ElementType::I64;
  const bool real_meets_int = has_real && !is_floating(*type);
  if (int_meets_other || real_meets_int) {
    const std::string_view other = int_meets_other ? "i32" : "real";
    diag::Builder builder = sink_.report(codes::ElementTypeMismatch{}, span, tw::name_of(*type), other, what);
    if (int_meets_other) {
      builder.label(run_time_int->span,
                    fmt::format("a run-time integer; convert it with `.to({})`", tw::name_of(*type)));
    } else if (typed != nullptr) {
      builder.label(typed->span, fmt::format("{}; convert it with `.to(f32)`", tw::name_of(*type)));
    }
    note(builder.emit());
    return PoisonValue{};
  }
  const bool takes_bool = is_logical(kind) || is_where || kind == ElementwiseKind::Eq || kind == ElementwiseKind::Ne;
  const bool is_wrong = (*type == ElementType::Bool && !takes_bool) ||
                        (is_logical(kind) && *type != ElementType::Bool) ||
                        (needs_floating(kind) && !is_floating(*type));
  if (is_wrong) {
    const Operand& shown = typed != nullptr ? *typed : operands[first];
    return poison_wrong_kind(shown.span, fmt::format("an operand of {}", what), shown.value,
                             is_logical(kind) ? "a tile of truth values" : "a tile of floating-point numbers");
  }
  if (is_where) {
    const auto* condition = operands[0].value.as<TileValue>();
    const bool is_truth = operands[0].value.is<BoolValue>() ||
                          (condition != nullptr && function_.value(condition->id).element == ElementType::Bool);
    if (!is_truth) {
      note(sink_
               .report(codes::TruthValue{}, operands[0].span, fmt::format("the condition of {}", what),
                       describe(operands[0].value))
               .emit());
      return PoisonValue{};
    }
  }
  std::optional<std::vector<int64_t>> shape = common_shape(operands, what, span);
  if (!shape) {
    return PoisonValue{};
  }
  ir::ElementwiseOp op;
  op.kind = kind;
  op.fast = fast;
  for (size_t i = 0; i < operands.size(); ++i) {
    op.operands.push_back(
        materialize(operands[i].value, i < first ? ElementType::Bool : *type, *shape, operands[i].span));
  }
  op.result = new_value(is_comparison(kind) ? ElementType::Bool : *type, *shape, span);
  ValueId result = op.result;
  emit(span, std::move(op));
  return TileValue{result};
}

std::optional<ValueId> Lowering::to_tile(const Operand& operand, std::string_view what) {
  if (const auto* tile = operand.value.as<TileValue>()) {
    return tile->id;
  }
  if (operand.value.is<IntValue>()) {
    return materialize(operand.value, ElementType::I32, {}, operand.span);
  }
  if (operand.value.is<FloatValue>()) {
    return materialize(operand.value, ElementType::F32, {}, operand.span);
  }
  if (operand.value.is<BoolValue>()) {
    return materialize(operand.value, ElementType::Bool, {}, operand.span);
  }
  if (operand.value.is<MemoryValue>()) {
    note(sink_.report(codes::WrongKind{}, operand.span, what, describe(operand.value), "a register tile")
             .note("read it with `load(..)` first")
             .emit());
    return std::nullopt;
  }
  poison_wrong_kind(operand.span, what, operand.value, "a register tile");
  return std::nullopt;
}

Value Lowering::call_math(ElementwiseKind kind, const Builtin& builtin, const Arguments& arguments, Span span) {
  const syntax::Expr& operand = arguments.get("x");
  const Value value = eval(operand);
  bool fast = false;
  if (const syntax::Expr* flag = arguments.find("fast")) {
    std::optional<bool> wanted = eval_const_bool(*flag, "`fast`");
    if (!wanted) {
      return PoisonValue{};
    }
    fast = *wanted;
  }
  if (const auto* number = value.as<FloatValue>()) {
    return FloatValue{fold(kind, number->value)};
  }
  if (std::optional<int64_t> constant = value.is<IntValue>() ? constant_of(value) : std::nullopt) {
    const double folded = fold(kind, static_cast<double>(*constant));
    return kind == ElementwiseKind::Abs ? Value(IntValue{exprs().constant(static_cast<int64_t>(folded))})
                                        : Value(FloatValue{folded});
  }
  return elementwise(kind, {{value, operand.span}}, span, fmt::format("`{}`", builtin.name), fast);
}

Value Lowering::call_extremum(bool is_max, const Arguments& arguments, Span span) {
  const syntax::Expr& a = arguments.get("a");
  const syntax::Expr& b = arguments.get("b");
  Operand left{eval(a), a.span};
  Operand right{eval(b), b.span};
  if (left.value.is_poison() || right.value.is_poison()) {
    return PoisonValue{};
  }
  const auto* left_int = left.value.as<IntValue>();
  const auto* right_int = right.value.as<IntValue>();
  if (left_int != nullptr && right_int != nullptr) {
    return IntValue{is_max ? exprs().max(left_int->expr, right_int->expr)
                           : exprs().min(left_int->expr, right_int->expr)};
  }
  const auto* left_number = left.value.as<FloatValue>();
  const auto* right_number = right.value.as<FloatValue>();
  if (left_number != nullptr && right_number != nullptr) {
    return FloatValue{is_max ? std::fmax(left_number->value, right_number->value)
                             : std::fmin(left_number->value, right_number->value)};
  }
  return elementwise(is_max ? ElementwiseKind::Maximum : ElementwiseKind::Minimum, {left, right}, span,
                     is_max ? "`maximum`" : "`minimum`");
}

Value Lowering::call_where(const Arguments& arguments, Span span) {
  const syntax::Expr& condition = arguments.get("condition");
  const syntax::Expr& a = arguments.get("a");
  const syntax::Expr& b = arguments.get("b");
  Operand chooser{eval(condition), condition.span};
  Operand left{eval(a), a.span};
  Operand right{eval(b), b.span};
  const auto* boolean = chooser.value.as<BoolValue>();
  if (boolean != nullptr && left.value.is<IntValue>() && right.value.is<IntValue>()) {
    return IntValue{exprs().select(boolean->expr, left.value.as<IntValue>()->expr, right.value.as<IntValue>()->expr)};
  }
  return elementwise(ElementwiseKind::Where, {chooser, left, right}, span, "`where`");
}

Value Lowering::call_to(const Value& value, const syntax::Call& node, Span span) {
  if (node.arguments.size() != 1 || node.arguments[0].is_keyword()) {
    note(sink_.report(codes::TooManyArguments{}, span, ".to", 1, node.arguments.size()).emit());
    return PoisonValue{};
  }
  std::optional<ElementType> type = eval_type(*node.arguments[0].value, "the argument of `.to`");
  if (!type || value.is_poison()) {
    return PoisonValue{};
  }
  const Span operand_span = node.callee->as<syntax::Attribute>()->base->span;
  if (const auto* tile = value.as<TileValue>()) {
    if (function_.value(tile->id).element == *type) {
      return value;
    }
    ValueId result = new_value(*type, function_.value(tile->id).shape, span);
    emit(span, ir::ElementwiseOp{ElementwiseKind::Cast, {tile->id}, result, false});
    return TileValue{result};
  }
  const bool is_index = *type == ElementType::I32 || *type == ElementType::I64;
  if (value.is<IntValue>() && is_index) {
    return value;
  }
  if (const auto* boolean = value.as<BoolValue>(); boolean != nullptr && is_index) {
    return IntValue{exprs().select(boolean->expr, exprs().constant(1), exprs().constant(0))};
  }
  if (value.is<FloatValue>() || (constant_of(value) && is_floating(*type))) {
    return TileValue{materialize(value, *type, {}, span)};
  }
  std::optional<ValueId> scalar = to_tile({value, operand_span}, "the value to convert");
  if (!scalar) {
    return PoisonValue{};
  }
  ValueId result = new_value(*type, {}, span);
  emit(span, ir::ElementwiseOp{ElementwiseKind::Cast, {*scalar}, result, false});
  return TileValue{result};
}

std::optional<ir::ReduceKind> Lowering::eval_reduce_kind(const syntax::Expr& expr) {
  const Value value = eval(expr);
  if (value.is_builtin(BuiltinId::k_add)) {
    return ir::ReduceKind::Add;
  }
  if (value.is_builtin(BuiltinId::k_max)) {
    return ir::ReduceKind::Max;
  }
  if (value.is_builtin(BuiltinId::k_min)) {
    return ir::ReduceKind::Min;
  }
  if (value.is_builtin(BuiltinId::k_any)) {
    return ir::ReduceKind::Or;
  }
  poison_wrong_kind(expr.span, "the operation", value, "`add`, `max`, `min` or `any`");
  return std::nullopt;
}

Value Lowering::call_reduce(const Arguments& arguments, Span span) {
  const syntax::Expr& operand = arguments.get("x");
  const Value value = eval(operand);
  std::optional<int64_t> axis = eval_const_int(arguments.get("axis"), "`axis`");
  std::optional<ir::ReduceKind> kind = eval_reduce_kind(arguments.get("op"));
  if (value.is_poison() || !axis || !kind) {
    return PoisonValue{};
  }
  const auto* tile = value.as<TileValue>();
  if (tile == nullptr) {
    to_tile({value, operand.span}, "the operand of `reduce`");
    if (!value.is<MemoryValue>()) {
      poison_wrong_kind(operand.span, "the operand of `reduce`", value, "a register tile");
    }
    return PoisonValue{};
  }
  const ir::Value& from = function_.value(tile->id);
  const auto rank = static_cast<int64_t>(from.shape.size());
  if (*axis < -rank || *axis >= rank) {
    note(sink_
             .report(codes::WrongKind{}, arguments.get("axis").span, "`axis`", *axis,
                     fmt::format("an axis of {}", describe_tile(tile->id)))
             .emit());
    return PoisonValue{};
  }
  const bool is_bool = from.element == ElementType::Bool;
  if (is_bool != (*kind == ir::ReduceKind::Or)) {
    return poison_wrong_kind(operand.span, "the operand of `reduce`", value,
                             is_bool ? "numbers, or the operation `any`" : "truth values for `any`");
  }
  const auto index = static_cast<int>(*axis < 0 ? *axis + rank : *axis);
  std::vector<int64_t> shape = from.shape;
  shape.erase(shape.begin() + index);
  ir::ReduceOp op;
  op.operand = tile->id;
  op.axis = index;
  op.kind = *kind;
  op.result = new_value(from.element, std::move(shape), span);
  ValueId result = op.result;
  emit(span, op);
  return TileValue{result};
}

Value Lowering::call_iota(const Arguments& arguments, Span span) {
  std::optional<std::vector<int64_t>> shape = eval_shape(arguments.get("shape"), "the shape of `iota`");
  const syntax::Expr* axis_expr = arguments.find("axis");
  std::optional<int64_t> axis = axis_expr != nullptr ? eval_const_int(*axis_expr, "`axis`") : std::optional<int64_t>(0);
  if (!shape || !axis) {
    return PoisonValue{};
  }
  if (*axis < 0 || *axis >= static_cast<int64_t>(shape->size())) {
    note(sink_
             .report(codes::WrongKind{}, axis_expr != nullptr ? axis_expr->span : span, "`axis`", *axis,
                     fmt::format("an axis of the shape {}", shape_text(*shape)))
             .emit());
    return PoisonValue{};
  }
  ValueId result = new_value(ElementType::I32, *shape, span);
  emit(span, ir::IotaOp{static_cast<int>(*axis), result});
  return TileValue{result};
}

Value Lowering::call_full(const Arguments& arguments, Span span) {
  std::optional<ElementType> type = eval_type(arguments.get("t"), "the element type of `full`");
  std::optional<std::vector<int64_t>> shape = eval_shape(arguments.get("shape"), "the shape of `full`");
  const syntax::Expr& filler = arguments.get("value");
  const Value value = eval(filler);
  if (!type || !shape || value.is_poison()) {
    return PoisonValue{};
  }
  if (value.is<FloatValue>() || constant_of(value)) {
    if (value.is<FloatValue>() && !is_floating(*type)) {
      note(sink_.report(codes::ElementTypeMismatch{}, filler.span, tw::name_of(*type), "real", "`full`").emit());
      return PoisonValue{};
    }
    return TileValue{materialize(value, *type, *shape, span)};
  }
  std::optional<ValueId> scalar = to_tile({value, filler.span}, "the value of `full`");
  if (!scalar) {
    return PoisonValue{};
  }
  if (!function_.value(*scalar).shape.empty()) {
    return poison_wrong_kind(filler.span, "the value of `full`", value, "a number or a run-time scalar");
  }
  if (function_.value(*scalar).element != *type) {
    note(sink_
             .report(codes::ElementTypeMismatch{}, span, tw::name_of(*type),
                     tw::name_of(function_.value(*scalar).element), "`full`")
             .emit());
    return PoisonValue{};
  }
  return TileValue{materialize(TileValue{*scalar}, *type, *shape, span)};
}

Value Lowering::call_zeros(const Arguments& arguments, Span span) {
  std::optional<ElementType> type = eval_type(arguments.get("t"), "the element type of `zeros`");
  std::optional<std::vector<int64_t>> shape = eval_shape(arguments.get("shape"), "the shape of `zeros`");
  return type && shape ? Value(TileValue{materialize(FloatValue{0.0}, *type, *shape, span)}) : Value(PoisonValue{});
}

Value Lowering::call_relayout(const Arguments& arguments, Span span) {
  const syntax::Expr& operand = arguments.get("x");
  const Value value = eval(operand);
  const syntax::Expr& via_expr = arguments.get("via");
  const Value via = eval(via_expr);
  const bool is_shuffle = via.is_builtin(BuiltinId::k_shuffle);
  if (!is_shuffle && !via.is_builtin(BuiltinId::k_shared)) {
    return poison_wrong_kind(via_expr.span, "`via`", via, "`shuffle` or `shared`");
  }
  const auto* tile = value.as<TileValue>();
  if (tile == nullptr) {
    return poison_wrong_kind(operand.span, "the operand of `relayout`", value, "a register tile");
  }
  ir::Value copy = function_.value(tile->id);
  ValueId result = new_value(copy.element, copy.shape, span);
  emit(span, ir::RelayoutOp{tile->id, result, !is_shuffle});
  return TileValue{result};
}

std::optional<std::pair<int, int>> Lowering::eval_warps(const syntax::Expr& expr) {
  std::optional<std::vector<int64_t>> shape = eval_shape(expr, "`warps`");
  if (!shape) {
    return std::nullopt;
  }
  if (shape->size() != 2 || (*shape)[0] > 1024 || (*shape)[1] > 1024) {
    note(sink_
             .report(codes::WrongKind{}, expr.span, "`warps`", shape_text(*shape),
                     "a pair (warps along m, warps along n)")
             .emit());
    return std::nullopt;
  }
  return std::pair(static_cast<int>((*shape)[0]), static_cast<int>((*shape)[1]));
}

Value Lowering::call_pin(const Arguments& arguments, Span span) {
  const syntax::Expr& operand = arguments.get("x");
  const Value value = eval(operand);
  const syntax::Expr& map_expr = arguments.get("map");
  const Value map = eval(map_expr);
  std::optional<std::pair<int, int>> warps = eval_warps(arguments.get("warps"));
  const auto* tile = value.as<TileValue>();
  const auto* fragment = map.as<FragmentValue>();
  if (tile == nullptr) {
    return poison_wrong_kind(operand.span, "the operand of `pin`", value, "a register tile");
  }
  if (fragment == nullptr) {
    return poison_wrong_kind(map_expr.span, "the map of `pin`", map, "an operand of an atom, e.g. `mma_m16n8k16.C`");
  }
  if (!warps) {
    return PoisonValue{};
  }
  ir::Value& pinned = function_.value(tile->id);
  const target::MmaAtom* atom = nullptr;
  for (const target::MmaAtom& entry : machine_->mma_atoms) {
    const ElementType type = fragment->part == 'A' ? entry.a : fragment->part == 'B' ? entry.b : entry.c;
    if (entry.name == fragment->atom && type == pinned.element) {
      atom = &entry;
      break;
    }
  }
  if (atom == nullptr || pinned.shape.size() != 2) {
    note(sink_
             .report(codes::AtomOperands{}, span, fmt::format("{}.{}", fragment->atom, fragment->part),
                     "is the map of a matrix of a type that the atom takes", describe(value))
             .emit());
    return PoisonValue{};
  }
  const int64_t rows = pinned.shape[0];
  const int64_t columns = pinned.shape[1];
  const int64_t m = fragment->part == 'B' ? int64_t{atom->m} * warps->first : rows;
  const int64_t n = fragment->part == 'A' ? int64_t{atom->n} * warps->second : fragment->part == 'B' ? rows : columns;
  const int64_t k = fragment->part == 'C' ? atom->k : columns;
  auto tiling = target::tile_mma(*atom, m, n, k, function_.threads, warps->first, warps->second);
  if (!tiling) {
    note(sink_
             .report(codes::AtomOperands{}, span, fmt::format("{}.{}", fragment->atom, fragment->part),
                     tiling.error().message, describe(value))
             .emit());
    return PoisonValue{};
  }
  pinned.is_pinned = true;
  pinned.layout = fragment->part == 'A' ? tiling->a : fragment->part == 'B' ? tiling->b : tiling->c;
  return value;
}

std::optional<ir::MmaOperand> Lowering::mma_operand(const Operand& operand, char name, ElementType& type,
                                                    std::vector<int64_t>& shape) {
  const std::string what = fmt::format("operand {} of `mma`", name);
  if (const auto* tile = operand.value.as<TileValue>()) {
    type = function_.value(tile->id).element;
    shape = function_.value(tile->id).shape;
    if (shape.size() != 2) {
      poison_wrong_kind(operand.span, what, operand.value, "a matrix");
      return std::nullopt;
    }
    return ir::MmaOperand(tile->id);
  }
  const auto* memory = operand.value.as<MemoryValue>();
  if (memory == nullptr) {
    poison_wrong_kind(operand.span, what, operand.value, "a shared tile or a register tile");
    return std::nullopt;
  }
  if (std::holds_alternative<ir::TensorId>(memory->object)) {
    note(
        sink_
            .report(codes::WrongKind{}, operand.span, what, describe(operand.value), "a shared tile or a register tile")
            .note("bring it to registers with `load(..)` or to a shared tile with `copy(..)` first")
            .emit());
    return std::nullopt;
  }
  std::optional<ir::Region> region = to_region(*memory, operand.span);
  if (!region) {
    return std::nullopt;
  }
  type = element_of(*region);
  shape = region->tile_shape();
  if (shape.size() != 2) {
    note(sink_
             .report(codes::ShapeMismatch{}, operand.span, shape_text(shape), "a matrix", "`mma`",
                     fmt::format("operand {} has {} axes", name, shape.size()))
             .emit());
    return std::nullopt;
  }
  return ir::MmaOperand(*std::move(region));
}

bool Lowering::check_mma_atom(const std::string& atom, ElementType a, ElementType b, ElementType c, Span span) {
  if (machine_->find_mma(atom, a, b, c) != nullptr) {
    return true;
  }
  std::string entries;
  std::vector<std::string> names;
  for (const target::MmaAtom& entry : machine_->mma_atoms) {
    if (entry.name == atom) {
      entries += fmt::format("{}{} x {} to {}", entries.empty() ? "" : ", ", tw::name_of(entry.a), tw::name_of(entry.b),
                             tw::name_of(entry.c));
    }
    if (std::ranges::find(names, entry.name) == names.end()) {
      names.emplace_back(entry.name);
    }
  }
  const std::string found = fmt::format("{} x {} to {}", tw::name_of(a), tw::name_of(b), tw::name_of(c));
  if (!entries.empty()) {
    note(sink_.report(codes::AtomOperands{}, span, atom, "multiplies " + entries, found).emit());
    return false;
  }
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "; it has " : ", ") + fmt::format("`{}`", name);
  }
  note(sink_.report(codes::AtomNotOnTarget{}, span, machine_->name, atom, list).emit());
  return false;
}

Value Lowering::call_mma(const Arguments& arguments, Span span) {
  const syntax::Expr& a_expr = arguments.get("a");
  const syntax::Expr& b_expr = arguments.get("b");
  const syntax::Expr* c_expr = arguments.find("c");
  const Operand a{eval(a_expr), a_expr.span};
  const Operand b{eval(b_expr), b_expr.span};
  const Value c = c_expr != nullptr ? eval(*c_expr) : Value(NoneValue{});
  ir::MmaOp op;
  if (const syntax::Expr* warps = arguments.find("warps")) {
    std::optional<std::pair<int, int>> grid = eval_warps(*warps);
    if (!grid) {
      return PoisonValue{};
    }
    op.warps_m = grid->first;
    op.warps_n = grid->second;
  }
  std::optional<std::string> atom;
  if (const syntax::Expr* via = arguments.find("via")) {
    const Value value = eval(*via);
    if (const auto* builtin = value.as<BuiltinValue>();
        builtin != nullptr && builtin->entry->kind == BuiltinKind::Word) {
      atom = std::string(builtin->entry->name);
    } else if (const auto* text = value.as<StringValue>()) {
      atom = text->text;
    } else {
      return poison_wrong_kind(via->span, "`via` of `mma`", value, "an atom such as `mma_m16n8k16` or `fma`");
    }
  }
  if (a.value.is_poison() || b.value.is_poison() || c.is_poison()) {
    return PoisonValue{};
  }
  ElementType a_type = ElementType::F32;
  ElementType b_type = ElementType::F32;
  std::vector<int64_t> a_shape;
  std::vector<int64_t> b_shape;
  std::optional<ir::MmaOperand> a_operand = mma_operand(a, 'a', a_type, a_shape);
  std::optional<ir::MmaOperand> b_operand = mma_operand(b, 'b', b_type, b_shape);
  if (!a_operand || !b_operand) {
    return PoisonValue{};
  }
  if (a_shape[1] != b_shape[1]) {
    diag::Builder builder = sink_.report(codes::ShapeMismatch{}, span, shape_text(a_shape), shape_text(b_shape),
                                         "`mma`", "the operands are (m, k) and (n, k)");
    builder.label(a.span, shape_text(a_shape)).label(b.span, shape_text(b_shape));
    if (a_shape[1] == b_shape[0]) {
      builder.note("b is (n, k); a tile that is stored as (k, n) is passed as `b.T`");
    }
    note(builder.emit());
    return PoisonValue{};
  }
  const std::vector<int64_t> shape{a_shape[0], b_shape[0]};
  ElementType c_type = ElementType::F32;
  if (c_expr != nullptr) {
    const auto* tile = c.as<TileValue>();
    if (tile == nullptr) {
      return poison_wrong_kind(c_expr->span, "the accumulator of `mma`", c, "a register tile");
    }
    const ir::Value& accumulator = function_.value(tile->id);
    if (accumulator.shape != shape) {
      note(sink_
               .report(codes::ShapeMismatch{}, span, shape_text(accumulator.shape), shape_text(shape), "`mma`",
                       "the accumulator is (m, n)")
               .label(c_expr->span, shape_text(accumulator.shape))
               .emit());
      return PoisonValue{};
    }
    c_type = accumulator.element;
    op.c = tile->id;
  }
  if (atom) {
    if (!check_mma_atom(*atom, a_type, b_type, c_type, span)) {
      return PoisonValue{};
    }
    op.atom = *atom;
  } else if (std::ranges::none_of(machine_->mma_atoms, [&](const target::MmaAtom& entry) {
               return entry.a == a_type && entry.b == b_type && entry.c == c_type;
             })) {
    note(sink_
             .report(codes::AtomOperands{}, span, "mma",
                     fmt::format("has no instruction on target {} for these element types", machine_->name),
                     fmt::format("{} x {} to {}", tw::name_of(a_type), tw::name_of(b_type), tw::name_of(c_type)))
             .emit());
    return PoisonValue{};
  }
  op.a = *std::move(a_operand);
  op.b = *std::move(b_operand);
  op.result = new_value(c_type, shape, span);
  ValueId result = op.result;
  emit(span, std::move(op));
  return TileValue{result};
}

}  // namespace tw::sema
