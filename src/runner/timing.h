// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runner/gpu.h"
#include "runner/launch.h"
#include "runner/statistics.h"

namespace tw::runner {

struct TimingOptions {
  int32_t warmup = 3;
  // Rounds stop once each item has this many samples and its interval is as narrow as wanted...
  int32_t min_samples = 30;
  double wanted_relative_error = 0.01;
  // ...or at these limits.
  int32_t max_samples = 1000;
  double max_time_ms = 5000;
  // A fill of twice the L2 cache goes before each launch, so that no launch finds its inputs there. It also keeps the
  // device busy while the host prepares the launch, which therefore isn't timed.
  bool is_l2_flushed = true;
  // Of the order in which the items of a round run.
  uint64_t seed = 1;
};

// One of the things that are timed against each other: starts its work on the stream and does not wait.
struct TimedItem {
  std::string name;
  std::function<RunResult<void>(cuda::Stream)> enqueue;
};

// Device events around each single launch; the items run interleaved, in a new order every round, so that a drift of
// the clock touches all alike. One result an item.
RunResult<std::vector<Timing>> time_interleaved(Gpu& gpu, std::span<const TimedItem> items,
                                                const TimingOptions& options);

RunResult<Timing> time_launch(Gpu& gpu, PreparedLaunch& launch, const TimingOptions& options);

// A copy of `size_bytes` on the device, the yardstick of kernels bound by memory: it moves twice as many bytes.
RunResult<Timing> time_copy(Gpu& gpu, int64_t size_bytes, const TimingOptions& options);

}  // namespace tw::runner
