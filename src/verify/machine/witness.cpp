// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/witness.h"

#include <algorithm>
#include <set>

#include "verify/machine/global_access.h"

namespace tw::verify {
namespace {

constexpr int kWarpThreads = 32;
constexpr int64_t kDefaultTile = 16;
// What a run costs beside its steps.
constexpr int64_t kLeastSteps = 20'000;
// Trip counts up to one more than twice the deepest ring that is common in practice.
constexpr int64_t kMostTiles = 7;

// Constants by which the program divides a size: tiles, and divisors in assumptions.
std::set<int64_t> divisors_of(const ir::Function& f, ir::SymbolId size) {
  std::set<int64_t> out;
  for (size_t i = 0; i < f.exprs.size(); ++i) {
    const ir::ExprNode& node = f.exprs.node(ir::ExprId(static_cast<uint32_t>(i)));
    if (node.kind != ir::ExprKind::CeilDiv && node.kind != ir::ExprKind::FloorDiv && node.kind != ir::ExprKind::Mod) {
      continue;
    }
    const ir::ExprNode& dividend = f.exprs.node(node.operands[0]);
    auto divisor = f.exprs.constant_value(node.operands[1]);
    if (dividend.kind == ir::ExprKind::Symbol && dividend.symbol == size && divisor && *divisor > 0) {
      out.insert(*divisor);
    }
  }
  return out;
}

struct Candidates {
  ir::SymbolId size;
  // The usual value first.
  std::vector<int64_t> values;
};

Candidates candidates_of(const ir::Function& f, ir::SymbolId size) {
  const std::set<int64_t> divisors = divisors_of(f, size);
  const int64_t tile = divisors.empty() ? kDefaultTile : *divisors.rbegin();
  const int64_t unit = divisors.empty() ? 1 : *divisors.begin();
  Candidates out{size, {tile}};
  auto add = [&](int64_t value) {
    if (value >= 0 && std::ranges::find(out.values, value) == out.values.end()) {
      out.values.push_back(value);
    }
  };
  for (int64_t tiles = 2; tiles <= kMostTiles; ++tiles) {
    add(tiles * tile);
  }
  for (int64_t value :
       {tile + unit, tile - unit, 2 * tile + 1, tile + 1, tile - 1, int64_t{1}, int64_t{5}, int64_t{8}, int64_t{0}}) {
    add(value);
  }
  return out;
}

emulator::Problem problem_of(const ir::Function& f, const std::map<ir::SymbolId, int64_t>& sizes) {
  emulator::Problem problem;
  for (const auto& [symbol, value] : sizes) {
    problem.sizes[f.exprs.symbol(symbol).name] = value;
  }
  for (const ir::ScalarParameter& scalar : f.scalars) {
    problem.scalars[scalar.name] = 1.0;
  }
  return problem;
}

std::vector<int> warp_of(int thread, int threads) {
  std::vector<int> out;
  if (thread < 0) {
    return out;
  }
  const int begin = thread / kWarpThreads * kWarpThreads;
  for (int t = begin; t < std::min(begin + kWarpThreads, threads); ++t) {
    out.push_back(t);
  }
  return out;
}

std::vector<emulator::Schedule> directed_schedules(const Suspicion& suspicion, int threads) {
  using emulator::AsyncMode;
  using emulator::ScheduleMode;
  std::vector<emulator::Schedule> out;
  auto add = [&](ScheduleMode mode, AsyncMode async, std::vector<int> first, std::vector<int> last) {
    emulator::Schedule schedule;
    schedule.mode = mode;
    schedule.async = async;
    schedule.first = std::move(first);
    schedule.last = std::move(last);
    schedule.seed = 1 + out.size();
    out.push_back(std::move(schedule));
  };
  add(ScheduleMode::InOrder, AsyncMode::Late, {}, {});
  add(ScheduleMode::InOrder, AsyncMode::Early, {}, {});
  add(ScheduleMode::Random, AsyncMode::Late, {}, {});
  add(ScheduleMode::Random, AsyncMode::Random, {}, {});
  // Each suspect hurried and held back; warp 0 and the last warp stand in where a thread is not known.
  const std::vector<int> a = warp_of(suspicion.thread_first >= 0 ? suspicion.thread_first : 0, threads);
  const std::vector<int> b = warp_of(suspicion.thread_second >= 0 ? suspicion.thread_second : threads - 1, threads);
  for (AsyncMode async : {AsyncMode::Late, AsyncMode::Early}) {
    add(ScheduleMode::Priority, async, b, a);
    add(ScheduleMode::Priority, async, a, b);
    add(ScheduleMode::Priority, async, a, {});
    add(ScheduleMode::Priority, async, {}, a);
    add(ScheduleMode::Priority, async, b, {});
    add(ScheduleMode::Priority, async, {}, b);
  }
  if (suspicion.thread_first >= 0 && suspicion.thread_second >= 0) {
    add(ScheduleMode::Priority, AsyncMode::Late, {suspicion.thread_first}, {suspicion.thread_second});
    add(ScheduleMode::Priority, AsyncMode::Late, {suspicion.thread_second}, {suspicion.thread_first});
  }
  for (emulator::Schedule& schedule : emulator::standard_schedules(threads, 6, 1)) {
    out.push_back(std::move(schedule));
  }
  return out;
}

// Sizes on which the trip count of a loop depends.
std::set<ir::SymbolId> sizes_of_loops(const ir::Function& f) {
  std::vector<ir::SymbolId> symbols;
  ir::for_each_op(f.body, [&](const ir::Op& op) {
    if (const auto* loop = std::get_if<ir::ForOp>(&op.body)) {
      f.exprs.collect_symbols(loop->begin, symbols);
      f.exprs.collect_symbols(loop->end, symbols);
    }
  });
  return {symbols.begin(), symbols.end()};
}

// Order inside a block depends on trip counts, not on how many blocks there are: these vary first, a middling count
// before the rest.
std::vector<emulator::Problem> problems_for_order(const ir::Function& f, const std::map<ir::SymbolId, int64_t>& fixed,
                                                  size_t limit) {
  std::vector<emulator::Problem> out;
  std::set<std::map<std::string, int64_t>> seen;
  auto add = [&](std::vector<emulator::Problem> problems) {
    for (emulator::Problem& p : problems) {
      if (out.size() < limit && seen.insert(p.sizes).second) {
        out.push_back(std::move(p));
      }
    }
  };
  const std::set<ir::SymbolId> looping = sizes_of_loops(f);
  for (int64_t tiles : {4, 1, 2, 3, 5, 6, 7}) {
    std::map<ir::SymbolId, int64_t> sizes = fixed;
    for (ir::SymbolId size : f.sizes) {
      if (looping.contains(size) && !fixed.contains(size)) {
        sizes[size] = tiles * candidates_of(f, size).values.front();
      }
    }
    add(small_problems(f, sizes, 1));
  }
  add(small_problems(f, fixed, limit));
  return out;
}

}  // namespace

std::vector<emulator::Problem> small_problems(const ir::Function& function,
                                              const std::map<ir::SymbolId, int64_t>& fixed, size_t limit) {
  std::vector<Candidates> free_sizes;
  std::map<ir::SymbolId, int64_t> base = fixed;
  for (ir::SymbolId size : function.sizes) {
    if (!fixed.contains(size)) {
      free_sizes.push_back(candidates_of(function, size));
      base[size] = free_sizes.back().values.front();
    }
  }
  std::vector<emulator::Problem> out;
  std::set<std::map<ir::SymbolId, int64_t>> seen;
  auto add = [&](const std::map<ir::SymbolId, int64_t>& sizes) {
    if (out.size() < limit && admits(function, sizes) && seen.insert(sizes).second) {
      out.push_back(problem_of(function, sizes));
    }
  };
  add(base);
  // One size at a time, all sizes in turn, the telling values first.
  const size_t most = free_sizes.empty() ? 0 : std::ranges::max(free_sizes, {}, [](const Candidates& c) {
                                                 return c.values.size();
                                               }).values.size();
  for (size_t i = 1; i < most; ++i) {
    for (const Candidates& candidates : free_sizes) {
      if (i < candidates.values.size()) {
        std::map<ir::SymbolId, int64_t> sizes = base;
        sizes[candidates.size] = candidates.values[i];
        add(sizes);
      }
    }
    std::map<ir::SymbolId, int64_t> all = base;
    for (const Candidates& candidates : free_sizes) {
      all[candidates.size] = candidates.values[std::min(i, candidates.values.size() - 1)];
    }
    add(all);
  }
  return out;
}

std::optional<Witness> find_witness(const ir::Function& lowered, const Suspicion& suspicion, const SearchLimits& limits,
                                    int64_t& steps_left) {
  const std::vector<emulator::Schedule> schedules = directed_schedules(suspicion, lowered.threads);
  const int64_t stop_at = std::max<int64_t>(0, steps_left - limits.steps);
  // Most mistakes show under plain schedules at some size: all sizes under a few schedules before the next few.
  constexpr size_t kTier = 4;
  std::vector<emulator::Problem> problems = problems_for_order(lowered, suspicion.sizes, limits.problems);
  emulator::MachineOptions options;
  options.max_violations = 1;
  for (size_t first = 0; first < schedules.size(); first += kTier) {
    const std::vector<emulator::Schedule> tier(
        schedules.begin() + static_cast<std::ptrdiff_t>(first),
        schedules.begin() + static_cast<std::ptrdiff_t>(std::min(first + kTier, schedules.size())));
    for (auto problem = problems.begin(); problem != problems.end();) {
      if (steps_left <= stop_at) {
        return std::nullopt;
      }
      emulator::Hunt hunt = emulator::hunt(lowered, *problem, tier, options);
      if (hunt.schedule && !hunt.run.violations.empty()) {
        const emulator::Violation& violation = hunt.run.violations.front();
        return Witness{*problem, *hunt.schedule, violation.block, violation};
      }
      steps_left -= std::max(hunt.run.steps * static_cast<int64_t>(tier.size()), kLeastSteps);
      // A reading that fails is the text's fault, whatever the machine does: another obligation tells it.
      problem = hunt.run.reading_error ? problems.erase(problem) : problem + 1;
    }
  }
  return std::nullopt;
}

}  // namespace tw::verify
