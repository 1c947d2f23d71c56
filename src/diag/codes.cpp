// SPDX-License-Identifier: Apache-2.0
#include "diag/codes.h"

#include <algorithm>
#include <vector>

namespace tw::diag {
namespace {

const std::vector<CodeInfo>& registry() {
  static const std::vector<CodeInfo> sorted = [] {
    std::vector<CodeInfo> all{
#define TW_DIAG(NUMBER, NAME, SEVERITY, AREA, MESSAGE, SINCE) codes::NAME::kInfo,
#include "diag/codes/all.def"
#undef TW_DIAG
    };
    std::ranges::sort(all, {}, &CodeInfo::number);
    return all;
  }();
  return sorted;
}

}  // namespace

std::span<const CodeInfo> all_codes() {
  return registry();
}

const CodeInfo* find_code(uint16_t number) {
  auto found = std::ranges::lower_bound(registry(), number, {}, &CodeInfo::number);
  return found != registry().end() && found->number == number ? &*found : nullptr;
}

}  // namespace tw::diag
