// SPDX-License-Identifier: Apache-2.0
#include "syntax/ast.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"

namespace tw::syntax {
namespace {

std::vector<ExprPtr> clone_all(const std::vector<ExprPtr>& from) {
  std::vector<ExprPtr> out;
  out.reserve(from.size());
  for (const ExprPtr& expr : from) {
    out.push_back(clone(expr));
  }
  return out;
}

struct ExprCloner {
  Expr::Node operator()(const Name& n) const { return n; }
  Expr::Node operator()(const IntLiteral& n) const { return n; }
  Expr::Node operator()(const FloatLiteral& n) const { return n; }
  Expr::Node operator()(const StringLiteral& n) const { return n; }
  Expr::Node operator()(const BoolLiteral& n) const { return n; }
  Expr::Node operator()(const NoneLiteral& n) const { return n; }
  Expr::Node operator()(const TupleExpr& n) const { return TupleExpr{clone_all(n.elements)}; }
  Expr::Node operator()(const ListExpr& n) const { return ListExpr{clone_all(n.elements)}; }
  Expr::Node operator()(const DictExpr& n) const {
    DictExpr out;
    for (const auto& [key, value] : n.entries) {
      out.entries.emplace_back(clone(key), clone(value));
    }
    return out;
  }
  Expr::Node operator()(const Unary& n) const { return Unary{n.op, clone(n.operand)}; }
  Expr::Node operator()(const Binary& n) const { return Binary{n.op, clone(n.left), clone(n.right), n.op_span}; }
  Expr::Node operator()(const Compare& n) const {
    Compare out{clone(n.first), {}};
    for (const auto& [op, operand] : n.rest) {
      out.rest.emplace_back(op, clone(operand));
    }
    return out;
  }
  Expr::Node operator()(const BoolExpr& n) const { return BoolExpr{n.op, clone_all(n.operands)}; }
  Expr::Node operator()(const Conditional& n) const {
    return Conditional{clone(n.condition), clone(n.then), clone(n.otherwise)};
  }
  Expr::Node operator()(const Lambda& n) const { return Lambda{n.parameters, clone(n.body)}; }
  Expr::Node operator()(const Call& n) const {
    Call out{clone(n.callee), {}};
    for (const Argument& argument : n.arguments) {
      out.arguments.push_back({argument.name, clone(argument.value)});
    }
    return out;
  }
  Expr::Node operator()(const Subscript& n) const { return Subscript{clone(n.base), clone_all(n.indices)}; }
  Expr::Node operator()(const Slice& n) const { return Slice{clone(n.lo), clone(n.count)}; }
  Expr::Node operator()(const Attribute& n) const { return Attribute{clone(n.base), n.name}; }
};

struct StmtCloner {
  Stmt::Node operator()(const Assign& n) const { return Assign{clone(n.target), clone(n.value)}; }
  Stmt::Node operator()(const AugAssign& n) const { return AugAssign{n.op, clone(n.target), clone(n.value)}; }
  Stmt::Node operator()(const ExprStmt& n) const { return ExprStmt{clone(n.value)}; }
  Stmt::Node operator()(const For& n) const { return For{clone(n.target), clone(n.iterable), clone(n.body)}; }
  Stmt::Node operator()(const While& n) const { return While{clone(n.condition), clone(n.body)}; }
  Stmt::Node operator()(const If& n) const {
    If out;
    for (const Branch& branch : n.branches) {
      out.branches.push_back({branch.trivia, clone(branch.condition), clone(branch.body)});
    }
    out.has_else = n.has_else;
    out.else_trivia = n.else_trivia;
    out.else_body = clone(n.else_body);
    return out;
  }
  Stmt::Node operator()(const With& n) const {
    With out;
    for (const WithItem& item : n.items) {
      out.items.push_back({clone(item.context), clone(item.target)});
    }
    out.body = clone(n.body);
    return out;
  }
  Stmt::Node operator()(const Return& n) const { return Return{clone(n.value)}; }
  Stmt::Node operator()(const Break& n) const { return n; }
  Stmt::Node operator()(const Continue& n) const { return n; }
  Stmt::Node operator()(const Pass& n) const { return n; }
  Stmt::Node operator()(const Import& n) const { return n; }
  Stmt::Node operator()(const FunctionDef& n) const {
    FunctionDef out;
    for (const Decorator& decorator : n.decorators) {
      out.decorators.push_back({clone(decorator.value)});
    }
    out.name = n.name;
    for (const Parameter& parameter : n.parameters) {
      out.parameters.push_back({parameter.name, clone(parameter.annotation), clone(parameter.default_value)});
    }
    out.returns = clone(n.returns);
    out.body = clone(n.body);
    return out;
  }
};

// Mutable access to the parts of a node serves the const walks too: they do not write.
Expr& as_mutable(const Expr& expr) {
  return const_cast<Expr&>(expr);
}
Stmt& as_mutable(const Stmt& stmt) {
  return const_cast<Stmt&>(stmt);
}

// What a node says beside its children; equal strings and equal children make equal trees.
struct ExprHeading {
  std::string operator()(const Name& n) const { return "Name " + n.id; }
  std::string operator()(const IntLiteral& n) const { return fmt::format("Int {}", n.value); }
  std::string operator()(const FloatLiteral& n) const { return fmt::format("Float {}", n.value); }
  std::string operator()(const StringLiteral& n) const { return fmt::format("String {}:{}", n.value.size(), n.value); }
  std::string operator()(const BoolLiteral& n) const { return n.value ? "True" : "False"; }
  std::string operator()(const NoneLiteral&) const { return "None"; }
  std::string operator()(const TupleExpr&) const { return "Tuple"; }
  std::string operator()(const ListExpr&) const { return "List"; }
  std::string operator()(const DictExpr&) const { return "Dict"; }
  std::string operator()(const Unary& n) const { return fmt::format("Unary {}", spelling(n.op)); }
  std::string operator()(const Binary& n) const { return fmt::format("Binary {}", spelling(n.op)); }
  std::string operator()(const Compare& n) const {
    std::string out = "Compare";
    for (const auto& [op, operand] : n.rest) {
      out += fmt::format(" {}", spelling(op));
    }
    return out;
  }
  std::string operator()(const BoolExpr& n) const { return fmt::format("Bool {}", spelling(n.op)); }
  std::string operator()(const Conditional&) const { return "Conditional"; }
  std::string operator()(const Lambda& n) const {
    std::string out = "Lambda";
    for (const Identifier& parameter : n.parameters) {
      out += " " + parameter.text;
    }
    return out;
  }
  std::string operator()(const Call& n) const {
    std::string out = "Call";
    for (const Argument& argument : n.arguments) {
      out += argument.is_keyword() ? " " + argument.name.text + "=" : " _";
    }
    return out;
  }
  std::string operator()(const Subscript&) const { return "Subscript"; }
  std::string operator()(const Slice& n) const { return n.count != nullptr ? "Slice" : "FullSlice"; }
  std::string operator()(const Attribute& n) const { return "Attribute " + n.name.text; }
};

struct StmtHeading {
  std::string operator()(const Assign&) const { return "Assign"; }
  std::string operator()(const AugAssign& n) const { return fmt::format("AugAssign {}=", spelling(n.op)); }
  std::string operator()(const ExprStmt&) const { return "ExprStmt"; }
  std::string operator()(const For&) const { return "For"; }
  std::string operator()(const While&) const { return "While"; }
  std::string operator()(const If& n) const {
    return fmt::format("If {} branches{}", n.branches.size(), n.has_else ? " and else" : "");
  }
  std::string operator()(const With& n) const {
    std::string out = "With";
    for (const WithItem& item : n.items) {
      out += item.target != nullptr ? " as" : " _";
    }
    return out;
  }
  std::string operator()(const Return&) const { return "Return"; }
  std::string operator()(const Break&) const { return "Break"; }
  std::string operator()(const Continue&) const { return "Continue"; }
  std::string operator()(const Pass&) const { return "Pass"; }
  std::string operator()(const Import& n) const { return "Import " + n.text; }
  std::string operator()(const FunctionDef& n) const {
    std::string out = fmt::format("FunctionDef {} decorators={}", n.name.text, n.decorators.size());
    for (const Parameter& parameter : n.parameters) {
      out += fmt::format(" {}{}{}", parameter.name.text, parameter.annotation != nullptr ? ":" : "",
                         parameter.default_value != nullptr ? "=" : "");
    }
    return out + (n.returns != nullptr ? " ->" : "");
  }
};

void dump_expr(const Expr& expr, int depth, std::string& out) {
  out += fmt::format("{:{}}{}\n", "", depth * 2, std::visit(ExprHeading{}, expr.node));
  for (ExprPtr* child : children(as_mutable(expr))) {
    dump_expr(**child, depth + 1, out);
  }
}

void dump_block(const Block& block, int depth, std::string& out) {
  for (const StmtPtr& stmt : block.statements) {
    out += fmt::format("{:{}}{}\n", "", depth * 2, std::visit(StmtHeading{}, stmt->node));
    for (ExprPtr* child : expressions(*stmt)) {
      dump_expr(**child, depth + 1, out);
    }
    for (Block* body : bodies(*stmt)) {
      out += fmt::format("{:{}}Block\n", "", depth * 2 + 2);
      dump_block(*body, depth + 2, out);
    }
  }
}

bool is_same_trivia(const Trivia& a, const Trivia& b) {
  return a.leading == b.leading && a.trailing == b.trailing;
}

bool is_same_stmt(const Stmt& a, const Stmt& b, bool compare_comments);

bool is_same_block(const Block& a, const Block& b, bool compare_comments) {
  if (compare_comments && a.dangling != b.dangling) {
    return false;
  }
  return std::ranges::equal(a.statements, b.statements,
                            [&](const StmtPtr& x, const StmtPtr& y) { return is_same_stmt(*x, *y, compare_comments); });
}

bool is_same_stmt(const Stmt& a, const Stmt& b, bool compare_comments) {
  if (std::visit(StmtHeading{}, a.node) != std::visit(StmtHeading{}, b.node)) {
    return false;
  }
  if (compare_comments) {
    if (!is_same_trivia(a.trivia, b.trivia)) {
      return false;
    }
    if (const auto* x = a.as<If>()) {
      const auto* y = b.as<If>();
      if (!is_same_trivia(x->else_trivia, y->else_trivia)) {
        return false;
      }
      for (size_t i = 1; i < x->branches.size(); ++i) {
        if (!is_same_trivia(x->branches[i].trivia, y->branches[i].trivia)) {
          return false;
        }
      }
    }
  }
  auto same_expr = [](ExprPtr* x, ExprPtr* y) { return is_same(**x, **y); };
  auto same_body = [&](Block* x, Block* y) { return is_same_block(*x, *y, compare_comments); };
  return std::ranges::equal(expressions(as_mutable(a)), expressions(as_mutable(b)), same_expr) &&
         std::ranges::equal(bodies(as_mutable(a)), bodies(as_mutable(b)), same_body);
}

}  // namespace

std::string_view spelling(UnaryOp op) {
  static constexpr std::string_view kText[] = {"-", "+", "not", "~"};
  return kText[static_cast<size_t>(op)];
}
std::string_view spelling(BinaryOp op) {
  static constexpr std::string_view kText[] = {"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"};
  return kText[static_cast<size_t>(op)];
}
std::string_view spelling(CompareOp op) {
  static constexpr std::string_view kText[] = {"<", "<=", ">", ">=", "==", "!="};
  return kText[static_cast<size_t>(op)];
}
std::string_view spelling(BoolOp op) {
  return op == BoolOp::And ? "and" : "or";
}

diag::Span Parameter::span() const {
  diag::Span out = name.span;
  if (annotation != nullptr) {
    out = out.merged_with(annotation->span);
  }
  return default_value != nullptr ? out.merged_with(default_value->span) : out;
}

const Decorator* FunctionDef::find_decorator(std::string_view decorator_name) const {
  for (const Decorator& decorator : decorators) {
    if (decorator.value->is_name(decorator_name) || callee_name(*decorator.value) == decorator_name) {
      return &decorator;
    }
  }
  return nullptr;
}

std::vector<const FunctionDef*> Module::functions() const {
  std::vector<const FunctionDef*> out;
  for (const StmtPtr& stmt : body.statements) {
    if (const auto* function = stmt->as<FunctionDef>()) {
      out.push_back(function);
    }
  }
  return out;
}

const FunctionDef* Module::find_function(std::string_view name) const {
  for (const StmtPtr& stmt : body.statements) {
    if (const auto* function = stmt->as<FunctionDef>(); function != nullptr && function->name.text == name) {
      return function;
    }
  }
  return nullptr;
}

FunctionDef* Module::find_function(std::string_view name) {
  return const_cast<FunctionDef*>(std::as_const(*this).find_function(name));
}

ExprPtr clone(const Expr& expr) {
  return std::make_unique<Expr>(Expr{expr.span, std::visit(ExprCloner{}, expr.node)});
}
ExprPtr clone(const ExprPtr& expr) {
  return expr != nullptr ? clone(*expr) : nullptr;
}
StmtPtr clone(const Stmt& stmt) {
  return std::make_unique<Stmt>(Stmt{stmt.span, stmt.header_span, std::visit(StmtCloner{}, stmt.node), stmt.trivia});
}
Block clone(const Block& block) {
  Block out;
  for (const StmtPtr& stmt : block.statements) {
    out.statements.push_back(clone(*stmt));
  }
  out.dangling = block.dangling;
  return out;
}
Module clone(const Module& module) {
  return {module.file, clone(module.body)};
}

bool is_same(const Expr& a, const Expr& b) {
  return std::visit(ExprHeading{}, a.node) == std::visit(ExprHeading{}, b.node) &&
         std::ranges::equal(children(as_mutable(a)), children(as_mutable(b)),
                            [](ExprPtr* x, ExprPtr* y) { return is_same(**x, **y); });
}

bool is_same(const Module& a, const Module& b, bool compare_comments) {
  return is_same_block(a.body, b.body, compare_comments);
}

ExprPtr make_name(std::string_view id) {
  return make_expr(Name{std::string(id)});
}
ExprPtr make_int(int64_t value) {
  if (value >= 0) {
    return make_expr(IntLiteral{value, ""});
  }
  TW_CHECK(value > INT64_MIN);
  return make_expr(Unary{UnaryOp::Minus, make_expr(IntLiteral{-value, ""})});
}
ExprPtr make_float(double value) {
  if (value >= 0) {
    return make_expr(FloatLiteral{value, ""});
  }
  return make_expr(Unary{UnaryOp::Minus, make_expr(FloatLiteral{-value, ""})});
}
ExprPtr make_string(std::string_view value) {
  return make_expr(StringLiteral{std::string(value), ""});
}
ExprPtr make_binary(BinaryOp op, ExprPtr left, ExprPtr right) {
  return make_expr(Binary{op, std::move(left), std::move(right), {}});
}
ExprPtr make_compare(CompareOp op, ExprPtr left, ExprPtr right) {
  Compare out{std::move(left), {}};
  out.rest.emplace_back(op, std::move(right));
  return make_expr(std::move(out));
}
ExprPtr make_tuple(std::vector<ExprPtr> elements) {
  return make_expr(TupleExpr{std::move(elements)});
}
ExprPtr make_slice(ExprPtr lo, ExprPtr count) {
  return make_expr(Slice{std::move(lo), std::move(count)});
}
ExprPtr make_full_slice() {
  return make_expr(Slice{});
}
ExprPtr make_subscript(ExprPtr base, std::vector<ExprPtr> indices) {
  return make_expr(Subscript{std::move(base), std::move(indices)});
}
ExprPtr make_attribute(ExprPtr base, std::string_view name) {
  return make_expr(Attribute{std::move(base), {std::string(name), {}}});
}
ExprPtr make_call(ExprPtr callee, std::vector<ExprPtr> arguments) {
  Call out{std::move(callee), {}};
  for (ExprPtr& argument : arguments) {
    out.arguments.push_back({{}, std::move(argument)});
  }
  return make_expr(std::move(out));
}
ExprPtr make_call(std::string_view callee, std::vector<ExprPtr> arguments) {
  return make_call(make_name(callee), std::move(arguments));
}
void add_keyword(Expr& call, std::string_view name, ExprPtr value) {
  auto* node = call.as<Call>();
  TW_CHECK(node != nullptr);
  node->arguments.push_back({{std::string(name), {}}, std::move(value)});
}
StmtPtr make_assign(std::string_view target, ExprPtr value) {
  return make_stmt(Assign{make_name(target), std::move(value)});
}
StmtPtr make_expr_stmt(ExprPtr value) {
  return make_stmt(ExprStmt{std::move(value)});
}

const Expr* find_keyword(const Call& call, std::string_view name) {
  for (const Argument& argument : call.arguments) {
    if (argument.name.text == name) {
      return argument.value.get();
    }
  }
  return nullptr;
}
Expr* find_keyword(Call& call, std::string_view name) {
  return const_cast<Expr*>(find_keyword(std::as_const(call), name));
}

std::string_view callee_name(const Expr& expr) {
  const auto* call = expr.as<Call>();
  const auto* name = call != nullptr ? call->callee->as<Name>() : nullptr;
  return name != nullptr ? std::string_view(name->id) : std::string_view();
}

std::vector<Block*> bodies(Stmt& stmt) {
  std::vector<Block*> out;
  if (auto* n = stmt.as<For>()) {
    out.push_back(&n->body);
  } else if (auto* n = stmt.as<While>()) {
    out.push_back(&n->body);
  } else if (auto* n = stmt.as<With>()) {
    out.push_back(&n->body);
  } else if (auto* n = stmt.as<FunctionDef>()) {
    out.push_back(&n->body);
  } else if (auto* n = stmt.as<If>()) {
    for (Branch& branch : n->branches) {
      out.push_back(&branch.body);
    }
    if (n->has_else) {
      out.push_back(&n->else_body);
    }
  }
  return out;
}

std::vector<ExprPtr*> expressions(Stmt& stmt) {
  std::vector<ExprPtr*> out;
  auto add = [&](ExprPtr& expr) {
    if (expr != nullptr) {
      out.push_back(&expr);
    }
  };
  if (auto* n = stmt.as<Assign>()) {
    add(n->target);
    add(n->value);
  } else if (auto* n = stmt.as<AugAssign>()) {
    add(n->target);
    add(n->value);
  } else if (auto* n = stmt.as<ExprStmt>()) {
    add(n->value);
  } else if (auto* n = stmt.as<For>()) {
    add(n->target);
    add(n->iterable);
  } else if (auto* n = stmt.as<While>()) {
    add(n->condition);
  } else if (auto* n = stmt.as<If>()) {
    for (Branch& branch : n->branches) {
      add(branch.condition);
    }
  } else if (auto* n = stmt.as<With>()) {
    for (WithItem& item : n->items) {
      add(item.context);
      add(item.target);
    }
  } else if (auto* n = stmt.as<Return>()) {
    add(n->value);
  } else if (auto* n = stmt.as<FunctionDef>()) {
    for (Decorator& decorator : n->decorators) {
      add(decorator.value);
    }
    for (Parameter& parameter : n->parameters) {
      add(parameter.annotation);
      add(parameter.default_value);
    }
    add(n->returns);
  }
  return out;
}

std::vector<ExprPtr*> children(Expr& expr) {
  std::vector<ExprPtr*> out;
  auto add = [&](ExprPtr& child) {
    if (child != nullptr) {
      out.push_back(&child);
    }
  };
  auto add_all = [&](std::vector<ExprPtr>& list) { std::ranges::for_each(list, add); };
  if (auto* n = expr.as<TupleExpr>()) {
    add_all(n->elements);
  } else if (auto* n = expr.as<ListExpr>()) {
    add_all(n->elements);
  } else if (auto* n = expr.as<DictExpr>()) {
    for (auto& [key, value] : n->entries) {
      add(key);
      add(value);
    }
  } else if (auto* n = expr.as<Unary>()) {
    add(n->operand);
  } else if (auto* n = expr.as<Binary>()) {
    add(n->left);
    add(n->right);
  } else if (auto* n = expr.as<Compare>()) {
    add(n->first);
    for (auto& [op, operand] : n->rest) {
      add(operand);
    }
  } else if (auto* n = expr.as<BoolExpr>()) {
    add_all(n->operands);
  } else if (auto* n = expr.as<Conditional>()) {
    add(n->condition);
    add(n->then);
    add(n->otherwise);
  } else if (auto* n = expr.as<Lambda>()) {
    add(n->body);
  } else if (auto* n = expr.as<Call>()) {
    add(n->callee);
    for (Argument& argument : n->arguments) {
      add(argument.value);
    }
  } else if (auto* n = expr.as<Subscript>()) {
    add(n->base);
    add_all(n->indices);
  } else if (auto* n = expr.as<Slice>()) {
    add(n->lo);
    add(n->count);
  } else if (auto* n = expr.as<Attribute>()) {
    add(n->base);
  }
  return out;
}

void substitute(ExprPtr& expr, std::string_view from, const Expr& to) {
  if (expr->is_name(from)) {
    expr = clone(to);
    return;
  }
  if (const auto* lambda = expr->as<Lambda>()) {
    auto hides = [&](const Identifier& parameter) { return parameter.text == from; };
    if (std::ranges::any_of(lambda->parameters, hides)) {
      return;
    }
  }
  for (ExprPtr* child : children(*expr)) {
    substitute(*child, from, to);
  }
}

std::string dump(const Module& module) {
  std::string out;
  dump_block(module.body, 0, out);
  return out;
}

}  // namespace tw::syntax
