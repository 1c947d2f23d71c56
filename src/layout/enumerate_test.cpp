// SPDX-License-Identifier: Apache-2.0
#include "layout/enumerate.h"

#include <map>

#include "layout/test_support.h"
#include "layout/tv.h"

namespace tw::layout {
namespace {

TEST(Enumerate, AgreesWithALookAtEachCoordinate) {
  LayoutSource source(17);
  for (int n = 0; n < 3000; ++n) {
    const ComposedLayout layout = ComposedLayout::make(Swizzle::make(source.below(3), source.below(3), 2).value(),
                                                       source.below(9), source.layout())
                                      .value();
    const std::vector<int64_t> values = all_values(layout).value();
    std::map<int64_t, int64_t> first;
    std::optional<std::pair<int64_t, int64_t>> collision;
    for (int64_t i = 0; i < layout.size(); ++i) {
      ASSERT_EQ(values[static_cast<size_t>(i)], layout(i)) << layout.to_string();
      const auto [at, inserted] = first.emplace(layout(i), i);
      if (!inserted && !collision) {
        collision = {at->second, i};
      }
    }
    const auto found = first_collision(layout).value();
    ASSERT_EQ(found.has_value(), collision.has_value()) << layout.to_string();
    if (found) {
      ASSERT_EQ(std::pair(found->first, found->second), *collision) << layout.to_string();
      ASSERT_EQ(layout(found->first), found->value);
    }
    ASSERT_EQ(image(layout)->size(), first.size());
    ASSERT_TRUE(!is_injective_by_strides(layout.inner()) || !collision);
    int64_t gap = 0;
    while (first.count(gap) == 1) {
      ++gap;
    }
    ASSERT_EQ(first_gap(layout, 1000000).value(), std::optional<int64_t>(gap));
    ASSERT_TRUE(is_surjective_onto(layout, gap).value());
    ASSERT_FALSE(is_surjective_onto(layout, gap + 1).value());
    ASSERT_EQ(is_bijective_onto(layout, layout.size()).value(), !collision && gap == layout.size());
  }
}

TEST(Enumerate, CollisionsOfSparseValuesAreFoundToo) {
  const auto found = first_collision(L("(3,2,2):(1000000000000,0,7)")).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->first, 0);
  EXPECT_EQ(found->second, 3);
  EXPECT_EQ(found->second_coordinate.to_string(), "(0,1,0)");
  EXPECT_TRUE(is_injective(L("(2,2):(3,2)")).value());
  EXPECT_TRUE(is_equal_function(L("(2,4):(1,2)"), L("8:1")).value());
  EXPECT_FALSE(is_equal_function(L("(2,4):(4,1)"), L("8:1")).value());
}

TEST(EnumerateErrors, LargeDomainsAreRefusedNotGuessed) {
  EXPECT_FAILS(all_values(L("(65536,65536):(0,0)")), Law::EnumerationLimit, ({}));
  EXPECT_FAILS(image(L("8:1"), 4), Law::EnumerationLimit, ({}));
  EXPECT_FAILS(is_injective(L("(65536,65536):(1,1)")), Law::EnumerationLimit, ({}));
  EXPECT_FAILS(is_equal_function(L("(65536,65536)"), L("4294967296:1")), Law::EnumerationLimit, ({}));
  // Decided by strides, without looking.
  EXPECT_TRUE(is_injective(L("(65536,65536):(1,65536)")).value());
}

TEST(TvMap, AccumulatorOfMmaM16N8) {
  const Layout tv = L("((4,8),(2,2)):((32,1),(16,8))");
  const TvMap map = TvMap::make(tv, 128).value();
  EXPECT_EQ(map.threads(), 32);
  EXPECT_EQ(map.values(), 4);
  EXPECT_TRUE(map.is_bijective());
  EXPECT_EQ(map.element(5, 1), 49);
  EXPECT_EQ(map.first_owner(49), (TvMap::Owner{5, 1}));
  const Layout inverse = tv_inverse(tv, 128).value();
  for (int64_t e = 0; e < 128; ++e) {
    const auto owner = *map.first_owner(e);
    EXPECT_EQ(inverse(e), owner.thread + 32 * owner.value);
    EXPECT_EQ(map.element(owner.thread, owner.value), e);
  }
}

TEST(TvMap, CopiesAndGaps) {
  // A row sum: each of 16 rows is held by the four threads of its quad.
  const TvMap sums = TvMap::make(L("((4,8),2):((0,1),8)"), 16).value();
  EXPECT_TRUE(sums.is_covering());
  EXPECT_FALSE(sums.is_injective());
  EXPECT_EQ(sums.owners(9), (std::vector<TvMap::Owner>{{4, 1}, {5, 1}, {6, 1}, {7, 1}}));
  const TvMap gaps = TvMap::make(L("(4,2):(1,8)"), 16).value();
  EXPECT_EQ(gaps.first_gap(), 4);
  EXPECT_FALSE(gaps.first_owner(4).has_value());
  EXPECT_TRUE(gaps.owners(4).empty());
}

TEST(TvMapErrors, NamesThreadAndValue) {
  EXPECT_FAILS(TvMap::make(L("(4,2,2)"), 16), Law::Rank, ({}));
  EXPECT_FAILS(TvMap::make(L("(4,2):(1,8)"), 8), Law::Coverage, ({}));
  EXPECT_FAILS(TvMap::make(L("(4,2):(1,8)"), 0), Law::EnumerationLimit, ({}));
  EXPECT_FAILS(tv_inverse(L("(4,2):(1,8)"), 16), Law::Coverage, ({}));
  EXPECT_EQ(TvMap::make(L("(4,2):(1,8)"), 8).error().numbers[2], (Quantity{"element", 8}));
}

}  // namespace
}  // namespace tw::layout
