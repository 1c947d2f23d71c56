// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "verify/replay_problem.h"

namespace tw::verify {

namespace {

using emulator::Problem;
using emulator::TilePtr;

// Sets one element of an input in the problem's bytes.
Status set_element(const ir::Function& f, Problem& problem, const TouchedElement& element, double value) {
  for (uint32_t i = 0; i < f.tensors.size(); ++i) {
    const ir::Tensor& tensor = f.tensors[i];
    if (tensor.name != element.tensor) {
      continue;
    }
    auto bound = emulator::bind(f, problem);
    if (!bound) {
      return fail(bound.error().message);
    }
    auto bytes = emulator::initial_bytes(f, problem, ir::TensorId(i));
    if (!bytes) {
      return fail(bytes.error().message);
    }
    int64_t at = 0;
    for (size_t d = 0; d < element.coords.size(); ++d) {
      at += element.coords[d] * bound->tensors[i].strides[d];
    }
    const int width = size_bytes(tensor.element);
    std::vector<std::byte> changed = *std::move(bytes);
    if (at < 0 || (at + 1) * width > static_cast<int64_t>(changed.size())) {
      return fail("`" + tensor.name + "` has no such element");
    }
    encode(tensor.element, value, changed.data() + at * width);
    problem.tensors[tensor.name].bytes = std::make_shared<const std::vector<std::byte>>(std::move(changed));
    return {};
  }
  return fail("no tensor `" + element.tensor + "`");
}

std::string text_of(const TouchedElement& element) {
  std::string coords;
  for (int64_t c : element.coords) {
    coords += (coords.empty() ? "" : ", ") + std::to_string(c);
  }
  return element.tensor + "[" + coords + "]";
}

// One run: the outputs, and what the watched value held each time. Control flow does not depend on data, so that two
// runs of one problem see the same executions in the same order; the shorter list ends where its run stopped.
struct Seen {
  Outputs outputs;
  std::vector<TilePtr> values;
};

// Runs one of the two programs and watches the value that the counterexample speaks about.
class Watcher {
 public:
  Watcher(const ir::Function& source, const ir::Function& lowered, const Counterexample& cex)
      : f_(cex.watched && cex.watched->in_source ? source : lowered), element_(cex.element) {
    if (!cex.watched) {
      return;
    }
    ir::for_each_op(f_.body, [&](const ir::Op& op) {
      if (op.id != cex.watched->op_id) {
        return;
      }
      if (const auto* check = std::get_if<ir::CheckOp>(&op.body)) {
        watch_ = emulator::Watch{op.id, check->value, {}};
      } else if (const auto* mma = std::get_if<ir::MmaOp>(&op.body)) {
        watch_ = emulator::Watch{op.id, mma->result, {}};
      }
    });
  }

  [[nodiscard]] const ir::Function& function() const { return f_; }
  [[nodiscard]] bool watches() const { return watch_.has_value(); }

  [[nodiscard]] Seen run(const Problem& problem) const {
    Seen seen;
    std::optional<emulator::Watch> watch = watch_;
    if (watch) {
      watch->seen = [&](const TilePtr& tile) { seen.values.push_back(tile); };
    }
    seen.outputs = outputs_of(f_, problem, std::move(watch));
    return seen;
  }

  // The element that the counterexample names, in each execution.
  [[nodiscard]] double number(const TilePtr& tile) const {
    size_t at = 0;
    for (size_t d = 0; d < tile->shape.size(); ++d) {
      const int64_t c = d < element_.size() ? element_[d] : 0;
      at =
          at * static_cast<size_t>(tile->shape[d]) + static_cast<size_t>(std::clamp<int64_t>(c, 0, tile->shape[d] - 1));
    }
    return emulator::as_double(tile->data, at);
  }

 private:
  const ir::Function& f_;
  const std::vector<int64_t>& element_;
  std::optional<emulator::Watch> watch_;
};

bool differ(double a, double b) {
  return !(a == b || (std::isnan(a) && std::isnan(b)));
}

// Everything else is zero: a value that changes with the second factor, and not without the first, is their product.
Result<std::string> replay_product(const Watcher& watcher, const Problem& zero, const Counterexample& cex) {
  const ir::Function& f = watcher.function();
  Problem one = zero, other = zero, both = zero;
  // Factors may be products or sums themselves: all elements of one are 1 together.
  std::string product;
  for (const TouchedElement& element : cex.elements) {
    TW_TRY_STATUS(set_element(f, element.is_second ? other : one, element, 1));
    TW_TRY_STATUS(set_element(f, both, element, 1));
    product += (product.empty() ? "" : " * ") + text_of(element);
  }
  const Seen first = watcher.run(one), second = watcher.run(other), together = watcher.run(both);
  if (watcher.watches()) {
    const size_t count = std::min({first.values.size(), second.values.size(), together.values.size()});
    for (size_t i = 0; i < count; ++i) {
      const double value = watcher.number(together.values[i]);
      if (differ(value, watcher.number(first.values[i])) && differ(value, watcher.number(second.values[i]))) {
        return "with all other elements zero, the accumulator shows the product " + product;
      }
    }
    return fail("the product does not show in the accumulator");
  }
  for (const Seen* seen : {&first, &second, &together}) {
    if (seen->outputs.error) {
      return fail("the reading stops: " + seen->outputs.error->message);
    }
  }
  if (first_difference(f, first.outputs, together.outputs, 1e-3) &&
      first_difference(f, second.outputs, together.outputs, 1e-3)) {
    return "with all other elements zero, the outputs show the product " + product;
  }
  return fail("the product does not show in an output");
}

// Everything else is zero, the factors of one summand are one: a sum of n is that summand, n times.
Result<std::string> replay_summand(const Watcher& watcher, Problem problem, const Counterexample& cex) {
  std::string names;
  for (const TouchedElement& element : cex.elements) {
    TW_TRY_STATUS(set_element(watcher.function(), problem, element, 1));
    names += (names.empty() ? "" : " * ") + text_of(element);
  }
  for (const TilePtr& tile : watcher.run(problem).values) {
    const double value = watcher.number(tile);
    if (value > 1 && value == std::floor(value)) {
      return "with all other elements zero, " + names + " = 1 is added " + std::to_string(static_cast<int64_t>(value)) +
             " times";
    }
  }
  return fail("the summand does not show more than once");
}

// By perturbation, one element at a time: in some execution the value depends on exactly the elements that are said to
// reach it; elements that are said to be missing everywhere change it nowhere.
Result<std::string> replay_reach(const Watcher& watcher, const Problem& base, const Counterexample& cex) {
  const ir::Function& f = watcher.function();
  const Seen before = watcher.run(base);
  if (!watcher.watches() && before.outputs.error) {
    return fail("the reading stops: " + before.outputs.error->message);
  }
  std::vector<bool> as_stated(before.values.size(), true);
  bool some_reach = false, all_missing = true;
  std::string finding;
  for (const TouchedElement& element : cex.elements) {
    bool changes_output = false, changes_anywhere = false;
    std::vector<bool> changes(before.values.size(), false);
    for (double value : {64.0, -64.0}) {
      Problem changed = base;
      TW_TRY_STATUS(set_element(f, changed, element, value));
      const Seen after = watcher.run(changed);
      for (size_t i = 0; i < std::min(before.values.size(), after.values.size()); ++i) {
        const emulator::Tile& a = *before.values[i];
        const emulator::Tile& b = *after.values[i];
        changes[i] = changes[i] || differ(watcher.number(before.values[i]), watcher.number(after.values[i]));
        for (size_t e = 0; e < a.count() && !changes_anywhere; ++e) {
          changes_anywhere = differ(emulator::as_double(a.data, e), emulator::as_double(b.data, e));
        }
      }
      if (!watcher.watches()) {
        if (after.outputs.error) {
          return fail("the reading stops: " + after.outputs.error->message);
        }
        changes_output = changes_output || first_difference(f, before.outputs, after.outputs, 1e-6).has_value();
      }
    }
    if (!watcher.watches()) {
      if (changes_output == element.reaches) {
        return (changes_output ? "outputs change with " : "no output changes with ") + text_of(element);
      }
      continue;
    }
    some_reach = some_reach || element.reaches;
    all_missing = all_missing && !element.reaches && !changes_anywhere;
    for (size_t i = 0; i < changes.size(); ++i) {
      as_stated[i] = as_stated[i] && changes[i] == element.reaches;
    }
    finding += (finding.empty() ? "" : ", ") +
               std::string(element.reaches ? "the value changes with " : "the value does not change with ") +
               text_of(element);
  }
  if (watcher.watches() &&
      (some_reach ? std::ranges::find(as_stated, true) != as_stated.end() : all_missing && !before.values.empty())) {
    return finding;
  }
  return fail("the elements do not behave as stated");
}

}  // namespace

Result<std::string> replay_tags(const ir::Function& source, const ir::Function& lowered, const Counterexample& cex) {
  if (cex.elements.empty()) {
    return fail("no element of an input is involved");
  }
  const Watcher watcher(source, lowered, cex);
  Problem problem = with_scalars(watcher.function(), problem_of(cex));
  const bool is_product = cex.is_product && cex.elements.size() >= 2;
  problem.default_fill = is_product || cex.is_summand ? emulator::Fill::Zero : emulator::Fill::Grid;
  if (cex.is_summand) {
    return replay_summand(watcher, std::move(problem), cex);
  }
  return is_product ? replay_product(watcher, problem, cex) : replay_reach(watcher, problem, cex);
}

}  // namespace tw::verify
