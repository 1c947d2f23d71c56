// SPDX-License-Identifier: Apache-2.0
#include "mutate/oracle.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "verify/machine/witness.h"

namespace tw::mutate {
namespace {

// Thread steps over all runs of one mutant: a few seconds.
constexpr int64_t kMaxSteps = 6'000'000;

// Sizes around the tile by which the program divides them; a candidate that the assumptions refuse is left out.
std::vector<emulator::Problem> launches_of(const ir::Function& f) {
  std::vector<emulator::Problem> out;
  auto base = verify::small_problems(f, {}, 1);
  if (base.empty()) {
    return out;
  }
  std::vector<int64_t> tile;
  for (ir::SymbolId size : f.sizes) {
    tile.push_back(base[0].sizes[f.exprs.symbol(size).name]);
  }
  std::set<std::map<std::string, int64_t>> seen;
  auto add = [&](const std::vector<int64_t>& sizes) {
    std::map<ir::SymbolId, int64_t> fixed;
    for (size_t i = 0; i < sizes.size(); ++i) {
      fixed[f.sizes[i]] = sizes[i];
    }
    auto made = verify::small_problems(f, fixed, 1);
    if (made.empty()) {
      return false;
    }
    if (seen.insert(made[0].sizes).second) {
      out.push_back(std::move(made[0]));
    }
    return true;
  };
  add(tile);
  // Ragged in each size alone: by one where that is admitted, else by a vector.
  for (size_t i = 0; i < tile.size(); ++i) {
    for (int64_t more : {int64_t{1}, int64_t{8}, int64_t{16}}) {
      std::vector<int64_t> sizes = tile;
      sizes[i] += more;
      if (add(sizes)) {
        break;
      }
    }
  }
  // Trip counts around the depth of common rings.
  for (int64_t tiles : {3, 5, 7, 2}) {
    for (size_t i = 0; i < tile.size(); ++i) {
      // Many blocks say no more than a few.
      if (tiles <= 3 || i + 1 == tile.size()) {
        std::vector<int64_t> sizes = tile;
        sizes[i] *= tiles;
        add(sizes);
      }
    }
  }
  for (int64_t less : {int64_t{1}, int64_t{8}}) {
    std::vector<int64_t> sizes = tile;
    for (int64_t& size : sizes) {
      size = std::max<int64_t>(size - less, 1);
    }
    if (add(sizes)) {
      break;
    }
  }
  return out;
}

std::vector<emulator::Schedule> schedules_of(int threads) {
  using emulator::AsyncMode;
  using emulator::ScheduleMode;
  std::vector<emulator::Schedule> out = emulator::standard_schedules(threads, 4, 1);
  for (uint64_t seed : {1, 2}) {
    emulator::Schedule schedule;
    schedule.mode = ScheduleMode::Random;
    schedule.async = seed == 1 ? AsyncMode::Late : AsyncMode::Random;
    schedule.seed = seed;
    out.push_back(std::move(schedule));
  }
  // The last warp ahead of the others and the first one behind: what a missing barrier allows at most.
  emulator::Schedule schedule;
  schedule.mode = ScheduleMode::Priority;
  schedule.async = AsyncMode::Late;
  constexpr int kWarpThreads = 32;
  for (int thread = std::max(0, threads - kWarpThreads); thread < threads; ++thread) {
    schedule.first.push_back(thread);
  }
  out.push_back(std::move(schedule));
  return out;
}

}  // namespace

Oracle::Oracle(const ir::Function& source, const ir::Function& lowered) : schedules_(schedules_of(lowered.threads)) {
  for (emulator::Problem& problem : launches_of(lowered)) {
    emulator::ReadingOptions options;
    options.mma_in_any_order = true;
    emulator::Reading expected = emulator::run_reading(source, problem, options);
    // A launch that the source itself has no reading for says nothing about a lowering.
    if (!expected.error) {
      launches_.push_back({std::move(problem), std::move(expected)});
    }
  }
}

std::optional<std::string> Oracle::find_wrong(const ir::Function& mutant) const {
  int64_t steps = 0;
  for (const Launch& launch : launches_) {
    std::string sizes;
    for (const auto& [name, value] : launch.problem.sizes) {
      sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ", ", name, value);
    }
    emulator::Reading reading = emulator::run_reading(mutant, launch.problem);
    if (reading.error) {
      return fmt::format("{}: {}", sizes, reading.error->message);
    }
    auto differences = emulator::compare_outputs(launch.expected, reading, 1);
    if (!differences.empty()) {
      return fmt::format("{}: {} is {}, the source gives {}", sizes, emulator::to_string(differences[0].cell),
                         differences[0].second, differences[0].first);
    }
    emulator::MachineOptions options;
    options.max_violations = 1;
    emulator::Hunt hunt = emulator::hunt(mutant, launch.problem, schedules_, options);
    if (!hunt.run.is_good()) {
      return fmt::format(
          "{}: {}", sizes,
          hunt.run.reading_error ? hunt.run.reading_error->message : emulator::to_string(hunt.run.violations[0]));
    }
    steps += hunt.run.steps * static_cast<int64_t>(schedules_.size());
    if (steps > kMaxSteps) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace tw::mutate
