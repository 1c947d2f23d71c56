// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace tw::diag {

using FileId = Id<struct FileTag>;

// A range of bytes [begin, end) of one file. Lines and columns exist only in SourceManager.
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;

  [[nodiscard]] bool is_valid() const { return file.is_valid(); }
  // The smallest span that holds both; REQUIRES: same file, or one of them not valid.
  [[nodiscard]] Span merged_with(Span other) const;
  friend bool operator==(const Span&, const Span&) = default;
};

// 1-based; column counts bytes.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

// Owns the texts of all files of one invocation.
class SourceManager {
 public:
  // `name` is what messages print: the path as the user gave it.
  FileId add(std::string name, std::string text);

  [[nodiscard]] bool has(FileId file) const { return file.index < files_.size(); }
  [[nodiscard]] std::string_view name(FileId file) const;
  [[nodiscard]] std::string_view text(FileId file) const;
  // What of the span lies inside its file.
  [[nodiscard]] std::string_view text(Span span) const;
  // An offset beyond the end counts as the end.
  [[nodiscard]] Position position(FileId file, uint32_t offset_bytes) const;
  // Offset of the first byte of `line` (1-based).
  [[nodiscard]] uint32_t line_begin(FileId file, uint32_t line) const;
  // `line` is 1-based; without the line end.
  [[nodiscard]] std::string_view line_text(FileId file, uint32_t line) const;
  [[nodiscard]] uint32_t line_count(FileId file) const;

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<uint32_t> line_starts;
  };
  std::vector<File> files_;
};

}  // namespace tw::diag
