// SPDX-License-Identifier: Apache-2.0
#include "layout/composition.h"

#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Composition, Examples) {
  EXPECT_EQ(shown(composition(L("20:2"), L("(5,4):(4,1)"))), "(5,4):(8,2)");
  EXPECT_EQ(shown(composition(L("(10,2):(16,4)"), L("(5,4):(1,5)"))), "(5,(2,2)):(16,(80,4))");
  EXPECT_EQ(shown(composition(L("(6,2):(8,2)"), L("(4,3):(3,1)"))), "((2,2),3):((24,2),8)");
  EXPECT_EQ(shown(composition(L("(12,(4,8)):(59,(13,1))"), tiler("<3:4,8:2>"))), "(3,(2,4)):(236,(26,1))");
  EXPECT_EQ(shown(composition(L("(12,(4,8)):(59,(13,1))"), tiler("(3,8)"))), "(3,(4,2)):(59,(13,1))");
  EXPECT_EQ(shown(composition(L("(8,2):(2,16)"), L("4:-1"))), "4:-2");
}

// R(c) = A(B(c)) wherever there is an answer, beyond A's domain too.
TEST(Composition, IsTheCompositionOfFunctions) {
  LayoutSource source(5);
  int answers = 0;
  int refusals = 0;
  for (int n = 0; n < 20000; ++n) {
    const Layout a = source.layout();
    const Layout b = source.layout(3, 48);
    const auto r = composition(a, b);
    if (!r) {
      ++refusals;
      continue;
    }
    ++answers;
    ASSERT_TRUE(is_compatible(b.shape(), r->shape())) << a.to_string() << " o " << b.to_string();
    for (int64_t i = 0; i < b.size(); ++i) {
      ASSERT_EQ((*r)(i), a(b(i))) << a.to_string() << " o " << b.to_string() << " = " << r->to_string() << " at " << i;
    }
  }
  EXPECT_GT(answers, 5000);
  EXPECT_GT(refusals, 1000);
}

// A compact layout is neutral on either side.
TEST(Composition, IdentityAndAssociativity) {
  LayoutSource source(6);
  for (int n = 0; n < 3000; ++n) {
    const Layout a = source.layout();
    const Layout identity = Layout::make(a.size(), 1).value();
    const auto right = composition(a, identity);
    ASSERT_TRUE(right.has_value()) << a.to_string();
    const auto left = composition(Layout::make(a.cosize(), 1).value(), a);
    ASSERT_TRUE(left.has_value());
    for (int64_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ((*right)(i), a(i));
      ASSERT_EQ((*left)(i), a(i));
    }
  }
}

TEST(CompositionErrors, NamesLawModeAndNumbers) {
  EXPECT_FAILS(composition(L("(6,4):(1,100)"), L("4:4")), Law::StrideDivisibility, ({}));
  EXPECT_FAILS(composition(L("(4,6):(1,10)"), L("(2,2):(1,6)")), Law::StrideDivisibility, ({1}));
  EXPECT_FAILS(composition(L("(4,6):(1,10)"), L("(2,(3,6)):(0,(0,1))")), Law::ShapeDivisibility, ({1, 1}));
  EXPECT_FAILS(composition(L("(4,2):(1,10)"), L("(2,2):(3,3)")), Law::Carry, ({1}));
  EXPECT_FAILS(composition(L("(4,2):(1,10)"), L("(2,2):(1,-4)")), Law::Carry, ({1}));
  EXPECT_FAILS(composition(L("(4,8)"), tiler("<2:1,2:1,2:1>")), Law::Rank, ({}));
  EXPECT_FAILS(composition(L("(4,(4,6)):(1,(4,100))"), tiler("<2:1,2:6>")), Law::StrideDivisibility, ({1}));
  EXPECT_FAILS(composition(L("2:4611686018427387904"), L("2:4")), Law::Overflow, ({}));
  const LayoutFailure failure = composition(L("(4,6):(1,10)"), L("(2,2):(1,6)")).error();
  EXPECT_EQ(failure.numbers[0], (Quantity{"stride", 6}));
  EXPECT_EQ(failure.numbers[1], (Quantity{"extent", 4}));
  EXPECT_FALSE(is_admissible(L("(4,6):(1,10)"), L("2:6")));
  EXPECT_TRUE(is_admissible(L("(4,6):(1,10)"), L("2:8")));
}

}  // namespace
}  // namespace tw::layout
