// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/source.h"

namespace tw::diag {

// Some lines of one file with marked ranges, laid out in columns. What terminal and language-model output share.

struct Mark {
  Span span;
  bool is_primary = false;
  std::string text;
};

struct SnippetRow {
  enum class Kind : uint8_t { Code, Mark, Gap };
  Kind kind = Kind::Code;
  // Of code rows; 1-based.
  uint32_t line = 0;
  // Code as shown: tabs widened, control characters replaced.
  std::string text;
  // Of mark rows: columns from 0. `text` is what is read against the range.
  int mark_begin = 0;
  int mark_columns = 0;
  bool is_primary = false;
};

struct SnippetOptions {
  // Lines shown around marked ones.
  int context_lines = 0;
  // Columns for code; longer lines show the part around their first mark.
  int width = 90;
};

// REQUIRES: all marks in `file`, which `sources` has.
std::vector<SnippetRow> make_snippet(const SourceManager& sources, FileId file, const std::vector<Mark>& marks,
                                     const SnippetOptions& options);

// `text` on one line as a terminal may safely show it: control characters, characters that turn the direction of
// writing and broken UTF-8 become `?`; cut after `max_columns`.
std::string printable(std::string_view text, size_t max_columns = 2000);

// `text` broken at spaces into lines of at most `width` columns; its own line ends stay.
std::vector<std::string> wrap(std::string_view text, int width);

}  // namespace tw::diag
