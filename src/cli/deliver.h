// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/loop.h"
#include "base/result.h"
#include "store/store.h"
#include "task/task.h"

namespace tw::cli {

// Makes the folder, and an error when the results could not be put there.
Status prepare_delivery(const std::string& folder);

// Writes what a finished run hands over: kernel.tw.py, kernel.cu, proof.json, report.html. When the fast kernel assumes
// more than the task's domain, the fastest kernel without such assumptions stands beside it in both files as NAME_any,
// and the launcher NAME_dispatch chooses by the sizes. Earlier results in the folder are replaced all together or not
// at all; a run without a proved kernel replaces the report alone.
Status deliver(const std::string& folder, const task::Task& task, const agent::RunResult& result,
               const std::string& target, store::Store& store, const std::string& run_id);

}  // namespace tw::cli
