// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "diag/source.h"

// The tree of one `.tw.py` file. It says what was written, no more: names are not resolved, constants not folded.
//
// Nodes own their children (`ExprPtr`, `StmtPtr`); copy a subtree with clone(). Spans of nodes made by a program
// transformation are not valid (`Span{}`); print the module and parse it again to get real ones.
// Ask a node what it is by type: `if (const auto* call = expr.as<Call>()) ...`, or std::visit on `node`.

namespace tw::syntax {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;

struct Identifier {
  std::string text;
  diag::Span span;
};

// ----------------------------------------------------------------------------------------------------------
// expressions

enum class UnaryOp : uint8_t { Minus, Plus, Not, Invert };
enum class BinaryOp : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, ShiftLeft, ShiftRight, BitAnd, BitOr, BitXor };
enum class CompareOp : uint8_t { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };
enum class BoolOp : uint8_t { And, Or };

std::string_view spelling(UnaryOp op);
std::string_view spelling(BinaryOp op);
std::string_view spelling(CompareOp op);
std::string_view spelling(BoolOp op);

struct Name {
  std::string id;
};
// `text` is as written (`0x10`, `1_000`); empty for a literal that was made, not read.
struct IntLiteral {
  int64_t value = 0;
  std::string text;
};
struct FloatLiteral {
  double value = 0;
  std::string text;
};
// `text` is the literal with its quotes, empty when made; `value` is what it denotes.
struct StringLiteral {
  std::string value;
  std::string text;
};
struct BoolLiteral {
  bool value = false;
};
struct NoneLiteral {};
struct TupleExpr {
  std::vector<ExprPtr> elements;
};
struct ListExpr {
  std::vector<ExprPtr> elements;
};
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
struct Binary {
  BinaryOp op;
  ExprPtr left;
  ExprPtr right;
  diag::Span op_span;
};
// `first op0 rest0 op1 rest1 ...`, Python's chain: true iff every neighbouring pair compares so.
struct Compare {
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct BoolExpr {
  BoolOp op;
  std::vector<ExprPtr> operands;
};
// `then if condition else otherwise`
struct Conditional {
  ExprPtr condition;
  ExprPtr then;
  ExprPtr otherwise;
};
struct Lambda {
  std::vector<Identifier> parameters;
  ExprPtr body;
};
struct Argument {
  // Empty text: positional.
  Identifier name;
  ExprPtr value;
  [[nodiscard]] bool is_keyword() const { return !name.text.empty(); }
};
struct Call {
  ExprPtr callee;
  std::vector<Argument> arguments;
};
struct Subscript {
  ExprPtr base;
  std::vector<ExprPtr> indices;
};
// Only as an index: `lo:+count`, or `:` (both null).
struct Slice {
  ExprPtr lo;
  ExprPtr count;
};
struct Attribute {
  ExprPtr base;
  Identifier name;
};

struct Expr {
  using Node =
      std::variant<Name, IntLiteral, FloatLiteral, StringLiteral, BoolLiteral, NoneLiteral, TupleExpr, ListExpr,
                   DictExpr, Unary, Binary, Compare, BoolExpr, Conditional, Lambda, Call, Subscript, Slice, Attribute>;
  diag::Span span;
  Node node;
  // Levels below and including this one, as the parser found it; 0 for a node that was made.
  uint16_t height = 0;

  template <class T>
  [[nodiscard]] T* as() {
    return std::get_if<T>(&node);
  }
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&node);
  }
  template <class T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(node);
  }
  [[nodiscard]] bool is_name(std::string_view id) const {
    const auto* name = as<Name>();
    return name != nullptr && name->id == id;
  }
};

// -----------------------------------------------------------------------------------------------------------
// statements

// What stands around a statement and has no meaning.
struct Trivia {
  // Lines before it: a comment with its `#`, or "" for an empty line. Comments inside the statement's brackets come
  // here too.
  std::vector<std::string> leading;
  // The comment at the end of the statement's (first) line, or "".
  std::string trailing;
};

struct Block {
  std::vector<StmtPtr> statements;
  // Comment lines after the last statement.
  std::vector<std::string> dangling;
};

// `target = value`; the target is a Name or a TupleExpr of targets.
struct Assign {
  ExprPtr target;
  ExprPtr value;
};
// `target op= value`: the same as `target = target op value`.
struct AugAssign {
  BinaryOp op;
  ExprPtr target;
  ExprPtr value;
};
struct ExprStmt {
  ExprPtr value;
};
struct For {
  ExprPtr target;
  ExprPtr iterable;
  Block body;
};
struct While {
  ExprPtr condition;
  Block body;
};
struct Branch {
  Trivia trivia;
  ExprPtr condition;
  Block body;
};
// branches[0] is `if`, the others `elif`. branches[0].trivia is not used: the statement's own is.
struct If {
  std::vector<Branch> branches;
  bool has_else = false;
  Trivia else_trivia;
  Block else_body;
};
struct WithItem {
  ExprPtr context;
  // May be null.
  ExprPtr target;
};
struct With {
  std::vector<WithItem> items;
  Block body;
};
struct Return {
  // May be null.
  ExprPtr value;
};
struct Break {};
struct Continue {};
struct Pass {};
// `import a.b` or `from a.b import *`; kept for printing, without meaning.
struct Import {
  std::string text;
};
struct Decorator {
  ExprPtr value;
};
struct Parameter {
  Identifier name;
  // Either may be null.
  ExprPtr annotation;
  ExprPtr default_value;
  [[nodiscard]] diag::Span span() const;
};
struct FunctionDef {
  std::vector<Decorator> decorators;
  Identifier name;
  std::vector<Parameter> parameters;
  // May be null.
  ExprPtr returns;
  Block body;

  // The decorator `@name` or `@name(...)`, else null.
  [[nodiscard]] const Decorator* find_decorator(std::string_view decorator_name) const;
};

struct Stmt {
  using Node = std::variant<Assign, AugAssign, ExprStmt, For, While, If, With, Return, Break, Continue, Pass, Import,
                            FunctionDef>;
  // The whole statement with its body, from its first token to its last.
  diag::Span span;
  // The statement's own line(s): all of a simple statement; up to the colon of one with a body.
  diag::Span header_span;
  Node node;
  Trivia trivia;

  template <class T>
  [[nodiscard]] T* as() {
    return std::get_if<T>(&node);
  }
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&node);
  }
  template <class T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(node);
  }
};

// FunctionDefs stand only here, never in another body.
struct Module {
  diag::FileId file;
  Block body;

  [[nodiscard]] std::vector<const FunctionDef*> functions() const;
  [[nodiscard]] const FunctionDef* find_function(std::string_view name) const;
  [[nodiscard]] FunctionDef* find_function(std::string_view name);
};

// No tree that the parser returns is higher than this (so recursion over it is safe); builders keep to it too.
inline constexpr int kMaxExprHeight = 100;

// ------------------------------------------------------------------------------------------------- copying and
// comparing

ExprPtr clone(const Expr& expr);
StmtPtr clone(const Stmt& stmt);
Block clone(const Block& block);
Module clone(const Module& module);
// Null stays null.
ExprPtr clone(const ExprPtr& expr);

// Equal but for spans and for how literals are spelled. Comments count only with `compare_comments`.
bool is_same(const Expr& a, const Expr& b);
bool is_same(const Module& a, const Module& b, bool compare_comments = false);

// -------------------------------------------------------------------------------------------------------------
// builders

template <class T>
ExprPtr make_expr(T node, diag::Span span = {}) {
  return std::make_unique<Expr>(Expr{span, Expr::Node(std::move(node))});
}
template <class T>
StmtPtr make_stmt(T node, diag::Span span = {}) {
  return std::make_unique<Stmt>(Stmt{span, span, Stmt::Node(std::move(node)), {}});
}
ExprPtr make_name(std::string_view id);
ExprPtr make_int(int64_t value);
ExprPtr make_float(double value);
ExprPtr make_string(std::string_view value);
ExprPtr make_binary(BinaryOp op, ExprPtr left, ExprPtr right);
ExprPtr make_compare(CompareOp op, ExprPtr left, ExprPtr right);
ExprPtr make_tuple(std::vector<ExprPtr> elements);
ExprPtr make_slice(ExprPtr lo, ExprPtr count);
ExprPtr make_full_slice();
ExprPtr make_subscript(ExprPtr base, std::vector<ExprPtr> indices);
ExprPtr make_attribute(ExprPtr base, std::string_view name);
// The callee and positional arguments; add keywords with add_keyword.
ExprPtr make_call(std::string_view callee, std::vector<ExprPtr> arguments = {});
ExprPtr make_call(ExprPtr callee, std::vector<ExprPtr> arguments);
// REQUIRES: `call` is a Call.
void add_keyword(Expr& call, std::string_view name, ExprPtr value);
StmtPtr make_assign(std::string_view target, ExprPtr value);
StmtPtr make_expr_stmt(ExprPtr value);

// A vector of move-only pointers cannot be written as a braced list.
template <class... Ptrs>
std::vector<ExprPtr> exprs(Ptrs... pointers) {
  std::vector<ExprPtr> out;
  out.reserve(sizeof...(pointers));
  (out.push_back(std::move(pointers)), ...);
  return out;
}

// --------------------------------------------------------------------------------------------------------------
// looking

// The keyword argument `name` of a call, or null.
const Expr* find_keyword(const Call& call, std::string_view name);
Expr* find_keyword(Call& call, std::string_view name);
// The name called, if the callee is a plain name, else "".
std::string_view callee_name(const Expr& expr);

// Calls `visit(expr)` for `expr` and everything below it, parents first.
template <class Visitor>
void walk(Expr& expr, Visitor&& visit);
// Calls `visit(stmt)` for every statement of the block, outer ones first.
template <class Visitor>
void walk(Block& block, Visitor&& visit);

// The bodies of a compound statement (none for a simple one).
std::vector<Block*> bodies(Stmt& stmt);
// The expressions that stand directly in a statement; pointers into it, so that they can be replaced.
std::vector<ExprPtr*> expressions(Stmt& stmt);
// The direct children of an expression; absent ones are left out.
std::vector<ExprPtr*> children(Expr& expr);

template <class Visitor>
void walk(Expr& expr, Visitor&& visit) {
  visit(expr);
  for (ExprPtr* child : children(expr)) {
    walk(**child, visit);
  }
}

template <class Visitor>
void walk(Block& block, Visitor&& visit) {
  for (StmtPtr& stmt : block.statements) {
    visit(*stmt);
    for (Block* body : bodies(*stmt)) {
      walk(*body, visit);
    }
  }
}

// Replaces every use of the name `from` by a copy of `to` (parameters of lambdas hide it).
void substitute(ExprPtr& expr, std::string_view from, const Expr& to);

// One line a node, indented: for tests and for people who debug.
std::string dump(const Module& module);

}  // namespace tw::syntax
