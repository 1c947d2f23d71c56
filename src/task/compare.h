// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "spec/evaluate.h"
#include "task/task.h"

namespace tw::task {

// How the wrong elements of one output lie and look: what an author needs to find the cause, in a few lines.
struct MismatchMap {
  int64_t compared = 0;
  int64_t wrong = 0;
  // The first wrong element in row-major order.
  std::vector<int64_t> first_index;
  double first_got = 0;
  double first_want = 0;
  double first_allowed = 0;
  // Among the wrong elements.
  int64_t nan = 0;
  int64_t infinite = 0;
  int64_t zero = 0;
  // Still the poison that was there before the launch.
  int64_t never_written = 0;
  // Equal to the reference at swapped last two coordinates.
  int64_t transposed = 0;
  // got - want, or got / want, when it is the same for all wrong elements (absent: NaN).
  double constant_offset = 0;
  double constant_ratio = 0;
  double mean_error = 0;
  double mean_magnitude = 0;
  double max_error = 0;
  // Sentences about place: "all in rows 128..129", "whole 16x8 tiles: (0, 1), (2, 1)", "columns that are 3 mod 8".
  std::vector<std::string> places;

  [[nodiscard]] double fraction() const {
    return compared == 0 ? 0 : static_cast<double>(wrong) / static_cast<double>(compared);
  }
};

struct Comparison {
  bool is_ok = false;
  std::string output;
  MismatchMap map;
  // ||got - want|| / ||want|| and what is allowed: bounds the whole even where a task widens the bound on single
  // elements.
  double relative_frobenius = 0;
  double frobenius_limit = 0;
  // Largest |got - want| / allowed: how close the worst element came.
  double worst_ratio = 0;

  // One paragraph for people and authors; never more than ten lines.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] json::Value to_json() const;
};

// Compares an output with the reference. `want` carries error bounds (task::reference); `untouched` (optional) is
// task::untouched of the output's memory. NaN or infinity fails where the reference has none, and the other way round.
Comparison compare(const Task& task, size_t operand, const spec::Array& got, const spec::Array& want,
                   const std::vector<uint8_t>* untouched = nullptr);

}  // namespace tw::task
