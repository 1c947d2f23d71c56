// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "ir/function.h"

// A first analytic model: how long would one launch take? Counted from the lowered IR, never measured; every record of
// it says "estimate". Good for ranking variants of one kernel; absolute times are rough.
namespace tw::profile {

enum class Bound : uint8_t { Dram, L2, Shared, Tensor, Fma, Issue, Latency };
std::string_view name_of(Bound bound);

// Work of one block, and of the launch.
struct Counts {
  double blocks = 0;
  // Bytes that the block requests from global memory.
  double global_bytes = 0;
  // Bytes that the launch has to move at least: each tensor once.
  double unique_bytes = 0;
  // Cycles of the shared memory's data path (128 bytes each), conflicts included.
  double shared_cycles = 0;
  double mma_fma = 0;
  double simt_fma = 0;
  // Warp instructions.
  double instructions = 0;
  // Waits for global memory, one after the other, that nothing of the same block covers.
  double exposed_latencies = 0;
  double barriers = 0;
  // Registers a thread, a lower bound from the live tiles.
  double registers = 0;
};

struct Estimate {
  double us = 0;
  Bound bound = Bound::Latency;
  int resident_blocks = 0;
  double waves = 0;
  Counts counts;
};

// `sizes` by name. Fails when a size is missing or an extent has no value.
Result<Estimate> estimate(const ir::Function& lowered, const std::map<std::string, int64_t>& sizes);

}  // namespace tw::profile
