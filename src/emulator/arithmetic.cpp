// SPDX-License-Identifier: Apache-2.0
#include "emulator/arithmetic.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

namespace tw::emulator {
namespace {

using ir::ElementwiseKind;

template <class T>
T round_to(ElementType type, T value) {
  if constexpr (std::is_same_v<T, float>) {
    return round_f32_to(type, value);
  } else {
    return value;
  }
}

template <class T>
T from_double(ElementType type, double value) {
  if constexpr (std::is_same_v<T, float>) {
    return round_f64_to(type, value);
  } else {
    return value;
  }
}

template <class T>
T larger(T a, T b) {
  if (std::isnan(a)) {
    return b;
  }
  if (std::isnan(b)) {
    return a;
  }
  return a == b ? (std::signbit(a) ? b : a) : (a > b ? a : b);
}
template <class T>
T smaller(T a, T b) {
  if (std::isnan(a)) {
    return b;
  }
  if (std::isnan(b)) {
    return a;
  }
  return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
}

double transcendental(ElementwiseKind kind, double x) {
  switch (kind) {
    case ElementwiseKind::Exp:
      return std::exp(x);
    case ElementwiseKind::Exp2:
      return std::exp2(x);
    case ElementwiseKind::Log:
      return std::log(x);
    case ElementwiseKind::Sqrt:
      return std::sqrt(x);
    case ElementwiseKind::Rsqrt:
      return 1.0 / std::sqrt(x);
    case ElementwiseKind::Tanh:
      return std::tanh(x);
    case ElementwiseKind::Erf:
      return std::erf(x);
    case ElementwiseKind::Sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    default:
      return x;
  }
}

template <class T, class F>
void map2(std::span<const ElementOperand> operands, size_t count, void* out, F f) {
  const T* a = static_cast<const T*>(operands[0].data);
  const T* b = static_cast<const T*>(operands[1].data);
  T* result = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    result[i] = f(a[i], b[i]);
  }
}

template <class T, class F>
void compare(std::span<const ElementOperand> operands, size_t count, void* out, F f) {
  const T* a = static_cast<const T*>(operands[0].data);
  const T* b = static_cast<const T*>(operands[1].data);
  auto* result = static_cast<int64_t*>(out);
  for (size_t i = 0; i < count; ++i) {
    result[i] = f(a[i], b[i]) ? 1 : 0;
  }
}

template <class T>
bool compare_all(ElementwiseKind kind, std::span<const ElementOperand> operands, size_t count, void* out) {
  switch (kind) {
    case ElementwiseKind::Eq:
      compare<T>(operands, count, out, [](T a, T b) { return a == b; });
      return true;
    case ElementwiseKind::Ne:
      compare<T>(operands, count, out, [](T a, T b) { return a != b; });
      return true;
    case ElementwiseKind::Lt:
      compare<T>(operands, count, out, [](T a, T b) { return a < b; });
      return true;
    case ElementwiseKind::Le:
      compare<T>(operands, count, out, [](T a, T b) { return a <= b; });
      return true;
    default:
      return false;
  }
}

template <class T>
void floating(ElementwiseKind kind, ElementType type, std::span<const ElementOperand> operands, size_t count,
              void* out) {
  switch (kind) {
    case ElementwiseKind::Add:
      return map2<T>(operands, count, out, [&](T a, T b) { return round_to<T>(type, a + b); });
    case ElementwiseKind::Sub:
      return map2<T>(operands, count, out, [&](T a, T b) { return round_to<T>(type, a - b); });
    case ElementwiseKind::Mul:
      return map2<T>(operands, count, out, [&](T a, T b) { return round_to<T>(type, a * b); });
    case ElementwiseKind::Div:
      return map2<T>(operands, count, out, [&](T a, T b) { return round_to<T>(type, a / b); });
    case ElementwiseKind::Maximum:
      return map2<T>(operands, count, out, larger<T>);
    case ElementwiseKind::Minimum:
      return map2<T>(operands, count, out, smaller<T>);
    default:
      break;
  }
  const T* a = static_cast<const T*>(operands[0].data);
  T* result = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    switch (kind) {
      case ElementwiseKind::Neg:
        result[i] = -a[i];
        break;
      case ElementwiseKind::Abs:
        result[i] = std::abs(a[i]);
        break;
      default:
        result[i] = from_double<T>(type, transcendental(kind, static_cast<double>(a[i])));
        break;
    }
  }
}

std::optional<FaultAt> integer(ElementwiseKind kind, ElementType type, std::span<const ElementOperand> operands,
                               size_t count, void* out) {
  const auto* a = static_cast<const int64_t*>(operands[0].data);
  const auto* b = operands.size() > 1 ? static_cast<const int64_t*>(operands[1].data) : a;
  auto* result = static_cast<int64_t*>(out);
  const int64_t lowest = lowest_of(type);
  const int64_t highest = highest_of(type);
  std::optional<FaultAt> fault;
  for (size_t i = 0; i < count; ++i) {
    bool overflow = false;
    int64_t value = 0;
    switch (kind) {
      case ElementwiseKind::Add:
        overflow = __builtin_add_overflow(a[i], b[i], &value);
        break;
      case ElementwiseKind::Sub:
        overflow = __builtin_sub_overflow(a[i], b[i], &value);
        break;
      case ElementwiseKind::Mul:
        overflow = __builtin_mul_overflow(a[i], b[i], &value);
        break;
      case ElementwiseKind::Div:
        if (b[i] == 0 || (a[i] == INT64_MIN && b[i] == -1)) {
          if (!fault) {
            fault = FaultAt{b[i] == 0 ? ArithmeticFault::DivisionByZero : ArithmeticFault::Overflow, i};
          }
          break;
        }
        value = a[i] / b[i] - ((a[i] % b[i] != 0 && (a[i] < 0) != (b[i] < 0)) ? 1 : 0);
        break;
      case ElementwiseKind::Maximum:
        value = std::max(a[i], b[i]);
        break;
      case ElementwiseKind::Minimum:
        value = std::min(a[i], b[i]);
        break;
      case ElementwiseKind::Neg:
        overflow = __builtin_sub_overflow(int64_t{0}, a[i], &value);
        break;
      case ElementwiseKind::Abs:
        overflow = a[i] == INT64_MIN;
        value = overflow ? a[i] : std::abs(a[i]);
        break;
      case ElementwiseKind::And:
        value = a[i] & b[i];
        break;
      case ElementwiseKind::Or:
        value = a[i] | b[i];
        break;
      case ElementwiseKind::Not:
        value = type == ElementType::Bool ? int64_t{a[i] == 0} : ~a[i];
        if (type != ElementType::Bool && lowest == 0) {
          value &= highest;
        }
        break;
      default:
        break;
    }
    if ((overflow || value < lowest || value > highest) && !fault) {
      fault = FaultAt{ArithmeticFault::Overflow, i};
    }
    result[i] = value;
  }
  return fault;
}

template <class To, class From>
To cast_one(ElementType to, From value) {
  if constexpr (std::is_same_v<To, int64_t>) {
    if (to == ElementType::Bool) {
      return value != 0 ? 1 : 0;
    }
    if constexpr (std::is_same_v<From, int64_t>) {
      return std::min(std::max(value, lowest_of(to)), highest_of(to));
    } else {
      return saturate_to(to, static_cast<double>(value));
    }
  } else if constexpr (std::is_same_v<To, double>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<From, float>) {
    return round_f32_to(to, value);
  } else if constexpr (std::is_same_v<From, double>) {
    return round_f64_to(to, value);
  } else {
    // f32 takes an integer with one rounding; for the shorter types 53 bits on the way are enough up to 2^53.
    return rep_of(to) == Rep::F32 && to == ElementType::F32 ? static_cast<float>(value)
                                                            : round_f64_to(to, static_cast<double>(value));
  }
}

template <class To, class From>
void cast_all(ElementType to, const void* in, size_t count, void* out) {
  const From* from = static_cast<const From*>(in);
  To* result = static_cast<To*>(out);
  for (size_t i = 0; i < count; ++i) {
    result[i] = cast_one<To, From>(to, from[i]);
  }
}

template <class To>
void cast_from_any(ElementType to, ElementOperand operand, size_t count, void* out) {
  switch (rep_of(operand.type)) {
    case Rep::F32:
      return cast_all<To, float>(to, operand.data, count, out);
    case Rep::F64:
      return cast_all<To, double>(to, operand.data, count, out);
    case Rep::I64:
      return cast_all<To, int64_t>(to, operand.data, count, out);
  }
}

template <class T>
void select(std::span<const ElementOperand> operands, size_t count, void* out) {
  const auto* condition = static_cast<const int64_t*>(operands[0].data);
  const T* a = static_cast<const T*>(operands[1].data);
  const T* b = static_cast<const T*>(operands[2].data);
  T* result = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    result[i] = condition[i] != 0 ? a[i] : b[i];
  }
}

template <class T>
T combine_floating(ir::ReduceKind kind, ElementType type, T a, T b) {
  switch (kind) {
    case ir::ReduceKind::Add:
      return round_to<T>(type, a + b);
    case ir::ReduceKind::Max:
      return larger(a, b);
    case ir::ReduceKind::Min:
      return smaller(a, b);
    case ir::ReduceKind::Or:
      return (a != 0 || b != 0) ? T{1} : T{0};
  }
  return a;
}

constexpr size_t kColumns = 16;

template <bool Exact>
__attribute__((always_inline)) inline void multiply_rows(const float* a, const float* b, float* c, size_t rows,
                                                         size_t columns, size_t depth) {
  for (size_t m = 0; m < rows; ++m) {
    const float* a_row = a + m * depth;
    float* c_row = c + m * columns;
    size_t n = 0;
    for (; n + kColumns <= columns; n += kColumns) {
      float sum[kColumns];
      for (size_t i = 0; i < kColumns; ++i) {
        sum[i] = c_row[n + i];
      }
      for (size_t k = 0; k < depth; ++k) {
        const float factor = a_row[k];
        const float* b_row = b + k * columns + n;
        for (size_t i = 0; i < kColumns; ++i) {
          sum[i] = Exact ? sum[i] + factor * b_row[i] : __builtin_fmaf(factor, b_row[i], sum[i]);
        }
      }
      for (size_t i = 0; i < kColumns; ++i) {
        c_row[n + i] = sum[i];
      }
    }
    for (; n < columns; ++n) {
      float sum = c_row[n];
      for (size_t k = 0; k < depth; ++k) {
        sum = Exact ? sum + a_row[k] * b[k * columns + n] : __builtin_fmaf(a_row[k], b[k * columns + n], sum);
      }
      c_row[n] = sum;
    }
  }
}

// The same arithmetic; only the instructions differ (fmaf is exact with or without hardware for it).
using Kernel = void (*)(const float*, const float*, float*, size_t, size_t, size_t);

__attribute__((optimize("O3"))) void multiply_plain(const float* a, const float* b, float* c, size_t rows,
                                                    size_t columns, size_t depth) {
  multiply_rows<true>(a, b, c, rows, columns, depth);
}
__attribute__((optimize("O3"))) void multiply_fused(const float* a, const float* b, float* c, size_t rows,
                                                    size_t columns, size_t depth) {
  multiply_rows<false>(a, b, c, rows, columns, depth);
}
#if defined(__x86_64__)
__attribute__((optimize("O3"), target("avx2"))) void multiply_plain_avx2(const float* a, const float* b, float* c,
                                                                         size_t rows, size_t columns, size_t depth) {
  multiply_rows<true>(a, b, c, rows, columns, depth);
}
__attribute__((optimize("O3"), target("avx2,fma"))) void multiply_fused_avx2(const float* a, const float* b, float* c,
                                                                             size_t rows, size_t columns,
                                                                             size_t depth) {
  multiply_rows<false>(a, b, c, rows, columns, depth);
}
Kernel plain_kernel() {
  return __builtin_cpu_supports("avx2") ? multiply_plain_avx2 : multiply_plain;
}
Kernel fused_kernel() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiply_fused_avx2 : multiply_fused;
}
#else
Kernel plain_kernel() {
  return multiply_plain;
}
Kernel fused_kernel() {
  return multiply_fused;
}
#endif

bool is_short(ElementType type) {
  switch (type) {
    case ElementType::Bf16:
    case ElementType::F16:
    case ElementType::Tf32:
    case ElementType::E4m3:
    case ElementType::E5m2:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<FaultAt> apply_elementwise(ElementwiseKind kind, ElementType result_type,
                                         std::span<const ElementOperand> operands, size_t count, void* out) {
  switch (kind) {
    case ElementwiseKind::Cast:
      switch (rep_of(result_type)) {
        case Rep::F32:
          cast_from_any<float>(result_type, operands[0], count, out);
          break;
        case Rep::F64:
          cast_from_any<double>(result_type, operands[0], count, out);
          break;
        case Rep::I64:
          cast_from_any<int64_t>(result_type, operands[0], count, out);
          break;
      }
      return std::nullopt;
    case ElementwiseKind::Where:
      switch (rep_of(result_type)) {
        case Rep::F32:
          select<float>(operands, count, out);
          break;
        case Rep::F64:
          select<double>(operands, count, out);
          break;
        case Rep::I64:
          select<int64_t>(operands, count, out);
          break;
      }
      return std::nullopt;
    default:
      break;
  }
  switch (rep_of(operands[0].type)) {
    case Rep::F32:
      if (!compare_all<float>(kind, operands, count, out)) {
        floating<float>(kind, result_type, operands, count, out);
      }
      return std::nullopt;
    case Rep::F64:
      if (!compare_all<double>(kind, operands, count, out)) {
        floating<double>(kind, result_type, operands, count, out);
      }
      return std::nullopt;
    case Rep::I64:
      if (compare_all<int64_t>(kind, operands, count, out)) {
        return std::nullopt;
      }
      return integer(kind, result_type, operands, count, out);
  }
  return std::nullopt;
}

float combine(ir::ReduceKind kind, ElementType type, float a, float b) {
  return combine_floating(kind, type, a, b);
}
double combine(ir::ReduceKind kind, ElementType type, double a, double b) {
  return combine_floating(kind, type, a, b);
}
int64_t combine(ir::ReduceKind kind, ElementType, int64_t a, int64_t b) {
  switch (kind) {
    case ir::ReduceKind::Add:
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ir::ReduceKind::Max:
      return std::max(a, b);
    case ir::ReduceKind::Min:
      return std::min(a, b);
    case ir::ReduceKind::Or:
      return a | b;
  }
  return a;
}

double neutral_value(ir::ReduceKind kind, ElementType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ir::ReduceKind::Add:
    case ir::ReduceKind::Or:
      return 0;
    case ir::ReduceKind::Max:
      return is_floating(type) ? -infinity : static_cast<double>(lowest_of(type));
    case ir::ReduceKind::Min:
      return is_floating(type) ? infinity : static_cast<double>(highest_of(type));
  }
  return 0;
}

bool has_exact_products(ElementType a, ElementType b) {
  return is_short(a) && is_short(b);
}

void multiply_accumulate(const float* a, const float* b, float* c, size_t rows, size_t columns, size_t depth,
                         bool exact_products) {
  static const Kernel plain = plain_kernel();
  static const Kernel fused = fused_kernel();
  (exact_products ? plain : fused)(a, b, c, rows, columns, depth);
}

namespace {

// Bits kept below the leading one of the largest addend: 23 of f32 and two more.
constexpr int kTensorCoreBits = 25;

float cut_to_f32(double value) {
  const auto nearest = static_cast<float>(value);
  return std::abs(static_cast<double>(nearest)) > std::abs(value) ? std::nextafterf(nearest, 0.0F) : nearest;
}

// One output element of one instruction; `b_stride` elements lie between two k of b.
float tensor_core_step(const float* a, const float* b, size_t b_stride, float c, size_t depth) {
  int top = INT_MIN;
  bool is_finite = std::isfinite(c);
  if (c != 0 && is_finite) {
    top = std::ilogb(c);
  }
  double plain = c;
  for (size_t k = 0; k < depth; ++k) {
    const float y = b[k * b_stride];
    plain += static_cast<double>(a[k]) * y;
    is_finite = is_finite && std::isfinite(a[k]) && std::isfinite(y);
    if (a[k] != 0 && y != 0 && is_finite) {
      top = std::max(top, std::ilogb(a[k]) + std::ilogb(y));
    }
  }
  if (!is_finite || top == INT_MIN) {
    return static_cast<float>(plain);
  }
  const double scale = std::ldexp(1.0, kTensorCoreBits - top);
  // Each addend has at most 27 bits here and there are few, so the sum is exact in f64.
  double sum = std::trunc(static_cast<double>(c) * scale);
  for (size_t k = 0; k < depth; ++k) {
    sum += std::trunc(static_cast<double>(a[k]) * b[k * b_stride] * scale);
  }
  return cut_to_f32(std::ldexp(sum, top - kTensorCoreBits));
}

}  // namespace

void tensor_core_accumulate(const float* a, const float* b, float* c, size_t rows, size_t columns, size_t depth,
                            size_t instruction_depth) {
  for (size_t m = 0; m < rows; ++m) {
    for (size_t n = 0; n < columns; ++n) {
      float& out = c[m * columns + n];
      for (size_t k = 0; k < depth; k += instruction_depth) {
        out = tensor_core_step(a + m * depth + k, b + k * columns + n, columns, out,
                               std::min(instruction_depth, depth - k));
      }
    }
  }
}

}  // namespace tw::emulator
