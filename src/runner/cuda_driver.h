// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "toolchain/dynamic_library.h"

// The part of the CUDA driver API that we use, declared by hand: building needs no cuda.h, and the library is opened
// at run time. Numbers are the ABI of libcuda.so.1, which NVIDIA keeps stable.
namespace tw::runner::cuda {

using Status = int32_t;
using Device = int32_t;
using DevicePointer = uint64_t;
struct ContextTag;
struct ModuleTag;
struct FunctionTag;
struct StreamTag;
struct EventTag;
using Context = ContextTag*;
using Module = ModuleTag*;
using Function = FunctionTag*;
using Stream = StreamTag*;
using Event = EventTag*;

// Status codes that are told apart; every other one is "the driver failed".
inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 1;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kStubLibrary = 34;
inline constexpr Status kDeviceUnavailable = 46;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kInvalidImage = 200;
inline constexpr Status kNoBinaryForGpu = 209;
inline constexpr Status kInvalidPtx = 218;
inline constexpr Status kUnsupportedPtxVersion = 222;
inline constexpr Status kNotFound = 500;
inline constexpr Status kNotReady = 600;
inline constexpr Status kIllegalAddress = 700;
inline constexpr Status kLaunchOutOfResources = 701;
inline constexpr Status kLaunchTimeout = 702;
inline constexpr Status kHardwareStackError = 714;
inline constexpr Status kIllegalInstruction = 715;
inline constexpr Status kMisalignedAddress = 716;
inline constexpr Status kInvalidAddressSpace = 717;
inline constexpr Status kInvalidPc = 718;
inline constexpr Status kLaunchFailed = 719;

enum class DeviceAttribute : int32_t {
  MaxThreadsPerBlock = 1,
  MaxGridX = 5,
  MaxSharedPerBlock = 8,
  ClockKhz = 13,
  MultiprocessorCount = 16,
  MemoryClockKhz = 36,
  MemoryBusBits = 37,
  L2Bytes = 38,
  ComputeMajor = 75,
  ComputeMinor = 76,
  MaxSharedPerBlockOptin = 97,
};

enum class FunctionAttribute : int32_t {
  MaxThreadsPerBlock = 0,
  SharedStaticBytes = 1,
  LocalBytes = 3,
  Registers = 4,
  MaxDynamicSharedBytes = 8,
};

struct Functions {
  Status (*init)(uint32_t flags);
  Status (*driver_version)(int32_t* version);
  Status (*error_name)(Status, const char** text);
  Status (*error_string)(Status, const char** text);
  Status (*device_count)(int32_t* count);
  Status (*device_get)(Device*, int32_t ordinal);
  Status (*device_name)(char* name, int32_t size, Device);
  Status (*device_attribute)(int32_t* value, DeviceAttribute, Device);
  Status (*device_memory)(size_t* bytes, Device);
  Status (*context_retain)(Context*, Device);
  Status (*context_release)(Device);
  Status (*context_set_current)(Context);
  Status (*context_synchronize)();
  Status (*module_load)(Module*, const void* image);
  Status (*module_unload)(Module);
  Status (*module_function)(Function*, Module, const char* name);
  Status (*function_attribute)(int32_t* value, FunctionAttribute, Function);
  Status (*function_set_attribute)(Function, FunctionAttribute, int32_t value);
  Status (*memory_allocate)(DevicePointer*, size_t bytes);
  Status (*memory_free)(DevicePointer);
  Status (*copy_to_device)(DevicePointer, const void* host, size_t bytes);
  Status (*copy_to_host)(void* host, DevicePointer, size_t bytes);
  Status (*copy_on_device_async)(DevicePointer to, DevicePointer from, size_t bytes, Stream);
  Status (*fill_bytes_async)(DevicePointer, uint8_t value, size_t count, Stream);
  Status (*launch)(Function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
                   uint32_t block_z, uint32_t shared_bytes, Stream, void** parameters, void** extra);
  Status (*stream_create)(Stream*, uint32_t flags);
  Status (*stream_destroy)(Stream);
  Status (*stream_synchronize)(Stream);
  Status (*event_create)(Event*, uint32_t flags);
  Status (*event_destroy)(Event);
  Status (*event_record)(Event, Stream);
  Status (*event_synchronize)(Event);
  Status (*event_elapsed)(float* ms, Event start, Event end);
};

// libcuda.so.1, initialized.
class Driver {
 public:
  // $TILEWRIGHT_CUDA_DRIVER, when set, names the library. Fails where there is no driver, it does not start, or it
  // sees no device.
  static Result<Driver> find();
  static Result<Driver> open(const std::string& library);

  [[nodiscard]] const Functions& functions() const { return *functions_; }
  [[nodiscard]] const Functions* operator->() const { return functions_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // 13000 for CUDA 13.0: the newest CUDA that the driver knows.
  [[nodiscard]] int32_t version() const { return version_; }
  [[nodiscard]] int32_t device_count() const { return device_count_; }
  // "CUDA_ERROR_ILLEGAL_ADDRESS"
  [[nodiscard]] std::string status_name(Status status) const;
  [[nodiscard]] std::string status_text(Status status) const;

 private:
  Driver() = default;
  std::shared_ptr<const Functions> functions_;
  std::string path_;
  int32_t version_ = 0;
  int32_t device_count_ = 0;
};

}  // namespace tw::runner::cuda
