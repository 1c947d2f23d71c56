// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "diag/source.h"
#include "ir/function.h"

namespace tw::targets::cuda {

struct EmitOptions {
  // For the comments that lead back to the program; nullptr: none.
  const diag::SourceManager* sources = nullptr;
  bool has_launcher = true;
};

// One self-contained CUDA C++ file. The device part includes nothing and compiles bare under NVRTC and nvcc, for sm_80
// and later; the host launcher stands under `#ifndef __CUDACC_RTC__`. REQUIRES: codegen::check_ready(function).
//
// Integer types: scalar expressions are `int`, those in Function::wide_exprs `long long`; an operand of a wide
// operation is converted first. Offsets into global memory are `long long` (a coordinate is converted before it meets a
// stride); offsets inside shared memory are `unsigned`. Guards compare a coordinate inside the tile with the room that
// is left, extent - lo, limited to the tile's extent, so that lo + i is never formed in 32 bits.
Result<std::string> emit(const ir::Function& function, const EmitOptions& options = {});

// Both kernels in one file, and a launcher `NAME_dispatch` that calls `fast` where its assumptions on sizes hold and
// `general` elsewhere. REQUIRES: equal parameter lists, different names.
Result<std::string> emit_with_fallback(const ir::Function& fast, const ir::Function& general,
                                       const EmitOptions& options = {});

}  // namespace tw::targets::cuda
