// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "diag/sink.h"
#include "runner/gpu.h"

namespace tw::runner {

// Kernels run in this process: a hang hangs us, a fault breaks the device for the rest of the process. Every record
// of a run carries this word.
inline constexpr std::string_view kIsolation = "none";

struct Extent3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

// Device memory for one pointer parameter; the buffer is as long as `bytes`.
struct BufferArgument {
  // Contents before every launch.
  std::vector<uint8_t> bytes;
  // A buffer that the kernel may not write is compared with `bytes` afterwards.
  bool is_written = false;
};

using Argument = std::variant<BufferArgument, int32_t, int64_t, float>;

struct NamedArgument {
  // For messages.
  std::string name;
  Argument value;
};

// One kernel launch by docs/launch_abi.md.
struct Launch {
  std::string cubin;
  std::string kernel;
  Extent3 grid;
  Extent3 block;
  uint32_t shared_dynamic_bytes = 0;
  std::vector<NamedArgument> arguments;
};

// A buffer in which the kernel wrote where it may not.
struct BufferViolation {
  enum class Kind : uint8_t { GuardDamaged, InputChanged };
  Kind kind = Kind::GuardDamaged;
  size_t argument = 0;
  std::string name;
  // GuardDamaged: of the nearest damaged byte, relative to the buffer's first (negative before it). InputChanged: of
  // the first changed byte.
  int64_t offset_bytes = 0;
  // GuardDamaged only.
  int64_t damaged_bytes = 0;
  int64_t size_bytes = 0;
};

struct LaunchOutput {
  // By argument; empty for scalars.
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<BufferViolation> violations;
  // What the driver says of the loaded kernel.
  int32_t registers = 0;
  int32_t local_bytes = 0;
  std::string_view isolation = kIsolation;
};

// A kernel loaded on a device with all its arguments in place, ready to be launched any number of times.
// REQUIRES: `gpu` and the launch outlive it.
class PreparedLaunch {
 public:
  // Refuses, before asking the driver, what cannot be launched: extents of zero, more threads or shared memory than
  // the device has, arguments that differ from the kernel's parameters in number or size.
  static RunResult<PreparedLaunch> prepare(Gpu& gpu, const Launch& launch);
  static RunResult<PreparedLaunch> prepare(Gpu& gpu, Launch&& launch) = delete;
  PreparedLaunch(PreparedLaunch&& other) noexcept;
  PreparedLaunch& operator=(PreparedLaunch&&) = delete;
  ~PreparedLaunch();

  // Of a buffer argument on the device, for peers that work on the same data. REQUIRES: it is one.
  [[nodiscard]] cuda::DevicePointer address(size_t argument) const { return buffers_.at(argument)->address(); }

  // Puts the contents given by the launch back into all buffers.
  RunResult<void> reset_buffers();
  // Starts the kernel and does not wait.
  RunResult<void> enqueue(cuda::Stream stream);
  // Waits, then reads the buffers back and looks at what must not have changed.
  RunResult<LaunchOutput> finish();

 private:
  PreparedLaunch(Gpu& gpu, const Launch& launch) : gpu_(&gpu), launch_(&launch) {}
  RunResult<void> check_request() const;
  RunResult<void> load();

  Gpu* gpu_;
  // The caller's; its bytes are the reference for inputs.
  const Launch* launch_;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
  std::vector<std::optional<GuardedBuffer>> buffers_;
  // One 8-byte slot an argument, at a stable address for the driver.
  std::vector<uint64_t> slots_;
  int32_t registers_ = 0;
  int32_t local_bytes_ = 0;
};

// Loads, launches once, reads back.
RunResult<LaunchOutput> launch_once(Gpu& gpu, const Launch& launch);

// As diagnostics, for the edge.
diag::Reported report_run_error(diag::Sink& sink, diag::Span span, std::string_view kernel, const RunError& error);
diag::Reported report_no_gpu(diag::Sink& sink, const Error& error);
diag::Reported report_violation(diag::Sink& sink, diag::Span span, std::string_view kernel,
                                const BufferViolation& violation);

}  // namespace tw::runner
