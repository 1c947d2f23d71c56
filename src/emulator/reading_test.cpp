// SPDX-License-Identifier: Apache-2.0
#include "emulator/reading.h"

#include <gtest/gtest.h>

#include "emulator/test_kernels.h"
#include "ir/print.h"

namespace tw::emulator {
namespace {

using test::make_gemm;
using test::make_staged_copy;

TEST(Reading, ignores_order) {
  Problem problem;
  problem.sizes = {{"M", 40}, {"N", 50}, {"K", 104}};
  Reading with = run_reading(make_gemm({}), problem);
  EXPECT_FALSE(with.error) << with.error->message;
}

TEST(Reading, missing_sizes_are_named) {
  Problem problem;
  Reading reading = run_reading(make_staged_copy({}), problem);
  ASSERT_TRUE(reading.error);
  EXPECT_EQ(reading.error->kind, ReadingErrorKind::BadProblem);
  EXPECT_NE(reading.error->message.find("`M`"), std::string::npos);
}

}  // namespace
}  // namespace tw::emulator
