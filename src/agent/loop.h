// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/recorder.h"
#include "base/result.h"
#include "diag/sink.h"
#include "store/store.h"
#include "task/task.h"
#include "toolchain/compiler.h"

namespace tw::agent {

// What `optimize` was asked for; part of the run's record, so that --resume needs no options.
struct Request {
  std::string target;
  // The user's own program: its text; empty: draft from the family.
  std::string from_text;
  uint64_t seed = 1;
  // 0: no limit.
  int64_t max_steps = 0;
  double max_seconds = 0;
  // Moves left out of the menu.
  std::vector<std::string> without_moves;
};
json::Value to_json(const Request& request, const task::Task& task);
Result<Request> request_from_json(const json::Value& config);

// A kernel that the run can hand over.
struct BestKernel {
  std::string text;
  std::string reference;
  double estimate_us = 0;
  std::string bound;
  std::vector<std::string> narrowing;
  // What made it, from the draft on.
  std::vector<std::string> moves;
};

struct RunResult {
  // The fastest proved kernel, and, when it assumes more than the task's domain, the fastest proved one that does not.
  std::optional<BestKernel> best;
  std::optional<BestKernel> general;
  std::string reason;
  bool is_interrupted = false;
};

struct Progress {
  // One line for a person about a finished step.
  std::function<void(const std::string&)> say;
};

// The state machine of one run: draft, check, build, test, estimate, decide; a refuted candidate is mended by
// re-checked edits; then the menu of moves until none helps, or the budget ends. Every step goes through the recorder.
Result<RunResult> run_loop(const task::Task& task, const Request& request, Recorder& recorder,
                           toolchain::CudaCompiler* compiler, const Progress& progress);

}  // namespace tw::agent
