// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/function.h"
#include "ir/print.h"

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
  ExprId e =
      pool.logical_and(pool.lt(pool.constant(0), kk), pool.lt(pool.constant(1), pool.floor_div(pool.constant(8), kk)));
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

// for k in range(cdiv(K, 32)): acc = acc + load(A[k*32:+32]), stored once: enough to meet most of the grammar.
Function sum_of_chunks() {
  Function f;
  f.name = "sum";
  f.machine = target::find_machine("sm_80");
  f.constants = {{"BK", 32}};
  SymbolId axis = f.exprs.add_symbol("i", SymbolKind::Axis);
  SymbolId size = f.exprs.add_symbol("K", SymbolKind::Size);
  f.sizes = {size};
  ExprId k_size = f.exprs.symbol_ref(size);
  ExprId one = f.exprs.constant(1);
  TagMap tag{{axis}, {{"K", f.exprs.symbol_ref(axis)}}};
  TensorId a = f.add_tensor({"A", Direction::In, ElementType::F32, {k_size}, {one}, {"K"}, tag, {}, {}});
  TensorId d =
      f.add_tensor({"D", Direction::Out, ElementType::F32, {f.exprs.constant(32)}, {one}, {""}, {{axis}, {}}, {}, {}});
  auto tile = [&] { return f.add_value({"t", ElementType::F32, {32}, false, {}, {}}); };
  ValueId zero = tile();
  ValueId head = tile();
  ValueId chunk = tile();
  ValueId next = tile();
  ValueId total = tile();
  SymbolId k = f.exprs.add_symbol("k", SymbolKind::Loop);
  ForOp loop;
  loop.variable = k;
  loop.begin = f.exprs.constant(0);
  loop.end = f.exprs.ceil_div(k_size, f.exprs.constant(32));
  loop.values = {{zero, head, next, total}};
  Region source;
  source.object = a;
  source.axes = {{f.exprs.mul(f.exprs.symbol_ref(k), f.exprs.constant(32)), 32}};
  source.perm = {0};
  LoadOp load;
  load.source = source;
  load.result = chunk;
  loop.body.push_back({f.new_op_id(), {}, load});
  loop.body.push_back({f.new_op_id(), {}, ElementwiseOp{ElementwiseKind::Add, {head, chunk}, next, false}});
  Region target_region;
  target_region.object = d;
  target_region.axes = {{f.exprs.constant(0), 32}};
  target_region.perm = {0};
  f.body.push_back({f.new_op_id(), {}, ConstantOp{0.0, zero}});
  f.body.push_back({f.new_op_id(), {}, loop});
  f.body.push_back({f.new_op_id(), {}, CheckOp{total, {{axis}, {}}, {{"K", f.exprs.constant(0), k_size}}, {}}});
  StoreOp store;
  store.value = total;
  store.destination = target_region;
  f.body.push_back({f.new_op_id(), {}, store});
  return f;
}

TEST(Print, parsing_the_text_form_gives_the_same_text) {
  const Function f = sum_of_chunks();
  ASSERT_TRUE(check_structure(f)) << check_structure(f).error().message;
  const std::string text = print(f);
  auto again = parse(text);
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(print(*again), text);
  EXPECT_TRUE(check_structure(*again));
}

TEST(Parse, names_the_line_and_what_was_expected) {
  std::string text = print(sum_of_chunks());
  text.replace(text.find("store %4"), 8, "store %9");
  auto result = parse(text);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("expected a declared value"), std::string::npos) << result.error().message;
}

TEST(Parse, survives_every_cut_of_a_text) {
  const std::string text = print(sum_of_chunks());
  for (size_t size = 0; size < text.size(); ++size) {
    static_cast<void>(parse(std::string_view(text).substr(0, size)));
  }
}

TEST(Structure, refuses_a_value_used_outside_its_loop) {
  Function f = sum_of_chunks();
  std::get<CheckOp>(f.body[2].body).value = ValueId(2);
  auto status = check_structure(f);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("outside its scope"), std::string::npos);
}

TEST(Structure, refuses_a_shape_that_does_not_fit_its_region) {
  Function f = sum_of_chunks();
  f.values[4].shape = {16};
  EXPECT_FALSE(check_structure(f));
}

}  // namespace
}  // namespace tw::ir
