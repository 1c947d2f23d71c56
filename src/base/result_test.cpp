// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

namespace tw {
namespace {

Result<int> halve(int value) {
  if (value % 2 != 0) {
    return fail("odd");
  }
  return value / 2;
}

Result<int> quarter(int value) {
  TW_TRY(int half, halve(value));
  return halve(half);
}

TEST(Result, try_passes_the_value_on) {
  EXPECT_EQ(*quarter(12), 3);
}

TEST(Result, try_returns_the_first_failure) {
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_FALSE(quarter(5));
}

TEST(Result, within_keeps_the_cause) {
  Error outer = Error{"disk full", {}}.within("cannot write kernel.cu");
  EXPECT_EQ(outer.message, "cannot write kernel.cu");
  ASSERT_EQ(outer.causes.size(), 1U);
  EXPECT_EQ(outer.causes[0], "disk full");
}

TEST(Result, reading_a_missing_value_is_an_internal_error) {
  EXPECT_EXIT(static_cast<void>(halve(1).value()), testing::ExitedWithCode(70), "TW9001");
}

}  // namespace
}  // namespace tw
