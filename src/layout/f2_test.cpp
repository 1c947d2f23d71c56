// SPDX-License-Identifier: Apache-2.0
#include "layout/f2.h"

#include <random>
#include <set>

#include "layout/enumerate.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

F2Matrix random_matrix(std::mt19937_64& random, int out_bits, int in_bits) {
  std::vector<uint64_t> rows;
  for (int i = 0; i < out_bits; ++i) {
    rows.push_back(random() & ((uint64_t{1} << in_bits) - 1));
  }
  return F2Matrix::from_rows(std::move(rows), in_bits).value();
}

// Rank, kernel, image, solve, inverses and products against the map itself at every point.
TEST(F2Matrix, AgreesWithItsMapEverywhere) {
  std::mt19937_64 random(15);
  for (int n = 0; n < 600; ++n) {
    const int in_bits = static_cast<int>(random() % 8);
    const int out_bits = static_cast<int>(random() % 8);
    const F2Matrix a = random_matrix(random, out_bits, in_bits);
    std::set<uint64_t> reached;
    uint64_t zeros = 0;
    for (uint64_t x = 0; x < (uint64_t{1} << in_bits); ++x) {
      reached.insert(a(x));
      zeros += a(x) == 0 ? 1 : 0;
    }
    ASSERT_EQ(reached.size(), uint64_t{1} << a.image_bits());
    ASSERT_EQ(zeros, uint64_t{1} << a.kernel().size());
    for (uint64_t x : a.kernel()) {
      ASSERT_EQ(a(x), 0U);
    }
    for (uint64_t y = 0; y < (uint64_t{1} << out_bits); ++y) {
      const auto x = a.solve(y);
      ASSERT_EQ(x.has_value(), reached.count(y) == 1);
      ASSERT_TRUE(!x || a(*x) == y);
    }
    const auto right = right_inverse(a);
    ASSERT_EQ(right.has_value(), a.is_surjective());
    const auto left = left_inverse(a);
    ASSERT_EQ(left.has_value(), a.is_injective());
    for (uint64_t y = 0; right && y < (uint64_t{1} << out_bits); ++y) {
      ASSERT_EQ(a((*right)(y)), y);
    }
    for (uint64_t x = 0; left && x < (uint64_t{1} << in_bits); ++x) {
      ASSERT_EQ((*left)(a(x)), x);
    }
    const F2Matrix b = random_matrix(random, in_bits, static_cast<int>(random() % 8));
    const F2Matrix product = multiply(a, b).value();
    for (uint64_t x = 0; x < (uint64_t{1} << b.in_bits()); ++x) {
      ASSERT_EQ(product(x), a(b(x)));
    }
    ASSERT_EQ(transpose(transpose(a).value()).value(), a);
    ASSERT_EQ(transpose(a)->rank(), a.rank());
  }
}

TEST(F2Matrix, WorksAtSixtyFourBits) {
  const F2Matrix identity = F2Matrix::identity(64).value();
  EXPECT_EQ(identity.rank(), 64);
  EXPECT_EQ(identity(~uint64_t{0}), ~uint64_t{0});
  EXPECT_EQ(inverse(identity).value(), identity);
  EXPECT_EQ(identity.solve(uint64_t{1} << 63), uint64_t{1} << 63);
}

// The matrix of a layout, swizzled or not, is the layout; where there is none, + is really not xor.
TEST(F2Matrix, OfLayouts) {
  LayoutSource source(16);
  int linear = 0;
  for (int n = 0; n < 4000; ++n) {
    const Layout layout = source.layout();
    const auto swizzle = Swizzle::make(source.below(3), source.below(3), 2 + source.below(2)).value();
    const auto composed = ComposedLayout::make(swizzle, source.below(2) * 256, layout).value();
    const auto map = to_f2(composed);
    if (!map) {
      continue;
    }
    ++linear;
    for (int64_t i = 0; i < layout.size(); ++i) {
      ASSERT_EQ((*map)(static_cast<uint64_t>(i)), static_cast<uint64_t>(composed(i))) << composed.to_string();
    }
    ASSERT_EQ(int64_t{1} << map->linear.image_bits(), static_cast<int64_t>(image(composed)->size()));
    ASSERT_EQ(map->linear.is_injective(), is_injective(composed).value());
  }
  EXPECT_GT(linear, 300);
  EXPECT_EQ(F2Matrix::from_layout(L("(2,4):(1,4)"))->column(2), 8U);
  EXPECT_EQ(F2Matrix::from_swizzle(Swizzle::make(1, 0, 1).value(), 2)->row(0), 3U);
}

TEST(BankConflicts, ClosedFormIsTheCount) {
  // 32 lanes read the column of a row-major tile of 32 floats: every lane in one bank; padded or swizzled, none.
  const auto ways = [](const char* text) {
    const auto values = all_values(C(text)).value();
    return bank_conflict_ways(values).value();
  };
  EXPECT_EQ(ways("32:128"), 32);
  EXPECT_EQ(ways("32:132"), 1);
  EXPECT_EQ(ways("Sw<5,2,5> o 0 o 32:128"), 1);
  EXPECT_EQ(ways("32:0"), 1);
  EXPECT_EQ(ways("32:8"), 2);
  for (const char* text :
       {"32:128", "Sw<5,2,5> o 0 o 32:128", "Sw<3,4,3> o 0 o (8,4):(128,4)", "32:0", "32:8", "(4,8):(4,256)"}) {
    EXPECT_EQ(bank_conflict_ways(to_f2(C(text))->linear).value(), ways(text)) << text;
  }
  EXPECT_EQ(bank_conflict_ways(std::vector<int64_t>{}).value(), 0);
}

TEST(F2Errors, NamesLawAndNumbers) {
  EXPECT_FAILS(F2Matrix::from_layout(L("(3,4):(1,3)")), Law::F2Linear, ({}));
  EXPECT_FAILS(F2Matrix::from_layout(L("(4,4):(1,2)")), Law::F2Linear, ({}));
  EXPECT_FAILS(F2Matrix::from_layout(L("4:-1")), Law::F2Linear, ({}));
  EXPECT_FAILS(F2Matrix::zero(65, 1), Law::F2Size, ({}));
  EXPECT_FAILS(F2Matrix::from_rows({4}, 2), Law::F2Size, ({}));
  EXPECT_FAILS(F2Matrix::from_columns({4}, 2), Law::F2Size, ({}));
  EXPECT_FAILS(F2Matrix::from_swizzle(Swizzle::make(1, 4, 1).value(), 3), Law::F2Size, ({}));
  EXPECT_FAILS(multiply(F2Matrix::identity(2).value(), F2Matrix::identity(3).value()), Law::F2Size, ({}));
  EXPECT_FAILS(inverse(F2Matrix::zero(2, 2).value()), Law::F2Singular, ({}));
  EXPECT_FAILS(inverse(F2Matrix::zero(2, 3).value()), Law::F2Size, ({}));
  EXPECT_FAILS(left_inverse(F2Matrix::zero(2, 2).value()), Law::F2Singular, ({}));
  EXPECT_FAILS(to_f2(C("Sw<1,0,1> o 1 o 4:1")), Law::F2Linear, ({}));
  EXPECT_FAILS(bank_conflict_ways(std::vector<int64_t>{-4}), Law::NonNegativeStride, ({}));
  EXPECT_FAILS(bank_conflict_ways(F2Matrix::identity(4).value(), BankModel{24, 4}), Law::F2Linear, ({}));
}

}  // namespace
}  // namespace tw::layout
