// SPDX-License-Identifier: Apache-2.0
#include "spec/evaluate.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "base/float16.h"
#include "spec/normalize.h"
#include "spec/parse.h"

namespace tw::spec {
namespace {

struct Fixture {
  Computation computation;
  std::vector<int64_t> extents{5, 7, 6};
  std::vector<Array> arrays;

  explicit Fixture(std::string_view text, std::vector<int64_t> sizes = {5, 7, 6}) : extents(std::move(sizes)) {
    computation.dims = {{"M", {}}, {"N", {}}, {"K", {}}};
    DimId m(0);
    DimId n(1);
    DimId k(2);
    computation.tensors = {{"A", ElementType::F32, {m, k}, Direction::In},
                           {"B", ElementType::F32, {n, k}, Direction::In},
                           {"bias", ElementType::F32, {n}, Direction::In},
                           {"rows", ElementType::I32, {m}, Direction::In},
                           {"D", ElementType::F32, {m, n}, Direction::Out}};
    diag::Sink sink;
    auto parsed = parse(text, {}, computation, sink);
    EXPECT_TRUE(parsed.has_value()) << (parsed.has_value() ? "" : sink.diagnostics()[0].message());
    computation = *parsed;
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (const Tensor& tensor : computation.tensors) {
      std::vector<int64_t> shape;
      for (DimId dim : tensor.dims) {
        shape.push_back(extents[dim.index]);
      }
      Array array = Array::filled(shape);
      for (double& value : array.values) {
        value = tensor.type == ElementType::I32 ? static_cast<double>(random() % extents[0])
                                                : static_cast<double>(static_cast<float>(normal(random)));
      }
      arrays.push_back(std::move(array));
    }
  }

  Result<std::vector<Array>> run(EvaluateOptions options = {}) {
    std::vector<const Array*> inputs;
    for (size_t i = 0; i < arrays.size(); ++i) {
      inputs.push_back(computation.tensors[i].direction == Direction::In ? &arrays[i] : nullptr);
    }
    return evaluate(computation, extents, inputs, options);
  }
  Array output(EvaluateOptions options = {}) {
    auto results = run(options);
    EXPECT_TRUE(results.has_value()) << (results.has_value() ? "" : results.error().message);
    return (*results)[4];
  }
  double a(int64_t m, int64_t k) { return arrays[0].values[m * extents[2] + k]; }
  double b(int64_t n, int64_t k) { return arrays[1].values[n * extents[2] + k]; }
};

TEST(SpecEvaluate, matrix_product_agrees_with_three_loops) {
  Fixture f("D[m, n] = maximum(sum(k, A[m, k] * B[n, k]) + bias[n], 0)");
  Array d = f.output();
  for (int64_t m = 0; m < 5; ++m) {
    for (int64_t n = 0; n < 7; ++n) {
      double sum = f.arrays[2].values[n];
      for (int64_t k = 0; k < 6; ++k) {
        sum += f.a(m, k) * f.b(n, k);
      }
      EXPECT_NEAR(d.values[m * 7 + n], std::max(sum, 0.0), 1e-12);
    }
  }
}

TEST(SpecEvaluate, a_contraction_in_the_other_index_order_is_the_same_sum) {
  // The free indices of the inner product appear as (n, m): the result must be put back in order.
  Fixture f("let t[i, j] = sum(k, B[i, k] * A[j, k])\nD[m, n] = t[n, m]");
  Fixture g("D[m, n] = sum(k, B[n, k] * A[m, k])");
  EXPECT_EQ(f.output().values, g.output().values);
}

TEST(SpecEvaluate, contraction_path_and_plain_path_agree) {
  // `+ 0 * m` keeps the plain loop: the left factor then has all the indices.
  Fixture fast("D[m, n] = sum(k, exp(A[m, k]) * (B[n, k] - bias[n]))");
  Fixture slow("D[m, n] = sum(k, exp(A[m, k]) * (B[n, k] - bias[n]) + 0 * m)");
  Array x = fast.output();
  Array y = slow.output();
  for (size_t i = 0; i < x.values.size(); ++i) {
    EXPECT_NEAR(x.values[i], y.values[i], 1e-12);
  }
}

TEST(SpecEvaluate, softmax_rows_sum_to_one) {
  Fixture f(
      "let mx[m] = max(k, A[m, k])\nlet e[m, k] = exp(A[m, k] - mx[m])\n"
      "D[m, n] = e[m, n % K] / sum(k, e[m, k])");
  Array d = f.output();
  for (int64_t m = 0; m < 5; ++m) {
    double sum = 0;
    for (int64_t k = 0; k < 6; ++k) {
      double value = d.values[m * 7 + k];
      double total = 0;
      for (int64_t j = 0; j < 6; ++j) {
        total += std::exp(f.a(m, j));
      }
      EXPECT_NEAR(value, std::exp(f.a(m, k)) / total, 1e-12);
      sum += value;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(SpecEvaluate, sibling_and_nested_reductions_keep_their_own_ranges) {
  Fixture f("D[m, n] = sum(k, A[m, k]) + sum(j, bias[j] * bias[j]) + sum(i, sum(k, A[i, k] * A[i, k]))");
  Array d = f.output();
  double squares = 0;
  for (double v : f.arrays[2].values) {
    squares += v * v;
  }
  for (double v : f.arrays[0].values) {
    squares += v * v;
  }
  for (int64_t m = 0; m < 5; ++m) {
    double row = 0;
    for (int64_t k = 0; k < 6; ++k) {
      row += f.a(m, k);
    }
    EXPECT_NEAR(d.values[m * 7 + 3], row + squares, 1e-12);
  }
}

TEST(SpecEvaluate, gather_reads_the_named_row_and_out_of_range_is_an_error) {
  Fixture f("D[m, n] = A[rows[m], 0]");
  EXPECT_EQ(f.output().values[2 * 7 + 4], f.a(static_cast<int64_t>(f.arrays[3].values[2]), 0));
  f.arrays[3].values[1] = 5;
  EXPECT_FALSE(f.run().has_value());
}

TEST(SpecEvaluate, declared_rounding_is_applied_where_it_stands) {
  Fixture f("D[m, n] = bias[n].to(bf16) + 1");
  EXPECT_EQ(f.output().values[0], round_to_bf16(f.arrays[2].values[0]) + 1);
}

// A kernel in f32 with f32 accumulation must stay inside the bound, whatever the order of additions; one that
// accumulates in bf16 must not.
TEST(SpecEvaluate, error_bound_holds_f32_arithmetic_and_excludes_bf16_accumulation) {
  Fixture f("D[m, n] = gelu(sum(k, A[m, k] * B[n, k]) + bias[n])", {24, 20, 300});
  EvaluateOptions options;
  options.with_errors = true;
  Array d = f.output(options);
  int outside_bf16 = 0;
  for (int64_t m = 0; m < 24; ++m) {
    for (int64_t n = 0; n < 20; ++n) {
      float forward = 0;
      float backward = 0;
      float coarse = 0;
      for (int64_t k = 0; k < 300; ++k) {
        forward += static_cast<float>(f.a(m, k)) * static_cast<float>(f.b(n, k));
        backward += static_cast<float>(f.a(m, 299 - k)) * static_cast<float>(f.b(n, 299 - k));
        coarse = bf16_to_f32(f32_to_bf16(coarse + static_cast<float>(f.a(m, k) * f.b(n, k))));
      }
      size_t at = static_cast<size_t>(m * 20 + n);
      auto finish = [&](float sum) {
        float x = sum + static_cast<float>(f.arrays[2].values[n]);
        return 0.5F * x * (1 + std::erf(x * 0.70710678F));
      };
      ASSERT_LE(std::abs(finish(forward) - d.values[at]), d.errors[at]);
      ASSERT_LE(std::abs(finish(backward) - d.values[at]), d.errors[at]);
      outside_bf16 += std::abs(finish(coarse) - d.values[at]) > d.errors[at] ? 1 : 0;
    }
  }
  EXPECT_GT(outside_bf16, 200);
}

TEST(SpecEvaluate, expanding_lets_keeps_the_values) {
  Fixture f(
      "let mu[m] = sum(k, A[m, k]) / K\nlet v[m] = sum(k, (A[m, k] - mu[m]) * (A[m, k] - mu[m])) / K\n"
      "D[m, n] = (bias[n] - mu[m]) * rsqrt(v[m] + 1e-5)");
  Array before = f.output();
  Equation& equation = f.computation.equations[2];
  auto flat = expanded(f.computation, equation.term);
  ASSERT_TRUE(flat.has_value());
  equation.term = *flat;
  f.computation.equations.erase(f.computation.equations.begin(), f.computation.equations.begin() + 2);
  Array after = f.output();
  for (size_t i = 0; i < before.values.size(); ++i) {
    EXPECT_NEAR(before.values[i], after.values[i], 1e-12);
  }
}

TEST(SpecEvaluate, too_large_intermediates_are_an_error) {
  Fixture f("D[m, n] = sum(k, A[m, k] * B[n, k])");
  EvaluateOptions options;
  options.max_elements = 30;
  EXPECT_FALSE(f.run(options).has_value());
}

TEST(SpecEvaluate, a_product_of_512_cubed_takes_seconds_at_most) {
  Fixture f("D[m, n] = sum(k, A[m, k] * B[n, k])", {512, 512, 512});
  auto begin = std::chrono::steady_clock::now();
  Array d = f.output();
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(d.element_count(), 512 * 512);
  EXPECT_LT(seconds, 5.0);
}

}  // namespace
}  // namespace tw::spec
