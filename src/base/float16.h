// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// Exact conversions between the short floating-point formats and f32/f64. Everything rounds to nearest, ties to even,
// unless a name says otherwise; overflow gives infinity, NaN stays NaN (quiet), signed zero is kept.
namespace tw {

inline float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

inline uint16_t f32_to_bf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

inline float f16_to_f32(uint16_t bits) {
  uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  uint32_t exponent = (bits >> 10) & 0x1fU;
  uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU) {
    return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  }
  if (exponent == 0) {
    // Subnormal: mantissa * 2^-24 is exact in f32.
    float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

inline uint16_t f32_to_f16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  }
  // 65520 is the tie between the largest f16 (65504) and the next power of two: from there on it is infinity.
  if (magnitude >= 0x477ff000U) {
    return sign | 0x7c00U;
  }
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 makes the f32 adder round to multiples of 2^-24, ties to even.
    float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F)));
  }
  uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

// tf32 keeps f32's exponent and 10 bits of mantissa; the value stays in f32 storage.
inline float round_to_tf32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    return (bits & 0x7fffffU) != 0 ? std::bit_cast<float>(bits | 0x400000U) : value;
  }
  return std::bit_cast<float>((bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU);
}

// Ties away from zero, as PTX's `cvt.rna.tf32.f32`.
inline float round_to_tf32_away(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    return (bits & 0x7fffffU) != 0 ? std::bit_cast<float>(bits | 0x400000U) : value;
  }
  return std::bit_cast<float>((bits + 0x1000U) & ~0x1fffU);
}

// Rounds `value` once to a binary format with `mantissa_bits` stored bits, normal exponents from `min_exponent` to
// `max_exponent`.
inline double round_to_format(double value, int mantissa_bits, int min_exponent, int max_exponent) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  // frexp's mantissa is in [0.5, 1).
  int unit = (exponent - 1 < min_exponent ? min_exponent : exponent - 1) - mantissa_bits;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  double limit = std::ldexp(2.0 - std::ldexp(1.0, -mantissa_bits), max_exponent);
  if (std::abs(rounded) > limit) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return rounded;
}

inline double round_to_bf16(double value) {
  return round_to_format(value, 7, -126, 127);
}
inline double round_to_f16(double value) {
  return round_to_format(value, 10, -14, 15);
}
inline double round_to_tf32(double value) {
  return round_to_format(value, 10, -126, 127);
}

inline uint16_t f64_to_bf16(double value) {
  return f32_to_bf16(static_cast<float>(round_to_bf16(value)));
}
inline uint16_t f64_to_f16(double value) {
  return f32_to_f16(static_cast<float>(round_to_f16(value)));
}

}  // namespace tw
