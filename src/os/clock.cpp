// SPDX-License-Identifier: Apache-2.0
#include "os/clock.h"

#include <chrono>
#include <ctime>
#include <fmt/format.h>

namespace tw::os {

int64_t steady_time_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t wall_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string format_utc(int64_t time_ms) {
  int64_t seconds = time_ms / 1000;
  int64_t rest_ms = time_ms % 1000;
  if (rest_ms < 0) {
    rest_ms += 1000;
    --seconds;
  }
  std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, rest_ms);
}

}  // namespace tw::os
