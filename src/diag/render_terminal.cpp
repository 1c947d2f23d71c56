// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "base/strings.h"
#include "diag/fixit.h"
#include "diag/render.h"
#include "diag/snippet.h"

namespace tw::diag {
namespace {

constexpr int kNarrowColumns = 60;

enum class Paint : uint8_t { Error, Warning, Remark, Strong, Quiet, Help };

std::string_view paint_code(Paint paint) {
  switch (paint) {
    case Paint::Error:
      return "\x1b[1;31m";
    case Paint::Warning:
      return "\x1b[1;33m";
    case Paint::Remark:
      return "\x1b[1;36m";
    case Paint::Strong:
      return "\x1b[1m";
    case Paint::Quiet:
      return "\x1b[34m";
    case Paint::Help:
      return "\x1b[32m";
  }
  return "";
}

Paint severity_paint(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return Paint::Error;
    case Severity::Warning:
      return Paint::Warning;
    case Severity::Remark:
      return Paint::Remark;
  }
  return Paint::Strong;
}

// One diagnostic as a frame.
class Frame {
 public:
  Frame(const Diagnostic& diagnostic, const SourceManager& sources, const TerminalOptions& options)
      : diagnostic_(diagnostic), sources_(sources), options_(options) {
    collect_marks();
    margin_ = options.has_line_numbers ? static_cast<int>(std::to_string(last_line()).size()) : 1;
  }

  std::string render() {
    std::string title = fmt::format("{}[{}]", severity_name(diagnostic_.severity), code_text(*diagnostic_.code));
    out_ += painted(title, severity_paint(diagnostic_.severity));
    put_wrapped(": " + diagnostic_.message(), static_cast<int>(title.size()), 2, Paint::Strong);
    for (size_t i = 0; i < files_.size(); ++i) {
      put_snippet(files_[i], i == 0);
    }
    for (const Context& context : diagnostic_.contexts) {
      put_part("", context.text + place_suffix(context.span));
    }
    for (const Note& note : diagnostic_.notes) {
      put_part("note: ", note.text + place_suffix(note.span));
    }
    put_evidence();
    for (const FixIt& fixit : diagnostic_.fixits) {
      put_fixit(fixit);
    }
    return std::move(out_);
  }

 private:
  std::string painted(std::string_view text, Paint paint) const {
    return options_.is_color && !text.empty() ? fmt::format("{}{}\x1b[0m", paint_code(paint), text) : std::string(text);
  }

  void collect_marks() {
    add_mark({diagnostic_.primary, true, {}});
    for (const Label& label : diagnostic_.labels) {
      if (!marks_.empty() && label.span == diagnostic_.primary && marks_[0].text.empty()) {
        marks_[0].text = label.text;
      } else {
        add_mark({label.span, label.is_primary, label.text});
      }
    }
  }

  void add_mark(Mark mark) {
    if (!sources_.has(mark.span.file)) {
      return;
    }
    if (std::ranges::find(files_, mark.span.file) == files_.end()) {
      files_.push_back(mark.span.file);
    }
    marks_.push_back(std::move(mark));
  }

  uint32_t last_line() const {
    uint32_t last = 1;
    for (const Mark& mark : marks_) {
      last = std::max(last, sources_.position(mark.span.file, mark.span.end).line);
    }
    return last;
  }

  std::string place(Span span) const {
    Position position = sources_.position(span.file, span.begin);
    std::string name = printable(sources_.name(span.file));
    return options_.has_line_numbers ? fmt::format("{}:{}:{}", name, position.line, position.column) : name;
  }

  std::string place_suffix(const std::optional<Span>& span) const {
    return span && sources_.has(span->file) ? fmt::format(" ({})", place(*span)) : std::string();
  }

  void put_margin(std::string_view text) {
    out_ += painted(fmt::format("{:>{}} |", text, margin_), Paint::Quiet) + " ";
  }

  // Removes the space that an empty row would end in.
  void end_line() {
    while (out_.ends_with(' ')) {
      out_.pop_back();
    }
    out_ += '\n';
  }

  // `text` goes on at column `used`; further lines are indented.
  void put_wrapped(const std::string& text, int used, int indent, Paint paint) {
    bool is_first = true;
    for (const std::string& line : wrap(std::string(static_cast<size_t>(used), 'x') + text, options_.width)) {
      std::string_view shown = line;
      if (is_first) {
        shown.remove_prefix(std::min(static_cast<size_t>(used), shown.size()));
      } else {
        out_.append(static_cast<size_t>(indent), ' ');
      }
      is_first = false;
      out_ += painted(shown, paint);
      end_line();
    }
  }

  void put_part(std::string_view head, const std::string& text, Paint paint = Paint::Strong) {
    bool is_first = true;
    for (const std::string& line : wrap(text, options_.width - margin_ - 3 - static_cast<int>(head.size()))) {
      out_.append(static_cast<size_t>(margin_) + 1, ' ');
      if (is_first) {
        out_ += painted("= ", Paint::Quiet);
        out_ += painted(head, paint);
      } else {
        out_.append(2 + head.size(), ' ');
      }
      is_first = false;
      out_ += line;
      end_line();
    }
  }

  void put_snippet(FileId file, bool is_first_file) {
    std::vector<Mark> marks;
    for (const Mark& mark : marks_) {
      if (mark.span.file == file) {
        marks.push_back(mark);
      }
    }
    out_.append(static_cast<size_t>(margin_), ' ');
    out_ += painted(is_first_file ? "--> " : "::: ", Paint::Quiet);
    out_ += place(marks[0].span);
    end_line();
    put_margin("");
    end_line();
    const int code_columns = options_.width - margin_ - 3;
    for (const SnippetRow& row : make_snippet(sources_, file, marks, {.context_lines = 0, .width = code_columns})) {
      switch (row.kind) {
        case SnippetRow::Kind::Gap:
          out_ += painted("...", Paint::Quiet);
          break;
        case SnippetRow::Kind::Code:
          put_margin(options_.has_line_numbers ? std::to_string(row.line) : std::string());
          out_ += row.text;
          break;
        case SnippetRow::Kind::Mark:
          put_mark(row, code_columns);
          break;
      }
      end_line();
    }
  }

  void put_mark(const SnippetRow& row, int code_columns) {
    Paint paint = row.is_primary ? severity_paint(diagnostic_.severity) : Paint::Quiet;
    put_margin("");
    out_.append(static_cast<size_t>(row.mark_begin), ' ');
    std::string line(static_cast<size_t>(row.mark_columns), row.is_primary ? '^' : '-');
    if (row.text.empty()) {
      out_ += painted(line, paint);
      return;
    }
    // Words that do not fit beside the mark go below it.
    int room = code_columns - row.mark_begin - row.mark_columns - 1;
    int columns = static_cast<int>(display_width(row.text));
    if (columns <= room) {
      out_ += painted(line + " " + row.text, paint);
      return;
    }
    out_ += painted(line, paint);
    int indent = std::min(row.mark_begin, code_columns / 2);
    for (const std::string& words : wrap(row.text, code_columns - indent)) {
      end_line();
      put_margin("");
      out_.append(static_cast<size_t>(indent), ' ');
      out_ += painted(words, paint);
    }
  }

  void put_evidence() {
    if (!diagnostic_.evidence) {
      return;
    }
    const Evidence& evidence = *diagnostic_.evidence;
    if (!evidence.verdict.empty() || !evidence.obligation.empty()) {
      put_part("", evidence.obligation.empty() ? evidence.verdict
                                               : fmt::format("{} {}", evidence.obligation, evidence.verdict));
    }
    for (const std::string& fact : evidence.facts) {
      put_part("  ", fact);
    }
    for (const std::string& assumption : evidence.assumptions) {
      put_part("assuming ", assumption);
    }
    if (!evidence.replay_command.empty()) {
      put_part("replay: ", evidence.replay_command, Paint::Help);
    }
  }

  void put_fixit(const FixIt& fixit) {
    std::string_view surety = fixit.applicability == Applicability::Safe ? "" : " (look at it first)";
    put_part("help: ", fmt::format("{}{}", fixit.title, surety), Paint::Help);
    bool is_header = true;
    std::string diff = fixit_diff(fixit, sources_, 0, [](std::string_view name) { return std::string(name); });
    for (std::string_view line : split_lines(diff)) {
      if (line.starts_with("@@")) {
        is_header = false;
        continue;
      }
      if (line.starts_with("--- ")) {
        is_header = true;
      }
      if (is_header || line.starts_with("\\")) {
        continue;
      }
      out_.append(static_cast<size_t>(margin_) + 5, ' ');
      out_ += painted(printable(line, static_cast<size_t>(std::max(options_.width - margin_ - 5, 20))), Paint::Help);
      end_line();
    }
  }

  const Diagnostic& diagnostic_;
  const SourceManager& sources_;
  const TerminalOptions& options_;
  std::vector<Mark> marks_;
  std::vector<FileId> files_;
  int margin_ = 1;
  std::string out_;
};

std::string compact_place(Span span, const SourceManager& sources, bool has_line_numbers) {
  if (!sources.has(span.file)) {
    return "tilewright: ";
  }
  std::string name = printable(sources.name(span.file));
  if (!has_line_numbers) {
    return name + ": ";
  }
  Position begin = sources.position(span.file, span.begin);
  Position end = sources.position(span.file, std::max(span.begin, span.end));
  std::string range = fmt::format("{}:{}:{}", name, begin.line, begin.column);
  // The last column of the range, when it is on the same line and longer than one byte.
  if (end.line == begin.line && end.column > begin.column + 1) {
    range += fmt::format("-{}", end.column - 1);
  }
  return range + ": ";
}

std::string render_compact(const Diagnostic& diagnostic, const SourceManager& sources, const TerminalOptions& options) {
  auto place = [&](const std::optional<Span>& span) {
    return compact_place(span.value_or(diagnostic.primary), sources, options.has_line_numbers);
  };
  std::string out = fmt::format("{}{}[{}]: {}\n", place(diagnostic.primary), severity_name(diagnostic.severity),
                                code_text(*diagnostic.code), printable(diagnostic.message()));
  auto put = [&](const std::optional<Span>& span, std::string_view head, std::string_view text) {
    out += fmt::format("{}{}{}\n", place(span), head, printable(text));
  };
  for (const Label& label : diagnostic.labels) {
    put(label.span, "note: ", label.text);
  }
  for (const Context& context : diagnostic.contexts) {
    put(context.span, "note: ", context.text);
  }
  for (const Note& note : diagnostic.notes) {
    put(note.span, "note: ", note.text);
  }
  if (diagnostic.evidence) {
    const Evidence& evidence = *diagnostic.evidence;
    if (!evidence.verdict.empty()) {
      put(std::nullopt, "note: ", fmt::format("{} {}", evidence.obligation, evidence.verdict));
    }
    for (const std::string& fact : evidence.facts) {
      put(std::nullopt, "note: ", fact);
    }
    for (const std::string& assumption : evidence.assumptions) {
      put(std::nullopt, "note: assuming ", assumption);
    }
    if (!evidence.replay_command.empty()) {
      put(std::nullopt, "replay: ", evidence.replay_command);
    }
  }
  for (const FixIt& fixit : diagnostic.fixits) {
    put(fixit.edits.empty() ? std::nullopt : std::optional(fixit.edits[0].span), "help: ", fixit.title);
  }
  return out;
}

}  // namespace

std::string render_terminal(std::span<const Diagnostic> diagnostics, const SourceManager& sources,
                            const TerminalOptions& options) {
  std::string out;
  size_t shown = std::min(diagnostics.size(), options.max_diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.first(shown)) {
    if (options.is_compact || options.width < kNarrowColumns) {
      out += render_compact(diagnostic, sources, options);
    } else {
      if (!out.empty()) {
        out += '\n';
      }
      out += Frame(diagnostic, sources, options).render();
    }
  }
  if (shown < diagnostics.size()) {
    out += fmt::format("({} more not shown)\n", diagnostics.size() - shown);
  }
  return out;
}

std::string code_text(const CodeInfo& code) {
  return fmt::format("TW{:04}", code.number);
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Remark:
      return "remark";
  }
  return "error";
}

std::string_view applicability_name(Applicability applicability) {
  switch (applicability) {
    case Applicability::Safe:
      return "safe";
    case Applicability::MaybeWrong:
      return "maybe-wrong";
    case Applicability::HasPlaceholders:
      return "has-placeholders";
  }
  return "maybe-wrong";
}

}  // namespace tw::diag
