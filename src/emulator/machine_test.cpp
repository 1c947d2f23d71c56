// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include "base/float16.h"
#include "emulator/elements.h"
#include "emulator/test_kernels.h"
#include "ir/print.h"

namespace tw::emulator {
namespace {

using test::GemmIds;
using test::GemmOptions;
using test::make_gemm;
using test::make_staged_copy;
using test::StagedOptions;

Problem gemm_problem(int64_t m, int64_t n, int64_t k) {
  Problem problem;
  problem.sizes = {{"M", m}, {"N", n}, {"K", k}};
  return problem;
}

std::string describe(const MachineRun& run) {
  if (run.reading_error) {
    return run.reading_error->message;
  }
  return run.violations.empty() ? "nothing wrong" : to_string(run.violations.front());
}

// The kinds found over the standard schedules.
std::set<ViolationKind> kinds_found(const ir::Function& f, const Problem& problem, size_t count = 24) {
  std::set<ViolationKind> kinds;
  for (const Schedule& schedule : standard_schedules(f.threads, count, 1)) {
    for (const Violation& v : run_machine(f, problem, schedule).violations) {
      kinds.insert(v.kind);
    }
  }
  return kinds;
}

TEST(Machine, staged_copy_is_right_under_every_schedule) {
  const ir::Function f = make_staged_copy({});
  ASSERT_TRUE(ir::check_structure(f));
  Problem problem;
  problem.sizes = {{"M", 70}, {"N", 45}};
  for (const Schedule& schedule : standard_schedules(f.threads, 24, 7)) {
    MachineRun run = run_machine(f, problem, schedule);
    ASSERT_TRUE(run.is_good()) << to_string(schedule) << ": " << describe(run);
    EXPECT_EQ(run.bytes_of(ir::TensorId(1)), *initial_bytes(f, problem, ir::TensorId(0)));
  }
}

TEST(Machine, a_missing_barrier_is_found_though_the_in_order_schedule_hides_it) {
  const ir::Function f = make_staged_copy({.sync = false});
  Problem problem;
  problem.sizes = {{"M", 32}, {"N", 32}};
  EXPECT_TRUE(run_machine(f, problem).is_good());
  Hunt found = hunt(f, problem, standard_schedules(f.threads, 16, 1));
  ASSERT_TRUE(found.schedule);
  const Violation& v = found.run.violations.front();
  EXPECT_EQ(v.kind, ViolationKind::StaleRead) << to_string(v);
  ASSERT_TRUE(v.expected);
  EXPECT_NE(v.expected->thread, v.access.thread);
  EXPECT_EQ(v.cell->object, "sA");
}

TEST(Machine, holds_realise_one_chosen_order) {
  uint32_t store = 0;
  uint32_t load = 0;
  const ir::Function f = make_staged_copy({.sync = false}, &store, &load);
  Problem problem;
  problem.sizes = {{"M", 32}, {"N", 32}};
  // Thread 40 = (lane 8 of warp 1) writes row 1, which thread 1 reads: let the reader go first.
  Schedule schedule;
  schedule.holds = {{{40}, {store, 0, {}}, 1, {load, 0, {}}}};
  Replay got = replay(f, problem, schedule, 0);
  ASSERT_TRUE(got.violation);
  EXPECT_EQ(got.violation->expected->thread, 40) << to_string(*got.violation);
  // With the barrier, the hold can only expire.
  const ir::Function right = make_staged_copy({}, &store, &load);
  schedule.holds = {{{40}, {store, 0, {}}, 1, {load, 0, {}}}};
  MachineRun run = run_machine(right, problem, schedule);
  EXPECT_TRUE(run.is_good()) << describe(run);
  EXPECT_TRUE(run.hold_expired);
}

TEST(Machine, unguarded_tails_leave_the_tensor) {
  const ir::Function f = make_staged_copy({.guards = false});
  Problem problem;
  problem.sizes = {{"M", 33}, {"N", 32}};
  const std::set<ViolationKind> kinds = kinds_found(f, problem, 1);
  EXPECT_TRUE(kinds.contains(ViolationKind::OutOfBoundsRead));
  EXPECT_TRUE(kinds.contains(ViolationKind::OutOfBoundsWrite));
  // Inside the allocation a read gets the neighbour, a write destroys it.
  problem.sizes = {{"M", 32}, {"N", 33}};
  EXPECT_TRUE(kinds_found(f, problem, 1).contains(ViolationKind::OutOfBoundsWrite));
}

TEST(Machine, gemm_equals_its_reading_bit_by_bit) {
  for (ElementType type : {ElementType::Bf16, ElementType::F16, ElementType::Tf32}) {
    for (bool swizzle : {false, true}) {
      GemmOptions o;
      o.type = type;
      o.swizzle = swizzle && type != ElementType::Tf32;
      const ir::Function f = make_gemm(o);
      ASSERT_TRUE(ir::check_structure(f)) << ir::check_structure(f).error().message;
      for (const Schedule& schedule : standard_schedules(f.threads, 12, 3)) {
        MachineRun run = run_machine(f, gemm_problem(40, 50, 104), schedule);
        ASSERT_TRUE(run.is_good()) << to_string(schedule) << ": " << describe(run);
      }
    }
  }
}

TEST(Machine, gemm_is_the_product) {
  const ir::Function f = make_gemm({});
  Problem problem = gemm_problem(33, 17, 72);
  problem.default_fill = Fill::Grid;
  MachineRun run = run_machine(f, problem);
  ASSERT_TRUE(run.is_good()) << describe(run);
  const auto a = *initial_bytes(f, problem, ir::TensorId(0));
  const auto b = *initial_bytes(f, problem, ir::TensorId(1));
  const auto d = run.bytes_of(ir::TensorId(2));
  auto bf16 = [](const std::vector<std::byte>& bytes, int64_t i) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    return bf16_to_f32(bits);
  };
  for (int64_t m = 0; m < 33; ++m) {
    for (int64_t n = 0; n < 17; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < 72; ++k) {
        sum += bf16(a, m * 72 + k) * bf16(b, n * 72 + k);
      }
      float got = 0;
      std::memcpy(&got, d.data() + 4 * (m * 17 + n), 4);
      ASSERT_EQ(got, sum) << m << ", " << n;
    }
  }
}

TEST(Machine, wait_off_by_one_reads_pending_or_stale_data) {
  const ir::Function f = make_gemm({.pending = 2});
  const std::set<ViolationKind> kinds = kinds_found(f, gemm_problem(32, 32, 160));
  EXPECT_TRUE(kinds.contains(ViolationKind::StaleRead));
  EXPECT_TRUE(kinds.contains(ViolationKind::PendingRead));
}

TEST(Machine, no_barrier_between_wait_and_read_is_found) {
  const ir::Function f = make_gemm({.sync_after_wait = false, .sync_at_end = true});
  EXPECT_TRUE(run_machine(f, gemm_problem(32, 32, 160)).is_good());
  EXPECT_FALSE(kinds_found(f, gemm_problem(32, 32, 160)).empty());
}

TEST(Machine, a_ring_with_too_few_slots_is_overwritten) {
  // Three copies in flight and two slots: the copy lands on the version that is being read.
  const ir::Function f = make_gemm({.stages = 3, .ring = 2, .sync_at_end = true});
  EXPECT_TRUE(kinds_found(f, gemm_problem(32, 32, 160)).contains(ViolationKind::OverwrittenRead));
}

TEST(Machine, fragments_in_the_wrong_order_give_wrong_elements) {
  const ir::Function f = make_gemm({.swap_fragments = true});
  const std::set<ViolationKind> kinds = kinds_found(f, gemm_problem(32, 32, 32), 1);
  EXPECT_FALSE(kinds.empty());
}

TEST(Machine, a_transposed_ldmatrix_takes_its_rows_across_memory_rows) {
  // The rows that the transposed form wants start in the middle of 16 bytes.
  const ir::Function f = make_gemm({.transpose_b_load = true});
  EXPECT_TRUE(kinds_found(f, gemm_problem(32, 32, 32), 1).contains(ViolationKind::Misaligned));
}

TEST(Machine, a_missing_guard_along_k_reads_the_next_row) {
  const ir::Function f = make_gemm({.guard_k = false});
  const std::set<ViolationKind> kinds = kinds_found(f, gemm_problem(32, 32, 40), 1);
  EXPECT_FALSE(kinds.empty());
  EXPECT_TRUE(kinds_found(f, gemm_problem(32, 32, 64), 4).empty());
}

TEST(Machine, a_vector_that_straddles_the_edge_is_not_guarded) {
  // 20 elements a row are no multiple of 8: the second vector of a row is half outside, and rows are misaligned.
  const ir::Function f = make_gemm({});
  EXPECT_FALSE(kinds_found(f, gemm_problem(32, 32, 20), 1).empty());
}

TEST(Machine, a_few_blocks_of_a_huge_problem) {
  const ir::Function f = make_gemm({});
  Problem problem = gemm_problem(int64_t{1} << 31, 64, 64);
  MachineOptions options;
  options.blocks = {0, 12345, 134217727};
  MachineRun run = run_machine(f, problem, {}, options);
  EXPECT_TRUE(run.is_good()) << describe(run);
}

TEST(Machine, a_landing_is_placed_exactly) {
  GemmIds ids;
  const ir::Function f = make_gemm({.stages = 3, .ring = 2, .sync_at_end = true}, &ids);
  // Thread 2's copy of version 2 (columns 16 to 23, issued in iteration 0) lands just before the warp of thread 0 reads
  // these columns of version 0.
  Schedule schedule;
  schedule.landings = {{{ids.copy_a, 0, {0}}, 2, {ids.load_a, 0, {0}}, 0}};
  Replay got = replay(f, gemm_problem(32, 32, 160), schedule, 0);
  ASSERT_TRUE(got.violation);
  EXPECT_EQ(got.violation->kind, ViolationKind::OverwrittenRead) << to_string(*got.violation);
  EXPECT_EQ(got.violation->got->point.op_id, ids.copy_a);
}

TEST(Machine, the_same_schedule_gives_the_same_run) {
  const ir::Function f = make_gemm({.pending = 2});
  Schedule schedule;
  schedule.mode = ScheduleMode::Random;
  schedule.async = AsyncMode::Random;
  schedule.seed = 99;
  MachineRun one = run_machine(f, gemm_problem(64, 64, 160), schedule);
  MachineRun two = run_machine(f, gemm_problem(64, 64, 160), schedule);
  ASSERT_EQ(one.violations.size(), two.violations.size());
  for (size_t i = 0; i < one.violations.size(); ++i) {
    EXPECT_EQ(to_string(one.violations[i]), to_string(two.violations[i]));
  }
}

// Y[i, :] = X[i, :] / sum(X[i, :]) on tiles of 4 x 64, a row across two warps.
struct RowSumOptions {
  bool through_scratch = true;
  bool sync = true;
  // Lanes of one warp only: no scratch is needed.
  bool swap_rows = false;
};
ir::Function make_row_normalize(const RowSumOptions& o) {
  using target::TvLayout;
  constexpr int kNone = target::TvMode::kReplicated;
  test::Builder b("row_normalize", 64);
  const ir::ExprId m = b.size("M");
  const ir::ExprId n = b.number(64);
  const ir::TensorId x = b.tensor("X", ir::Direction::In, ElementType::F32, {m, n});
  const ir::TensorId y = b.tensor("Y", ir::Direction::Out, ElementType::F32, {m, n});
  const TvLayout tile{{{32, 1, 1}, {2, 1, 32}}, {{4, 0, 1}}};
  const TvLayout partial{{{32, kNone, 0}, {2, 1, 1}}, {{4, 0, 1}}};
  const TvLayout gathered{{{64, kNone, 0}}, {{2, 1, 1}, {4, 0, 1}}};
  const TvLayout row{{{64, kNone, 0}}, {{4, 0, 1}}};
  const ir::SymbolId i = b.symbol("i", ir::SymbolKind::TileCoord);
  const ir::SymbolId linear = b.symbol("t", ir::SymbolKind::TileIndex);
  ir::TilesOp tiles;
  tiles.variables = {i};
  tiles.extents = {b.f.exprs.ceil_div(m, b.number(4))};
  tiles.linear = linear;
  tiles.decode = {b.ref(linear)};
  const ir::ExprId lo = b.f.exprs.mul(b.ref(i), b.number(4));
  const ir::ValueId v = b.value("x", ElementType::F32, {4, 64}, tile);
  const ir::ValueId sum = b.value("sum", ElementType::F32, {4}, row);
  const ir::ValueId spread = b.value("spread", ElementType::F32, {4, 64}, tile);
  const ir::ValueId result = b.value("result", ElementType::F32, {4, 64}, tile);
  b.add(tiles.body, ir::LoadOp{b.region(x, {{lo, 4}, {b.number(0), 64}}), {}, 0.0, v, {1, {true, false}}});
  if (o.through_scratch) {
    const ir::SharedId scratch = b.shared("scratch", ElementType::F32, {4, 2});
    const ir::ValueId part = b.value("part", ElementType::F32, {4, 2}, partial);
    const ir::ValueId parts = b.value("parts", ElementType::F32, {4, 2}, gathered);
    const ir::Region all = b.region(scratch, {{b.number(0), 4}, {b.number(0), 2}});
    b.add(tiles.body, ir::ReduceOp{v, 1, ir::ReduceKind::Add, 2, 32, part});
    b.add(tiles.body, ir::StoreOp{part, all, {}, {}});
    if (o.sync) {
      b.add(tiles.body, ir::SyncOp{});
    }
    b.add(tiles.body, ir::LoadOp{all, {}, 0.0, parts, {}});
    b.add(tiles.body, ir::ReduceOp{parts, 1, ir::ReduceKind::Add, 1, 1, sum});
  } else {
    b.add(tiles.body, ir::ReduceOp{v, 1, ir::ReduceKind::Add, 1, 1, sum});
  }
  b.add(tiles.body, ir::BroadcastOp{sum, {0}, spread});
  b.add(tiles.body, ir::ElementwiseOp{ir::ElementwiseKind::Div, {v, spread}, result, false});
  b.add(tiles.body, ir::StoreOp{result, b.region(y, {{lo, 4}, {b.number(0), 64}}), {}, {1, {true, false}}});
  b.add(b.f.body, std::move(tiles));
  return std::move(b.f);
}

TEST(Machine, reductions_across_warps_agree_within_the_order_of_additions) {
  const ir::Function f = make_row_normalize({});
  ASSERT_TRUE(ir::check_structure(f)) << ir::check_structure(f).error().message;
  Problem problem;
  problem.sizes["M"] = 10;
  for (const Schedule& schedule : standard_schedules(f.threads, 10, 5)) {
    MachineRun run = run_machine(f, problem, schedule);
    EXPECT_TRUE(run.is_good()) << describe(run);
  }
  // The order differs from the reading's, so the bits do too: the bound is needed.
  MachineRun run = run_machine(f, problem);
  EXPECT_NE(run.bytes_of(ir::TensorId(1)), run_reading(f, problem).bytes_of(ir::TensorId(1)));
}

TEST(Machine, a_reduction_without_its_barrier_is_found) {
  EXPECT_FALSE(kinds_found(make_row_normalize({.sync = false}),
                           [] {
                             Problem problem;
                             problem.sizes["M"] = 4;
                             return problem;
                           }())
                   .empty());
}

TEST(Machine, a_reduction_does_not_see_other_warps) {
  Problem problem;
  problem.sizes["M"] = 4;
  const std::set<ViolationKind> kinds = kinds_found(make_row_normalize({.through_scratch = false}), problem, 1);
  EXPECT_EQ(kinds, std::set<ViolationKind>{ViolationKind::LayoutMismatch});
}

TEST(Machine, contributions_to_an_accumulator_are_counted) {
  for (bool duplicate : {false, true}) {
    test::Builder b("accumulate", 32);
    const ir::ExprId m = b.size("M");
    const ir::TensorId x = b.tensor("X", ir::Direction::In, ElementType::F32, {m, b.number(32)});
    const ir::TensorId y = b.tensor("Y", ir::Direction::Acc, ElementType::F32, {b.number(32)});
    b.f.tensors[y.index].acc_op = ir::ReduceKind::Add;
    ir::TilesOp tiles;
    const ir::SymbolId i = b.symbol("i", ir::SymbolKind::TileCoord);
    tiles.variables = {i};
    tiles.extents = {m};
    tiles.linear = b.symbol("t", ir::SymbolKind::TileIndex);
    tiles.decode = {b.ref(tiles.linear)};
    const ir::ValueId v = b.value("x", ElementType::F32, {32}, {{{32, 0, 1}}, {}});
    b.add(tiles.body, ir::LoadOp{b.region(x, {{b.ref(i), 0}, {b.number(0), 32}}), {}, 0.0, v, {1, {false, false}}});
    b.add(tiles.body, ir::RedOp{v, b.region(y, {{b.number(0), 32}}), ir::ReduceKind::Add, {1, {true}}});
    if (duplicate) {
      // The machine's register tile has every element twice without saying so.
      b.f.values[v.index].layout = target::TvLayout{{{32, 0, 1}}, {{2, 0, 0}}};
      b.f.values[v.index].layout->values[0].axis = 0;
      b.f.values[v.index].layout->threads = {{16, 0, 1}, {2, 0, 0}};
    }
    b.add(b.f.body, std::move(tiles));
    Problem problem;
    problem.sizes["M"] = 9;
    MachineRun run = run_machine(b.f, problem);
    if (duplicate) {
      ASSERT_FALSE(run.violations.empty());
      EXPECT_EQ(run.violations.front().kind, ViolationKind::MissingContribution);
    } else {
      EXPECT_TRUE(run.is_good()) << describe(run);
    }
  }
}

TEST(Machine, relayout_inside_a_warp_is_a_shuffle_and_across_warps_refused) {
  for (int threads : {32, 64}) {
    test::Builder b("relayout", threads);
    const ir::TensorId x = b.tensor("X", ir::Direction::In, ElementType::F32, {b.number(8), b.number(threads)});
    const ir::TensorId y = b.tensor("Y", ir::Direction::Out, ElementType::F32, {b.number(8), b.number(threads)});
    const target::TvLayout by_column{{{threads, 1, 1}}, {{8, 0, 1}}};
    const target::TvLayout by_row{{{8, 0, 1}, {threads / 8, 1, 1}}, {{8, 1, threads / 8}}};
    const ir::ValueId v = b.value("x", ElementType::F32, {8, threads}, by_column);
    const ir::ValueId w = b.value("y", ElementType::F32, {8, threads}, by_row);
    const std::vector<std::pair<ir::ExprId, int64_t>> whole = {{b.number(0), 8}, {b.number(0), threads}};
    b.add(b.f.body, ir::LoadOp{b.region(x, whole), {}, 0.0, v, {1, {false, false}}});
    b.add(b.f.body, ir::RelayoutOp{v, w, false});
    b.add(b.f.body, ir::StoreOp{w, b.region(y, whole), {}, {1, {false, false}}});
    MachineRun run = run_machine(b.f, {}, standard_schedules(threads, 8, 1).back());
    if (threads == 32) {
      EXPECT_TRUE(run.is_good()) << describe(run);
    } else {
      ASSERT_FALSE(run.is_good());
      EXPECT_EQ(run.violations.front().kind, ViolationKind::LayoutMismatch);
    }
  }
}

TEST(Machine, the_tensor_core_model_stays_within_the_bound) {
  MachineOptions options;
  options.tensor_core_model = true;
  for (ElementType type : {ElementType::Bf16, ElementType::F16, ElementType::Tf32}) {
    const ir::Function f = make_gemm({.type = type});
    MachineRun run = run_machine(f, gemm_problem(40, 50, 520), {}, options);
    EXPECT_TRUE(run.is_good()) << describe(run);
    EXPECT_NE(run.bytes_of(ir::TensorId(2)), run_machine(f, gemm_problem(40, 50, 520)).bytes_of(ir::TensorId(2)));
  }
  // The bound is no blanket: a wrong fragment order is still seen in the outputs.
  EXPECT_FALSE(run_machine(make_gemm({.swap_fragments = true}), gemm_problem(32, 32, 32), {}, options).is_good());
}

TEST(Machine, hunting_finds_what_single_runs_find) {
  const ir::Function wrong = make_gemm({.pending = 2});
  const ir::Function right = make_gemm({});
  const std::vector<Schedule> schedules = standard_schedules(wrong.threads, 10, 4);
  Hunt found = hunt(wrong, gemm_problem(64, 64, 160), schedules);
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(run_machine(wrong, gemm_problem(64, 64, 160), *found.schedule).is_good());
  Hunt none = hunt(right, gemm_problem(64, 64, 160), schedules);
  EXPECT_FALSE(none.schedule) << describe(none.run);
  EXPECT_TRUE(none.run.is_good());
}

TEST(Schedule, survives_json) {
  Schedule schedule;
  schedule.mode = ScheduleMode::Priority;
  schedule.async = AsyncMode::Random;
  schedule.seed = UINT64_MAX;
  schedule.first = {3, 4};
  schedule.holds = {{{1, 2}, {7, 1, {2, 3}}, 5, {8, 0, {}}}};
  schedule.landings = {{{9, 0, {1}}, 6, {10, 0, {2}}, 7}};
  auto again = schedule_from_json(to_json(schedule));
  ASSERT_TRUE(again);
  EXPECT_EQ(json::write(to_json(*again)), json::write(to_json(schedule)));
  EXPECT_FALSE(schedule_from_json(*json::parse(R"({"mode": "sideways"})")));
}

}  // namespace
}  // namespace tw::emulator
