// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/strings.h"
#include "report/report.h"
#include "store/record.h"

namespace tw::report {
namespace {

using Row = std::array<std::string, 6>;

Row header() {
  return {"#", "move", "verdict", "tests", "time", "outcome"};
}

Row row_of(const Report& report, const Candidate& candidate) {
  std::string verdict = candidate.verdict.empty() ? "-" : candidate.verdict;
  if (candidate.verdict == "proved" && !candidate.scope.empty() && candidate.scope != "full") {
    verdict += " (" + candidate.scope + ")";
  }
  std::string tests = !candidate.is_correct.has_value() ? "-" : *candidate.is_correct ? "correct" : "wrong";
  std::string number = fmt::format("{}{}", candidate.number, report.best == candidate.number ? " *" : "");
  return {number, candidate.move, verdict, tests, print_time(candidate), outcome_of(candidate)};
}

std::string one_line(std::string_view text, size_t longest) {
  std::string result(split_lines(text).empty() ? std::string_view() : split_lines(text)[0]);
  if (display_width(result) <= longest) {
    return result;
  }
  size_t end = 0;
  for (size_t columns = 0; columns + 3 < longest && end < result.size(); ++columns) {
    end += std::max<size_t>(1, utf8_length(std::string_view(result).substr(end)));
  }
  return result.substr(0, end) + "...";
}

std::string painted(const std::string& text, std::string_view outcome, bool has_color) {
  if (!has_color) {
    return text;
  }
  std::string_view code = outcome == "accepted" ? "32" : outcome == "open" || outcome == "rejected" ? "33" : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string headline(const Report& report) {
  std::string result = fmt::format("run {}: {}", report.run.id, store::name_of(report.run.state));
  if (report.best.has_value()) {
    const Candidate& best = report.candidates[static_cast<size_t>(*report.best)];
    result += fmt::format("; best is candidate {} ({}, {})", best.number,
                          best.verdict.empty() ? "not checked" : best.verdict, print_time(best));
  }
  return result;
}

// Markdown gives these a meaning inside a table cell.
std::string cell(const std::string& text) {
  return replace_all(replace_all(text, "|", "\\|"), "\n", " ");
}

// A fence longer than any run of backticks inside.
std::string fenced(std::string_view language, std::string_view text) {
  size_t longest = 0;
  size_t run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  std::string fence(std::max<size_t>(3, longest + 1), '`');
  std::string_view end = text.ends_with('\n') ? "" : "\n";
  return fmt::format("{}{}\n{}{}{}\n", fence, language, text, end, fence);
}

}  // namespace

std::string to_terminal(const Report& report, const TerminalOptions& options) {
  std::string result = headline(report) + "\n";
  result += fmt::format("task {}, {} steps, {} candidates, {:.1f} s\n\n", report.run.task, report.steps.size(),
                        report.candidates.size(), report.time_total_ms() / 1000);
  std::vector<Row> rows{header()};
  for (const Candidate& candidate : report.candidates) {
    rows.push_back(row_of(report, candidate));
  }
  std::array<size_t, 6> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::min<size_t>(28, std::max(widths[i], display_width(row[i])));
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      std::string text = one_line(rows[r][i], 28);
      std::string padding(widths[i] - std::min(widths[i], display_width(text)), ' ');
      bool is_outcome = i + 1 == rows[r].size();
      line += is_outcome ? painted(text, r == 0 ? "accepted" : rows[r][i], options.has_color && r > 0)
                         : text + padding + "  ";
    }
    result += line + "\n";
    if (r > 0) {
      const Candidate& candidate = report.candidates[r - 1];
      std::string why = !candidate.reason.empty() ? candidate.reason : candidate.diagnostics;
      if (!why.empty() && outcome_of(candidate) != "accepted") {
        auto room = static_cast<size_t>(std::max(20, options.width - 6));
        result += "      " + one_line(why, room) + "\n";
      }
    }
  }
  bool has_estimates =
      std::ranges::any_of(report.candidates, [](const Candidate& c) { return c.estimate_us.has_value(); });
  if (has_estimates) {
    result += "\nTimes marked (estimate) come from the analytic model; nothing was measured for them.\n";
  }
  return result;
}

std::string to_markdown(const Report& report) {
  std::string result = fmt::format("# {}\n\n{}.\n\n", report.run.task, headline(report));
  result += fmt::format("Started {}, {} steps, {:.1f} s of work.\n\n", store::print_time(report.run.created_ms),
                        report.steps.size(), report.time_total_ms() / 1000);
  auto table_row = [&](const Row& row) {
    result += "|";
    for (const std::string& text : row) {
      result += " " + cell(text) + " |";
    }
    result += "\n";
  };
  table_row(header());
  result += "|---|---|---|---|---|---|\n";
  for (const Candidate& candidate : report.candidates) {
    table_row(row_of(report, candidate));
  }
  result += "\n`*` marks the best. A time marked (estimate) comes from the analytic model, not from a measurement.\n";
  for (const Candidate& candidate : report.candidates) {
    result += fmt::format("\n## Candidate {}: {}\n\n", candidate.number, candidate.move);
    result += fmt::format("Outcome: {}", outcome_of(candidate));
    result += candidate.reason.empty() ? ".\n\n" : fmt::format(" ({}).\n\n", candidate.reason);
    for (const Candidate::ObligationCount& entry : candidate.obligations) {
      result += fmt::format("- {}: {} {}\n", entry.kind, entry.count, entry.verdict);
    }
    if (!candidate.obligations.empty()) {
      result += "\n";
    }
    if (!candidate.build_facts.empty()) {
      result += fmt::format("Build: {}.\n\n", candidate.build_facts);
    }
    if (!candidate.test_facts.empty()) {
      result += fenced("text", candidate.test_facts) + "\n";
    }
    if (!candidate.diagnostics.empty()) {
      result += fenced("text", candidate.diagnostics) + "\n";
    }
    if (!candidate.counterexample.empty()) {
      result += "Counterexample:\n\n" + fenced("json", candidate.counterexample) + "\n";
    }
    if (!candidate.diff.empty()) {
      result += fenced("diff", candidate.diff) + "\n";
    }
  }
  if (report.best.has_value()) {
    const Candidate& best = report.candidates[static_cast<size_t>(*report.best)];
    result += "\n## Best kernel\n\n" + fenced(best.language, best.source);
  }
  return result;
}

json::Value to_json(const Report& report) {
  json::Value value{json::Object{}};
  value.set("schema", "tw.report/1");
  value.set("run", store::to_json(report.run));
  value.set("best", report.best.has_value() ? json::Value(*report.best) : json::Value(nullptr));
  value.set("time_total_ms", report.time_total_ms());
  json::Array candidates;
  for (const Candidate& candidate : report.candidates) {
    json::Value entry{json::Object{}};
    entry.set("number", candidate.number);
    entry.set("candidate", candidate.reference);
    entry.set("parent", candidate.parent.has_value() ? json::Value(*candidate.parent) : json::Value(nullptr));
    entry.set("first_step", candidate.first_step);
    entry.set("move", candidate.move);
    entry.set("verdict", candidate.verdict);
    entry.set("scope", candidate.scope);
    json::Array obligations;
    for (const Candidate::ObligationCount& count : candidate.obligations) {
      json::Value obligation{json::Object{}};
      obligation.set("kind", count.kind);
      obligation.set("verdict", count.verdict);
      obligation.set("count", count.count);
      obligations.push_back(std::move(obligation));
    }
    entry.set("obligations", std::move(obligations));
    auto flag = [](const std::optional<bool>& flag) {
      return flag.has_value() ? json::Value(*flag) : json::Value(nullptr);
    };
    entry.set("built", flag(candidate.is_built));
    entry.set("correct", flag(candidate.is_correct));
    entry.set("accepted", flag(candidate.is_accepted));
    entry.set("outcome", outcome_of(candidate));
    entry.set("reason", candidate.reason);
    auto time = [&](const std::optional<double>& us, std::string_view label) {
      if (!us.has_value()) {
        return json::Value(nullptr);
      }
      json::Value result{json::Object{}};
      result.set("us", *us);
      result.set("label", label);
      return result;
    };
    entry.set("estimate", time(candidate.estimate_us, "estimate"));
    entry.set("measurement", time(candidate.measured_us, "measured"));
    candidates.push_back(std::move(entry));
  }
  value.set("candidates", std::move(candidates));
  return value;
}

}  // namespace tw::report
