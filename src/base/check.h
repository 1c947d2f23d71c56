// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tw {

// Reports a broken invariant of ours (never the user's fault) with the phases under way and ends the process with exit
// code 70.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

// Names what the program is doing while the scope lives; printed innermost last when a check fails.
class PhaseScope {
 public:
  explicit PhaseScope(std::string_view name);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;
};

}  // namespace tw

#define TW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::tw::check_failed(__FILE__, __LINE__, #condition, ""))
#define TW_CHECK_MSG(condition, message) \
  ((condition) ? static_cast<void>(0) : ::tw::check_failed(__FILE__, __LINE__, #condition, message))
