// SPDX-License-Identifier: Apache-2.0
#include "layout/product.h"

#include "layout/complement.h"
#include "layout/enumerate.h"
#include "layout/test_support.h"

namespace tw::layout {
namespace {

TEST(Product, Examples) {
  EXPECT_EQ(shown(logical_product(L("(2,2):(4,1)"), tiler("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(shown(logical_product(L("(2,2):(4,1)"), tiler("(4,2):(2,1)"))), "((2,2),(4,2)):((4,1),(8,2))");
  EXPECT_EQ(shown(blocked_product(L("(2,5):(5,1)"), L("(3,4):(1,3)"))), "((2,3),(5,4)):((5,10),(1,30))");
  EXPECT_EQ(shown(raked_product(L("(2,5):(5,1)"), L("(3,4):(1,3)"))), "((3,2),(4,5)):((10,5),(30,1))");
  EXPECT_EQ(shown(tile_to_shape(L("(8,8):(8,1)"), T("(16,24)"))), "((8,2),(8,3)):((8,64),(1,128))");
  EXPECT_EQ(shown(tile_to_shape(L("(8,8):(8,1)"), T("(16,24)"), T("(1,0)"))), "((8,2),(8,3)):((8,192),(1,64))");
  EXPECT_EQ(shown(tiled_product(L("(2,2):(4,1)"), tiler("(4,2):(2,1)"))), "((2,2),4,2):((4,1),8,2)");
  EXPECT_EQ(shown(flat_product(L("(2,2):(4,1)"), tiler("(4,2):(2,1)"))), "(2,2,4,2):(4,1,8,2)");
}

// The first mode is the block; if block and tiler are injective so is the whole, as long as the complement holds the
// tiler.
TEST(Product, RepeatsTheBlockWithoutMeeting) {
  LayoutSource source(14);
  int answers = 0;
  for (int n = 0; n < 6000; ++n) {
    const Layout a = source.layout(3, 16);
    const Layout t = source.layout(2, 8);
    const auto product = logical_product(a, t);
    if (!product) {
      continue;
    }
    ++answers;
    ASSERT_EQ(product->mode(0), a);
    ASSERT_EQ(product->size(), a.size() * t.size());
    ASSERT_TRUE(is_compatible(t.shape(), product->mode(1).shape()));
    const Layout places = complement(a, a.size() * t.cosize()).value();
    if (places.size() >= t.cosize() && is_injective(a).value() && is_injective(t).value()) {
      ASSERT_TRUE(is_injective(*product).value()) << a.to_string() << " x " << t.to_string();
    }
    const auto blocked = blocked_product(a, t);
    const auto raked = raked_product(a, t);
    if (blocked && raked) {
      ASSERT_EQ(image(*blocked).value(), image(*product).value());
      ASSERT_EQ(image(*raked).value(), image(*product).value());
    }
  }
  EXPECT_GT(answers, 2000);
}

TEST(ProductErrors, NamesLawAndMode) {
  EXPECT_FAILS(logical_product(L("(4,2):(1,2)"), tiler("3:1")), Law::Injectivity, ({}));
  EXPECT_FAILS(logical_product(L("(4,6):(1,4)"), tiler("<2:1,2:1,2:1>")), Law::Rank, ({}));
  EXPECT_FAILS(zipped_product(L("(4,6):(1,4)"), tiler("<2:1,6:1>")), Law::ShapeDivisibility, ({1}));
  EXPECT_FAILS(logical_product(L("4:4"), tiler("6:1")), Law::ShapeDivisibility, ({}));
  EXPECT_FAILS(logical_product(L("3037000500:1"), tiler("3037000500:1")), Law::Overflow, ({}));
  EXPECT_FAILS(tile_to_shape(L("(8,8):(8,1)"), T("(16,20)")), Law::ShapeDivisibility, ({1}));
  EXPECT_FAILS(tile_to_shape(L("(8,8):(8,1)"), T("64")), Law::Rank, ({}));
  EXPECT_FAILS(blocked_product(L("(4):(2)"), L("6:1")), Law::Rank, ({}));
}

}  // namespace
}  // namespace tw::layout
