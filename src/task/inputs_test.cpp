// SPDX-License-Identifier: Apache-2.0
#include "task/inputs.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tw::task {
namespace {

Task task_with(std::string_view type, std::string_view extra = "") {
  std::string text =
      "schema = \"tw.task/1\"\nname = \"t\"\n[sizes]\nM = { min = 1 }\nN = { min = 1 }\n[[tensor]]\nname = \"X\"\n"
      "type = \"" +
      std::string(type) + "\"\ndims = [\"M\", \"N\"]\n" + std::string(extra) +
      "[[tensor]]\nname = \"Y\"\ntype = \"f32\"\ndims = [\"M\"]\ndirection = \"out\"\n"
      "[reference]\ntext = \"Y[m] = sum(n, X[m, n])\"\n"
      "[shapes]\nheadline = { M = 8, N = 8 }\ntest = [ { M = 8, N = 8 } ]\n";
  diag::SourceManager sources;
  diag::Sink sink;
  auto parsed = parse("t.toml", text, sources, sink);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : sink.diagnostics()[0].message());
  return *parsed;
}

constexpr Distribution kAll[] = {Distribution::Normal, Distribution::Uniform, Distribution::Large,
                                 Distribution::MostlyZero, Distribution::Adversarial};

TEST(Inputs, are_representable_and_repeat_with_the_seed) {
  for (const char* type : {"bf16", "f16", "tf32", "f32", "e4m3", "e5m2"}) {
    Task task = task_with(type);
    ElementType element = *element_type_of(type);
    for (Distribution distribution : kAll) {
      spec::Array a = generate(task, 0, {20, 30}, distribution, 5);
      EXPECT_EQ(a.values, generate(task, 0, {20, 30}, distribution, 5).values);
      EXPECT_NE(a.values, generate(task, 0, {20, 30}, distribution, 6).values);
      for (double value : a.values) {
        ASSERT_TRUE(std::isfinite(value));
        ASSERT_EQ(value, representable(value, element)) << type;
      }
    }
  }
}

TEST(Inputs, distributions_are_what_they_are_called) {
  Task task = task_with("f32");
  auto moments = [&](Distribution distribution) {
    spec::Array a = generate(task, 0, {200, 200}, distribution, 1);
    double mean = 0;
    double square = 0;
    int zeros = 0;
    for (double value : a.values) {
      mean += value / 40000;
      square += value * value / 40000;
      zeros += value == 0 ? 1 : 0;
    }
    return std::tuple(mean, square, zeros);
  };
  auto [mean, square, zeros] = moments(Distribution::Normal);
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(square, 1, 0.05);
  auto [uniform_mean, uniform_square, uniform_zeros] = moments(Distribution::Uniform);
  EXPECT_NEAR(uniform_square, 1.0 / 3, 0.02);
  auto [zero_mean, zero_square, zero_zeros] = moments(Distribution::MostlyZero);
  EXPECT_NEAR(zero_zeros, 36000, 600);
  auto [large_mean, large_square, large_zeros] = moments(Distribution::Large);
  EXPECT_GT(large_square, 1e5);
}

TEST(Inputs, integer_operands_keep_their_range) {
  Task task = task_with("i32", "values = { min = 3, below = \"N\" }\n");
  spec::Array a = generate(task, 0, {50, 9}, Distribution::Normal, 3);
  std::vector<int> seen(9, 0);
  for (double value : a.values) {
    ASSERT_GE(value, 3);
    ASSERT_LT(value, 9);
    seen[static_cast<size_t>(value)]++;
  }
  for (int v = 3; v < 9; ++v) {
    EXPECT_GT(seen[v], 20);
  }
}

TEST(Memory, encode_and_decode_are_inverse_and_leave_gaps_alone) {
  for (const char* type :
       {"bf16", "f16", "tf32", "f32", "f64", "e4m3", "e5m2", "i8", "u8", "i32", "u32", "i64", "bool"}) {
    ElementType element = *element_type_of(type);
    spec::Array a = spec::Array::filled({3, 5});
    for (int64_t i = 0; i < 15; ++i) {
      a.values[i] = representable(static_cast<double>(i) * 0.75 - (is_floating(element) ? 5 : 0), element);
    }
    std::vector<int64_t> strides{7, 1};
    std::vector<std::byte> bytes(19 * 8, std::byte{0xcd});
    std::span<std::byte> span(bytes.data(), static_cast<size_t>(19 * size_bytes(element)));
    encode(a, element, strides, span);
    EXPECT_EQ(decode(span, element, a.extents, strides).values, a.values) << type;
    for (int gap : {5, 6, 12, 13}) {
      for (int b = 0; b < size_bytes(element); ++b) {
        EXPECT_EQ(span[gap * size_bytes(element) + b], std::byte{0xcd});
      }
    }
  }
}

TEST(Memory, transposed_strides_put_columns_together) {
  spec::Array a = spec::Array::filled({2, 3});
  a.values = {1, 2, 3, 4, 5, 6};
  std::vector<std::byte> bytes(24);
  std::vector<int64_t> strides{1, 2};
  encode(a, ElementType::F32, strides, bytes);
  std::vector<int64_t> flat{1};
  std::vector<int64_t> extents{6};
  EXPECT_EQ(decode(bytes, ElementType::F32, extents, flat).values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Memory, untouched_marks_poison_only) {
  std::vector<std::byte> bytes(8, std::byte{0xa5});
  bytes[5] = std::byte{1};
  std::vector<int64_t> extents{4};
  std::vector<int64_t> strides{1};
  EXPECT_EQ(untouched(bytes, ElementType::Bf16, extents, strides, std::byte{0xa5}), (std::vector<uint8_t>{1, 1, 0, 1}));
}

}  // namespace
}  // namespace tw::task
