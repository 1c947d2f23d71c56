// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "emulator/machine.h"
#include "ir/function.h"
#include "task/compare.h"
#include "task/inputs.h"
#include "task/task.h"

// Does a kernel compute what its task asks? Tried on shapes, inputs and schedules; never a proof.
namespace tw::eval {

// The kernel cannot be called for this task: a parameter that the task does not have, other types, other directions.
struct NotApplicable {
  std::string reason;
};
// The launch itself went wrong: a fault, a stale read, a pad in an output.
struct Faulted {
  std::string shape;
  std::string schedule;
  std::string finding;
};
// Outputs differ from the reference.
struct Mismatched {
  std::string shape;
  std::string distribution;
  task::Comparison comparison;
};
struct Correct {
  int64_t launches = 0;
  // Shapes that the kernel's assumptions exclude.
  int64_t shapes_skipped = 0;
  // Largest error over what is allowed.
  double worst_ratio = 0;
};

// Fields depend on the status: a wrong kernel has no measure of exactness.
struct Evaluation {
  std::variant<NotApplicable, Faulted, Mismatched, Correct> status;
  uint64_t seed = 0;

  [[nodiscard]] bool is_correct() const { return std::holds_alternative<Correct>(status); }
  // One or a few lines.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] json::Value to_json() const;
};

// nullopt when the kernel's parameters fit the task: same names, types, ranks and directions, sizes of the same names.
std::optional<std::string> why_not_applicable(const ir::Function& kernel, const task::Task& task);

// Values of the kernel's sizes for a shape of the task.
std::map<std::string, int64_t> sizes_of(const task::Task& task, const task::Shape& shape);

struct EmulatorOptions {
  uint64_t seed = 1;
  // Schedules a shape.
  size_t schedules = 3;
  // Empty: the task's test shapes.
  std::vector<task::Shape> shapes;
  // Distributions a shape; 0: all of the task's.
  size_t distributions = 2;
};

// On the emulator. REQUIRES: `kernel` is lowered.
Evaluation evaluate_on_emulator(const ir::Function& kernel, const task::Task& task,
                                const EmulatorOptions& options = {});

}  // namespace tw::eval
