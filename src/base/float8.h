// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// Conversions between f32 and the two 8-bit floating-point formats (OCP 8-bit floating point specification): e4m3 (no
// infinity, one NaN a sign, largest 448) and e5m2 (as IEEE, largest 57344). Towards f32 exact; from f32 to nearest,
// ties to even, and saturating as the tile language says: what is larger than the largest finite number becomes it,
// infinity too.
namespace tw {
namespace float8_detail {

// Rounds the magnitude to a code with `mantissa_bits` bits and exponent bias `bias`; `largest` is the largest finite
// code.
inline uint8_t magnitude_code(float magnitude, int mantissa_bits, int bias, uint8_t largest) {
  if (magnitude == 0) {
    return 0;
  }
  if (std::isinf(magnitude)) {
    return largest;
  }
  const int exponent = std::ilogb(magnitude);
  const int lowest = 1 - bias;
  const int unit = (exponent < lowest ? lowest : exponent) - mantissa_bits;
  // At most mantissa_bits + 2 bits are left: exact in double, and nearbyint rounds ties to even.
  const double units = std::nearbyint(std::ldexp(static_cast<double>(magnitude), -unit));
  // Codes are consecutive in value, so the biased exponent and the mantissa add up.
  const double code = exponent < lowest ? units : std::ldexp(exponent - lowest, mantissa_bits) + units;
  return code >= largest ? largest : static_cast<uint8_t>(code);
}

inline float decode(uint8_t bits, int mantissa_bits, int bias) {
  const int magnitude = bits & 0x7f;
  const int exponent = magnitude >> mantissa_bits;
  const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
  const double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                     : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return static_cast<float>((bits & 0x80) != 0 ? -value : value);
}

}  // namespace float8_detail

inline float e4m3_to_f32(uint8_t bits) {
  return (bits & 0x7f) == 0x7f ? std::numeric_limits<float>::quiet_NaN() : float8_detail::decode(bits, 3, 7);
}

inline uint8_t f32_to_e4m3(float value) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  return std::isnan(value) ? static_cast<uint8_t>(sign | 0x7f)
                           : static_cast<uint8_t>(sign | float8_detail::magnitude_code(std::abs(value), 3, 7, 0x7e));
}

inline float e5m2_to_f32(uint8_t bits) {
  const int magnitude = bits & 0x7f;
  if (magnitude > 0x7c) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (magnitude == 0x7c) {
    return (bits & 0x80) != 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  return float8_detail::decode(bits, 2, 15);
}

inline uint8_t f32_to_e5m2(float value) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  return std::isnan(value) ? static_cast<uint8_t>(sign | 0x7e)
                           : static_cast<uint8_t>(sign | float8_detail::magnitude_code(std::abs(value), 2, 15, 0x7b));
}

}  // namespace tw
