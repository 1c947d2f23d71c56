// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/function.h"
#include "target/machine.h"

// Hand-built lowered functions for the emulator's tests: small kernels whose order, layouts and guards can be broken
// one at a time.
namespace tw::emulator::test {

struct Builder {
  ir::Function f;

  explicit Builder(std::string name, int threads, std::string_view machine = "sm_80") {
    f.name = std::move(name);
    f.stage = ir::Stage::Lowered;
    f.threads = threads;
    f.machine = target::find_machine(machine);
  }

  ir::ExprId number(int64_t n) { return f.exprs.constant(n); }
  ir::ExprId size(const std::string& name) {
    const ir::SymbolId id = f.exprs.add_symbol(name, ir::SymbolKind::Size);
    f.sizes.push_back(id);
    return f.exprs.symbol_ref(id);
  }
  ir::SymbolId symbol(const std::string& name, ir::SymbolKind kind) { return f.exprs.add_symbol(name, kind); }
  ir::ExprId ref(ir::SymbolId id) { return f.exprs.symbol_ref(id); }

  // Row-major, packed.
  ir::TensorId tensor(const std::string& name, ir::Direction direction, ElementType type,
                      std::vector<ir::ExprId> extents) {
    ir::Tensor t;
    t.name = name;
    t.direction = direction;
    t.element = type;
    t.extents = extents;
    t.dims.assign(extents.size(), "");
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      t.tag.axes.push_back(symbol(name + "_" + std::to_string(axis), ir::SymbolKind::Axis));
    }
    ir::ExprId stride = number(1);
    t.strides.resize(extents.size());
    for (size_t axis = extents.size(); axis-- > 0;) {
      t.strides[axis] = stride;
      stride = f.exprs.mul(stride, extents[axis]);
    }
    return f.add_tensor(std::move(t));
  }

  // Row-major with `pad` extra elements a row; storage is appended to the block's.
  ir::SharedId shared(const std::string& name, ElementType type, std::vector<int64_t> shape, int ring = 0,
                      int64_t pad = 0, layout::Swizzle swizzle = {}) {
    ir::SharedObject s;
    s.name = name;
    s.element = type;
    s.shape = shape;
    s.ring = ring;
    ir::SharedLayout map;
    const int64_t row = shape[1] + pad;
    map.elements = *layout::Layout::make(layout::IntTuple::of(shape[0], shape[1]), layout::IntTuple::of(row, 1));
    map.swizzle = swizzle;
    map.slot_bytes = (shape[0] * row * size_bytes(type) + 127) / 128 * 128;
    map.offset_bytes = f.shared_bytes;
    f.shared_bytes += map.slot_bytes * std::max(ring, 1);
    s.layout = map;
    return f.add_shared(std::move(s));
  }

  ir::ValueId value(const std::string& name, ElementType type, std::vector<int64_t> shape, target::TvLayout layout) {
    ir::Value v;
    v.name = name;
    v.element = type;
    v.shape = std::move(shape);
    v.layout = std::move(layout);
    return f.add_value(std::move(v));
  }

  ir::Region region(std::variant<ir::TensorId, ir::SharedId> object, std::vector<std::pair<ir::ExprId, int64_t>> axes,
                    ir::ExprId version = {}, std::vector<int> perm = {}) {
    ir::Region r;
    r.object = object;
    r.version = version;
    int sliced = 0;
    for (auto [lo, extent] : axes) {
      r.axes.push_back({lo, extent});
      sliced += extent > 0 ? 1 : 0;
    }
    for (int i = 0; perm.empty() && i < sliced; ++i) {
      r.perm.push_back(i);
    }
    if (!perm.empty()) {
      r.perm = std::move(perm);
    }
    return r;
  }

  template <class Body>
  uint32_t add(ir::Block& block, Body body) {
    ir::Op op;
    op.id = f.new_op_id();
    op.body = std::move(body);
    block.push_back(std::move(op));
    return block.back().id;
  }
};

// Threads along the columns in runs of `vector`, then along the rows: what a coalesced copy of (rows, columns) uses.
inline target::TvLayout row_layout(int64_t rows, int64_t columns, int64_t threads, int vector) {
  const auto per_row = static_cast<int32_t>(columns / vector);
  const auto row_threads = static_cast<int32_t>(threads / per_row);
  return {{{per_row, 1, vector}, {row_threads, 0, 1}},
          {{vector, 1, 1}, {static_cast<int32_t>(rows / row_threads), 0, row_threads}}};
}

// A GEMM D[M, N] = A[M, K] * B[N, K]^T with everything that can be wrong as a parameter.
struct GemmOptions {
  ElementType type = ElementType::Bf16;
  int64_t bm = 32, bn = 32, bk = 32;
  int warps_m = 1, warps_n = 2;
  int stages = 3;
  int ring = 3;
  // Groups left pending at the wait; stages - 2 is right.
  int pending = 1;
  bool sync_after_wait = true;
  bool sync_at_end = false;
  bool guard_k = true;
  bool guard_store = true;
  bool swizzle = false;
  // -1: right; else A's second k step reads this column instead.
  int64_t wrong_k_column = -1;
  bool swap_fragments = false;
  bool transpose_b_load = false;
  int64_t pad = 8;
};

struct GemmIds {
  uint32_t copy_a = 0, prologue_a = 0, drain = 0, sync = 0, load_a = 0, load_b = 0, mma = 0, store = 0;
};

ir::Function make_gemm(const GemmOptions& o, GemmIds* ids = nullptr);

// D[i, j] = A[i, j] through shared memory: written row by row, read back column by column.
struct StagedOptions {
  bool sync = true;
  bool guards = true;
};
ir::Function make_staged_copy(const StagedOptions& o, uint32_t* store_id = nullptr, uint32_t* load_id = nullptr);

}  // namespace tw::emulator::test
