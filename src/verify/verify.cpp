// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.h"

#include <algorithm>
#include <set>

#include "verify/context.h"
#include "verify/findings.h"
#include "verify/machine/machine_obligations.h"

namespace tw::verify {

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view kNames[] = {"proved", "refuted", "unknown", "vacuous"};
  return kNames[static_cast<int>(verdict)];
}

std::string_view name_of(Scope scope) {
  return scope == Scope::Full ? "full" : "order";
}

namespace {

json::Value point_json(const ProgramPoint& point, const diag::SourceManager& sources) {
  json::Object object;
  object.set("role", point.role);
  if (point.span.is_valid()) {
    diag::Position begin = sources.position(point.span.file, point.span.begin);
    object.set("file", std::string(sources.name(point.span.file)));
    object.set("line", begin.line);
    object.set("column", begin.column);
    object.set("begin", point.span.begin);
    object.set("end", point.span.end);
    object.set("text", std::string(sources.text(point.span)));
  }
  return object;
}

json::Value numbers(const std::vector<std::pair<std::string, int64_t>>& values) {
  json::Object object;
  for (const auto& [name, value] : values) {
    object.set(name, value);
  }
  return object;
}

// Obligations that looked at nothing because the kernel has nothing of the kind.
bool is_empty(const Obligation& o) {
  return o.verdict == Verdict::Proved && o.compared == 0 &&
         (o.kind == "bounds" || o.kind == "init" || o.kind == "coverage");
}

bool contains(const analysis::Values& values, TermId whole, TermId part) {
  std::set<TermId> seen;
  std::vector<TermId> open{whole};
  while (!open.empty()) {
    TermId t = open.back();
    open.pop_back();
    if (t == part) {
      return true;
    }
    if (seen.insert(t).second) {
      const analysis::TermNode& n = values.node(t);
      open.insert(open.end(), n.operands.begin(), n.operands.end());
    }
  }
  return false;
}

// Full scope: each output is written with a value that a proved check speaks about, or agrees with the task.
bool has_meaning(const Context& context) {
  std::set<std::string> agreeing;
  for (const Obligation& o : context.obligations) {
    if (o.kind == "task" && o.verdict == Verdict::Proved) {
      agreeing.insert(o.claim);
    }
  }
  bool has_output = false;
  for (const analysis::StoreRecord& store : context.reading.stores) {
    const ir::Tensor& tensor = context.lowered.tensor(store.tensor);
    if (tensor.direction == ir::Direction::Work) {
      continue;
    }
    has_output = true;
    bool is_checked = agreeing.contains("`" + tensor.name + "` is what the task states");
    for (const analysis::CheckRecord& check : context.checks()) {
      for (const Obligation& o : context.obligations) {
        is_checked =
            is_checked || (o.kind == "check" && o.verdict == Verdict::Proved && o.compared > 0 &&
                           o.span == check.place.op->span && contains(context.env.values, store.value, check.value));
      }
    }
    if (!is_checked) {
      return false;
    }
  }
  return has_output;
}

}  // namespace

json::Value to_json(const Counterexample& cex, const diag::SourceManager& sources) {
  json::Object object;
  object.set("schema", "tw.counterexample/1");
  object.set("rule", cex.rule);
  object.set("obligation", cex.obligation);
  object.set("claim", cex.claim);
  object.set("sizes", numbers(cex.sizes));
  object.set("seed", cex.seed);
  if (!cex.tile.empty()) {
    object.set("tile", numbers(cex.tile));
  }
  if (!cex.iterations.empty()) {
    object.set("iterations", numbers(cex.iterations));
  }
  auto optional = [&](const char* key, const std::optional<int64_t>& value) {
    if (value) {
      object.set(key, *value);
    }
  };
  optional("block", cex.block);
  optional("thread", cex.thread);
  optional("warp", cex.warp);
  optional("lane", cex.lane);
  optional("byte", cex.byte);
  if (!cex.object.empty()) {
    object.set("object", cex.object);
  }
  optional("version", cex.version);
  optional("slot", cex.slot);
  optional("phase", cex.phase);
  if (!cex.element.empty()) {
    json::Array element;
    for (int64_t c : cex.element) {
      element.push_back(c);
    }
    object.set("element", std::move(element));
  }
  object.set("expected", cex.expected);
  object.set("got", cex.got);
  json::Array points;
  for (const ProgramPoint& point : cex.points) {
    points.push_back(point_json(point, sources));
  }
  object.set("points", std::move(points));
  if (!cex.interleaving.empty()) {
    json::Array events;
    for (const std::string& event : cex.interleaving) {
      events.push_back(event);
    }
    object.set("interleaving", std::move(events));
  }
  if (!cex.why.empty()) {
    object.set("why", cex.why);
  }
  if (!cex.elements.empty()) {
    json::Array elements;
    for (const TouchedElement& e : cex.elements) {
      json::Array coords;
      for (int64_t c : e.coords) {
        coords.push_back(c);
      }
      json::Object one;
      one.set("tensor", e.tensor);
      one.set("element", std::move(coords));
      one.set("reaches", e.reaches);
      one.set("factor", e.is_second ? 2 : 1);
      elements.push_back(std::move(one));
    }
    object.set("elements", std::move(elements));
    object.set("is_product", cex.is_product);
    object.set("is_summand", cex.is_summand);
  }
  if (cex.watched) {
    object.set("watched", json::Object{{"op", static_cast<int64_t>(cex.watched->op_id)},
                                       {"program", cex.watched->in_source ? "source" : "lowered"}});
  }
  if (!cex.facts.empty()) {
    json::Array facts;
    for (const std::string& fact : cex.facts) {
      facts.push_back(fact);
    }
    object.set("facts", std::move(facts));
  }
  if (!cex.schedule.is_null()) {
    object.set("schedule", cex.schedule);
  }
  json::Object replay;
  replay.set("kind", std::string(name_of(cex.replay)));
  replay.set("replayed", cex.is_replayed);
  if (!cex.replay_finding.empty()) {
    replay.set("finding", cex.replay_finding);
  }
  object.set("replay", std::move(replay));
  return object;
}

json::Value to_json(const Obligation& obligation, const diag::SourceManager& sources) {
  json::Object object;
  object.set("id", obligation.id);
  object.set("kind", obligation.kind);
  object.set("verdict", std::string(name_of(obligation.verdict)));
  object.set("compared", obligation.compared);
  object.set("time_ms", obligation.time_ms);
  object.set("claim", obligation.claim);
  if (!obligation.reason.empty()) {
    object.set("reason", obligation.reason);
  }
  if (obligation.span.is_valid()) {
    object.set("place", point_json({obligation.span, 0, "at"}, sources));
  }
  return object;
}

Report check(const ir::Function& source, const ir::Function& lowered, const Options& options, diag::Sink& sink) {
  Report report;
  Context context(source, lowered, options);
  auto stopped = [&](const std::string& reason) {
    Obligation& obligation = context.add("reading", "the reading can be evaluated", lowered.span);
    obligation.verdict = Verdict::Unknown;
    obligation.reason = reason;
  };
  auto source_reading = analysis::evaluate_reading(context.env, source);
  auto reading = analysis::evaluate_reading(context.env, lowered);
  if (!source_reading || !reading) {
    stopped(!source_reading ? source_reading.error().message : reading.error().message);
  } else {
    context.source_reading = *std::move(source_reading);
    context.reading = *std::move(reading);
    context.settler = std::make_unique<analysis::Settler>(context.env, lowered, context.reading.finite);
    context.tagger = std::make_unique<analysis::Tagger>(*context.settler, lowered);
    Facts premises;
    for (CondId c : context.reading.premises) {
      premises.assume(c);
    }
    if (context.env.prover.contradictory(premises)) {
      Obligation& obligation = context.add("reading", "some sizes satisfy the assumptions", lowered.span);
      obligation.verdict = Verdict::Vacuous;
      obligation.reason = "no sizes satisfy the assumptions: the proof would be about nothing";
    }
    check_initialized(context);
    check_bounds(context);
    check_contractions(context);
    check_tags(context);
    check_coverage(context);
    check_reading_kept(context);
    check_task(context);
    for (const analysis::Approximation& approximation : context.reading.approximations) {
      Obligation& obligation = context.add("reading", "the evaluation is exact", approximation.span);
      obligation.verdict = Verdict::Unknown;
      obligation.reason = "not modelled exactly: " + approximation.what;
    }
  }
  std::erase_if(context.obligations, is_empty);
  report_findings(context.obligations, sink);
  const bool is_refuted =
      std::ranges::any_of(context.obligations, [](const Obligation& o) { return o.verdict == Verdict::Refuted; });
  if (lowered.stage == ir::Stage::Lowered) {
    std::vector<Obligation> machine = machine_obligations(lowered, options, is_refuted, sink);
    std::move(machine.begin(), machine.end(), std::back_inserter(context.obligations));
  }
  report.obligations = context.obligations;
  report.scope = has_meaning(context) ? Scope::Full : Scope::Order;
  report.verdict = Verdict::Proved;
  auto worst = [&](Verdict verdict) {
    return std::any_of(report.obligations.begin(), report.obligations.end(),
                       [&](const Obligation& o) { return o.verdict == verdict; });
  };
  if (worst(Verdict::Refuted)) {
    report.verdict = Verdict::Refuted;
  } else if (worst(Verdict::Unknown)) {
    report.verdict = Verdict::Unknown;
  } else if (worst(Verdict::Vacuous)) {
    report.verdict = Verdict::Vacuous;
  }
  for (const ir::Assumption& assumption : lowered.assumptions) {
    if (assumption.condition.is_valid()) {
      report.assumptions.push_back(lowered.exprs.to_string(assumption.condition));
    }
    if (assumption.finite.is_valid()) {
      report.assumptions.push_back("all elements of " + lowered.tensor(assumption.finite).name + " are finite");
    }
  }
  report.assumptions.push_back("sizes are at most 2147483647");
  report.assumptions.push_back("tensors start at multiples of 16 bytes, and distinct elements have distinct addresses");
  report.assumptions.push_back("inputs and outputs do not overlap");
  report.not_covered = {"element-wise arithmetic and rounding", "ptxas and the driver"};
  return report;
}

}  // namespace tw::verify
