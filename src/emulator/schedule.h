// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "emulator/report.h"

namespace tw::emulator {

// Who runs next. Threads of a warp move independently except at warp-collective instructions.
enum class ScheduleMode : uint8_t {
  InOrder,   // each op by all threads before the next: the schedule that hides most mistakes
  Random,    // warps and single threads in bursts, from the seed
  Priority,  // `first` as far as barriers allow, then the others, `last` only when nobody else can move
};

// When an asynchronous copy lands between its issue and the drain that covers it.
enum class AsyncMode : uint8_t { Early, Late, Random };

// The threads do not execute `before` until `until_thread` has executed `passed`, or nobody else can move.
struct Hold {
  std::vector<int> threads;
  DynamicPoint before;
  int until_thread = 0;
  DynamicPoint passed;
};

// The copy `copy` issued by `thread` lands just before `trigger_thread` executes `trigger` (or at its drain, if that
// comes first). Overrides the schedule's AsyncMode for this copy.
struct Landing {
  DynamicPoint copy;
  int thread = 0;
  DynamicPoint trigger;
  int trigger_thread = 0;
};

// One deterministic execution. Any two events of a block that its barriers do not order can be put in either order:
// hold the thread of one event before it until the thread of the other has passed.
struct Schedule {
  ScheduleMode mode = ScheduleMode::InOrder;
  AsyncMode async = AsyncMode::Late;
  uint64_t seed = 1;
  std::vector<int> first;
  std::vector<int> last;
  std::vector<Hold> holds;
  std::vector<Landing> landings;
};

json::Value to_json(const Schedule& schedule);
Result<Schedule> schedule_from_json(const json::Value& value);
Result<DynamicPoint> point_from_json(const json::Value& value);
std::string to_string(const Schedule& schedule);

// The schedules that a test of a kernel tries, mildest first: in order with late and early copies, each warp starved
// and each warp hurried, then random ones. `count` limits the list.
std::vector<Schedule> standard_schedules(int threads, size_t count, uint64_t seed);

}  // namespace tw::emulator
