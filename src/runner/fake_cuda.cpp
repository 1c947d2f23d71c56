// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda.so.1 that the tests open in its place: device memory is host memory, and the name of a kernel
// decides what "running" it does. It knows nothing of the room's own code but the numbers of the driver's ABI.
#include "runner/fake_cuda.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

using Status = int32_t;
constexpr Status kInvalidValue = 1;
constexpr Status kOutOfMemory = 2;
constexpr Status kNotFound = 500;
constexpr Status kIllegalAddress = 700;

struct Kernel {
  std::string name;
};
struct Module {
  std::map<std::string, Kernel> kernels;
};
struct Event {
  double time_ms = 0;
};

tw::runner::fake::Control control;
std::map<uint64_t, size_t> allocations;
// A fault is seen by every later call, as on a real device.
Status sticky = 0;

void run(const Kernel& kernel, void** parameters) {
  const auto pointer = [&](int index) { return *static_cast<uint8_t**>(parameters[index]); };
  const auto number = [&](int index) { return *static_cast<int32_t*>(parameters[index]); };
  // All kernels: (const unsigned char* in, unsigned char* out, int n, ...).
  const std::string& name = kernel.name;
  control.clock_ms += 0.25;
  if (name == "fault") {
    sticky = kIllegalAddress;
    return;
  }
  if (name == "slow") {
    control.clock_ms += 0.75;
  }
  const int32_t n = number(2);
  if (name == "scale") {
    // (in, out, n, i64, f32): shows that wide and floating scalars arrive.
    const int64_t wide = *static_cast<int64_t*>(parameters[3]);
    const float factor = *static_cast<float*>(parameters[4]);
    for (int32_t i = 0; i < n; ++i) {
      pointer(1)[i] = static_cast<uint8_t>(static_cast<float>(pointer(0)[i]) * factor + static_cast<float>(wide >> 40));
    }
    return;
  }
  std::memcpy(pointer(1), pointer(0), static_cast<size_t>(n));
  if (name == "overrun") {
    pointer(1)[n + 3] ^= 0x5a;
    pointer(1)[n + 7] ^= 0x5a;
  } else if (name == "underrun") {
    pointer(1)[-2] ^= 0x5a;
    pointer(1)[-9] ^= 0x5a;
  } else if (name == "shift") {
    // Copies a guard band onto itself, one place further: any constant pattern would survive that.
    std::memmove(pointer(1) + n, pointer(1) + n + 1, 64);
  } else if (name == "scribble") {
    pointer(0)[5] ^= 1;
  }
}

}  // namespace

// The names are the driver's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

tw::runner::fake::Control* fake_cuda_control() {
  return &control;
}
void fake_cuda_reset() {
  control = {};
  sticky = 0;
}

Status cuInit(uint32_t) {
  return control.init_status;
}
Status cuDriverGetVersion(int32_t* version) {
  *version = 13000;
  return 0;
}
Status cuGetErrorName(Status status, const char** text) {
  *text = status == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : status == 100 ? "CUDA_ERROR_NO_DEVICE" : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
Status cuGetErrorString(Status status, const char** text) {
  *text = status == kIllegalAddress ? "an illegal memory access was encountered" : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
Status cuDeviceGetCount(int32_t* count) {
  *count = control.device_count;
  return 0;
}
Status cuDeviceGet(int32_t* device, int32_t ordinal) {
  *device = 40 + ordinal;
  return 0;
}
Status cuDeviceGetName(char* name, int32_t size, int32_t) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
  return 0;
}
Status cuDeviceGetAttribute(int32_t* value, int32_t attribute, int32_t) {
  static const std::map<int32_t, int32_t> kValues = {{1, 1024},     {13, 1500000}, {16, 8}, {36, 2000000}, {37, 512},
                                                     {38, 1 << 20}, {75, 9},       {76, 0}, {97, 232448}};
  const auto it = kValues.find(attribute);
  if (it == kValues.end()) {
    return kInvalidValue;
  }
  *value = it->second;
  return 0;
}
Status cuDeviceTotalMem_v2(size_t* bytes, int32_t) {
  *bytes = size_t{1} << 33;
  return 0;
}
Status cuDevicePrimaryCtxRetain(void** context, int32_t device) {
  if (device < 40) {
    return kInvalidValue;
  }
  *context = &control;
  ++control.live.contexts;
  return 0;
}
Status cuDevicePrimaryCtxRelease_v2(int32_t device) {
  if (device < 40) {
    return kInvalidValue;
  }
  --control.live.contexts;
  return 0;
}
Status cuCtxSetCurrent(void*) {
  return 0;
}
Status cuCtxSynchronize() {
  return sticky;
}
Status cuModuleLoadData(void** module, const void*) {
  if (control.module_status != 0) {
    return control.module_status;
  }
  *module = new Module();
  ++control.live.modules;
  return sticky;
}
Status cuModuleUnload(void* module) {
  delete static_cast<Module*>(module);
  --control.live.modules;
  return 0;
}
Status cuModuleGetFunction(void** function, void* module, const char* name) {
  if (std::string(name).empty()) {
    return kNotFound;
  }
  Kernel& kernel = static_cast<Module*>(module)->kernels[name];
  kernel.name = name;
  *function = &kernel;
  return 0;
}
Status cuFuncGetAttribute(int32_t* value, int32_t attribute, void*) {
  *value = attribute == 0 ? control.max_threads_of_kernel : attribute == 4 ? 42 : 0;
  return 0;
}
Status cuFuncSetAttribute(void*, int32_t attribute, int32_t value) {
  constexpr int32_t kRefusedFrom = 200 * 1024;
  if (attribute != 8 || value >= kRefusedFrom) {
    return kInvalidValue;
  }
  control.last_dynamic_shared_limit = value;
  return 0;
}
Status cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (static_cast<int64_t>(bytes) > control.memory_bytes) {
    return kOutOfMemory;
  }
  *address = reinterpret_cast<uint64_t>(std::malloc(bytes));
  allocations[*address] = bytes;
  control.memory_bytes -= static_cast<int64_t>(bytes);
  ++control.live.allocations;
  return sticky;
}
Status cuMemFree_v2(uint64_t address) {
  control.memory_bytes += static_cast<int64_t>(allocations.at(address));
  allocations.erase(address);
  std::free(reinterpret_cast<void*>(address));
  --control.live.allocations;
  return sticky;
}
Status cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return sticky;
}
Status cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return sticky;
}
Status cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  control.clock_ms += 0.5;
  return sticky;
}
Status cuMemsetD8Async(uint64_t address, uint8_t value, size_t count, void*) {
  std::memset(reinterpret_cast<void*>(address), value, count);
  control.clock_ms += 1;
  ++control.live.fills;
  return sticky;
}
Status cuLaunchKernel(void* function, uint32_t grid_x, uint32_t, uint32_t, uint32_t block_x, uint32_t, uint32_t,
                      uint32_t shared_bytes, void*, void** parameters, void**) {
  if (sticky != 0) {
    return sticky;
  }
  constexpr uint32_t kRefusedGrid = 12345;
  if (grid_x == 0 || block_x == 0 || grid_x == kRefusedGrid) {
    return kInvalidValue;
  }
  control.last_shared_bytes = shared_bytes;
  ++control.live.launches;
  run(*static_cast<Kernel*>(function), parameters);
  return 0;
}
Status cuStreamCreate(void** stream, uint32_t) {
  *stream = &sticky;
  ++control.live.streams;
  return 0;
}
Status cuStreamDestroy_v2(void*) {
  --control.live.streams;
  return 0;
}
Status cuStreamSynchronize(void*) {
  return sticky;
}
Status cuEventCreate(void** event, uint32_t) {
  *event = new Event();
  ++control.live.events;
  return sticky;
}
Status cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  --control.live.events;
  return 0;
}
Status cuEventRecord(void* event, void*) {
  static_cast<Event*>(event)->time_ms = control.clock_ms;
  return sticky;
}
Status cuEventSynchronize(void*) {
  return sticky;
}
Status cuEventElapsedTime(float* ms, void* start, void* end) {
  *ms = static_cast<float>(static_cast<Event*>(end)->time_ms - static_cast<Event*>(start)->time_ms);
  return sticky;
}

// cuBLAS, in the same library: only the product of f32 matrices, by its definition in BLAS (columns first).
Status cublasCreate_v2(void** handle) {
  *handle = &control;
  return control.cublas_status;
}
Status cublasDestroy_v2(void*) {
  return 0;
}
Status cublasGetVersion_v2(void*, int32_t* version) {
  *version = 130100;
  return 0;
}
Status cublasSetStream_v2(void*, void*) {
  return 0;
}
const char* cublasGetStatusName(Status status) {
  return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_NOT_INITIALIZED";
}
Status cublasGemmEx(void*, int32_t a_operation, int32_t b_operation, int32_t m, int32_t n, int32_t k,
                    const float* alpha, const float* a, int32_t a_type, int32_t a_stride, const float* b,
                    int32_t b_type, int32_t b_stride, const float* beta, float* c, int32_t c_type, int32_t c_stride,
                    int32_t, int32_t) {
  if (a_type != 0 || b_type != 0 || c_type != 0) {
    return 15;
  }
  const auto at = [](const float* matrix, int32_t stride, int32_t row, int32_t column) {
    return matrix[row + static_cast<int64_t>(column) * stride];
  };
  for (int32_t i = 0; i < m; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int32_t l = 0; l < k; ++l) {
        sum += (a_operation == 0 ? at(a, a_stride, i, l) : at(a, a_stride, l, i)) *
               (b_operation == 0 ? at(b, b_stride, l, j) : at(b, b_stride, j, l));
      }
      float& out = c[i + static_cast<int64_t>(j) * c_stride];
      out = *alpha * sum + (*beta == 0 ? 0 : *beta * out);
    }
  }
  control.clock_ms += 2;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
