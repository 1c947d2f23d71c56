// SPDX-License-Identifier: Apache-2.0
// Terms of constants are computed: what the operations give for numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/value_term.h"
#include "base/float16.h"

namespace tw::analysis {

using ir::ElementwiseKind;
using ir::ReduceKind;

double Values::neutral(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Max:
      return -std::numeric_limits<double>::infinity();
    case ReduceKind::Min:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

double Values::round_to(double value, ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return round_to_bf16(value);
    case ElementType::F16:
      return round_to_f16(value);
    case ElementType::Tf32:
      return round_to_tf32(value);
    case ElementType::F32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

double Values::function_value(ElementwiseKind function, std::span<const double> x) {
  switch (function) {
    case ElementwiseKind::Add:
      return x[0] + x[1];
    case ElementwiseKind::Sub:
      return x[0] - x[1];
    case ElementwiseKind::Mul:
      return x[0] * x[1];
    case ElementwiseKind::Div:
      return x[0] / x[1];
    // NaN is ignored, as fmax does.
    case ElementwiseKind::Maximum:
      return std::fmax(x[0], x[1]);
    case ElementwiseKind::Minimum:
      return std::fmin(x[0], x[1]);
    case ElementwiseKind::Neg:
      return -x[0];
    case ElementwiseKind::Abs:
      return std::fabs(x[0]);
    case ElementwiseKind::Exp:
      return std::exp(x[0]);
    case ElementwiseKind::Exp2:
      return std::exp2(x[0]);
    case ElementwiseKind::Log:
      return std::log(x[0]);
    case ElementwiseKind::Sqrt:
      return std::sqrt(x[0]);
    case ElementwiseKind::Rsqrt:
      return 1.0 / std::sqrt(x[0]);
    case ElementwiseKind::Tanh:
      return std::tanh(x[0]);
    case ElementwiseKind::Erf:
      return std::erf(x[0]);
    case ElementwiseKind::Sigmoid:
      return 1.0 / (1.0 + std::exp(-x[0]));
    case ElementwiseKind::Where:
      return x[0] != 0 ? x[1] : x[2];
    case ElementwiseKind::Cast:
      return x[0];
    case ElementwiseKind::Eq:
      return x[0] == x[1] ? 1 : 0;
    case ElementwiseKind::Ne:
      return x[0] != x[1] ? 1 : 0;
    case ElementwiseKind::Lt:
      return x[0] < x[1] ? 1 : 0;
    case ElementwiseKind::Le:
      return x[0] <= x[1] ? 1 : 0;
    case ElementwiseKind::And:
      return x[0] != 0 && x[1] != 0 ? 1 : 0;
    case ElementwiseKind::Or:
      return x[0] != 0 || x[1] != 0 ? 1 : 0;
    case ElementwiseKind::Not:
      return x[0] == 0 ? 1 : 0;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Operations whose result every machine rounds from the exact one: f64 holds that of f32 operands closely enough that
// rounding twice is rounding once (p >= 2*24 + 2). Other functions are approximated on the machine: only what they give
// for 0 and infinities is known.
std::optional<double> Values::folded(ElementwiseKind function, ElementType type, std::span<const double> x) {
  if (!is_floating(type) && type != ElementType::Bool) {
    return std::nullopt;
  }
  switch (function) {
    case ElementwiseKind::Exp:
    case ElementwiseKind::Exp2:
    case ElementwiseKind::Log:
    case ElementwiseKind::Rsqrt:
    case ElementwiseKind::Tanh:
    case ElementwiseKind::Erf:
    case ElementwiseKind::Sigmoid:
      if (x[0] != 0 && std::isfinite(x[0])) {
        return std::nullopt;
      }
      break;
    default:
      break;
  }
  return function_value(function, x);
}

}  // namespace tw::analysis
