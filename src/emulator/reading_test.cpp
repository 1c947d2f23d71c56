// SPDX-License-Identifier: Apache-2.0
#include "emulator/reading.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "emulator/test_kernels.h"

namespace tw::emulator {
namespace {

using ir::Direction;
using ir::ElementwiseKind;
using test::Builder;
using test::make_gemm;
using test::make_staged_copy;

std::shared_ptr<const std::vector<std::byte>> floats(std::vector<float> values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(float));
  std::memcpy(bytes->data(), values.data(), bytes->size());
  return bytes;
}

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// One block, two vectors of eight f32 elements: X (In, size N), Y (Out, size N); a source function without layouts.
struct Small {
  static constexpr int64_t kWidth = 8;
  Builder b{"small", 32};
  ir::ExprId n = b.size("N");
  ir::TensorId x = b.tensor("X", Direction::In, ElementType::F32, {n});
  ir::TensorId y = b.tensor("Y", Direction::Out, ElementType::F32, {n});

  Small() { b.f.stage = ir::Stage::Source; }

  ir::Region part(std::variant<ir::TensorId, ir::SharedId> object, int64_t lo, int64_t extent = kWidth) {
    return b.region(object, {{b.number(lo), extent}});
  }
  ir::ValueId tile(ElementType type, std::vector<int64_t> shape) {
    ir::Value v;
    v.element = type;
    v.shape = std::move(shape);
    return b.f.add_value(std::move(v));
  }
  ir::ValueId load(std::variant<ir::TensorId, ir::SharedId> object, int64_t lo = 0, double fill = 0) {
    const ir::ValueId v = tile(ElementType::F32, {kWidth});
    b.add(b.f.body, ir::LoadOp{part(object, lo), {}, fill, v, {}});
    return v;
  }
  ir::ValueId apply(ElementwiseKind kind, std::vector<ir::ValueId> operands, ElementType type = ElementType::F32) {
    const ir::ValueId v = tile(type, b.f.value(operands.back()).shape);
    b.add(b.f.body, ir::ElementwiseOp{kind, std::move(operands), v, false});
    return v;
  }
  ir::ValueId constant(double c, std::vector<int64_t> shape = {kWidth}) {
    const ir::ValueId v = tile(ElementType::F32, std::move(shape));
    b.add(b.f.body, ir::ConstantOp{c, v});
    return v;
  }
  ir::ValueId reduce(ir::ValueId operand, ir::ReduceKind kind) {
    const ir::ValueId v = tile(ElementType::F32, {});
    b.add(b.f.body, ir::ReduceOp{operand, 0, kind, 1, 1, v});
    return v;
  }
  ir::ValueId spread(ir::ValueId scalar) {
    const ir::ValueId v = tile(ElementType::F32, {kWidth});
    b.add(b.f.body, ir::BroadcastOp{scalar, {}, v});
    return v;
  }
  void store(ir::ValueId v, std::variant<ir::TensorId, ir::SharedId> object, int64_t lo = 0) {
    b.add(b.f.body, ir::StoreOp{v, part(object, lo), {}, {}});
  }

  Reading run(int64_t size, std::vector<float> input = {}) {
    Problem problem;
    problem.sizes["N"] = size;
    if (!input.empty()) {
      problem.tensors["X"].bytes = floats(std::move(input));
    }
    return run_reading(b.f, problem);
  }
};

void expect_error(const Reading& reading, ReadingErrorKind kind) {
  ASSERT_TRUE(reading.error);
  EXPECT_EQ(reading.error->kind, kind) << name_of(reading.error->kind) << ": " << reading.error->message;
}

TEST(Reading, of_a_lowered_gemm_ignores_order) {
  Problem problem;
  problem.sizes = {{"M", 40}, {"N", 50}, {"K", 104}};
  const ir::Function right = make_gemm({});
  const ir::Function disordered = make_gemm({.pending = 7, .sync_after_wait = false});
  Reading a = run_reading(right, problem);
  Reading b = run_reading(disordered, problem);
  ASSERT_FALSE(a.error) << a.error->message;
  ASSERT_FALSE(b.error) << b.error->message;
  EXPECT_TRUE(compare_outputs(a, b).empty());
  // A text that reads the wrong k slice has a reading, another one.
  Reading wrong = run_reading(make_gemm({.wrong_k_column = 0}), problem);
  ASSERT_FALSE(wrong.error);
  EXPECT_EQ(compare_outputs(a, wrong, 3).size(), 3U);
}

TEST(Reading, missing_sizes_and_broken_assumptions_are_named) {
  Problem problem;
  Reading reading = run_reading(make_staged_copy({}), problem);
  expect_error(reading, ReadingErrorKind::BadProblem);
  EXPECT_NE(reading.error->message.find("`M`"), std::string::npos);
  Small s;
  s.b.f.assumptions.push_back({s.b.f.exprs.eq(s.b.f.exprs.mod(s.n, s.b.number(8)), s.b.number(0)), {}, {}});
  s.store(s.load(s.x), s.y);
  expect_error(s.run(9), ReadingErrorKind::BadProblem);
  EXPECT_FALSE(s.run(8).error);
}

TEST(Reading, infinite_inputs_break_an_assumption_of_finiteness) {
  Small s;
  s.b.f.assumptions.push_back({{}, s.x, {}});
  s.store(s.load(s.x), s.y);
  EXPECT_FALSE(s.run(3, {1, 2, 3}).error);
  expect_error(s.run(3, {1, std::numeric_limits<float>::infinity(), 3}), ReadingErrorKind::BadProblem);
  Problem problem;
  problem.sizes["N"] = 100;
  problem.default_fill = Fill::Special;
  expect_error(run_reading(s.b.f, problem), ReadingErrorKind::BadProblem);
}

TEST(Reading, values_follow_the_text) {
  Small s;
  const ir::ValueId x = s.load(s.x);
  const ir::ValueId sum = s.spread(s.reduce(x, ir::ReduceKind::Add));
  s.store(s.apply(ElementwiseKind::Div, {x, sum}), s.y);
  Reading r = s.run(8, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_FALSE(r.error) << r.error->message;
  EXPECT_EQ(as_floats(r.bytes_of(s.y))[3], 4.0F / 36.0F);
}

TEST(Reading, neutral_pads_vanish_and_live_ones_are_found) {
  // max over a row padded with -inf, and the sum of exp: the row softmax of a ragged row.
  auto softmax = [](double fill) {
    Small s;
    const ir::ValueId x = s.load(s.x, 0, fill);
    const ir::ValueId top = s.spread(s.reduce(x, ir::ReduceKind::Max));
    const ir::ValueId e = s.apply(ElementwiseKind::Exp, {s.apply(ElementwiseKind::Sub, {x, top})});
    const ir::ValueId sum = s.spread(s.reduce(e, ir::ReduceKind::Add));
    s.store(s.apply(ElementwiseKind::Div, {e, sum}), s.y);
    return s.run(5, {1, 2, 3, 4, 5});
  };
  Reading right = softmax(-std::numeric_limits<double>::infinity());
  EXPECT_FALSE(right.error) << right.error->message;
  expect_error(softmax(0.0), ReadingErrorKind::PadReachesOutput);
}

TEST(Reading, zero_times_infinity_is_no_pad) {
  auto scaled = [](float last) {
    Small s;
    // x[4..12) is outside from 8 on; the other factor is inside.
    const ir::ValueId outside = s.load(s.x, 4);
    const ir::ValueId inside = s.load(s.x, 0);
    const ir::ValueId sum = s.spread(s.reduce(s.apply(ElementwiseKind::Mul, {outside, inside}), ir::ReduceKind::Add));
    s.store(sum, s.y);
    return s.run(8, {1, 2, 3, 4, 5, 6, 7, last});
  };
  EXPECT_FALSE(scaled(8.0F).error);
  expect_error(scaled(std::numeric_limits<float>::infinity()), ReadingErrorKind::PadReachesOutput);
}

TEST(Reading, a_pad_alone_is_found_where_it_is_stored) {
  Small s;
  // Shifted by four: the last elements of Y come from outside X.
  s.store(s.load(s.x, 4), s.y, 0);
  Reading r = s.run(8);
  expect_error(r, ReadingErrorKind::PadReachesOutput);
  EXPECT_EQ(r.error->cell->element, (std::vector<int64_t>{4}));
}

TEST(Reading, a_constant_chosen_instead_of_a_pad_is_fine) {
  Small s;
  const ir::ValueId x = s.load(s.x);
  const ir::ValueId mean = s.spread(s.reduce(x, ir::ReduceKind::Add));
  const ir::ValueId centred = s.apply(ElementwiseKind::Sub, {x, mean});
  const ir::ValueId index = s.tile(ElementType::I32, {Small::kWidth});
  s.b.add(s.b.f.body, ir::IotaOp{0, index});
  const ir::ValueId limit = s.tile(ElementType::I32, {});
  s.b.add(s.b.f.body, ir::ExprOp{s.n, limit});
  const ir::ValueId limits = s.tile(ElementType::I32, {Small::kWidth});
  s.b.add(s.b.f.body, ir::BroadcastOp{limit, {}, limits});
  const ir::ValueId inside = s.apply(ElementwiseKind::Lt, {index, limits}, ElementType::Bool);
  const ir::ValueId masked = s.apply(ElementwiseKind::Where, {inside, centred, s.constant(0)});
  s.store(s.spread(s.reduce(masked, ir::ReduceKind::Add)), s.y);
  Reading right = s.run(5);
  EXPECT_FALSE(right.error) << right.error->message;

  // Without the mask the mean itself reaches the sum.
  Small wrong;
  const ir::ValueId wx = wrong.load(wrong.x);
  const ir::ValueId wmean = wrong.spread(wrong.reduce(wx, ir::ReduceKind::Add));
  const ir::ValueId wcentred = wrong.apply(ElementwiseKind::Sub, {wx, wmean});
  wrong.store(wrong.spread(wrong.reduce(wcentred, ir::ReduceKind::Add)), wrong.y);
  expect_error(wrong.run(5), ReadingErrorKind::PadReachesOutput);
}

TEST(Reading, outputs_are_written_once_and_everywhere) {
  Small twice;
  twice.store(twice.load(twice.x), twice.y);
  twice.store(twice.load(twice.x), twice.y);
  Reading r = twice.run(8);
  expect_error(r, ReadingErrorKind::DoubleWrite);
  ASSERT_TRUE(r.error->other_point);

  Small once;
  once.store(once.load(once.x), once.y);
  EXPECT_FALSE(once.run(8).error);
  Reading missing = once.run(20);
  expect_error(missing, ReadingErrorKind::NotWritten);
  EXPECT_EQ(missing.error->cell->element, (std::vector<int64_t>{8}));
}

TEST(Reading, shared_cells_are_written_before_they_are_read) {
  for (bool writes : {false, true}) {
    Small s;
    ir::SharedObject object;
    object.name = "s";
    object.element = ElementType::F32;
    object.shape = {Small::kWidth};
    const ir::SharedId shared = s.b.f.add_shared(object);
    if (writes) {
      s.store(s.load(s.x), shared);
    }
    s.store(s.load(shared), s.y);
    Reading r = s.run(8);
    if (writes) {
      EXPECT_FALSE(r.error);
    } else {
      expect_error(r, ReadingErrorKind::UninitializedRead);
    }
  }
}

TEST(Reading, shared_objects_are_not_indexed_outside) {
  Small s;
  ir::SharedObject object;
  object.name = "s";
  object.element = ElementType::F32;
  object.shape = {Small::kWidth + 3};
  const ir::SharedId shared = s.b.f.add_shared(object);
  s.store(s.load(s.x), shared, 4);
  expect_error(s.run(8), ReadingErrorKind::OutOfBounds);
}

TEST(Reading, a_version_that_was_never_written_is_uninitialized) {
  // Version 1 is read, version 0 written: what a ring without its modulo would hide.
  Small s;
  ir::SharedObject object;
  object.name = "s";
  object.element = ElementType::F32;
  object.shape = {Small::kWidth};
  object.ring = 1;
  const ir::SharedId shared = s.b.f.add_shared(object);
  ir::Region write = s.part(shared, 0);
  write.version = s.b.number(0);
  ir::Region read = s.part(shared, 0);
  read.version = s.b.number(1);
  const ir::ValueId out = s.tile(ElementType::F32, {Small::kWidth});
  s.b.add(s.b.f.body, ir::StoreOp{s.load(s.x), write, {}, {}});
  s.b.add(s.b.f.body, ir::LoadOp{read, {}, 0, out, {}});
  s.store(out, s.y);
  Reading r = s.run(8);
  expect_error(r, ReadingErrorKind::UninitializedRead);
  EXPECT_EQ(r.error->cell->version, 1);
}

TEST(Reading, integer_arithmetic_is_exact_or_refused) {
  Small s;
  const ir::ValueId big = s.tile(ElementType::I32, {});
  s.b.add(s.b.f.body, ir::ExprOp{s.n, big});
  const ir::ValueId doubled = s.tile(ElementType::I32, {});
  s.b.add(s.b.f.body, ir::ElementwiseOp{ElementwiseKind::Add, {big, big}, doubled, false});
  EXPECT_FALSE(s.run(0).error);
  Problem problem;
  problem.sizes["N"] = INT32_MAX;
  ReadingOptions options;
  options.check_coverage = false;
  Reading overflow = run_reading(s.b.f, problem, options);
  expect_error(overflow, ReadingErrorKind::Overflow);
  problem.sizes["N"] = int64_t{INT32_MAX} + 1;
  expect_error(run_reading(s.b.f, problem, options), ReadingErrorKind::Overflow);
}

TEST(Reading, division_by_zero_in_an_index_is_an_error_with_its_place) {
  Small s;
  ir::IfOp branch;
  branch.condition = s.b.f.exprs.lt(s.b.number(0), s.b.f.exprs.floor_div(s.b.number(8), s.n));
  s.b.add(s.b.f.body, std::move(branch));
  expect_error(s.run(0), ReadingErrorKind::DivisionByZero);
}

TEST(Reading, a_loop_without_end_hits_the_limit) {
  Small s;
  ir::ForOp loop;
  loop.variable = s.b.symbol("i", ir::SymbolKind::Loop);
  loop.begin = s.b.number(0);
  loop.end = s.b.number(INT64_MAX);
  s.b.add(loop.body, ir::SyncOp{});
  s.b.add(s.b.f.body, std::move(loop));
  expect_error(s.run(8), ReadingErrorKind::Limit);
}

TEST(Reading, loops_carry_values_in_parallel) {
  // (a, b) = (b, a + b) from (1, 1): Fibonacci.
  Small s;
  const ir::ValueId one = s.constant(1);
  const ir::ValueId a = s.tile(ElementType::F32, {Small::kWidth});
  const ir::ValueId b = s.tile(ElementType::F32, {Small::kWidth});
  const ir::ValueId sum = s.tile(ElementType::F32, {Small::kWidth});
  const ir::ValueId last_a = s.tile(ElementType::F32, {Small::kWidth});
  const ir::ValueId last_b = s.tile(ElementType::F32, {Small::kWidth});
  ir::ForOp loop;
  loop.variable = s.b.symbol("i", ir::SymbolKind::Loop);
  loop.begin = s.b.number(0);
  loop.end = s.b.number(9);
  loop.values = {{one, a, b, last_a}, {one, b, sum, last_b}};
  s.b.add(loop.body, ir::ElementwiseOp{ElementwiseKind::Add, {a, b}, sum, false});
  s.b.add(s.b.f.body, std::move(loop));
  s.store(last_a, s.y);
  Reading r = s.run(8);
  ASSERT_FALSE(r.error) << r.error->message;
  EXPECT_EQ(as_floats(r.bytes_of(s.y))[0], 55.0F);
}

TEST(Reading, blocks_do_not_share_work_cells) {
  Builder b("partials", 32);
  b.f.stage = ir::Stage::Source;
  const ir::ExprId n = b.size("N");
  const ir::TensorId x = b.tensor("X", Direction::In, ElementType::F32, {n});
  const ir::TensorId w = b.tensor("W", Direction::Work, ElementType::F32, {n});
  auto kernel = [&](int64_t shift) {
    Builder k = b;
    ir::TilesOp tiles;
    const ir::SymbolId i = k.symbol("i", ir::SymbolKind::TileCoord);
    tiles.variables = {i};
    tiles.extents = {k.f.exprs.ceil_div(n, k.number(8))};
    const ir::ExprId lo = k.f.exprs.mul(k.ref(i), k.number(8));
    ir::Value v;
    v.shape = {8};
    const ir::ValueId value = k.f.add_value(v);
    const ir::ValueId again = k.f.add_value(v);
    k.add(tiles.body, ir::LoadOp{k.region(x, {{lo, 8}}), {}, 0, value, {}});
    k.add(tiles.body, ir::StoreOp{value, k.region(w, {{lo, 8}}), {}, {}});
    k.add(tiles.body, ir::LoadOp{k.region(w, {{k.f.exprs.sub(lo, k.number(shift)), 8}}), {}, 0, again, {}});
    k.add(k.f.body, std::move(tiles));
    return std::move(k.f);
  };
  Problem problem;
  problem.sizes["N"] = 32;
  const ir::Function own = kernel(0);
  const ir::Function foreign = kernel(4);
  EXPECT_FALSE(run_reading(own, problem).error);
  expect_error(run_reading(foreign, problem), ReadingErrorKind::Discipline);
}

TEST(Walk, every_point_of_a_persistent_grid_is_walked_once) {
  Builder b("tiles", 32);
  b.f.stage = ir::Stage::Source;
  const ir::ExprId n = b.size("N");
  ir::TilesOp tiles;
  tiles.variables = {b.symbol("i", ir::SymbolKind::TileCoord), b.symbol("j", ir::SymbolKind::TileCoord)};
  tiles.extents = {n, b.number(3)};
  tiles.persistent = true;
  ir::Value v;
  const ir::ValueId value = b.f.add_value(v);
  b.f.values[value.index].element = ElementType::I32;
  const ir::ExprId number =
      b.f.exprs.add(b.f.exprs.mul(b.ref(tiles.variables[0]), b.number(3)), b.ref(tiles.variables[1]));
  b.add(tiles.body, ir::ExprOp{number, value});
  b.add(b.f.body, std::move(tiles));
  Problem problem;
  problem.sizes["N"] = 7;
  problem.persistent_blocks = 4;
  const BoundProblem bound = *bind(b.f, problem);
  EXPECT_EQ(bound.grid, 4);
  std::vector<int64_t> seen;
  for (int64_t block = 0; block < bound.grid; ++block) {
    const Walk walk = *walk_block(bound, block);
    for (uint32_t i = 0; i < walk.instances.size(); ++i) {
      seen.push_back(walk.instances[i].scalar);
      EXPECT_EQ(walk.find(walk.point(i)), i);
    }
  }
  std::ranges::sort(seen);
  ASSERT_EQ(seen.size(), 21U);
  for (int64_t i = 0; i < 21; ++i) {
    EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  }
}

}  // namespace
}  // namespace tw::emulator
