// SPDX-License-Identifier: Apache-2.0
#include "diag/fixit.h"

#include <algorithm>
#include <vector>

#include "base/line_diff.h"

namespace tw::diag {

Result<std::string> apply_fixit(const FixIt& fixit, FileId file, const SourceManager& sources) {
  if (!sources.has(file)) {
    return fail("the fix-it is for a file that is not known");
  }
  std::string_view text = sources.text(file);
  std::vector<const Edit*> edits;
  for (const Edit& edit : fixit.edits) {
    if (edit.span.file == file) {
      edits.push_back(&edit);
    }
  }
  std::ranges::stable_sort(edits, {}, [](const Edit* edit) { return edit->span.begin; });
  std::string out;
  size_t next = 0;
  for (const Edit* edit : edits) {
    if (edit->span.begin < next || edit->span.end < edit->span.begin || edit->span.end > text.size()) {
      return fail("the edits of the fix-it overlap or reach outside the file");
    }
    out += text.substr(next, edit->span.begin - next);
    out += edit->replacement;
    next = edit->span.end;
  }
  out += text.substr(next);
  return out;
}

std::string fixit_diff(const FixIt& fixit, const SourceManager& sources, int context_lines,
                       const std::function<std::string(std::string_view)>& shown_name) {
  std::vector<FileId> files;
  for (const Edit& edit : fixit.edits) {
    if (std::ranges::find(files, edit.span.file) == files.end()) {
      files.push_back(edit.span.file);
    }
  }
  std::string out;
  for (FileId file : files) {
    Result<std::string> after = apply_fixit(fixit, file, sources);
    if (!after) {
      return {};
    }
    std::string name = shown_name(sources.name(file));
    out += unified_diff(name, name, sources.text(file), *after, context_lines);
  }
  return out;
}

}  // namespace tw::diag
