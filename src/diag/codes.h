// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tw::diag {

enum class Severity : uint8_t { Error, Warning, Remark };

// One permanent entry of the registry. Numbers are never reused; a retired code keeps its entry.
struct CodeInfo {
  uint16_t number;
  std::string_view name;
  Severity severity;
  std::string_view area;
  // fmt template: one `{}` an argument.
  std::string_view message;
  std::string_view since;
};

constexpr int count_placeholders(std::string_view message) {
  int count = 0;
  for (size_t i = 0; i + 1 < message.size(); ++i) {
    if (message[i] == '{' && message[i + 1] == '}') {
      ++count;
    }
  }
  return count;
}

// Each code is a type, so that the number of arguments is checked where it is reported.
namespace codes {
#define TW_DIAG(NUMBER, NAME, SEVERITY, AREA, MESSAGE, SINCE)                                 \
  struct NAME {                                                                               \
    static constexpr CodeInfo kInfo{NUMBER, #NAME, Severity::SEVERITY, AREA, MESSAGE, SINCE}; \
    static constexpr int kArguments = count_placeholders(MESSAGE);                            \
  };
#include "diag/codes/all.def"
#undef TW_DIAG
}  // namespace codes

// Sorted by number.
std::span<const CodeInfo> all_codes();
// nullptr when there is no such code.
const CodeInfo* find_code(uint16_t number);

}  // namespace tw::diag
