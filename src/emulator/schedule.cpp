// SPDX-License-Identifier: Apache-2.0
#include "emulator/schedule.h"

#include <array>
#include <fmt/format.h>
#include <string_view>

namespace tw::emulator {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"in_order", "random", "priority"};
constexpr std::array<std::string_view, 3> kAsyncModes = {"early", "late", "random"};

json::Value to_array(const std::vector<int>& numbers) {
  json::Array out;
  for (int n : numbers) {
    out.emplace_back(n);
  }
  return out;
}

Result<std::vector<int>> int_list(const json::Value& object, std::string_view key) {
  std::vector<int> out;
  if (object.find(key) == nullptr) {
    return out;
  }
  TW_TRY(const json::Array* list, object.get_array(key));
  for (const json::Value& item : *list) {
    if (!item.is_int()) {
      return fail(fmt::format("`{}` holds something that is not an integer", key));
    }
    out.push_back(static_cast<int>(item.as_int()));
  }
  return out;
}

template <size_t N>
Result<size_t> choice(const json::Value& object, std::string_view key, const std::array<std::string_view, N>& names) {
  TW_TRY(std::string name, object.get_string(key));
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) {
      return i;
    }
  }
  return fail(fmt::format("`{}` is \"{}\", which is none of its values", key, name));
}

Result<DynamicPoint> point_at(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  if (value == nullptr) {
    return fail(fmt::format("`{}` is missing", key));
  }
  return point_from_json(*value);
}

}  // namespace

json::Value to_json(const Schedule& schedule) {
  json::Value out;
  out.set("mode", kModes[static_cast<size_t>(schedule.mode)]);
  out.set("async", kAsyncModes[static_cast<size_t>(schedule.async)]);
  out.set("seed", schedule.seed);
  out.set("first", to_array(schedule.first));
  out.set("last", to_array(schedule.last));
  json::Array holds;
  for (const Hold& hold : schedule.holds) {
    json::Value item;
    item.set("threads", to_array(hold.threads));
    item.set("before", to_json(hold.before));
    item.set("until_thread", hold.until_thread);
    item.set("passed", to_json(hold.passed));
    holds.push_back(std::move(item));
  }
  out.set("holds", std::move(holds));
  json::Array landings;
  for (const Landing& landing : schedule.landings) {
    json::Value item;
    item.set("copy", to_json(landing.copy));
    item.set("thread", landing.thread);
    item.set("trigger", to_json(landing.trigger));
    item.set("trigger_thread", landing.trigger_thread);
    landings.push_back(std::move(item));
  }
  out.set("landings", std::move(landings));
  return out;
}

Result<DynamicPoint> point_from_json(const json::Value& value) {
  DynamicPoint point;
  TW_TRY(int64_t op, value.get_int("op"));
  point.op_id = static_cast<uint32_t>(op);
  if (value.find("tile") != nullptr) {
    TW_TRY(point.tile, value.get_int("tile"));
  }
  if (value.find("iterations") != nullptr) {
    TW_TRY(const json::Array* list, value.get_array("iterations"));
    for (const json::Value& item : *list) {
      if (!item.is_int()) {
        return fail("`iterations` holds something that is not an integer");
      }
      point.iterations.push_back(item.as_int());
    }
  }
  return point;
}

Result<Schedule> schedule_from_json(const json::Value& value) {
  Schedule schedule;
  TW_TRY(size_t mode, choice(value, "mode", kModes));
  schedule.mode = static_cast<ScheduleMode>(mode);
  TW_TRY(size_t async, choice(value, "async", kAsyncModes));
  schedule.async = static_cast<AsyncMode>(async);
  const json::Value* seed = value.find("seed");
  if (seed == nullptr || (seed->kind() != json::Kind::Int && seed->kind() != json::Kind::Uint)) {
    return fail("`seed` is not an integer");
  }
  schedule.seed = seed->is_int() ? static_cast<uint64_t>(seed->as_int()) : seed->as_uint();
  TW_TRY(schedule.first, int_list(value, "first"));
  TW_TRY(schedule.last, int_list(value, "last"));
  if (value.find("holds") != nullptr) {
    TW_TRY(const json::Array* holds, value.get_array("holds"));
    for (const json::Value& item : *holds) {
      Hold hold;
      TW_TRY(hold.threads, int_list(item, "threads"));
      TW_TRY(hold.before, point_at(item, "before"));
      TW_TRY(int64_t until, item.get_int("until_thread"));
      hold.until_thread = static_cast<int>(until);
      TW_TRY(hold.passed, point_at(item, "passed"));
      schedule.holds.push_back(std::move(hold));
    }
  }
  if (value.find("landings") != nullptr) {
    TW_TRY(const json::Array* landings, value.get_array("landings"));
    for (const json::Value& item : *landings) {
      Landing landing;
      TW_TRY(landing.copy, point_at(item, "copy"));
      TW_TRY(int64_t thread, item.get_int("thread"));
      landing.thread = static_cast<int>(thread);
      TW_TRY(landing.trigger, point_at(item, "trigger"));
      TW_TRY(int64_t trigger_thread, item.get_int("trigger_thread"));
      landing.trigger_thread = static_cast<int>(trigger_thread);
      schedule.landings.push_back(std::move(landing));
    }
  }
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  std::string out = fmt::format("{}, copies {}", kModes[static_cast<size_t>(schedule.mode)],
                                kAsyncModes[static_cast<size_t>(schedule.async)]);
  if (schedule.mode == ScheduleMode::Random || schedule.async == AsyncMode::Random) {
    out += fmt::format(", seed {}", schedule.seed);
  }
  if (!schedule.first.empty()) {
    out += fmt::format(", threads {}..{} first", schedule.first.front(), schedule.first.back());
  }
  if (!schedule.last.empty()) {
    out += fmt::format(", threads {}..{} last", schedule.last.front(), schedule.last.back());
  }
  for (const Hold& hold : schedule.holds) {
    out += fmt::format(", {} threads held before {} until thread {} has passed {}", hold.threads.size(),
                       to_string(hold.before), hold.until_thread, to_string(hold.passed));
  }
  for (const Landing& landing : schedule.landings) {
    out += fmt::format(", thread {}'s copy {} lands before thread {} executes {}", landing.thread,
                       to_string(landing.copy), landing.trigger_thread, to_string(landing.trigger));
  }
  return out;
}

std::vector<Schedule> standard_schedules(int threads, size_t count, uint64_t seed) {
  constexpr int kWarp = 32;
  std::vector<Schedule> out;
  auto add = [&](ScheduleMode mode, AsyncMode async, std::vector<int> first, std::vector<int> last) {
    Schedule schedule;
    schedule.mode = mode;
    schedule.async = async;
    schedule.seed = seed + out.size();
    schedule.first = std::move(first);
    schedule.last = std::move(last);
    out.push_back(std::move(schedule));
  };
  add(ScheduleMode::InOrder, AsyncMode::Late, {}, {});
  add(ScheduleMode::InOrder, AsyncMode::Early, {}, {});
  const int warps = (threads + kWarp - 1) / kWarp;
  for (int w = 0; w < warps; ++w) {
    std::vector<int> warp;
    for (int t = w * kWarp; t < std::min(threads, (w + 1) * kWarp); ++t) {
      warp.push_back(t);
    }
    add(ScheduleMode::Priority, AsyncMode::Late, {}, warp);
    add(ScheduleMode::Priority, AsyncMode::Early, warp, {});
  }
  // A single thread ahead of, and behind, its own warp.
  add(ScheduleMode::Priority, AsyncMode::Late, {}, {0});
  add(ScheduleMode::Priority, AsyncMode::Early, {threads - 1}, {});
  while (out.size() < count) {
    add(ScheduleMode::Random, AsyncMode::Random, {}, {});
  }
  if (out.size() > count) {
    out.resize(count);
  }
  return out;
}

}  // namespace tw::emulator
