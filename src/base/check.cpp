// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tw {
namespace {

constexpr int kExitInternal = 70;

std::vector<std::string>& phases() {
  thread_local std::vector<std::string> stack;
  return stack;
}

}  // namespace

PhaseScope::PhaseScope(std::string_view name) {
  phases().emplace_back(name);
}
PhaseScope::~PhaseScope() {
  phases().pop_back();
}

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  const char* folder = std::strstr(file, "src/");
  std::fprintf(stderr, "tilewright: internal error[TW9001]: `%s` does not hold at %s:%d", condition,
               folder != nullptr ? folder : file, line);
  if (!message.empty()) {
    std::fprintf(stderr, ": %.*s", static_cast<int>(message.size()), message.data());
  }
  std::fputc('\n', stderr);
  for (const std::string& phase : phases()) {
    std::fprintf(stderr, "  while %s\n", phase.c_str());
  }
  std::fprintf(stderr, "  this is a bug in tilewright; please report it with the command and the input\n");
  std::_Exit(kExitInternal);
}

}  // namespace tw
