// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "eval/evaluation.h"
#include "runner/timing.h"

namespace tw::eval {

struct GpuMeasurement {
  Evaluation evaluation;
  // Only of a correct kernel, at `shape`.
  std::optional<runner::Timing> timing;
  // cuBLAS on the same operands, interleaved with the kernel; only for plain matrix products where the library is
  // there.
  std::optional<runner::Timing> cublas;
  std::string cublas_version;
  // A device copy that moves as many bytes as the task has to.
  std::optional<runner::Timing> copy;
  std::string shape;
  double operations = 0;
  double least_bytes = 0;
  std::string device;
};

// Runs the test shapes against the reference, then times the headline shape; outputs are poisoned before every launch,
// guard bands and inputs looked at after it. In this process: a hang hangs it. REQUIRES: `cubin` was compiled from
// `kernel`.
Result<GpuMeasurement> measure_on_gpu(runner::Gpu& gpu, const ir::Function& kernel, const std::string& cubin,
                                      const task::Task& task, uint64_t seed);

}  // namespace tw::eval
