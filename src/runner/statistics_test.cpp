// SPDX-License-Identifier: Apache-2.0
#include "runner/statistics.h"

#include <gtest/gtest.h>
#include <random>

namespace tw::runner {
namespace {

TEST(MedianInterval, RanksOfTheTables) {
  // Ranks of the exact binomial interval, as printed in tables of the sign test.
  for (int32_t few = 0; few <= 5; ++few) {
    EXPECT_EQ(median_interval_rank(few), 0) << few;
  }
  EXPECT_EQ(median_interval_rank(6), 1);
  EXPECT_EQ(median_interval_rank(9), 2);
  EXPECT_EQ(median_interval_rank(10), 2);
  EXPECT_EQ(median_interval_rank(12), 3);
  EXPECT_EQ(median_interval_rank(20), 6);
  EXPECT_EQ(median_interval_rank(30), 10);
  EXPECT_EQ(median_interval_rank(50), 18);
  EXPECT_EQ(median_interval_rank(100), 40);
}

TEST(MedianInterval, LargeCountsDoNotOverflow) {
  const int32_t rank = median_interval_rank(100000);
  EXPECT_GT(rank, 49600);
  EXPECT_LT(rank, 49800);
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0.0, 1.0);
  int held = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(25);
    for (double& sample : samples) {
      sample = skewed(random);
    }
    const Timing timing = summarize(samples);
    // The median of this distribution is 1.
    held += timing.low_ms <= 1.0 && 1.0 <= timing.high_ms ? 1 : 0;
  }
  EXPECT_GE(held, kTrials * 94 / 100);
}

TEST(Summary, OfFewSamples) {
  const std::vector<double> one = {2.0};
  const Timing single = summarize(one);
  EXPECT_EQ(single.median_ms, 2.0);
  EXPECT_EQ(single.low_ms, 2.0);
  EXPECT_FALSE(single.has_interval);
  const std::vector<double> four = {4.0, 1.0, 3.0, 2.0};
  const Timing even = summarize(four);
  EXPECT_EQ(even.median_ms, 2.5);
  EXPECT_EQ(even.min_ms, 1.0);
  EXPECT_EQ(even.max_ms, 4.0);
}

TEST(Summary, OneOutlierMovesNeitherMedianNorInterval) {
  std::vector<double> samples(30, 1.0);
  samples[7] = 100.0;
  const Timing timing = summarize(samples);
  EXPECT_EQ(timing.median_ms, 1.0);
  EXPECT_EQ(timing.high_ms, 1.0);
  EXPECT_EQ(timing.max_ms, 100.0);
  EXPECT_EQ(timing.relative_error(), 0.0);
  EXPECT_TRUE(timing.has_interval);
  EXPECT_EQ(json::write(to_json(timing)),
            R"({"ms":1.0,"ms_low":1.0,"ms_high":1.0,"ms_min":1.0,"ms_max":100.0,"samples":30})");
}

}  // namespace
}  // namespace tw::runner
