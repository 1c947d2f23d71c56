// SPDX-License-Identifier: Apache-2.0
#include "diag/source.h"

#include <algorithm>

#include "base/check.h"

namespace tw::diag {

Span Span::merged_with(Span other) const {
  if (!is_valid()) {
    return other;
  }
  if (!other.is_valid()) {
    return *this;
  }
  TW_CHECK(file == other.file);
  return {file, std::min(begin, other.begin), std::max(end, other.end)};
}

FileId SourceManager::add(std::string name, std::string text) {
  File file{std::move(name), std::move(text), {0}};
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') {
      file.line_starts.push_back(static_cast<uint32_t>(i + 1));
    }
  }
  files_.push_back(std::move(file));
  return FileId(static_cast<uint32_t>(files_.size() - 1));
}

std::string_view SourceManager::name(FileId file) const {
  return files_.at(file.index).name;
}
std::string_view SourceManager::text(FileId file) const {
  return files_.at(file.index).text;
}

std::string_view SourceManager::text(Span span) const {
  std::string_view whole = text(span.file);
  size_t begin = std::min<size_t>(span.begin, whole.size());
  return whole.substr(begin, std::max<size_t>(span.end, begin) - begin);
}

Position SourceManager::position(FileId file, uint32_t offset_bytes) const {
  const std::vector<uint32_t>& starts = files_.at(file.index).line_starts;
  offset_bytes = static_cast<uint32_t>(std::min<size_t>(offset_bytes, files_[file.index].text.size()));
  auto after = std::upper_bound(starts.begin(), starts.end(), offset_bytes);
  auto line = static_cast<uint32_t>(after - starts.begin());
  return {line, offset_bytes - starts[line - 1] + 1};
}

uint32_t SourceManager::line_begin(FileId file, uint32_t line) const {
  const std::vector<uint32_t>& starts = files_.at(file.index).line_starts;
  TW_CHECK(line >= 1 && line <= starts.size());
  return starts[line - 1];
}

std::string_view SourceManager::line_text(FileId file, uint32_t line) const {
  const File& f = files_.at(file.index);
  TW_CHECK(line >= 1 && line <= f.line_starts.size());
  uint32_t begin = f.line_starts[line - 1];
  auto end = static_cast<uint32_t>(line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size());
  if (end > begin && f.text[end - 1] == '\r') {
    --end;
  }
  return std::string_view(f.text).substr(begin, end - begin);
}

uint32_t SourceManager::line_count(FileId file) const {
  return static_cast<uint32_t>(files_.at(file.index).line_starts.size());
}

}  // namespace tw::diag
