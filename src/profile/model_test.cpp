// SPDX-License-Identifier: Apache-2.0
#include "profile/model.h"

#include <gtest/gtest.h>

namespace tw::profile {
namespace {

// Y = X for N elements, a block moves `tile` of them, `vector` a time.
ir::Function copy_kernel(int64_t tile, int vector, int stride) {
  ir::Function f;
  f.name = "copy";
  f.stage = ir::Stage::Lowered;
  f.machine = target::find_machine("sm_80");
  f.threads = 128;
  ir::SymbolId n = f.exprs.add_symbol("N", ir::SymbolKind::Size);
  f.sizes = {n};
  ir::ExprId size = f.exprs.symbol_ref(n);
  ir::SymbolId axis = f.exprs.add_symbol("i", ir::SymbolKind::Axis);
  for (const char* name : {"X", "Y"}) {
    ir::Tensor t;
    t.name = name;
    t.direction = name[0] == 'X' ? ir::Direction::In : ir::Direction::Out;
    t.extents = {size};
    t.strides = {f.exprs.constant(stride)};
    t.dims = {"N"};
    t.tag.axes = {axis};
    f.add_tensor(t);
  }
  ir::TilesOp tiles;
  ir::SymbolId b = f.exprs.add_symbol("b", ir::SymbolKind::TileCoord);
  tiles.variables = {b};
  tiles.extents = {f.exprs.ceil_div(size, f.exprs.constant(tile))};
  const auto per_thread = static_cast<int32_t>(tile / 128);
  target::TvLayout map{{{128, 0, vector}}, {{vector, 0, 1}, {per_thread / vector, 0, 128 * vector}}};
  ir::ValueId x = f.add_value({"x", ElementType::F32, {tile}, false, map, {}});
  ir::Region region;
  region.axes = {{f.exprs.mul(f.exprs.symbol_ref(b), f.exprs.constant(tile)), tile}};
  region.perm = {0};
  ir::LoadOp load;
  load.source = region;
  load.source.object = ir::TensorId(0);
  load.result = x;
  load.access = {vector, {true}};
  ir::StoreOp store;
  store.value = x;
  store.destination = region;
  store.destination.object = ir::TensorId(1);
  store.access = {vector, {true}};
  tiles.body.push_back({f.new_op_id(), {}, load});
  tiles.body.push_back({f.new_op_id(), {}, store});
  f.body.push_back({f.new_op_id(), {}, tiles});
  return f;
}

TEST(Estimate, a_large_copy_is_bound_by_memory_near_the_datasheet_bandwidth) {
  const int64_t n = int64_t{1} << 28;
  auto e = estimate(copy_kernel(4096, 4, 1), {{"N", n}});
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->bound, Bound::Dram);
  const double tb_per_s = 2.0 * 4.0 * static_cast<double>(n) / e->us * 1e-6;
  EXPECT_GT(tb_per_s, 1.5);
  EXPECT_LT(tb_per_s, 2.04);
}

TEST(Estimate, strided_rows_waste_sectors) {
  const std::map<std::string, int64_t> sizes{{"N", int64_t{1} << 24}};
  EXPECT_GT(estimate(copy_kernel(4096, 1, 64), sizes)->us, 2 * estimate(copy_kernel(4096, 1, 1), sizes)->us);
}

TEST(Estimate, narrow_accesses_cost_instructions) {
  const std::map<std::string, int64_t> sizes{{"N", int64_t{1} << 24}};
  EXPECT_GT(estimate(copy_kernel(4096, 1, 1), sizes)->counts.instructions,
            3 * estimate(copy_kernel(4096, 4, 1), sizes)->counts.instructions);
}

TEST(Estimate, needs_every_size) {
  auto e = estimate(copy_kernel(4096, 4, 1), {});
  ASSERT_FALSE(e);
  EXPECT_NE(e.error().message.find("has no value"), std::string::npos);
}

}  // namespace
}  // namespace tw::profile
