// SPDX-License-Identifier: Apache-2.0
// Who runs next. Control flow is uniform, so a thread's state is its place in the block's list of dynamic ops.
#include <algorithm>
#include <fmt/format.h>
#include <random>

#include "emulator/block_machine.h"

namespace tw::emulator {
namespace {

struct ResolvedHold {
  std::vector<uint8_t> is_held;
  uint32_t before = 0;
  int until_thread = 0;
  uint32_t passed = 0;
  bool is_over = false;
};

struct ResolvedLanding {
  uint32_t copy = 0;
  int thread = 0;
  uint32_t trigger = 0;
  int trigger_thread = 0;
};

class Scheduler {
 public:
  Scheduler(BlockMachine& machine, const Walk& walk, const Schedule& schedule, int threads, int warp_threads)
      : machine_(machine),
        schedule_(schedule),
        threads_(threads),
        warp_threads_(warp_threads),
        end_(static_cast<uint32_t>(walk.instances.size())),
        random_(schedule.seed) {
    for (const Hold& hold : schedule.holds) {
      auto before = walk.find(hold.before);
      auto passed = walk.find(hold.passed);
      // A point that this block never reaches holds nobody.
      if (!before || !passed || hold.until_thread < 0 || hold.until_thread >= threads) {
        continue;
      }
      ResolvedHold resolved{std::vector<uint8_t>(static_cast<size_t>(threads), 0), *before, hold.until_thread, *passed,
                            false};
      for (int t : hold.threads) {
        if (t >= 0 && t < threads) {
          resolved.is_held[static_cast<size_t>(t)] = 1;
        }
      }
      holds_.push_back(std::move(resolved));
    }
    for (const Landing& landing : schedule.landings) {
      auto copy = walk.find(landing.copy);
      auto trigger = walk.find(landing.trigger);
      if (copy && trigger) {
        landings_.push_back({*copy, landing.thread, *trigger, landing.trigger_thread});
      }
    }
    machine_.lands_at_issue = [this](uint32_t instance, int thread) { return lands_at_issue(instance, thread); };
  }

  BlockOutcome run() {
    if (holds_.empty() && schedule_.mode == ScheduleMode::InOrder) {
      run_in_order();
    } else if (schedule_.mode == ScheduleMode::InOrder) {
      run_held();
    } else if (schedule_.mode == ScheduleMode::Random) {
      run_random();
    } else {
      run_by_priority();
    }
    if (!machine_.is_stopped()) {
      machine_.finish();
    }
    return outcome_;
  }

  [[nodiscard]] bool is_deadlocked() const { return is_deadlocked_; }

 private:
  uint32_t& at(int thread) { return machine_.position[static_cast<size_t>(thread)]; }

  bool lands_at_issue(uint32_t instance, int thread) {
    for (const ResolvedLanding& landing : landings_) {
      if (landing.copy == instance && landing.thread == thread) {
        return false;
      }
    }
    switch (schedule_.async) {
      case AsyncMode::Early:
        return true;
      case AsyncMode::Late:
        return false;
      case AsyncMode::Random:
        return random_() % 3 == 0;
    }
    return false;
  }

  // Executes one instance for threads [begin, end), which all stand before it.
  void execute(uint32_t instance, int begin, int end) {
    for (const ResolvedLanding& landing : landings_) {
      if (landing.trigger == instance && landing.trigger_thread >= begin && landing.trigger_thread < end) {
        machine_.land_copy(landing.copy, landing.thread);
      }
    }
    if (schedule_.async == AsyncMode::Random && random_() % 4 == 0) {
      machine_.land_any(random_());
    }
    machine_.execute(instance, begin, end);
    outcome_.steps += end - begin;
    for (int t = begin; t < end; ++t) {
      at(t) = instance + 1;
    }
  }

  void run_in_order() {
    for (uint32_t i = 0; i < end_ && !machine_.is_stopped(); ++i) {
      if (machine_.step_of(i) == StepKind::Warp) {
        for (int first = 0; first < threads_; first += warp_threads_) {
          execute(i, first, std::min(first + warp_threads_, threads_));
        }
      } else {
        execute(i, 0, threads_);
      }
    }
  }

  bool is_held(int thread, uint32_t instance) const {
    for (const ResolvedHold& hold : holds_) {
      if (!hold.is_over && hold.before == instance && hold.is_held[static_cast<size_t>(thread)] != 0 &&
          machine_.position[static_cast<size_t>(hold.until_thread)] <= hold.passed) {
        return true;
      }
    }
    return false;
  }

  bool all_ready(int begin, int end, uint32_t instance) const {
    for (int t = begin; t < end; ++t) {
      if (machine_.position[static_cast<size_t>(t)] != instance || is_held(t, instance)) {
        return false;
      }
    }
    return true;
  }

  // Moves the thread (with the threads that its op needs) one op on, if it can.
  bool try_step(int thread) {
    const uint32_t instance = at(thread);
    if (instance >= end_ || machine_.is_stopped()) {
      return false;
    }
    switch (machine_.step_of(instance)) {
      case StepKind::Thread:
        if (is_held(thread, instance)) {
          return false;
        }
        execute(instance, thread, thread + 1);
        return true;
      case StepKind::Warp: {
        const int first = thread - thread % warp_threads_;
        const int last = std::min(first + warp_threads_, threads_);
        if (!all_ready(first, last, instance)) {
          return false;
        }
        execute(instance, first, last);
        return true;
      }
      case StepKind::Block:
        if (!all_ready(0, threads_, instance)) {
          return false;
        }
        execute(instance, 0, threads_);
        return true;
    }
    return false;
  }

  bool is_finished() const {
    return std::ranges::all_of(machine_.position, [&](uint32_t p) { return p >= end_; });
  }

  // Nobody can move: the oldest hold that still keeps somebody ends.
  bool release_a_hold() {
    for (ResolvedHold& hold : holds_) {
      if (hold.is_over || machine_.position[static_cast<size_t>(hold.until_thread)] > hold.passed) {
        continue;
      }
      for (int t = 0; t < threads_; ++t) {
        if (hold.is_held[static_cast<size_t>(t)] != 0 && at(t) == hold.before) {
          hold.is_over = true;
          outcome_.hold_expired = true;
          return true;
        }
      }
    }
    return false;
  }

  // In order, except for the holds: always the threads that are furthest behind.
  void run_held() {
    while (!machine_.is_stopped()) {
      uint32_t lowest = end_;
      std::vector<int> movable;
      for (int t = 0; t < threads_; ++t) {
        const uint32_t instance = at(t);
        if (instance >= end_ || instance > lowest || !can_move(t)) {
          continue;
        }
        if (instance < lowest) {
          lowest = instance;
          movable.clear();
        }
        movable.push_back(t);
      }
      if (movable.empty()) {
        if (is_finished() || !release_a_hold()) {
          is_deadlocked_ = !is_finished();
          return;
        }
        continue;
      }
      for (int t : movable) {
        if (at(t) == lowest) {
          try_step(t);
        }
      }
    }
  }

  bool can_move(int thread) const {
    const uint32_t instance = machine_.position[static_cast<size_t>(thread)];
    switch (machine_.step_of(instance)) {
      case StepKind::Thread:
        return !is_held(thread, instance);
      case StepKind::Warp: {
        const int first = thread - thread % warp_threads_;
        return all_ready(first, std::min(first + warp_threads_, threads_), instance);
      }
      case StepKind::Block:
        return all_ready(0, threads_, instance);
    }
    return false;
  }

  // Each thread of `order` runs as far as it can before the next one gets a turn.
  void run_by_priority() {
    std::vector<int> rank(static_cast<size_t>(threads_), 1);
    for (int t : schedule_.first) {
      if (t >= 0 && t < threads_) {
        rank[static_cast<size_t>(t)] = 0;
      }
    }
    for (int t : schedule_.last) {
      if (t >= 0 && t < threads_) {
        rank[static_cast<size_t>(t)] = 2;
      }
    }
    std::vector<int> order(static_cast<size_t>(threads_));
    for (int t = 0; t < threads_; ++t) {
      order[static_cast<size_t>(t)] = t;
    }
    std::ranges::stable_sort(order,
                             [&](int a, int b) { return rank[static_cast<size_t>(a)] < rank[static_cast<size_t>(b)]; });
    while (!machine_.is_stopped()) {
      if (!run_most_urgent(order, rank) && (is_finished() || !release_a_hold())) {
        is_deadlocked_ = !is_finished();
        return;
      }
    }
  }

  // One turn: the most urgent threads that can move run on; false: nobody can.
  bool run_most_urgent(const std::vector<int>& order, const std::vector<int>& rank) {
    bool any = false;
    int level = 0;
    // The barrier at which a thread of this turn found others missing: nobody else gets past it either.
    uint32_t closed = end_;
    for (int t : order) {
      if (at(t) == closed) {
        continue;
      }
      const int mine = rank[static_cast<size_t>(t)];
      if (any && mine > level) {
        return true;
      }
      level = mine;
      for (;;) {
        const uint32_t instance = at(t);
        if (!try_step(t)) {
          if (instance < end_ && machine_.step_of(instance) == StepKind::Block) {
            closed = instance;
          }
          break;
        }
        any = true;
        // A barrier may have freed somebody more urgent; the starved give way after each step.
        if (mine == 2 || (mine == 1 && machine_.step_of(instance) != StepKind::Thread)) {
          return true;
        }
      }
    }
    return any;
  }

  void run_random() {
    const int warps = (threads_ + warp_threads_ - 1) / warp_threads_;
    while (!machine_.is_stopped()) {
      const int start = static_cast<int>(random_() % static_cast<uint64_t>(warps));
      const bool alone = random_() % 4 == 0;
      const auto burst = static_cast<int>(1 + random_() % 24);
      bool any = false;
      for (int w = 0; w < warps && !any; ++w) {
        const int first = (start + w) % warps * warp_threads_;
        const int last = std::min(first + warp_threads_, threads_);
        const int lane = first + static_cast<int>(random_() % static_cast<uint64_t>(last - first));
        for (int step = 0; step < burst; ++step) {
          bool moved = false;
          if (alone) {
            moved = try_step(lane);
          } else {
            moved = step_warp(first, last);
          }
          if (!moved) {
            break;
          }
          any = true;
        }
      }
      if (!any && !step_anyone() && (is_finished() || !release_a_hold())) {
        is_deadlocked_ = !is_finished();
        return;
      }
    }
  }

  // The threads of the warp that are furthest behind go one op on.
  bool step_warp(int first, int last) {
    uint32_t lowest = end_;
    for (int t = first; t < last; ++t) {
      lowest = std::min(lowest, at(t));
    }
    bool moved = false;
    for (int t = first; t < last; ++t) {
      if (at(t) == lowest && try_step(t)) {
        moved = true;
      }
    }
    return moved;
  }

  bool step_anyone() {
    for (int t = 0; t < threads_; ++t) {
      if (try_step(t)) {
        return true;
      }
    }
    return false;
  }

  BlockMachine& machine_;
  const Schedule& schedule_;
  const int threads_;
  const int warp_threads_;
  const uint32_t end_;
  std::mt19937_64 random_;
  std::vector<ResolvedHold> holds_;
  std::vector<ResolvedLanding> landings_;
  BlockOutcome outcome_;
  bool is_deadlocked_ = false;
};

}  // namespace

BlockOutcome run_schedule(BlockMachine& machine, const Walk& walk, const Schedule& schedule, int threads,
                          int warp_threads, std::vector<Violation>& violations) {
  Scheduler scheduler(machine, walk, schedule, threads, warp_threads);
  const BlockOutcome outcome = scheduler.run();
  if (scheduler.is_deadlocked()) {
    Violation violation;
    violation.kind = ViolationKind::Deadlock;
    violation.block = walk.block;
    for (int t = 0; t < threads; ++t) {
      const uint32_t instance = machine.position[static_cast<size_t>(t)];
      if (instance < walk.instances.size()) {
        violation.access = {walk.point(instance), walk.instances[instance].op->span, t};
        violation.missing = fmt::format("thread {} waits here for threads that never come", t);
        break;
      }
    }
    violations.push_back(std::move(violation));
  }
  machine.lands_at_issue = nullptr;
  return outcome;
}

}  // namespace tw::emulator
