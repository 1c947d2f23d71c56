// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/strings.h"
#include "diag/fixit.h"
#include "diag/render.h"
#include "diag/snippet.h"

namespace tw::diag {
namespace {

constexpr size_t kMaxFacts = 12;
constexpr int kCodeColumns = 120;

// Diagnostics with one fingerprint are one problem.
struct Problem {
  const Diagnostic* diagnostic;
  int count;
};

std::vector<Problem> fold(std::span<const Diagnostic> diagnostics, const SourceManager& sources) {
  std::vector<Problem> problems;
  std::map<uint64_t, size_t> known;
  for (const Diagnostic& diagnostic : diagnostics) {
    auto [entry, is_new] = known.try_emplace(diagnostic.fingerprint(sources), problems.size());
    if (is_new) {
      problems.push_back({&diagnostic, 1});
    } else {
      ++problems[entry->second].count;
    }
  }
  // Within one severity the causal order of the sink stays.
  std::ranges::stable_sort(problems, {}, [](const Problem& problem) { return problem.diagnostic->severity; });
  return problems;
}

class Writer {
 public:
  Writer(const SourceManager& sources, const LlmOptions& options) : sources_(sources), options_(options) {}

  std::string full(const Problem& problem, size_t number) const {
    const Diagnostic& d = *problem.diagnostic;
    std::string out = heading(problem, number);
    for (const Context& context : d.contexts) {
      out += fmt::format("{}\n", printable(context.text));
    }
    out += source_window(d);
    for (const Note& note : d.notes) {
      out += fmt::format("note: {}{}\n", printable(note.text), place_suffix(note.span));
    }
    if (d.evidence) {
      out += evidence(*d.evidence);
    }
    for (const FixIt& fixit : d.fixits) {
      out += fmt::format("suggested edit ({}): {}\n", applicability_name(fixit.applicability), printable(fixit.title));
      std::string diff = fixit_diff(fixit, sources_, 1, [this](std::string_view name) { return relative_name(name); });
      for (std::string_view line : split_lines(diff)) {
        out += printable(line, kCodeColumns) + "\n";
      }
    }
    return out;
  }

  std::string heading(const Problem& problem, size_t number) const {
    const Diagnostic& d = *problem.diagnostic;
    std::string times = problem.count > 1 ? fmt::format(" ({} times)", problem.count) : std::string();
    return fmt::format("{}. {} {} {}{}: {}{}\n", number, severity_name(d.severity), code_text(*d.code), d.code->name,
                       times, printable(d.message(), 400), place_suffix(d.primary));
  }

 private:
  std::string relative_name(std::string_view name) const {
    std::string_view root = options_.root_folder;
    while (root.size() > 1 && root.ends_with('/')) {
      root.remove_suffix(1);
    }
    if (!root.empty() && name.size() > root.size() && name.starts_with(root) && name[root.size()] == '/') {
      name.remove_prefix(root.size() + 1);
    }
    if (name.starts_with('/')) {
      name.remove_prefix(name.rfind('/') + 1);
    }
    return printable(name);
  }

  std::string place_suffix(const std::optional<Span>& span) const {
    if (!span || !sources_.has(span->file)) {
      return {};
    }
    Position position = sources_.position(span->file, span->begin);
    return fmt::format(" ({}:{}:{})", relative_name(sources_.name(span->file)), position.line, position.column);
  }

  std::string source_window(const Diagnostic& d) const {
    std::vector<FileId> files;
    std::vector<Mark> marks;
    auto add = [&](Mark mark) {
      if (sources_.has(mark.span.file)) {
        if (std::ranges::find(files, mark.span.file) == files.end()) {
          files.push_back(mark.span.file);
        }
        marks.push_back(std::move(mark));
      }
    };
    add({d.primary, true, {}});
    for (const Label& label : d.labels) {
      if (!marks.empty() && label.span == d.primary && marks[0].text.empty()) {
        marks[0].text = label.text;
      } else {
        add({label.span, label.is_primary, label.text});
      }
    }
    std::string out;
    for (FileId file : files) {
      std::vector<Mark> here;
      std::ranges::copy_if(marks, std::back_inserter(here), [&](const Mark& mark) { return mark.span.file == file; });
      out += fmt::format("{}:\n", relative_name(sources_.name(file)));
      for (const SnippetRow& row :
           make_snippet(sources_, file, here, {.context_lines = options_.context_lines, .width = kCodeColumns})) {
        switch (row.kind) {
          case SnippetRow::Kind::Gap:
            out += "     ...\n";
            break;
          case SnippetRow::Kind::Code:
            out += fmt::format("{:>5} | {}\n", row.line, row.text);
            break;
          case SnippetRow::Kind::Mark: {
            std::string mark(static_cast<size_t>(row.mark_columns), row.is_primary ? '^' : '-');
            std::string_view gap = row.text.empty() ? "" : " ";
            out += fmt::format("      | {:{}}{}{}{}\n", "", row.mark_begin, mark, gap, row.text);
            break;
          }
        }
      }
    }
    return out;
  }

  std::string evidence(const Evidence& evidence) const {
    std::string out;
    if (!evidence.verdict.empty()) {
      out += fmt::format("verdict: {} {}\n", printable(evidence.obligation), printable(evidence.verdict));
    }
    for (size_t i = 0; i < evidence.facts.size(); ++i) {
      if (i == kMaxFacts) {
        out += fmt::format("- ({} more facts)\n", evidence.facts.size() - i);
        break;
      }
      out += fmt::format("- {}\n", printable(evidence.facts[i], 300));
    }
    for (const std::string& assumption : evidence.assumptions) {
      out += fmt::format("assuming: {}\n", printable(assumption, 300));
    }
    return out;
  }

  const SourceManager& sources_;
  const LlmOptions& options_;
};

bool is_undecided(const Diagnostic& diagnostic) {
  return diagnostic.evidence && (to_lower(diagnostic.evidence->verdict).starts_with("unknown") ||
                                 to_lower(diagnostic.evidence->verdict).starts_with("vacuous"));
}

std::string closing(std::span<const Diagnostic> diagnostics, const LlmOptions& options) {
  std::string out;
  for (const std::string& text : options.must_keep) {
    out += fmt::format("keep: {}\n", printable(text, 300));
  }
  std::vector<std::string> open;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (is_undecided(diagnostic)) {
      std::string text = printable(diagnostic.evidence->obligation, 200);
      if (std::ranges::find(open, text) == open.end()) {
        open.push_back(text);
      }
    }
  }
  for (const std::string& text : options.not_checked) {
    open.push_back(printable(text, 300));
  }
  if (open.empty()) {
    return out + "not checked: (nothing was named)\n";
  }
  for (const std::string& text : open) {
    out += fmt::format("not checked: {}\n", text);
  }
  return out;
}

// At most `size_bytes` of `text`, cut at a line end and saying so.
std::string cut(std::string text, size_t size_bytes) {
  constexpr std::string_view kMore = "(cut)\n";
  if (text.size() <= size_bytes) {
    return text;
  }
  if (size_bytes <= kMore.size()) {
    return {};
  }
  size_t end = text.rfind('\n', size_bytes - kMore.size() - 1);
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text += kMore;
}

}  // namespace

std::string render_llm(std::span<const Diagnostic> diagnostics, const SourceManager& sources,
                       const LlmOptions& options) {
  const Writer writer(sources, options);
  const size_t budget_bytes = std::max<size_t>(options.budget_bytes, kMinLlmBudgetBytes);
  const std::vector<Problem> problems = fold(diagnostics, sources);
  // The end is never given up: silence about what was not checked would read as success.
  std::string end = cut(closing(diagnostics, options), budget_bytes / 3);
  std::string out = fmt::format("{} problem{}\n", problems.size(), problems.size() == 1 ? "" : "s");
  // Room for the line that counts what was left out.
  constexpr size_t kReserveBytes = 40;
  auto room = [&] {
    size_t used = out.size() + end.size() + kReserveBytes;
    return budget_bytes - std::min(budget_bytes, used);
  };
  size_t shown = 0;
  for (; shown < problems.size(); ++shown) {
    std::string text = writer.full(problems[shown], shown + 1);
    if (text.size() > room()) {
      // The first problem is the likeliest cause: it is cut rather than reduced to its heading.
      text = shown == 0 ? cut(std::move(text), room()) : writer.heading(problems[shown], shown + 1);
      if (text.size() > room() || text.empty()) {
        break;
      }
    }
    out += text;
  }
  if (shown < problems.size()) {
    std::string rest = fmt::format("({} more not shown)\n", problems.size() - shown);
    if (out.size() + rest.size() + end.size() <= budget_bytes) {
      out += rest;
    }
  }
  return out + end;
}

}  // namespace tw::diag
