// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Control of the fake driver (fake_cuda.cpp), which the tests reach by dlsym.
namespace tw::runner::fake {

struct Counters {
  int32_t allocations = 0;
  int32_t modules = 0;
  int32_t streams = 0;
  int32_t events = 0;
  int32_t contexts = 0;
  int32_t launches = 0;
  int32_t fills = 0;
};

struct Control {
  // What cuInit and the count of devices give.
  int32_t init_status = 0;
  int32_t device_count = 1;
  // Bytes that can still be allocated.
  int64_t memory_bytes = int64_t{256} << 20;
  // Status of the next module load.
  int32_t module_status = 0;
  // What starting cuBLAS gives.
  int32_t cublas_status = 0;
  int32_t max_threads_of_kernel = 1024;
  // The clock of the device, moved on by fills (1 ms each) and kernels.
  double clock_ms = 0;
  uint32_t last_shared_bytes = 0;
  int32_t last_dynamic_shared_limit = 0;
  Counters live;
};

}  // namespace tw::runner::fake
