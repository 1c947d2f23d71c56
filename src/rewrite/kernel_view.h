// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/ast.h"

namespace tw::rewrite {

// What moves need to know of a kernel's text: names, shapes and the places where tiles move. Pointers lead into the
// module.
struct TensorParam {
  std::string name;
  // In, Out, InOut, Acc, Work.
  std::string direction;
  // Element type as written.
  std::string element;
  std::vector<syntax::Expr*> dims;
  bool has_strides = false;
};

struct ConstParam {
  std::string name;
  std::optional<int64_t> value;
  syntax::Parameter* parameter = nullptr;
};

// `name = load(object[...], ...)` or `copy(source[...], destination, ...)`, with the block that holds the statement.
struct MemoryStmt {
  syntax::Stmt* stmt = nullptr;
  syntax::Block* block = nullptr;
  size_t index = 0;
  syntax::Call* call = nullptr;
  // The call as an expression, so that keywords can be added.
  syntax::Expr* call_expr = nullptr;
  // Name that is assigned, "" for a copy.
  std::string target;
  // Object that is read.
  std::string object;
};

class KernelView {
 public:
  // The first kernel of the module; nullopt when there is none.
  static std::optional<KernelView> of(syntax::Module& module);

  [[nodiscard]] syntax::FunctionDef& function() const { return *function_; }
  [[nodiscard]] const std::vector<TensorParam>& tensors() const { return tensors_; }
  [[nodiscard]] const TensorParam* tensor(std::string_view name) const;
  [[nodiscard]] const std::vector<ConstParam>& consts() const { return consts_; }
  [[nodiscard]] const ConstParam* constant(std::string_view name) const;

  // Value of an expression over literals and const parameters.
  [[nodiscard]] std::optional<int64_t> evaluate(const syntax::Expr& expr) const;

  // All loads and copies, outer statements first.
  [[nodiscard]] std::vector<MemoryStmt> memory_statements() const;
  // Calls of `callee` anywhere in the body.
  [[nodiscard]] std::vector<syntax::Expr*> calls(std::string_view callee) const;
  // Assignments `name = shared(...)`, also inside tuples of equal length.
  [[nodiscard]] syntax::Call* shared_declaration(std::string_view name) const;

  // The decorator `@kernel(...)` as a call; a bare `@kernel` becomes one.
  [[nodiscard]] syntax::Expr& decorator() const;

 private:
  syntax::FunctionDef* function_ = nullptr;
  std::vector<TensorParam> tensors_;
  std::vector<ConstParam> consts_;
};

// The name that a subscript or a plain name stands for: `A[...]`, `A.T[...]`, `A` give "A"; else "".
std::string object_name(const syntax::Expr& expr);

// Sets keyword `name` of a call to `value`, replacing the one that is there.
void set_keyword(syntax::Expr& call, std::string_view name, syntax::ExprPtr value);

// Puts a statement before position `index` of a block.
void insert(syntax::Block& block, size_t index, syntax::StmtPtr stmt);

}  // namespace tw::rewrite
