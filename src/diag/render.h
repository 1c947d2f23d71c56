// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "diag/diagnostic.h"

namespace tw::diag {

// Renderers are pure functions of (diagnostics, sources, options) and take any diagnostic, however odd: spans outside
// their file, files that are not known, bytes that are no text.

struct TerminalOptions {
  // Columns. Below 60 the compact form is used.
  int width = 100;
  bool is_color = false;
  // One line a diagnostic, one a note: for pipes and editors.
  bool is_compact = false;
  // Off in goldens, so that an unrelated edit above does not change them.
  bool has_line_numbers = true;
  // Further diagnostics are only counted.
  size_t max_diagnostics = 50;
};

std::string render_terminal(std::span<const Diagnostic> diagnostics, const SourceManager& sources,
                            const TerminalOptions& options);

// The object with schema `tw.diagnostic/1`, described in docs/diagnostics/README.md.
json::Value to_json(const Diagnostic& diagnostic, const SourceManager& sources);
// JSON Lines: one such object a line.
std::string render_json(std::span<const Diagnostic> diagnostics, const SourceManager& sources);

constexpr size_t kMinLlmBudgetBytes = 300;

// What a language model is told. Deterministic; the same facts as the JSON form, fewer of them.
struct LlmOptions {
  // The text is never longer; less than the minimum counts as the minimum.
  size_t budget_bytes = 8000;
  int context_lines = 3;
  // Removed from the front of file names; what is still absolute then is cut to its last part.
  std::string root_folder;
  // What an edit must not change: "the signature of `gemm`".
  std::vector<std::string> must_keep;
  // Obligations and inputs that were not looked at.
  std::vector<std::string> not_checked;
};

std::string render_llm(std::span<const Diagnostic> diagnostics, const SourceManager& sources,
                       const LlmOptions& options);

// "TW9001".
std::string code_text(const CodeInfo& code);
// "error", "warning", "remark".
std::string_view severity_name(Severity severity);
// "safe", "maybe-wrong", "has-placeholders".
std::string_view applicability_name(Applicability applicability);

}  // namespace tw::diag
