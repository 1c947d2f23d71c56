// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tw::toolchain {

// What one compiled kernel needs of the machine.
struct ResourceReport {
  std::string kernel;
  int32_t registers = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  // Local memory a thread needs for its frames: spills and arrays that registers could not hold.
  int64_t stack_bytes = 0;
  // Static shared memory that the source declares; what the system reserves (1 KiB from sm_90 on) is not in it.
  int64_t shared_static_bytes = 0;
  // Constant bank 0: parameters and what the ABI puts before them.
  int64_t const_bytes = 0;
  // Sizes of the kernel's parameters in order.
  std::vector<int32_t> parameter_sizes_bytes;

  [[nodiscard]] bool has_spills() const { return spill_store_bytes != 0 || spill_load_bytes != 0; }
  friend bool operator==(const ResourceReport&, const ResourceReport&) = default;
};

// {"kernel", "registers", "spill_store_bytes", "spill_load_bytes", "stack_bytes", "shared_static_bytes", "const_bytes"}
json::Value to_json(const ResourceReport& report);

// The part that `ptxas -v` prints; parameters are not in it, and constant bytes only on some architectures.
// Spills of functions that were not inlined count for the kernel they were compiled with.
std::vector<ResourceReport> parse_resource_log(std::string_view log);

// The part that the cubin itself records; spills are not in it. `shared_static_bytes` includes what the system
// reserves. Fails on anything that is not a CUDA ELF image.
Result<std::vector<ResourceReport>> inspect_cubin(std::string_view cubin);

// Both together, in the order of the cubin's symbols. The two sources are independent, so a kernel that one of them
// does not know or a register count on which they differ is an error.
Result<std::vector<ResourceReport>> read_resources(std::string_view log, std::string_view cubin);

}  // namespace tw::toolchain
