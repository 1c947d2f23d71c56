// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "store/store.h"

// A stored run for people: on the terminal, as Markdown, as JSON, and as one HTML file that opens offline. Everything
// is read from the record (`tw.run/1`, `tw.step/1`; docs/store.md): a report can be made on another machine, at any
// time, of a run in any state.
namespace tw::report {

// One kernel that the run looked at, gathered from all steps that speak of it.
struct Candidate {
  // Counts from 0 in order of appearance.
  int64_t number = 0;
  // The stored source ("sha256:..."), and its text when the store still has it.
  std::string reference;
  std::string source;
  std::string language = "python";
  std::optional<int64_t> parent;
  // What made it: "draft", the name of a move, "fix".
  std::string move;
  // Unified diff against the parent; empty for the first draft.
  std::string diff;
  int64_t first_step = 0;
  // Empty: not checked. Else proved, refuted, unknown, vacuous.
  std::string verdict;
  std::string scope;
  // Kind of obligation and verdict, each with its count: ("race", "proved", 4).
  struct ObligationCount {
    std::string kind;
    std::string verdict;
    int64_t count = 0;
  };
  std::vector<ObligationCount> obligations;
  // The first finding in words, and the counterexample in full (JSON text).
  std::string diagnostics;
  std::string counterexample;
  std::optional<bool> is_built;
  std::string build_facts;
  std::optional<bool> is_correct;
  std::string test_facts;
  // Time of one launch at the headline shape. Never mixed: an estimate stays one.
  std::optional<double> estimate_us;
  std::optional<double> measured_us;
  std::optional<bool> is_accepted;
  std::string reason;
};

struct Report {
  store::Run run;
  std::vector<store::Step> steps;
  std::vector<Candidate> candidates;
  // The best accepted candidate.
  std::optional<int64_t> best;

  [[nodiscard]] double time_total_ms() const;
};

store::Outcome<Report> collect(store::Store& store, const std::string& run_id);

struct TerminalOptions {
  bool has_color = false;
  int width = 100;
};
std::string to_terminal(const Report& report, const TerminalOptions& options = {});
std::string to_markdown(const Report& report);
json::Value to_json(const Report& report);
// One file: no script, no font, no image is loaded from anywhere. Light and dark follow the reader's setting.
std::string to_html(const Report& report);

// The trajectory (time of each candidate, best so far) as one SVG element; empty when no candidate has a time.
std::string trajectory_svg(const Report& report);

// "12.3 us", "4.56 ms"
std::string print_us(double time_us);
// The candidate's time with its nature: "12.3 us (estimate)", "12.3 us", "-".
std::string print_time(const Candidate& candidate);
// accepted, rejected, refuted, wrong, not built, open
std::string outcome_of(const Candidate& candidate);

}  // namespace tw::report
