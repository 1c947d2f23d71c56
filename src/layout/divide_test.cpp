// SPDX-License-Identifier: Apache-2.0
#include "layout/divide.h"

#include "layout/complement.h"
#include "layout/enumerate.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Divide, Examples) {
  EXPECT_EQ(shown(logical_divide(L("16:3"), tiler("4:1"))), "(4,4):(3,12)");
  EXPECT_EQ(shown(logical_divide(L("(4,2,3):(2,1,8)"), tiler("4:2"))), "((2,2),(2,3)):((4,1),(2,8))");
  const Layout a = L("(9,(4,8)):(59,(13,1))");
  EXPECT_EQ(shown(logical_divide(a, tiler("<3:3,(2,4):(1,8)>"))), "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
  EXPECT_EQ(shown(zipped_divide(a, tiler("<3:3,(2,4):(1,8)>"))), "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
  EXPECT_EQ(shown(tiled_divide(a, tiler("<3:3,(2,4):(1,8)>"))), "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))");
  EXPECT_EQ(shown(flat_divide(a, tiler("<3:3,(2,4):(1,8)>"))), "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))");
  EXPECT_EQ(shown(zipped_divide(L("(8,6,5):(1,8,48)"), tiler("<4:1,_>"))), "((4,1),(2,6,5)):((1,0),(4,8,48))");
  EXPECT_EQ(shown(tiled_divide(C("Sw<3,3,3> o 0 o (64,64):(64,1)"), tiler("(16,8)"))),
            "Sw<3,3,3> o 0 o ((16,8),4,8):((64,1),1024,8)");
}

// (T, rest) names the elements of A through T, and an exact tiler loses and repeats none.
TEST(Divide, IsAThroughTheTilerAndKeepsEveryElement) {
  LayoutSource source(12);
  int exact = 0;
  for (int n = 0; n < 8000; ++n) {
    const Layout a = source.layout();
    const Layout t = source.layout(2, 12);
    const auto divided = logical_divide(a, t);
    if (!divided) {
      continue;
    }
    const Layout rest = complement(t, a.shape()).value_or(Layout());
    const Layout through =
        Layout::concat({t, divided->mode(1).size() == rest.size() ? rest : complement(t, a.size()).value()}).value();
    ASSERT_EQ(divided->size(), through.size());
    for (int64_t i = 0; i < divided->size(); ++i) {
      ASSERT_EQ((*divided)(i), a(through(i))) << a.to_string() << " / " << t.to_string();
    }
    if (divides_exactly(t, a.size())) {
      ++exact;
      ASSERT_EQ(divided->size(), a.size()) << a.to_string() << " / " << t.to_string();
      ASSERT_EQ(image(*divided).value(), image(a).value());
    }
  }
  EXPECT_GT(exact, 500);
}

TEST(Divide, ExactTilersReachEachIndexOnce) {
  LayoutSource source(13);
  for (int n = 0; n < 3000; ++n) {
    const Layout t = source.layout(3, 16);
    const int64_t total = 1 + source.below(64);
    const auto rest = complement(t, total);
    const bool bijective = rest && is_bijective_onto(Layout::concat({t, *rest}).value(), total).value();
    ASSERT_EQ(divides_exactly(t, total), bijective) << t.to_string() << " of " << total;
  }
}

TEST(DivideErrors, NamesLawAndMode) {
  EXPECT_FAILS(logical_divide(L("(4,6)"), tiler("<2:1,2:1,2:1>")), Law::Rank, ({}));
  EXPECT_FAILS(logical_divide(L("(4,6):(1,9)"), tiler("<2:1,(2,2):(1,1)>")), Law::Injectivity, ({1}));
  EXPECT_FAILS(zipped_divide(L("(4,(6,5)):(1,(9,100))"), tiler("<2:1,<2:1,(2,2):(1,1)>>")), Law::Injectivity, ({1, 1}));
  EXPECT_FAILS(logical_divide(L("(4,6):(1,9)"), tiler("3:1")), Law::StrideDivisibility, ({1}));
  EXPECT_FAILS(flat_divide(L("(4,6):(1,9)"), tiler("3:1")), Law::StrideDivisibility, ({1}));
  EXPECT_FAILS(tiled_divide(L("(4,6):(1,9)"), tiler("2:-1")), Law::NonNegativeStride, ({}));
}

}  // namespace
}  // namespace tw::layout
