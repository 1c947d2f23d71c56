// SPDX-License-Identifier: Apache-2.0
#include "runner/timing.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "base/check.h"
#include "os/clock.h"

namespace tw::runner {

namespace {

// A pair of device events.
class EventPair {
 public:
  static RunResult<EventPair> make(Gpu& gpu) {
    EventPair pair(gpu);
    constexpr uint32_t kDefaultEvent = 0;
    TW_TRY_STATUS(gpu.check(gpu.driver()->event_create(&pair.start_, kDefaultEvent), "creating an event"));
    TW_TRY_STATUS(gpu.check(gpu.driver()->event_create(&pair.end_, kDefaultEvent), "creating an event"));
    return pair;
  }
  EventPair(EventPair&& other) noexcept
      : gpu_(other.gpu_), start_(std::exchange(other.start_, nullptr)), end_(std::exchange(other.end_, nullptr)) {}
  EventPair& operator=(EventPair&&) = delete;
  ~EventPair() {
    for (cuda::Event event : {start_, end_}) {
      if (event != nullptr) {
        gpu_->driver()->event_destroy(event);
      }
    }
  }

  RunResult<void> record_start(cuda::Stream stream) {
    return gpu_->check(gpu_->driver()->event_record(start_, stream), "recording an event");
  }
  RunResult<void> record_end(cuda::Stream stream) {
    return gpu_->check(gpu_->driver()->event_record(end_, stream), "recording an event");
  }
  RunResult<double> elapsed_ms() {
    TW_TRY_STATUS(gpu_->check(gpu_->driver()->event_synchronize(end_), "waiting for a timed launch"));
    float ms = 0;
    TW_TRY_STATUS(gpu_->check(gpu_->driver()->event_elapsed(&ms, start_, end_), "reading an event"));
    return static_cast<double>(ms);
  }

 private:
  explicit EventPair(Gpu& gpu) : gpu_(&gpu) {}
  Gpu* gpu_;
  cuda::Event start_ = nullptr;
  cuda::Event end_ = nullptr;
};

bool is_good_enough(const std::vector<std::vector<double>>& samples_ms, const TimingOptions& options) {
  return std::all_of(samples_ms.begin(), samples_ms.end(), [&](const std::vector<double>& of_item) {
    if (static_cast<int32_t>(of_item.size()) < options.min_samples) {
      return false;
    }
    const Timing timing = summarize(of_item);
    return timing.has_interval && timing.relative_error() <= options.wanted_relative_error;
  });
}

}  // namespace

RunResult<std::vector<Timing>> time_interleaved(Gpu& gpu, std::span<const TimedItem> items,
                                                const TimingOptions& options) {
  TW_CHECK(options.max_samples > 0);
  const cuda::Stream stream = gpu.stream();
  constexpr int64_t kMinFlushBytes = int64_t{32} << 20;
  std::optional<GuardedBuffer> flush;
  if (options.is_l2_flushed) {
    TW_TRY(GuardedBuffer memory, GuardedBuffer::allocate(gpu, std::max(2 * gpu.info().l2_bytes, kMinFlushBytes)));
    flush.emplace(std::move(memory));
  }
  for (int32_t i = 0; i < options.warmup; ++i) {
    for (const TimedItem& item : items) {
      TW_TRY_STATUS(item.enqueue(stream));
    }
  }
  TW_TRY_STATUS(gpu.synchronize());

  std::vector<EventPair> events;
  for (size_t i = 0; i < items.size(); ++i) {
    TW_TRY(EventPair pair, EventPair::make(gpu));
    events.push_back(std::move(pair));
  }
  std::vector<std::vector<double>> samples_ms(items.size());
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(options.seed);
  const os::Stopwatch stopwatch;
  for (int32_t round = 0; round < options.max_samples; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      if (flush) {
        TW_TRY_STATUS(gpu.check(gpu.driver()->fill_bytes_async(flush->address(), static_cast<uint8_t>(round),
                                                               static_cast<size_t>(flush->size_bytes()), stream),
                                "flushing the L2 cache"));
      }
      TW_TRY_STATUS(events[i].record_start(stream));
      TW_TRY_STATUS(items[i].enqueue(stream));
      TW_TRY_STATUS(events[i].record_end(stream));
    }
    for (size_t i = 0; i < items.size(); ++i) {
      TW_TRY(const double ms, events[i].elapsed_ms());
      samples_ms[i].push_back(ms);
    }
    // Sorting all samples every round would take longer than short kernels.
    constexpr int32_t kRoundsBetweenLooks = 10;
    if (stopwatch.elapsed_ms() > options.max_time_ms ||
        (round % kRoundsBetweenLooks == kRoundsBetweenLooks - 1 && is_good_enough(samples_ms, options))) {
      break;
    }
  }
  TW_TRY_STATUS(gpu.synchronize());
  std::vector<Timing> timings;
  timings.reserve(items.size());
  for (const std::vector<double>& of_item : samples_ms) {
    timings.push_back(summarize(of_item));
  }
  return timings;
}

RunResult<Timing> time_launch(Gpu& gpu, PreparedLaunch& launch, const TimingOptions& options) {
  const TimedItem item{"kernel", [&](cuda::Stream stream) { return launch.enqueue(stream); }};
  TW_TRY(const std::vector<Timing> timings, time_interleaved(gpu, std::span(&item, 1), options));
  return timings.front();
}

RunResult<Timing> time_copy(Gpu& gpu, int64_t size_bytes, const TimingOptions& options) {
  TW_TRY(const GuardedBuffer from, GuardedBuffer::allocate(gpu, size_bytes));
  TW_TRY(const GuardedBuffer to, GuardedBuffer::allocate(gpu, size_bytes));
  const TimedItem item{"copy", [&](cuda::Stream stream) {
                         return gpu.check(gpu.driver()->copy_on_device_async(to.address(), from.address(),
                                                                             static_cast<size_t>(size_bytes), stream),
                                          "copying on the device");
                       }};
  TW_TRY(const std::vector<Timing> timings, time_interleaved(gpu, std::span(&item, 1), options));
  return timings.front();
}

}  // namespace tw::runner
