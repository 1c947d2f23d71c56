// SPDX-License-Identifier: Apache-2.0
#include "layout/complement.h"

#include <set>

#include "layout/divide.h"
#include "layout/enumerate.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Complement, Examples) {
  EXPECT_EQ(shown(complement(L("4:1"), 24)), "6:4");
  EXPECT_EQ(shown(complement(L("6:4"), 24)), "4:1");
  EXPECT_EQ(shown(complement(L("(4,6):(1,4)"), 24)), "1:0");
  EXPECT_EQ(shown(complement(L("4:2"), 24)), "(2,3):(1,8)");
  EXPECT_EQ(shown(complement(L("(2,4):(1,6)"), 24)), "3:2");
  EXPECT_EQ(shown(complement(L("(2,2):(1,6)"), 24)), "(3,2):(2,12)");
  EXPECT_EQ(shown(complement(L("3:0"), T("(4,5)"))), "20:1");
}

// Copies never meet, are ordered, and reach the target; exactly so when the tiler divides it.
TEST(Complement, CopiesNeverMeet) {
  LayoutSource source(7);
  int answers = 0;
  for (int n = 0; n < 4000; ++n) {
    const Layout a = source.layout(3, 24);
    const int64_t target = 1 + source.below(200);
    const auto c = complement(a, target);
    if (!c) {
      // Refused only if something is wrong with a itself: it meets, or steps inside what smaller strides span.
      ASSERT_FALSE(is_injective_by_strides(a) && divides_exactly(a, a.size() * a.cosize())) << a.to_string();
      continue;
    }
    ++answers;
    const std::vector<int64_t> own = image(a).value();
    std::set<int64_t> reached;
    for (int64_t j = 0; j < c->size(); ++j) {
      ASSERT_TRUE(j == 0 || (*c)(j) > (*c)(j - 1)) << a.to_string();
      for (int64_t v : own) {
        ASSERT_TRUE(reached.insert(v + (*c)(j)).second) << a.to_string() << " and " << c->to_string();
      }
    }
    ASSERT_GE(*reached.rbegin() + 1, std::min(target, a.cosize()));
    if (divides_exactly(a, target)) {
      ASSERT_EQ(static_cast<int64_t>(reached.size()), target) << a.to_string();
      ASSERT_EQ(*reached.rbegin(), target - 1);
    }
  }
  EXPECT_GT(answers, 1000);
}

TEST(ComplementErrors, NamesLawAndNumbers) {
  EXPECT_FAILS(complement(L("(4,2):(1,2)"), 16), Law::Injectivity, ({}));
  EXPECT_FAILS(complement(L("(2,2):(1,1)"), 16), Law::Injectivity, ({}));
  EXPECT_FAILS(complement(L("4:-1"), 16), Law::NonNegativeStride, ({}));
  EXPECT_FAILS(complement(L("4:1"), 0), Law::PositiveExtent, ({}));
  EXPECT_FAILS(complement(L("4:1"), T("(4,(2,-1))")), Law::PositiveExtent, ({1, 1}));
  EXPECT_FAILS(complement(L("2:4611686018427387904"), 16), Law::Overflow, ({}));
  const LayoutFailure failure = complement(L("(4,2):(1,2)"), 16).error();
  EXPECT_EQ(failure.numbers, (std::vector<Quantity>{{"stride", 2}, {"covered", 4}}));
}

}  // namespace
}  // namespace tw::layout
