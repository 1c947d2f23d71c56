// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace tw::agent {

struct Draft {
  std::string text;
  // Where it comes from: the path of the family's program.
  std::string origin;
};

// First programs for a task from the families in kernels/ (a folder a workload), simplest first: programs whose
// parameters have the task's names, ranks and dimension names, with element types and target changed to the task's.
// Empty when no family fits.
Result<std::vector<Draft>> drafts_for(const task::Task& task, const std::string& target);

}  // namespace tw::agent
