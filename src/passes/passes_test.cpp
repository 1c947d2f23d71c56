// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <set>

#include "ir/print.h"
#include "passes/assign_shared.h"
#include "passes/facts.h"
#include "passes/infer_layouts.h"
#include "passes/pass.h"
#include "passes/test_programs.h"

namespace tw::passes {
namespace {

using ir::ExprId;
using ir::ValueId;
using testing::GemmOptions;
using testing::ProgramBuilder;

struct Outcome {
  std::optional<ir::Function> function;
  std::vector<int> codes;
};

Outcome run(const Pipeline& pipeline, const ir::Function& source) {
  diag::Sink sink;
  Outcome out;
  auto lowered = pipeline.run(source, sink);
  for (const diag::Diagnostic& d : sink.diagnostics()) {
    out.codes.push_back(d.code->number);
  }
  if (lowered) {
    out.function = *std::move(lowered);
  }
  return out;
}

ir::Function lowered(const ir::Function& source) {
  Outcome out = run(Pipeline::standard(), source);
  EXPECT_TRUE(out.codes.empty()) << out.codes[0];
  EXPECT_TRUE(out.function.has_value());
  return out.function ? *std::move(out.function) : source;
}

int count_syncs(const ir::Function& function) {
  int count = 0;
  ir::for_each_op(function.body,
                  [&](const ir::Op& op) { count += std::holds_alternative<ir::SyncOp>(op.body) ? 1 : 0; });
  return count;
}

template <class OpType>
std::vector<const OpType*> all(const ir::Function& function) {
  std::vector<const OpType*> out;
  ir::for_each_op(function.body, [&](const ir::Op& op) {
    if (const auto* found = std::get_if<OpType>(&op.body)) {
      out.push_back(found);
    }
  });
  return out;
}

// ---- facts

TEST(Facts, tile_inside_a_divisible_tensor) {
  ProgramBuilder b("f", 32);
  ExprId m = b.size("M");
  b.assume_multiple("M", 128);
  ir::TilesOp tiles;
  tiles.variables = {b.function.exprs.add_symbol("t", ir::SymbolKind::TileCoord)};
  tiles.extents = {b.function.exprs.ceil_div(m, b.c(128))};
  ExprId lo = b.function.exprs.mul(b.function.exprs.symbol_ref(tiles.variables[0]), b.c(128));
  b.add(std::move(tiles));
  Facts facts(b.function);
  EXPECT_TRUE(facts.fits(lo, 128, m));
  EXPECT_FALSE(facts.fits(lo, 129, m));
  EXPECT_TRUE(facts.is_below(lo, m));
}

TEST(Facts, tile_of_a_ragged_tensor_may_reach_outside) {
  ProgramBuilder b("f", 32);
  ExprId m = b.size("M");
  ir::TilesOp tiles;
  tiles.variables = {b.function.exprs.add_symbol("t", ir::SymbolKind::TileCoord)};
  tiles.extents = {b.function.exprs.ceil_div(m, b.c(128))};
  ExprId lo = b.function.exprs.mul(b.function.exprs.symbol_ref(tiles.variables[0]), b.c(128));
  b.add(std::move(tiles));
  Facts facts(b.function);
  EXPECT_FALSE(facts.fits(lo, 128, m));
  EXPECT_TRUE(facts.is_below(lo, m));
}

TEST(Facts, condition_of_a_branch_bounds_what_it_names) {
  ProgramBuilder b("f", 32);
  ExprId k = b.size("K");
  b.assume_multiple("K", 32);
  ir::ExprPool& e = b.function.exprs;
  ExprId i = e.symbol_ref(e.add_symbol("i", ir::SymbolKind::Carried));
  ExprId next = e.add(i, b.c(2));
  Facts facts(b.function);
  ExprId lo = e.mul(next, b.c(32));
  EXPECT_FALSE(facts.fits(lo, 32, k));
  facts.add_condition(e.lt(next, e.ceil_div(k, b.c(32))));
  EXPECT_TRUE(facts.fits(lo, 32, k));
}

TEST(Facts, ranges_agree_with_brute_force) {
  ProgramBuilder b("f", 32);
  ir::ExprPool& e = b.function.exprs;
  ExprId n = b.size("N");
  ir::Assumption small;
  small.condition = e.le(n, b.c(20));
  b.function.assumptions.push_back(small);
  const std::vector<ExprId> expressions{e.mod(n, b.c(7)),
                                        e.floor_div(e.sub(n, b.c(9)), b.c(4)),
                                        e.ceil_div(n, b.c(6)),
                                        e.mul(e.sub(b.c(3), n), n),
                                        e.max(e.sub(n, b.c(5)), b.c(2)),
                                        e.select(e.lt(n, b.c(4)), e.mul(n, b.c(10)), b.c(-3))};
  Facts facts(b.function);
  for (ExprId id : expressions) {
    const Range range = facts.range(id);
    for (int64_t value = 0; value <= 20; ++value) {
      const int64_t x = *e.evaluate(id, [&](ir::SymbolId) { return value; });
      EXPECT_LE(range.lo, x) << e.to_string(id);
      EXPECT_GE(range.hi, x) << e.to_string(id);
      EXPECT_EQ(facts.divisor(id) == 0 ? x : x % facts.divisor(id), 0) << e.to_string(id);
    }
  }
}

// ---- lower_tiles

void expect_bijection(int64_t group, int64_t n0, int64_t n1) {
  GemmOptions o;
  o.raster_group = group;
  ir::Function f = lowered(testing::gemm(o));
  const ir::TilesOp& tiles = *all<ir::TilesOp>(f)[0];
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t linear = 0; linear < n0 * n1; ++linear) {
    auto value_of = [&](ir::SymbolId id) -> std::optional<int64_t> {
      const std::string& name = f.exprs.symbol(id).name;
      return name == "M" ? n0 * 128 : (name == "N" ? n1 * 128 : linear);
    };
    const int64_t x = *f.exprs.evaluate(tiles.decode[0], value_of);
    const int64_t y = *f.exprs.evaluate(tiles.decode[1], value_of);
    EXPECT_TRUE(x >= 0 && x < n0 && y >= 0 && y < n1);
    EXPECT_TRUE(seen.insert({x, y}).second) << x << "," << y;
  }
}

TEST(LowerTiles, every_point_once_in_both_rasters) {
  for (int64_t group : {1, 3, 8}) {
    for (int64_t n0 : {1, 2, 7}) {
      for (int64_t n1 : {1, 5}) {
        expect_bijection(group, n0, n1);
      }
    }
  }
}

TEST(LowerTiles, without_the_pass_nothing_is_decoded) {
  Pipeline pipeline = Pipeline::standard();
  ASSERT_TRUE(pipeline.disable("lower_tiles"));
  ir::Function source = testing::gemm({});
  EXPECT_TRUE(all<ir::TilesOp>(source)[0]->decode.empty());
}

// ---- lower_pipelines

TEST(LowerPipelines, loop_drains_then_meets_then_issues_then_commits) {
  ir::Function f = lowered(testing::gemm({}));
  const auto loops = all<ir::ForOp>(f);
  // The prologue and the loop itself.
  ASSERT_EQ(loops.size(), 2U);
  const ir::Block& prologue = loops[0]->body;
  ASSERT_EQ(prologue.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<ir::IfOp>(prologue[0].body));
  EXPECT_TRUE(std::holds_alternative<ir::CommitOp>(prologue[1].body));
  EXPECT_TRUE(f.exprs.is_constant(loops[0]->end, 2));
  const ir::Block& body = loops[1]->body;
  ASSERT_GE(body.size(), 4U);
  EXPECT_EQ(std::get<ir::DrainOp>(body[0].body).pending, 1);
  EXPECT_TRUE(std::holds_alternative<ir::SyncOp>(body[1].body));
  EXPECT_TRUE(std::holds_alternative<ir::IfOp>(body[2].body));
  EXPECT_TRUE(std::holds_alternative<ir::CommitOp>(body[3].body));
  EXPECT_EQ(f.shared[0].ring, 3);
  EXPECT_EQ(loops[1]->kind, ir::LoopKind::Range);
}

TEST(LowerPipelines, one_stage_is_plain_staging) {
  GemmOptions o;
  o.stages = 1;
  ir::Function f = lowered(testing::gemm(o));
  EXPECT_EQ(f.shared[0].ring, 0);
  const ir::Block& body = all<ir::ForOp>(f)[0]->body;
  EXPECT_TRUE(std::holds_alternative<ir::SyncOp>(body[0].body));
  EXPECT_EQ(all<ir::DrainOp>(f).size(), 1U);
  EXPECT_EQ(count_syncs(f), 2);
}

TEST(LowerPipelines, steps_other_than_one_count_from_zero) {
  ir::Function source = testing::gemm({});
  // for k in range(32, K, 32) instead of range(cdiv(K, 32)).
  ir::for_each_op(source.body, [&](ir::Op& op) {
    if (auto* loop = std::get_if<ir::ForOp>(&op.body)) {
      loop->begin = source.exprs.constant(32);
      loop->end = source.exprs.symbol_ref(source.sizes[1]);
      loop->step = 32;
    }
  });
  ir::Function f = lowered(source);
  const ir::ForOp& loop = *all<ir::ForOp>(f)[1];
  EXPECT_TRUE(f.exprs.is_constant(loop.begin, 0));
  EXPECT_EQ(loop.step, 1);
}

TEST(LowerPipelinesDeathTest, without_the_pass_a_pipeline_is_left_and_noticed) {
  Pipeline pipeline = Pipeline::standard();
  ASSERT_TRUE(pipeline.disable("lower_pipelines"));
  EXPECT_EXIT(run(pipeline, testing::gemm({})), ::testing::ExitedWithCode(70), "is a pipeline in a lowered function");
}

// Adds ops to the body of the (only) loop.
ir::Function with_loop_ops(const std::function<void(ProgramBuilder&, ir::ForOp&)>& change) {
  ProgramBuilder b("g", 128);
  b.function = testing::gemm({});
  ir::for_each_op(b.function.body, [&](ir::Op& op) {
    if (auto* loop = std::get_if<ir::ForOp>(&op.body)) {
      change(b, *loop);
    }
  });
  return std::move(b.function);
}

TEST(LowerPipelines, refuses_a_tile_read_before_it_is_filled) {
  ir::Function source = with_loop_ops([](ProgramBuilder& b, ir::ForOp& loop) {
    ir::Block load;
    b.push(load);
    b.load(b.region(ir::SharedId(0)));
    b.pop();
    loop.body.insert(loop.body.begin(), load[0]);
  });
  EXPECT_EQ(run(Pipeline::standard(), source).codes, std::vector<int>{4001});
}

TEST(LowerPipelines, refuses_a_tile_used_after_the_loop) {
  ProgramBuilder b("g", 128);
  b.function = testing::gemm({});
  auto& tiles = std::get<ir::TilesOp>(b.function.body[0].body);
  b.push(tiles.body);
  b.load(b.region(ir::SharedId(0)));
  EXPECT_EQ(run(Pipeline::standard(), b.function).codes, std::vector<int>{4002});
}

TEST(LowerPipelines, refuses_copies_in_branches_and_explicit_drains) {
  ir::Function nested = with_loop_ops([](ProgramBuilder& b, ir::ForOp& loop) {
    ir::IfOp branch;
    branch.condition = b.function.exprs.lt(b.function.exprs.symbol_ref(loop.variable), b.c(3));
    branch.then_body.push_back(loop.body[0]);
    loop.body[0].body = std::move(branch);
  });
  EXPECT_EQ(run(Pipeline::standard(), nested).codes, std::vector<int>{4003});
  ir::Function drained = with_loop_ops(
      [](ProgramBuilder& b, ir::ForOp& loop) { loop.body.push_back({b.function.new_op_id(), {}, ir::DrainOp{}}); });
  EXPECT_EQ(run(Pipeline::standard(), drained).codes, std::vector<int>{4004});
}

// ---- layouts

void expect_layouts_fit(const ir::Function& f) {
  ir::for_each_op(f.body, [&](const ir::Op& op) {
    for (ValueId id : ir::uses_of(op).values_defined) {
      const ir::Value& value = f.value(id);
      ASSERT_TRUE(value.layout.has_value());
      EXPECT_EQ(value.layout->thread_count(), f.threads);
      auto fault = target::find_fault(*value.layout, value.shape);
      EXPECT_FALSE(fault) << value.name << ": " << fault->to_string();
    }
    if (const auto* copy = std::get_if<ir::CopyOp>(&op.body)) {
      EXPECT_FALSE(target::find_fault(*copy->map, copy->source.tile_shape()));
    }
  });
}

TEST(InferLayouts, every_tile_is_held_exactly_once) {
  for (int threads : {64, 128, 256}) {
    GemmOptions o;
    o.threads = threads;
    expect_layouts_fit(lowered(testing::gemm(o)));
    o.stages = 0;
    expect_layouts_fit(lowered(testing::gemm(o)));
    o.atom = "fma";
    o.bk = 8;
    expect_layouts_fit(lowered(testing::gemm(o)));
    expect_layouts_fit(lowered(testing::softmax(4, 512, threads)));
    expect_layouts_fit(lowered(testing::softmax(1, 96, threads)));
    expect_layouts_fit(lowered(testing::add_one(1000, threads, false)));
  }
}

TEST(InferLayouts, spread_layout_holds_every_element_for_odd_shapes) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{7, 12}, {1, 100}, {48, 6}, {33, 1}}) {
    for (int threads : {32, 96, 128}) {
      target::TvLayout layout = spread_layout(shape, {1, 0}, {0, 1}, 1, threads);
      EXPECT_EQ(layout.thread_count(), threads);
      EXPECT_FALSE(target::find_fault(layout, shape));
    }
  }
}

TEST(InferLayouts, one_tile_in_two_fragments_is_refused) {
  // Operand a of one product and operand b of another: the registers come in another order.
  ProgramBuilder b("f", 32);
  ir::SharedId s = b.shared("s", ElementType::Bf16, {16, 16});
  ValueId x = b.load(b.region(s));
  b.mma(x, b.load(b.region(s)), {}, {16, 16}, "mma_m16n8k16", 1, 1);
  b.mma(b.load(b.region(s)), x, {}, {16, 16}, "mma_m16n8k16", 1, 1);
  EXPECT_EQ(run(Pipeline::standard(), b.function).codes, std::vector<int>{4020});
}

TEST(InferLayouts, an_accumulator_is_an_operand_a_as_it_is) {
  ProgramBuilder b("f", 32);
  ir::SharedId s = b.shared("s", ElementType::Bf16, {16, 16});
  ValueId p = b.mma(b.load(b.region(s)), b.load(b.region(s)), {}, {16, 16}, "mma_m16n8k16", 1, 1);
  b.mma(b.cast(p, ElementType::Bf16), b.load(b.region(s)), {}, {16, 16}, "mma_m16n8k16", 1, 1);
  expect_layouts_fit(lowered(b.function));
}

TEST(InferLayouts, constants_take_the_layout_of_each_user) {
  ProgramBuilder b("f", 32);
  ir::SharedId s = b.shared("s", ElementType::Bf16, {16, 16});
  ir::SharedId w = b.shared("w", ElementType::Bf16, {8, 16});
  ir::TensorId g = b.tensor("G", ir::Direction::Out, ElementType::F32, {b.c(16), b.c(8)}, {"", ""});
  ValueId two = b.constant(2.0, ElementType::F32, {16, 8});
  ValueId d = b.mma(b.load(b.region(s)), b.load(b.region(w)), {}, {16, 8}, "mma_m16n8k16", 1, 1);
  ir::SharedId t = b.shared("t", ElementType::F32, {16, 8});
  b.store(b.elementwise(ir::ElementwiseKind::Mul, {d, two}, ElementType::F32),
          b.region(g, {{b.c(0), 16}, {b.c(0), 8}}));
  ValueId plain = b.load(b.region(t));
  b.store(b.elementwise(ir::ElementwiseKind::Mul, {plain, two}, ElementType::F32), b.region(t));
  expect_layouts_fit(lowered(b.function));
}

// ---- accesses

TEST(PlaceAccesses, divisible_sizes_need_no_guards) {
  ProgramBuilder b("g", 128);
  b.function = testing::gemm({});
  for (const char* name : {"M", "N", "K"}) {
    b.assume_multiple(name, 128);
  }
  ir::Function f = lowered(b.function);
  for (const ir::CopyOp* copy : all<ir::CopyOp>(f)) {
    EXPECT_EQ(copy->access.guards, (std::vector<bool>{false, false}));
    EXPECT_EQ(copy->access.vector_elems, 8);
  }
  EXPECT_EQ(all<ir::StoreOp>(f)[0]->access.guards, (std::vector<bool>{false, false}));
}

TEST(PlaceAccesses, ragged_sizes_are_guarded_and_alignment_limits_the_width) {
  GemmOptions o;
  o.copy = target::CopyKind::Plain;
  o.has_assumption = false;
  o.stages = 1;
  ir::Function f = lowered(testing::gemm(o));
  for (const ir::CopyOp* copy : all<ir::CopyOp>(f)) {
    EXPECT_EQ(copy->access.guards, (std::vector<bool>{true, true}));
    EXPECT_EQ(copy->access.vector_elems, 1);
  }
}

TEST(PlaceAccesses, cp_async_of_two_bytes_is_refused) {
  GemmOptions o;
  o.has_assumption = false;
  EXPECT_EQ(run(Pipeline::standard(), testing::gemm(o)).codes, std::vector<int>{4012});
}

TEST(PlaceAccesses, ldmatrix_transposes_when_memory_runs_along_the_rows) {
  GemmOptions o;
  o.is_b_k_major = true;
  o.swizzle_bytes = 0;
  o.pad = 8;
  ir::Function f = lowered(testing::gemm(o));
  std::set<bool> seen;
  for (const ir::LoadOp* load : all<ir::LoadOp>(f)) {
    EXPECT_EQ(load->matrices, 4);
    seen.insert(load->transposed);
  }
  EXPECT_EQ(seen, (std::set<bool>{false, true}));
}

// ---- shared memory

TEST(AssignShared, objects_do_not_overlap_and_aliases_do) {
  ProgramBuilder b("f", 32);
  ir::SharedId x = b.shared("x", ElementType::F32, {33, 5});
  ir::SharedId z = b.shared("z", ElementType::Bf16, {64, 64}, 128);
  ir::SharedId y = b.shared("y", ElementType::F32, {8, 8});
  b.function.shared_object(y).aliases = {z};
  ir::Function f = lowered(b.function);
  EXPECT_EQ(f.shared_object(y).layout->offset_bytes, f.shared_object(z).layout->offset_bytes);
  EXPECT_EQ(f.shared_object(z).layout->offset_bytes % 1024, 0);
  const int64_t x_begin = f.shared_object(x).layout->offset_bytes;
  const int64_t z_begin = f.shared_object(z).layout->offset_bytes;
  EXPECT_TRUE(x_begin >= z_begin + 8192 || z_begin >= x_begin + 33 * 5 * 4);
  EXPECT_EQ(f.shared_object(z).layout->swizzle.bits(), 3);
}

TEST(AssignShared, refuses_what_the_machine_does_not_have) {
  ProgramBuilder b("f", 32);
  b.shared("x", ElementType::F32, {256, 256});
  EXPECT_EQ(run(Pipeline::standard(), b.function).codes, std::vector<int>{4030});
}

TEST(AssignShared, refuses_a_swizzle_wider_than_the_rows) {
  ProgramBuilder b("f", 32);
  b.shared("x", ElementType::Bf16, {16, 16}, 64);
  EXPECT_EQ(run(Pipeline::standard(), b.function).codes, std::vector<int>{4032});
}

// ---- barriers

ir::Function store_then_load(ir::SyncMode sync, bool is_transposed = true) {
  ProgramBuilder b("f", 64);
  b.function.sync = sync;
  ir::SharedId s = b.shared("s", ElementType::F32, {64, 64});
  ir::TensorId g = b.tensor("G", ir::Direction::Out, ElementType::F32, {b.c(64), b.c(64)}, {"", ""});
  ir::Region whole = b.region(g, {{b.c(0), 64}, {b.c(0), 64}});
  b.store(b.constant(1.0, ElementType::F32, {64, 64}), b.region(s));
  ValueId x = b.load(is_transposed ? ProgramBuilder::transposed(b.region(s)) : b.region(s));
  b.store(x, whole);
  return std::move(b.function);
}

TEST(PlaceBarriers, a_load_of_what_others_stored_waits) {
  EXPECT_EQ(count_syncs(lowered(store_then_load(ir::SyncMode::Auto))), 1);
  EXPECT_EQ(count_syncs(lowered(store_then_load(ir::SyncMode::Manual))), 0);
}

TEST(PlaceBarriers, the_same_thread_needs_none) {
  EXPECT_EQ(count_syncs(lowered(store_then_load(ir::SyncMode::Auto, false))), 0);
}

TEST(PlaceBarriers, without_the_pass_there_are_none) {
  Pipeline pipeline = Pipeline::standard();
  ASSERT_TRUE(pipeline.disable("place_barriers"));
  Outcome out = run(pipeline, store_then_load(ir::SyncMode::Auto));
  ASSERT_TRUE(out.function);
  EXPECT_EQ(count_syncs(*out.function), 0);
}

TEST(PlaceBarriers, a_loop_waits_on_the_way_back_too) {
  ProgramBuilder b("f", 64);
  ir::SharedId s = b.shared("s", ElementType::F32, {64, 64});
  ir::TensorId g = b.tensor("G", ir::Direction::Out, ElementType::F32, {b.c(64), b.c(64)}, {"", ""});
  ir::ForOp loop;
  loop.variable = b.function.exprs.add_symbol("i", ir::SymbolKind::Loop);
  loop.begin = b.c(0);
  loop.end = b.c(4);
  b.push(loop.body);
  b.store(b.constant(1.0, ElementType::F32, {64, 64}), b.region(s));
  b.store(b.load(ProgramBuilder::transposed(b.region(s))), b.region(g, {{b.c(0), 64}, {b.c(0), 64}}));
  b.pop();
  b.add(std::move(loop));
  EXPECT_EQ(count_syncs(lowered(b.function)), 2);
}

TEST(PlaceBarriers, versions_that_lie_in_other_slots_do_not_meet) {
  for (int ring : {1, 2}) {
    ProgramBuilder b("f", 64);
    ir::SharedId s = b.shared("s", ElementType::F32, {64, 64});
    b.function.shared_object(s).ring = ring;
    ir::TensorId g = b.tensor("G", ir::Direction::Out, ElementType::F32, {b.c(64), b.c(64)}, {"", ""});
    b.store(b.constant(1.0, ElementType::F32, {64, 64}), b.region(s, b.c(0)));
    b.store(b.constant(2.0, ElementType::F32, {64, 64}), ProgramBuilder::transposed(b.region(s, b.c(1))));
    (void)g;
    EXPECT_EQ(count_syncs(lowered(b.function)), ring == 1 ? 1 : 0);
  }
}

TEST(PlaceBarriers, a_plain_asynchronous_copy_is_drained_before_its_use) {
  ProgramBuilder b("f", 64);
  ir::TensorId x = b.tensor("X", ir::Direction::In, ElementType::F32, {b.c(64), b.c(64)}, {"", ""});
  ir::TensorId y = b.tensor("Y", ir::Direction::Out, ElementType::F32, {b.c(64), b.c(64)}, {"", ""});
  ir::SharedId s = b.shared("s", ElementType::F32, {64, 64});
  b.copy(b.region(x, {{b.c(0), 64}, {b.c(0), 64}}), b.region(s), target::CopyKind::CpAsync);
  b.store(b.load(b.region(s)), b.region(y, {{b.c(0), 64}, {b.c(0), 64}}));
  ir::Function f = lowered(b.function);
  EXPECT_EQ(all<ir::CommitOp>(f).size(), 1U);
  ASSERT_EQ(all<ir::DrainOp>(f).size(), 1U);
  EXPECT_EQ(all<ir::DrainOp>(f)[0]->pending, 0);
  EXPECT_EQ(count_syncs(f), 1);
}

// ---- reductions

TEST(LowerReductions, only_what_crosses_warps_goes_through_shared_memory) {
  EXPECT_TRUE(lowered(testing::softmax(4, 1024, 128)).shared.empty());
  ir::Function f = lowered(testing::softmax(1, 4096, 256));
  ASSERT_EQ(f.shared.size(), 2U);
  EXPECT_TRUE(f.shared[0].is_scratch);
  EXPECT_EQ(f.shared[0].shape, (std::vector<int64_t>{1, 8}));
  EXPECT_EQ(count_syncs(f), 2);
}

TEST(LowerReductions, manual_synchronization_gets_its_barriers_too) {
  ir::Function source = testing::softmax(1, 4096, 256);
  source.sync = ir::SyncMode::Manual;
  EXPECT_EQ(count_syncs(lowered(source)), 4);
}

// ---- widths

TEST(ChooseWidths, prefetch_index_is_wide_and_tile_index_narrow) {
  ir::Function f = lowered(testing::gemm({}));
  std::set<std::string> wide;
  for (ExprId id : f.wide_exprs) {
    wide.insert(f.exprs.to_string(id));
  }
  bool has_prefetch = false;
  for (const std::string& text : wide) {
    has_prefetch |= text.find("k + 2") != std::string::npos || text.find("2 + k") != std::string::npos;
    EXPECT_EQ(text.find("bm"), std::string::npos) << text;
  }
  EXPECT_TRUE(has_prefetch);
}

TEST(ChooseWidths, the_text_form_names_the_wide_expressions) {
  ir::Function f = lowered(testing::gemm({}));
  const std::string text = ir::print(f);
  auto again = ir::parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ir::print(*again), text);
  EXPECT_EQ(again->wide_exprs.size(), f.wide_exprs.size());
  ir::Function narrow = f;
  narrow.wide_exprs.clear();
  EXPECT_NE(ir::ir_hash(narrow), ir::ir_hash(f));
}

// ---- the pipeline itself

TEST(Pipeline, reports_every_pass_in_order_and_ends_lowered) {
  std::vector<std::string> names;
  diag::Sink sink;
  auto f = Pipeline::standard().run(
      testing::gemm({}), sink, [&](const PassReport& report, const ir::Function&) { names.push_back(report.name); });
  ASSERT_TRUE(f);
  EXPECT_EQ(names.front(), "lower_tiles");
  EXPECT_EQ(names.back(), "choose_widths");
  EXPECT_EQ(names.size(), 9U);
  EXPECT_EQ(f->stage, ir::Stage::Lowered);
  EXPECT_TRUE(ir::check_structure(*f));
}

TEST(Pipeline, lowering_is_deterministic) {
  EXPECT_EQ(ir::ir_hash(lowered(testing::gemm({}))), ir::ir_hash(lowered(testing::gemm({}))));
}

}  // namespace
}  // namespace tw::passes
