// SPDX-License-Identifier: Apache-2.0
// Single small edits. Each kind enumerates its places in the program; edit number n of a kind is applied to a fresh
// copy.
#include <algorithm>
#include <fmt/format.h>

#include "rewrite/kernel_view.h"
#include "rewrite/moves.h"
#include "syntax/printer.h"

namespace tw::rewrite {
namespace {

using syntax::Expr;
using syntax::ExprPtr;

constexpr size_t kMostEditsPerKind = 40;

// What an edit did, and where in the text the program said something else.
struct Edit {
  std::string title;
  diag::Span span;
};
using EditKind = std::optional<Edit> (*)(KernelView& view, size_t number);

// All expressions of the body, with the slot that holds each.
std::vector<ExprPtr*> all_slots(KernelView& view) {
  std::vector<ExprPtr*> out;
  syntax::walk(view.function().body, [&](syntax::Stmt& stmt) {
    std::vector<ExprPtr*> todo = syntax::expressions(stmt);
    while (!todo.empty()) {
      ExprPtr* slot = todo.back();
      todo.pop_back();
      out.push_back(slot);
      for (ExprPtr* child : syntax::children(**slot)) {
        todo.push_back(child);
      }
    }
  });
  std::ranges::stable_sort(out, {}, [](ExprPtr* slot) { return (*slot)->span.begin; });
  return out;
}

// The number-th slot for which `fits` holds.
template <class Fits>
ExprPtr* nth_slot(KernelView& view, size_t number, Fits fits) {
  for (ExprPtr* slot : all_slots(view)) {
    if (fits(**slot) && number-- == 0) {
      return slot;
    }
  }
  return nullptr;
}

// Replaces a slot's expression; remembers what stood there.
Edit replace(ExprPtr& slot, ExprPtr with) {
  Edit edit{fmt::format("`{}` becomes `{}`", syntax::print(*slot), syntax::print(*with)), slot->span};
  slot = std::move(with);
  return edit;
}

// sync="manual" -> the compiler adds the order that is missing.
std::optional<Edit> let_compiler_synchronize(KernelView& view, size_t number) {
  auto& arguments = view.decorator().as<syntax::Call>()->arguments;
  auto found = std::ranges::find_if(arguments, [](const syntax::Argument& a) { return a.name.text == "sync"; });
  if (number > 0 || found == arguments.end()) {
    return std::nullopt;
  }
  Edit edit{"the compiler places missing barriers (sync=\"manual\" removed)", found->value->span};
  arguments.erase(found);
  return edit;
}

// A smaller pending count waits for more groups.
std::optional<Edit> wait_for_more(KernelView& view, size_t number) {
  auto calls = view.calls("drain");
  const bool is_zero = number >= calls.size();
  if (number >= 2 * calls.size()) {
    return std::nullopt;
  }
  Expr& call = *calls[number % calls.size()];
  Expr* pending = syntax::find_keyword(*call.as<syntax::Call>(), "pending");
  if (pending == nullptr) {
    return Edit{"", call.span};
  }
  const diag::Span span = call.span;
  const std::string before = syntax::print(*pending);
  ExprPtr wanted = is_zero ? syntax::make_int(0)
                           : syntax::make_binary(syntax::BinaryOp::Sub, syntax::clone(*pending), syntax::make_int(1));
  if (auto value = view.evaluate(*wanted); value && *value < 0) {
    return Edit{"", span};
  }
  const std::string after = syntax::print(*wanted);
  set_keyword(call, "pending", std::move(wanted));
  return Edit{fmt::format("drain waits for more groups: pending={} becomes {}", before, after), span};
}

// A barrier of the block before or after a statement.
std::optional<Edit> add_barrier(KernelView& view, size_t number) {
  std::vector<std::pair<syntax::Block*, size_t>> places;
  std::vector<syntax::Block*> todo{&view.function().body};
  for (size_t b = 0; b < todo.size(); ++b) {
    for (size_t i = 0; i < todo[b]->statements.size(); ++i) {
      places.emplace_back(todo[b], i);
      for (syntax::Block* inner : syntax::bodies(*todo[b]->statements[i])) {
        todo.push_back(inner);
      }
    }
  }
  if (number >= places.size()) {
    return std::nullopt;
  }
  auto [block, index] = places[number];
  const diag::Span span = block->statements[index]->header_span;
  const std::string text = syntax::print(*block->statements[index]);
  insert(*block, index, syntax::make_expr_stmt(syntax::make_call("sync")));
  return Edit{fmt::format("a barrier before `{}`", text.substr(0, text.find('\n'))), span};
}

// K // BK leaves the remainder out.
std::optional<Edit> round_up(KernelView& view, size_t number) {
  ExprPtr* slot = nth_slot(view, number, [](const Expr& expr) {
    const auto* binary = expr.as<syntax::Binary>();
    return binary != nullptr && binary->op == syntax::BinaryOp::FloorDiv;
  });
  if (slot == nullptr) {
    return std::nullopt;
  }
  auto* binary = (*slot)->as<syntax::Binary>();
  ExprPtr rounded =
      syntax::make_call("cdiv", syntax::exprs(syntax::clone(*binary->left), syntax::clone(*binary->right)));
  return replace(*slot, std::move(rounded));
}

// `x - c`, `x + c` in a bound or an index -> `x`.
std::optional<Edit> drop_offset(KernelView& view, size_t number) {
  ExprPtr* slot = nth_slot(view, number, [](const Expr& expr) {
    const auto* binary = expr.as<syntax::Binary>();
    return binary != nullptr && (binary->op == syntax::BinaryOp::Sub || binary->op == syntax::BinaryOp::Add) &&
           binary->right->is<syntax::IntLiteral>();
  });
  return slot == nullptr ? std::nullopt
                         : std::optional(replace(*slot, syntax::clone(*(*slot)->as<syntax::Binary>()->left)));
}

// The start of a slice along one operand, copied from another slice of the same length: k-slices that disagree.
std::optional<Edit> copy_slice_start(KernelView& view, size_t number) {
  std::vector<ExprPtr*> starts;
  for (ExprPtr* slot : all_slots(view)) {
    auto* slice = (*slot)->as<syntax::Slice>();
    if (slice != nullptr && slice->lo && slice->count) {
      starts.push_back(slot);
    }
  }
  for (ExprPtr* to : starts) {
    for (ExprPtr* from : starts) {
      auto* a = (*to)->as<syntax::Slice>();
      auto* b = (*from)->as<syntax::Slice>();
      if (to != from && syntax::is_same(*a->count, *b->count) && !syntax::is_same(*a->lo, *b->lo) && number-- == 0) {
        return replace(a->lo, syntax::clone(*b->lo));
      }
    }
  }
  return std::nullopt;
}

// The first index of one subscript, copied from another subscript: versions of a ring that disagree.
std::optional<Edit> copy_version(KernelView& view, size_t number) {
  std::vector<ExprPtr*> indices;
  for (ExprPtr* slot : all_slots(view)) {
    auto* subscript = (*slot)->as<syntax::Subscript>();
    if (subscript != nullptr && !subscript->indices.empty() && !subscript->indices[0]->is<syntax::Slice>() &&
        view.shared_declaration(object_name(**slot)) != nullptr) {
      indices.push_back(&subscript->indices[0]);
    }
  }
  for (ExprPtr* to : indices) {
    for (ExprPtr* from : indices) {
      if (to != from && !syntax::is_same(**to, **from) && number-- == 0) {
        return replace(*to, syntax::clone(**from));
      }
    }
  }
  return std::nullopt;
}

// `x * C : + N` whose tiles overlap or leave gaps: C becomes N.
std::optional<Edit> match_stride(KernelView& view, size_t number) {
  for (ExprPtr* slot : all_slots(view)) {
    auto* slice = (*slot)->as<syntax::Slice>();
    auto* product = slice != nullptr && slice->lo ? slice->lo->as<syntax::Binary>() : nullptr;
    if (product == nullptr || product->op != syntax::BinaryOp::Mul || !slice->count ||
        syntax::is_same(*product->right, *slice->count) || syntax::is_same(*product->left, *slice->count)) {
      continue;
    }
    if (number-- == 0) {
      return replace(product->right, syntax::clone(*slice->count));
    }
  }
  return std::nullopt;
}

// A divisor of a tile count that differs from the tile: cdiv(M, C) -> cdiv(M, N) for every tile constant N.
std::optional<Edit> change_divisor(KernelView& view, size_t number) {
  for (Expr* call : view.calls("cdiv")) {
    auto& arguments = call->as<syntax::Call>()->arguments;
    if (arguments.size() != 2) {
      continue;
    }
    for (const ConstParam& constant : view.consts()) {
      if (!arguments[1].value->is_name(constant.name) && number-- == 0) {
        return replace(arguments[1].value, syntax::make_name(constant.name));
      }
    }
  }
  return std::nullopt;
}

// Pads must be neutral: -inf before a maximum.
std::optional<Edit> change_fill(KernelView& view, size_t number) {
  auto loads = view.calls("load");
  if (number >= 2 * loads.size()) {
    return std::nullopt;
  }
  Expr& call = *loads[number / 2];
  const bool to_zero = number % 2 == 1;
  Edit edit{to_zero ? "pads are 0" : "pads are -inf", call.span};
  set_keyword(call, "fill",
              to_zero ? syntax::make_float(0.0)
                      : syntax::make_expr(syntax::Unary{syntax::UnaryOp::Minus, syntax::make_name("inf")}));
  return edit;
}

// A layout, an instruction or a fixed width that the data does not fit: let the compiler choose.
std::optional<Edit> release_choice(KernelView& view, size_t number) {
  constexpr std::string_view kChoices[] = {"via", "layout", "warps", "swizzle", "pad"};
  for (std::string_view callee : {"load", "store", "copy", "shared", "mma"}) {
    for (Expr* call : view.calls(callee)) {
      for (std::string_view choice : kChoices) {
        if (syntax::find_keyword(*call->as<syntax::Call>(), choice) != nullptr && number-- == 0) {
          std::erase_if(call->as<syntax::Call>()->arguments,
                        [&](const syntax::Argument& a) { return a.name.text == choice; });
          return Edit{fmt::format("the compiler chooses `{}` of `{}`", choice, callee), call->span};
        }
      }
    }
  }
  return std::nullopt;
}

// pin(x, layout) -> x
std::optional<Edit> unpin(KernelView& view, size_t number) {
  ExprPtr* slot = nth_slot(view, number, [](const Expr& expr) {
    return syntax::callee_name(expr) == "pin" && !expr.as<syntax::Call>()->arguments.empty();
  });
  return slot == nullptr
             ? std::nullopt
             : std::optional(replace(*slot, syntax::clone(*(*slot)->as<syntax::Call>()->arguments[0].value)));
}

// x.T -> x, and a memory operand or an mma operand x -> x.T
std::optional<Edit> transpose(KernelView& view, size_t number) {
  auto is_transposed = [](const Expr& expr) {
    const auto* attribute = expr.as<syntax::Attribute>();
    return attribute != nullptr && attribute->name.text == "T";
  };
  std::vector<ExprPtr*> transposed, plain;
  for (ExprPtr* slot : all_slots(view)) {
    if (is_transposed(**slot)) {
      transposed.push_back(slot);
    }
  }
  for (std::string_view callee : {"load", "mma"}) {
    for (Expr* expr : view.calls(callee)) {
      auto* call = expr->as<syntax::Call>();
      for (size_t i = 0; i < std::min<size_t>(call->arguments.size(), callee == "mma" ? 2 : 1); ++i) {
        ExprPtr& value = call->arguments[i].value;
        if (!is_transposed(*value) && !call->arguments[i].is_keyword() && !object_name(*value).empty()) {
          plain.push_back(&value);
        }
      }
    }
  }
  if (number < transposed.size()) {
    ExprPtr& slot = *transposed[number];
    return replace(slot, syntax::clone(*slot->as<syntax::Attribute>()->base));
  }
  if (number < transposed.size() + plain.size()) {
    ExprPtr& slot = *plain[number - transposed.size()];
    return replace(slot, syntax::make_attribute(syntax::clone(*slot), "T"));
  }
  return std::nullopt;
}

// A name defined inside a loop body's prologue count: range(S) -> range(S - 1).
std::optional<Edit> shorten_range(KernelView& view, size_t number) {
  auto ranges = view.calls("range");
  if (number >= ranges.size() || ranges[number]->as<syntax::Call>()->arguments.size() != 1) {
    return number >= ranges.size() ? std::nullopt : std::optional(Edit{"", {}});
  }
  ExprPtr& bound = ranges[number]->as<syntax::Call>()->arguments[0].value;
  return replace(bound, syntax::make_binary(syntax::BinaryOp::Sub, syntax::clone(*bound), syntax::make_int(1)));
}

// An index that leaves its buffer of S slots: x -> x % S.
std::optional<Edit> wrap_index(KernelView& view, size_t number) {
  for (ExprPtr* slot : all_slots(view)) {
    auto* subscript = (*slot)->as<syntax::Subscript>();
    if (subscript == nullptr || subscript->indices.empty() || subscript->indices[0]->is<syntax::Slice>()) {
      continue;
    }
    syntax::Call* declaration = view.shared_declaration(object_name(**slot));
    const auto* shape = declaration == nullptr ? nullptr : declaration->arguments[1].value->as<syntax::TupleExpr>();
    const bool has_ring = declaration != nullptr && syntax::find_keyword(*declaration, "ring") != nullptr;
    if (shape != nullptr && !has_ring && shape->elements.size() >= 3 && number-- == 0) {
      ExprPtr& index = subscript->indices[0];
      return replace(
          index, syntax::make_binary(syntax::BinaryOp::Mod, syntax::clone(*index), syntax::clone(*shape->elements[0])));
    }
  }
  return std::nullopt;
}

// One more slot: first in every ring (operands that are copied together run out of slots together), then in each alone.
std::optional<Edit> deepen_ring(KernelView& view, size_t number) {
  std::vector<Expr*> rings;
  for (Expr* declaration : view.calls("shared")) {
    if (syntax::find_keyword(*declaration->as<syntax::Call>(), "ring") != nullptr) {
      rings.push_back(declaration);
    }
  }
  if (number > rings.size() || rings.empty()) {
    return std::nullopt;
  }
  diag::Span span;
  for (size_t i = 0; i < rings.size(); ++i) {
    if (number == 0 || number == i + 1) {
      Expr* ring = syntax::find_keyword(*rings[i]->as<syntax::Call>(), "ring");
      span = ring->span;
      set_keyword(*rings[i], "ring",
                  syntax::make_binary(syntax::BinaryOp::Add, syntax::clone(*ring), syntax::make_int(1)));
    }
  }
  return Edit{number == 0 ? "one more slot in every ring" : "one more slot in the ring", span};
}

// The two indices of a store change places.
std::optional<Edit> swap_store_indices(KernelView& view, size_t number) {
  auto stores = view.calls("store");
  if (number >= stores.size()) {
    return std::nullopt;
  }
  auto* call = stores[number]->as<syntax::Call>();
  auto* region = call->arguments.size() > 1 ? call->arguments[1].value->as<syntax::Subscript>() : nullptr;
  if (region == nullptr || region->indices.size() != 2) {
    return Edit{"", {}};
  }
  std::swap(region->indices[0], region->indices[1]);
  return Edit{"the indices of the store change places", stores[number]->span};
}

constexpr EditKind kKinds[] = {let_compiler_synchronize,
                               wait_for_more,
                               round_up,
                               copy_slice_start,
                               copy_version,
                               match_stride,
                               wrap_index,
                               change_fill,
                               change_divisor,
                               drop_offset,
                               release_choice,
                               unpin,
                               transpose,
                               shorten_range,
                               deepen_ring,
                               swap_store_indices,
                               add_barrier};

bool touches(diag::Span a, diag::Span b) {
  return a.is_valid() && b.is_valid() && a.file == b.file && a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::vector<Rewritten> repairs(const syntax::Module& module, std::span<const diag::Span> places) {
  std::vector<Rewritten> near;
  std::vector<Rewritten> far;
  for (EditKind kind : kKinds) {
    for (size_t number = 0; number < kMostEditsPerKind; ++number) {
      syntax::Module copy = syntax::clone(module);
      auto view = KernelView::of(copy);
      if (!view) {
        return near;
      }
      auto edit = kind(*view, number);
      if (!edit) {
        break;
      }
      // A place of this kind where nothing can be changed.
      if (edit->title.empty()) {
        continue;
      }
      const bool is_near = std::ranges::any_of(places, [&](diag::Span place) { return touches(place, edit->span); });
      (is_near ? near : far).push_back({"repair", std::move(edit->title), std::move(copy)});
    }
  }
  for (Rewritten& aligned : align_rows(module)) {
    near.push_back({"repair", "assume " + aligned.title, std::move(aligned.module)});
  }
  std::ranges::move(far, std::back_inserter(near));
  return near;
}

}  // namespace tw::rewrite
