// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolchain/message.h"
#include "toolchain/resources.h"

namespace tw::toolchain {

enum class Output : uint8_t { Cubin, Ptx };

struct CompileOptions {
  // As in the target's machine model: "sm_80", "sm_90a".
  std::string arch = "sm_80";
  Output output = Output::Cubin;
  // Upper limit of registers a thread; 0 leaves it to the compiler and to __launch_bounds__.
  int32_t max_registers = 0;
  // Line tables, so that tools can map machine code to the source.
  bool has_line_info = false;
  // The name that the compiler's messages use.
  std::string file_name = "kernel.cu";
  // "NAME" or "NAME=VALUE".
  std::vector<std::string> defines;
  std::vector<std::string> include_dirs;
  std::vector<std::string> extra_options;
};

struct CompiledKernel {
  // The cubin's bytes or the PTX text.
  std::string image;
  Output output = Output::Cubin;
  std::string arch;
  // One entry a kernel; only for a cubin.
  std::vector<ResourceReport> resources;
  // Warnings, and what ptxas says about lost performance (C75xx).
  std::vector<CompilerMessage> messages;
  std::string log;
  // "nvrtc 13.0", "nvcc 13.0.88".
  std::string compiler;
  // Of the compilation itself, also when it was done earlier and came from the cache.
  double time_ms = 0;
  bool is_from_cache = false;

  // nullptr when there is no such kernel.
  [[nodiscard]] const ResourceReport* find_resources(std::string_view kernel) const;
};

enum class CompileFailureKind : uint8_t {
  // No compiler, or it cannot do what is asked on this machine (unknown architecture, no room for files).
  Environment,
  // The source was refused.
  Rejected,
  // The compiler broke, or says things that do not fit together.
  Internal,
};

struct CompileFailure {
  CompileFailureKind kind = CompileFailureKind::Internal;
  Error error;
  // Errors first found by the compiler come first.
  std::vector<CompilerMessage> messages;
  std::string log;
};

using CompileResult = Result<CompiledKernel, CompileFailure>;

// "compute_90a" of "sm_90a": PTX is made for a virtual architecture.
std::string virtual_arch(std::string_view arch);

}  // namespace tw::toolchain
