// SPDX-License-Identifier: Apache-2.0
#include "agent/recorder.h"

#include <chrono>
#include <fmt/format.h>

namespace tw::agent {

Recorder::Recorder(store::Store& store, const store::RunLock& lock, std::vector<store::Step> recorded)
    : store_(store), lock_(lock), recorded_(std::move(recorded)) {}

Result<json::Value> Recorder::step(std::string_view kind, const json::Value& input,
                                   const std::function<Produced()>& execute) {
  if (next_ < static_cast<int64_t>(recorded_.size())) {
    const store::Step& step = recorded_[static_cast<size_t>(next_)];
    if (step.kind != kind || !(step.input == input)) {
      return fail(fmt::format(
          "step {} on record is `{}` with another input than this `{}`: the run was made by another version "
          "or with other files",
          next_, step.kind, kind));
    }
    ++next_;
    return step.output;
  }
  const auto start = std::chrono::steady_clock::now();
  Produced produced = execute();
  store::Step step;
  step.kind = kind;
  step.input = input;
  step.output = std::move(produced.output);
  step.cost = std::move(produced.cost);
  step.time_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  auto index = store_.append_step(lock_, step);
  if (!index) {
    store_error_ = index.error();
    return fail(index.error().error);
  }
  step.index = *index;
  ++next_;
  ++executed_;
  if (on_step) {
    on_step(step);
  }
  return step.output;
}

Result<std::string> Recorder::put(std::string_view content) {
  auto reference = store_.put_blob(content);
  if (!reference) {
    store_error_ = reference.error();
    return fail(reference.error().error);
  }
  return *reference;
}

Result<std::string> Recorder::get(std::string_view reference) {
  auto content = store_.blob(reference);
  if (!content) {
    store_error_ = content.error();
    return fail(content.error().error);
  }
  return *content;
}

}  // namespace tw::agent
