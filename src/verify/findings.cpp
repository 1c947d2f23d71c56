// SPDX-License-Identifier: Apache-2.0
#include "verify/findings.h"

#include <algorithm>

namespace tw::verify {

namespace {

const diag::CodeInfo* code_of(const std::string& rule) {
  namespace codes = diag::codes;
  if (rule == "k-slice-mismatch" || rule == "accumulator-mismatch") {
    return &codes::ContractionMismatch::kInfo;
  }
  if (rule == "check-failed") {
    return &codes::CheckFailed::kInfo;
  }
  if (rule == "coverage-of-names") {
    return &codes::NamesNotCovered::kInfo;
  }
  if (rule == "reading-kept") {
    return &codes::ReadingChanged::kInfo;
  }
  if (rule == "uninitialized-read") {
    return &codes::UninitializedRead::kInfo;
  }
  if (rule == "pad-reaches-output") {
    return &codes::PadReachesOutput::kInfo;
  }
  if (rule == "out-of-bounds") {
    return &codes::OutOfBounds::kInfo;
  }
  if (rule == "integer-overflow") {
    return &codes::IntegerOverflow::kInfo;
  }
  if (rule == "division-by-zero") {
    return &codes::DivisorNotPositive::kInfo;
  }
  if (rule == "output-coverage") {
    return &codes::OutputNotCovered::kInfo;
  }
  if (rule == "contraction-coverage") {
    return &codes::ContractionNotCovered::kInfo;
  }
  if (rule == "raster-bijection") {
    return &codes::RasterNotBijective::kInfo;
  }
  if (rule == "task-disagreement") {
    return &codes::TaskDisagrees::kInfo;
  }
  return &codes::ReadingNotDecided::kInfo;
}

std::string list(const std::vector<std::pair<std::string, int64_t>>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return text;
}

std::vector<std::string> facts_of(const Counterexample& cex) {
  std::vector<std::string> facts;
  if (!cex.sizes.empty()) {
    facts.push_back("sizes: " + list(cex.sizes));
  }
  if (!cex.tile.empty()) {
    facts.push_back("tile: " + list(cex.tile));
  }
  if (!cex.iterations.empty()) {
    facts.push_back("iteration: " + list(cex.iterations));
  }
  if (!cex.object.empty() && !cex.element.empty()) {
    facts.push_back("element: `" + cex.object + "`" +
                    (cex.version ? " version " + std::to_string(*cex.version) : std::string()) + " [" +
                    list(cex.element) + "]");
  }
  if (!cex.expected.empty()) {
    facts.push_back("expected: " + cex.expected);
  }
  if (!cex.got.empty()) {
    facts.push_back("got: " + cex.got);
  }
  facts.insert(facts.end(), cex.facts.begin(), cex.facts.end());
  if (!cex.replay_finding.empty()) {
    facts.push_back("replayed: " + cex.replay_finding);
  }
  return facts;
}

void report(const Obligation& o, diag::Sink& sink) {
  diag::Diagnostic d;
  if (o.verdict == Verdict::Refuted) {
    d.code = code_of(o.counterexample->rule);
    d.arguments.emplace_back(o.counterexample->claim);
  } else {
    d.code =
        o.verdict == Verdict::Vacuous ? &diag::codes::NothingCompared::kInfo : &diag::codes::ReadingNotDecided::kInfo;
    d.arguments.emplace_back(o.reason);
  }
  d.severity = d.code->severity;
  d.primary = o.span;
  diag::Evidence evidence;
  evidence.verdict = name_of(o.verdict);
  evidence.obligation = o.id;
  if (o.counterexample) {
    evidence.facts = facts_of(*o.counterexample);
    for (const ProgramPoint& point : o.counterexample->points) {
      if (point.span.is_valid() && !(point.span == d.primary)) {
        d.labels.push_back({point.span, false, point.role});
      }
    }
    if (!o.counterexample->why.empty()) {
      d.notes.push_back({o.counterexample->why, std::nullopt});
    }
  }
  d.evidence = std::move(evidence);
  sink.add(std::move(d));
}

}  // namespace

void report_findings(const std::vector<Obligation>& obligations, diag::Sink& sink) {
  std::vector<diag::Span> told;
  for (const Obligation& o : obligations) {
    if (o.verdict == Verdict::Refuted) {
      report(o, sink);
      told.push_back(o.span);
    }
  }
  for (const Obligation& o : obligations) {
    bool is_open = o.verdict == Verdict::Unknown || o.verdict == Verdict::Vacuous;
    if (is_open && std::find(told.begin(), told.end(), o.span) == told.end()) {
      report(o, sink);
    }
  }
}

}  // namespace tw::verify
