// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/store.h"

namespace tw::agent {

// Makes a run durable. The loop is a function of its recorded steps: each step is asked for with its input; a step that
// is already on record gives its recorded output, any other is executed and put on record before the loop goes on. So a
// run that was killed goes on by running the loop again from the start: it repeats nothing that was recorded.
class Recorder {
 public:
  Recorder(store::Store& store, const store::RunLock& lock, std::vector<store::Step> recorded);

  struct Produced {
    json::Value output;
    json::Value cost;
  };
  // REQUIRES: `execute` depends on `input` and on earlier outputs only. Fails when the store does, or when the record
  // holds another step at this place (made by another version or another request).
  Result<json::Value> step(std::string_view kind, const json::Value& input, const std::function<Produced()>& execute);

  Result<std::string> put(std::string_view content);
  Result<std::string> get(std::string_view reference);

  // Why the last failure was one: the store's own words, which say what kind of failure it is.
  [[nodiscard]] const std::optional<store::StoreError>& store_error() const { return store_error_; }

  [[nodiscard]] int64_t step_count() const { return next_; }
  // Steps executed by this process.
  [[nodiscard]] int64_t executed() const { return executed_; }
  // Called after each executed step.
  std::function<void(const store::Step&)> on_step;

 private:
  store::Store& store_;
  const store::RunLock& lock_;
  std::vector<store::Step> recorded_;
  std::optional<store::StoreError> store_error_;
  int64_t next_ = 0;
  int64_t executed_ = 0;
};

}  // namespace tw::agent
