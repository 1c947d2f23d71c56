// SPDX-License-Identifier: Apache-2.0
#include "store/record.h"

#include <algorithm>
#include <fmt/format.h>

#include "os/clock.h"

namespace tw::store {
namespace {

bool is_ignored(std::string_view key) {
  return key.starts_with("time_") || key == "cost";
}

std::string shortened(const json::Value* value) {
  if (value == nullptr) {
    return "(absent)";
  }
  constexpr size_t kLongest = 200;
  std::string text = json::write(*value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

void compare_into(const std::string& path, const json::Value* left, const json::Value* right,
                  std::vector<Difference>& result) {
  if (left != nullptr && right != nullptr) {
    if (left->is_object() && right->is_object()) {
      for (const json::Member& member : left->as_object().members()) {
        if (!is_ignored(member.first)) {
          compare_into(path.empty() ? member.first : path + "." + member.first, &member.second,
                       right->find(member.first), result);
        }
      }
      for (const json::Member& member : right->as_object().members()) {
        if (!is_ignored(member.first) && left->find(member.first) == nullptr) {
          compare_into(path.empty() ? member.first : path + "." + member.first, nullptr, &member.second, result);
        }
      }
      return;
    }
    if (left->is_array() && right->is_array()) {
      const json::Array& a = left->as_array();
      const json::Array& b = right->as_array();
      for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        compare_into(fmt::format("{}[{}]", path, i), i < a.size() ? &a[i] : nullptr, i < b.size() ? &b[i] : nullptr,
                     result);
      }
      return;
    }
    if (*left == *right) {
      return;
    }
  }
  result.push_back({path, shortened(left), shortened(right)});
}

// The same program's text may differ between two sources of it (a path, a build): what identifies a run is not
// compared.
json::Value comparable(json::Value exported) {
  exported.set("id", nullptr);
  if (json::Value* steps = exported.as_object().find("steps")) {
    for (json::Value& step : steps->as_array()) {
      step.set("run", nullptr);
    }
  }
  return exported;
}

}  // namespace

std::string print_time(int64_t time_ms) {
  return os::format_utc(time_ms);
}

json::Value to_json(const Run& run) {
  json::Value value{json::Object{}};
  value.set("schema", "tw.run/1");
  value.set("id", run.id);
  value.set("task", run.task);
  value.set("state", name_of(run.state));
  value.set("step_count", run.step_count);
  value.set("config", run.config);
  value.set("summary", run.summary);
  value.set("time_created", print_time(run.created_ms));
  value.set("time_updated", print_time(run.updated_ms));
  return value;
}

json::Value to_json(const std::string& run_id, const Step& step) {
  json::Value value{json::Object{}};
  value.set("schema", "tw.step/1");
  value.set("run", run_id);
  value.set("index", step.index);
  value.set("kind", step.kind);
  value.set("input", step.input);
  value.set("output", step.output);
  value.set("time_ms", step.time_ms);
  value.set("time_created", print_time(step.created_ms));
  value.set("cost", step.cost);
  return value;
}

Outcome<json::Value> export_run(Store& store, const std::string& run_id) {
  TW_TRY(Run run, store.run(run_id));
  TW_TRY(std::vector<Step> steps, store.steps(run_id));
  json::Value value = to_json(run);
  json::Array list;
  for (const Step& step : steps) {
    list.push_back(to_json(run_id, step));
  }
  value.set("steps", std::move(list));
  return value;
}

std::vector<Difference> difference(const json::Value& left, const json::Value& right) {
  std::vector<Difference> result;
  compare_into("", &left, &right, result);
  return result;
}

Outcome<std::vector<Difference>> diff_runs(Store& store, const std::string& left_id, const std::string& right_id) {
  TW_TRY(json::Value left, export_run(store, left_id));
  TW_TRY(json::Value right, export_run(store, right_id));
  return difference(comparable(std::move(left)), comparable(std::move(right)));
}

}  // namespace tw::store
