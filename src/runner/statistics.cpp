// SPDX-License-Identifier: Apache-2.0
#include "runner/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tw::runner {

int32_t median_interval_rank(int32_t samples) {
  // The interval misses the median when fewer than r samples lie on one side of it: twice the lower tail of a
  // binomial distribution with probability one half.
  const double n = samples;
  double tail = 0;
  int32_t rank = 0;
  for (int32_t below = 0; below < samples; ++below) {
    const double k = below;
    const double log_probability = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0);
    tail += std::exp(log_probability);
    if (2 * tail > 0.05) {
      break;
    }
    rank = below + 1;
  }
  return rank;
}

json::Value to_json(const Timing& timing) {
  return json::Object{{"ms", timing.median_ms},  {"ms_low", timing.low_ms}, {"ms_high", timing.high_ms},
                      {"ms_min", timing.min_ms}, {"ms_max", timing.max_ms}, {"samples", timing.samples}};
}

Timing summarize(std::span<const double> samples_ms) {
  TW_CHECK(!samples_ms.empty());
  std::vector<double> sorted(samples_ms.begin(), samples_ms.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t count = sorted.size();
  Timing timing;
  timing.samples = static_cast<int32_t>(count);
  timing.min_ms = sorted.front();
  timing.max_ms = sorted.back();
  timing.median_ms = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  const int32_t rank = median_interval_rank(timing.samples);
  timing.has_interval = rank > 0;
  const size_t low = rank > 0 ? static_cast<size_t>(rank) - 1 : 0;
  timing.low_ms = sorted[low];
  timing.high_ms = sorted[count - 1 - low];
  return timing;
}

}  // namespace tw::runner
