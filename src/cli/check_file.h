// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
#include "driver/driver.h"
#include "task/task.h"
#include "verify/verify.h"

namespace tw::cli {

struct CheckedConfiguration {
  std::string kernel;
  sema::Binding constants;
  std::string ir_hash;
  verify::Report report;
};

// One file, checked in all its configurations.
struct CheckedFile {
  std::string file;
  std::string target;
  std::string ir_hash;
  // proved, refuted, unknown, vacuous; rejected: the front end refused the program; unreadable: it is no program.
  std::string verdict;
  verify::Scope scope = verify::Scope::Order;
  std::vector<CheckedConfiguration> configurations;
  double time_ms = 0;
  ExitCode exit_code = ExitCode::Good;
};

// Diagnostics go to the session. `task`: what the kernel is to compute, as an obligation of its own; may be null.
CheckedFile check_file(driver::Session& session, const std::string& path, const Options& options,
                       const task::Task* task);

// The entry of `tw.check/1`.
json::Value to_json(const CheckedFile& file, const driver::Session& session);

}  // namespace tw::cli
