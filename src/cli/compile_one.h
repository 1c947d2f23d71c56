// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "driver/driver.h"
#include "toolchain/compile.h"

namespace tw::cli {

// The first kernel of a file in its first configuration (or the one that --param gives). Failures are printed; the exit
// code says which kind.
struct OneKernel {
  std::optional<driver::CompiledKernel> kernel;
  ExitCode exit_code = ExitCode::Good;
};
OneKernel compile_one(driver::Session& session, const std::string& path, const Options& options);

// CUDA source of a kernel to machine code or PTX, through the compile cache; needs beyond the machine's limits and
// forbidden spills are errors. Failures are reported to the session and printed.
struct MachineCode {
  std::optional<toolchain::CompiledKernel> code;
  ExitCode exit_code = ExitCode::Good;
};
MachineCode compile_cuda(driver::Session& session, const driver::CompiledKernel& kernel, const std::string& source,
                         toolchain::Output output, const Options& options);

}  // namespace tw::cli
