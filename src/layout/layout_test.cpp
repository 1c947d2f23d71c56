// SPDX-License-Identifier: Apache-2.0
#include "layout/layout.h"

#include <algorithm>

#include "layout/coordinate.h"
#include "layout/evaluate.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Layout, TextRoundTrip) {
  for (const char* text : {"1:0", "((4,8),(2,2)):((32,1),(16,8))", "(5):(3)", "():()", "(2,(3,(4))):(1,(-2,(6)))"}) {
    EXPECT_EQ(L(text).to_string(), text);
  }
  EXPECT_EQ(L(" ( _4 , _8 ) : (_8,_1) ").to_string(), "(4,8):(8,1)");
  EXPECT_EQ(L("(4,1,3)").to_string(), "(4,1,3):(1,0,4)");
  LayoutSource source(1);
  for (int i = 0; i < 2000; ++i) {
    const Layout layout = source.layout();
    EXPECT_EQ(L(layout.to_string()), layout);
  }
}

TEST(Layout, EvaluatesTheExamplesOfTheHeader) {
  EXPECT_EQ(L("(4,8):(8,1)")(6), 17);
  EXPECT_EQ(L("((2,2),8):((1,16),2)")(11), 21);
  EXPECT_EQ(L("(4,8):(8,1)")(32), 8);
  EXPECT_EQ(L("(4,8):(8,1)")(-6), -17);
  EXPECT_EQ(L("(4,8):(8,1)").cosize(), 32);
  EXPECT_EQ(L("(4,2):(-1,8)").cosize(), 12);
  EXPECT_EQ(L("(4,2):(-1,8)").lowest(), -3);
}

// The evaluator, the layout, the coordinates and the enumeration say the same, out of range and below zero too.
TEST(Layout, EvaluatorsAgreeEverywhere) {
  LayoutSource source(2);
  for (int n = 0; n < 3000; ++n) {
    const Layout layout = source.layout();
    const Evaluator evaluator(layout);
    for (int64_t i = -10; i < 2 * layout.size() + 10; ++i) {
      ASSERT_EQ(evaluator(i), layout(i)) << layout.to_string() << " at " << i;
      ASSERT_EQ(crd2idx(i, layout).value(), layout(i));
      if (i >= 0) {
        ASSERT_EQ(crd2idx(idx2crd(i, layout.shape()).value(), layout).value(), layout(i));
      }
    }
    int64_t lowest = 0;
    int64_t highest = 0;
    for (int64_t i = 0; i < layout.size(); ++i) {
      lowest = std::min(lowest, layout(i));
      highest = std::max(highest, layout(i));
    }
    EXPECT_EQ(lowest, layout.lowest());
    EXPECT_EQ(highest, layout.highest());
  }
}

TEST(Layout, OrderedAndRowMajor) {
  EXPECT_EQ(shown(Layout::row_major(T("(4,(2,3))"))), "(4,(2,3)):(6,(3,1))");
  EXPECT_EQ(shown(Layout::ordered(T("(2,2,2,2)"), T("(0,2,3,1)"))), "(2,2,2,2):(1,4,8,2)");
  EXPECT_EQ(shown(Layout::ordered(T("((2,3),4)"), T("(1,0)"))), "((2,3),4):((4,8),1)");
}

TEST(LayoutErrors, EachLawNamesItsMode) {
  EXPECT_FAILS(Layout::make(T("(4,(2,2))"), T("(1,4)")), Law::Congruence, ({1}));
  EXPECT_FAILS(Layout::make(T("(4,(2,0))"), T("(1,(4,8))")), Law::PositiveExtent, ({1, 1}));
  EXPECT_FAILS(Layout::make(T("(4,_)"), T("(1,4)")), Law::Congruence, ({1}));
  EXPECT_FAILS(Layout::make(T("(4611686018427387904,4)"), T("(1,1)")), Law::Overflow, ({1}));
  EXPECT_FAILS(Layout::make(T("(2,3)"), T("(1,9223372036854775807)")), Law::Overflow, ({1}));
  EXPECT_FAILS(Layout::make(T("(2,2)"), T("(-9223372036854775808,-1)")), Law::Overflow, ({0}));
  EXPECT_FAILS(Layout::make(T("(2,(3,()))"), T("(1,(2,()))")), Law::Rank, ({1, 1}));
  EXPECT_FAILS(Layout::ordered(T("(2,2)"), T("(0,1,2)")), Law::Congruence, ({}));
  const LayoutFailure failure = Layout::make(T("(4,(2,0))"), T("(1,(4,8))")).error();
  EXPECT_EQ(failure.to_string(), "positive-extent at mode 1.1: extent 0 is below 1 [extent=0]");
}

TEST(LayoutErrors, TextFailsWithTheByte) {
  for (const char* text : {"", "(", "(4", "(4,", "4:", "4:1:1", "(4,8):(1,4", "x", "(4,8)x", "4 :\x01", "(,)"}) {
    EXPECT_FAILS(Layout::parse(text), Law::TextForm, ({}));
  }
  EXPECT_FAILS(Layout::parse("99999999999999999999:1"), Law::Overflow, ({}));
  EXPECT_FAILS(Layout::parse(std::string(100000, '(')), Law::NestingLimit, ({}));
  std::string wide = "(1";
  for (int i = 0; i < 100; ++i) {
    wide += ",1";
  }
  EXPECT_FAILS(Layout::parse(wide + ")"), Law::NestingLimit, ({}));
}

}  // namespace
}  // namespace tw::layout
