// SPDX-License-Identifier: Apache-2.0
#include "runner/gpu.h"

#include <fmt/format.h>
#include <utility>

#include "base/check.h"

namespace tw::runner {

namespace {

RunErrorKind kind_of(cuda::Status status) {
  switch (status) {
    case cuda::kStubLibrary:
    case cuda::kDeviceUnavailable:
    case cuda::kNoDevice:
      return RunErrorKind::Environment;
    case cuda::kOutOfMemory:
      return RunErrorKind::OutOfMemory;
    case cuda::kInvalidImage:
    case cuda::kNoBinaryForGpu:
    case cuda::kInvalidPtx:
    case cuda::kUnsupportedPtxVersion:
    case cuda::kNotFound:
      return RunErrorKind::BadImage;
    case cuda::kLaunchOutOfResources:
      return RunErrorKind::BadLaunch;
    case cuda::kIllegalAddress:
    case cuda::kLaunchTimeout:
    case cuda::kHardwareStackError:
    case cuda::kIllegalInstruction:
    case cuda::kMisalignedAddress:
    case cuda::kInvalidAddressSpace:
    case cuda::kInvalidPc:
    case cuda::kLaunchFailed:
      return RunErrorKind::Fault;
    default:
      return RunErrorKind::Driver;
  }
}

// Depends on the position, so that a copied or shifted band is noticed too; never 0 or 0xff, which kernels write often.
uint8_t guard_byte(int64_t offset) {
  const auto mixed = static_cast<uint32_t>(offset) * 2654435761U;
  return static_cast<uint8_t>(0x21 + (mixed >> 24) % 0xbe);
}

}  // namespace

json::Value to_json(const DeviceInfo& info) {
  return json::Object{{"name", info.name},
                      {"compute_capability", fmt::format("{}.{}", info.compute_major, info.compute_minor)},
                      {"multiprocessors", info.multiprocessors},
                      {"memory_bytes", info.memory_bytes},
                      {"l2_bytes", info.l2_bytes},
                      {"max_shared_per_block_bytes", info.max_shared_per_block_bytes},
                      {"clock_khz", info.clock_khz},
                      {"memory_clock_khz", info.memory_clock_khz},
                      {"memory_bus_bits", info.memory_bus_bits},
                      {"driver", fmt::format("{}.{}", info.driver_version / 1000, info.driver_version % 1000 / 10)}};
}

std::string DeviceInfo::arch() const {
  // Code for compute capability 9.0 uses what only sm_90a has.
  return compute_major == 9 && compute_minor == 0 ? "sm_90a" : fmt::format("sm_{}{}", compute_major, compute_minor);
}

RunError Gpu::make_error(cuda::Status status, std::string_view what) {
  RunError error;
  error.kind = kind_of(status);
  error.status = status;
  error.error.message = fmt::format("{}: {} ({})", what, driver_.status_text(status), driver_.status_name(status));
  if (is_broken_) {
    error.error.causes.emplace_back("an earlier kernel failed on this device, which breaks its context");
  }
  if (error.kind == RunErrorKind::Fault) {
    is_broken_ = true;
  }
  return error;
}

RunResult<void> Gpu::check(cuda::Status status, std::string_view what) {
  if (status == cuda::kSuccess) {
    return {};
  }
  return fail(make_error(status, what));
}

RunResult<void> Gpu::synchronize() {
  return check(driver_->context_synchronize(), "waiting for the device");
}

RunResult<std::unique_ptr<Gpu>> Gpu::open(const cuda::Driver& driver, int32_t ordinal) {
  std::unique_ptr<Gpu> owner(new Gpu(driver));
  Gpu& gpu = *owner;
  if (ordinal < 0 || ordinal >= driver.device_count()) {
    return fail(
        RunError{RunErrorKind::Environment, cuda::kSuccess,
                 Error{fmt::format("there is no GPU {}: the driver sees {}", ordinal, driver.device_count()), {}}});
  }
  const cuda::Functions& f = driver.functions();
  TW_TRY_STATUS(gpu.check(f.device_get(&gpu.device_, ordinal), "opening the device"));
  DeviceInfo& info = gpu.info_;
  info.ordinal = ordinal;
  info.driver_version = driver.version();
  char name[256] = {};
  TW_TRY_STATUS(gpu.check(f.device_name(name, sizeof name - 1, gpu.device_), "reading the device's name"));
  info.name = name;
  size_t memory_bytes = 0;
  TW_TRY_STATUS(gpu.check(f.device_memory(&memory_bytes, gpu.device_), "reading the device's memory size"));
  info.memory_bytes = static_cast<int64_t>(memory_bytes);
  const auto read = [&](cuda::DeviceAttribute attribute, auto& into) -> RunResult<void> {
    int32_t value = 0;
    TW_TRY_STATUS(gpu.check(f.device_attribute(&value, attribute, gpu.device_), "reading the device's attributes"));
    into = value;
    return {};
  };
  using Attribute = cuda::DeviceAttribute;
  TW_TRY_STATUS(read(Attribute::ComputeMajor, info.compute_major));
  TW_TRY_STATUS(read(Attribute::ComputeMinor, info.compute_minor));
  TW_TRY_STATUS(read(Attribute::MultiprocessorCount, info.multiprocessors));
  TW_TRY_STATUS(read(Attribute::L2Bytes, info.l2_bytes));
  TW_TRY_STATUS(read(Attribute::MaxSharedPerBlockOptin, info.max_shared_per_block_bytes));
  TW_TRY_STATUS(read(Attribute::MaxThreadsPerBlock, info.max_threads_per_block));
  TW_TRY_STATUS(read(Attribute::ClockKhz, info.clock_khz));
  TW_TRY_STATUS(read(Attribute::MemoryClockKhz, info.memory_clock_khz));
  TW_TRY_STATUS(read(Attribute::MemoryBusBits, info.memory_bus_bits));
  TW_TRY_STATUS(gpu.check(f.context_retain(&gpu.context_, gpu.device_), "creating a context"));
  TW_TRY_STATUS(gpu.check(f.context_set_current(gpu.context_), "entering the context"));
  // The default kind, which waits for copies made outside any stream.
  constexpr uint32_t kDefaultStream = 0;
  TW_TRY_STATUS(gpu.check(f.stream_create(&gpu.stream_, kDefaultStream), "creating a stream"));
  return owner;
}

Gpu::~Gpu() {
  if (stream_ != nullptr) {
    driver_->stream_destroy(stream_);
  }
  if (context_ != nullptr) {
    driver_->context_release(device_);
  }
}

RunResult<GuardedBuffer> GuardedBuffer::allocate(Gpu& gpu, int64_t size_bytes) {
  TW_CHECK(size_bytes >= 0);
  cuda::DevicePointer base = 0;
  const auto total = static_cast<size_t>(size_bytes + 2 * kGuardBytes);
  TW_TRY_STATUS(gpu.check(gpu.driver()->memory_allocate(&base, total),
                          fmt::format("allocating {} bytes on the device", size_bytes)));
  GuardedBuffer buffer(gpu, size_bytes, base);
  std::vector<uint8_t> guard(kGuardBytes);
  for (const int64_t begin : {-kGuardBytes, size_bytes}) {
    for (int64_t i = 0; i < kGuardBytes; ++i) {
      guard[static_cast<size_t>(i)] = guard_byte(begin + i);
    }
    const auto to = buffer.address() + static_cast<cuda::DevicePointer>(begin);
    TW_TRY_STATUS(gpu.check(gpu.driver()->copy_to_device(to, guard.data(), guard.size()), "writing a guard band"));
  }
  return buffer;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : gpu_(other.gpu_), size_bytes_(other.size_bytes_), base_(std::exchange(other.base_, 0)) {}

GuardedBuffer::~GuardedBuffer() {
  if (base_ != 0) {
    gpu_->driver()->memory_free(base_);
  }
}

RunResult<void> GuardedBuffer::upload(std::span<const uint8_t> bytes) {
  TW_CHECK(static_cast<int64_t>(bytes.size()) == size_bytes_);
  if (bytes.empty()) {
    return {};
  }
  return gpu_->check(gpu_->driver()->copy_to_device(address(), bytes.data(), bytes.size()), "copying to the device");
}

RunResult<std::vector<uint8_t>> GuardedBuffer::download() const {
  std::vector<uint8_t> bytes(static_cast<size_t>(size_bytes_));
  if (!bytes.empty()) {
    TW_TRY_STATUS(
        gpu_->check(gpu_->driver()->copy_to_host(bytes.data(), address(), bytes.size()), "copying from the device"));
  }
  return bytes;
}

RunResult<std::vector<GuardedBuffer::Damage>> GuardedBuffer::check_guards() const {
  std::vector<Damage> damages;
  std::vector<uint8_t> guard(kGuardBytes);
  for (const int64_t begin : {-kGuardBytes, size_bytes_}) {
    const auto from = address() + static_cast<cuda::DevicePointer>(begin);
    TW_TRY_STATUS(gpu_->check(gpu_->driver()->copy_to_host(guard.data(), from, guard.size()), "reading a guard band"));
    Damage damage;
    for (int64_t i = 0; i < kGuardBytes; ++i) {
      const int64_t offset = begin + i;
      if (guard[static_cast<size_t>(i)] == guard_byte(offset)) {
        continue;
      }
      ++damage.damaged_bytes;
      if (damage.damaged_bytes == 1 || begin < 0) {
        damage.offset_bytes = offset;
      }
    }
    if (damage.damaged_bytes > 0) {
      damages.push_back(damage);
    }
  }
  return damages;
}

}  // namespace tw::runner
