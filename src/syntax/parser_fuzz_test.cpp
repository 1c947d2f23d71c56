// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "syntax/fuzz_one.h"

namespace tw::syntax {
namespace {

TEST(ParserFuzz, the_seed_program_is_accepted_and_round_trips) {
  EXPECT_EQ(fuzz_one(kFuzzSeedProgram), std::nullopt);
}

TEST(ParserFuzz, mutated_programs_break_no_rule) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    auto broken = fuzz_one(mutate({kFuzzSeedProgram}, seed));
    ASSERT_EQ(broken, std::nullopt) << "seed " << seed << ": " << *broken;
  }
}

}  // namespace
}  // namespace tw::syntax
