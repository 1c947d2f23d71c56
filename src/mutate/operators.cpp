// SPDX-License-Identifier: Apache-2.0
#include "mutate/operators.h"

#include <algorithm>

#include "mutate/edit.h"

namespace tw::mutate {
namespace {

// --- order -----------------------------------------------------------------------------------------------------------

bool drop_sync(Function& f, Place& place) {
  return drop(f, place, is_block_sync);
}
bool duplicate_sync(Function& f, Place& place) {
  return duplicate(f, place, is_block_sync);
}
bool sync_earlier(Function& f, Place& place) {
  return move(f, place, is_block_sync, -1);
}
bool sync_later(Function& f, Place& place) {
  return move(f, place, is_block_sync, 1);
}
bool sync_to_end(Function& f, Place& place) {
  return move_to_end(f, place, is_block_sync);
}
bool sync_of_warp(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* sync = as<ir::SyncOp>(op);
    if (sync == nullptr || sync->scope != ir::SyncScope::Block || !place.here(op)) {
      return false;
    }
    sync->scope = ir::SyncScope::Warp;
    return true;
  });
}
bool drop_drain(Function& f, Place& place) {
  return drop(f, place, is<ir::DrainOp>);
}
bool duplicate_drain(Function& f, Place& place) {
  return duplicate(f, place, is<ir::DrainOp>);
}
bool drain_later(Function& f, Place& place) {
  return move(f, place, is<ir::DrainOp>, 1);
}
bool drain_to_end(Function& f, Place& place) {
  return move_to_end(f, place, is<ir::DrainOp>);
}
bool change_pending(Function& f, Place& place, int by) {
  return in_ops(f, [&](Op& op) {
    auto* drain = as<ir::DrainOp>(op);
    if (drain == nullptr || drain->pending + by < 0 || !place.here(op)) {
      return false;
    }
    drain->pending += by;
    return true;
  });
}
bool pending_more(Function& f, Place& place) {
  return change_pending(f, place, 1);
}
bool pending_less(Function& f, Place& place) {
  return change_pending(f, place, -1);
}
bool drop_commit(Function& f, Place& place) {
  return drop(f, place, is<ir::CommitOp>);
}
bool duplicate_commit(Function& f, Place& place) {
  return duplicate(f, place, is<ir::CommitOp>);
}
bool commit_earlier(Function& f, Place& place) {
  return move(f, place, is<ir::CommitOp>, -1);
}
bool commit_to_end(Function& f, Place& place) {
  return move_to_end(f, place, is<ir::CommitOp>);
}
bool drop_copy(Function& f, Place& place) {
  return drop(f, place, is<ir::CopyOp>);
}
bool copy_to_end(Function& f, Place& place) {
  return move_to_end(f, place, is_async_copy);
}

// --- rings and storage -----------------------------------------------------------------------------------------------

bool read_next_version(Function& f, Place& place) {
  return shift_version(f, place, regions_read, 1);
}
bool read_last_version(Function& f, Place& place) {
  return shift_version(f, place, regions_read, -1);
}
bool write_next_version(Function& f, Place& place) {
  return shift_version(f, place, regions_written, 1);
}
bool write_last_version(Function& f, Place& place) {
  return shift_version(f, place, regions_written, -1);
}

bool change_shared(Function& f, Place& place, const std::function<bool(ir::SharedObject&)>& applies,
                   const std::function<void(ir::SharedObject&)>& change) {
  for (ir::SharedObject& object : f.shared) {
    if (object.layout && applies(object) && place.here(0, object.span)) {
      change(object);
      return true;
    }
  }
  return false;
}
bool ring_shorter(Function& f, Place& place) {
  return change_shared(f, place, [](auto& s) { return s.ring > 1; }, [](auto& s) { --s.ring; });
}
bool ring_longer(Function& f, Place& place) {
  return change_shared(f, place, [](auto& s) { return s.ring > 1; }, [](auto& s) { ++s.ring; });
}
bool slots_overlap(Function& f, Place& place) {
  return change_shared(
      f, place, [](auto& s) { return s.ring > 1 && s.layout->slot_bytes >= 32; },
      [](auto& s) { s.layout->slot_bytes /= 2; });
}
bool objects_overlap(Function& f, Place& place) {
  if (f.shared.size() < 2) {
    return false;
  }
  return change_shared(
      f, place, [](auto& s) { return s.layout->offset_bytes > 0; }, [](auto& s) { s.layout->offset_bytes = 0; });
}
bool object_misplaced(Function& f, Place& place) {
  return change_shared(f, place, [](auto&) { return true; }, [](auto& s) { s.layout->offset_bytes += 2; });
}
bool rows_overlap(Function& f, Place& place) {
  return change_shared(
      f, place, [](auto& s) { return s.shape.size() == 2 && s.shape[0] > 1 && s.shape[1] > 1; },
      [](auto& s) {
        auto modes = layout::flat_modes(s.layout->elements);
        auto longest = std::ranges::max_element(modes, {}, &layout::FlatMode::stride);
        longest->stride /= 2;
        if (auto changed = layout::from_flat_modes(modes)) {
          s.layout->elements = *changed;
        }
      });
}
bool other_swizzle(Function& f, Place& place) {
  return change_shared(
      f, place, [](auto&) { return true; },
      [](auto& s) {
        auto wide = layout::Swizzle::make(3, 4, 3);
        s.layout->swizzle = s.layout->swizzle.is_identity() && wide ? *wide : layout::Swizzle();
      });
}
bool swizzle_in_vector(Function& f, Place& place) {
  return change_shared(
      f, place, [](auto&) { return true; },
      [](auto& s) {
        if (auto fine = layout::Swizzle::make(2, 2, 3)) {
          s.layout->swizzle = *fine;
        }
      });
}

// --- places ----------------------------------------------------------------------------------------------------------

bool global_read_by_one(Function& f, Place& place) {
  return shift_slice(f, place, regions_read, true, true);
}
bool global_read_by_tile(Function& f, Place& place) {
  return shift_slice(f, place, regions_read, true, false);
}
bool global_write_by_one(Function& f, Place& place) {
  return shift_slice(f, place, regions_written, true, true);
}
bool global_write_by_tile(Function& f, Place& place) {
  return shift_slice(f, place, regions_written, true, false);
}
bool shared_read_moved(Function& f, Place& place) {
  return shift_slice(f, place, regions_read, false, false);
}
bool shared_read_by_one(Function& f, Place& place) {
  return shift_slice(f, place, regions_read, false, true);
}
bool shared_write_moved(Function& f, Place& place) {
  return shift_slice(f, place, regions_written, false, false);
}

bool swap_coordinates(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* tiles = as<ir::TilesOp>(op);
    if (tiles == nullptr || tiles->variables.size() < 2) {
      return false;
    }
    const ExprId first = f.exprs.symbol_ref(tiles->variables[0]);
    const ExprId second = f.exprs.symbol_ref(tiles->variables[1]);
    bool done = false;
    ir::for_each_op(tiles->body, [&](Op& inner) {
      for (Region* region : regions_of(inner)) {
        if (done || !region->is_global() || !place.here(inner)) {
          continue;
        }
        done = true;
        for (ir::AxisIndex& axis : region->axes) {
          axis.lo = f.exprs.substitute(axis.lo, {{tiles->variables[0], second}, {tiles->variables[1], first}});
        }
      }
    });
    return done;
  });
}
bool swap_decode(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* tiles = as<ir::TilesOp>(op);
    if (tiles == nullptr || tiles->decode.size() < 2 || !place.here(op)) {
      return false;
    }
    std::swap(tiles->decode[0], tiles->decode[1]);
    return true;
  });
}
bool fewer_tiles(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* tiles = as<ir::TilesOp>(op);
    if (tiles == nullptr) {
      return false;
    }
    for (ExprId& extent : tiles->extents) {
      const ir::ExprNode node = f.exprs.node(extent);
      if (node.kind == ir::ExprKind::CeilDiv && place.here(op)) {
        extent = f.exprs.floor_div(node.operands[0], node.operands[1]);
        return true;
      }
    }
    return false;
  });
}
bool trip_less(Function& f, Place& place) {
  return change_loop(f, place, any_loop,
                     [&](ir::ForOp& loop) { loop.end = f.exprs.sub(loop.end, f.exprs.constant(loop.step)); });
}
bool trip_more(Function& f, Place& place) {
  return change_loop(f, place, any_loop,
                     [&](ir::ForOp& loop) { loop.end = f.exprs.add(loop.end, f.exprs.constant(loop.step)); });
}
bool begin_later(Function& f, Place& place) {
  return change_loop(f, place, any_loop,
                     [&](ir::ForOp& loop) { loop.begin = f.exprs.add(loop.begin, f.exprs.constant(loop.step)); });
}
bool trip_floor(Function& f, Place& place) {
  return change_loop(
      f, place, [&](ir::ForOp& loop) { return f.exprs.node(loop.end).kind == ir::ExprKind::CeilDiv; },
      [&](ir::ForOp& loop) {
        const ir::ExprNode node = f.exprs.node(loop.end);
        loop.end = f.exprs.floor_div(node.operands[0], node.operands[1]);
      });
}
bool body_of_first(Function& f, Place& place) {
  return change_loop(f, place, any_loop,
                     [&](ir::ForOp& loop) { replace_in_block(f, loop.body, {{loop.variable, loop.begin}}); });
}
bool negate_condition(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* branch = as<ir::IfOp>(op);
    if (branch == nullptr || !place.here(op)) {
      return false;
    }
    branch->condition = f.exprs.logical_not(branch->condition);
    return true;
  });
}
bool always_taken(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* branch = as<ir::IfOp>(op);
    if (branch == nullptr || !place.here(op)) {
      return false;
    }
    branch->condition = f.exprs.constant(1);
    return true;
  });
}

// --- accesses --------------------------------------------------------------------------------------------------------

ir::Access* access_of(Op& op) {
  return std::visit(
      [](auto& body) -> ir::Access* {
        if constexpr (requires { body.access; }) {
          return &body.access;
        } else {
          return nullptr;
        }
      },
      op.body);
}
bool drop_guard(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    ir::Access* access = access_of(op);
    if (access == nullptr) {
      return false;
    }
    for (size_t axis = 0; axis < access->guards.size(); ++axis) {
      if (access->guards[axis] && place.here(op)) {
        access->guards[axis] = false;
        return true;
      }
    }
    return false;
  });
}
bool wider_vector(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    ir::Access* access = access_of(op);
    if (access == nullptr || !place.here(op)) {
      return false;
    }
    access->vector_elems *= 2;
    return true;
  });
}
bool other_fill(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    double* fill = nullptr;
    if (auto* copy = as<ir::CopyOp>(op)) {
      fill = copy->source.is_global() ? &copy->fill : nullptr;
    } else if (auto* load = as<ir::LoadOp>(op)) {
      fill = load->source.is_global() ? &load->fill : nullptr;
    }
    if (fill == nullptr || !place.here(op)) {
      return false;
    }
    *fill = *fill == 0.0 ? 1.0 : 0.0;
    return true;
  });
}
bool flip_transposed(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* load = as<ir::LoadOp>(op);
    if (load == nullptr || load->matrices == 0 || !place.here(op)) {
      return false;
    }
    load->transposed = !load->transposed;
    return true;
  });
}
bool fewer_matrices(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* load = as<ir::LoadOp>(op);
    if (load == nullptr || load->matrices < 2 || !place.here(op)) {
      return false;
    }
    load->matrices /= 2;
    return true;
  });
}
// The k axis keeps both extents equal, so only a region of a square tile can be turned.
bool transpose_region(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    for (Region* region : regions_of(op)) {
      const std::vector<int64_t> shape = region->tile_shape();
      if (shape.size() == 2 && shape[0] == shape[1] && shape[0] > 1 && region->perm.size() == 2 && place.here(op)) {
        std::swap(region->perm[0], region->perm[1]);
        return true;
      }
    }
    return false;
  });
}
bool store_twice(Function& f, Place& place) {
  return in_blocks(f.body, [&](Block& block) {
    for (size_t i = 0; i < block.size(); ++i) {
      auto* store = as<ir::StoreOp>(block[i]);
      if (store == nullptr || store->destination.axes.empty() || !place.here(block[i])) {
        continue;
      }
      Op copy = block[i];
      copy.id = f.new_op_id();
      Region& region = std::get<ir::StoreOp>(copy.body).destination;
      ir::AxisIndex& axis = region.axes.back();
      if (auto by = shift_of(f, region, region.axes.size() - 1, false)) {
        axis.lo = f.exprs.add(axis.lo, f.exprs.constant(*by));
      }
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(copy));
      return true;
    }
    return false;
  });
}
bool drop_store(Function& f, Place& place) {
  return drop(f, place, is<ir::StoreOp>);
}

// --- registers -------------------------------------------------------------------------------------------------------

bool swap_modes(Function& f, Place& place, bool of_threads) {
  return in_ops(f, [&](Op& op) {
    for (ir::ValueId id : ir::uses_of(op).values_defined) {
      ir::Value& value = f.value(id);
      if (!value.layout) {
        continue;
      }
      auto& modes = of_threads ? value.layout->threads : value.layout->values;
      if (modes.size() < 2 || modes[0] == modes[1] || !place.here(op)) {
        continue;
      }
      std::swap(modes[0], modes[1]);
      return true;
    }
    return false;
  });
}
bool swap_thread_modes(Function& f, Place& place) {
  return swap_modes(f, place, true);
}
bool swap_value_modes(Function& f, Place& place) {
  return swap_modes(f, place, false);
}
bool swap_map_modes(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* copy = as<ir::CopyOp>(op);
    if (copy == nullptr || !copy->map || copy->map->threads.size() < 2 || !place.here(op)) {
      return false;
    }
    std::swap(copy->map->threads[0].stride, copy->map->threads[1].stride);
    return true;
  });
}
bool swap_operands(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* mma = as<ir::MmaOp>(op);
    if (mma == nullptr || !place.here(op)) {
      return false;
    }
    std::swap(mma->a, mma->b);
    return true;
  });
}
bool drop_accumulator(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* mma = as<ir::MmaOp>(op);
    if (mma == nullptr || !mma->c.is_valid() || !place.here(op)) {
      return false;
    }
    mma->c = ir::ValueId();
    return true;
  });
}
bool other_atom(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* mma = as<ir::MmaOp>(op);
    if (mma == nullptr || !place.here(op)) {
      return false;
    }
    mma->atom = mma->atom == "mma_m16n8k16" ? "mma_m16n8k8" : "mma_m16n8k16";
    return true;
  });
}
bool other_warps(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* mma = as<ir::MmaOp>(op);
    if (mma == nullptr || mma->warps_m == mma->warps_n || !place.here(op)) {
      return false;
    }
    std::swap(mma->warps_m, mma->warps_n);
    return true;
  });
}
bool other_reduction(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* reduce = as<ir::ReduceOp>(op);
    if (reduce == nullptr || !place.here(op)) {
      return false;
    }
    reduce->kind = reduce->kind == ir::ReduceKind::Add ? ir::ReduceKind::Max : ir::ReduceKind::Add;
    return true;
  });
}
bool other_group_stride(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* reduce = as<ir::ReduceOp>(op);
    if (reduce == nullptr || reduce->keep <= 1 || !place.here(op)) {
      return false;
    }
    reduce->group_stride *= 2;
    return true;
  });
}
bool other_arithmetic(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* e = as<ir::ElementwiseOp>(op);
    using Kind = ir::ElementwiseKind;
    if (e == nullptr ||
        (e->kind != Kind::Add && e->kind != Kind::Sub && e->kind != Kind::Mul && e->kind != Kind::Maximum) ||
        !place.here(op)) {
      return false;
    }
    e->kind = e->kind == Kind::Add ? Kind::Sub : e->kind == Kind::Maximum ? Kind::Minimum : Kind::Add;
    return true;
  });
}
bool other_constant(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* constant = as<ir::ConstantOp>(op);
    if (constant == nullptr || !place.here(op)) {
      return false;
    }
    constant->value = constant->value == 0.0 ? 1.0 : 0.0;
    return true;
  });
}
bool carry_nothing(Function& f, Place& place) {
  return in_ops(f, [&](Op& op) {
    auto* loop = as<ir::ForOp>(op);
    if (loop == nullptr) {
      return false;
    }
    for (ir::CarriedValue& carried : loop->values) {
      if (place.here(op)) {
        carried.yield = carried.argument;
        return true;
      }
    }
    return false;
  });
}

constexpr Operator kOperators[] = {
    {"drop-sync", "a barrier is missing", drop_sync},
    {"duplicate-sync", "a barrier stands twice (harmless)", duplicate_sync},
    {"sync-earlier", "a barrier changes places with the statement before it", sync_earlier},
    {"sync-later", "a barrier changes places with the statement after it", sync_later},
    {"sync-to-end", "a barrier moves to the end of its block", sync_to_end},
    {"sync-of-warp", "a barrier of the block becomes one of each warp", sync_of_warp},
    {"drop-drain", "a wait for asynchronous copies is missing", drop_drain},
    {"duplicate-drain", "a wait stands twice (harmless)", duplicate_drain},
    {"drain-later", "a wait changes places with the statement after it", drain_later},
    {"drain-to-end", "a wait moves to the end of its block", drain_to_end},
    {"pending-more", "a wait leaves one group more pending", pending_more},
    {"pending-less", "a wait leaves one group fewer pending (slower, right)", pending_less},
    {"drop-commit", "a group is never closed", drop_commit},
    {"duplicate-commit", "an empty group follows a group", duplicate_commit},
    {"commit-earlier", "a group is closed before its last copy", commit_earlier},
    {"commit-to-end", "a group is closed at the end of the block of statements", commit_to_end},
    {"drop-copy", "a copy is missing", drop_copy},
    {"copy-to-end", "an asynchronous copy moves to the end of its block of statements", copy_to_end},
    {"read-next-version", "a read names the version after the right one", read_next_version},
    {"read-last-version", "a read names the version before the right one", read_last_version},
    {"write-next-version", "a write names the version after the right one", write_next_version},
    {"write-last-version", "a write names the version before the right one", write_last_version},
    {"ring-shorter", "a ring has one slot fewer", ring_shorter},
    {"ring-longer", "a ring has one slot more than there is room for", ring_longer},
    {"slots-overlap", "slots of a ring overlap by half", slots_overlap},
    {"objects-overlap", "a shared object lies over the first one", objects_overlap},
    {"object-misplaced", "a shared object lies two bytes further", object_misplaced},
    {"rows-overlap", "the longest stride of a shared object is halved", rows_overlap},
    {"other-swizzle", "an object is swizzled otherwise, by readers and writers (harmless)", other_swizzle},
    {"swizzle-in-vector", "a swizzle permutes inside the vectors that are accessed", swizzle_in_vector},
    {"global-read-by-one", "a read of global memory starts one element further", global_read_by_one},
    {"global-read-by-tile", "a read of global memory starts one tile further", global_read_by_tile},
    {"global-write-by-one", "a write to global memory starts one element further", global_write_by_one},
    {"global-write-by-tile", "a write to global memory starts one tile further", global_write_by_tile},
    {"shared-read-moved", "a read of shared memory takes the neighbouring slice", shared_read_moved},
    {"shared-read-by-one", "a read of shared memory starts one element further", shared_read_by_one},
    {"shared-write-moved", "a write to shared memory goes to the neighbouring slice", shared_write_moved},
    {"swap-coordinates", "the two tile coordinates are exchanged in one access", swap_coordinates},
    {"swap-decode", "the two coordinates of a block are exchanged", swap_decode},
    {"fewer-tiles", "the grid is rounded down", fewer_tiles},
    {"trip-less", "a loop ends one iteration early", trip_less},
    {"trip-more", "a loop runs one iteration more", trip_more},
    {"begin-later", "a loop begins one iteration late", begin_later},
    {"trip-floor", "a trip count is rounded down", trip_floor},
    {"body-of-first", "the slices in a loop do not follow its variable", body_of_first},
    {"negate-condition", "a condition is negated", negate_condition},
    {"always-taken", "a condition is always true", always_taken},
    {"drop-guard", "an axis is not compared with the tensor's extent", drop_guard},
    {"wider-vector", "an access takes twice as many elements at once", wider_vector},
    {"other-fill", "the value of pads is another one", other_fill},
    {"flip-transposed", "ldmatrix transposes, or does not", flip_transposed},
    {"fewer-matrices", "ldmatrix takes half as many matrices at once (harmless where it fits)", fewer_matrices},
    {"transpose-region", "a square tile is read or written transposed", transpose_region},
    {"store-twice", "a store is repeated one tile further", store_twice},
    {"drop-store", "a store is missing", drop_store},
    {"swap-thread-modes", "two thread modes of a register tile are exchanged", swap_thread_modes},
    {"swap-value-modes", "two register modes of a register tile are exchanged", swap_value_modes},
    {"swap-map-modes", "the strides of two thread modes of a copy are exchanged", swap_map_modes},
    {"swap-operands", "the operands of a product are exchanged", swap_operands},
    {"drop-accumulator", "a product does not add to what is there", drop_accumulator},
    {"other-atom", "a product uses another instruction", other_atom},
    {"other-warps", "the grid of warps of a product is turned", other_warps},
    {"other-reduction", "a reduction takes the maximum for the sum or the other way round", other_reduction},
    {"other-group-stride", "a reduction inside a warp joins other groups", other_group_stride},
    {"other-arithmetic", "an addition subtracts, a product adds, a maximum is a minimum", other_arithmetic},
    {"other-constant", "a constant is another one", other_constant},
    {"carry-nothing", "a loop does not hand on what it computed", carry_nothing},
};

}  // namespace

std::span<const Operator> operators() {
  return kOperators;
}

int count_places(const Operator& op, const ir::Function& function) {
  // No place is wanted, so nothing is changed but the copy's expression pool.
  ir::Function copy = function;
  Place place(-1);
  op.apply(copy, place);
  return place.seen();
}

}  // namespace tw::mutate
