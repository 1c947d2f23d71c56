// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/line_diff.h"
#include "report/report.h"

namespace tw::report {
namespace {

// Records may come from another version or be cut short: whatever is missing stays empty.
std::string text_at(const json::Value& value, std::string_view key) {
  const json::Value* found = value.find(key);
  if (found == nullptr || found->is_null()) {
    return {};
  }
  return found->is_string() ? found->as_string() : json::write(*found);
}

std::optional<double> number_at(const json::Value& value, std::string_view key) {
  const json::Value* found = value.find(key);
  return found != nullptr && found->is_number() ? std::optional(found->as_double()) : std::nullopt;
}

std::optional<bool> bool_at(const json::Value& value, std::string_view key) {
  const json::Value* found = value.find(key);
  return found != nullptr && found->is_bool() ? std::optional(found->as_bool()) : std::nullopt;
}

class Collector {
 public:
  Collector(store::Store& store, Report& report) : store_(store), report_(report) {}

  void run() {
    for (const store::Step& step : report_.steps) {
      add(step);
    }
    for (Candidate& candidate : report_.candidates) {
      finish(candidate);
    }
    find_best();
  }

 private:
  // What a step speaks of; steps that name no candidate speak of the last one.
  Candidate* candidate_of(const store::Step& step) {
    std::string reference = text_at(step.output, "candidate");
    if (reference.empty()) {
      reference = text_at(step.input, "candidate");
    }
    if (reference.empty()) {
      return report_.candidates.empty() ? nullptr : &report_.candidates.back();
    }
    if (auto found = by_reference_.find(reference); found != by_reference_.end()) {
      return &report_.candidates[found->second];
    }
    Candidate candidate;
    candidate.number = static_cast<int64_t>(report_.candidates.size());
    candidate.reference = reference;
    candidate.first_step = step.index;
    by_reference_[reference] = report_.candidates.size();
    report_.candidates.push_back(std::move(candidate));
    return &report_.candidates.back();
  }

  void add(const store::Step& step) {
    Candidate* candidate = candidate_of(step);
    if (candidate == nullptr) {
      return;
    }
    const json::Value& output = step.output;
    if ((step.kind == "draft" || step.kind == "debug") && candidate->first_step == step.index) {
      candidate->move = text_at(output, "move");
      if (candidate->move.empty()) {
        candidate->move = step.kind;
      }
      candidate->diff = text_at(output, "diff");
      if (std::string language = text_at(output, "language"); !language.empty()) {
        candidate->language = language;
      }
      if (auto parent = by_reference_.find(text_at(output, "parent")); parent != by_reference_.end()) {
        candidate->parent = static_cast<int64_t>(parent->second);
      }
    } else if (step.kind == "check") {
      add_check(*candidate, output);
    } else if (step.kind == "build") {
      candidate->is_built = bool_at(output, "ok");
      candidate->build_facts = facts(output, {"registers", "spill_bytes", "shared_bytes", "compiler", "error"});
    } else if (step.kind == "test") {
      candidate->is_correct = bool_at(output, "ok");
      candidate->test_facts = text_at(output, "summary");
    } else if (step.kind == "estimate" || step.kind == "measure") {
      const json::Value* entry = output.find(step.kind == "estimate" ? "estimate" : "measurement");
      if (entry != nullptr) {
        (step.kind == "estimate" ? candidate->estimate_us : candidate->measured_us) = number_at(*entry, "us");
      }
    } else if (step.kind == "decide") {
      candidate->is_accepted = bool_at(output, "accepted");
      candidate->reason = text_at(output, "reason");
    }
  }

  void add_check(Candidate& candidate, const json::Value& output) {
    candidate.verdict = text_at(output, "verdict");
    candidate.scope = text_at(output, "scope");
    candidate.diagnostics = text_at(output, "diagnostics");
    candidate.counterexample = content(text_at(output, "counterexample"));
    candidate.obligations.clear();
    const json::Value* obligations = output.find("obligations");
    if (obligations == nullptr || !obligations->is_array()) {
      return;
    }
    for (const json::Value& entry : obligations->as_array()) {
      std::string kind = text_at(entry, "kind");
      std::string verdict = text_at(entry, "verdict");
      auto count = static_cast<int64_t>(number_at(entry, "count").value_or(1));
      auto same = std::ranges::find_if(candidate.obligations, [&](const Candidate::ObligationCount& known) {
        return known.kind == kind && known.verdict == verdict;
      });
      if (same == candidate.obligations.end()) {
        candidate.obligations.push_back({kind, verdict, count});
      } else {
        same->count += count;
      }
    }
  }

  static std::string facts(const json::Value& output, std::initializer_list<std::string_view> keys) {
    std::string result;
    for (std::string_view key : keys) {
      std::string value = text_at(output, key);
      if (!value.empty()) {
        result += fmt::format("{}{}: {}", result.empty() ? "" : ", ", key, value);
      }
    }
    return result;
  }

  // Stored content is named by its reference; short texts may stand in the record itself.
  std::string content(const std::string& text) {
    if (!text.starts_with("sha256:")) {
      return text;
    }
    auto blob = store_.blob(text);
    return blob ? *blob : std::string();
  }

  void finish(Candidate& candidate) {
    candidate.source = content(candidate.reference);
    candidate.diff = content(candidate.diff);
    if (candidate.diff.empty() && candidate.parent.has_value()) {
      const Candidate& parent = report_.candidates[static_cast<size_t>(*candidate.parent)];
      candidate.diff =
          unified_diff(fmt::format("candidate {}", parent.number), fmt::format("candidate {}", candidate.number),
                       content(parent.reference), candidate.source);
    }
  }

  void find_best() {
    if (std::string named = text_at(report_.run.summary, "best"); !named.empty()) {
      if (auto found = by_reference_.find(named); found != by_reference_.end()) {
        report_.best = static_cast<int64_t>(found->second);
        return;
      }
    }
    for (const Candidate& candidate : report_.candidates) {
      if (candidate.is_accepted == true) {
        // Acceptance means better than the best so far.
        report_.best = candidate.number;
      }
    }
  }

  store::Store& store_;
  Report& report_;
  std::map<std::string, size_t> by_reference_;
};

}  // namespace

double Report::time_total_ms() const {
  double total = 0;
  for (const store::Step& step : steps) {
    total += step.time_ms;
  }
  return total;
}

store::Outcome<Report> collect(store::Store& store, const std::string& run_id) {
  Report report;
  TW_TRY(report.run, store.run(run_id));
  TW_TRY(report.steps, store.steps(run_id));
  Collector(store, report).run();
  return report;
}

std::string print_us(double time_us) {
  if (time_us >= 1e6) {
    return fmt::format("{:.3g} s", time_us / 1e6);
  }
  if (time_us >= 1e3) {
    return fmt::format("{:.3g} ms", time_us / 1e3);
  }
  return fmt::format("{:.3g} us", time_us);
}

std::string print_time(const Candidate& candidate) {
  if (candidate.measured_us.has_value()) {
    return print_us(*candidate.measured_us);
  }
  return candidate.estimate_us.has_value() ? print_us(*candidate.estimate_us) + " (estimate)" : "-";
}

std::string outcome_of(const Candidate& candidate) {
  if (candidate.is_accepted == true) {
    return "accepted";
  }
  if (!candidate.verdict.empty() && candidate.verdict != "proved") {
    return candidate.verdict;
  }
  if (candidate.is_built == false) {
    return "not built";
  }
  if (candidate.is_correct == false) {
    return "wrong";
  }
  return candidate.is_accepted == false ? "rejected" : "open";
}

}  // namespace tw::report
