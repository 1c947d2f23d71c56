// SPDX-License-Identifier: Apache-2.0
// Fuzzes lexer, parser and printer: aborts when an input breaks a rule of fuzz_one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "syntax/fuzz_one.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(size, '\0');
  if (size > 0) {
    std::memcpy(text.data(), data, size);
  }
  if (auto broken = tw::syntax::fuzz_one(text)) {
    std::fprintf(stderr, "%s\n%s\n", broken->c_str(), text.c_str());
    std::abort();
  }
  return 0;
}
