// SPDX-License-Identifier: Apache-2.0
#include "diag/snippet.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"

namespace tw::diag {
namespace {

constexpr int kTabColumns = 4;
constexpr std::string_view kCut = "...";

// A character that a terminal would obey instead of show: bidirectional controls can make code read as what it is not.
bool is_direction_control(std::string_view character) {
  return character == "\xE2\x80\x8E" || character == "\xE2\x80\x8F" ||
         (character >= "\xE2\x80\xAA" && character <= "\xE2\x80\xAE") ||
         (character >= "\xE2\x81\xA6" && character <= "\xE2\x81\xA9");
}

bool is_control(std::string_view character) {
  auto first = static_cast<unsigned char>(character[0]);
  // U+0080 to U+009F are controls too.
  bool is_c1 = character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return first < 0x20 || first == 0x7f || is_c1;
}

void append_shown(std::string& out, std::string_view character) {
  if (is_control(character) || is_direction_control(character)) {
    out += '?';
  } else {
    out += character;
  }
}

// A line as shown, and at which column each of its bytes starts. `columns` has one entry more, for the end.
struct ShownLine {
  std::string text;
  size_t first_byte = 0;
  std::vector<int> columns;

  // `byte` counts from the start of the line.
  [[nodiscard]] int column_of(size_t byte) const {
    size_t index = std::clamp(byte, first_byte, first_byte + columns.size() - 1) - first_byte;
    return columns[index];
  }
};

ShownLine show_line(std::string_view line, size_t first_mark_byte, int width) {
  ShownLine shown;
  const auto wide = static_cast<size_t>(std::max(width, 20));
  if (line.size() > wide) {
    // The marked place goes to the first third of the window.
    size_t before = wide / 3;
    if (first_mark_byte > before + wide / 3) {
      shown.first_byte = std::min(first_mark_byte, line.size()) - before;
      while (shown.first_byte > 0 && (static_cast<unsigned char>(line[shown.first_byte]) & 0xc0) == 0x80) {
        --shown.first_byte;
      }
    }
  }
  int column = 0;
  if (shown.first_byte > 0) {
    shown.text += kCut;
    column += static_cast<int>(kCut.size());
  }
  size_t at = shown.first_byte;
  while (at < line.size()) {
    if (column >= static_cast<int>(wide)) {
      shown.text += kCut;
      break;
    }
    size_t length = utf8_length(line.substr(at));
    shown.columns.push_back(column);
    if (line[at] == '\t') {
      int stop = (column / kTabColumns + 1) * kTabColumns;
      shown.text.append(static_cast<size_t>(stop - column), ' ');
      column = stop;
      ++at;
      continue;
    }
    if (length == 0) {
      shown.text += '?';
      length = 1;
    } else {
      append_shown(shown.text, line.substr(at, length));
      shown.columns.insert(shown.columns.end(), length - 1, column);
    }
    at += length;
    ++column;
  }
  shown.columns.push_back(column);
  return shown;
}

struct LineMark {
  const Mark* mark;
  size_t begin_byte;
  size_t end_byte;
  bool has_text;
};

class SnippetMaker {
 public:
  SnippetMaker(const SourceManager& sources, FileId file, const SnippetOptions& options)
      : sources_(sources), file_(file), options_(options) {}

  void add(const Mark& mark) {
    uint32_t size_bytes = static_cast<uint32_t>(sources_.text(file_).size());
    uint32_t begin = std::min(mark.span.begin, size_bytes);
    uint32_t end = std::clamp(mark.span.end, begin, size_bytes);
    Position first = sources_.position(file_, begin);
    // The byte after the range may start a line that is not part of it.
    Position last = end > begin ? sources_.position(file_, end - 1) : first;
    if (first.line == last.line) {
      size_t length = std::max<uint32_t>(end - begin, 1);
      add_to_line(first.line, {&mark, first.column - 1, first.column - 1 + length, true});
      return;
    }
    // Of a range over several lines its first and last are shown; the words go under the first.
    add_to_line(first.line, {&mark, first.column - 1, sources_.line_text(file_, first.line).size(), true});
    std::string_view last_text = sources_.line_text(file_, last.line);
    size_t indent = std::min(last_text.find_first_not_of(" \t"), last_text.size());
    add_to_line(last.line, {&mark, std::min<size_t>(indent, last.column - 1), last.column, false});
  }

  std::vector<SnippetRow> rows() {
    std::vector<SnippetRow> out;
    uint32_t previous = 0;
    for (uint32_t line : shown_lines()) {
      if (previous != 0 && line > previous + 1) {
        SnippetRow gap;
        gap.kind = SnippetRow::Kind::Gap;
        out.push_back(gap);
      }
      previous = line;
      append_line(out, line);
    }
    return out;
  }

 private:
  void add_to_line(uint32_t line, LineMark mark) { marks_[line].push_back(mark); }

  std::set<uint32_t> shown_lines() const {
    std::set<uint32_t> lines;
    const auto context = static_cast<uint32_t>(std::max(options_.context_lines, 0));
    for (const auto& [line, marks] : marks_) {
      uint32_t last = std::min(line + context, sources_.line_count(file_));
      for (uint32_t shown = line > context ? line - context : 1; shown <= last; ++shown) {
        lines.insert(shown);
      }
    }
    // A gap of one line takes as much room as the line.
    std::set<uint32_t> filled = lines;
    for (uint32_t line : lines) {
      if (!lines.contains(line + 1) && lines.contains(line + 2)) {
        filled.insert(line + 1);
      }
    }
    return filled;
  }

  void append_line(std::vector<SnippetRow>& out, uint32_t line) {
    std::vector<LineMark> marks;
    if (auto found = marks_.find(line); found != marks_.end()) {
      marks = found->second;
    }
    std::ranges::stable_sort(marks, [](const LineMark& a, const LineMark& b) {
      return a.mark->is_primary != b.mark->is_primary ? a.mark->is_primary : a.begin_byte < b.begin_byte;
    });
    ShownLine shown =
        show_line(sources_.line_text(file_, line), marks.empty() ? 0 : marks[0].begin_byte, options_.width);
    SnippetRow code;
    code.line = line;
    code.text = shown.text;
    out.push_back(code);
    for (const LineMark& mark : marks) {
      SnippetRow row;
      row.kind = SnippetRow::Kind::Mark;
      row.mark_begin = shown.column_of(mark.begin_byte);
      row.mark_columns = std::max(shown.column_of(mark.end_byte) - row.mark_begin, 1);
      row.is_primary = mark.mark->is_primary;
      row.text = mark.has_text ? printable(mark.mark->text) : std::string();
      out.push_back(row);
    }
  }

  const SourceManager& sources_;
  FileId file_;
  SnippetOptions options_;
  std::map<uint32_t, std::vector<LineMark>> marks_;
};

}  // namespace

std::vector<SnippetRow> make_snippet(const SourceManager& sources, FileId file, const std::vector<Mark>& marks,
                                     const SnippetOptions& options) {
  SnippetMaker maker(sources, file, options);
  for (const Mark& mark : marks) {
    maker.add(mark);
  }
  return maker.rows();
}

std::string printable(std::string_view text, size_t max_columns) {
  std::string out;
  size_t columns = 0;
  while (!text.empty()) {
    if (columns == max_columns) {
      return out += kCut;
    }
    size_t length = utf8_length(text);
    if (length == 0) {
      out += '?';
      length = 1;
    } else if (text[0] == '\t' || text[0] == '\n') {
      out += ' ';
    } else {
      append_shown(out, text.substr(0, length));
    }
    text.remove_prefix(length);
    ++columns;
  }
  return out;
}

std::vector<std::string> wrap(std::string_view text, int width) {
  const auto wide = static_cast<size_t>(std::max(width, 20));
  std::vector<std::string> lines;
  for (std::string_view paragraph : split_lines(text)) {
    const std::string shown = printable(paragraph);
    std::string line;
    for (std::string_view word : split(shown, ' ')) {
      if (!line.empty() && display_width(line) + 1 + display_width(word) > wide) {
        lines.push_back(line);
        line.clear();
      } else if (!line.empty()) {
        line += ' ';
      }
      line += word;
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace tw::diag
