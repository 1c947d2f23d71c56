// SPDX-License-Identifier: Apache-2.0
#include "passes/place_barriers.h"

#include <algorithm>
#include <utility>

#include "passes/assign_shared.h"
#include "passes/facts.h"
#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::ExprId;
using ir::Op;
using ir::Region;

// Rounds after which what came around a back edge loses its exact place, so that the analysis ends.
constexpr int kExactRounds = 2;
constexpr int kMaxRounds = 6;

// An access since the last barrier.
struct Pending {
  Region region;
  bool is_write = false;
  // cp.async, not known to be complete.
  bool is_async = false;
  bool is_committed = false;
  // Its place is not known any more: the whole object.
  bool is_whole = false;
  std::optional<target::TvLayout> layout;
};

bool same_place(const Pending& a, const Pending& b) {
  if (a.region.object != b.region.object || a.is_whole != b.is_whole) {
    return false;
  }
  if (a.is_whole) {
    return true;
  }
  auto same_axis = [](const ir::AxisIndex& x, const ir::AxisIndex& y) { return x.lo == y.lo && x.extent == y.extent; };
  return a.region.version == b.region.version && std::ranges::equal(a.region.axes, b.region.axes, same_axis);
}

using State = std::vector<Pending>;

void add(State& state, Pending pending) {
  for (const Pending& old : state) {
    if (same_place(old, pending) && old.is_write == pending.is_write && old.is_async == pending.is_async &&
        old.is_committed == pending.is_committed && old.region.perm == pending.region.perm &&
        old.layout == pending.layout) {
      return;
    }
  }
  state.push_back(std::move(pending));
}

void join(State& into, const State& from) {
  for (const Pending& pending : from) {
    add(into, pending);
  }
}

class BarrierPlacement {
 public:
  BarrierPlacement(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  void run_block(ir::Block& block, State& state) {
    for (size_t i = 0; i < block.size(); ++i) {
      if (auto* loop = std::get_if<ir::ForOp>(&block[i].body)) {
        run_for(*loop, state);
      } else if (auto* tiles = std::get_if<ir::TilesOp>(&block[i].body)) {
        run_tiles(*tiles, state);
      } else if (auto* branch = std::get_if<ir::IfOp>(&block[i].body)) {
        State other = state;
        run_block(branch->then_body, state);
        run_block(branch->else_body, other);
        join(state, other);
      } else {
        i += order_before(block, i, state);
        step(block[i], state);
      }
    }
  }

 private:
  [[nodiscard]] bool is_pipelined(const Region& region) const {
    return !region.is_global() && context_.pipelined.contains(region.shared().index);
  }

  [[nodiscard]] bool share_storage(const Region& a, const Region& b) const {
    if (a.is_global() || b.is_global()) {
      return a.object == b.object;
    }
    if (a.shared() == b.shared()) {
      return true;
    }
    const ir::SharedObject& x = function_.shared_object(a.shared());
    const ir::SharedObject& y = function_.shared_object(b.shared());
    return x.layout->offset_bytes < y.layout->offset_bytes + storage_bytes(y) &&
           y.layout->offset_bytes < x.layout->offset_bytes + storage_bytes(x);
  }

  [[nodiscard]] bool are_apart(const Pending& a, const Pending& b) const {
    if (a.region.object != b.region.object || a.is_whole || b.is_whole) {
      return false;
    }
    const ir::ExprPool& exprs = function_.exprs;
    if (a.region.version.is_valid() && b.region.version.is_valid()) {
      const int ring = function_.shared_object(a.region.shared()).ring;
      auto distance = constant_difference(exprs, a.region.version, b.region.version);
      if (distance && ring > 0 && *distance % ring != 0) {
        return true;
      }
    }
    for (size_t i = 0; i < a.region.axes.size(); ++i) {
      const ir::AxisIndex& x = a.region.axes[i];
      const ir::AxisIndex& y = b.region.axes[i];
      auto distance = constant_difference(exprs, x.lo, y.lo);
      if (distance && (*distance >= std::max<int64_t>(y.extent, 1) || -*distance >= std::max<int64_t>(x.extent, 1))) {
        return true;
      }
    }
    return false;
  }

  // Every element is visited by the same thread both times.
  static bool same_threads(const Pending& a, const Pending& b) {
    return !a.is_async && !b.is_async && !a.is_whole && same_place(a, b) && a.region.perm == b.region.perm &&
           a.layout && b.layout && !a.layout->has_replicated_threads() && target::same_map(*a.layout, *b.layout);
  }

  [[nodiscard]] bool conflict(const Pending& earlier, const Pending& later) const {
    if (!earlier.is_write && !later.is_write) {
      return false;
    }
    if (!share_storage(earlier.region, later.region)) {
      return false;
    }
    if (earlier.region.object == later.region.object && is_pipelined(later.region)) {
      return false;
    }
    return !are_apart(earlier, later) && !same_threads(earlier, later);
  }

  std::vector<Pending> accesses_of(const Op& op) const {
    std::vector<Pending> out;
    std::optional<target::TvLayout> layout;
    bool is_async = false;
    if (const auto* load = std::get_if<ir::LoadOp>(&op.body);
        load != nullptr && load->atom.kind != target::CopyKind::Ldmatrix) {
      layout = function_.value(load->result).layout;
    } else if (const auto* store = std::get_if<ir::StoreOp>(&op.body)) {
      layout = function_.value(store->value).layout;
    } else if (const auto* copy = std::get_if<ir::CopyOp>(&op.body)) {
      layout = copy->map;
      is_async = copy->atom.kind == target::CopyKind::CpAsync;
    }
    const bool is_red = std::holds_alternative<ir::RedOp>(op.body);
    for_each_region(op, [&](const Region& region, bool is_write) {
      // Tensors that the launch never writes, or never reads, need no order; atomics bring their own.
      if (region.is_global()) {
        const ir::Direction direction = function_.tensor(region.tensor()).direction;
        if (is_red || (direction != ir::Direction::InOut && direction != ir::Direction::Work)) {
          return;
        }
      }
      out.push_back({region, is_write, is_write && is_async, false, false, layout});
    });
    return out;
  }

  // Inserts what op `i` needs before it; the number of ops inserted.
  size_t order_before(ir::Block& block, size_t i, State& state) {
    bool needs_sync = false;
    bool needs_drain = false;
    bool needs_commit = false;
    for (const Pending& access : accesses_of(block[i])) {
      for (const Pending& earlier : state) {
        if (conflict(earlier, access)) {
          needs_sync = true;
          needs_drain |= earlier.is_async && !is_pipelined(earlier.region);
          needs_commit |= earlier.is_async && !earlier.is_committed;
        }
      }
    }
    if (!needs_sync) {
      return 0;
    }
    const diag::Span span = block[i].span;
    ir::Block order;
    if (needs_drain && !context_.has_author_drains) {
      if (needs_commit) {
        order.push_back(make_op(function_, span, ir::CommitOp{}));
      }
      order.push_back(make_op(function_, span, ir::DrainOp{}));
    }
    order.push_back(make_op(function_, span, ir::SyncOp{ir::SyncScope::Block, true}));
    const size_t count = order.size();
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(i), std::make_move_iterator(order.begin()),
                 std::make_move_iterator(order.end()));
    for (size_t j = i; j < i + count; ++j) {
      step(block[j], state);
    }
    return count;
  }

  void step(const Op& op, State& state) const {
    if (const auto* sync = std::get_if<ir::SyncOp>(&op.body)) {
      if (sync->scope == ir::SyncScope::Block) {
        std::erase_if(state, [](const Pending& pending) { return !pending.is_async; });
      }
      return;
    }
    if (std::holds_alternative<ir::DrainOp>(op.body)) {
      // Which groups a drain(pending=n) covers is the program's business; it says that it knows.
      for (Pending& pending : state) {
        pending.is_async = false;
      }
      return;
    }
    if (std::holds_alternative<ir::CommitOp>(op.body)) {
      for (Pending& pending : state) {
        pending.is_committed |= pending.is_async;
      }
      return;
    }
    for (Pending& access : accesses_of(op)) {
      add(state, std::move(access));
    }
  }

  // What is pending at the end of an iteration, seen from the next one (or from after the loop: step = 0, all lost).
  void leave_iteration(State& state, const ir::ForOp& loop, bool widen, bool exits) {
    Replacements replacements;
    ir::ExprPool& exprs = function_.exprs;
    replacements[loop.variable] = exprs.sub(exprs.symbol_ref(loop.variable), exprs.constant(loop.step));
    for (Pending& pending : state) {
      if (pending.is_whole) {
        continue;
      }
      std::vector<ir::SymbolId> symbols;
      if (pending.region.version.is_valid()) {
        exprs.collect_symbols(pending.region.version, symbols);
      }
      for (const ir::AxisIndex& axis : pending.region.axes) {
        exprs.collect_symbols(axis.lo, symbols);
      }
      const bool uses_variable = std::ranges::find(symbols, loop.variable) != symbols.end();
      const bool uses_carried = std::ranges::any_of(loop.scalars, [&](const ir::CarriedScalar& scalar) {
        return std::ranges::find(symbols, scalar.argument) != symbols.end();
      });
      if (uses_carried || (uses_variable && (exits || widen))) {
        pending.is_whole = true;
      } else if (uses_variable) {
        if (pending.region.version.is_valid()) {
          pending.region.version = exprs.substitute(pending.region.version, replacements);
        }
        for (ir::AxisIndex& axis : pending.region.axes) {
          axis.lo = exprs.substitute(axis.lo, replacements);
        }
      }
    }
  }

  void run_for(ir::ForOp& loop, State& state) {
    State entry = state;
    State end;
    for (int round = 0; round < kMaxRounds; ++round) {
      end = entry;
      run_block(loop.body, end);
      State around = end;
      leave_iteration(around, loop, round >= kExactRounds, false);
      const size_t before = entry.size();
      join(entry, around);
      if (entry.size() == before) {
        break;
      }
    }
    leave_iteration(end, loop, true, true);
    // Zero iterations: what was pending before still is.
    join(state, end);
  }

  void run_tiles(ir::TilesOp& tiles, State& state) {
    if (!tiles.persistent) {
      run_block(tiles.body, state);
      return;
    }
    State entry = state;
    for (int round = 0; round < kMaxRounds; ++round) {
      State end = entry;
      run_block(tiles.body, end);
      for (Pending& pending : end) {
        pending.is_whole = true;
      }
      const size_t before = entry.size();
      join(entry, end);
      if (entry.size() == before) {
        break;
      }
    }
    join(state, entry);
  }

  ir::Function& function_;
  PassContext& context_;
};

}  // namespace

Status place_barriers(ir::Function& function, PassContext& context) {
  if (function.sync == ir::SyncMode::Auto) {
    State state;
    BarrierPlacement(function, context).run_block(function.body, state);
  }
  return {};
}

}  // namespace tw::passes
