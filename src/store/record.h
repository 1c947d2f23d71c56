// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "store/store.h"

// Records as JSON (`tw.run/1`, `tw.step/1`; docs/store.md).
namespace tw::store {

// "2026-01-31T08:15:00.250Z"
std::string print_time(int64_t time_ms);

// One entry of `runs --format=json`.
json::Value to_json(const Run& run);
json::Value to_json(const std::string& run_id, const Step& step);
// The run with all its steps.
Outcome<json::Value> export_run(Store& store, const std::string& run_id);

struct Difference {
  // "steps[3].output.verdict"
  std::string path;
  // One line of JSON each; "(absent)" where a side has nothing.
  std::string left;
  std::string right;
};

// Where two values differ, apart from members named `time_*` or `cost`, at any depth.
std::vector<Difference> difference(const json::Value& left, const json::Value& right);
// Of two exported runs: their ids, states' owners and times do not count.
Outcome<std::vector<Difference>> diff_runs(Store& store, const std::string& left_id, const std::string& right_id);

}  // namespace tw::store
