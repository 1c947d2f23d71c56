// SPDX-License-Identifier: Apache-2.0
#include "layout/simplify.h"

#include <set>

#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Coalesce, KeepsTheFunctionAndIsIdempotent) {
  EXPECT_EQ(coalesce(L("(2,(1,6)):(1,(6,2))")).to_string(), "12:1");
  EXPECT_EQ(coalesce(L("(1,1):(5,7)")).to_string(), "1:0");
  LayoutSource source(3);
  for (int n = 0; n < 3000; ++n) {
    const Layout layout = source.layout();
    const Layout merged = coalesce(layout);
    ASSERT_EQ(merged.size(), layout.size());
    ASSERT_LE(merged.depth(), 1);
    ASSERT_EQ(coalesce(merged), merged);
    for (int64_t i = 0; i < layout.size(); ++i) {
      ASSERT_EQ(merged(i), layout(i)) << layout.to_string();
    }
  }
}

TEST(Coalesce, ByProfileKeepsTheModes) {
  EXPECT_EQ(shown(coalesce(L("((2,2),(3,1)):((1,2),(4,0))"), T("(1,1)"))), "(4,3):(1,4)");
  EXPECT_EQ(shown(coalesce(L("((2,2),(3,2)):((1,2),(4,12))"), T("(1)"))), "(4,(3,2)):(1,(4,12))");
  EXPECT_FAILS(coalesce(L("(4,8)"), T("(1,1,1)")), Law::Rank, ({}));
  EXPECT_FAILS(coalesce(L("(4,8)"), T("(1,(1,1))")), Law::Rank, ({1}));
}

TEST(Filter, KeepsTheImage) {
  EXPECT_EQ(filter(L("(2,2,4):(0,1,2)")).to_string(), "8:1");
  EXPECT_EQ(filter_zeros(L("(2,(2,4)):(0,(1,0))")).to_string(), "(1,(2,1)):(0,(1,0))");
  LayoutSource source(4);
  for (int n = 0; n < 2000; ++n) {
    const Layout layout = source.layout();
    const Layout filtered = filter(layout);
    std::set<int64_t> a;
    std::set<int64_t> b;
    for (int64_t i = 0; i < layout.size(); ++i) {
      a.insert(layout(i));
    }
    for (int64_t i = 0; i < filtered.size(); ++i) {
      b.insert(filtered(i));
    }
    ASSERT_EQ(a, b) << layout.to_string();
  }
  EXPECT_FAILS(filter(L("(4,8)"), T("(1,1,1)")), Law::Rank, ({}));
}

TEST(Modes, AreTakenGroupedAndReplaced) {
  const Layout layout = L("(2,3,5):(1,2,6)");
  EXPECT_EQ(shown(take(layout, 1, 3)), "(3,5):(2,6)");
  EXPECT_EQ(shown(select(layout, {2, 0})), "(5,2):(6,1)");
  EXPECT_EQ(shown(group(layout, 0, 2)), "((2,3),5):((1,2),6)");
  EXPECT_EQ(shown(replace(layout, 1, L("7:9"))), "(2,7,5):(1,9,6)");
  EXPECT_EQ(shown(append_to_rank(L("4:2"), 3)), "(4,1,1):(2,0,0)");
  EXPECT_EQ(shown(prepend(L("4:2"), L("3:1"))), "(3,4):(1,2)");
  EXPECT_EQ(flatten(L("(2,(3,(5))):(1,(2,(6)))")), layout);
  EXPECT_FAILS(take(layout, 2, 4), Law::Rank, ({}));
  EXPECT_FAILS(select(layout, {3}), Law::Rank, ({}));
  EXPECT_FAILS(group(layout, 2, 2), Law::Rank, ({}));
  EXPECT_FAILS(replace(layout, 3, layout), Law::Rank, ({}));
  EXPECT_FAILS(append_to_rank(layout, 1000), Law::NestingLimit, ({}));
}

}  // namespace
}  // namespace tw::layout
