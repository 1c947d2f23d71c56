// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "base/strings.h"
#include "ir/print.h"
#include "sema/lowering.h"
#include "syntax/printer.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;

const syntax::Expr* Arguments::find(std::string_view name) const {
  auto found = named_.find(name);
  return found != named_.end() ? found->second : nullptr;
}

const syntax::Expr& Arguments::get(std::string_view name) const {
  const syntax::Expr* found = find(name);
  TW_CHECK(found != nullptr);
  return *found;
}

Lowering::Lowering(const syntax::Module& module, const KernelDecl* kernel, const target::Machine* machine,
                   ir::Function& function, diag::Sink& sink)
    : module_(module), kernel_(kernel), machine_(machine), function_(function), sink_(sink), block_(&function.body) {}

void Lowering::note(diag::Reported reported) {
  if (!failure_) {
    failure_ = reported;
  }
  has_stopped_ = has_stopped_ || ++errors_ >= kMaxKernelErrors;
}

void Lowering::report_not_lowered(Span span, std::string_view what, std::string_view hint) {
  // A construct that is used on every line is one message.
  if (!reported_later_.insert(std::string(what)).second) {
    return;
  }
  diag::Builder builder = sink_.report(codes::NotLowered{}, span, what);
  if (!hint.empty()) {
    builder.note(std::string(hint));
  }
  note(builder.emit());
}

std::optional<Binding> Lowering::bind_consts(const syntax::FunctionDef& kernel, const Binding& given,
                                             bool report_missing) {
  Binding out;
  bool is_complete = true;
  for (const syntax::Parameter& parameter : kernel.parameters) {
    if (parameter.annotation == nullptr || !parameter.annotation->is_name("const")) {
      continue;
    }
    const std::string& name = parameter.name.text;
    auto bound = std::ranges::find(given, name, &std::pair<std::string, int64_t>::first);
    Value value;
    if (parameter.default_value != nullptr) {
      value = eval(*parameter.default_value);
    }
    const bool is_bool = value.is<BoolValue>();
    if (bound != given.end()) {
      const ir::ExprId constant = exprs().constant(is_bool ? (bound->second != 0 ? 1 : 0) : bound->second);
      value = is_bool ? Value(BoolValue{constant}) : Value(IntValue{constant});
    } else if (parameter.default_value == nullptr) {
      if (report_missing) {
        note(sink_.report(codes::ConstWithoutValue{}, parameter.name.span, name, kernel.name.text)
                 .note(fmt::format("give it a default (`{}: const = ..`), list it in `configs=`, or pass --param={}=..",
                                   name, name))
                 .emit());
      }
      is_complete = false;
      frame_->names[name] = PoisonValue{};
      continue;
    }
    std::optional<int64_t> constant = constant_of(value);
    if (!constant) {
      if (!value.is_poison()) {
        poison_wrong_kind(parameter.default_value->span, fmt::format("the default of const `{}`", name), value,
                          "an integer or truth value known at compile time");
      }
      is_complete = false;
      frame_->names[name] = PoisonValue{};
      continue;
    }
    frame_->names[name] = value;
    out.emplace_back(name, *constant);
  }
  return is_complete ? std::optional<Binding>(std::move(out)) : std::nullopt;
}

void Lowering::set_consts(const syntax::FunctionDef& kernel, const Binding& binding) {
  frame_ = std::make_shared<Frame>();
  bind_consts(kernel, binding, false);
}

void Lowering::run(const Binding& binding) {
  const syntax::FunctionDef& kernel = *kernel_->function;
  function_.name = kernel.name.text;
  function_.machine = machine_;
  function_.span = kernel.name.span;
  std::optional<Binding> bound = bind_consts(kernel, binding);
  if (!bound) {
    return;
  }
  function_.constants = *bound;
  options(*bound);
  parameters();
  inline_stack_.push_back(&kernel);
  exec_block(kernel.body);
  check_tags();
  if (!failure_) {
    prune_carried(function_);
    // What the front end made itself must be well formed, whatever the program.
    Status structure = ir::check_structure(function_);
    TW_CHECK_MSG(structure.has_value(), structure ? "" : structure.error().message + "\n" + ir::print(function_));
  }
}

void Lowering::options(const Binding& binding) {
  static_cast<void>(binding);
  const syntax::Decorator* decorator = kernel_->function->find_decorator("kernel");
  const auto* call = decorator->value->as<syntax::Call>();
  if (call == nullptr) {
    return;
  }
  std::optional<Arguments> arguments = bind(*find_builtin("kernel"), *call, decorator->value->span);
  if (!arguments) {
    return;
  }
  if (const syntax::Expr* threads = arguments->find("threads")) {
    if (std::optional<int64_t> value = eval_const_int(*threads, "`threads`")) {
      if (*value <= 0 || *value % machine_->warp_threads != 0 || *value > machine_->max_threads_per_block) {
        note(sink_
                 .report(codes::LaunchShape{}, threads->span, "threads", *value, machine_->name,
                         fmt::format("expected a multiple of {} up to {}", machine_->warp_threads,
                                     machine_->max_threads_per_block))
                 .emit());
      } else {
        function_.threads = static_cast<int>(*value);
      }
    }
  }
  if (const syntax::Expr* blocks = arguments->find("min_blocks")) {
    if (std::optional<int64_t> value = eval_const_int(*blocks, "`min_blocks`")) {
      if (*value < 1 || *value > machine_->max_blocks_per_sm) {
        note(sink_
                 .report(codes::LaunchShape{}, blocks->span, "min_blocks", *value, machine_->name,
                         fmt::format("expected 1 to {} blocks a multiprocessor", machine_->max_blocks_per_sm))
                 .emit());
      } else {
        function_.min_blocks = static_cast<int>(*value);
      }
    }
  }
  if (const syntax::Expr* sync = arguments->find("sync")) {
    if (std::optional<std::string> value = eval_string(*sync, "`sync`")) {
      if (*value != "auto" && *value != "manual") {
        note(sink_
                 .report(codes::WrongKind{}, sync->span, "`sync`", fmt::format("\"{}\"", *value),
                         "\"auto\" or \"manual\"")
                 .emit());
      }
      function_.sync = *value == "manual" ? ir::SyncMode::Manual : ir::SyncMode::Auto;
    }
  }
  if (const syntax::Expr* spills = arguments->find("no_spills")) {
    function_.no_spills = eval_const_bool(*spills, "`no_spills`").value_or(false);
  }
}

void Lowering::parameters() {
  for (const syntax::Parameter& each : kernel_->function->parameters) {
    parameter(each);
  }
}

void Lowering::parameter(const syntax::Parameter& parameter) {
  static constexpr std::string_view kForms =
      "`In[t, dims]`, `Out[..]`, `InOut[..]`, `Acc[t, dims, op]`, `Work[..]`, `i32`, `i64`, `f32` or `const`";
  const std::string& name = parameter.name.text;
  if (parameter.annotation == nullptr) {
    note(sink_.report(codes::ParameterForm{}, parameter.name.span, name, "has no type", kForms).emit());
    frame_->names[name] = PoisonValue{};
    return;
  }
  const syntax::Expr& annotation = *parameter.annotation;
  if (annotation.is_name("const")) {
    return;
  }
  if (parameter.default_value != nullptr) {
    note(sink_
             .report(codes::ParameterForm{}, parameter.default_value->span, name, "has a default",
                     "defaults on `const` parameters only")
             .emit());
  }
  if (frame_->names.contains(name)) {
    note(sink_.report(codes::RepeatedDefinition{}, parameter.name.span, "size, const or parameter", name).emit());
    return;
  }
  if (const auto* subscript = annotation.as<syntax::Subscript>()) {
    static constexpr std::pair<std::string_view, ir::Direction> kDirections[] = {{"In", ir::Direction::In},
                                                                                 {"Out", ir::Direction::Out},
                                                                                 {"InOut", ir::Direction::InOut},
                                                                                 {"Acc", ir::Direction::Acc},
                                                                                 {"Work", ir::Direction::Work}};
    for (const auto& [word, direction] : kDirections) {
      if (subscript->base->is_name(word)) {
        tensor_parameter(parameter, direction, *subscript);
        return;
      }
    }
    if (subscript->base->is_name("Flags")) {
      report_not_lowered(annotation.span, "`Flags`");
      frame_->names[name] = PoisonValue{};
      return;
    }
  }
  if (const auto* type_name = annotation.as<syntax::Name>()) {
    std::optional<ElementType> type = element_type_of(type_name->id);
    if (type == ElementType::I32 || type == ElementType::I64) {
      ir::SymbolId symbol = exprs().add_symbol(name, ir::SymbolKind::Scalar, parameter.name.span);
      function_.scalars.push_back({name, *type, symbol});
      frame_->names[name] = IntValue{exprs().symbol_ref(symbol)};
      return;
    }
    if (type == ElementType::F32) {
      function_.scalars.push_back({name, *type, {}});
      ir::ValueId value = new_value(*type, {}, parameter.name.span, name);
      emit(parameter.name.span, ir::ScalarArgumentOp{static_cast<int>(function_.scalars.size()) - 1, value});
      frame_->names[name] = TileValue{value};
      return;
    }
    if (type) {
      report_not_lowered(annotation.span, fmt::format("a scalar parameter of type `{}`", type_name->id),
                         "use i32, i64 or f32");
      frame_->names[name] = PoisonValue{};
      return;
    }
  }
  note(sink_
           .report(codes::ParameterForm{}, annotation.span, name,
                   fmt::format("has type `{}`", syntax::print(annotation)), kForms)
           .emit());
  frame_->names[name] = PoisonValue{};
}

// A size in a parameter list: a new name becomes a size of the kernel.
std::optional<ir::ExprId> Lowering::size_expression(const syntax::Expr& expr) {
  binds_sizes_ = true;
  Value value = eval(expr);
  binds_sizes_ = false;
  if (const auto* integer = value.as<IntValue>()) {
    return integer->expr;
  }
  poison_wrong_kind(expr.span, "the size", value, "an integer");
  return std::nullopt;
}

void Lowering::tensor_parameter(const syntax::Parameter& parameter, ir::Direction direction,
                                const syntax::Subscript& annotation) {
  const std::string& name = parameter.name.text;
  frame_->names[name] = PoisonValue{};
  const std::string expected = direction == ir::Direction::Acc
                                   ? "`Acc[type, (dims..), op]`"
                                   : "`[type, (dims..)]` or `[type, (dims..), (strides..)]`";
  const size_t count = annotation.indices.size();
  const bool is_acc = direction == ir::Direction::Acc;
  if (count < 2 || count > (is_acc ? 4U : 3U) || (is_acc && count < 3)) {
    note(sink_
             .report(codes::ParameterForm{}, parameter.annotation->span, name, fmt::format("has {} parts", count),
                     expected)
             .emit());
    return;
  }
  ir::Tensor tensor;
  tensor.name = name;
  tensor.direction = direction;
  tensor.span = parameter.name.span;
  std::optional<ElementType> element = eval_type(*annotation.indices[0], fmt::format("the element type of `{}`", name));
  const auto* dims = annotation.indices[1]->as<syntax::TupleExpr>();
  if (dims == nullptr) {
    note(sink_
             .report(codes::ParameterForm{}, annotation.indices[1]->span, name, "has no tuple of dimensions",
                     "`(M, N)`, or `(N,)` for one dimension")
             .emit());
    return;
  }
  const syntax::Expr* strides = nullptr;
  for (size_t i = 2; i < count; ++i) {
    if (annotation.indices[i]->is<syntax::TupleExpr>()) {
      strides = annotation.indices[i].get();
    } else if (is_acc) {
      tensor.acc_op = eval_reduce_kind(*annotation.indices[i]);
    } else {
      note(sink_
               .report(codes::ParameterForm{}, annotation.indices[i]->span, name, "has strides that are no tuple",
                       expected)
               .emit());
      return;
    }
  }
  if (is_acc && !tensor.acc_op) {
    if (!failure_) {
      note(
          sink_.report(codes::ParameterForm{}, parameter.annotation->span, name, "says no operation", expected).emit());
    }
    return;
  }
  bool is_good = element.has_value();
  for (const syntax::ExprPtr& dim : dims->elements) {
    std::optional<ir::ExprId> extent = size_expression(*dim);
    is_good = is_good && extent.has_value();
    tensor.extents.push_back(extent.value_or(exprs().constant(1)));
    const auto* dim_name = dim->as<syntax::Name>();
    tensor.dims.push_back(dim_name != nullptr ? dim_name->id : "");
  }
  const size_t rank = tensor.extents.size();
  if (strides != nullptr) {
    const auto& list = strides->as<syntax::TupleExpr>()->elements;
    if (list.size() != rank) {
      note(sink_
               .report(codes::ParameterForm{}, strides->span, name,
                       fmt::format("has {} strides for {} dimensions", list.size(), rank), "one stride a dimension")
               .emit());
      return;
    }
    for (const syntax::ExprPtr& stride : list) {
      std::optional<ir::ExprId> value = size_expression(*stride);
      is_good = is_good && value.has_value();
      tensor.strides.push_back(value.value_or(exprs().constant(1)));
    }
  } else {
    tensor.strides.resize(rank);
    ir::ExprId stride = exprs().constant(1);
    for (size_t axis = rank; axis-- > 0;) {
      tensor.strides[axis] = stride;
      stride = exprs().mul(stride, tensor.extents[axis]);
    }
  }
  if (!is_good) {
    return;
  }
  tensor.element = *element;
  for (size_t axis = 0; axis < rank; ++axis) {
    const std::string& dim = tensor.dims[axis];
    tensor.tag.axes.push_back(exprs().add_symbol(fmt::format("{}_{}", name, axis), ir::SymbolKind::Axis, tensor.span));
    if (dim.empty()) {
      continue;
    }
    if (std::ranges::count(tensor.dims, dim) > 1) {
      untagged_.try_emplace(static_cast<uint32_t>(function_.tensors.size()), dim, parameter.annotation->span);
      continue;
    }
    tensor.tag.fields.emplace_back(dim, exprs().symbol_ref(tensor.tag.axes.back()));
  }
  frame_->names[name] = whole(function_.add_tensor(std::move(tensor)));
}

void Lowering::check_tags() {
  for (const auto& [index, repeated] : untagged_) {
    const std::string& name = function_.tensors[index].name;
    note(sink_.report(codes::RepeatedDimension{}, repeated.second, name, repeated.first, name)
             .note(fmt::format("for example `tag({}, lambda i, j: dict({}=i, {}2=j))` as the first statement", name,
                               repeated.first, repeated.first))
             .emit());
  }
}

Checked<ir::Function> lower_kernel(const syntax::Module& module, const KernelDecl& kernel, const Binding& binding,
                                   const target::Machine& machine, diag::Sink& sink) {
  ir::Function function;
  Lowering lowering(module, &kernel, &machine, function, sink);
  lowering.run(binding);
  if (lowering.failure()) {
    return fail(*lowering.failure());
  }
  return function;
}

}  // namespace tw::sema
