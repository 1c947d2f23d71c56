// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "base/strings.h"
#include "sema/lowering.h"
#include "syntax/printer.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;
using ir::ExprId;

namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    out += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string Lowering::describe_tile(ir::ValueId id) const {
  const ir::Value& value = function_.value(id);
  if (value.shape.empty()) {
    return fmt::format("a run-time {} scalar", tw::name_of(value.element));
  }
  return fmt::format("a register tile {} {}", tw::name_of(value.element), shape_text(value.shape));
}

std::string Lowering::describe(const Value& value) const {
  struct Describer {
    const Lowering& self;
    std::string operator()(const PoisonValue&) const { return "an expression with an error"; }
    std::string operator()(const UnavailableValue&) const { return "a name without a value"; }
    std::string operator()(const NoneValue&) const { return "`None`"; }
    std::string operator()(const IntValue& v) const {
      std::optional<int64_t> constant = self.exprs().constant_value(v.expr);
      return constant ? fmt::format("the integer {}", *constant)
                      : fmt::format("the run-time integer `{}`", self.text_of(v.expr));
    }
    std::string operator()(const BoolValue& v) const {
      std::optional<int64_t> constant = self.exprs().constant_value(v.expr);
      return constant ? (*constant != 0 ? "`True`" : "`False`") : "a run-time truth value";
    }
    std::string operator()(const FloatValue& v) const { return fmt::format("the number {}", v.value); }
    std::string operator()(const TileValue& v) const { return self.describe_tile(v.id); }
    std::string operator()(const StringValue& v) const { return fmt::format("the text \"{}\"", v.text); }
    std::string operator()(const TypeValue& v) const { return fmt::format("the type `{}`", tw::name_of(v.type)); }
    std::string operator()(const MemoryValue& v) const {
      const bool is_tensor = std::holds_alternative<ir::TensorId>(v.object);
      return fmt::format("{} `{}`", is_tensor ? "the tensor" : "the shared tile", self.name_of(v.object));
    }
    std::string operator()(const TupleValue& v) const { return fmt::format("a tuple of {}", v.elements.size()); }
    std::string operator()(const RecordValue&) const { return "a `dict`"; }
    std::string operator()(const BuiltinValue& v) const { return fmt::format("`{}`", v.entry->name); }
    std::string operator()(const FunctionValue& v) const {
      return fmt::format("the function `{}`", v.function->name.text);
    }
    std::string operator()(const LambdaValue&) const { return "a `lambda`"; }
    std::string operator()(const CopyAtomValue& v) const {
      return fmt::format("the copy atom `{}`", target::to_string(v.atom));
    }
    std::string operator()(const FragmentValue& v) const { return fmt::format("the map `{}.{}`", v.atom, v.part); }
    std::string operator()(const RasterValue&) const { return "an order of tiles"; }
    std::string operator()(const RangeValue&) const { return "a range"; }
    std::string operator()(const StaticValue&) const { return "`static(..)`"; }
    std::string operator()(const TilesValue&) const { return "`tiles(..)`"; }
    std::string operator()(const GroupValue&) const { return "`group()`"; }
    std::string operator()(const FiniteValue&) const { return "`finite(..)`"; }
  };
  return std::visit(Describer{*this}, value.node);
}

Value Lowering::poison_wrong_kind(Span span, std::string_view what, const Value& found, std::string_view expected) {
  if (!found.is_poison()) {
    note(sink_.report(codes::WrongKind{}, span, what, describe(found), expected).emit());
  }
  return PoisonValue{};
}

std::string Lowering::text_of(ExprId expr) const {
  std::string text = exprs().to_string(expr);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

bool Lowering::refuse_memory_scalar(const Value& value, Span span, std::string_view what) {
  const auto* memory = value.as<MemoryValue>();
  if (memory == nullptr || !memory->perm.empty()) {
    return false;
  }
  report_not_lowered(span, fmt::format("{} that is read from memory", what),
                     "sizes, indices and conditions are made of sizes, constants and loop variables; a scalar for "
                     "register tiles is read with `load(..)`");
  return true;
}

std::optional<int64_t> Lowering::constant_of(const Value& value) const {
  if (const auto* integer = value.as<IntValue>()) {
    return exprs().constant_value(integer->expr);
  }
  if (const auto* boolean = value.as<BoolValue>()) {
    return exprs().constant_value(boolean->expr);
  }
  return std::nullopt;
}

std::optional<ExprId> Lowering::eval_int(const syntax::Expr& expr, std::string_view what) {
  const Value value = eval(expr);
  if (const auto* integer = value.as<IntValue>()) {
    return integer->expr;
  }
  if (const auto* tile = value.as<TileValue>(); tile != nullptr && !is_floating(function_.value(tile->id).element)) {
    report_not_lowered(expr.span, fmt::format("{} that is read from memory or computed in registers", what),
                       "sizes, indices and trip counts are made of sizes, constants and loop variables");
    return std::nullopt;
  }
  if (!refuse_memory_scalar(value, expr.span, what)) {
    poison_wrong_kind(expr.span, what, value, "an integer");
  }
  return std::nullopt;
}

std::optional<int64_t> Lowering::eval_const_int(const syntax::Expr& expr, std::string_view what) {
  std::optional<ExprId> value = eval_int(expr, what);
  if (!value) {
    return std::nullopt;
  }
  std::optional<int64_t> constant = exprs().constant_value(*value);
  if (!constant) {
    note(sink_.report(codes::NotCompileTime{}, expr.span, what, text_of(*value))
             .note("compile-time values are literals, `const` parameters and what is computed from them")
             .emit());
  }
  return constant;
}

std::optional<ExprId> Lowering::to_bool(const Value& value, Span span, std::string_view what) {
  if (const auto* boolean = value.as<BoolValue>()) {
    return boolean->expr;
  }
  if (value.is_poison()) {
    return std::nullopt;
  }
  if (const auto* tile = value.as<TileValue>(); tile != nullptr && function_.value(tile->id).shape.empty() &&
                                                function_.value(tile->id).element == ElementType::Bool) {
    report_not_lowered(
        span, fmt::format("{} that depends on data", what),
        "conditions are made of sizes, constants and loop variables; `where(..)` chooses between values");
    return std::nullopt;
  }
  diag::Builder builder = sink_.report(codes::TruthValue{}, span, what, describe(value));
  if (value.is<IntValue>()) {
    builder.note("compare it: `x != 0`");
  } else if (value.is<TileValue>()) {
    builder.note("an `if` is decided once for the block; `where(condition, a, b)` chooses element by element");
  }
  note(builder.emit());
  return std::nullopt;
}

std::optional<ExprId> Lowering::eval_bool(const syntax::Expr& expr, std::string_view what) {
  return to_bool(eval(expr), expr.span, what);
}

std::optional<bool> Lowering::eval_const_bool(const syntax::Expr& expr, std::string_view what) {
  std::optional<ExprId> value = eval_bool(expr, what);
  if (!value) {
    return std::nullopt;
  }
  std::optional<int64_t> constant = exprs().constant_value(*value);
  if (!constant) {
    note(sink_.report(codes::NotCompileTime{}, expr.span, what, text_of(*value)).emit());
    return std::nullopt;
  }
  return *constant != 0;
}

std::optional<std::string> Lowering::eval_string(const syntax::Expr& expr, std::string_view what) {
  const Value value = eval(expr);
  if (const auto* text = value.as<StringValue>()) {
    return text->text;
  }
  poison_wrong_kind(expr.span, what, value, "a text");
  return std::nullopt;
}

std::optional<ElementType> Lowering::eval_type(const syntax::Expr& expr, std::string_view what) {
  const Value value = eval(expr);
  if (const auto* type = value.as<TypeValue>()) {
    return type->type;
  }
  poison_wrong_kind(expr.span, what, value, "an element type such as `bf16` or `f32`");
  return std::nullopt;
}

std::optional<double> Lowering::eval_const_float(const syntax::Expr& expr, std::string_view what) {
  const Value value = eval(expr);
  if (const auto* number = value.as<FloatValue>()) {
    return number->value;
  }
  if (std::optional<int64_t> constant = constant_of(value)) {
    return static_cast<double>(*constant);
  }
  poison_wrong_kind(expr.span, what, value, "a number known at compile time");
  return std::nullopt;
}

int64_t Lowering::eval_bounded(const syntax::Expr& expr, std::string_view what, int64_t lowest, int64_t highest,
                               std::string_view expected) {
  std::optional<int64_t> value = eval_const_int(expr, what);
  if (!value) {
    return -1;
  }
  if (*value < lowest || *value > highest) {
    note(sink_.report(codes::WrongKind{}, expr.span, what, *value, expected).emit());
    return -1;
  }
  return *value;
}

std::optional<std::vector<int64_t>> Lowering::eval_shape(const syntax::Expr& expr, std::string_view what) {
  const Value value = eval(expr);
  std::vector<Value> elements;
  if (const auto* tuple = value.as<TupleValue>()) {
    elements = tuple->elements;
  } else if (value.is<IntValue>()) {
    elements.push_back(value);
  } else {
    poison_wrong_kind(expr.span, what, value, "a tuple of integers");
    return std::nullopt;
  }
  if (elements.size() > static_cast<size_t>(target::kMaxTileRank)) {
    note(sink_
             .report(codes::ShapeMismatch{}, expr.span, fmt::format("of rank {}", elements.size()), "of tiles", what,
                     fmt::format("a tile has at most {} axes", target::kMaxTileRank))
             .emit());
    return std::nullopt;
  }
  std::vector<int64_t> out;
  int64_t product = 1;
  for (const Value& element : elements) {
    const auto* integer = element.as<IntValue>();
    if (integer == nullptr) {
      poison_wrong_kind(expr.span, fmt::format("an extent of {}", what), element, "an integer");
      return std::nullopt;
    }
    std::optional<int64_t> constant = exprs().constant_value(integer->expr);
    if (!constant) {
      note(sink_.report(codes::NotCompileTime{}, expr.span, what, text_of(integer->expr)).emit());
      return std::nullopt;
    }
    if (*constant < 1 || *constant > kMaxTileElements || product > kMaxTileElements / *constant) {
      note(sink_
               .report(codes::WrongKind{}, expr.span, fmt::format("an extent of {}", what), *constant,
                       fmt::format("at least 1, and at most {} elements in all", kMaxTileElements))
               .emit());
      return std::nullopt;
    }
    product *= *constant;
    out.push_back(*constant);
  }
  return out;
}

Value Lowering::eval(const syntax::Expr& expr) {
  if (!enter(expr.span)) {
    return PoisonValue{};
  }
  Value value = eval_unbounded(expr);
  --depth_;
  if (is_small(value)) {
    return value;
  }
  note(sink_.report(codes::ExpansionTooLarge{}, expr.span, "this value", "more", kMaxValueSize).emit());
  return PoisonValue{};
}

// Bodies within bodies, calls within calls: recursion here is bounded as a whole.
bool Lowering::enter(Span span) {
  if (depth_ < kMaxDepth) {
    ++depth_;
    return true;
  }
  if (!has_stopped_) {
    note(sink_.report(codes::ExpansionTooLarge{}, span, "the nesting of calls and expressions", "more", kMaxDepth)
             .emit());
    has_stopped_ = true;
  }
  return false;
}

// Scalar expressions and tuples can double with each statement; everything that reads them is linear in their size.
bool Lowering::is_small(const Value& value) {
  if (const auto* tuple = value.as<TupleValue>()) {
    size_t leaves = 0;
    std::vector<const TupleValue*> stack{tuple};
    while (!stack.empty()) {
      const TupleValue* top = stack.back();
      stack.pop_back();
      leaves += top->elements.size();
      if (leaves > static_cast<size_t>(kMaxValueSize)) {
        return false;
      }
      for (const Value& element : top->elements) {
        if (const auto* inner = element.as<TupleValue>()) {
          stack.push_back(inner);
        }
      }
    }
    return true;
  }
  ir::ExprId expr;
  if (const auto* integer = value.as<IntValue>()) {
    expr = integer->expr;
  } else if (const auto* boolean = value.as<BoolValue>()) {
    expr = boolean->expr;
  } else {
    return true;
  }
  // Operands are made before what uses them, so one pass over the new nodes suffices.
  for (size_t i = expr_sizes_.size(); i < exprs().size(); ++i) {
    const ir::ExprNode& node = exprs().node(ir::ExprId(static_cast<uint32_t>(i)));
    int64_t size = 1;
    for (ir::ExprId operand : node.operands) {
      size += operand.is_valid() ? expr_sizes_[operand.index] : 0;
    }
    expr_sizes_.push_back(std::min<int64_t>(size, kMaxValueSize + 1));
  }
  return expr_sizes_[expr.index] <= kMaxValueSize;
}

Value Lowering::eval_unbounded(const syntax::Expr& expr) {
  if (const auto* node = expr.as<syntax::Name>()) {
    return eval_name(expr, *node);
  }
  if (const auto* node = expr.as<syntax::IntLiteral>()) {
    return IntValue{exprs().constant(node->value)};
  }
  if (const auto* node = expr.as<syntax::FloatLiteral>()) {
    return FloatValue{node->value};
  }
  if (const auto* node = expr.as<syntax::StringLiteral>()) {
    return StringValue{node->value};
  }
  if (const auto* node = expr.as<syntax::BoolLiteral>()) {
    return BoolValue{exprs().constant(node->value ? 1 : 0)};
  }
  if (expr.is<syntax::NoneLiteral>()) {
    return NoneValue{};
  }
  if (const auto* node = expr.as<syntax::Unary>()) {
    return eval_unary(expr, *node);
  }
  if (const auto* node = expr.as<syntax::Binary>()) {
    return eval_binary(expr, *node);
  }
  if (const auto* node = expr.as<syntax::Compare>()) {
    return eval_compare(expr, *node);
  }
  if (const auto* node = expr.as<syntax::BoolExpr>()) {
    return eval_bool_expr(expr, *node);
  }
  if (const auto* node = expr.as<syntax::Conditional>()) {
    return eval_conditional(expr, *node);
  }
  if (const auto* node = expr.as<syntax::Lambda>()) {
    return LambdaValue{node, frame_};
  }
  if (const auto* node = expr.as<syntax::Call>()) {
    return eval_call(expr, *node);
  }
  if (const auto* node = expr.as<syntax::Subscript>()) {
    return eval_subscript(expr, *node);
  }
  if (const auto* node = expr.as<syntax::Attribute>()) {
    return eval_attribute(expr, *node);
  }
  if (const auto* node = expr.as<syntax::DictExpr>()) {
    RecordValue record;
    for (const auto& [key, value] : node->entries) {
      std::optional<std::string> name = eval_string(*key, "a key");
      Value field = eval(*value);
      if (name) {
        record.fields.emplace_back(*name, std::move(field));
      }
    }
    return record;
  }
  if (expr.is<syntax::Slice>()) {
    note(
        sink_.report(codes::WrongKind{}, expr.span, "this", "a slice", "a value; slices are indices of memory").emit());
    return PoisonValue{};
  }
  TupleValue tuple;
  const auto* list = expr.as<syntax::ListExpr>();
  const auto* elements = list != nullptr ? &list->elements : &expr.as<syntax::TupleExpr>()->elements;
  for (const syntax::ExprPtr& element : *elements) {
    tuple.elements.push_back(eval(*element));
  }
  return tuple;
}

Value Lowering::eval_name(const syntax::Expr& expr, const syntax::Name& name) {
  if (auto found = frame_->names.find(name.id); found != frame_->names.end()) {
    if (const auto* unavailable = found->second.as<UnavailableValue>()) {
      diag::Builder builder = sink_.report(codes::UnavailableName{}, expr.span, name.id, unavailable->why);
      if (unavailable->where.is_valid()) {
        builder.label(unavailable->where, "here");
      }
      note(builder.emit());
      return PoisonValue{};
    }
    return found->second;
  }
  if (const syntax::FunctionDef* function = find_function(name.id)) {
    return FunctionValue{function};
  }
  const Builtin* builtin = find_builtin(name.id);
  if (binds_sizes_ && (builtin == nullptr || builtin->kind == BuiltinKind::Word)) {
    ir::SymbolId symbol = exprs().add_symbol(name.id, ir::SymbolKind::Size, expr.span);
    function_.sizes.push_back(symbol);
    Value value = IntValue{exprs().symbol_ref(symbol)};
    frame_->names[name.id] = value;
    return value;
  }
  if (builtin != nullptr) {
    if (!builtin->is_lowered) {
      report_not_lowered(expr.span, fmt::format("`{}`", name.id));
      return PoisonValue{};
    }
    if (builtin->id == BuiltinId::k_inf) {
      return FloatValue{std::numeric_limits<double>::infinity()};
    }
    if (builtin->id == BuiltinId::k_nan) {
      return FloatValue{std::numeric_limits<double>::quiet_NaN()};
    }
    if (builtin->kind == BuiltinKind::Type) {
      return TypeValue{*element_type_of(builtin->name)};
    }
    return BuiltinValue{builtin};
  }
  // An atom of the target that has no entry among the language's words.
  if (machine_ != nullptr &&
      std::ranges::any_of(machine_->mma_atoms, [&](const target::MmaAtom& atom) { return atom.name == name.id; })) {
    return StringValue{name.id};
  }
  diag::Builder builder = sink_.report(codes::UnknownName{}, expr.span, name.id);
  if (std::optional<std::string> near = nearest(name.id, visible_names())) {
    builder.fixit({fmt::format("did you mean `{}`?", *near), {{expr.span, *near}}, diag::Applicability::MaybeWrong});
  }
  note(builder.emit());
  return PoisonValue{};
}

const syntax::FunctionDef* Lowering::find_function(std::string_view name) {
  if (!has_functions_) {
    has_functions_ = true;
    for (const syntax::FunctionDef* function : module_.functions()) {
      functions_.try_emplace(function->name.text, function);
    }
  }
  auto found = functions_.find(name);
  return found != functions_.end() ? found->second : nullptr;
}

std::vector<std::string> Lowering::visible_names() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : frame_->names) {
    out.push_back(name);
  }
  for (const syntax::FunctionDef* function : module_.functions()) {
    out.push_back(function->name.text);
  }
  for (const Builtin& builtin : builtins()) {
    out.emplace_back(builtin.name);
  }
  return out;
}

Value Lowering::eval_attribute(const syntax::Expr& expr, const syntax::Attribute& node) {
  const Value base = eval(*node.base);
  if (base.is_poison()) {
    return PoisonValue{};
  }
  const std::string& name = node.name.text;
  if (name == "T" && (base.is<MemoryValue>() || base.is<TileValue>())) {
    return transpose(base, expr.span);
  }
  const auto* builtin = base.as<BuiltinValue>();
  if (builtin != nullptr && (name == "A" || name == "B" || name == "C") && builtin->entry->name.starts_with("mma_")) {
    return FragmentValue{std::string(builtin->entry->name), name[0]};
  }
  diag::Builder builder = sink_.report(codes::NoAttribute{}, node.name.span, describe(base), name);
  if (base.is<MemoryValue>()) {
    builder.note("tensors and shared tiles have `.T`");
  } else if (base.is<TileValue>()) {
    builder.note("register tiles have `.to(type)`");
  }
  note(builder.emit());
  return PoisonValue{};
}

Value Lowering::eval_subscript(const syntax::Expr& expr, const syntax::Subscript& node) {
  const Value base = eval(*node.base);
  if (base.is_poison()) {
    // The indices may hold errors of their own.
    for (const syntax::ExprPtr& index : node.indices) {
      if (!index->is<syntax::Slice>()) {
        eval(*index);
      }
    }
    return PoisonValue{};
  }
  if (const auto* memory = base.as<MemoryValue>()) {
    return index_memory(expr, node, *memory);
  }
  if (const auto* tile = base.as<TileValue>()) {
    return index_tile(expr, node, *tile);
  }
  if (const auto* tuple = base.as<TupleValue>()) {
    if (node.indices.size() == 1 && !node.indices[0]->is<syntax::Slice>()) {
      std::optional<int64_t> index = eval_const_int(*node.indices[0], "the index of a tuple");
      if (!index) {
        return PoisonValue{};
      }
      const auto size = static_cast<int64_t>(tuple->elements.size());
      if (*index < -size || *index >= size) {
        note(sink_.report(codes::IndexCount{}, node.indices[0]->span, syntax::print(*node.base), size, *index).emit());
        return PoisonValue{};
      }
      return tuple->elements[static_cast<size_t>(*index < 0 ? *index + size : *index)];
    }
  }
  const bool is_declaration =
      base.is<BuiltinValue>() && base.as<BuiltinValue>()->entry->kind == BuiltinKind::Declaration;
  note(sink_
           .report(codes::NotIndexable{}, expr.span, describe(base),
                   is_declaration ? "; it stands in the type of a parameter" : "")
           .emit());
  return PoisonValue{};
}

// `x[:, None]`: new axes of extent 1.
Value Lowering::index_tile(const syntax::Expr& expr, const syntax::Subscript& node, TileValue tile) {
  const ir::Value& from = function_.value(tile.id);
  std::vector<int64_t> shape;
  std::vector<int> axis_map;
  size_t axis = 0;
  for (const syntax::ExprPtr& index : node.indices) {
    if (index->is<syntax::NoneLiteral>()) {
      shape.push_back(1);
      continue;
    }
    const auto* slice = index->as<syntax::Slice>();
    if (slice == nullptr || slice->lo != nullptr) {
      report_not_lowered(index->span, "a part of a register tile",
                         "store it to a shared tile and load the part, or index before loading");
      return PoisonValue{};
    }
    if (axis == from.shape.size()) {
      note(sink_.report(codes::IndexCount{}, expr.span, describe_tile(tile.id), from.shape.size(), axis + 1).emit());
      return PoisonValue{};
    }
    axis_map.push_back(static_cast<int>(shape.size()));
    shape.push_back(from.shape[axis++]);
  }
  for (; axis < from.shape.size(); ++axis) {
    axis_map.push_back(static_cast<int>(shape.size()));
    shape.push_back(from.shape[axis]);
  }
  if (shape.size() > static_cast<size_t>(target::kMaxTileRank)) {
    note(sink_.report(codes::IndexCount{}, expr.span, describe_tile(tile.id), target::kMaxTileRank, shape.size())
             .emit());
    return PoisonValue{};
  }
  return TileValue{broadcast(tile.id, shape, std::move(axis_map), expr.span)};
}

}  // namespace tw::sema
