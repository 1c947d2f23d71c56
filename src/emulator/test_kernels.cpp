// SPDX-License-Identifier: Apache-2.0
#include "emulator/test_kernels.h"

#include "base/check.h"

namespace tw::emulator::test {

using target::CopyAtom;
using target::CopyKind;

ir::Function make_staged_copy(const StagedOptions& o, uint32_t* store_id, uint32_t* load_id) {
  constexpr int64_t kTile = 32;
  constexpr int kThreads = 128;
  Builder b("staged_copy", kThreads);
  const ir::ExprId m = b.size("M");
  const ir::ExprId n = b.size("N");
  const ir::TensorId a = b.tensor("A", ir::Direction::In, ElementType::F32, {m, n});
  const ir::TensorId d = b.tensor("D", ir::Direction::Out, ElementType::F32, {m, n});
  const ir::SharedId s = b.shared("sA", ElementType::F32, {kTile, kTile}, 0, 1);
  const ir::SymbolId bi = b.symbol("bi", ir::SymbolKind::TileCoord);
  const ir::SymbolId bj = b.symbol("bj", ir::SymbolKind::TileCoord);
  const ir::SymbolId linear = b.symbol("tile", ir::SymbolKind::TileIndex);
  const ir::ExprId columns = b.f.exprs.ceil_div(n, b.number(kTile));
  const target::TvLayout rows = row_layout(kTile, kTile, kThreads, 1);
  // Rows and columns exchanged.
  const target::TvLayout by_column{{{32, 0, 1}, {4, 1, 1}}, {{8, 1, 4}}};
  const ir::ValueId first = b.value("x", ElementType::F32, {kTile, kTile}, rows);
  const ir::ValueId second = b.value("y", ElementType::F32, {kTile, kTile}, by_column);
  const ir::ExprId row = b.f.exprs.mul(b.ref(bi), b.number(kTile));
  const ir::ExprId column = b.f.exprs.mul(b.ref(bj), b.number(kTile));
  const std::vector<bool> guards(2, o.guards);
  ir::TilesOp tiles;
  tiles.variables = {bi, bj};
  tiles.extents = {b.f.exprs.ceil_div(m, b.number(kTile)), columns};
  tiles.linear = linear;
  tiles.decode = {b.f.exprs.floor_div(b.ref(linear), columns), b.f.exprs.mod(b.ref(linear), columns)};
  b.add(tiles.body, ir::LoadOp{b.region(a, {{row, kTile}, {column, kTile}}), {}, 0.0, first, {1, guards}});
  const uint32_t store =
      b.add(tiles.body, ir::StoreOp{first, b.region(s, {{b.number(0), kTile}, {b.number(0), kTile}}), {}, {1, {}}});
  if (o.sync) {
    b.add(tiles.body, ir::SyncOp{});
  }
  const uint32_t load = b.add(
      tiles.body, ir::LoadOp{b.region(s, {{b.number(0), kTile}, {b.number(0), kTile}}), {}, 0.0, second, {1, {}}});
  b.add(tiles.body, ir::StoreOp{second, b.region(d, {{row, kTile}, {column, kTile}}), {}, {1, guards}});
  b.add(b.f.body, std::move(tiles));
  if (store_id != nullptr) {
    *store_id = store;
    *load_id = load;
  }
  return std::move(b.f);
}

ir::Function make_gemm(const GemmOptions& o, GemmIds* ids) {
  const int threads = o.warps_m * o.warps_n * 32;
  const int64_t ki = o.type == ElementType::Tf32 ? 8 : 16;
  const auto vector = static_cast<int>(16 / size_bytes(o.type));
  Builder b("gemm", threads);
  ir::ExprPool& e = b.f.exprs;
  const ir::ExprId m = b.size("M");
  const ir::ExprId n = b.size("N");
  const ir::ExprId k = b.size("K");
  const ir::TensorId a = b.tensor("A", ir::Direction::In, o.type, {m, k});
  const ir::TensorId bt = b.tensor("B", ir::Direction::In, o.type, {n, k});
  const ir::TensorId d = b.tensor("D", ir::Direction::Out, ElementType::F32, {m, n});
  layout::Swizzle swizzle;
  if (o.swizzle) {
    // 16-byte units of a 64-byte row, moved by the row pair.
    swizzle = *layout::Swizzle::make(2, 4, 3);
  }
  const int64_t pad = o.swizzle ? 0 : o.pad;
  const ir::SharedId sa = b.shared("sA", o.type, {o.bm, o.bk}, o.ring, pad, swizzle);
  const ir::SharedId sb = b.shared("sB", o.type, {o.bn, o.bk}, o.ring, pad, swizzle);
  const ir::SymbolId bi = b.symbol("bm", ir::SymbolKind::TileCoord);
  const ir::SymbolId bj = b.symbol("bn", ir::SymbolKind::TileCoord);
  const ir::SymbolId linear = b.symbol("tile", ir::SymbolKind::TileIndex);
  const ir::SymbolId kp = b.symbol("kp", ir::SymbolKind::Loop);
  const ir::SymbolId kk = b.symbol("k", ir::SymbolKind::Loop);
  const ir::ExprId nk = e.ceil_div(k, b.number(o.bk));
  const ir::ExprId columns = e.ceil_div(n, b.number(o.bn));
  const ir::ExprId row = e.mul(b.ref(bi), b.number(o.bm));
  const ir::ExprId column = e.mul(b.ref(bj), b.number(o.bn));

  const target::MmaAtom* atom = b.f.machine->find_mma(o.type == ElementType::Tf32 ? "mma_m16n8k8" : "mma_m16n8k16",
                                                      o.type, o.type, ElementType::F32);
  TW_CHECK(atom != nullptr);
  const target::MmaTiling tiling = *target::tile_mma(*atom, o.bm, o.bn, ki, threads, o.warps_m, o.warps_n);
  target::TvLayout a_layout = tiling.a;
  if (o.swap_fragments) {
    // m + 8 and k + 8 exchanged: admissible as a layout, wrong for the instruction.
    std::swap(a_layout.values[1], a_layout.values[2]);
  }
  const ir::ValueId zero = b.value("zero", ElementType::F32, {o.bm, o.bn}, tiling.c);
  const ir::ValueId acc = b.value("acc", ElementType::F32, {o.bm, o.bn}, tiling.c);
  const ir::ValueId result = b.value("result", ElementType::F32, {o.bm, o.bn}, tiling.c);

  ir::TilesOp tiles;
  tiles.variables = {bi, bj};
  tiles.extents = {e.ceil_div(m, b.number(o.bm)), columns};
  tiles.linear = linear;
  tiles.decode = {e.floor_div(b.ref(linear), columns), e.mod(b.ref(linear), columns)};

  GemmIds local;
  auto copies = [&](ir::Block& block, ir::ExprId version, uint32_t& id) {
    ir::IfOp inside;
    inside.condition = e.lt(version, nk);
    const ir::ExprId at = e.mul(version, b.number(o.bk));
    auto copy = [&](ir::TensorId tensor, ir::SharedId shared, ir::ExprId lo, int64_t rows) {
      ir::CopyOp op;
      op.source = b.region(tensor, {{lo, rows}, {at, o.bk}});
      op.destination = b.region(shared, {{b.number(0), rows}, {b.number(0), o.bk}}, version);
      op.atom = {CopyKind::CpAsync, 16};
      op.map = row_layout(rows, o.bk, threads, vector);
      op.access = {vector, {true, o.guard_k}};
      return b.add(inside.then_body, std::move(op));
    };
    id = copy(a, sa, row, o.bm);
    copy(bt, sb, column, o.bn);
    b.add(block, std::move(inside));
    b.add(block, ir::CommitOp{});
  };

  ir::ForOp prologue;
  prologue.variable = kp;
  prologue.begin = b.number(0);
  prologue.end = b.number(o.stages - 1);
  copies(prologue.body, b.ref(kp), local.prologue_a);
  b.add(tiles.body, std::move(prologue));
  b.add(tiles.body, ir::ConstantOp{0.0, zero});

  ir::ForOp loop;
  loop.variable = kk;
  loop.begin = b.number(0);
  loop.end = nk;
  local.drain = b.add(loop.body, ir::DrainOp{ir::AsyncKind::CpAsync, o.pending});
  if (o.sync_after_wait) {
    local.sync = b.add(loop.body, ir::SyncOp{});
  }
  copies(loop.body, e.add(b.ref(kk), b.number(o.stages - 1)), local.copy_a);
  ir::ValueId running = acc;
  for (int64_t step = 0; step < o.bk / ki; ++step) {
    const std::string suffix = std::to_string(step);
    const ir::ValueId fa = b.value("a" + suffix, o.type, {o.bm, ki}, a_layout);
    const ir::ValueId fb = b.value("b" + suffix, o.type, {o.bn, ki}, tiling.b);
    const ir::ValueId next = b.value("acc" + suffix, ElementType::F32, {o.bm, o.bn}, tiling.c);
    const int64_t column_a = step == 1 && o.wrong_k_column >= 0 ? o.wrong_k_column : step * ki;
    local.load_a = b.add(loop.body, ir::LoadOp{b.region(sa, {{b.number(0), o.bm}, {b.number(column_a), ki}}, b.ref(kk)),
                                               {CopyKind::Ldmatrix, 0},
                                               0.0,
                                               fa,
                                               {1, {}},
                                               4,
                                               false});
    const bool single = o.bn / o.warps_n == 8;
    local.load_b =
        b.add(loop.body, ir::LoadOp{b.region(sb, {{b.number(0), o.bn}, {b.number(step * ki), ki}}, b.ref(kk)),
                                    {CopyKind::Ldmatrix, 0},
                                    0.0,
                                    fb,
                                    {1, {}},
                                    single ? 2 : 4,
                                    o.transpose_b_load});
    local.mma = b.add(loop.body, ir::MmaOp{fa, fb, running, next, std::string(atom->name), o.warps_m, o.warps_n});
    running = next;
  }
  if (o.sync_at_end) {
    b.add(loop.body, ir::SyncOp{});
  }
  loop.values = {{zero, acc, running, result}};
  b.add(tiles.body, std::move(loop));
  local.store = b.add(
      tiles.body,
      ir::StoreOp{result, b.region(d, {{row, o.bm}, {column, o.bn}}), {}, {1, std::vector<bool>(2, o.guard_store)}});
  b.add(b.f.body, std::move(tiles));
  if (ids != nullptr) {
    *ids = local;
  }
  return std::move(b.f);
}

}  // namespace tw::emulator::test
