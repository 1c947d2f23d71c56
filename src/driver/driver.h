// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "diag/source.h"
#include "ir/function.h"
#include "sema/sema.h"

namespace tw::driver {

// What one invocation reads and says.
struct Session {
  diag::SourceManager sources;
  diag::Sink sink;
};

struct CompileRequest {
  // As messages print it.
  std::string name;
  std::string text;
  // Empty: the kernel's own.
  std::string target;
  sema::Binding parameters;
  // Only the first configuration of the first kernel: what `emit` and `run` take.
  bool only_first = false;
};

// One kernel in one configuration, from its meaning to what is emitted.
struct CompiledKernel {
  std::string name;
  sema::Binding constants;
  ir::Function source;
  // "Ready for emission": what is proved, executed and emitted.
  ir::Function lowered;
  std::string ir_hash;
};

// Parses, checks names and types, and lowers every kernel of a file in every configuration that it declares (or the one
// that `parameters` gives). Errors go to the session's sink.
Checked<std::vector<CompiledKernel>> compile(Session& session, const CompileRequest& request);

// The IR of all kernels as one hash: of one kernel in one configuration, its own.
std::string combined_hash(const std::vector<CompiledKernel>& kernels);

}  // namespace tw::driver
