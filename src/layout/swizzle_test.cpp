// SPDX-License-Identifier: Apache-2.0
#include "layout/swizzle.h"

#include <set>

#include "layout/recast.h"
#include "layout/slice.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Swizzle, IsAnInvolutionOnItsPeriod) {
  EXPECT_EQ(Swizzle::make(3, 4, 3).value()(0x90), 0x80);
  EXPECT_EQ(Swizzle::parse("Swizzle<2,1,-3>")->to_string(), "Sw<2,1,-3>");
  for (int bits = 0; bits <= 3; ++bits) {
    for (int base = 0; base <= 3; ++base) {
      for (int shift = -4; shift <= 4; ++shift) {
        const auto swizzle = Swizzle::make(bits, base, shift);
        ASSERT_EQ(swizzle.has_value(), std::abs(shift) >= bits);
        if (!swizzle) {
          continue;
        }
        std::set<int64_t> reached;
        for (int64_t x = 0; x < swizzle->period(); ++x) {
          ASSERT_EQ((*swizzle)((*swizzle)(x)), x);
          ASSERT_LT((*swizzle)(x), swizzle->period());
          reached.insert((*swizzle)(x));
          // Beyond the period it goes on in blocks.
          ASSERT_EQ((*swizzle)(x + swizzle->period()), (*swizzle)(x) + swizzle->period());
        }
        ASSERT_EQ(static_cast<int64_t>(reached.size()), swizzle->period());
      }
    }
  }
}

TEST(Swizzle, MergesOnlyWhereEqual) {
  for (int m0 = 0; m0 <= 4; ++m0) {
    for (int m1 = 0; m1 <= 4; ++m1) {
      for (int s = 1; s <= 3; ++s) {
        const Swizzle a = Swizzle::make(1, m0, s).value();
        const Swizzle b = Swizzle::make(1, m1, s).value();
        const auto merged = composition(a, b);
        for (int64_t x = 0; merged && x < 1024; ++x) {
          ASSERT_EQ((*merged)(x), a(b(x))) << a.to_string() << " o " << b.to_string();
        }
      }
    }
  }
  EXPECT_EQ(shown(composition(Swizzle::make(1, 0, 2).value(), Swizzle::make(1, 1, 2).value())), "Sw<2,0,2>");
}

TEST(Swizzle, RecastIsTheSamePermutationOfMemory) {
  const ComposedLayout halves = C("Sw<3,3,3> o 0 o (8,64):(64,1)");
  const auto bytes = recast(halves, 16, 8);
  EXPECT_EQ(shown(bytes), "Sw<3,4,3> o 0 o (8,128):(128,1)");
  const auto vectors = recast(halves, 16, 128);
  EXPECT_EQ(shown(vectors), "Sw<3,0,3> o 0 o (8,8):(8,1)");
  for (int64_t row = 0; row < 8; ++row) {
    for (int64_t column = 0; column < 8; ++column) {
      ASSERT_EQ((*vectors)(row + 8 * column) * 8, halves(row + 8 * (column * 8)));
    }
  }
  for (int64_t n : {2, 4, 8, 16, 32}) {
    const Swizzle swizzle = Swizzle::make(2, 2, 3).value();
    for (int64_t x = 0; x < 64; ++x) {
      ASSERT_EQ(upcast(swizzle, n).value()(x), swizzle(x * n) / n) << n;
      ASSERT_EQ(downcast(swizzle, n).value()(x * n), swizzle(x) * n) << n;
    }
  }
}

TEST(Composed, TextSliceAndComposition) {
  const ComposedLayout a = C("Sw<2,1,3> o 5 o (8,(4,2)):(1,(8,32))");
  EXPECT_EQ(C(a.to_string()), a);
  EXPECT_EQ(C("Sw<0,4,3> o 0 o 4:1").to_string(), "4:1");
  const ComposedEvaluator evaluator(a);
  int64_t bound = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(evaluator(i), a.outer()(5 + a.inner()(i)));
    bound = std::max(bound, a(i));
  }
  EXPECT_LT(bound, a.cosize_bound());
  for (int64_t column = 0; column < 8; ++column) {
    const auto row = slice(IntTuple::of(IntTuple::free(), column), a);
    ASSERT_TRUE(row.has_value());
    for (int64_t i = 0; i < 8; ++i) {
      ASSERT_EQ((*row)(i), a(i + 8 * column));
    }
  }
  const auto part = composition(a, L("(4,2):(2,8)"));
  for (int64_t i = 0; i < 8; ++i) {
    ASSERT_EQ((*part)(i), a(L("(4,2):(2,8)")(i)));
  }
}

TEST(SwizzleErrors, NamesLawAndNumbers) {
  EXPECT_FAILS(Swizzle::make(3, 0, 2), Law::SwizzleForm, ({}));
  EXPECT_FAILS(Swizzle::make(-1, 0, 2), Law::SwizzleForm, ({}));
  EXPECT_FAILS(Swizzle::make(1, 40, 40), Law::SwizzleForm, ({}));
  EXPECT_FAILS(Swizzle::make(1, 0, INT64_MIN), Law::SwizzleForm, ({}));
  EXPECT_FAILS(Swizzle::from_masks(0b101, 0b11000), Law::SwizzleMerge, ({}));
  EXPECT_FAILS(composition(Swizzle::make(1, 0, 2).value(), Swizzle::make(1, 0, 3).value()), Law::SwizzleMerge, ({}));
  EXPECT_FAILS(composition(Swizzle::make(1, 0, 1).value(), Swizzle::make(1, 1, 1).value()), Law::SwizzleMerge, ({}));
  EXPECT_FAILS(ComposedLayout::make(Swizzle::make(1, 0, 1).value(), -1, L("4:1")), Law::SwizzleForm, ({}));
  EXPECT_FAILS(ComposedLayout::parse("Sw<1,0,1> o (1,2) o 4:1"), Law::TextForm, ({}));
  EXPECT_FAILS(ComposedLayout::parse("Sw<1,0> o 4:1"), Law::TextForm, ({}));
  EXPECT_FAILS(upcast(Swizzle::make(1, 0, 1).value(), 3), Law::RecastDivisibility, ({}));
  EXPECT_FAILS(recast(C("Sw<1,0,1> o 1 o 4:1"), 8, 16), Law::RecastDivisibility, ({}));
}

}  // namespace
}  // namespace tw::layout
