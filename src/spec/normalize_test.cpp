// SPDX-License-Identifier: Apache-2.0
#include "spec/normalize.h"

#include <gtest/gtest.h>

#include "spec/evaluate.h"
#include "spec/parse.h"

namespace tw::spec {
namespace {

Computation read(std::string_view text) {
  Computation c;
  c.dims = {{"M", {}}, {"N", {}}, {"K", {}}};
  DimId m(0);
  DimId n(1);
  DimId k(2);
  c.tensors = {{"A", ElementType::Bf16, {m, k}, Direction::In},
               {"B", ElementType::Bf16, {n, k}, Direction::In},
               {"x", ElementType::F32, {n}, Direction::In},
               {"y", ElementType::F32, {m}, Direction::In},
               {"D", ElementType::Bf16, {m, n}, Direction::Out}};
  diag::Sink sink;
  auto parsed = parse(text, {}, c, sink);
  EXPECT_TRUE(parsed.has_value()) << text << (parsed.has_value() ? "" : sink.diagnostics()[0].message());
  return *parsed;
}

Term normal_form(const Computation& c) {
  auto flat = expanded(c, c.equations.back().term);
  EXPECT_TRUE(flat.has_value());
  auto normal = normalized(*flat);
  EXPECT_TRUE(normal.has_value());
  return *normal;
}

bool same(std::string_view a, std::string_view b) {
  Computation ca = read("D[m, n] = " + std::string(a));
  return equivalent(normal_form(ca), normal_form(read("D[m, n] = " + std::string(b))));
}

TEST(SpecNormalize, laws_that_are_used) {
  EXPECT_TRUE(same("x[n] + y[m] * 2", "2 * y[m] + x[n]"));
  EXPECT_TRUE(same("x[n] - y[m]", "-(y[m] - x[n])"));
  EXPECT_TRUE(same("sum(k, A[m, k] * B[n, k])", "sum(j, B[n, j] * A[m, j])"));
  EXPECT_TRUE(same("sum(k, A[m, k] * (B[n, k] * 0.5))", "0.5 * sum(k, A[m, k] * B[n, k])"));
  EXPECT_TRUE(same("sum(k, A[m, k] * x[n])", "x[n] * sum(k, A[m, k])"));
  EXPECT_TRUE(same("sum(k, A[m, k] + B[n, k])", "sum(k, A[m, k]) + sum(k, B[n, k])"));
  EXPECT_TRUE(same("sum(k in K, 2)", "K + K"));
  EXPECT_TRUE(same("sum(k in K, x[n]) / K", "x[n]"));
  EXPECT_TRUE(same("sum(i, sum(k, A[i, k]))", "sum(k, i, A[i, k])"));
  EXPECT_TRUE(same("sum(k, sum(i, A[i, k] * y[i]))", "sum(a, y[a] * sum(b, A[a, b]))"));
  EXPECT_TRUE(same("max(i, max(k, A[i, k]))", "max(k, i, A[i, k])"));
  EXPECT_TRUE(same("exp(x[n] - y[m])", "exp2((x[n] - y[m]) * 1.44269504)"));
  EXPECT_TRUE(same("exp(x[n] - y[m])", "exp2(x[n] * 1.44269504 - y[m] * 1.44269504)"));
  EXPECT_TRUE(same("x[n] / sum(k, A[m, k])", "x[n] * (1 / sum(k, A[m, k]))"));
  EXPECT_TRUE(same("gelu(x[n])", "0.5 * x[n] * (1 + erf(x[n] * 0.70710678))"));
  EXPECT_TRUE(same("relu(x[n])", "maximum(0.0, x[n])"));
  EXPECT_TRUE(same("silu(x[n])", "x[n] / (1 + exp(-x[n]))"));
  EXPECT_TRUE(same("rsqrt(x[n])", "1 / sqrt(x[n])"));
  EXPECT_TRUE(same("maximum(x[n], maximum(y[m], 1))", "maximum(maximum(1, x[n]), y[m])"));
  EXPECT_TRUE(same("sum(k, A[m, k] * max(j, A[m, j]))", "max(j, A[m, j]) * sum(k, A[m, k])"));
}

TEST(SpecNormalize, what_differs_stays_different) {
  EXPECT_FALSE(same("x[n]", "y[m]"));
  EXPECT_FALSE(same("sum(k, A[m, k] * B[n, k])", "sum(k, A[m, k]) * sum(k, B[n, k])"));
  EXPECT_FALSE(same("sum(k, A[m, k] * A[m, k])", "sum(k, A[m, k])"));
  EXPECT_FALSE(same("sum(k, A[m, k])", "max(k, A[m, k])"));
  EXPECT_FALSE(same("x[n].to(bf16)", "x[n]"));
  EXPECT_FALSE(same("x[n].to(bf16)", "x[n].to(f16)"));
  EXPECT_FALSE(same("(x[n] + y[m]).to(bf16)", "x[n].to(bf16) + y[m].to(bf16)"));
  EXPECT_FALSE(same("x[n] * 0.5", "x[n] * 0.501"));
  EXPECT_FALSE(same("gelu(x[n])", "gelu_tanh(x[n])"));
  EXPECT_FALSE(same("exp(x[n])", "exp2(x[n])"));
  EXPECT_FALSE(same("max(k, 2 * A[m, k])", "max(k, A[m, k])"));
  EXPECT_FALSE(same("where(m < n, 1, 0)", "where(m <= n, 1, 0)"));
  EXPECT_FALSE(same("A[m, 0]", "A[m, 1]"));
  EXPECT_FALSE(same("x[n] / N", "x[n] / M"));
}

TEST(SpecNormalize, lets_disappear) {
  Computation with = read("let s[i] = sum(k, A[i, k])\nlet t[p] = s[p] * s[p]\nD[m, n] = t[m] - x[n]");
  Computation without = read("D[m, n] = sum(k, A[m, k]) * sum(j, A[m, j]) - x[n]");
  EXPECT_TRUE(equivalent(normal_form(with), normal_form(without)));
}

TEST(SpecNormalize, the_normal_form_has_the_same_value) {
  const char* texts[] = {
      "gelu(sum(k, A[m, k] * B[n, k]) + x[n])",
      "(A[m, 0] - sum(k, A[m, k]) / K) * rsqrt(sum(k, A[m, k] * A[m, k]) / K + 1e-5) * x[n] + y[m]",
      "exp(A[m, 1] - max(k, A[m, k])) / sum(j, exp(A[m, j] - max(i, A[m, i])))",
      "silu(x[n]) * 3 - sigmoid(y[m]) / 2 + gelu_tanh(x[n]) - relu(-y[m])",
      "sum(i, k, (A[i, k] + 2) * (y[i] - x[n])) / (M * K)",
      "where(m < n and not (m == 2), x[n] * x[n] - 1, -y[m])",
  };
  Array values[4] = {Array::filled({3, 5}), Array::filled({4, 5}), Array::filled({4}), Array::filled({3})};
  uint32_t state = 1;
  for (Array& array : values) {
    for (double& value : array.values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<double>(state >> 8) * 0x1p-23 - 1;
    }
  }
  const Array* inputs[] = {&values[0], &values[1], &values[2], &values[3], nullptr};
  int64_t extents[] = {3, 4, 5};
  for (const char* text : texts) {
    Computation c = read("D[m, n] = " + std::string(text));
    auto before = evaluate(c, extents, inputs);
    ASSERT_TRUE(before.has_value());
    c.equations[0].term = normal_form(c);
    // Printed n-ary: + and * of the normal form take any number of operands, which only the text form can evaluate.
    Computation again = read(print(c));
    auto after = evaluate(again, extents, inputs);
    ASSERT_TRUE(after.has_value());
    for (size_t i = 0; i < (*before)[4].values.size(); ++i) {
      EXPECT_NEAR((*before)[4].values[i], (*after)[4].values[i], 1e-9) << print(c);
    }
  }
}

TEST(SpecNormalize, exponential_growth_is_an_error) {
  std::string text = "let a0[m] = y[m] * y[m]\n";
  for (int i = 1; i < 40; ++i) {
    text += "let a" + std::to_string(i) + "[m] = tanh(a" + std::to_string(i - 1) + "[m]) + exp(a" +
            std::to_string(i - 1) + "[m])\n";
  }
  Computation c = read(text + "D[m, n] = a39[m]");
  EXPECT_FALSE(expanded(c, c.equations.back().term).has_value());
  std::string nested = "x[n]";
  for (int i = 0; i < 40; ++i) {
    nested = "gelu(" + nested + ")";
  }
  Computation gelus = read("D[m, n] = " + nested);
  EXPECT_FALSE(normalized(gelus.equations[0].term).has_value());
}

}  // namespace
}  // namespace tw::spec
