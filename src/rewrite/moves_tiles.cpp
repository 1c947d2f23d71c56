// SPDX-License-Identifier: Apache-2.0
// Moves that change sizes and order: tiles, threads, raster.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "rewrite/kernel_view.h"
#include "rewrite/moves.h"

namespace tw::rewrite {
namespace {

using syntax::Expr;

constexpr int64_t kSmallestTile = 8;
constexpr int64_t kLargestTile = 256;
constexpr int64_t kLargestRowTile = 16384;

// Const parameters by the role that the text gives them.
struct TileConstants {
  // Divisors in tiles(cdiv(M, BM), ...): the block's tile of the output.
  std::vector<std::string> block;
  // Divisors in range(cdiv(K, BK)): the step of an inner loop.
  std::vector<std::string> step;
  // All others that occur in shapes.
  std::vector<std::string> other;
};

void divisors_in(const KernelView& view, Expr& root, std::vector<std::string>& out) {
  syntax::walk(root, [&](Expr& expr) {
    Expr* divisor = nullptr;
    if (syntax::callee_name(expr) == "cdiv" && expr.as<syntax::Call>()->arguments.size() == 2) {
      divisor = expr.as<syntax::Call>()->arguments[1].value.get();
    } else if (auto* binary = expr.as<syntax::Binary>();
               binary != nullptr && binary->op == syntax::BinaryOp::FloorDiv) {
      divisor = binary->right.get();
    }
    const auto* name = divisor == nullptr ? nullptr : divisor->as<syntax::Name>();
    if (name != nullptr && view.constant(name->id) != nullptr && std::ranges::find(out, name->id) == out.end()) {
      out.push_back(name->id);
    }
  });
}

TileConstants tile_constants(const KernelView& view) {
  TileConstants out;
  for (Expr* call : view.calls("tiles")) {
    divisors_in(view, *call, out.block);
  }
  for (std::string_view loop : {"range", "pipeline"}) {
    for (Expr* call : view.calls(loop)) {
      divisors_in(view, *call, out.step);
    }
  }
  for (const ConstParam& constant : view.consts()) {
    const bool has_role = std::ranges::find(out.block, constant.name) != out.block.end() ||
                          std::ranges::find(out.step, constant.name) != out.step.end();
    if (!has_role && constant.value && *constant.value >= kSmallestTile) {
      out.other.push_back(constant.name);
    }
  }
  return out;
}

// The program with const parameters at new defaults (and no list of configurations); nullopt when nothing changes.
std::optional<Rewritten> with_constants(const syntax::Module& module, std::string_view move,
                                        const std::vector<std::pair<std::string, int64_t>>& values) {
  syntax::Module copy = syntax::clone(module);
  auto view = KernelView::of(copy);
  std::string title;
  for (const auto& [name, value] : values) {
    const ConstParam* constant = view->constant(name);
    if (constant == nullptr || !constant->value || *constant->value == value) {
      continue;
    }
    constant->parameter->default_value = syntax::make_int(value);
    title += fmt::format("{}{} = {}", title.empty() ? "" : ", ", name, value);
  }
  if (title.empty()) {
    return std::nullopt;
  }
  std::erase_if(view->decorator().as<syntax::Call>()->arguments,
                [](const syntax::Argument& a) { return a.name.text == "configs"; });
  return Rewritten{std::string(move), std::move(title), std::move(copy)};
}

std::vector<std::pair<std::string, int64_t>> scaled(const KernelView& view, const std::vector<std::string>& names,
                                                    double factor, int64_t largest) {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const std::string& name : names) {
    const ConstParam* constant = view.constant(name);
    if (constant == nullptr || !constant->value) {
      continue;
    }
    const auto value = static_cast<int64_t>(static_cast<double>(*constant->value) * factor);
    if (value >= 1 && value <= largest) {
      out.emplace_back(name, value);
    }
  }
  return out;
}

void add(std::vector<Rewritten>& out, std::optional<Rewritten> rewritten) {
  if (rewritten) {
    out.push_back(*std::move(rewritten));
  }
}

std::optional<int64_t> threads_of(const KernelView& view) {
  const Expr* threads = syntax::find_keyword(*view.decorator().as<syntax::Call>(), "threads");
  return threads == nullptr ? std::nullopt : view.evaluate(*threads);
}

}  // namespace

std::vector<Rewritten> enlarge_tiles(const syntax::Module& module) {
  syntax::Module probe = syntax::clone(module);
  auto view = KernelView::of(probe);
  std::vector<Rewritten> out;
  if (!view || view->calls("mma").empty()) {
    return out;
  }
  const TileConstants roles = tile_constants(*view);
  for (double factor : {4.0, 2.0}) {
    std::vector<std::pair<std::string, int64_t>> values = scaled(*view, roles.block, factor, kLargestTile / 2);
    if (values.size() == roles.block.size()) {
      std::vector<std::pair<std::string, int64_t>> both = values;
      for (auto& step : scaled(*view, roles.step, 2.0, kLargestTile / 4)) {
        both.push_back(step);
      }
      add(out, with_constants(module, "enlarge_tiles", both));
      add(out, with_constants(module, "enlarge_tiles", values));
    }
  }
  return out;
}

std::vector<Rewritten> resize_tiles(const syntax::Module& module) {
  syntax::Module probe = syntax::clone(module);
  auto view = KernelView::of(probe);
  std::vector<Rewritten> out;
  if (!view) {
    return out;
  }
  const TileConstants roles = tile_constants(*view);
  const bool is_contraction = !view->calls("mma").empty();
  const int64_t largest = is_contraction ? kLargestTile : kLargestRowTile;
  add(out, with_constants(module, "resize_tiles", scaled(*view, roles.block, 2.0, largest)));
  for (const std::vector<std::string>* names : {&roles.block, &roles.step, &roles.other}) {
    for (const std::string& name : *names) {
      for (double factor : {2.0, 0.5}) {
        add(out, with_constants(module, "resize_tiles", scaled(*view, {name}, factor, largest)));
      }
    }
  }
  return out;
}

std::vector<Rewritten> change_threads(const syntax::Module& module) {
  std::vector<Rewritten> out;
  syntax::Module probe = syntax::clone(module);
  auto probe_view = KernelView::of(probe);
  if (!probe_view) {
    return out;
  }
  const int64_t now = threads_of(*probe_view).value_or(128);
  for (int64_t threads : {now * 2, now / 2}) {
    if (threads < 32 || threads > 1024) {
      continue;
    }
    syntax::Module copy = syntax::clone(module);
    auto view = KernelView::of(copy);
    set_keyword(view->decorator(), "threads", syntax::make_int(threads));
    // A grid of warps was chosen for the old number.
    for (Expr* mma : view->calls("mma")) {
      std::erase_if(mma->as<syntax::Call>()->arguments,
                    [](const syntax::Argument& a) { return a.name.text == "warps"; });
    }
    out.push_back({"change_threads", fmt::format("{} threads", threads), std::move(copy)});
  }
  return out;
}

std::vector<Rewritten> group_raster(const syntax::Module& module) {
  std::vector<Rewritten> out;
  for (int64_t group : {8, 4}) {
    syntax::Module copy = syntax::clone(module);
    auto view = KernelView::of(copy);
    if (!view || view->calls("mma").empty()) {
      return out;
    }
    bool changed = false;
    for (Expr* call : view->calls("tiles")) {
      auto* node = call->as<syntax::Call>();
      const auto extents =
          std::ranges::count_if(node->arguments, [](const syntax::Argument& a) { return !a.is_keyword(); });
      if (extents == 2 && syntax::find_keyword(*node, "order") == nullptr) {
        set_keyword(*call, "order", syntax::make_call("grouped", syntax::exprs(syntax::make_int(group))));
        changed = true;
      }
    }
    if (changed) {
      out.push_back({"group_raster", fmt::format("groups of {} block rows", group), std::move(copy)});
    }
  }
  return out;
}

}  // namespace tw::rewrite
