// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "base/strings.h"
#include "sema/lowering.h"
#include "syntax/printer.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;
using ir::ElementwiseKind;
using ir::ExprId;

std::optional<Arguments> Lowering::bind(const Builtin& builtin, const syntax::Call& call, Span span) {
  Arguments out;
  bool is_good = true;
  size_t next = 0;
  size_t positional = 0;
  const std::vector<BuiltinParameter>& parameters = builtin.parameters;
  const auto limit = std::ranges::count_if(parameters, [](const BuiltinParameter& p) { return !p.is_keyword_only; });
  for (const syntax::Argument& argument : call.arguments) {
    if (argument.is_keyword()) {
      auto found = std::ranges::find_if(
          parameters, [&](const BuiltinParameter& p) { return !p.is_variadic && p.name == argument.name.text; });
      if (found == parameters.end()) {
        std::vector<std::string> known;
        for (const BuiltinParameter& parameter : parameters) {
          known.push_back(parameter.name);
        }
        diag::Builder builder =
            sink_.report(codes::UnknownArgument{}, argument.name.span, builtin.name, argument.name.text);
        if (std::optional<std::string> near = nearest(argument.name.text, known)) {
          builder.fixit({fmt::format("did you mean `{}`?", *near),
                         {{argument.name.span, *near}},
                         diag::Applicability::MaybeWrong});
        } else if (!known.empty()) {
          builder.note(fmt::format("its arguments are {}", join(known, ", ")));
        }
        note(builder.emit());
        is_good = false;
        continue;
      }
      if (found->is_later) {
        report_not_lowered(argument.name.span, fmt::format("`{}=` of `{}`", found->name, builtin.name));
        is_good = false;
        continue;
      }
      if (out.named_.contains(found->name)) {
        note(sink_.report(codes::TooManyArguments{}, argument.name.span, builtin.name, limit, positional).emit());
        is_good = false;
        continue;
      }
      out.named_[found->name] = argument.value.get();
      continue;
    }
    ++positional;
    while (next < parameters.size() && parameters[next].is_keyword_only) {
      ++next;
    }
    if (next == parameters.size()) {
      note(sink_
               .report(codes::TooManyArguments{}, argument.value->span, builtin.name, limit,
                       std::ranges::count_if(call.arguments, [](const syntax::Argument& a) { return !a.is_keyword(); }))
               .emit());
      return std::nullopt;
    }
    if (parameters[next].is_variadic) {
      out.rest_.push_back(argument.value.get());
      continue;
    }
    if (parameters[next].is_later) {
      report_not_lowered(argument.value->span, fmt::format("`{}` of `{}`", parameters[next].name, builtin.name));
      is_good = false;
      ++next;
      continue;
    }
    out.named_[parameters[next++].name] = argument.value.get();
  }
  for (const BuiltinParameter& parameter : parameters) {
    if (parameter.is_required && !out.named_.contains(parameter.name) && is_good) {
      note(sink_.report(codes::MissingArgument{}, span, builtin.name, parameter.name).emit());
      return std::nullopt;
    }
  }
  return is_good ? std::optional<Arguments>(std::move(out)) : std::nullopt;
}

Value Lowering::eval_call(const syntax::Expr& expr, const syntax::Call& node) {
  // `x.to(t)` is the one method.
  if (const auto* attribute = node.callee->as<syntax::Attribute>();
      attribute != nullptr && attribute->name.text == "to") {
    const Value base = eval(*attribute->base);
    if (base.is<MemoryValue>()) {
      note(sink_.report(codes::NoAttribute{}, attribute->name.span, describe(base), "to")
               .note("read it with `load(..)` first: `load(T[..]).to(f32)`")
               .emit());
      return PoisonValue{};
    }
    return call_to(base, node, expr.span);
  }
  const Value callee = eval(*node.callee);
  if (const auto* builtin = callee.as<BuiltinValue>()) {
    return call_builtin(expr, node, *builtin->entry);
  }
  if (const auto* function = callee.as<FunctionValue>()) {
    return call_function(expr, node, *function->function);
  }
  if (const auto* lambda = callee.as<LambdaValue>()) {
    std::vector<Value> arguments;
    for (const syntax::Argument& argument : node.arguments) {
      arguments.push_back(eval(*argument.value));
    }
    return call_lambda(*lambda, std::move(arguments), expr.span);
  }
  if (!callee.is_poison()) {
    diag::Builder builder = sink_.report(codes::NotCallable{}, node.callee->span, describe(callee));
    if (const auto* name = node.callee->as<syntax::Name>(); name != nullptr && find_builtin(name->id) != nullptr) {
      builder.note(fmt::format("the name `{}` of the language is hidden by an assignment", name->id));
    }
    note(builder.emit());
    return PoisonValue{};
  }
  return PoisonValue{};
}

Value Lowering::call_builtin(const syntax::Expr& expr, const syntax::Call& node, const Builtin& builtin) {
  const Span span = expr.span;
  if (builtin.id == BuiltinId::k_dict) {
    return call_dict(node);
  }
  if (builtin.id == BuiltinId::k_cp_async) {
    return call_cp_async(node, span);
  }
  if (builtin.kind == BuiltinKind::Word || builtin.kind == BuiltinKind::Type ||
      builtin.kind == BuiltinKind::Declaration || builtin.kind == BuiltinKind::Decorator) {
    diag::Builder builder = sink_.report(codes::NotCallable{}, node.callee->span, fmt::format("`{}`", builtin.name));
    if (builtin.kind == BuiltinKind::Type) {
      builder.note(fmt::format("conversion is written `x.to({})`", builtin.name));
    } else if (builtin.id == BuiltinId::k_max || builtin.id == BuiltinId::k_min) {
      builder.note(fmt::format("element by element, and of scalars, it is `{}imum(a, b)`", builtin.name));
    }
    note(builder.emit());
    return PoisonValue{};
  }
  std::optional<Arguments> bound = bind(builtin, node, span);
  if (!bound) {
    return PoisonValue{};
  }
  const Arguments& arguments = *bound;
  // Names inside arguments are not the assigned one.
  const std::string hint = std::exchange(name_hint_, "");
  switch (builtin.id) {
    case BuiltinId::k_range:
      return call_range(arguments, span);
    case BuiltinId::k_unroll: {
      Value value = eval(arguments.get("range"));
      auto* range = value.as<RangeValue>();
      if (range == nullptr) {
        return poison_wrong_kind(arguments.get("range").span, "the argument of `unroll`", value, "a `range(..)`");
      }
      range->use = RangeUse::Unroll;
      if (const syntax::Expr* factor = arguments.find("factor")) {
        range->factor = static_cast<int>(eval_bounded(*factor, "the factor of `unroll`", 1, 64, "1 to 64"));
        if (range->factor < 0) {
          return PoisonValue{};
        }
      }
      return value;
    }
    case BuiltinId::k_pipeline: {
      Value value = eval(arguments.get("range"));
      auto* range = value.as<RangeValue>();
      const int64_t stages = eval_bounded(arguments.get("stages"), "`stages`", 1, 64, "1 to 64");
      if (range == nullptr) {
        return poison_wrong_kind(arguments.get("range").span, "the first argument of `pipeline`", value,
                                 "a `range(..)`");
      }
      if (stages < 0) {
        return PoisonValue{};
      }
      range->use = RangeUse::Pipeline;
      range->stages = static_cast<int>(stages);
      return value;
    }
    case BuiltinId::k_static: {
      StaticValue out;
      for (const syntax::Expr* item : arguments.rest()) {
        Value value = eval(*item);
        if (const auto* range = value.as<RangeValue>(); range != nullptr && arguments.rest().size() == 1) {
          std::optional<int64_t> begin = exprs().constant_value(range->begin);
          std::optional<int64_t> end = exprs().constant_value(range->end);
          if (!begin || !end) {
            note(sink_
                     .report(codes::NotCompileTime{}, item->span, "the range of `static`",
                             text_of(begin ? range->end : range->begin))
                     .emit());
            return PoisonValue{};
          }
          if (*end > *begin && (*end - *begin) / range->step > kMaxExpandedIterations) {
            note(sink_
                     .report(codes::ExpansionTooLarge{}, item->span, "the loop", (*end - *begin) / range->step,
                             kMaxExpandedIterations)
                     .emit());
            return PoisonValue{};
          }
          for (int64_t i = *begin; i < *end; i += range->step) {
            out.items.emplace_back(IntValue{exprs().constant(i)});
          }
        } else {
          out.items.push_back(std::move(value));
        }
      }
      return out;
    }
    case BuiltinId::k_tiles:
      return call_tiles(arguments, span);
    case BuiltinId::k_enumerate: {
      Value value = eval(arguments.get("tiles"));
      auto* tiles = value.as<TilesValue>();
      if (tiles == nullptr) {
        return poison_wrong_kind(arguments.get("tiles").span, "the argument of `enumerate`", value, "`tiles(..)`");
      }
      tiles->is_enumerated = true;
      return value;
    }
    case BuiltinId::k_group:
      return GroupValue{};
    case BuiltinId::k_shared:
      name_hint_ = hint;
      return call_shared(arguments, span);
    case BuiltinId::k_copy:
      return call_copy(arguments, span);
    case BuiltinId::k_load:
      return call_load(arguments, span);
    case BuiltinId::k_store:
      return call_store(arguments, span);
    case BuiltinId::k_red:
      return call_red(arguments, span);
    case BuiltinId::k_mma:
      return call_mma(arguments, span);
    case BuiltinId::k_reduce:
      return call_reduce(arguments, span);
    case BuiltinId::k_where:
      return call_where(arguments, span);
    case BuiltinId::k_maximum:
      return call_extremum(true, arguments, span);
    case BuiltinId::k_minimum:
      return call_extremum(false, arguments, span);
    case BuiltinId::k_exp:
      return call_math(ElementwiseKind::Exp, builtin, arguments, span);
    case BuiltinId::k_exp2:
      return call_math(ElementwiseKind::Exp2, builtin, arguments, span);
    case BuiltinId::k_log:
      return call_math(ElementwiseKind::Log, builtin, arguments, span);
    case BuiltinId::k_sqrt:
      return call_math(ElementwiseKind::Sqrt, builtin, arguments, span);
    case BuiltinId::k_rsqrt:
      return call_math(ElementwiseKind::Rsqrt, builtin, arguments, span);
    case BuiltinId::k_tanh:
      return call_math(ElementwiseKind::Tanh, builtin, arguments, span);
    case BuiltinId::k_erf:
      return call_math(ElementwiseKind::Erf, builtin, arguments, span);
    case BuiltinId::k_sigmoid:
      return call_math(ElementwiseKind::Sigmoid, builtin, arguments, span);
    case BuiltinId::k_abs:
      return call_math(ElementwiseKind::Abs, builtin, arguments, span);
    case BuiltinId::k_iota:
      return call_iota(arguments, span);
    case BuiltinId::k_full:
      return call_full(arguments, span);
    case BuiltinId::k_zeros:
      return call_zeros(arguments, span);
    case BuiltinId::k_relayout:
      return call_relayout(arguments, span);
    case BuiltinId::k_pin:
      return call_pin(arguments, span);
    case BuiltinId::k_drain:
      return call_drain(arguments, span);
    case BuiltinId::k_sync:
      emit(span, ir::SyncOp{});
      return NoneValue{};
    case BuiltinId::k_tag:
      return call_tag(arguments, span);
    case BuiltinId::k_check:
      return call_check(arguments, span);
    case BuiltinId::k_assume:
      return call_assume(arguments);
    case BuiltinId::k_finite: {
      const syntax::Expr& tensor = arguments.get("T");
      const Value value = eval(tensor);
      const auto* memory = value.as<MemoryValue>();
      const auto* id = memory != nullptr ? std::get_if<ir::TensorId>(&memory->object) : nullptr;
      if (id == nullptr) {
        return poison_wrong_kind(tensor.span, "the argument of `finite`", value, "a tensor parameter");
      }
      return FiniteValue{*id};
    }
    case BuiltinId::k_cdiv: {
      std::optional<ExprId> a = eval_int(arguments.get("a"), "the dividend of `cdiv`");
      std::optional<ExprId> b = eval_int(arguments.get("b"), "the divisor of `cdiv`");
      if (!a || !b) {
        return PoisonValue{};
      }
      if (std::optional<int64_t> divisor = exprs().constant_value(*b); divisor && *divisor <= 0) {
        note(sink_
                 .report(codes::CompileTimeArithmetic{}, span, "cdiv", text_of(*a), *divisor == 0 ? "0" : text_of(*b),
                         "a divisor is positive")
                 .emit());
        return PoisonValue{};
      }
      return IntValue{exprs().ceil_div(*a, *b)};
    }
    case BuiltinId::k_grouped: {
      const int64_t n = eval_bounded(arguments.get("n"), "the group of `grouped`", 1, 65536, "1 to 65536");
      return n > 0 ? Value(RasterValue{ir::RasterKind::Grouped, n}) : Value(PoisonValue{});
    }
    case BuiltinId::k_vector:
      return call_vector(arguments);
    default:
      report_not_lowered(span, fmt::format("`{}`", builtin.name));
      return PoisonValue{};
  }
}

// `cp_async(16)`: the atom with its width in bytes.
Value Lowering::call_cp_async(const syntax::Call& node, Span span) {
  if (node.arguments.size() != 1 || node.arguments[0].is_keyword()) {
    note(sink_.report(codes::TooManyArguments{}, span, "cp_async", 1, node.arguments.size()).emit());
    return PoisonValue{};
  }
  const syntax::Expr& width = *node.arguments[0].value;
  std::optional<int64_t> bytes = eval_const_int(width, "the width of `cp_async`");
  if (!bytes) {
    return PoisonValue{};
  }
  if (*bytes != 4 && *bytes != 8 && *bytes != 16) {
    note(sink_.report(codes::WrongKind{}, width.span, "the width of `cp_async`", *bytes, "4, 8 or 16 bytes").emit());
    return PoisonValue{};
  }
  return CopyAtomValue{{target::CopyKind::CpAsync, static_cast<int>(*bytes)}};
}

Value Lowering::call_dict(const syntax::Call& node) {
  RecordValue record;
  for (const syntax::Argument& argument : node.arguments) {
    if (!argument.is_keyword()) {
      note(sink_.report(codes::TooManyArguments{}, argument.value->span, "dict", 0, 1)
               .note("its fields are named: `dict(M=i, N=j)`")
               .emit());
      return PoisonValue{};
    }
    record.fields.emplace_back(argument.name.text, eval(*argument.value));
  }
  return record;
}

Value Lowering::call_function(const syntax::Expr& expr, const syntax::Call& node, const syntax::FunctionDef& function) {
  const std::string& name = function.name.text;
  if (function.find_decorator("fn") == nullptr) {
    note(sink_.report(codes::NotCallable{}, node.callee->span, fmt::format("`{}`", name))
             .label(function.name.span, "declared here")
             .note("kernels call functions that are decorated with `@fn`; a `@program` calls kernels")
             .emit());
    return PoisonValue{};
  }
  if (std::ranges::find(inline_stack_, &function) != inline_stack_.end() || inline_stack_.size() >= kMaxInlineDepth) {
    note(sink_.report(codes::RecursiveFunction{}, expr.span, name).label(function.name.span, "declared here").emit());
    return PoisonValue{};
  }
  auto callee = std::make_shared<Frame>();
  size_t next = 0;
  bool is_good = true;
  for (const syntax::Argument& argument : node.arguments) {
    const syntax::Parameter* parameter = nullptr;
    if (argument.is_keyword()) {
      auto found = std::ranges::find_if(function.parameters,
                                        [&](const syntax::Parameter& p) { return p.name.text == argument.name.text; });
      if (found == function.parameters.end()) {
        note(sink_.report(codes::UnknownArgument{}, argument.name.span, name, argument.name.text)
                 .label(function.name.span, "declared here")
                 .emit());
        is_good = false;
        continue;
      }
      parameter = &*found;
    } else if (next < function.parameters.size()) {
      parameter = &function.parameters[next++];
    }
    if (parameter == nullptr || callee->names.contains(parameter->name.text)) {
      note(sink_
               .report(codes::TooManyArguments{}, argument.value->span, name, function.parameters.size(),
                       node.arguments.size())
               .label(function.name.span, "declared here")
               .emit());
      return PoisonValue{};
    }
    callee->names[parameter->name.text] = eval(*argument.value);
  }
  for (const syntax::Parameter& parameter : function.parameters) {
    if (callee->names.contains(parameter.name.text)) {
      continue;
    }
    if (parameter.default_value == nullptr) {
      if (is_good) {
        note(sink_.report(codes::MissingArgument{}, expr.span, name, parameter.name.text)
                 .label(parameter.name.span, "declared here")
                 .emit());
      }
      is_good = false;
      continue;
    }
    callee->names[parameter.name.text] = eval(*parameter.default_value);
  }
  if (!is_good) {
    return PoisonValue{};
  }
  diag::ContextScope context(sink_, fmt::format("in the call of `{}`", name), expr.span);
  std::swap(frame_, callee);
  const int outer_base = std::exchange(function_base_, run_time_depth_);
  const Value outer_return = std::exchange(return_value_, Value(NoneValue{}));
  const std::vector<LoopScope> outer_loops = std::exchange(loops_, {});
  const std::string outer_hint = std::exchange(name_hint_, "");
  inline_stack_.push_back(&function);
  exec_block(function.body);
  inline_stack_.pop_back();
  name_hint_ = outer_hint;
  loops_ = outer_loops;
  function_base_ = outer_base;
  std::swap(frame_, callee);
  Value result = std::exchange(return_value_, outer_return);
  return result;
}

Value Lowering::call_lambda(const LambdaValue& lambda, std::vector<Value> arguments, Span span) {
  if (arguments.size() != lambda.lambda->parameters.size()) {
    note(sink_.report(codes::TooManyArguments{}, span, "lambda", lambda.lambda->parameters.size(), arguments.size())
             .emit());
    return PoisonValue{};
  }
  if (!take_step(span, 1 + lambda.frame->names.size() / 8)) {
    return PoisonValue{};
  }
  auto inner = std::make_shared<Frame>(*lambda.frame);
  for (size_t i = 0; i < arguments.size(); ++i) {
    inner->names[lambda.lambda->parameters[i].text] = std::move(arguments[i]);
  }
  std::swap(frame_, inner);
  Value result = eval(*lambda.lambda->body);
  std::swap(frame_, inner);
  return result;
}

Value Lowering::call_range(const Arguments& arguments, Span span) {
  const syntax::Expr* second = arguments.find("second");
  const syntax::Expr* third = arguments.find("third");
  std::optional<ExprId> first = eval_int(arguments.get("first"), "a bound of `range`");
  std::optional<ExprId> end = second != nullptr ? eval_int(*second, "a bound of `range`") : first;
  if (!first || !end) {
    return PoisonValue{};
  }
  RangeValue range;
  range.begin = second != nullptr ? *first : exprs().constant(0);
  range.end = *end;
  if (third != nullptr) {
    std::optional<int64_t> step = eval_const_int(*third, "the step of `range`");
    if (!step) {
      return PoisonValue{};
    }
    if (*step <= 0) {
      note(sink_.report(codes::WrongKind{}, third->span, "the step of `range`", *step, "a positive integer").emit());
      return PoisonValue{};
    }
    range.step = *step;
  }
  static_cast<void>(span);
  return range;
}

Value Lowering::call_tiles(const Arguments& arguments, Span span) {
  TilesValue tiles;
  if (arguments.rest().empty()) {
    note(sink_.report(codes::MissingArgument{}, span, "tiles", "extents")
             .note("`tiles(cdiv(M, BM), cdiv(N, BN))` runs over all pairs")
             .emit());
    return PoisonValue{};
  }
  bool is_good = true;
  for (const syntax::Expr* extent : arguments.rest()) {
    if (extent->is<syntax::Lambda>()) {
      report_not_lowered(extent->span, "an extent of `tiles` that depends on earlier indices");
      is_good = false;
      continue;
    }
    std::optional<ExprId> value = eval_int(*extent, "an extent of `tiles`");
    is_good = is_good && value.has_value();
    tiles.extents.push_back(value.value_or(exprs().constant(1)));
  }
  if (tiles.extents.size() > 3) {
    note(sink_.report(codes::TooManyArguments{}, span, "tiles", 3, tiles.extents.size()).emit());
    is_good = false;
  }
  if (const syntax::Expr* persistent = arguments.find("persistent")) {
    std::optional<bool> value = eval_const_bool(*persistent, "`persistent`");
    is_good = is_good && value.has_value();
    tiles.is_persistent = value.value_or(false);
  }
  if (const syntax::Expr* order = arguments.find("order")) {
    const Value value = eval(*order);
    if (const auto* raster = value.as<RasterValue>()) {
      tiles.raster = *raster;
      if (arguments.rest().size() < 2) {
        note(sink_
                 .report(codes::WrongKind{}, order->span, "`order`", "a grouped order of one axis",
                         "at least two extents to group")
                 .emit());
        is_good = false;
      }
    } else {
      poison_wrong_kind(order->span, "`order`", value, "`grouped(n)`");
      is_good = false;
    }
  }
  return is_good ? Value(std::move(tiles)) : Value(PoisonValue{});
}

Value Lowering::call_assume(const Arguments& arguments) {
  for (const syntax::Expr* condition : arguments.rest()) {
    const Value value = eval(*condition);
    if (const auto* finite = value.as<FiniteValue>()) {
      ir::Assumption assumption;
      assumption.finite = finite->tensor;
      assumption.span = condition->span;
      function_.assumptions.push_back(assumption);
      continue;
    }
    std::optional<ExprId> expr = to_bool(value, condition->span, "an assumption");
    if (!expr) {
      continue;
    }
    if (run_time_depth_ > 0) {
      report_not_lowered(condition->span, "`assume` inside a loop or branch",
                         "assumptions are about sizes and arguments; state them at the top of the kernel");
      continue;
    }
    std::optional<int64_t> known = exprs().constant_value(*expr);
    if (known && *known == 0) {
      note(sink_.report(codes::FalseAssumption{}, condition->span, to_string(function_.constants)).emit());
    } else if (!known) {
      ir::Assumption assumption;
      assumption.condition = *expr;
      assumption.span = condition->span;
      function_.assumptions.push_back(assumption);
    }
  }
  return NoneValue{};
}

std::optional<ir::TagMap> Lowering::eval_tag_map(const syntax::Expr& expr, size_t rank, std::string_view what) {
  const Value value = eval(expr);
  const auto* lambda = value.as<LambdaValue>();
  if (lambda == nullptr) {
    poison_wrong_kind(expr.span, what, value, "a `lambda` of the element's indices");
    return std::nullopt;
  }
  if (lambda->lambda->parameters.size() != rank) {
    note(sink_.report(codes::TooManyArguments{}, expr.span, "lambda", lambda->lambda->parameters.size(), rank)
             .note(fmt::format("it takes one index for each of the {} axes", rank))
             .emit());
    return std::nullopt;
  }
  ir::TagMap map;
  std::vector<Value> indices;
  for (const syntax::Identifier& parameter : lambda->lambda->parameters) {
    map.axes.push_back(exprs().add_symbol(parameter.text, ir::SymbolKind::Axis, parameter.span));
    indices.emplace_back(IntValue{exprs().symbol_ref(map.axes.back())});
  }
  const Span body_span = lambda->lambda->body->span;
  const Value result = call_lambda(*lambda, std::move(indices), expr.span);
  const auto* record = result.as<RecordValue>();
  if (record == nullptr) {
    poison_wrong_kind(body_span, fmt::format("the result of {}", what), result, "`dict(NAME=index, ..)`");
    return std::nullopt;
  }
  for (const auto& [name, field] : record->fields) {
    const auto* integer = field.as<IntValue>();
    if (integer == nullptr) {
      poison_wrong_kind(body_span, fmt::format("`{}` in {}", name, what), field, "an integer");
      return std::nullopt;
    }
    map.fields.emplace_back(name, integer->expr);
  }
  return map;
}

Value Lowering::call_tag(const Arguments& arguments, Span span) {
  const syntax::Expr& target = arguments.get("T");
  const Value value = eval(target);
  const auto* memory = value.as<MemoryValue>();
  const auto* tensor = memory != nullptr ? std::get_if<ir::TensorId>(&memory->object) : nullptr;
  if (tensor == nullptr ||
      std::ranges::any_of(memory->axes, [](const MemoryAxis& axis) { return axis.kind != MemoryAxis::Kind::Whole; })) {
    return poison_wrong_kind(target.span, "the first argument of `tag`", value, "a whole tensor parameter");
  }
  if (run_time_depth_ > 0) {
    note(sink_
             .report(codes::Placement{}, span, "`tag(..)`", "inside a loop or branch",
                     "a tag belongs to the tensor; give it at the top of the kernel")
             .emit());
    return PoisonValue{};
  }
  std::optional<ir::TagMap> map = eval_tag_map(arguments.get("map"), memory->axes.size(), "the map of `tag`");
  if (!map) {
    return PoisonValue{};
  }
  untagged_.erase(tensor->index);
  function_.tensor(*tensor).tag = *std::move(map);
  return NoneValue{};
}

void Lowering::check_tag_name(const std::string& name, Span span) {
  std::vector<std::string> known;
  for (const ir::Tensor& tensor : function_.tensors) {
    for (const auto& [field, expr] : tensor.tag.fields) {
      if (field == name) {
        return;
      }
      if (std::ranges::find(known, field) == known.end()) {
        known.push_back(field);
      }
    }
  }
  diag::Builder builder = sink_.report(codes::UnknownTagName{}, span, name);
  if (std::optional<std::string> near = nearest(name, known)) {
    builder.note(fmt::format("did you mean `{}`?", *near));
  } else if (!known.empty()) {
    builder.note(fmt::format("the names are {}", join(known, ", ")));
  }
  note(builder.emit());
}

std::optional<std::vector<ir::CoverageRange>> Lowering::eval_over(const syntax::Expr& expr) {
  std::vector<ir::CoverageRange> out;
  const Value value = eval(expr);
  const auto* record = value.as<RecordValue>();
  if (record == nullptr) {
    poison_wrong_kind(expr.span, "`over`", value, "`dict(NAME=range(..), ..)`");
    return std::nullopt;
  }
  for (const auto& [name, field] : record->fields) {
    if (field.is<LambdaValue>()) {
      report_not_lowered(expr.span, "`over=` that depends on the element");
      return std::nullopt;
    }
    const auto* range = field.as<RangeValue>();
    if (range == nullptr || range->step != 1) {
      poison_wrong_kind(expr.span, fmt::format("`{}` in `over`", name), field, "a `range(..)` of step 1");
      return std::nullopt;
    }
    check_tag_name(name, expr.span);
    out.push_back({name, range->begin, range->end});
  }
  return out;
}

Value Lowering::call_check(const Arguments& arguments, Span span) {
  const syntax::Expr& operand = arguments.get("x");
  const Value value = eval(operand);
  if (value.is<MemoryValue>()) {
    note(sink_
             .report(codes::WrongKind{}, operand.span, "the first argument of `check`", describe(value),
                     "a register tile")
             .note("check the value before it is stored")
             .emit());
    return PoisonValue{};
  }
  const auto* tile = value.as<TileValue>();
  if (tile == nullptr) {
    return poison_wrong_kind(operand.span, "the first argument of `check`", value, "a register tile");
  }
  const size_t rank = function_.value(tile->id).shape.size();
  const syntax::Expr& expected = arguments.get("expected");
  std::optional<ir::TagMap> map = eval_tag_map(expected, rank, "the tag that `check` expects");
  if (!map) {
    return PoisonValue{};
  }
  for (const auto& [name, expr] : map->fields) {
    check_tag_name(name, expected.span);
  }
  ir::CheckOp op;
  op.value = tile->id;
  if (const syntax::Expr* over = arguments.find("over")) {
    std::optional<std::vector<ir::CoverageRange>> ranges = eval_over(*over);
    if (!ranges) {
      return PoisonValue{};
    }
    op.over = *std::move(ranges);
  }
  if (const syntax::Expr* where = arguments.find("where")) {
    const Value condition = eval(*where);
    const auto* lambda = condition.as<LambdaValue>();
    if (lambda == nullptr || lambda->lambda->parameters.size() != rank) {
      return poison_wrong_kind(where->span, "`where`", condition, fmt::format("a `lambda` of {} indices", rank));
    }
    std::vector<Value> indices;
    for (ir::SymbolId axis : map->axes) {
      indices.emplace_back(IntValue{exprs().symbol_ref(axis)});
    }
    std::optional<ExprId> holds =
        to_bool(call_lambda(*lambda, std::move(indices), where->span), where->span, "the result of `where`");
    if (!holds) {
      return PoisonValue{};
    }
    op.where = *holds;
  }
  op.expected = *std::move(map);
  emit(span, std::move(op));
  return NoneValue{};
}

}  // namespace tw::sema
