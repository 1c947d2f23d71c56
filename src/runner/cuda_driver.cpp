// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda_driver.h"

#include <fmt/format.h>

#include "os/env.h"

namespace tw::runner::cuda {

Result<Driver> Driver::find() {
  return open(os::get_env("TILEWRIGHT_CUDA_DRIVER").value_or("libcuda.so.1"));
}

Result<Driver> Driver::open(const std::string& library) {
  auto opened = toolchain::DynamicLibrary::open(library);
  if (!opened) {
    return fail(std::move(opened).error().within("no CUDA driver on this machine"));
  }
  auto functions = std::make_shared<Functions>();
  const toolchain::DynamicLibrary& from = *opened;
  Functions& f = *functions;
  TW_TRY_STATUS(from.bind("cuInit", f.init));
  TW_TRY_STATUS(from.bind("cuDriverGetVersion", f.driver_version));
  TW_TRY_STATUS(from.bind("cuGetErrorName", f.error_name));
  TW_TRY_STATUS(from.bind("cuGetErrorString", f.error_string));
  TW_TRY_STATUS(from.bind("cuDeviceGetCount", f.device_count));
  TW_TRY_STATUS(from.bind("cuDeviceGet", f.device_get));
  TW_TRY_STATUS(from.bind("cuDeviceGetName", f.device_name));
  TW_TRY_STATUS(from.bind("cuDeviceGetAttribute", f.device_attribute));
  TW_TRY_STATUS(from.bind("cuDeviceTotalMem_v2", f.device_memory));
  TW_TRY_STATUS(from.bind("cuDevicePrimaryCtxRetain", f.context_retain));
  TW_TRY_STATUS(from.bind("cuDevicePrimaryCtxRelease_v2", f.context_release));
  TW_TRY_STATUS(from.bind("cuCtxSetCurrent", f.context_set_current));
  TW_TRY_STATUS(from.bind("cuCtxSynchronize", f.context_synchronize));
  TW_TRY_STATUS(from.bind("cuModuleLoadData", f.module_load));
  TW_TRY_STATUS(from.bind("cuModuleUnload", f.module_unload));
  TW_TRY_STATUS(from.bind("cuModuleGetFunction", f.module_function));
  TW_TRY_STATUS(from.bind("cuFuncGetAttribute", f.function_attribute));
  TW_TRY_STATUS(from.bind("cuFuncSetAttribute", f.function_set_attribute));
  TW_TRY_STATUS(from.bind("cuMemAlloc_v2", f.memory_allocate));
  TW_TRY_STATUS(from.bind("cuMemFree_v2", f.memory_free));
  TW_TRY_STATUS(from.bind("cuMemcpyHtoD_v2", f.copy_to_device));
  TW_TRY_STATUS(from.bind("cuMemcpyDtoH_v2", f.copy_to_host));
  TW_TRY_STATUS(from.bind("cuMemcpyDtoDAsync_v2", f.copy_on_device_async));
  TW_TRY_STATUS(from.bind("cuMemsetD8Async", f.fill_bytes_async));
  TW_TRY_STATUS(from.bind("cuLaunchKernel", f.launch));
  TW_TRY_STATUS(from.bind("cuStreamCreate", f.stream_create));
  TW_TRY_STATUS(from.bind("cuStreamDestroy_v2", f.stream_destroy));
  TW_TRY_STATUS(from.bind("cuStreamSynchronize", f.stream_synchronize));
  TW_TRY_STATUS(from.bind("cuEventCreate", f.event_create));
  TW_TRY_STATUS(from.bind("cuEventDestroy_v2", f.event_destroy));
  TW_TRY_STATUS(from.bind("cuEventRecord", f.event_record));
  TW_TRY_STATUS(from.bind("cuEventSynchronize", f.event_synchronize));
  TW_TRY_STATUS(from.bind("cuEventElapsedTime", f.event_elapsed));

  Driver driver;
  driver.functions_ = std::move(functions);
  driver.path_ = from.path();
  const auto refused = [&](const char* what, Status status) {
    return fail(Error{fmt::format("the CUDA driver `{}` {}", driver.path_, what),
                      {fmt::format("{}: {}", driver.status_name(status), driver.status_text(status))}});
  };
  if (const Status status = driver->init(0); status != kSuccess) {
    return refused("does not start", status);
  }
  if (const Status status = driver->driver_version(&driver.version_); status != kSuccess) {
    return refused("does not tell its version", status);
  }
  if (const Status status = driver->device_count(&driver.device_count_); status != kSuccess) {
    return refused("does not list its devices", status);
  }
  if (driver.device_count_ == 0) {
    return refused("sees no device", kNoDevice);
  }
  return driver;
}

std::string Driver::status_name(Status status) const {
  if (status == kStubLibrary) {
    return "CUDA_ERROR_STUB_LIBRARY";
  }
  const char* text = nullptr;
  if (functions_->error_name(status, &text) != kSuccess || text == nullptr) {
    return fmt::format("CUDA error {}", status);
  }
  return text;
}

std::string Driver::status_text(Status status) const {
  if (status == kStubLibrary) {
    // The stub itself has no texts.
    return "the library is a stub that a CUDA toolkit ships for linking, not a driver";
  }
  const char* text = nullptr;
  if (functions_->error_string(status, &text) != kSuccess || text == nullptr) {
    return fmt::format("unknown status {}", status);
  }
  return text;
}

}  // namespace tw::runner::cuda
