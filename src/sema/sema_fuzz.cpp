// SPDX-License-Identifier: Apache-2.0
// Whatever the text: lowering ends, a refusal has an error, and what is lowered is well formed (checked inside).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sema/testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string text(reinterpret_cast<const char*>(data), size_bytes);
  auto lowered = tw::sema::lower_text(text);
  if (lowered->functions.empty() && !lowered->sink.has_errors()) {
    std::fprintf(stderr, "refused without an error\n%s\n", text.c_str());
    std::abort();
  }
  return 0;
}
