// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "spec/term.h"

namespace tw::spec {

// Dense, row-major.
struct Array {
  std::vector<int64_t> extents;
  std::vector<double> values;
  // Bound on how far a sound kernel's value may be from `values` before the last rounding; empty when not asked for.
  std::vector<double> errors;

  [[nodiscard]] static Array filled(std::vector<int64_t> extents, double value = 0);
  [[nodiscard]] int64_t element_count() const { return static_cast<int64_t>(values.size()); }
};

// Arithmetic that the error bound grants to a kernel. A sum of n terms x_i may be off by
// unit * (linear * n + root * sqrt(n)) * sum|x_i|: rounding errors grow like sqrt(n), the truncation inside matrix
// instructions is biased and grows like n with a small factor.
struct ErrorModel {
  double unit = 0x1p-24;
  double root = 4;
  double linear = 0.125;
  // Errors of exp, tanh, ... in units.
  double function_units = 8;
};

struct EvaluateOptions {
  bool with_errors = false;
  ErrorModel error_model;
  // More elements than this in one intermediate is an error, not an out-of-memory kill.
  int64_t max_elements = int64_t{1} << 28;
};

// Evaluates all equations in f64. `extents[dim]` gives every size; `inputs[tensor]` holds the operands that the
// equations read (nullptr for the rest). The result holds one array a tensor of the computation: outputs and lets
// filled, others empty. Outputs are not rounded to their element type.
Result<std::vector<Array>> evaluate(const Computation& computation, std::span<const int64_t> extents,
                                    std::span<const Array* const> inputs, const EvaluateOptions& options = {});

}  // namespace tw::spec
