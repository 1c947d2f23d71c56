// SPDX-License-Identifier: Apache-2.0
#include "layout/slice.h"

#include "layout/coordinate.h"
#include "layout/recast.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Slice, KeepsTheOpenModes) {
  const Layout a = L("((4,8),(2,2)):((32,1),(16,8))");
  EXPECT_EQ(shown(slice(T("((_,3),_)"), a)), "(4,(2,2)):(32,(16,8))");
  EXPECT_EQ(shown(slice(T("(_,1)"), a)), "((4,8)):((32,1))");
  EXPECT_EQ(shown(slice(T("_"), a)), a.to_string());
  EXPECT_EQ(shown(slice(T("(1,1)"), a)), "():()");
  EXPECT_EQ(shown(dice(T("((_,3),_)"), a)), "(8):(1)");
  const auto part = slice_and_offset(T("((_,3),(1,_))"), a);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->layout.to_string(), "(4,2):(32,8)");
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      const IntTuple whole = IntTuple::of(IntTuple::of(i, 3), IntTuple::of(1, j));
      EXPECT_EQ(crd2idx(whole, a).value(), part->offset + part->layout(i + 4 * j));
    }
  }
}

TEST(SliceErrors, NestingMustFit) {
  EXPECT_FAILS(slice(T("(_,1,1)"), L("(4,8)")), Law::CoordinateProfile, ({}));
  EXPECT_FAILS(slice(T("(_,(1,_))"), L("(4,8)")), Law::CoordinateProfile, ({1}));
  EXPECT_FAILS(dice(T("((_,1),1)"), L("(4,8)")), Law::CoordinateProfile, ({0}));
  EXPECT_FAILS(slice_and_offset(T("(_,9223372036854775807)"), L("(4,8):(1,4)")), Law::Overflow, ({1}));
}

TEST(Recast, UpcastAndDowncast) {
  EXPECT_EQ(shown(upcast(L("(4,8):(1,4)"), 2)), "(2,8):(1,2)");
  EXPECT_EQ(shown(downcast(L("(4,8):(1,4)"), 2)), "(8,8):(1,8)");
  EXPECT_EQ(shown(recast(L("(8,8):(8,1)"), 16, 32)), "(8,4):(4,1)");
  EXPECT_EQ(max_alignment(L("(4,8):(1,16)")).value(), 4);
  EXPECT_EQ(max_alignment(L("(4,8):(2,16)")).value(), 1);
  EXPECT_EQ(shown(domain_distribute(T("(15,14)"), 6)), "(3,2):(1,15)");
  EXPECT_FAILS(upcast(L("(4,8):(1,3)"), 2), Law::RecastDivisibility, ({1}));
  EXPECT_FAILS(downcast(L("(4,8):(2,8)"), 2), Law::RecastDivisibility, ({}));
  EXPECT_FAILS(upcast(L("4:1"), 0), Law::PositiveExtent, ({}));
  EXPECT_FAILS(recast(L("4:1"), 0, 8), Law::PositiveExtent, ({}));
  EXPECT_FAILS(domain_distribute(T("(15,0)"), 6), Law::PositiveExtent, ({1}));
}

}  // namespace
}  // namespace tw::layout
