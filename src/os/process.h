// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tw::os {

struct Command {
  // argv[0] is a path, or a name looked up in this process's PATH. No shell reads it.
  std::vector<std::string> argv;
  // Empty: the current folder.
  std::string working_folder;
  std::string stdin_text;

  // The child sees only variables named here; a trailing `*` stands for any ending. What our own environment holds
  // beyond that (keys, tokens) does not reach a compiler or an author's program by accident.
  std::vector<std::string> kept_variables = {"PATH", "HOME", "LANG", "LC_*", "TMPDIR"};
  std::vector<std::pair<std::string, std::string>> set_variables;

  // Output beyond this is read and dropped.
  size_t max_stdout_bytes = size_t{64} << 20;
  size_t max_stderr_bytes = size_t{4} << 20;
  // Zero: none. When it is over, the process and all that it started are killed.
  std::chrono::milliseconds timeout{0};
  // Zero: as ours. Limits on address space and on the size of written files.
  uint64_t max_memory_bytes = 0;
  uint64_t max_file_bytes = 0;
};

struct ProcessOutcome {
  // -1 when it did not exit by itself.
  int exit_code = -1;
  // The signal that ended it, or 0.
  int signal = 0;
  bool is_timed_out = false;
  // An interrupt was requested while it ran; it was killed.
  bool is_interrupted = false;
  std::string stdout_text;
  std::string stderr_text;
  bool is_stdout_cut = false;
  bool is_stderr_cut = false;
  double wall_ms = 0;
  int64_t peak_memory_bytes = 0;

  [[nodiscard]] bool is_success() const { return exit_code == 0; }
  // "exit code 2", "killed by signal 11 (Segmentation fault)", "stopped after its time limit".
  [[nodiscard]] std::string describe() const;
};

// Runs the command to its end. An error only when it could not be started; how it ended is in the outcome. The child
// leads its own process group: whatever of the group is left when it ends is killed, and it is killed when we die.
Result<ProcessOutcome> run_process(const Command& command);

// The path that run_process would start, or nothing.
std::optional<std::string> find_program(const std::string& name);

}  // namespace tw::os
