// SPDX-License-Identifier: Apache-2.0
// Moves that change how data travels: through shared memory, in wider pieces, asynchronously, by tensor cores.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/element_type.h"
#include "rewrite/kernel_view.h"
#include "rewrite/moves.h"
#include "syntax/printer.h"

namespace tw::rewrite {
namespace {

using syntax::Expr;
using syntax::ExprPtr;

constexpr int64_t kVectorBytes = 16;

int64_t element_bytes(std::string_view element) {
  auto type = element_type_of(element);
  return type ? size_bytes(*type) : 0;
}

// Does the call have this keyword, spelled as a plain name?
bool has_via(const syntax::Call& call, std::string_view atom) {
  const Expr* via = syntax::find_keyword(call, "via");
  return via != nullptr && via->is_name(atom);
}

// `A[...].T` -> the subscript and true.
std::pair<Expr*, bool> strip_transpose(Expr& expr) {
  auto* attribute = expr.as<syntax::Attribute>();
  if (attribute != nullptr && attribute->name.text == "T") {
    return {attribute->base.get(), true};
  }
  return {&expr, false};
}

// Extents of the slices of a subscript, cloned; empty when one of them is not a slice with a count.
std::vector<ExprPtr> slice_counts(Expr& expr) {
  std::vector<ExprPtr> out;
  auto* subscript = expr.as<syntax::Subscript>();
  if (subscript == nullptr) {
    return {};
  }
  for (const ExprPtr& index : subscript->indices) {
    const auto* slice = index->as<syntax::Slice>();
    if (slice == nullptr) {
      continue;
    }
    if (!slice->count) {
      return {};
    }
    out.push_back(syntax::clone(*slice->count));
  }
  return out;
}

// A name that the kernel does not use yet.
std::string fresh_name(const KernelView& view, std::string wanted) {
  std::set<std::string> used;
  for (const syntax::Parameter& parameter : view.function().parameters) {
    used.insert(parameter.name.text);
  }
  syntax::walk(view.function().body, [&](syntax::Stmt& stmt) {
    for (ExprPtr* root : syntax::expressions(stmt)) {
      syntax::walk(**root, [&](Expr& expr) {
        if (const auto* name = expr.as<syntax::Name>()) {
          used.insert(name->id);
        }
      });
    }
  });
  while (used.contains(wanted)) {
    wanted += "_";
  }
  return wanted;
}

// Where declarations go: before the first statement of the body that has a body of its own.
size_t declaration_index(const syntax::Block& body) {
  for (size_t i = 0; i < body.statements.size(); ++i) {
    const syntax::Stmt& stmt = *body.statements[i];
    if (stmt.is<syntax::For>() || stmt.is<syntax::While>() || stmt.is<syntax::If>() || stmt.is<syntax::With>()) {
      return i;
    }
  }
  return body.statements.size();
}

// Names that stand as operands of an mma.
std::set<std::string> mma_operands(const KernelView& view) {
  std::set<std::string> out;
  for (Expr* call : view.calls("mma")) {
    auto& arguments = call->as<syntax::Call>()->arguments;
    for (size_t i = 0; i < arguments.size() && i < 2; ++i) {
      out.insert(object_name(*arguments[i].value));
    }
  }
  return out;
}

std::vector<Rewritten> one(std::string_view move, std::string title, syntax::Module module) {
  std::vector<Rewritten> out;
  out.push_back({std::string(move), std::move(title), std::move(module)});
  return out;
}

}  // namespace

std::vector<Rewritten> stage_in_shared(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  if (!view) {
    return {};
  }
  const std::set<std::string> operands = mma_operands(*view);
  std::string staged;
  std::vector<syntax::StmtPtr> declarations;
  syntax::Block* copies_block = nullptr;
  size_t copies_index = 0;
  std::vector<syntax::StmtPtr> copies;
  for (MemoryStmt& load : view->memory_statements()) {
    const TensorParam* tensor = view->tensor(load.object);
    const bool is_operand = operands.contains(load.target);
    if (load.target.empty() || tensor == nullptr || tensor->direction != "In" || !is_operand ||
        load.block == &view->function().body) {
      continue;
    }
    if (copies_block != nullptr && copies_block != load.block) {
      continue;
    }
    auto [source, is_transposed] = strip_transpose(*load.call->arguments[0].value);
    std::vector<ExprPtr> shape = slice_counts(*source);
    if (shape.size() != 2) {
      continue;
    }
    const std::string name = fresh_name(*view, "s" + load.object);
    std::vector<ExprPtr> arguments;
    arguments.push_back(syntax::make_name(tensor->element));
    arguments.push_back(syntax::make_tuple(std::move(shape)));
    declarations.push_back(syntax::make_assign(name, syntax::make_call("shared", std::move(arguments))));
    copies.push_back(syntax::make_expr_stmt(
        syntax::make_call("copy", syntax::exprs(syntax::clone(*source), syntax::make_name(name)))));
    if (copies_block == nullptr) {
      copies_block = load.block;
      copies_index = load.index;
    }
    ExprPtr from = syntax::make_name(name);
    load.call->arguments[0].value = is_transposed ? syntax::make_attribute(std::move(from), "T") : std::move(from);
    staged += (staged.empty() ? "" : ", ") + load.object;
  }
  if (copies.empty()) {
    return {};
  }
  for (auto it = copies.rbegin(); it != copies.rend(); ++it) {
    insert(*copies_block, copies_index, std::move(*it));
  }
  syntax::Block& body = view->function().body;
  const size_t at = declaration_index(body);
  for (auto it = declarations.rbegin(); it != declarations.rend(); ++it) {
    insert(body, at, std::move(*it));
  }
  return one("stage_in_shared", staged + " through shared tiles", std::move(copy));
}

std::vector<Rewritten> align_rows(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  if (!view) {
    return {};
  }
  std::string known;
  for (Expr* call : view->calls("assume")) {
    known += syntax::print(*call);
  }
  std::vector<ExprPtr> conditions;
  std::set<std::string> done;
  std::string title;
  for (const TensorParam& tensor : view->tensors()) {
    const auto* name = tensor.dims.empty() ? nullptr : tensor.dims.back()->as<syntax::Name>();
    const int64_t bytes = element_bytes(tensor.element);
    if (name == nullptr || bytes == 0 || tensor.has_strides || tensor.dims.size() < 2 ||
        view->constant(name->id) != nullptr) {
      continue;
    }
    const int64_t elements = kVectorBytes / bytes;
    if (known.find(fmt::format("{} % ", name->id)) != std::string::npos || !done.insert(name->id).second) {
      continue;
    }
    conditions.push_back(syntax::make_compare(
        syntax::CompareOp::Equal,
        syntax::make_binary(syntax::BinaryOp::Mod, syntax::make_name(name->id), syntax::make_int(elements)),
        syntax::make_int(0)));
    title += fmt::format("{}{} % {} == 0", title.empty() ? "" : ", ", name->id, elements);
  }
  if (conditions.empty()) {
    return {};
  }
  insert(view->function().body, 0, syntax::make_expr_stmt(syntax::make_call("assume", std::move(conditions))));
  return one("align_rows", title, std::move(copy));
}

namespace {

// Calls `change(call, row bytes, element bytes)` for each shared declaration of rank 2 or more; true when one changed.
template <class Change>
bool change_shared(KernelView& view, Change change) {
  bool changed = false;
  for (Expr* expr : view.calls("shared")) {
    auto* call = expr->as<syntax::Call>();
    if (call->arguments.size() < 2 || syntax::find_keyword(*call, "layout") != nullptr) {
      continue;
    }
    const auto* element = call->arguments[0].value->as<syntax::Name>();
    const auto* shape = call->arguments[1].value->as<syntax::TupleExpr>();
    if (element == nullptr || shape == nullptr || shape->elements.size() < 2) {
      continue;
    }
    auto columns = view.evaluate(*shape->elements.back());
    const int64_t bytes = element_bytes(element->id);
    if (columns && bytes > 0) {
      changed = change(*expr, *columns * bytes, bytes) || changed;
    }
  }
  return changed;
}

void remove_keyword(Expr& call, std::string_view name) {
  std::erase_if(call.as<syntax::Call>()->arguments, [&](const syntax::Argument& a) { return a.name.text == name; });
}

}  // namespace

std::vector<Rewritten> pad_shared(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  const bool changed =
      view && change_shared(*view, [](Expr& call, int64_t, int64_t bytes) {
        const auto& node = *call.as<syntax::Call>();
        if (syntax::find_keyword(node, "pad") != nullptr || syntax::find_keyword(node, "swizzle") != nullptr) {
          return false;
        }
        set_keyword(call, "pad", syntax::make_int(kVectorBytes / bytes));
        return true;
      });
  return changed ? one("pad_shared", "one 16-byte chunk of padding a row", std::move(copy)) : std::vector<Rewritten>{};
}

std::vector<Rewritten> swizzle_shared(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  const bool changed = view && change_shared(*view, [](Expr& call, int64_t row_bytes, int64_t) {
                         if (syntax::find_keyword(*call.as<syntax::Call>(), "swizzle") != nullptr) {
                           return false;
                         }
                         for (int64_t width : {128, 64, 32}) {
                           if (row_bytes % width == 0) {
                             remove_keyword(call, "pad");
                             set_keyword(call, "swizzle", syntax::make_int(width));
                             return true;
                           }
                         }
                         return false;
                       });
  return changed ? one("swizzle_shared", "rows swizzled in 16-byte chunks", std::move(copy)) : std::vector<Rewritten>{};
}

std::vector<Rewritten> use_tensor_cores(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  if (!view) {
    return {};
  }
  // Element type of a name: of the shared tile or tensor it was loaded from.
  auto element_of = [&](const std::string& value) -> std::string {
    for (MemoryStmt& load : view->memory_statements()) {
      if (load.target != value) {
        continue;
      }
      if (const TensorParam* tensor = view->tensor(load.object)) {
        return tensor->element;
      }
      if (syntax::Call* shared = view->shared_declaration(load.object)) {
        return object_name(*shared->arguments[0].value);
      }
    }
    return {};
  };
  bool changed = false;
  std::set<std::string> operands;
  bool is_16_bit = false;
  for (Expr* expr : view->calls("mma")) {
    auto* call = expr->as<syntax::Call>();
    if (call->arguments.size() < 2 || !(has_via(*call, "fma") || syntax::find_keyword(*call, "via") == nullptr)) {
      continue;
    }
    const std::string name = object_name(*call->arguments[0].value);
    const std::string element = element_of(name);
    if (element != "bf16" && element != "f16" && element != "tf32") {
      continue;
    }
    is_16_bit = element != "tf32";
    set_keyword(*expr, "via", syntax::make_name(is_16_bit ? "mma_m16n8k16" : "mma_m16n8k8"));
    remove_keyword(*expr, "warps");
    operands.insert(name);
    operands.insert(object_name(*call->arguments[1].value));
    changed = true;
  }
  if (!changed) {
    return {};
  }
  for (MemoryStmt& load : view->memory_statements()) {
    if (is_16_bit && operands.contains(load.target) && view->shared_declaration(load.object) != nullptr) {
      set_keyword(*load.call_expr, "via", syntax::make_name("ldmatrix"));
    }
  }
  return one("use_tensor_cores", is_16_bit ? "mma.m16n8k16, operands by ldmatrix" : "mma.m16n8k8", std::move(copy));
}

std::vector<Rewritten> copy_async(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  if (!view) {
    return {};
  }
  std::string title;
  for (MemoryStmt& stmt : view->memory_statements()) {
    const bool is_copy_in = stmt.target.empty() && stmt.call->arguments.size() >= 2 &&
                            view->tensor(stmt.object) != nullptr &&
                            view->shared_declaration(object_name(*stmt.call->arguments[1].value)) != nullptr;
    if (is_copy_in && !has_via(*stmt.call, "cp_async")) {
      set_keyword(*stmt.call_expr, "via", syntax::make_name("cp_async"));
      title += (title.empty() ? "" : ", ") + stmt.object;
    }
  }
  return title.empty() ? std::vector<Rewritten>{} : one("copy_async", title + " by cp.async", std::move(copy));
}

std::vector<Rewritten> pipeline_loop(const syntax::Module& module) {
  std::vector<Rewritten> out;
  for (int64_t stages : {3, 2, 4, 5}) {
    syntax::Module copy = syntax::clone(module);
    auto view = KernelView::of(copy);
    bool changed = false;
    if (!view) {
      return out;
    }
    syntax::walk(view->function().body, [&](syntax::Stmt& stmt) {
      auto* loop = stmt.as<syntax::For>();
      if (loop == nullptr) {
        return;
      }
      const bool has_copies = std::ranges::any_of(loop->body.statements, [](const syntax::StmtPtr& inner) {
        const auto* expression = inner->as<syntax::ExprStmt>();
        return expression != nullptr && syntax::callee_name(*expression->value) == "copy" &&
               has_via(*expression->value->as<syntax::Call>(), "cp_async");
      });
      const std::string_view callee = syntax::callee_name(*loop->iterable);
      if (!has_copies) {
        return;
      }
      if (callee == "range") {
        loop->iterable = syntax::make_call("pipeline", syntax::exprs(std::move(loop->iterable)));
        set_keyword(*loop->iterable, "stages", syntax::make_int(stages));
        changed = true;
      } else if (callee == "pipeline") {
        const Expr* now = syntax::find_keyword(*loop->iterable->as<syntax::Call>(), "stages");
        if (now != nullptr && view->evaluate(*now) != stages) {
          set_keyword(*loop->iterable, "stages", syntax::make_int(stages));
          changed = true;
        }
      }
    });
    if (changed) {
      out.push_back({"pipeline_loop", fmt::format("{} stages", stages), std::move(copy)});
    }
  }
  return out;
}

std::vector<Rewritten> stage_epilogue(const syntax::Module& module) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  if (!view) {
    return {};
  }
  syntax::Block* found_block = nullptr;
  size_t found_index = 0;
  std::vector<syntax::Block*> blocks{&view->function().body};
  for (size_t b = 0; b < blocks.size() && found_block == nullptr; ++b) {
    for (size_t i = 0; i < blocks[b]->statements.size(); ++i) {
      syntax::Stmt& stmt = *blocks[b]->statements[i];
      for (syntax::Block* inner : syntax::bodies(stmt)) {
        blocks.push_back(inner);
      }
      auto* expression = stmt.as<syntax::ExprStmt>();
      if (expression == nullptr || syntax::callee_name(*expression->value) != "store") {
        continue;
      }
      auto* call = expression->value->as<syntax::Call>();
      const bool is_from_shared =
          call->arguments.size() >= 2 && syntax::callee_name(*call->arguments[0].value) == "load";
      const TensorParam* tensor =
          call->arguments.size() < 2 ? nullptr : view->tensor(object_name(*call->arguments[1].value));
      if (tensor != nullptr && !is_from_shared && slice_counts(*call->arguments[1].value).size() == 2) {
        found_block = blocks[b];
        found_index = i;
      }
    }
  }
  const bool has_mma = !view->calls("mma").empty();
  if (found_block == nullptr || !has_mma) {
    return {};
  }
  auto* call = found_block->statements[found_index]->as<syntax::ExprStmt>()->value->as<syntax::Call>();
  const TensorParam& tensor = *view->tensor(object_name(*call->arguments[1].value));
  const std::string name = fresh_name(*view, "s" + tensor.name);
  ExprPtr declaration = syntax::make_call(
      "shared",
      syntax::exprs(syntax::make_name(tensor.element), syntax::make_tuple(slice_counts(*call->arguments[1].value))));
  set_keyword(*declaration, "pad",
              syntax::make_int(kVectorBytes / std::max<int64_t>(1, element_bytes(tensor.element))));
  syntax::StmtPtr leave = syntax::make_expr_stmt(
      syntax::make_call("store", syntax::exprs(syntax::make_call("load", syntax::exprs(syntax::make_name(name))),
                                               std::move(call->arguments[1].value))));
  call->arguments[1].value = syntax::make_name(name);
  insert(*found_block, found_index + 1, std::move(leave));
  syntax::Block& body = view->function().body;
  insert(body, declaration_index(body), syntax::make_assign(name, std::move(declaration)));
  return one("stage_epilogue", fmt::format("`{}` leaves through shared memory", tensor.name), std::move(copy));
}

}  // namespace tw::rewrite
