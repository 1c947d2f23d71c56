// SPDX-License-Identifier: Apache-2.0
#include "diag/sink.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include "base/hash.h"

namespace tw::diag {

std::string Diagnostic::message() const {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Argument& argument : arguments) {
    std::visit([&](const auto& value) { store.push_back(value); }, argument);
  }
  try {
    return fmt::vformat(fmt::string_view(code->message.data(), code->message.size()), store);
  } catch (const fmt::format_error&) {
    // A template whose arguments do not fit it: saying less is better than ending here.
    return std::string(code->message);
  }
}

uint64_t Diagnostic::fingerprint(const SourceManager& sources) const {
  Hasher hasher;
  hasher.add(uint64_t{code->number});
  if (sources.has(primary.file)) {
    hasher.add(sources.text(primary));
  }
  hasher.add(message());
  return hasher.value();
}

Builder& Builder::label(Span span, std::string text) {
  diagnostic_.labels.push_back({span, false, std::move(text)});
  return *this;
}

Builder& Builder::note(std::string text, std::optional<Span> span) {
  diagnostic_.notes.push_back({std::move(text), span});
  return *this;
}

Builder& Builder::fixit(FixIt fixit) {
  diagnostic_.fixits.push_back(std::move(fixit));
  return *this;
}

Builder& Builder::evidence(Evidence evidence) {
  diagnostic_.evidence = std::move(evidence);
  return *this;
}

Reported Builder::emit() {
  TW_CHECK(diagnostic_.severity == Severity::Error);
  emit_once();
  return {};
}

void Builder::emit_once() {
  if (sink_ != nullptr) {
    sink_->add(std::move(diagnostic_));
    sink_ = nullptr;
  }
}

void Sink::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::Error) {
    ++error_count_;
  }
  diagnostics_.push_back(std::move(diagnostic));
}

}  // namespace tw::diag
