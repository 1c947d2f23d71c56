// SPDX-License-Identifier: Apache-2.0
#include "base/float8.h"

#include <gtest/gtest.h>

namespace tw {
namespace {

// The nearest finite code by search, ties to the even code: shares nothing with the conversion.
template <class Decode>
int nearest_code(float value, Decode decode) {
  int best = -1;
  double best_distance = 0;
  for (int code = 0; code < 0x80; ++code) {
    const double candidate = decode(static_cast<uint8_t>(code));
    if (!std::isfinite(candidate)) {
      continue;
    }
    const double distance = std::abs(candidate - std::abs(static_cast<double>(value)));
    if (best < 0 || distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return best | (std::signbit(value) ? 0x80 : 0);
}

TEST(Float8, every_finite_code_survives_a_round_trip) {
  for (int code = 0; code < 0x100; ++code) {
    const auto bits = static_cast<uint8_t>(code);
    if (std::isfinite(e4m3_to_f32(bits))) {
      EXPECT_EQ(f32_to_e4m3(e4m3_to_f32(bits)), bits);
    }
    if (std::isfinite(e5m2_to_f32(bits))) {
      EXPECT_EQ(f32_to_e5m2(e5m2_to_f32(bits)), bits);
    }
  }
}

TEST(Float8, every_f16_and_bf16_like_value_rounds_to_the_nearest_code) {
  for (uint32_t high = 0; high < 0x10000; high += 7) {
    const float value = std::bit_cast<float>((high << 16) | 0x1234U);
    // Beyond 2^40 the distances of the search are no longer exact.
    if (!(std::abs(value) < 0x1p40F)) {
      continue;
    }
    ASSERT_EQ(f32_to_e4m3(value), nearest_code(value, e4m3_to_f32)) << value;
    ASSERT_EQ(f32_to_e5m2(value), nearest_code(value, e5m2_to_f32)) << value;
  }
}

TEST(Float8, midpoints_round_to_even) {
  for (int code = 0; code < 0x7e; ++code) {
    const float middle = (e4m3_to_f32(static_cast<uint8_t>(code)) + e4m3_to_f32(static_cast<uint8_t>(code + 1))) / 2;
    EXPECT_EQ(f32_to_e4m3(middle), code + code % 2);
  }
  for (int code = 0; code < 0x7b; ++code) {
    const float middle = (e5m2_to_f32(static_cast<uint8_t>(code)) + e5m2_to_f32(static_cast<uint8_t>(code + 1))) / 2;
    EXPECT_EQ(f32_to_e5m2(middle), code + code % 2);
  }
}

TEST(Float8, large_values_saturate_and_nan_stays_nan) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(e4m3_to_f32(f32_to_e4m3(1e30F)), 448.0F);
  EXPECT_EQ(e4m3_to_f32(f32_to_e4m3(-infinity)), -448.0F);
  EXPECT_EQ(e5m2_to_f32(f32_to_e5m2(infinity)), 57344.0F);
  EXPECT_TRUE(std::isinf(e5m2_to_f32(0x7c)));
  EXPECT_TRUE(std::isnan(e4m3_to_f32(f32_to_e4m3(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(e5m2_to_f32(f32_to_e5m2(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace tw
