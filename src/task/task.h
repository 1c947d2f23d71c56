// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "spec/domain.h"
#include "spec/term.h"

// A task: what a kernel has to compute, for which sizes, how exactly, and how fast it should become. Written as TOML,
// schema `tw.task/1` (docs/tasks.md). The workload class is not part of the file: it follows from the reference.
namespace tw::task {

// A stride in elements: factor times the product of sizes.
struct Stride {
  int64_t factor = 1;
  std::vector<spec::DimId> sizes;
};

// How an operand lies in memory; one entry a dim. Default: row-major, packed.
struct Storage {
  std::vector<Stride> strides;
  bool is_packed = true;
};

// What integer operands hold: values in [min, below).
struct IntegerRange {
  int64_t min = 0;
  int64_t below = 2;
  std::optional<spec::DimId> below_size;
};

enum class Distribution : uint8_t { Normal, Uniform, Large, MostlyZero, Adversarial };
std::string_view name_of(Distribution distribution);
std::optional<Distribution> distribution_of(std::string_view name);

// By default the allowed error of each element follows from the element type, the lengths of the sums and the
// operations on its way (spec::EvaluateOptions); `scale` widens that. `relative` and `absolute` replace it.
struct Tolerance {
  double scale = 1;
  std::optional<double> relative;
  std::optional<double> absolute;
};

enum class GoalKind : uint8_t { BestEffort, Roofline };

struct Goal {
  GoalKind kind = GoalKind::BestEffort;
  // Of the roofline.
  double fraction = 1;
};

// One problem size: the extent of each dim of the computation.
using Shape = std::vector<int64_t>;

struct Task {
  std::string name;
  std::string title;
  std::string target;
  // Operands come first, in the order of the kernel's parameters; the reference's `let`s follow.
  spec::Computation computation;
  size_t operand_count = 0;
  // One entry an operand.
  std::vector<Storage> storage;
  std::vector<std::optional<IntegerRange>> integer_ranges;
  spec::ShapeDomain domain;
  Tolerance tolerance;
  Goal goal;
  std::vector<Distribution> distributions;
  // Small and ragged, for correctness.
  std::vector<Shape> test_shapes;
  // For estimates and measurements.
  Shape headline_shape;
  // As it was read, and its SHA-256: a record names the task by both.
  std::string path;
  std::string text;
  std::string content_hash;

  [[nodiscard]] spec::WorkloadClass workload() const { return spec::classify(computation); }
  // Strides in elements for one shape.
  [[nodiscard]] std::vector<int64_t> strides_elems(size_t operand, const Shape& shape) const;
  // Elements that the operand's memory spans, gaps included.
  [[nodiscard]] int64_t span_elems(size_t operand, const Shape& shape) const;
  // Bytes of all operands, each counted once: what any kernel has to move.
  [[nodiscard]] double least_bytes(const Shape& shape) const;
  [[nodiscard]] double operations(const Shape& shape) const { return spec::operation_count(computation, shape); }
};

// "M=128 N=64 K=7"
std::string print_shape(const Task& task, const Shape& shape);

// Reads a task file. `path` is tried as given; a plain name ("gemm_bf16") is then looked up in the installed tasks.
Checked<Task> load(const std::string& path, diag::SourceManager& sources, diag::Sink& sink);

// Reads a task from `text`; `path` is only what messages print.
Checked<Task> parse(std::string path, std::string text, diag::SourceManager& sources, diag::Sink& sink);

}  // namespace tw::task
