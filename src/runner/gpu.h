// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "runner/cuda_driver.h"

namespace tw::runner {

enum class RunErrorKind : uint8_t {
  // No driver, no device, a device that something else holds.
  Environment,
  OutOfMemory,
  // The image is no CUDA binary, is made for another GPU, or has no such kernel.
  BadImage,
  // The launch itself was refused: grid, block, shared memory, arguments.
  BadLaunch,
  // The kernel failed while it ran; the device's context is broken from then on.
  Fault,
  // A call failed for which none of the above is a reason.
  Driver,
};

struct RunError {
  RunErrorKind kind = RunErrorKind::Driver;
  // What the driver returned; 0 when we refused before asking it.
  cuda::Status status = cuda::kSuccess;
  Error error;
};

template <class T>
using RunResult = Result<T, RunError>;

struct DeviceInfo {
  int32_t ordinal = 0;
  std::string name;
  int32_t compute_major = 0;
  int32_t compute_minor = 0;
  int32_t multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t max_shared_per_block_bytes = 0;
  int32_t max_threads_per_block = 0;
  int32_t clock_khz = 0;
  int32_t memory_clock_khz = 0;
  int32_t memory_bus_bits = 0;
  // 13000 for CUDA 13.0.
  int32_t driver_version = 0;

  // What to compile for: "sm_90a" on compute capability 9.0, "sm_86" on 8.6.
  [[nodiscard]] std::string arch() const;
};

// The device's part of a record's "machine", with "driver" as "13.0".
json::Value to_json(const DeviceInfo& info);

// One device with its context current in this thread. Use it from the thread that opened it; it outlives what is
// made on it.
class Gpu {
 public:
  static RunResult<std::unique_ptr<Gpu>> open(const cuda::Driver& driver, int32_t ordinal = 0);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  [[nodiscard]] const DeviceInfo& info() const { return info_; }
  [[nodiscard]] const cuda::Driver& driver() const { return driver_; }
  [[nodiscard]] cuda::Stream stream() const { return stream_; }
  // After a fault every call on the device fails until the process ends.
  [[nodiscard]] bool is_broken() const { return is_broken_; }

  // Waits for all work; a kernel's failure shows up here.
  RunResult<void> synchronize();
  // Turns a driver's status into an error of the right kind; `what` is the beginning of its message.
  RunResult<void> check(cuda::Status status, std::string_view what);
  RunError make_error(cuda::Status status, std::string_view what);

 private:
  explicit Gpu(cuda::Driver driver) : driver_(std::move(driver)) {}
  cuda::Driver driver_;
  DeviceInfo info_;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
  bool is_broken_ = false;
};

// Device memory between two guard bands of a known pattern, so that writes beside it are seen.
class GuardedBuffer {
 public:
  static constexpr int64_t kGuardBytes = 4096;

  static RunResult<GuardedBuffer> allocate(Gpu& gpu, int64_t size_bytes);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer();

  [[nodiscard]] cuda::DevicePointer address() const { return base_ + kGuardBytes; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

  // REQUIRES: as many bytes as the buffer has.
  RunResult<void> upload(std::span<const uint8_t> bytes);
  RunResult<std::vector<uint8_t>> download() const;

  // Where a guard band differs from its pattern.
  struct Damage {
    // Of the damaged byte nearest to the buffer, relative to the buffer's first byte: negative before it, at least
    // `size_bytes` behind it.
    int64_t offset_bytes = 0;
    int64_t damaged_bytes = 0;
  };
  RunResult<std::vector<Damage>> check_guards() const;

 private:
  GuardedBuffer(Gpu& gpu, int64_t size_bytes, cuda::DevicePointer base)
      : gpu_(&gpu), size_bytes_(size_bytes), base_(base) {}
  Gpu* gpu_;
  int64_t size_bytes_;
  cuda::DevicePointer base_;
};

}  // namespace tw::runner
