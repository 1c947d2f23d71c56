// SPDX-License-Identifier: Apache-2.0
#include "verify/context.h"

namespace tw::verify {

Obligation& Context::add(std::string kind, std::string claim, diag::Span span) {
  Obligation obligation;
  obligation.id = kind + ":" + std::to_string(numbers[kind]++);
  obligation.kind = std::move(kind);
  obligation.claim = std::move(claim);
  obligation.span = span;
  obligation.verdict = Verdict::Proved;
  obligations.push_back(std::move(obligation));
  return obligations.back();
}

void Context::assume(Facts& facts, const Place& place, const std::vector<int64_t>& shape) {
  for (CondId c : place.path) {
    facts.assume(c);
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    IntId axis = values().axis(static_cast<int>(i));
    facts.assume(ints().non_negative(axis));
    facts.assume(ints().lt(axis, ints().constant(shape[i])));
  }
}

std::optional<domain::Assignment> find_witness(Context& context, const Facts& facts,
                                               const std::vector<CondId>& broken) {
  std::vector<CondId> conditions = facts.conditions();
  conditions.insert(conditions.end(), broken.begin(), broken.end());
  const domain::SampleOptions options{.budget = 20'000 * context.options.effort, .whole_range = 12};
  // Sizes that are not 0 first: where nothing is loaded, nothing can be shown.
  std::vector<CondId> telling = conditions;
  for (ir::SymbolId size : context.lowered.sizes) {
    const VarId variable = context.env.named(context.lowered.exprs.symbol(size).name);
    telling.push_back(context.ints().lt(context.ints().constant(0), context.ints().var(variable)));
  }
  if (auto found = domain::find_assignment(context.ints(), telling, options)) {
    return found;
  }
  if (auto found = domain::find_assignment(context.ints(), conditions, options)) {
    return found;
  }
  // Sizes that the emulator can execute, the smaller the better.
  for (int64_t most : {80, 300, 1000}) {
    std::vector<CondId> small = telling;
    for (ir::SymbolId size : context.lowered.sizes) {
      const VarId variable = context.env.named(context.lowered.exprs.symbol(size).name);
      small.push_back(context.ints().le(context.ints().var(variable), context.ints().constant(most)));
    }
    if (auto found = context.fallback.satisfy(context.ints(), small)) {
      return found;
    }
  }
  return std::nullopt;
}

std::string format_coords(const domain::Ints& ints, const std::vector<IntId>& coords,
                          const domain::Assignment& values) {
  std::string text;
  for (IntId c : coords) {
    auto value = ints.evaluate(c, values);
    text += (text.empty() ? "" : ", ") + (value ? std::to_string(*value) : std::string("?"));
  }
  return "[" + text + "]";
}

void describe(Context& context, const Place& place, const domain::Assignment& values, Counterexample& cex) {
  const ir::Function& f = context.lowered;
  cex.sizes.clear();
  for (ir::SymbolId size : f.sizes) {
    const std::string& name = f.exprs.symbol(size).name;
    auto it = values.find(context.env.named(name));
    cex.sizes.emplace_back(name, it == values.end() ? 1 : it->second);
  }
  for (const ir::ScalarParameter& scalar : f.scalars) {
    if (scalar.symbol.is_valid()) {
      auto it = values.find(context.env.named(scalar.name));
      cex.sizes.emplace_back(scalar.name, it == values.end() ? 0 : it->second);
    }
  }
  for (const analysis::LoopVar& loop : place.loops) {
    auto it = values.find(loop.var);
    if (it == values.end()) {
      continue;
    }
    (loop.is_tile ? cex.tile : cex.iterations).emplace_back(loop.name, it->second);
  }
}

namespace {

// The term with the side of each choice that is taken at `values`, outside reductions.
TermId taken_sides(Context& context, TermId term, const domain::Assignment& values, std::map<TermId, TermId>& known) {
  if (auto it = known.find(term); it != known.end()) {
    return it->second;
  }
  analysis::Values& terms = context.values();
  const analysis::TermNode n = terms.node(term);
  TermId result = term;
  if (n.kind == analysis::TermKind::Select) {
    if (auto truth = context.ints().evaluate(n.condition, values)) {
      result = taken_sides(context, n.operands[*truth ? 0 : 1], values, known);
    }
  } else if (n.kind == analysis::TermKind::Apply || n.kind == analysis::TermKind::Product) {
    std::vector<TermId> operands;
    for (TermId o : n.operands) {
      operands.push_back(taken_sides(context, o, values, known));
    }
    result = terms.with_operands(term, std::move(operands));
  }
  known.emplace(term, result);
  return result;
}

}  // namespace

void add_elements(Context& context, TermId term, const domain::Assignment& values, Counterexample& cex) {
  std::map<TermId, TermId> known;
  term = taken_sides(context, term, values, known);
  const analysis::Values& terms = context.values();
  std::vector<TermId> leaves;
  analysis::collect_leaves(terms, term, false, leaves);
  domain::Assignment all = values;
  if (leaves.empty()) {
    // The first element of each reduction.
    std::vector<TermId> open{term};
    while (!open.empty()) {
      TermId t = open.back();
      open.pop_back();
      const analysis::TermNode& n = terms.node(t);
      for (const analysis::Binder& b : n.binders) {
        auto lo = b.lo.is_valid() ? context.ints().evaluate(b.lo, all) : std::optional<int64_t>(0);
        all[b.var] = lo.value_or(0);
      }
      open.insert(open.end(), n.operands.rbegin(), n.operands.rend());
    }
    analysis::collect_leaves(terms, term, true, leaves);
  }
  for (TermId leaf : leaves) {
    const analysis::TermNode& node = terms.node(leaf);
    TouchedElement element;
    element.tensor = context.lowered.tensors[node.index].name;
    bool is_inside = true;
    for (size_t i = 0; i < node.coords.size(); ++i) {
      auto at = context.ints().evaluate(node.coords[i], all);
      auto extent = context.ints().evaluate(context.settler->extents()[node.index][i], all);
      is_inside = is_inside && at && extent && *at >= 0 && *at < *extent;
      element.coords.push_back(at.value_or(0));
    }
    if (is_inside) {
      cex.elements.push_back(std::move(element));
    }
  }
}

void give_up(Obligation& obligation, std::string reason) {
  if (obligation.verdict == Verdict::Refuted) {
    return;
  }
  obligation.verdict = Verdict::Unknown;
  if (obligation.reason.empty()) {
    obligation.reason = std::move(reason);
  }
}

void conclude(Context& context, Obligation& obligation, Counterexample candidate) {
  candidate.obligation = obligation.kind;
  if (obligation.verdict == Verdict::Refuted) {
    return;
  }
  std::string problem = "replay was not asked for";
  if (context.options.replay) {
    Result<std::string> outcome = replay(context.source, context.lowered, candidate, context.options.task);
    if (outcome) {
      candidate.is_replayed = true;
      candidate.replay_finding = *outcome;
      obligation.verdict = Verdict::Refuted;
      obligation.reason = candidate.claim;
      obligation.counterexample = std::move(candidate);
      return;
    }
    problem = outcome.error().message;
  }
  obligation.verdict = Verdict::Unknown;
  obligation.reason = "a counterexample was found that did not replay (" + problem + "): " + candidate.claim;
  obligation.counterexample = std::move(candidate);
}

}  // namespace tw::verify
