// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/problem.h"
#include "emulator/reading.h"
#include "emulator/report.h"
#include "emulator/schedule.h"

namespace tw::emulator {

// The second half of the emulator: the machine. Blocks of threads in warps, registers placed by thread/value layouts,
// byte-accurate shared memory whose every byte carries a stamp (cell and write instance), asynchronous copies that land
// when the schedule says, barriers. Each read is compared with the write that the reading assigns to it, so a wrong
// order is found even if the values agree by luck.

struct MachineOptions {
  // Which blocks to run; empty: all.
  std::vector<int64_t> blocks;
  WalkLimits limits;
  // Stop after so many findings.
  size_t max_violations = 8;
  // mma.sync adds as measured on the H200, instead of one rounding after the other; outputs are then compared with the
  // reading's within the bound for another order of additions.
  bool tensor_core_model = false;
  // Compare outputs with the reading's at the end.
  bool compare_outputs = true;
  // Complain about Out elements that no block wrote; only when all blocks run.
  bool check_coverage = true;
};

struct MachineRun {
  // The reading itself failed: the machine was not run beyond that.
  std::optional<ReadingError> reading_error;
  std::vector<Violation> violations;
  BoundProblem bound;
  // The machine's and the reading's memories after the launch.
  std::vector<std::shared_ptr<TensorMemory>> memory;
  std::shared_ptr<ReadingMemory> reading_memory;
  // Dynamic ops times threads executed.
  int64_t steps = 0;
  // A hold of the schedule ended because nobody else could move.
  bool hold_expired = false;

  [[nodiscard]] bool is_good() const { return !reading_error && violations.empty(); }
  // All bytes of a tensor's allocation after the launch, as the machine left them.
  [[nodiscard]] std::vector<std::byte> bytes_of(ir::TensorId tensor) const;
};

// REQUIRES: `function` is lowered and outlives the result.
MachineRun run_machine(const ir::Function& function, const Problem& problem, const Schedule& schedule = {},
                       const MachineOptions& options = {});

// Executes one block and returns the first thing that goes wrong: for counterexamples.
struct Replay {
  std::optional<ReadingError> reading_error;
  std::optional<Violation> violation;
  [[nodiscard]] bool is_wrong() const { return reading_error.has_value() || violation.has_value(); }
};
Replay replay(const ir::Function& function, const Problem& problem, const Schedule& schedule, int64_t block);

// Runs every block under each of the schedules until one goes wrong; the reading is made once. Stops at the first block
// with a finding, so `run` may hold part of a launch only.
struct Hunt {
  // The schedule that goes wrong; nothing: none does, or the reading itself fails.
  std::optional<Schedule> schedule;
  MachineRun run;
};
Hunt hunt(const ir::Function& function, const Problem& problem, const std::vector<Schedule>& schedules,
          const MachineOptions& options = {});

}  // namespace tw::emulator
