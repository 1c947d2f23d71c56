// SPDX-License-Identifier: Apache-2.0
#include "layout/inverse.h"

#include "layout/enumerate.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(RightInverse, IsOneAndIsMaximalAlongStrides) {
  EXPECT_EQ(shown(right_inverse(L("(4,8):(8,1)"))), "(8,4):(4,1)");
  EXPECT_EQ(shown(right_inverse(L("(2,4):(0,1)"))), "4:2");
  EXPECT_EQ(shown(right_inverse(L("4:2"))), "1:0");
  LayoutSource source(8);
  for (int n = 0; n < 4000; ++n) {
    const Layout a = source.layout();
    const Layout r = right_inverse(a).value();
    for (int64_t i = 0; i < r.size(); ++i) {
      ASSERT_EQ(a(r(i)), i) << a.to_string() << " and " << r.to_string();
      ASSERT_LT(r(i), a.size());
    }
    if (is_bijective_onto(a, a.size()).value()) {
      ASSERT_EQ(r.size(), a.size()) << a.to_string();
    }
  }
}

// A(L(A(i))) = A(i), and L(A(i)) = i when A is injective; refused only where that fails.
TEST(LeftInverse, IsOneWhereThereIsAnAnswer) {
  EXPECT_EQ(shown(left_inverse(L("(4,8):(1,5)"))), "(5,8):(1,4)");
  EXPECT_EQ(shown(left_inverse(L("(4,8):(8,1)"))), "(8,4):(4,1)");
  EXPECT_EQ(shown(left_inverse(L("(8,1):(0,1)"))), "8:0");
  LayoutSource source(9);
  int answers = 0;
  for (int n = 0; n < 6000; ++n) {
    const Layout a = source.layout();
    const auto inverse = left_inverse(a);
    if (!inverse) {
      continue;
    }
    ++answers;
    const bool injective = is_injective(a).value();
    for (int64_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a((*inverse)(a(i))), a(i)) << a.to_string() << " and " << inverse->to_string() << " at " << i;
      ASSERT_TRUE(!injective || (*inverse)(a(i)) == i) << a.to_string() << " and " << inverse->to_string();
    }
  }
  EXPECT_GT(answers, 2000);
}

TEST(LeftInverseErrors, NamesLawAndNumbers) {
  EXPECT_FAILS(left_inverse(L("4:-1")), Law::NonNegativeStride, ({}));
  EXPECT_FAILS(left_inverse(L("(2,2):(2,3)")), Law::InverseDivisibility, ({}));
  EXPECT_FAILS(left_inverse(L("(3,2,2):(1,2,8)")), Law::Injectivity, ({}));
  EXPECT_FAILS(left_inverse(L("(4,3):(2,1)")), Law::Injectivity, ({}));
  // The same operands without the overlap have an answer.
  EXPECT_TRUE(left_inverse(L("(2,2,2):(1,2,8)")).has_value());
  const LayoutFailure failure = left_inverse(L("(2,2):(2,3)")).error();
  EXPECT_EQ(failure.numbers, (std::vector<Quantity>{{"stride", 3}, {"smaller_stride", 2}}));
}

TEST(Nullspace, IsSentToZero) {
  EXPECT_EQ(nullspace(L("(2,4):(0,1)")).to_string(), "2:1");
  EXPECT_EQ(nullspace(L("(2,4):(1,2)")).to_string(), "1:0");
  LayoutSource source(10);
  for (int n = 0; n < 1000; ++n) {
    const Layout a = source.layout();
    const Layout zero = nullspace(a);
    for (int64_t i = 0; i < zero.size(); ++i) {
      ASSERT_EQ(a(zero(i)), 0) << a.to_string();
    }
  }
}

TEST(MaxCommon, IsContiguousInBoth) {
  EXPECT_EQ(max_common_vector(L("(8,8):(1,8)"), L("(8,8):(1,16)")).value(), 8);
  EXPECT_EQ(max_common_vector(L("(8,8):(1,8)"), L("(8,8):(8,1)")).value(), 1);
  EXPECT_EQ(max_common_vector(L("(8,8):(8,1)"), L("(8,8):(8,1)")).value(), 64);
  LayoutSource source(11);
  for (int n = 0; n < 3000; ++n) {
    const Layout a = source.layout();
    const Layout b = source.layout();
    const auto common = max_common_layout(a, b);
    for (int64_t i = 0; common && i < common->size(); ++i) {
      ASSERT_EQ(a((*common)(i)), i) << a.to_string() << " and " << b.to_string();
      ASSERT_EQ(b((*common)(i)), i) << a.to_string() << " and " << b.to_string();
    }
  }
  EXPECT_EQ(max_common_vector(C("Sw<3,3,3> o 0 o (64,8):(1,64)"), C("(64,8):(1,64)")).value(), 8);
  EXPECT_EQ(max_common_vector(C("Sw<3,3,3> o 4 o (64,8):(1,64)"), C("(64,8):(1,64)")).value(), 4);
  EXPECT_EQ(max_common_vector(C("Sw<3,3,3> o 0 o (64,8):(1,64)"), C("Sw<3,3,3> o 0 o (64,8):(1,64)")).value(), 512);
}

TEST(SwizzledInverse, MovesTheSwizzleOutside) {
  for (const char* text :
       {"Sw<3,3,3> o 0 o (64,8):(1,64)", "Sw<3,3,3> o 0 o (8,64):(64,1)", "Sw<2,0,2> o 0 o (4,4):(4,1)"}) {
    const ComposedLayout a = C(text);
    const auto inverse = right_inverse(a);
    ASSERT_TRUE(inverse.has_value()) << text << ": " << inverse.error().to_string();
    for (int64_t i = 0; i < inverse->size(); ++i) {
      ASSERT_EQ(a((*inverse)(i)), i) << text << " at " << i;
    }
  }
  EXPECT_FAILS(right_inverse(C("Sw<1,0,1> o 1 o 4:1")), Law::SwizzleMerge, ({}));
  EXPECT_FAILS(composition(L("(3,4):(1,3)"), Swizzle::make(1, 0, 2).value()), Law::F2Linear, ({}));
}

}  // namespace
}  // namespace tw::layout
