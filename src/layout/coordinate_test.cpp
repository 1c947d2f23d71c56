// SPDX-License-Identifier: Apache-2.0
#include "layout/coordinate.h"

#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Coordinate, EveryFormNamesTheSameElement) {
  const Layout layout = L("((4,8),(2,2)):((32,1),(16,8))");
  for (const char* form : {"69", "(5,2)", "((1,1),(0,1))", "(5,(0,1))"}) {
    EXPECT_EQ(crd2idx(T(form), layout).value(), 41) << form;
  }
  EXPECT_EQ(crd2idx(T("((1,1),_)"), layout).value(), 33);
  EXPECT_EQ(idx2crd(69, layout.shape())->to_string(), "((1,1),(0,1))");
  EXPECT_EQ(idx2crd(T("(5,2)"), layout.shape())->to_string(), "((1,1),(0,1))");
  EXPECT_EQ(crd2idx(T("(5,(0,1))"), layout.shape()).value(), 69);
  EXPECT_EQ(crd2crd(T("(5,2)"), T("(32,4)"), T("((4,8),4)"))->to_string(), "((1,1),2)");
  EXPECT_TRUE(is_in_range(T("(31,(1,1))"), layout.shape()));
  EXPECT_FALSE(is_in_range(T("(32,(1,1))"), layout.shape()));
  EXPECT_FALSE(is_in_range(T("(1,1,1)"), layout.shape()));
}

TEST(Coordinate, StridedDigitsInvertCompactLayouts) {
  const Layout layout = L("(4,(2,8)):(2,(1,8))");
  for (int64_t i = 0; i < layout.size(); ++i) {
    const auto digits = idx2crd(layout(i), layout.shape(), layout.stride());
    EXPECT_EQ(crd2idx(*digits, layout.shape()).value(), i);
  }
}

TEST(CoordinateErrors, NestingMustFit) {
  EXPECT_FAILS(crd2idx(T("(1,2,3)"), L("(4,8)")), Law::CoordinateProfile, ({}));
  EXPECT_FAILS(crd2idx(T("(1,(2,3))"), L("(4,8)")), Law::CoordinateProfile, ({1}));
  EXPECT_FAILS(crd2idx(T("(1,(2,(1,1)))"), L("(4,(2,4))")), Law::CoordinateProfile, ({1, 1}));
  EXPECT_FAILS(idx2crd(T("(1,2)"), T("8")), Law::CoordinateProfile, ({}));
  EXPECT_FAILS(crd2idx(T("(1,2)"), T("(4,8)"), T("(1,(4,1))")), Law::Congruence, ({1}));
  EXPECT_FAILS(crd2idx(T("(9223372036854775807,1)"), L("(4,8):(2,1)")), Law::Overflow, ({0}));
  EXPECT_FAILS(crd2idx(5, T("(0,4)"), T("(1,1)")), Law::PositiveExtent, ({}));
  EXPECT_FAILS(idx2crd(5, T("4"), T("0")), Law::NonNegativeStride, ({}));
}

TEST(Compatibility, OrdersShapes) {
  EXPECT_TRUE(is_compatible(T("24"), T("(4,6)")));
  EXPECT_TRUE(is_compatible(T("(4,6)"), T("((2,2),6)")));
  EXPECT_FALSE(is_compatible(T("((2,2),6)"), T("(4,6)")));
  EXPECT_FALSE(is_compatible(T("(4,6)"), T("(6,4)")));
  EXPECT_TRUE(is_congruent(T("((1,2),3)"), T("((4,5),6)")));
  EXPECT_FALSE(is_congruent(T("(1)"), T("1")));
  EXPECT_TRUE(is_weakly_congruent(T("(1,3)"), T("((4,5),6)")));
  EXPECT_FALSE(is_weakly_congruent(T("((1,2),3)"), T("(4,6)")));
  EXPECT_TRUE(is_evenly_divided(T("(128,(8,8))"), T("(64,16)")));
  EXPECT_FALSE(is_evenly_divided(T("(128,60)"), T("(64,16)")));
  EXPECT_EQ(shown(shape_div(T("(4,5,6)"), 40)), "(1,1,3)");
  EXPECT_FAILS(shape_div(T("(4,5)"), T("(2,3)")), Law::ShapeDivisibility, ({1}));
}

}  // namespace
}  // namespace tw::layout
