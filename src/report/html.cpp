// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/strings.h"
#include "report/report.h"
#include "store/record.h"

namespace tw::report {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : sanitize_utf8(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        // Control characters have no place in HTML.
        result += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return result;
}

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#5d6672;--line:#d8dde3;--box:#f5f7f9;--good:#1a7f37;--bad:#c4232f;
--warn:#8a6100;--accent:#0a62c4;--add:#e3f6e8;--del:#fde8e9}
@media(prefers-color-scheme:dark){:root{--bg:#12161b;--fg:#e4e8ec;--dim:#97a1ad;--line:#313a44;--box:#1a2027;--good:#4ec76c;
--bad:#ff7a80;--warn:#e0b341;--accent:#6cb0ff;--add:#15321f;--del:#3d1c20}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:68rem;padding:1.5rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2rem 0 .6rem}h3{font-size:1rem;margin:1.2rem 0 .4rem}
p{margin:.4rem 0}.dim{color:var(--dim)}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .7rem .3rem 0;border-bottom:1px solid var(--line);
vertical-align:top}th{font-weight:600;color:var(--dim)}td.n{font-variant-numeric:tabular-nums;white-space:nowrap}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.7rem;overflow:auto;margin:.5rem 0;
font:12.5px/1.45 ui-monospace,monospace;max-height:40rem}
pre .a{display:block;background:var(--add)}pre .d{display:block;background:var(--del)}pre .h{display:block;color:var(--accent)}
pre .c{display:block}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.tag{display:inline-block;border:1px solid currentColor;border-radius:1rem;padding:0 .55rem;font-size:.82rem}
details{border:1px solid var(--line);border-radius:6px;padding:.5rem .8rem;margin:.5rem 0}
summary{cursor:pointer}details details{border:0;padding:.2rem 0}
svg{width:100%;height:auto;display:block}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
.wrap{overflow-x:auto}a{color:var(--accent)}
)css";

std::string_view style_of(std::string_view outcome) {
  if (outcome == "accepted" || outcome == "proved" || outcome == "correct") {
    return "good";
  }
  return outcome == "open" || outcome == "rejected" || outcome == "unknown" || outcome == "vacuous" ? "warn" : "bad";
}

std::string tag(std::string_view text) {
  return fmt::format("<span class=\"tag {}\">{}</span>", style_of(text), escaped(text));
}

std::string code_block(std::string_view text) {
  return fmt::format("<pre>{}</pre>", escaped(text));
}

std::string diff_block(std::string_view diff) {
  std::string result = "<pre>";
  for (std::string_view line : split_lines(diff)) {
    bool is_header = line.starts_with("+++") || line.starts_with("---") || line.starts_with("@@");
    char kind = is_header ? 'h' : line.starts_with("+") ? 'a' : line.starts_with("-") ? 'd' : 'c';
    result += fmt::format("<span class=\"{}\">{}</span>", kind, line.empty() ? " " : escaped(line));
  }
  return result + "</pre>";
}

std::string details(std::string_view summary, std::string_view content) {
  return fmt::format("<details><summary>{}</summary>{}</details>", escaped(summary), content);
}

std::string table(const Report& report) {
  std::string result =
      "<div class=\"wrap\"><table><tr><th>#</th><th>move</th><th>proof</th><th>tests</th><th>time</th>"
      "<th>outcome</th><th>reason</th></tr>";
  for (const Candidate& candidate : report.candidates) {
    std::string tests = !candidate.is_correct.has_value() ? "-" : tag(*candidate.is_correct ? "correct" : "wrong");
    std::string proof = candidate.verdict.empty() ? "-" : tag(candidate.verdict);
    if (candidate.verdict == "proved" && !candidate.scope.empty()) {
      proof += " <span class=\"dim\">" + escaped(candidate.scope) + "</span>";
    }
    std::string why = candidate.reason.empty() ? std::string() : escaped(candidate.reason);
    result += fmt::format(
        "<tr><td class=\"n\"><a href=\"#c{0}\">{0}</a>{1}</td><td>{2}</td><td>{3}</td><td>{4}</td>"
        "<td class=\"n\">{5}</td><td>{6}</td><td>{7}</td></tr>",
        candidate.number, report.best == candidate.number ? " &#9733;" : "", escaped(candidate.move), proof, tests,
        escaped(print_time(candidate)), tag(outcome_of(candidate)), why);
  }
  return result + "</table></div>";
}

std::string candidate_section(const Report& report, const Candidate& candidate) {
  std::string body;
  if (candidate.parent.has_value()) {
    body += fmt::format("<p class=\"dim\">made from candidate <a href=\"#c{0}\">{0}</a> in step {1}</p>",
                        *candidate.parent, candidate.first_step);
  }
  if (!candidate.reason.empty()) {
    body += fmt::format("<p>{}</p>", escaped(candidate.reason));
  }
  if (!candidate.obligations.empty()) {
    body += "<h3>Obligations</h3><div class=\"wrap\"><table><tr><th>kind</th><th>verdict</th><th>number</th></tr>";
    for (const Candidate::ObligationCount& entry : candidate.obligations) {
      body += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>", escaped(entry.kind),
                          tag(entry.verdict), entry.count);
    }
    body += "</table></div>";
  }
  if (!candidate.diagnostics.empty()) {
    body += "<h3>Finding</h3>" + code_block(candidate.diagnostics);
  }
  if (!candidate.test_facts.empty()) {
    body += "<h3>Tests</h3>" + code_block(candidate.test_facts);
  }
  if (!candidate.build_facts.empty()) {
    body += fmt::format("<p>Build: {}</p>", escaped(candidate.build_facts));
  }
  if (candidate.measured_us.has_value()) {
    body += fmt::format("<p>Measured: {}</p>", escaped(print_us(*candidate.measured_us)));
  }
  if (candidate.estimate_us.has_value()) {
    body += fmt::format("<p>Estimate of the analytic model (not a measurement): {}</p>",
                        escaped(print_us(*candidate.estimate_us)));
  }
  if (!candidate.diff.empty()) {
    body += details("Change from its parent", diff_block(candidate.diff));
  }
  if (!candidate.counterexample.empty()) {
    body += details("Counterexample", code_block(candidate.counterexample));
  }
  if (!candidate.source.empty()) {
    body += details("Whole text", code_block(candidate.source));
  }
  bool is_open = report.best == candidate.number || !candidate.counterexample.empty();
  return fmt::format(
      "<details id=\"c{0}\"{1}><summary><b>Candidate {0}</b> {2} {3} <span class=\"dim\">{4}</span></summary>{5}"
      "</details>",
      candidate.number, is_open ? " open" : "", escaped(candidate.move), tag(outcome_of(candidate)),
      escaped(print_time(candidate)), body);
}

std::string steps_table(const Report& report) {
  std::string rows = "<div class=\"wrap\"><table><tr><th>step</th><th>kind</th><th>time</th><th>cost</th></tr>";
  for (const store::Step& step : report.steps) {
    std::string cost = step.cost.is_null() ? "" : json::write(step.cost);
    rows += fmt::format("<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{:.1f} ms</td><td>{}</td></tr>",
                        step.index, escaped(step.kind), step.time_ms, escaped(cost));
  }
  return rows + "</table></div>";
}

double time_of(const Candidate& candidate) {
  return candidate.measured_us.value_or(candidate.estimate_us.value_or(0));
}

}  // namespace

std::string trajectory_svg(const Report& report) {
  std::vector<const Candidate*> timed;
  for (const Candidate& candidate : report.candidates) {
    if (time_of(candidate) > 0 && std::isfinite(time_of(candidate))) {
      timed.push_back(&candidate);
    }
  }
  if (timed.empty()) {
    return {};
  }
  constexpr double kWidth = 880;
  constexpr double kHeight = 300;
  constexpr double kLeft = 70;
  constexpr double kRight = 20;
  constexpr double kTop = 16;
  constexpr double kBottom = 40;
  double low = time_of(*timed[0]);
  double high = low;
  for (const Candidate* candidate : timed) {
    low = std::min(low, time_of(*candidate));
    high = std::max(high, time_of(*candidate));
  }
  // Times span orders of magnitude, so the axis is logarithmic; a flat run still gets some height.
  double floor_log = std::log10(low) - 0.05;
  double ceiling_log = std::max(std::log10(high) + 0.05, floor_log + 0.2);
  auto last = static_cast<double>(std::max<size_t>(1, report.candidates.size() - 1));
  auto x_of = [&](int64_t number) { return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(number) / last; };
  auto y_of = [&](double us) {
    return kTop + (kHeight - kTop - kBottom) * (ceiling_log - std::log10(us)) / (ceiling_log - floor_log);
  };
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"time of each candidate\">", kWidth, kHeight);
  // Lines at 1, 2 and 5 times each power of ten.
  for (int power = static_cast<int>(std::floor(floor_log)); power <= static_cast<int>(std::ceil(ceiling_log));
       ++power) {
    for (double factor : {1.0, 2.0, 5.0}) {
      double value = factor * std::pow(10.0, power);
      if (std::log10(value) < floor_log || std::log10(value) > ceiling_log) {
        continue;
      }
      double y = y_of(value);
      svg += fmt::format(
          "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--line)\"/>"
          "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
          kLeft, kWidth - kRight, y, y, kLeft - 8, y + 4, escaped(print_us(value)));
    }
  }
  std::string path;
  for (const Candidate* candidate : timed) {
    if (candidate->is_accepted != true) {
      continue;
    }
    double x = x_of(candidate->number);
    double y = y_of(time_of(*candidate));
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, y) : fmt::format("H{:.1f}V{:.1f}", x, y);
  }
  if (!path.empty()) {
    path += fmt::format("H{:.1f}", kWidth - kRight);
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\"/>", path);
  }
  for (const Candidate* candidate : timed) {
    std::string_view color = candidate->is_accepted == true ? "var(--good)" : "var(--warn)";
    // Hollow: estimated, filled: measured.
    std::string fill = candidate->measured_us.has_value() ? std::string(color) : "var(--bg)";
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\"><title>"
        "candidate {}: {}, {}, {}</title></circle>",
        x_of(candidate->number), y_of(time_of(*candidate)), fill, color, candidate->number, escaped(candidate->move),
        escaped(print_time(*candidate)), outcome_of(*candidate));
  }
  for (const Candidate& candidate : report.candidates) {
    double x = x_of(candidate.number);
    if (time_of(candidate) <= 0) {
      svg += fmt::format(
          "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" style=\"fill:var(--bad)\">&#10005;<title>candidate {}: "
          "{}, {}</title></text>",
          x, kHeight - kBottom + 8, candidate.number, escaped(candidate.move), outcome_of(candidate));
    }
    if (report.candidates.size() <= 40 || candidate.number % 10 == 0) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x, kHeight - 12,
                         candidate.number);
    }
  }
  return svg + "</svg>";
}

std::string to_html(const Report& report) {
  std::string result =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      // Nothing may be fetched, whatever a kernel's text holds.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">";
  result += fmt::format("<title>{} - {}</title><style>{}</style></head><body>", escaped(report.run.task),
                        escaped(report.run.id), kStyle);
  result += fmt::format("<h1>{}</h1><p class=\"dim\">run {}, started {}, {} steps, {:.1f} s of work</p>",
                        escaped(report.run.task), escaped(report.run.id), store::print_time(report.run.created_ms),
                        report.steps.size(), report.time_total_ms() / 1000);
  result += fmt::format("<p>State: <b>{}</b>", store::name_of(report.run.state));
  if (report.best.has_value()) {
    const Candidate& best = report.candidates[static_cast<size_t>(*report.best)];
    result += fmt::format("; best: <a href=\"#c{0}\">candidate {0}</a> {1}, {2}", best.number,
                          best.verdict.empty() ? "not checked" : tag(best.verdict), escaped(print_time(best)));
  }
  result += "</p>";
  std::string plot = trajectory_svg(report);
  if (!plot.empty()) {
    result += "<h2>Trajectory</h2>" + plot;
    result +=
        "<p class=\"dim\">Time of one launch at the headline shape, logarithmic. Hollow points are <b>estimates</b> of "
        "the "
        "analytic model, filled points are measurements; the line is the best accepted so far; a cross is a candidate "
        "without a time.</p>";
  }
  result += "<h2>Candidates</h2>" + table(report);
  for (const Candidate& candidate : report.candidates) {
    result += candidate_section(report, candidate);
  }
  result += "<h2>Record</h2>";
  result += details("Steps", steps_table(report));
  result += details("Request", code_block(json::write(report.run.config, 2)));
  result += details("Result", code_block(json::write(report.run.summary, 2)));
  return result + "</body></html>\n";
}

}  // namespace tw::report
