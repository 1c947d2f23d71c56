// SPDX-License-Identifier: Apache-2.0
#include "rewrite/kernel_view.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace tw::rewrite {
namespace {

using syntax::Expr;

std::optional<TensorParam> tensor_of(const syntax::Parameter& parameter) {
  auto* annotation = parameter.annotation ? parameter.annotation->as<syntax::Subscript>() : nullptr;
  if (annotation == nullptr || annotation->indices.size() < 2) {
    return std::nullopt;
  }
  const auto* direction = annotation->base->as<syntax::Name>();
  const auto* element = annotation->indices[0]->as<syntax::Name>();
  auto* dims = annotation->indices[1]->as<syntax::TupleExpr>();
  if (direction == nullptr || element == nullptr || dims == nullptr) {
    return std::nullopt;
  }
  TensorParam out{parameter.name.text, direction->id, element->id, {}, annotation->indices.size() > 2};
  for (const syntax::ExprPtr& dim : dims->elements) {
    out.dims.push_back(dim.get());
  }
  return out;
}

std::optional<int64_t> apply(syntax::BinaryOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case syntax::BinaryOp::Add:
      return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case syntax::BinaryOp::Sub:
      return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case syntax::BinaryOp::Mul:
      return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case syntax::BinaryOp::FloorDiv:
      return a >= 0 && b > 0 ? std::optional(a / b) : std::nullopt;
    case syntax::BinaryOp::Mod:
      return a >= 0 && b > 0 ? std::optional(a % b) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Every block of a body with its statements, outer ones first.
void for_each_block(syntax::Block& block, const std::function<void(syntax::Block&)>& visit) {
  visit(block);
  for (syntax::StmtPtr& stmt : block.statements) {
    for (syntax::Block* body : syntax::bodies(*stmt)) {
      for_each_block(*body, visit);
    }
  }
}

}  // namespace

std::string object_name(const Expr& expr) {
  if (const auto* name = expr.as<syntax::Name>()) {
    return name->id;
  }
  if (const auto* subscript = expr.as<syntax::Subscript>()) {
    return object_name(*subscript->base);
  }
  if (const auto* attribute = expr.as<syntax::Attribute>()) {
    return object_name(*attribute->base);
  }
  return {};
}

void set_keyword(Expr& call, std::string_view name, syntax::ExprPtr value) {
  auto& arguments = call.as<syntax::Call>()->arguments;
  auto found = std::ranges::find_if(arguments, [&](const syntax::Argument& a) { return a.name.text == name; });
  if (found != arguments.end()) {
    found->value = std::move(value);
  } else {
    syntax::add_keyword(call, name, std::move(value));
  }
}

void insert(syntax::Block& block, size_t index, syntax::StmtPtr stmt) {
  block.statements.insert(block.statements.begin() + static_cast<std::ptrdiff_t>(index), std::move(stmt));
}

std::optional<KernelView> KernelView::of(syntax::Module& module) {
  for (syntax::StmtPtr& stmt : module.body.statements) {
    auto* function = stmt->as<syntax::FunctionDef>();
    if (function == nullptr || function->find_decorator("kernel") == nullptr) {
      continue;
    }
    KernelView view;
    view.function_ = function;
    for (syntax::Parameter& parameter : function->parameters) {
      if (auto tensor = tensor_of(parameter)) {
        view.tensors_.push_back(*std::move(tensor));
      } else if (parameter.annotation && parameter.annotation->is_name("const")) {
        ConstParam constant{parameter.name.text, std::nullopt, &parameter};
        if (parameter.default_value) {
          constant.value = view.evaluate(*parameter.default_value);
        }
        view.consts_.push_back(std::move(constant));
      }
    }
    return view;
  }
  return std::nullopt;
}

const TensorParam* KernelView::tensor(std::string_view name) const {
  auto found = std::ranges::find(tensors_, name, &TensorParam::name);
  return found == tensors_.end() ? nullptr : &*found;
}

const ConstParam* KernelView::constant(std::string_view name) const {
  auto found = std::ranges::find(consts_, name, &ConstParam::name);
  return found == consts_.end() ? nullptr : &*found;
}

std::optional<int64_t> KernelView::evaluate(const Expr& expr) const {
  if (const auto* literal = expr.as<syntax::IntLiteral>()) {
    return literal->value;
  }
  if (const auto* name = expr.as<syntax::Name>()) {
    const ConstParam* found = constant(name->id);
    return found != nullptr ? found->value : std::nullopt;
  }
  if (const auto* binary = expr.as<syntax::Binary>()) {
    auto a = evaluate(*binary->left);
    auto b = evaluate(*binary->right);
    return a && b ? apply(binary->op, *a, *b) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<MemoryStmt> KernelView::memory_statements() const {
  std::vector<MemoryStmt> out;
  for_each_block(function_->body, [&](syntax::Block& block) {
    for (size_t i = 0; i < block.statements.size(); ++i) {
      syntax::Stmt& stmt = *block.statements[i];
      Expr* value = nullptr;
      std::string target;
      if (auto* assign = stmt.as<syntax::Assign>()) {
        value = assign->value.get();
        target = object_name(*assign->target);
      } else if (auto* expression = stmt.as<syntax::ExprStmt>()) {
        value = expression->value.get();
      }
      if (value == nullptr) {
        continue;
      }
      const std::string_view callee = syntax::callee_name(*value);
      const bool is_load = callee == "load" && !target.empty();
      const bool is_copy = callee == "copy" && target.empty();
      auto* call = value->as<syntax::Call>();
      if ((is_load || is_copy) && !call->arguments.empty() && !call->arguments[0].is_keyword()) {
        out.push_back({&stmt, &block, i, call, value, target, object_name(*call->arguments[0].value)});
      }
    }
  });
  return out;
}

std::vector<Expr*> KernelView::calls(std::string_view callee) const {
  std::vector<Expr*> out;
  syntax::walk(function_->body, [&](syntax::Stmt& stmt) {
    for (syntax::ExprPtr* root : syntax::expressions(stmt)) {
      syntax::walk(**root, [&](Expr& expr) {
        if (syntax::callee_name(expr) == callee) {
          out.push_back(&expr);
        }
      });
    }
  });
  return out;
}

syntax::Call* KernelView::shared_declaration(std::string_view name) const {
  syntax::Call* found = nullptr;
  auto look = [&](Expr& target, Expr& value) {
    if (target.is_name(name) && syntax::callee_name(value) == "shared") {
      found = value.as<syntax::Call>();
    }
  };
  syntax::walk(function_->body, [&](syntax::Stmt& stmt) {
    auto* assign = stmt.as<syntax::Assign>();
    if (assign == nullptr) {
      return;
    }
    auto* targets = assign->target->as<syntax::TupleExpr>();
    auto* values = assign->value->as<syntax::TupleExpr>();
    if (targets != nullptr && values != nullptr && targets->elements.size() == values->elements.size()) {
      for (size_t i = 0; i < targets->elements.size(); ++i) {
        look(*targets->elements[i], *values->elements[i]);
      }
    } else {
      look(*assign->target, *assign->value);
    }
  });
  return found;
}

Expr& KernelView::decorator() const {
  for (syntax::Decorator& decorator : function_->decorators) {
    if (decorator.value->is_name("kernel")) {
      decorator.value = syntax::make_call("kernel");
    }
    if (syntax::callee_name(*decorator.value) == "kernel") {
      return *decorator.value;
    }
  }
  // `of` found the decorator.
  TW_CHECK(false);
  return *function_->decorators.front().value;
}

}  // namespace tw::rewrite
