// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "diag/codes.h"
#include "diag/source.h"

namespace tw::diag {

using Argument = std::variant<int64_t, double, std::string>;

// Words read against a range of the program, shown under it.
struct Label {
  Span span;
  bool is_primary = false;
  std::string text;
};

// A sentence that stands alone.
struct Note {
  std::string text;
  std::optional<Span> span;
};

// The larger operation under way: "while lowering `mma` for sm_80".
struct Context {
  std::string text;
  std::optional<Span> span;
};

// Safe: a tool may apply it. A fix-it is applied whole or not at all.
enum class Applicability : uint8_t { Safe, MaybeWrong, HasPlaceholders };

struct Edit {
  Span span;
  std::string replacement;
};

struct FixIt {
  std::string title;
  std::vector<Edit> edits;
  Applicability applicability = Applicability::MaybeWrong;
};

// What makes a verdict checkable. `counterexample_json` is a whole `tw.counterexample/1` object.
struct Evidence {
  std::string verdict;
  std::string obligation;
  std::string counterexample_json;
  // One sentence a fact, concrete values: "thread 33 reads sA[0][4, 8]".
  std::vector<std::string> facts;
  std::vector<std::string> assumptions;
  std::string replay_command;
};

struct Diagnostic {
  const CodeInfo* code = nullptr;
  Severity severity = Severity::Error;
  std::vector<Argument> arguments;
  Span primary;
  std::vector<Label> labels;
  std::vector<Note> notes;
  std::vector<Context> contexts;
  std::vector<FixIt> fixits;
  std::optional<Evidence> evidence;

  // The template with its arguments filled in.
  [[nodiscard]] std::string message() const;
  // Stable across runs and unrelated edits: code, text of the place, arguments.
  [[nodiscard]] uint64_t fingerprint(const SourceManager& sources) const;
};

}  // namespace tw::diag
