// SPDX-License-Identifier: Apache-2.0
#include "runner/launch.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "toolchain/resources.h"

namespace tw::runner {

namespace {

RunError refuse(std::string message) {
  return {RunErrorKind::BadLaunch, cuda::kSuccess, Error{std::move(message), {}}};
}

int32_t parameter_size_bytes(const Argument& argument) {
  return std::visit(
      [](const auto& value) -> int32_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, BufferArgument>) {
          return sizeof(cuda::DevicePointer);
        } else {
          return sizeof(value);
        }
      },
      argument);
}

// Beyond this a kernel must be allowed more explicitly, on every device so far.
constexpr uint32_t kSharedWithoutOptIn = 48 * 1024;

}  // namespace

RunResult<void> PreparedLaunch::check_request() const {
  const Launch& launch = *launch_;
  const DeviceInfo& info = gpu_->info();
  const uint64_t threads = uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0 || threads == 0) {
    return fail(refuse("a grid or block of zero"));
  }
  if (threads > static_cast<uint64_t>(info.max_threads_per_block)) {
    return fail(refuse(fmt::format("{} threads a block; the device has {}", threads, info.max_threads_per_block)));
  }
  constexpr uint32_t kMaxGridX = INT32_MAX;
  constexpr uint32_t kMaxGridYz = 65535;
  if (launch.grid.x > kMaxGridX || launch.grid.y > kMaxGridYz || launch.grid.z > kMaxGridYz) {
    return fail(refuse(fmt::format("a grid of {} x {} x {} blocks", launch.grid.x, launch.grid.y, launch.grid.z)));
  }
  const auto kernels = toolchain::inspect_cubin(launch.cubin);
  if (!kernels) {
    return fail(RunError{RunErrorKind::BadImage, cuda::kSuccess, kernels.error()});
  }
  const auto kernel = std::find_if(kernels->begin(), kernels->end(),
                                   [&](const toolchain::ResourceReport& k) { return k.kernel == launch.kernel; });
  if (kernel == kernels->end()) {
    return fail(RunError{RunErrorKind::BadImage, cuda::kSuccess,
                         Error{fmt::format("the binary has no kernel `{}`", launch.kernel), {}}});
  }
  // Together with what the kernel declares itself, the driver checks it.
  if (launch.shared_dynamic_bytes > info.max_shared_per_block_bytes) {
    return fail(refuse(fmt::format("{} bytes of dynamic shared memory a block; the device has {}",
                                   launch.shared_dynamic_bytes, info.max_shared_per_block_bytes)));
  }
  if (kernel->parameter_sizes_bytes.size() != launch.arguments.size()) {
    return fail(refuse(
        fmt::format("{} arguments for {} parameters", launch.arguments.size(), kernel->parameter_sizes_bytes.size())));
  }
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const int32_t size = parameter_size_bytes(launch.arguments[i].value);
    if (size != kernel->parameter_sizes_bytes[i]) {
      return fail(refuse(fmt::format("argument `{}` has {} bytes, parameter {} of the kernel {}",
                                     launch.arguments[i].name, size, i, kernel->parameter_sizes_bytes[i])));
    }
  }
  return {};
}

RunResult<void> PreparedLaunch::load() {
  const Launch& launch = *launch_;
  const cuda::Functions& f = gpu_->driver().functions();
  TW_TRY_STATUS(gpu_->check(f.module_load(&module_, launch.cubin.data()), "loading the binary"));
  TW_TRY_STATUS(gpu_->check(f.module_function(&function_, module_, launch.kernel.c_str()), "finding the kernel"));
  using Attribute = cuda::FunctionAttribute;
  TW_TRY_STATUS(gpu_->check(f.function_attribute(&registers_, Attribute::Registers, function_), "reading the kernel"));
  TW_TRY_STATUS(
      gpu_->check(f.function_attribute(&local_bytes_, Attribute::LocalBytes, function_), "reading the kernel"));
  int32_t max_threads = 0;
  TW_TRY_STATUS(
      gpu_->check(f.function_attribute(&max_threads, Attribute::MaxThreadsPerBlock, function_), "reading the kernel"));
  const uint64_t threads = uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (threads > static_cast<uint64_t>(max_threads)) {
    return fail(refuse(fmt::format("{} threads a block; with {} registers a thread the kernel can have {}", threads,
                                   registers_, max_threads)));
  }
  if (launch.shared_dynamic_bytes > kSharedWithoutOptIn) {
    const cuda::Status status = f.function_set_attribute(function_, Attribute::MaxDynamicSharedBytes,
                                                         static_cast<int32_t>(launch.shared_dynamic_bytes));
    if (status != cuda::kSuccess) {
      RunError error = gpu_->make_error(
          status, fmt::format("allowing {} bytes of dynamic shared memory", launch.shared_dynamic_bytes));
      error.kind = RunErrorKind::BadLaunch;
      return fail(std::move(error));
    }
  }
  return {};
}

RunResult<PreparedLaunch> PreparedLaunch::prepare(Gpu& gpu, const Launch& launch) {
  PreparedLaunch prepared(gpu, launch);
  TW_TRY_STATUS(prepared.check_request());
  TW_TRY_STATUS(prepared.load());
  prepared.slots_.resize(launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    uint64_t& slot = prepared.slots_[i];
    prepared.buffers_.emplace_back();
    if (const auto* buffer = std::get_if<BufferArgument>(&launch.arguments[i].value)) {
      TW_TRY(GuardedBuffer memory, GuardedBuffer::allocate(gpu, static_cast<int64_t>(buffer->bytes.size())));
      slot = memory.address();
      prepared.buffers_.back().emplace(std::move(memory));
    } else if (const auto* i32 = std::get_if<int32_t>(&launch.arguments[i].value)) {
      std::memcpy(&slot, i32, sizeof *i32);
    } else if (const auto* i64 = std::get_if<int64_t>(&launch.arguments[i].value)) {
      std::memcpy(&slot, i64, sizeof *i64);
    } else if (const auto* f32 = std::get_if<float>(&launch.arguments[i].value)) {
      std::memcpy(&slot, f32, sizeof *f32);
    }
  }
  TW_TRY_STATUS(prepared.reset_buffers());
  return prepared;
}

PreparedLaunch::PreparedLaunch(PreparedLaunch&& other) noexcept
    : gpu_(other.gpu_),
      launch_(other.launch_),
      module_(std::exchange(other.module_, nullptr)),
      function_(other.function_),
      buffers_(std::move(other.buffers_)),
      slots_(std::move(other.slots_)),
      registers_(other.registers_),
      local_bytes_(other.local_bytes_) {}

PreparedLaunch::~PreparedLaunch() {
  if (module_ != nullptr) {
    gpu_->driver()->module_unload(module_);
  }
}

RunResult<void> PreparedLaunch::reset_buffers() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i]) {
      TW_TRY_STATUS(buffers_[i]->upload(std::get<BufferArgument>(launch_->arguments[i].value).bytes));
    }
  }
  return {};
}

RunResult<void> PreparedLaunch::enqueue(cuda::Stream stream) {
  std::vector<void*> parameters;
  parameters.reserve(slots_.size());
  for (uint64_t& slot : slots_) {
    parameters.push_back(&slot);
  }
  const Launch& launch = *launch_;
  const cuda::Status status =
      gpu_->driver()->launch(function_, launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y,
                             launch.block.z, launch.shared_dynamic_bytes, stream, parameters.data(), nullptr);
  if (status == cuda::kInvalidValue) {
    RunError error = gpu_->make_error(status, "launching");
    error.kind = RunErrorKind::BadLaunch;
    return fail(std::move(error));
  }
  return gpu_->check(status, "launching");
}

RunResult<LaunchOutput> PreparedLaunch::finish() {
  TW_TRY_STATUS(gpu_->synchronize());
  LaunchOutput output;
  output.registers = registers_;
  output.local_bytes = local_bytes_;
  output.buffers.resize(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i]) {
      continue;
    }
    const NamedArgument& argument = launch_->arguments[i];
    const auto& given = std::get<BufferArgument>(argument.value);
    TW_TRY(output.buffers[i], buffers_[i]->download());
    TW_TRY(const std::vector<GuardedBuffer::Damage> damages, buffers_[i]->check_guards());
    for (const GuardedBuffer::Damage& damage : damages) {
      output.violations.push_back({BufferViolation::Kind::GuardDamaged, i, argument.name, damage.offset_bytes,
                                   damage.damaged_bytes, buffers_[i]->size_bytes()});
    }
    if (!given.is_written && output.buffers[i] != given.bytes) {
      const auto [changed, original] =
          std::mismatch(output.buffers[i].begin(), output.buffers[i].end(), given.bytes.begin());
      output.violations.push_back({BufferViolation::Kind::InputChanged, i, argument.name,
                                   changed - output.buffers[i].begin(), 0, buffers_[i]->size_bytes()});
    }
  }
  return output;
}

RunResult<LaunchOutput> launch_once(Gpu& gpu, const Launch& launch) {
  TW_TRY(PreparedLaunch prepared, PreparedLaunch::prepare(gpu, launch));
  TW_TRY_STATUS(prepared.enqueue(gpu.stream()));
  return prepared.finish();
}

diag::Reported report_run_error(diag::Sink& sink, diag::Span span, std::string_view kernel, const RunError& error) {
  const auto finish = [&](diag::Builder&& builder) {
    for (const std::string& cause : error.error.causes) {
      builder.note(cause);
    }
    return builder.emit();
  };
  const std::string& message = error.error.message;
  switch (error.kind) {
    case RunErrorKind::Environment:
      return finish(sink.report(diag::codes::GpuMissing{}, span, message));
    case RunErrorKind::OutOfMemory:
      return finish(sink.report(diag::codes::GpuOutOfMemory{}, span, kernel, message));
    case RunErrorKind::BadImage:
      return finish(sink.report(diag::codes::ImageRefused{}, span, kernel, message));
    case RunErrorKind::BadLaunch:
      return finish(sink.report(diag::codes::LaunchRefused{}, span, kernel, message));
    case RunErrorKind::Fault:
      return finish(sink.report(diag::codes::KernelFault{}, span, kernel, message));
    case RunErrorKind::Driver:
      break;
  }
  return finish(sink.report(diag::codes::DriverFailed{}, span, kernel, message));
}

diag::Reported report_no_gpu(diag::Sink& sink, const Error& error) {
  auto builder = sink.report(diag::codes::GpuMissing{}, diag::Span{}, error.message);
  for (const std::string& cause : error.causes) {
    builder.note(cause);
  }
  builder.note("`--on=emulator` runs the kernel on the CPU");
  return builder.emit();
}

diag::Reported report_violation(diag::Sink& sink, diag::Span span, std::string_view kernel,
                                const BufferViolation& violation) {
  if (violation.kind == BufferViolation::Kind::GuardDamaged) {
    return sink
        .report(diag::codes::GuardDamaged{}, span, kernel, violation.name, violation.damaged_bytes,
                violation.offset_bytes, violation.size_bytes)
        .emit();
  }
  return sink.report(diag::codes::InputChanged{}, span, kernel, violation.name, violation.offset_bytes).emit();
}

}  // namespace tw::runner
