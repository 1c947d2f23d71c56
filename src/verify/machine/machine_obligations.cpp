// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/machine_obligations.h"

#include <chrono>
#include <fmt/format.h>
#include <utility>

#include "emulator/machine.h"
#include "verify/machine/global_access.h"
#include "verify/machine/layout_rules.h"
#include "verify/machine/order_walk.h"
#include "verify/machine/witness.h"

namespace tw::verify {
namespace {

constexpr int kWarpThreads = 32;
// Thread steps for the witnesses of all suspicions together.
constexpr int64_t kAllSteps = 30'000'000;
// The same, when the program is known to be wrong already: then a witness only explains.
constexpr int64_t kStepsToExplain = 1'500'000;

// What a rule found, in one shape for all rules.
struct Suspect {
  std::string rule;
  std::string claim;
  std::vector<std::string> facts;
  const ir::Op* first = nullptr;
  const ir::Op* second = nullptr;
  diag::Span object_span;
  Suspicion where;
  // Exact by enumeration or count: needs no execution.
  bool is_exact = false;
  // The analysis gave up: never a refutation by itself.
  bool is_open = false;
  const diag::CodeInfo* code = nullptr;
};

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

diag::Span span_of(const Suspect& suspect) {
  if (suspect.second != nullptr) {
    return suspect.second->span;
  }
  return suspect.first != nullptr ? suspect.first->span : suspect.object_span;
}

Counterexample counterexample_of(const ir::Function& f, const Suspect& suspect, const std::string& kind) {
  Counterexample out;
  out.rule = suspect.rule;
  out.obligation = kind;
  out.claim = suspect.claim;
  out.facts = suspect.facts;
  if (suspect.first != nullptr) {
    out.points.push_back({suspect.first->span, suspect.first->id, "first"});
  }
  if (suspect.second != nullptr) {
    out.points.push_back({suspect.second->span, suspect.second->id, "second"});
  }
  for (const auto& [symbol, value] : suspect.where.sizes) {
    out.sizes.emplace_back(f.exprs.symbol(symbol).name, value);
  }
  return out;
}

void add_witness(Counterexample& out, const Witness& witness) {
  const emulator::Violation& violation = witness.violation;
  out.replay = ReplayKind::Machine;
  out.is_replayed = true;
  out.replay_finding = emulator::to_string(violation);
  out.schedule = emulator::to_json(witness.schedule);
  out.seed = witness.problem.seed;
  out.sizes.assign(witness.problem.sizes.begin(), witness.problem.sizes.end());
  out.block = witness.block;
  if (violation.access.thread >= 0) {
    out.thread = violation.access.thread;
    out.warp = violation.access.thread / kWarpThreads;
    out.lane = violation.access.thread % kWarpThreads;
  } else if (violation.warp >= 0) {
    out.warp = violation.warp;
  }
  if (violation.address_bytes >= 0) {
    out.byte = violation.address_bytes;
  }
  if (violation.cell) {
    out.object = violation.cell->object;
    out.element = violation.cell->element;
    if (violation.cell->version >= 0) {
      out.version = violation.cell->version;
    }
  }
  for (size_t i = 0; i < violation.access.point.iterations.size(); ++i) {
    out.iterations.emplace_back(fmt::format("loop {}", i), violation.access.point.iterations[i]);
  }
  out.expected = violation.expected ? emulator::to_string(*violation.expected) : "the value at launch";
  out.got = violation.got ? emulator::to_string(*violation.got) : "bytes that nothing wrote";
  if (violation.got_cell) {
    out.got += fmt::format(" ({})", emulator::to_string(*violation.got_cell));
  }
  out.why = violation.missing;
  out.points.clear();
  if (violation.got) {
    out.points.push_back({violation.got->span, violation.got->point.op_id, "wrote what is there"});
    out.interleaving.push_back(emulator::to_string(*violation.got));
  }
  if (violation.expected) {
    out.points.push_back({violation.expected->span, violation.expected->point.op_id, "wrote what should be there"});
    out.interleaving.push_back(emulator::to_string(*violation.expected));
  }
  out.points.push_back({violation.access.span, violation.access.point.op_id, "reads"});
  out.interleaving.push_back(emulator::to_string(violation.access));
}

class MachineObligations {
 public:
  MachineObligations(const ir::Function& function, const Options& options, bool is_refuted, diag::Sink& sink)
      : f_(function),
        options_(options),
        sink_(sink),
        steps_left_((is_refuted ? kStepsToExplain : kAllSteps) * std::max(1, options.effort)) {}

  std::vector<Obligation> run() {
    layouts();
    order();
    return std::move(out_);
  }

 private:
  void order() {
    const auto start = std::chrono::steady_clock::now();
    OrderResult result = check_order(f_);
    std::vector<Suspect> suspects;
    for (OrderFinding& finding : result.findings) {
      suspects.push_back(suspect_of(std::move(finding)));
    }
    add("race",
        "every read of shared memory gets the write that program order says, in every execution and for every trip "
        "count",
        std::max<int64_t>(result.compared, 1), std::move(suspects), start);
  }

  Suspect suspect_of(OrderFinding finding) const {
    Suspect s;
    s.claim = std::move(finding.claim);
    s.facts = std::move(finding.facts);
    s.first = finding.first;
    s.second = finding.second;
    s.where.first_op = finding.first != nullptr ? finding.first->id : 0;
    s.where.second_op = finding.second != nullptr ? finding.second->id : 0;
    s.where.thread_first = finding.thread_first;
    s.where.thread_second = finding.thread_second;
    switch (finding.kind) {
      case OrderFinding::Kind::Race:
        s.rule = "shared-race";
        s.code = &diag::codes::SharedRace::kInfo;
        break;
      case OrderFinding::Kind::WrongVersion:
        s.rule = "wrong-version";
        s.code = &diag::codes::WrongVersion::kInfo;
        break;
      case OrderFinding::Kind::OutOfObject:
        s.rule = "outside-shared-object";
        s.code = &diag::codes::OutsideSharedObject::kInfo;
        break;
      case OrderFinding::Kind::NotFollowed:
        s.rule = "order-not-followed";
        s.code = &diag::codes::NotDecided::kInfo;
        s.is_open = true;
        break;
    }
    return s;
  }

  void layouts() {
    auto start = std::chrono::steady_clock::now();
    LayoutResult result = check_layouts(f_);
    GlobalResult global = check_global_vectors(f_);
    std::vector<Suspect> maps;
    std::vector<Suspect> resources;
    for (LayoutFinding& finding : result.findings) {
      const bool is_resource = finding.kind == LayoutFinding::Kind::Resource;
      (is_resource ? resources : maps).push_back(suspect_of(std::move(finding)));
    }
    for (GlobalFinding& finding : global.findings) {
      Suspect s;
      s.rule = "global-vector";
      s.code = &diag::codes::GlobalVectorBroken::kInfo;
      s.claim = std::move(finding.claim);
      s.facts = std::move(finding.facts);
      s.second = finding.op;
      s.where.sizes = std::move(finding.sizes);
      s.is_open = s.where.sizes.empty();
      maps.push_back(std::move(s));
    }
    add("layout",
        "instruction maps fit the data's layouts, wide accesses are aligned and contiguous, storage is exclusive",
        result.compared_layouts + global.compared, std::move(maps), start);
    start = std::chrono::steady_clock::now();
    add("resource", "shared memory, threads and registers are within the machine's limits", result.compared_resources,
        std::move(resources), start);
  }

  Suspect suspect_of(LayoutFinding finding) const {
    Suspect s;
    s.claim = std::move(finding.claim);
    s.facts = std::move(finding.facts);
    s.second = finding.op;
    if (finding.object.is_valid()) {
      s.object_span = f_.shared_object(finding.object).span;
    }
    switch (finding.kind) {
      case LayoutFinding::Kind::Map:
        s.rule = "map-not-exact";
        s.code = &diag::codes::LayoutNotExact::kInfo;
        s.is_exact = true;
        break;
      case LayoutFinding::Kind::Fragment:
        s.rule = "fragment-mismatch";
        s.code = &diag::codes::FragmentMismatch::kInfo;
        s.is_exact = true;
        break;
      case LayoutFinding::Kind::Ldmatrix:
        s.rule = "ldmatrix-mismatch";
        s.code = &diag::codes::LdmatrixMismatch::kInfo;
        s.is_exact = true;
        break;
      case LayoutFinding::Kind::SharedVector:
        s.rule = "shared-vector";
        s.code = &diag::codes::SharedVectorBroken::kInfo;
        s.is_exact = true;
        break;
      case LayoutFinding::Kind::Storage:
        s.rule = "storage-overlap";
        s.code = &diag::codes::StorageOverlap::kInfo;
        s.is_exact = true;
        break;
      case LayoutFinding::Kind::Resource:
        s.rule = "resource-limit";
        s.code = &diag::codes::ResourceExceeded::kInfo;
        s.is_exact = true;
        break;
    }
    return s;
  }

  // One obligation when nothing was found, else one a finding.
  void add(const std::string& kind, const std::string& claim, int64_t compared, std::vector<Suspect> suspects,
           std::chrono::steady_clock::time_point start) {
    if (suspects.empty()) {
      Obligation o;
      o.id = kind;
      o.kind = kind;
      o.claim = claim;
      o.compared = compared;
      o.verdict = compared > 0 ? Verdict::Proved : Verdict::Vacuous;
      o.span = f_.span;
      o.time_ms = ms_since(start);
      out_.push_back(std::move(o));
      return;
    }
    int number = 0;
    bool is_refuted = false;
    for (Suspect& suspect : suspects) {
      // One cause often shows in several places: the first refutation stands for them.
      if (is_refuted) {
        out_.back().counterexample->facts.push_back("also: " + suspect.claim);
        continue;
      }
      Obligation o;
      o.id = fmt::format("{}:{}", kind, ++number);
      o.kind = kind;
      o.claim = claim;
      o.compared = compared;
      o.span = span_of(suspect);
      judge(o, suspect);
      o.time_ms = ms_since(start);
      start = std::chrono::steady_clock::now();
      is_refuted = o.verdict == Verdict::Refuted;
      report(o, suspect);
      out_.push_back(std::move(o));
    }
  }

  void judge(Obligation& o, const Suspect& suspect) {
    o.verdict = Verdict::Unknown;
    o.reason = suspect.claim;
    Counterexample candidate = counterexample_of(f_, suspect, o.kind);
    std::optional<Witness> witness;
    const bool can_run = suspect.rule != "resource-limit";
    // What the analysis could not follow names no place to look at: one look serves all of it.
    const bool looked = suspect.is_open && std::exchange(looked_around_, true);
    if (options_.replay && can_run && !looked) {
      SearchLimits limits;
      limits.steps *= std::max(1, options_.effort);
      if (suspect.is_open) {
        // Nothing points at a mistake: a short look.
        limits.problems /= 4;
        limits.steps /= 4;
      }
      witness = find_witness(f_, suspect.where, limits, steps_left_);
    }
    if (witness) {
      add_witness(candidate, *witness);
      o.verdict = Verdict::Refuted;
    } else if (suspect.is_exact) {
      candidate.replay = ReplayKind::Layout;
      candidate.is_replayed = true;
      candidate.replay_finding = "by enumeration: " + (suspect.facts.empty() ? suspect.claim : suspect.facts.front());
      o.verdict = Verdict::Refuted;
    } else if (!suspect.is_open) {
      o.reason += "; no execution that goes wrong was found";
    }
    o.counterexample = std::move(candidate);
  }

  void report(const Obligation& o, const Suspect& suspect) {
    diag::Diagnostic d;
    d.code = o.verdict == Verdict::Refuted ? suspect.code : &diag::codes::NotDecided::kInfo;
    if (o.verdict == Verdict::Refuted && suspect.is_open) {
      // The emulator found what the analysis could not follow.
      d.code = &diag::codes::SharedRace::kInfo;
    }
    d.severity = d.code->severity;
    d.arguments.emplace_back(o.verdict == Verdict::Refuted ? suspect.claim : o.reason);
    d.primary = o.span;
    const Counterexample& cex = *o.counterexample;
    for (const ProgramPoint& point : cex.points) {
      if (point.span.is_valid() && !(point.span == d.primary)) {
        d.labels.push_back({point.span, false, point.role});
      }
    }
    diag::Evidence evidence;
    evidence.verdict = name_of(o.verdict);
    evidence.obligation = o.id;
    evidence.facts = cex.facts;
    if (!cex.replay_finding.empty()) {
      evidence.facts.push_back(cex.replay_finding);
    }
    d.evidence = std::move(evidence);
    sink_.add(std::move(d));
  }

  const ir::Function& f_;
  const Options& options_;
  diag::Sink& sink_;
  std::vector<Obligation> out_;
  bool looked_around_ = false;
  int64_t steps_left_;
};

}  // namespace

std::vector<Obligation> machine_obligations(const ir::Function& lowered, const Options& options, bool is_refuted,
                                            diag::Sink& sink) {
  return MachineObligations(lowered, options, is_refuted, sink).run();
}

Result<std::string> replay_machine(const ir::Function& lowered, const Counterexample& counterexample) {
  if (counterexample.schedule.is_null()) {
    return counterexample.replay_finding;
  }
  TW_TRY(const emulator::Schedule schedule, emulator::schedule_from_json(counterexample.schedule));
  emulator::Problem problem;
  for (const auto& [name, value] : counterexample.sizes) {
    problem.sizes[name] = value;
  }
  for (const ir::ScalarParameter& scalar : lowered.scalars) {
    problem.scalars[scalar.name] = 1.0;
  }
  problem.seed = counterexample.seed;
  const emulator::Replay result = emulator::replay(lowered, problem, schedule, counterexample.block.value_or(0));
  if (result.violation) {
    return emulator::to_string(*result.violation);
  }
  if (result.reading_error) {
    return result.reading_error->message;
  }
  return fail("the execution shows nothing wrong");
}

}  // namespace tw::verify
