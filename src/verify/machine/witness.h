// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emulator/machine.h"
#include "ir/function.h"

namespace tw::verify {

// An execution that goes wrong on the emulator: what turns a suspicion into a refutation.
struct Witness {
  emulator::Problem problem;
  emulator::Schedule schedule;
  int64_t block = 0;
  emulator::Violation violation;
};

// Where to look first.
struct Suspicion {
  // The two ops that nothing orders, 0: not known.
  uint32_t first_op = 0;
  uint32_t second_op = 0;
  int thread_first = -1;
  int thread_second = -1;
  // Sizes that break a rule; the others are chosen.
  std::map<ir::SymbolId, int64_t> sizes;
};

struct SearchLimits {
  size_t problems = 16;
  // Thread steps over all runs.
  int64_t steps = 16'000'000;
};

// Launches of one or a few blocks that differ in how sizes meet the program's tiles and trip counts: one tile, a tile
// more or less, counts of 0 to a few times the ring. All satisfy the assumptions.
std::vector<emulator::Problem> small_problems(const ir::Function& function,
                                              const std::map<ir::SymbolId, int64_t>& fixed, size_t limit);

// Runs small problems under schedules that let one suspect thread run ahead of the other, then under the emulator's
// standard ones, until something goes wrong. nullopt says nothing about the kernel.
// `steps_left` goes down by what the search used.
std::optional<Witness> find_witness(const ir::Function& lowered, const Suspicion& suspicion, const SearchLimits& limits,
                                    int64_t& steps_left);

}  // namespace tw::verify
