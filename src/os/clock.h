// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tw::os {

// Never goes back; for durations.
int64_t steady_time_ns();
// Milliseconds since 1970 in UTC.
int64_t wall_time_ms();
// "2026-01-31T08:15:00.250Z".
std::string format_utc(int64_t time_ms);

class Stopwatch {
 public:
  Stopwatch() : start_ns_(steady_time_ns()) {}
  [[nodiscard]] double elapsed_ms() const { return static_cast<double>(steady_time_ns() - start_ns_) / 1e6; }

 private:
  int64_t start_ns_;
};

}  // namespace tw::os
