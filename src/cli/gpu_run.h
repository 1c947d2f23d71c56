// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "driver/driver.h"
#include "task/task.h"

namespace tw::cli {

// Compiles the kernel for the GPU at hand, compares it with the task's reference on the test shapes and times it at the
// headline shape. In this process, without isolation: the record says so.
ExitCode run_on_gpu(driver::Session& session, const driver::CompiledKernel& kernel, const task::Task& task,
                    const Options& options);

}  // namespace tw::cli
