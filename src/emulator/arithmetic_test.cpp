// SPDX-License-Identifier: Apache-2.0
#include "emulator/arithmetic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace tw::emulator {
namespace {

template <class T>
T one(ir::ElementwiseKind kind, ElementType result, ElementType operand, std::vector<double> values) {
  std::vector<Buffer> buffers;
  std::vector<ElementOperand> operands;
  for (double v : values) {
    Buffer b = make_buffer(operand, 1);
    std::visit([&](auto& x) { x[0] = static_cast<std::decay_t<decltype(x[0])>>(v); }, b);
    buffers.push_back(std::move(b));
  }
  for (Buffer& b : buffers) {
    operands.push_back({data_of(b), operand});
  }
  T out{};
  apply_elementwise(kind, result, operands, 1, &out);
  return out;
}

TEST(Elements, every_16_bit_code_survives_memory) {
  for (ElementType type : {ElementType::Bf16, ElementType::F16}) {
    for (uint32_t code = 0; code < 0x10000; ++code) {
      const auto bits = static_cast<uint16_t>(code);
      std::byte bytes[2];
      std::memcpy(bytes, &bits, 2);
      float value = 0;
      decode_elements(type, bytes, 1, &value);
      std::byte again[2];
      encode_elements(type, &value, 1, again);
      uint16_t back = 0;
      std::memcpy(&back, again, 2);
      if (std::isnan(value)) {
        float reread = 0;
        decode_elements(type, again, 1, &reread);
        ASSERT_TRUE(std::isnan(reread));
      } else {
        ASSERT_EQ(back, bits);
      }
    }
  }
}

TEST(Arithmetic, casts_round_once_to_nearest_even) {
  using enum ir::ElementwiseKind;
  EXPECT_EQ(one<float>(Cast, ElementType::Bf16, ElementType::F32, {1.00390625}), 1.0F);
  EXPECT_EQ(one<float>(Cast, ElementType::Bf16, ElementType::F32, {1.01171875}), 1.015625F);
  EXPECT_EQ(one<int64_t>(Cast, ElementType::I8, ElementType::F32, {300}), 127);
  EXPECT_EQ(one<int64_t>(Cast, ElementType::U8, ElementType::F32, {-3}), 0);
  EXPECT_EQ(one<int64_t>(Cast, ElementType::I32, ElementType::F32, {2.5}), 2);
  EXPECT_EQ(one<int64_t>(Cast, ElementType::I32, ElementType::F32, {std::nan("")}), 0);
  EXPECT_EQ(one<float>(Cast, ElementType::E4m3, ElementType::F32, {1e9}), 448.0F);
  // 1 + 2^-8 + 2^-40 rounds up to bf16 in one step; through f32 it would be a tie and round down.
  EXPECT_EQ(one<float>(Cast, ElementType::Bf16, ElementType::F64, {1 + 0x1p-8 + 0x1p-40}), 1.0078125F);
}

TEST(Arithmetic, short_types_round_every_result) {
  EXPECT_EQ(one<float>(ir::ElementwiseKind::Add, ElementType::Bf16, ElementType::Bf16, {256, 1}), 256.0F);
  EXPECT_EQ(one<float>(ir::ElementwiseKind::Add, ElementType::F32, ElementType::F32, {256, 1}), 257.0F);
}

TEST(Arithmetic, maximum_ignores_nan_and_orders_zeros) {
  using enum ir::ElementwiseKind;
  EXPECT_EQ(one<float>(Maximum, ElementType::F32, ElementType::F32, {std::nan(""), 2}), 2.0F);
  EXPECT_FALSE(std::signbit(one<float>(Maximum, ElementType::F32, ElementType::F32, {-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(one<float>(Minimum, ElementType::F32, ElementType::F32, {0.0, -0.0})));
}

TEST(Arithmetic, integer_overflow_is_reported) {
  const int64_t big[2] = {1, INT32_MAX};
  const ElementOperand operands[2] = {{big, ElementType::I32}, {big, ElementType::I32}};
  int64_t out[2];
  auto fault = apply_elementwise(ir::ElementwiseKind::Add, ElementType::I32, operands, 2, out);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->index, 1U);
  EXPECT_EQ(fault->fault, ArithmeticFault::Overflow);
}

TEST(Arithmetic, products_add_in_the_order_of_k) {
  constexpr size_t kRows = 3;
  constexpr size_t kColumns = 37;
  constexpr size_t kDepth = 29;
  std::vector<float> a(kRows * kDepth);
  std::vector<float> b(kDepth * kColumns);
  uint32_t state = 1;
  auto next = [&] {
    state = state * 1664525 + 1013904223;
    return std::bit_cast<float>((state >> 9) | 0x3f800000U) - 1.5F;
  };
  for (float& x : a) {
    x = next();
  }
  for (float& x : b) {
    x = next();
  }
  for (bool exact : {false, true}) {
    if (exact) {
      for (float& x : a) {
        x = round_f32_to(ElementType::Bf16, x);
      }
      for (float& x : b) {
        x = round_f32_to(ElementType::Bf16, x);
      }
    }
    std::vector<float> c(kRows * kColumns, 0.25F);
    multiply_accumulate(a.data(), b.data(), c.data(), kRows, kColumns, kDepth, exact);
    for (size_t m = 0; m < kRows; ++m) {
      for (size_t n = 0; n < kColumns; ++n) {
        float sum = 0.25F;
        for (size_t k = 0; k < kDepth; ++k) {
          sum = std::fma(a[m * kDepth + k], b[k * kColumns + n], sum);
        }
        ASSERT_EQ(c[m * kColumns + n], sum);
      }
    }
  }
}

TEST(Arithmetic, tensor_cores_cut_at_25_bits_below_the_largest_addend) {
  auto add = [](float c, std::vector<float> a, std::vector<float> b) {
    float out = c;
    tensor_core_accumulate(a.data(), b.data(), &out, 1, 1, a.size(), a.size());
    return out;
  };
  // 2^-26 is cut off beside 1, however often; 2^-25 is kept until the end and cut there unless it adds up.
  EXPECT_EQ(add(1.0F, {0x1p-13F, 0x1p-13F, 0x1p-13F, 0x1p-13F}, {0x1p-13F, 0x1p-13F, 0x1p-13F, 0x1p-13F}), 1.0F);
  EXPECT_EQ(add(1.0F, {0x1p-12F, 0x1p-12F}, {0x1p-13F, 0x1p-13F}), 1.0F);
  EXPECT_EQ(add(1.0F, {0x1p-12F, 0x1p-12F, 0x1p-12F, 0x1p-12F}, {0x1p-13F, 0x1p-13F, 0x1p-13F, 0x1p-13F}),
            1.0F + 0x1p-23F);
  // Towards zero at the end, where rounding would go up.
  EXPECT_EQ(add(1.0F, {0x1p-12F, 0x1p-12F, 0x1p-12F}, {0x1p-13F, 0x1p-13F, 0x1p-13F}), 1.0F);
  EXPECT_EQ(add(-1.0F, {0x1p-12F, 0x1p-12F, 0x1p-12F}, {-0x1p-13F, -0x1p-13F, -0x1p-13F}), -1.0F);
  EXPECT_TRUE(std::isnan(add(1.0F, {0.0F}, {std::numeric_limits<float>::infinity()})));
}

}  // namespace
}  // namespace tw::emulator
