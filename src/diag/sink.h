// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "diag/diagnostic.h"

namespace tw::diag {

// Proof that an error was reported: only the sink makes one, so "failed but said nothing" does not type-check.
class Reported {
 private:
  Reported() = default;
  friend class Sink;
  friend class Builder;
};

class Sink;

// Collects the parts of one diagnostic; handed to the sink when it converts to Reported or goes out of scope.
class [[nodiscard]] Builder {
 public:
  Builder(Sink& sink, Diagnostic diagnostic) : sink_(&sink), diagnostic_(std::move(diagnostic)) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() { emit_once(); }

  Builder& label(Span span, std::string text);
  Builder& note(std::string text, std::optional<Span> span = std::nullopt);
  Builder& fixit(FixIt fixit);
  Builder& evidence(Evidence evidence);
  // REQUIRES: severity is Error.
  Reported emit();

 private:
  void emit_once();
  Sink* sink_;
  Diagnostic diagnostic_;
};

// Receives all diagnostics of one invocation, in causal order.
class Sink {
 public:
  template <class Code, class... Args>
  Builder report(Code, Span primary, Args&&... args) {
    static_assert(sizeof...(Args) == Code::kArguments, "one argument for each {} of the code's message");
    Diagnostic diagnostic;
    diagnostic.code = &Code::kInfo;
    diagnostic.severity = Code::kInfo.severity;
    diagnostic.primary = primary;
    (diagnostic.arguments.push_back(to_argument(std::forward<Args>(args))), ...);
    diagnostic.contexts = contexts_;
    return {*this, std::move(diagnostic)};
  }

  void add(Diagnostic diagnostic);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  [[nodiscard]] int error_count() const { return error_count_; }
  [[nodiscard]] bool has_errors() const { return error_count_ > 0; }

 private:
  friend class ContextScope;
  static Argument to_argument(const std::string& text) { return text; }
  static Argument to_argument(std::string_view text) { return std::string(text); }
  static Argument to_argument(const char* text) { return std::string(text); }
  static Argument to_argument(double value) { return value; }
  template <class Int>
    requires std::is_integral_v<Int>
  static Argument to_argument(Int value) {
    return static_cast<int64_t>(value);
  }

  std::vector<Diagnostic> diagnostics_;
  std::vector<Context> contexts_;
  int error_count_ = 0;
};

// While it lives, every diagnostic of `sink` names this larger operation.
class ContextScope {
 public:
  ContextScope(Sink& sink, std::string text, std::optional<Span> span = std::nullopt) : sink_(sink) {
    sink_.contexts_.push_back({std::move(text), span});
  }
  ~ContextScope() { sink_.contexts_.pop_back(); }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Sink& sink_;
};

}  // namespace tw::diag

namespace tw {

// A value, or nothing because the sink already knows why.
template <class T>
using Checked = Result<T, diag::Reported>;

}  // namespace tw
