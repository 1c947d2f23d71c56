// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/strings.h"
#include "sema/lowering.h"
#include "sema/sema.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;

namespace {

constexpr std::string_view kDefaultTarget = "sm_80";

std::string known_targets() {
  std::string out;
  for (const target::Machine& machine : target::machines()) {
    out += (out.empty() ? "" : ", ") + std::string(machine.name);
  }
  return out;
}

std::string_view statement_name(const syntax::Stmt& stmt) {
  if (stmt.is<syntax::Assign>() || stmt.is<syntax::AugAssign>()) {
    return "an assignment";
  }
  if (stmt.is<syntax::ExprStmt>()) {
    return "an expression";
  }
  return "a statement";
}

// Reads what stands around the bodies: decorators, const parameters, configurations.
class FileReader {
 public:
  FileReader(const syntax::Module& module, diag::Sink& sink) : module_(module), sink_(sink) {}

  Checked<std::vector<KernelDecl>> run() {
    std::vector<KernelDecl> out;
    std::map<std::string, Span> names;
    for (const syntax::StmtPtr& stmt : module_.body.statements) {
      const auto* function = stmt->as<syntax::FunctionDef>();
      if (function == nullptr) {
        check_statement(*stmt);
        continue;
      }
      auto [first, is_new] = names.try_emplace(function->name.text, function->name.span);
      if (!is_new) {
        note(sink_.report(codes::RepeatedDefinition{}, function->name.span, "function", function->name.text)
                 .label(first->second, "first here")
                 .emit());
      }
      if (check_role(*function)) {
        out.push_back(read_kernel(*function));
      }
    }
    if (out.empty() && !failure_) {
      note(sink_.report(codes::NoKernel{}, Span{module_.file, 0, 0}).emit());
    }
    if (failure_) {
      return fail(*failure_);
    }
    return out;
  }

  // `overrides` over each configuration in turn.
  Checked<std::vector<Binding>> bind_all(const KernelDecl& kernel, const Binding& overrides) {
    for (const auto& [name, value] : overrides) {
      if (std::ranges::find(kernel.consts, name, &ConstParameter::name) == kernel.consts.end()) {
        report_unknown_const(kernel, name, kernel.span);
      }
    }
    std::vector<Binding> out;
    for (const Binding& configuration : listed_configurations(kernel)) {
      Binding given = configuration;
      for (const auto& [name, value] : overrides) {
        auto found = std::ranges::find(given, name, &std::pair<std::string, int64_t>::first);
        if (found != given.end()) {
          found->second = value;
        } else {
          given.emplace_back(name, value);
        }
      }
      if (std::optional<Binding> complete = complete_binding(*kernel.function, given);
          complete && std::ranges::find(out, *complete) == out.end()) {
        out.push_back(*std::move(complete));
      }
    }
    if (failure_) {
      return fail(*failure_);
    }
    return out;
  }

 private:
  void note(diag::Reported reported) {
    if (!failure_) {
      failure_ = reported;
    }
  }

  void take_failure(const Lowering& lowering) {
    if (lowering.failure()) {
      note(*lowering.failure());
    }
  }

  void check_statement(const syntax::Stmt& stmt) {
    const auto* expression = stmt.as<syntax::ExprStmt>();
    const bool is_text = expression != nullptr && expression->value->is<syntax::StringLiteral>();
    if (!stmt.is<syntax::Import>() && !stmt.is<syntax::Pass>() && !is_text) {
      note(sink_.report(codes::TopLevelStatement{}, stmt.header_span, statement_name(stmt)).emit());
    }
  }

  // True for a kernel.
  bool check_role(const syntax::FunctionDef& function) {
    if (function.decorators.empty()) {
      note(sink_.report(codes::FunctionRole{}, function.name.span, function.name.text, "no decorator")
               .note("`@kernel(target=\"sm_80\")` makes it a kernel, `@fn` a function that kernels may call")
               .emit());
      return false;
    }
    bool is_kernel = false;
    for (const syntax::Decorator& decorator : function.decorators) {
      const syntax::Expr& value = *decorator.value;
      const auto* call = value.as<syntax::Call>();
      const auto* name = (call != nullptr ? *call->callee : value).as<syntax::Name>();
      const Builtin* builtin = name != nullptr ? find_builtin(name->id) : nullptr;
      if (builtin == nullptr || builtin->kind != BuiltinKind::Decorator) {
        note(sink_
                 .report(codes::FunctionRole{}, value.span, function.name.text,
                         name != nullptr ? fmt::format("decorator `@{}`", name->id) : "a decorator that is no name")
                 .emit());
      } else if (!builtin->is_lowered) {
        note(sink_.report(codes::NotLowered{}, value.span, fmt::format("`@{}`", builtin->name)).emit());
      } else {
        is_kernel = is_kernel || builtin->id == BuiltinId::k_kernel;
      }
    }
    return is_kernel;
  }

  KernelDecl read_kernel(const syntax::FunctionDef& function) {
    KernelDecl kernel;
    kernel.name = function.name.text;
    kernel.span = function.name.span;
    kernel.function = &function;
    read_target(function, kernel);
    ir::Function scratch;
    Lowering defaults(module_, nullptr, nullptr, scratch, sink_);
    defaults.set_consts(function, {});
    take_failure(defaults);
    for (const syntax::Parameter& parameter : function.parameters) {
      if (parameter.annotation == nullptr || !parameter.annotation->is_name("const")) {
        continue;
      }
      ConstParameter added;
      added.name = parameter.name.text;
      added.span = parameter.name.span;
      added.has_default = parameter.default_value != nullptr;
      if (added.has_default && !defaults.failure()) {
        ir::Function inner_scratch;
        Lowering reader(module_, nullptr, nullptr, inner_scratch, quiet_);
        reader.set_consts(function, {});
        Value value = reader.eval(*parameter.default_value);
        added.is_bool = value.is<BoolValue>();
        if (const auto* integer = value.as<IntValue>()) {
          added.default_value = inner_scratch.exprs.constant_value(integer->expr);
        } else if (const auto* boolean = value.as<BoolValue>()) {
          added.default_value = inner_scratch.exprs.constant_value(boolean->expr);
        }
      }
      kernel.consts.push_back(std::move(added));
    }
    for (const Binding& configuration : listed_configurations(kernel)) {
      // A const without any value is an error only for who lowers this kernel without --param.
      ir::Function binding_scratch;
      Lowering reader(module_, nullptr, nullptr, binding_scratch, quiet_);
      if (std::optional<Binding> complete = reader.bind_consts(function, configuration, false);
          complete && std::ranges::find(kernel.configurations, *complete) == kernel.configurations.end()) {
        kernel.configurations.push_back(*std::move(complete));
      }
    }
    return kernel;
  }

  void read_target(const syntax::FunctionDef& function, KernelDecl& kernel) {
    const syntax::Decorator* decorator = function.find_decorator("kernel");
    const auto* call = decorator->value->as<syntax::Call>();
    if (call == nullptr) {
      return;
    }
    ir::Function scratch;
    Lowering reader(module_, nullptr, nullptr, scratch, sink_);
    std::optional<Arguments> arguments = reader.bind(*find_builtin("kernel"), *call, decorator->value->span);
    if (arguments) {
      if (const syntax::Expr* target = arguments->find("target")) {
        if (std::optional<std::string> name = reader.eval_string(*target, "`target`")) {
          kernel.target = *name;
        }
      }
    }
    take_failure(reader);
  }

  // As written in `configs=`; one empty binding when there is none.
  std::vector<Binding> listed_configurations(const KernelDecl& kernel) {
    const syntax::Decorator* decorator = kernel.function->find_decorator("kernel");
    const auto* call = decorator->value->as<syntax::Call>();
    const syntax::Expr* configs = call != nullptr ? syntax::find_keyword(*call, "configs") : nullptr;
    if (configs == nullptr) {
      return {{}};
    }
    std::vector<const syntax::Expr*> entries;
    if (const auto* tuple = configs->as<syntax::TupleExpr>()) {
      std::ranges::transform(tuple->elements, std::back_inserter(entries),
                             [](const syntax::ExprPtr& e) { return e.get(); });
    } else if (const auto* list = configs->as<syntax::ListExpr>()) {
      std::ranges::transform(list->elements, std::back_inserter(entries),
                             [](const syntax::ExprPtr& e) { return e.get(); });
    } else {
      entries.push_back(configs);
    }
    std::vector<Binding> out;
    for (const syntax::Expr* entry : entries) {
      out.push_back(read_configuration(kernel, *entry));
    }
    if (out.empty()) {
      note(sink_.report(codes::WrongKind{}, configs->span, "`configs`", "empty", "a tuple of `dict(NAME=value, ..)`")
               .emit());
      return {{}};
    }
    return out;
  }

  Binding read_configuration(const KernelDecl& kernel, const syntax::Expr& entry) {
    Binding out;
    ir::Function scratch;
    Lowering reader(module_, nullptr, nullptr, scratch, sink_);
    const Value value = reader.eval(entry);
    const auto* record = value.as<RecordValue>();
    if (record == nullptr) {
      if (!value.is_poison()) {
        note(sink_.report(codes::WrongKind{}, entry.span, "a configuration", "something else", "`dict(NAME=value, ..)`")
                 .emit());
      }
      take_failure(reader);
      return out;
    }
    for (const auto& [name, field] : record->fields) {
      if (std::ranges::find(kernel.consts, name, &ConstParameter::name) == kernel.consts.end()) {
        report_unknown_const(kernel, name, entry.span);
        continue;
      }
      std::optional<int64_t> constant;
      if (const auto* integer = field.as<IntValue>()) {
        constant = scratch.exprs.constant_value(integer->expr);
      } else if (const auto* boolean = field.as<BoolValue>()) {
        constant = scratch.exprs.constant_value(boolean->expr);
      }
      if (!constant) {
        note(sink_
                 .report(codes::WrongKind{}, entry.span, fmt::format("`{}` in a configuration", name), "something else",
                         "an integer or truth value")
                 .emit());
        continue;
      }
      out.emplace_back(name, *constant);
    }
    take_failure(reader);
    return out;
  }

  std::optional<Binding> complete_binding(const syntax::FunctionDef& function, const Binding& given) {
    ir::Function scratch;
    Lowering reader(module_, nullptr, nullptr, scratch, sink_);
    std::optional<Binding> out = reader.bind_consts(function, given);
    take_failure(reader);
    return out;
  }

  void report_unknown_const(const KernelDecl& kernel, const std::string& name, Span span) {
    std::vector<std::string> known;
    for (const ConstParameter& parameter : kernel.consts) {
      known.push_back(parameter.name);
    }
    diag::Builder builder = sink_.report(codes::UnknownConst{}, span, kernel.name, name);
    if (std::optional<std::string> near = nearest(name, known)) {
      builder.note(fmt::format("did you mean `{}`?", *near));
    } else if (!known.empty()) {
      builder.note("its const parameters are " + join(known, ", "));
    }
    note(builder.emit());
  }

  const syntax::Module& module_;
  diag::Sink& sink_;
  // Takes what another pass over the same text has reported already.
  diag::Sink quiet_;
  std::optional<diag::Reported> failure_;
};

}  // namespace

Checked<std::vector<KernelDecl>> kernels_of(const syntax::Module& module, diag::Sink& sink) {
  return FileReader(module, sink).run();
}

Checked<std::vector<Binding>> configurations_with(const syntax::Module& module, const KernelDecl& kernel,
                                                  const Binding& overrides, diag::Sink& sink) {
  return FileReader(module, sink).bind_all(kernel, overrides);
}

Checked<const target::Machine*> machine_of(const KernelDecl& kernel, std::string_view override_name, diag::Sink& sink) {
  std::string_view name = !override_name.empty() ? override_name : kernel.target;
  if (name.empty()) {
    name = kDefaultTarget;
  }
  if (const target::Machine* machine = target::find_machine(name)) {
    return machine;
  }
  std::vector<std::string> known;
  for (const target::Machine& machine : target::machines()) {
    known.emplace_back(machine.name);
  }
  Span span = kernel.span;
  const syntax::Decorator* decorator = kernel.function->find_decorator("kernel");
  const auto* call = decorator->value->as<syntax::Call>();
  const syntax::Expr* written = call != nullptr ? syntax::find_keyword(*call, "target") : nullptr;
  diag::FixIt fixit;
  if (override_name.empty() && written != nullptr) {
    span = written->span;
  }
  diag::Builder builder = sink.report(codes::UnknownTarget{}, span, name, known_targets());
  if (std::optional<std::string> near = nearest(name, known); near && override_name.empty() && written != nullptr) {
    builder.fixit(
        {fmt::format("use target {}", *near), {{span, fmt::format("\"{}\"", *near)}}, diag::Applicability::MaybeWrong});
  }
  return fail(builder.emit());
}

std::string to_string(const Binding& binding) {
  std::string out;
  for (const auto& [name, value] : binding) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value);
  }
  return out.empty() ? "default" : out;
}

}  // namespace tw::sema
