// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"

namespace tw::runner {

// Times of one kernel. The median and its interval are free of any assumption about the distribution, which for GPU
// times is skewed to the right.
struct Timing {
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  // 95 % confidence interval of the median, from order statistics; with fewer than 6 samples there is none and these
  // are the extremes.
  double low_ms = 0;
  double high_ms = 0;
  int32_t samples = 0;
  bool has_interval = false;

  // Half the interval's width over the median.
  [[nodiscard]] double relative_error() const { return median_ms > 0 ? (high_ms - low_ms) / 2 / median_ms : 0; }
};

// {"ms", "ms_low", "ms_high", "ms_min", "ms_max", "samples"}, the names of `tw.bench/1`.
json::Value to_json(const Timing& timing);

// REQUIRES: at least one sample.
Timing summarize(std::span<const double> samples_ms);

// The largest rank r (1-based) such that the r-th smallest and the r-th largest of `samples` values enclose the median
// of their distribution with at least 95 % probability; 0 when there is none.
int32_t median_interval_rank(int32_t samples);

}  // namespace tw::runner
