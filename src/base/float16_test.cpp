// SPDX-License-Identifier: Apache-2.0
#include "base/float16.h"

#include <gtest/gtest.h>

namespace tw {
namespace {

// Nearest value by search over all 65536 codes: shares nothing with the bit tricks.
template <class Decode>
double nearest_by_search(double value, Decode decode) {
  double best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  bool best_even = false;
  for (uint32_t code = 0; code < 0x10000; ++code) {
    double candidate = decode(static_cast<uint16_t>(code));
    if (!std::isfinite(candidate)) {
      continue;
    }
    double distance = std::abs(candidate - value);
    bool even = (code & 1U) == 0;
    if (distance < best_distance || (distance == best_distance && even && !best_even)) {
      best = candidate;
      best_distance = distance;
      best_even = even;
    }
  }
  return best;
}

TEST(Float16, every_code_survives_a_round_trip) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    auto bits = static_cast<uint16_t>(code);
    float half = f16_to_f32(bits);
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(half))));
    } else {
      ASSERT_EQ(f32_to_f16(half), bits);
      ASSERT_EQ(round_to_f16(static_cast<double>(half)), half);
    }
    float brain = bf16_to_f32(bits);
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(brain))));
    } else {
      ASSERT_EQ(f32_to_bf16(brain), bits);
      ASSERT_EQ(round_to_bf16(static_cast<double>(brain)), brain);
    }
  }
}

TEST(Float16, midpoints_and_their_neighbours_round_to_nearest_even) {
  for (uint32_t code = 0; code < 0x7bff; ++code) {
    double low = f16_to_f32(static_cast<uint16_t>(code));
    double high = f16_to_f32(static_cast<uint16_t>(code + 1));
    auto middle = static_cast<float>((low + high) / 2);
    uint16_t even = (code & 1U) == 0 ? code : code + 1;
    ASSERT_EQ(f32_to_f16(middle), even) << code;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), code) << code;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9F)), code + 1) << code;
    ASSERT_EQ(f64_to_f16(static_cast<double>(middle)), even) << code;
  }
  for (uint32_t code = 0; code < 0x7f7f; ++code) {
    double low = bf16_to_f32(static_cast<uint16_t>(code));
    double high = bf16_to_f32(static_cast<uint16_t>(code + 1));
    auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(f32_to_bf16(middle), (code & 1U) == 0 ? code : code + 1) << code;
    ASSERT_EQ(f32_to_bf16(std::nextafter(middle, 0.0F)), code) << code;
  }
}

TEST(Float16, agrees_with_a_search_over_all_codes) {
  uint64_t state = 12345;
  for (int i = 0; i < 40; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    double value =
        std::ldexp(static_cast<double>(static_cast<int64_t>(state)) * 0x1p-63, static_cast<int>(state >> 59) - 20);
    EXPECT_EQ(round_to_f16(value), nearest_by_search(value, f16_to_f32));
    EXPECT_EQ(round_to_bf16(value), nearest_by_search(value, bf16_to_f32));
  }
}

TEST(Float16, overflow_gives_infinity_and_nan_stays_nan) {
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e9F), 0xfc00);
  EXPECT_TRUE(std::isinf(round_to_f16(65520.0)));
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Float16, tf32_keeps_ten_bits) {
  EXPECT_EQ(round_to_tf32(1.0F + 0x1p-11F), 1.0F);
  EXPECT_EQ(round_to_tf32_away(1.0F + 0x1p-11F), 1.0F + 0x1p-10F);
  EXPECT_EQ(round_to_tf32(1.0F + 3 * 0x1p-11F), 1.0F + 0x1p-9F);
  EXPECT_EQ(round_to_tf32(1.0 + 0x1p-11), 1.0);
  EXPECT_TRUE(std::isinf(round_to_tf32(std::numeric_limits<float>::infinity())));
}

}  // namespace
}  // namespace tw
