// SPDX-License-Identifier: Apache-2.0
#include "sema/testing.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "base/strings.h"
#include "syntax/parser.h"

namespace tw::sema {

std::vector<int> Lowered::codes() const {
  std::vector<int> out;
  for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
    if (std::ranges::find(out, diagnostic.code->number) == out.end()) {
      out.push_back(diagnostic.code->number);
    }
  }
  return out;
}

std::string Lowered::messages() const {
  std::string out;
  for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
    const std::string_view place = diagnostic.primary.is_valid() ? sources.text(diagnostic.primary) : "";
    out += fmt::format("TW{:04d} {} [{}]\n", diagnostic.code->number, diagnostic.message(), place.substr(0, 60));
  }
  return out;
}

std::string Lowered::fixed() const {
  std::vector<diag::Edit> edits;
  for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
    for (const diag::FixIt& fixit : diagnostic.fixits) {
      if (fixit.applicability == diag::Applicability::Safe) {
        edits.insert(edits.end(), fixit.edits.begin(), fixit.edits.end());
      }
    }
  }
  std::ranges::sort(edits, std::greater<>(), [](const diag::Edit& edit) { return edit.span.begin; });
  std::string text(sources.text(diag::FileId(0)));
  for (const diag::Edit& edit : edits) {
    text.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.replacement);
  }
  return text;
}

std::unique_ptr<Lowered> lower_text(std::string text, const Binding& overrides) {
  auto out = std::make_unique<Lowered>();
  auto module = syntax::parse(out->sources, out->sources.add("test.tw.py", std::move(text)), out->sink);
  if (!module) {
    return out;
  }
  out->module = *std::move(module);
  auto kernels = kernels_of(*out->module, out->sink);
  if (!kernels) {
    return out;
  }
  out->kernels = *std::move(kernels);
  for (const KernelDecl& kernel : out->kernels) {
    auto machine = machine_of(kernel, "", out->sink);
    auto bindings = configurations_with(*out->module, kernel, overrides, out->sink);
    if (!machine || !bindings) {
      continue;
    }
    for (const Binding& binding : *bindings) {
      auto function = lower_kernel(*out->module, kernel, binding, **machine, out->sink);
      if (function) {
        out->functions.push_back(*std::move(function));
      }
    }
  }
  return out;
}

std::vector<std::string> fenced_blocks(std::string_view markdown, std::string_view info) {
  std::vector<std::string> out;
  bool is_inside = false;
  bool is_wanted = false;
  for (std::string_view line : split_lines(markdown)) {
    if (line.starts_with("```")) {
      is_wanted = !is_inside && line.substr(3).starts_with(info);
      is_inside = !is_inside;
      if (is_wanted) {
        out.emplace_back();
      }
    } else if (is_inside && is_wanted) {
      out.back() += std::string(line) + "\n";
    }
  }
  return out;
}

}  // namespace tw::sema
