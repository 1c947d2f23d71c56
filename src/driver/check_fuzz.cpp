// SPDX-License-Identifier: Apache-2.0
// Fuzzes the whole of `check` without the command line: whatever the text, the process lives, a failure has an error
// with a place in the text, and a refutation has a counterexample that was replayed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "diag/render.h"
#include "driver/driver.h"
#include "syntax/fuzz_one.h"
#include "verify/verify.h"

namespace {

void demand(bool holds, const char* rule, const std::string& text) {
  if (!holds) {
    std::fprintf(stderr, "broken rule: %s\n%s\n", rule, text.c_str());
    std::abort();
  }
}

void demand_sound_diagnostics(const tw::driver::Session& session, const std::string& text) {
  for (const tw::diag::Diagnostic& diagnostic : session.sink.diagnostics()) {
    demand(session.sources.has(diagnostic.primary.file), "every diagnostic has a place", text);
    demand(diagnostic.primary.end <= text.size(), "the place lies in the text", text);
  }
  demand(
      !tw::diag::render_json(session.sink.diagnostics(), session.sources).empty() || session.sink.diagnostics().empty(),
      "diagnostics can be rendered", text);
}

void check_one(const std::string& text) {
  tw::driver::Session session;
  tw::driver::CompileRequest request;
  request.name = "fuzz.tw.py";
  request.text = text;
  auto kernels = tw::driver::compile(session, request);
  demand(kernels.has_value() != session.sink.has_errors(), "a program is accepted or has an error", text);
  demand_sound_diagnostics(session, text);
  if (!kernels) {
    return;
  }
  for (const tw::driver::CompiledKernel& kernel : *kernels) {
    tw::verify::Report report = tw::verify::check(kernel.source, kernel.lowered, {}, session.sink);
    for (const tw::verify::Obligation& obligation : report.obligations) {
      if (obligation.verdict == tw::verify::Verdict::Refuted) {
        demand(obligation.counterexample && obligation.counterexample->is_replayed, "a refutation was replayed", text);
        demand(report.verdict == tw::verify::Verdict::Refuted, "a refuted obligation refutes the kernel", text);
      }
    }
  }
  demand_sound_diagnostics(session, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  check_one(std::string(reinterpret_cast<const char*>(data), size_bytes));
  return 0;
}

// Edits by token and line: random bytes hardly ever get past the parser.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size_bytes, size_t max_size_bytes, unsigned seed) {
  std::string text(reinterpret_cast<const char*>(data), size_bytes);
  std::string mutated = tw::syntax::mutate({text.empty() ? std::string(tw::syntax::kFuzzSeedProgram) : text}, seed);
  mutated.resize(std::min(mutated.size(), max_size_bytes));
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}
