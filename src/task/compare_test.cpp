// SPDX-License-Identifier: Apache-2.0
#include "task/compare.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "task/inputs.h"

namespace tw::task {
namespace {

Task gemm(std::string_view type = "bf16", std::string_view extra = "") {
  std::string t(type);
  std::string text =
      "schema = \"tw.task/1\"\nname = \"t\"\n[sizes]\nM = { min = 1 }\nN = { min = 1 }\nK = { min = 1 }\n"
      "[[tensor]]\nname = \"A\"\ntype = \"" +
      t +
      "\"\ndims = [\"M\", \"K\"]\n"
      "[[tensor]]\nname = \"B\"\ntype = \"" +
      t +
      "\"\ndims = [\"N\", \"K\"]\n"
      "[[tensor]]\nname = \"D\"\ntype = \"" +
      t +
      "\"\ndims = [\"M\", \"N\"]\ndirection = \"out\"\n"
      "[reference]\ntext = \"D[m, n] = sum(k, A[m, k] * B[n, k])\"\n" +
      std::string(extra) + "[shapes]\nheadline = { M = 8, N = 8, K = 8 }\ntest = [ { M = 8, N = 8, K = 8 } ]\n";
  diag::SourceManager sources;
  diag::Sink sink;
  auto parsed = parse("t.toml", text, sources, sink);
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : sink.diagnostics()[0].message());
  return *parsed;
}

struct Fixture {
  Task task;
  spec::Array want;
  spec::Array got;

  explicit Fixture(Shape shape = {64, 48, 32}, Task t = gemm()) : task(std::move(t)) {
    auto results = reference(task, generate_all(task, shape, Distribution::Normal, 9));
    want = (*results)[2];
    got = want;
    for (double& value : got.values) {
      value = representable(value, task.computation.tensors[2].type);
    }
  }
  Comparison run(const std::vector<uint8_t>* untouched = nullptr) { return compare(task, 2, got, want, untouched); }
  double& at(int64_t row, int64_t column) { return got.values[row * want.extents[1] + column]; }
};

TEST(Compare, a_correct_kernel_passes_and_two_steps_off_fails) {
  Fixture f;
  EXPECT_TRUE(f.run().is_ok);
  EXPECT_LE(f.run().worst_ratio, 1);
  // Two bf16 steps.
  f.at(3, 4) *= 1 + 0x1p-6;
  Comparison comparison = f.run();
  EXPECT_FALSE(comparison.is_ok);
  EXPECT_EQ(comparison.map.wrong, 1);
  EXPECT_EQ(comparison.map.first_index, (std::vector<int64_t>{3, 4}));
}

TEST(Compare, accumulating_in_half_precision_is_caught) {
  Task task = gemm("f16");
  Shape shape{16, 16, 2048};
  Inputs inputs = generate_all(task, shape, Distribution::Normal, 4);
  auto want = reference(task, inputs);
  spec::Array good = (*want)[2];
  spec::Array bad = good;
  for (int64_t m = 0; m < 16; ++m) {
    for (int64_t n = 0; n < 16; ++n) {
      float wide = 0;
      double narrow = 0;
      for (int64_t k = 0; k < 2048; ++k) {
        double product = inputs.values[0].values[m * 2048 + k] * inputs.values[1].values[n * 2048 + k];
        wide += static_cast<float>(product);
        narrow = representable(narrow + product, ElementType::F16);
      }
      good.values[m * 16 + n] = representable(wide, ElementType::F16);
      bad.values[m * 16 + n] = narrow;
    }
  }
  EXPECT_TRUE(compare(task, 2, good, (*want)[2]).is_ok);
  EXPECT_FALSE(compare(task, 2, bad, (*want)[2]).is_ok);
}

TEST(Compare, nan_and_infinity_fail_where_the_reference_has_none_and_the_other_way_round) {
  Fixture f;
  f.at(0, 0) = std::numeric_limits<double>::quiet_NaN();
  f.at(0, 1) = std::numeric_limits<double>::infinity();
  Comparison comparison = f.run();
  EXPECT_EQ(comparison.map.wrong, 2);
  EXPECT_EQ(comparison.map.nan, 1);
  EXPECT_EQ(comparison.map.infinite, 1);
  // NaN in the reference is no wildcard.
  Fixture g;
  g.want.values[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(g.run().map.wrong, 1);
  g.got.values[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(g.run().is_ok);
  // Beyond the type's range infinity is the right answer, of the right sign.
  Fixture h({8, 8, 8}, gemm("f16"));
  h.want.values[0] = 1e6;
  h.got.values[0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(h.run().is_ok);
  h.got.values[0] = -std::numeric_limits<double>::infinity();
  EXPECT_FALSE(h.run().is_ok);
  h.got.values[0] = 65504;
  EXPECT_FALSE(h.run().is_ok);
}

TEST(Compare, an_unwritten_tile_is_named) {
  Fixture f;
  std::vector<uint8_t> untouched(f.got.values.size(), 0);
  for (int64_t m = 32; m < 48; ++m) {
    for (int64_t n = 16; n < 32; ++n) {
      f.at(m, n) = -1e30;
      untouched[m * 48 + n] = 1;
    }
  }
  Comparison comparison = f.run(&untouched);
  EXPECT_EQ(comparison.map.never_written, 256);
  ASSERT_FALSE(comparison.map.places.empty());
  EXPECT_EQ(comparison.map.places[0], "whole 16x16 tiles: 1 of 12, at (2, 1)");
  EXPECT_NE(comparison.describe().find("never written"), std::string::npos);
}

TEST(Compare, patterns_of_rows_and_columns_are_named) {
  Fixture rows;
  for (int64_t n = 0; n < 48; ++n) {
    rows.at(62, n) = 0;
    rows.at(63, n) = 0;
  }
  Comparison comparison = rows.run();
  EXPECT_EQ(comparison.map.zero, comparison.map.wrong);
  EXPECT_EQ(comparison.map.places[0], "all of rows 62..63");
  Fixture columns;
  for (int64_t m = 0; m < 64; ++m) {
    for (int64_t n = 3; n < 48; n += 8) {
      columns.at(m, n) += 1000;
    }
  }
  comparison = columns.run();
  EXPECT_EQ(comparison.map.places[0], "all of columns that are 3 mod 8");
  EXPECT_NEAR(comparison.map.constant_offset, 1000, 1);
  EXPECT_TRUE(std::isnan(comparison.map.constant_ratio));
}

TEST(Compare, transposed_and_scaled_results_are_named) {
  Fixture f({32, 32, 16});
  spec::Array copy = f.got;
  for (int64_t m = 0; m < 32; ++m) {
    for (int64_t n = 0; n < 32; ++n) {
      f.at(m, n) = copy.values[n * 32 + m];
    }
  }
  Comparison comparison = f.run();
  EXPECT_EQ(comparison.map.transposed, comparison.map.wrong);
  EXPECT_NE(comparison.describe().find("transposed"), std::string::npos);
  Fixture g;
  for (double& value : g.got.values) {
    value *= 2;
  }
  comparison = g.run();
  EXPECT_NEAR(comparison.map.constant_ratio, 2, 0.01);
  EXPECT_EQ(comparison.map.places[0], "every element");
}

TEST(Compare, frobenius_bounds_the_whole_where_a_task_widens_single_elements) {
  Fixture f({64, 48, 32}, gemm("bf16", "[tolerance]\nrelative = 0.1\nabsolute = 0.1\n"));
  EXPECT_TRUE(f.run().is_ok);
  Fixture g = f;
  for (double& value : g.got.values) {
    value *= 1.05;
  }
  Comparison comparison = g.run();
  EXPECT_EQ(comparison.map.wrong, 0);
  EXPECT_FALSE(comparison.is_ok);
  f.at(0, 0) *= 1.05;
  EXPECT_TRUE(f.run().is_ok);
}

TEST(Compare, json_carries_the_map) {
  Fixture f;
  f.at(1, 2) = 1e6;
  json::Value value = f.run().to_json();
  EXPECT_EQ(*value.get_int("wrong"), 1);
  EXPECT_TRUE(value.find("first") != nullptr);
  EXPECT_TRUE(value.find("pattern") != nullptr);
  EXPECT_TRUE(json::parse(json::write(value)).has_value());
}

}  // namespace
}  // namespace tw::task
