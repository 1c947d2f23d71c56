// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "ir/function.h"
#include "sema/sema.h"
#include "syntax/ast.h"

// What the tests of this room and its fuzzer do with a program text: the whole way to IR.
namespace tw::sema {

struct Lowered {
  diag::SourceManager sources;
  diag::Sink sink;
  std::optional<syntax::Module> module;
  std::vector<KernelDecl> kernels;
  // All kernels in all configurations that were lowered.
  std::vector<ir::Function> functions;

  // Codes in the order they were reported, each once.
  [[nodiscard]] std::vector<int> codes() const;
  [[nodiscard]] std::string messages() const;
  // The text with the safe fix-its applied.
  [[nodiscard]] std::string fixed() const;
};

std::unique_ptr<Lowered> lower_text(std::string text, const Binding& overrides = {});

// The bodies of the fenced blocks of a Markdown text whose info string starts with `info`.
std::vector<std::string> fenced_blocks(std::string_view markdown, std::string_view info);

}  // namespace tw::sema
