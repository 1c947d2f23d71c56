// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "codegen/address.h"
#include "codegen/launch.h"

namespace tw::codegen {
namespace {

using target::TvLayout;
using target::TvMode;

// Calls visit(register, coordinates) for every access of a thread.
void for_each_access(const AccessPlan& plan, int64_t thread,
                     const std::function<void(int64_t, const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> digits(plan.loops.size(), 0);
  while (true) {
    std::vector<int64_t> coord;
    for (const ThreadTerms& terms : plan.start) {
      coord.push_back(evaluate(terms, thread));
    }
    int64_t reg = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      reg += digits[i] * plan.loops[i].register_stride;
      if (plan.loops[i].axis >= 0) {
        coord[plan.loops[i].axis] += digits[i] * plan.loops[i].stride;
      }
    }
    visit(reg, coord);
    size_t i = 0;
    for (; i < digits.size() && ++digits[i] == plan.loops[i].extent; ++i) {
      digits[i] = 0;
    }
    if (i == digits.size()) {
      return;
    }
  }
}

const TvLayout kAccumulator{{{4, 1, 2}, {8, 0, 1}, {2, 0, 32}, {2, 1, 64}},
                            {{2, 1, 1}, {2, 0, 8}, {8, 1, 8}, {2, 0, 16}}};

TEST(AccessPlan, starts_and_loops_reach_what_the_layout_says) {
  for (int vector : {1, 2}) {
    const AccessPlan plan = plan_access(kAccumulator, 2, vector, true);
    for (int64_t thread : {0, 5, 31, 77, 127}) {
      int64_t count = 0;
      for_each_access(plan, thread, [&](int64_t reg, const std::vector<int64_t>& coord) {
        const target::TileCoord expected = kAccumulator.coord(thread, reg);
        EXPECT_EQ(coord[0], expected[0]);
        EXPECT_EQ(coord[1], expected[1]);
        ++count;
      });
      EXPECT_EQ(count * vector, kAccumulator.value_count());
    }
  }
}

TEST(AccessPlan, only_first_owners_write_and_copies_in_registers_are_left_out) {
  const TvLayout layout{{{4, TvMode::kReplicated, 0}, {8, 0, 1}}, {{2, TvMode::kReplicated, 0}, {3, 0, 8}}};
  const AccessPlan write = plan_access(layout, 1, 1, true);
  int owners = 0;
  for (int64_t thread = 0; thread < 32; ++thread) {
    EXPECT_EQ(evaluate(write.owner, thread) == 0, layout.is_first_owner(thread));
    owners += evaluate(write.owner, thread) == 0 ? 1 : 0;
  }
  EXPECT_EQ(owners, 8);
  EXPECT_EQ(write.loops.size(), 1U);
  EXPECT_EQ(plan_access(layout, 1, 1, false).loops.size(), 2U);
}

// ldmatrix as the instruction works, against the fragment that the layout asks for.
void expect_fragment(const TvLayout& layout, int matrices, bool transposed) {
  auto plan = plan_ldmatrix(layout, 2, matrices, transposed);
  ASSERT_TRUE(plan);
  const int64_t warps = layout.thread_count() / 32;
  for (int64_t warp = 0; warp < warps; ++warp) {
    // Row r of matrix j as its lane gives it, for each repetition.
    std::map<int64_t, std::map<int64_t, std::vector<int64_t>>> rows;
    for (int64_t lane = 0; lane < 8 * matrices; ++lane) {
      for_each_access(*plan, warp * 32 + lane,
                      [&](int64_t reg, const std::vector<int64_t>& coord) { rows[reg][lane] = coord; });
    }
    for (const auto& [base, lanes] : rows) {
      for (int lane = 0; lane < 32; ++lane) {
        for (int value = 0; value < 2 * matrices; ++value) {
          const target::LdmatrixElement e = target::ldmatrix_element(lane, value, transposed);
          std::vector<int64_t> at = lanes.at(8 * e.matrix + e.row);
          // A row of a matrix runs along the axis that is contiguous in memory.
          at[transposed ? 0 : 1] += e.column;
          const target::TileCoord expected = layout.coord(warp * 32 + lane, base + value);
          EXPECT_EQ(at[0], expected[0]);
          EXPECT_EQ(at[1], expected[1]);
        }
      }
    }
  }
}

TEST(LdmatrixPlan, delivers_the_fragment) {
  const target::Machine& machine = *target::find_machine("sm_80");
  const target::MmaAtom& atom =
      *machine.find_mma("mma_m16n8k16", ElementType::Bf16, ElementType::Bf16, ElementType::F32);
  auto tiling = target::tile_mma(atom, 64, 64, 32, 128, 2, 2);
  ASSERT_TRUE(tiling);
  for (bool transposed : {false, true}) {
    expect_fragment(tiling->a, 4, transposed);
    expect_fragment(tiling->b, 4, transposed);
    expect_fragment(tiling->b, 2, transposed);
  }
}

TEST(LdmatrixPlan, refuses_more_matrices_than_there_are) {
  const TvLayout pair{{{4, 1, 2}, {8, 0, 1}}, {{2, 1, 1}, {2, 0, 8}}};
  EXPECT_TRUE(plan_ldmatrix(pair, 2, 2, false));
  EXPECT_FALSE(plan_ldmatrix(pair, 2, 4, false));
}

TEST(RegisterMap, finds_the_row_of_each_accumulator) {
  const TvLayout rows = target::project(kAccumulator, {0});
  auto terms = register_map(kAccumulator, rows, {0});
  ASSERT_TRUE(terms);
  for (int64_t value = 0; value < kAccumulator.value_count(); ++value) {
    EXPECT_EQ(rows.value_offset(evaluate(*terms, value))[0], kAccumulator.value_offset(value)[0]);
  }
}

TEST(RegisterMap, has_no_answer_for_elements_of_other_threads) {
  const TvLayout half{{}, {{2, 0, 1}}};
  const TvLayout whole{{}, {{4, 0, 1}}};
  EXPECT_FALSE(register_map(whole, half, {0}));
}

TEST(Terms, text_and_value_agree_on_the_form) {
  const ThreadTerms terms{{1, 4, 2}, {32, 2, 64}};
  EXPECT_EQ(to_text(terms, "t"), "t % 4 * 2 + t / 32 % 2 * 64");
  EXPECT_EQ(evaluate(terms, 37), 2 + 64);
  EXPECT_EQ(to_text({}, "t"), "0");
}

ir::Function tiled_function() {
  ir::Function function;
  function.name = "f";
  function.machine = target::find_machine("sm_80");
  ir::ExprPool& e = function.exprs;
  function.sizes = {e.add_symbol("N", ir::SymbolKind::Size)};
  const ir::ExprId n = e.symbol_ref(function.sizes[0]);
  ir::Tensor tensor;
  tensor.name = "X";
  tensor.direction = ir::Direction::Out;
  tensor.extents = {n};
  tensor.strides = {e.constant(1)};
  tensor.dims = {"N"};
  function.add_tensor(tensor);
  ir::Assumption assumption;
  assumption.condition = e.eq(e.mod(n, e.constant(8)), e.constant(0));
  function.assumptions.push_back(assumption);
  ir::TilesOp tiles;
  tiles.variables = {e.add_symbol("t", ir::SymbolKind::TileCoord)};
  tiles.extents = {e.ceil_div(n, e.constant(128))};
  function.body.push_back({1, {}, std::move(tiles)});
  return function;
}

TEST(LaunchPlan, grid_and_preconditions_follow_the_sizes) {
  const ir::Function function = tiled_function();
  const LaunchPlan plan = plan_launch(function);
  auto with = [](int64_t n) { return [n](ir::SymbolId) -> std::optional<int64_t> { return n; }; };
  EXPECT_EQ(grid_blocks(plan, function, with(1)).value(), 1);
  EXPECT_EQ(grid_blocks(plan, function, with(1000)).value(), 8);
  EXPECT_EQ(grid_blocks(plan, function, with(0)).value(), 0);
  EXPECT_TRUE(violated_conditions(plan, function, with(16)).empty());
  EXPECT_EQ(violated_conditions(plan, function, with(17)).size(), 1U);
  EXPECT_EQ(plan.parameters.size(), 2U);
  EXPECT_EQ(plan.parameters[1].name, "N");
}

TEST(LaunchPlan, a_grid_without_a_value_is_an_error) {
  const ir::Function function = tiled_function();
  EXPECT_FALSE(grid_blocks(plan_launch(function), function, [](ir::SymbolId) { return std::nullopt; }));
}

TEST(CheckReady, names_what_is_missing) {
  ir::Function function = tiled_function();
  EXPECT_EQ(check_ready(function).error().message, "the function is not lowered");
  function.stage = ir::Stage::Lowered;
  EXPECT_EQ(check_ready(function).error().message, "op 1: a tile space without a decoding");
}

}  // namespace
}  // namespace tw::codegen
