// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/function.h"

namespace tw::ir {
namespace {

TEST(ExprPool, equal_expressions_share_one_id) {
  ExprPool pool;
  ExprId m = pool.symbol_ref(pool.add_symbol("M", SymbolKind::Size));
  ExprId k = pool.symbol_ref(pool.add_symbol("K", SymbolKind::Size));
  EXPECT_EQ(pool.add(m, k), pool.add(k, m));
  EXPECT_NE(pool.sub(m, k), pool.sub(k, m));
}

TEST(ExprPool, folds_constants_with_floor_semantics) {
  ExprPool pool;
  EXPECT_EQ(pool.constant_value(pool.floor_div(pool.constant(-7), pool.constant(2))), -4);
  EXPECT_EQ(pool.constant_value(pool.mod(pool.constant(-7), pool.constant(2))), 1);
  EXPECT_EQ(pool.constant_value(pool.ceil_div(pool.constant(7), pool.constant(2))), 4);
  EXPECT_EQ(pool.constant_value(pool.ceil_div(pool.constant(-7), pool.constant(2))), -3);
}

TEST(ExprPool, does_not_fold_what_has_no_value) {
  ExprPool pool;
  ExprId zero = pool.constant(0);
  EXPECT_FALSE(pool.constant_value(pool.floor_div(pool.constant(1), zero)));
  ExprId big = pool.constant(INT64_MAX);
  EXPECT_FALSE(pool.constant_value(pool.add(big, pool.constant(1))));
}

TEST(ExprPool, substitute_simplifies_on_the_way) {
  ExprPool pool;
  SymbolId k = pool.add_symbol("k", SymbolKind::Loop);
  ExprId e = pool.add(pool.mul(pool.symbol_ref(k), pool.constant(32)), pool.constant(5));
  EXPECT_EQ(pool.constant_value(pool.substitute(e, {{k, pool.constant(2)}})), 69);
}

TEST(ExprPool, evaluate_guards_the_second_operand_of_and) {
  ExprPool pool;
  SymbolId k = pool.add_symbol("k", SymbolKind::Loop);
  ExprId kk = pool.symbol_ref(k);
  ExprId e = pool.logical_and(pool.lt(pool.constant(0), kk), pool.lt(pool.constant(1), pool.floor_div(pool.constant(8), kk)));
  EXPECT_EQ(pool.evaluate(e, [](SymbolId) { return 0; }), 0);
  EXPECT_EQ(pool.evaluate(e, [](SymbolId) { return 2; }), 1);
}

TEST(Region, tile_shape_follows_the_permutation) {
  Region region;
  region.axes = {{ExprId{}, 0}, {ExprId{}, 16}, {ExprId{}, 32}};
  region.perm = {1, 0};
  EXPECT_EQ(region.tile_shape(), (std::vector<int64_t>{32, 16}));
  EXPECT_EQ(region.object_axis(0), 2);
}

}  // namespace
}  // namespace tw::ir
