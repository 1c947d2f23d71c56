// SPDX-License-Identifier: Apache-2.0
#include "lowering/planted_faults.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace tw::lowering {
namespace {

using ir::Function;
using ir::Op;

// Visits blocks, outermost first, until `visit` says that it changed something.
bool in_blocks(ir::Block& block, const std::function<bool(ir::Block&)>& visit) {
  if (visit(block)) {
    return true;
  }
  for (Op& op : block) {
    bool done = false;
    passes::for_each_block(op, [&](ir::Block& inner) { done = done || in_blocks(inner, visit); });
    if (done) {
      return true;
    }
  }
  return false;
}

// Changes the first op that `change` accepts.
bool in_ops(Function& function, const std::function<bool(Op&)>& change) {
  bool done = false;
  ir::for_each_op(function.body, [&](Op& op) { done = done || change(op); });
  return done;
}

bool is_async_branch(const Op& op) {
  const auto* branch = std::get_if<ir::IfOp>(&op.body);
  return branch != nullptr && !branch->then_body.empty() &&
         std::holds_alternative<ir::CopyOp>(branch->then_body[0].body);
}

// The loop that lower_pipelines made: it starts with a drain.
bool in_pipelined_loop(Function& function, const std::function<bool(ir::ForOp&)>& change) {
  return in_ops(function, [&](Op& op) {
    auto* loop = std::get_if<ir::ForOp>(&op.body);
    return loop != nullptr && !loop->body.empty() && std::holds_alternative<ir::DrainOp>(loop->body[0].body) &&
           change(*loop);
  });
}

bool drain_one_too_few(Function& function) {
  return in_pipelined_loop(function, [](ir::ForOp& loop) {
    ++std::get<ir::DrainOp>(loop.body[0].body).pending;
    return true;
  });
}

bool no_barrier_in_loop(Function& function) {
  return in_pipelined_loop(function, [](ir::ForOp& loop) {
    if (loop.body.size() < 2 || !std::holds_alternative<ir::SyncOp>(loop.body[1].body)) {
      return false;
    }
    loop.body.erase(loop.body.begin() + 1);
    return true;
  });
}

bool barrier_before_drain(Function& function) {
  return in_pipelined_loop(function, [](ir::ForOp& loop) {
    if (loop.body.size() < 2 || !std::holds_alternative<ir::SyncOp>(loop.body[1].body)) {
      return false;
    }
    std::swap(loop.body[0], loop.body[1]);
    return true;
  });
}

bool ring_one_short(Function& function) {
  bool changed = false;
  for (ir::SharedObject& object : function.shared) {
    if (object.ring > 1) {
      --object.ring;
      changed = true;
    }
  }
  return changed;
}

bool next_version_read(Function& function) {
  return in_pipelined_loop(function, [&](ir::ForOp& loop) {
    bool changed = false;
    for (Op& op : loop.body) {
      if (auto* load = std::get_if<ir::LoadOp>(&op.body);
          load != nullptr && !load->source.is_global() && load->source.version.is_valid()) {
        load->source.version = function.exprs.add(load->source.version, function.exprs.constant(1));
        changed = true;
      } else if (auto* mma = std::get_if<ir::MmaOp>(&op.body)) {
        for (ir::MmaOperand* operand : {&mma->a, &mma->b}) {
          auto* region = std::get_if<ir::Region>(operand);
          if (region != nullptr && !region->is_global() && region->version.is_valid()) {
            region->version = function.exprs.add(region->version, function.exprs.constant(1));
            changed = true;
          }
        }
      }
    }
    return changed;
  });
}

bool one_operand_of_next_version(Function& function) {
  return in_ops(function, [&](Op& op) {
    auto* mma = std::get_if<ir::MmaOp>(&op.body);
    auto* region = mma != nullptr ? std::get_if<ir::Region>(&mma->b) : nullptr;
    if (region == nullptr || region->is_global() || !region->version.is_valid()) {
      return false;
    }
    region->version = function.exprs.add(region->version, function.exprs.constant(1));
    return true;
  });
}

bool unconditional_issue(Function& function) {
  return in_pipelined_loop(function, [&](ir::ForOp& loop) {
    for (Op& op : loop.body) {
      if (is_async_branch(op)) {
        auto copies = std::move(std::get<ir::IfOp>(op.body).then_body);
        op.body = ir::IfOp{function.exprs.constant(1), std::move(copies), {}, {}};
        return true;
      }
    }
    return false;
  });
}

bool prologue_without_copies(Function& function) {
  return in_blocks(function.body, [](ir::Block& block) {
    for (size_t i = 0; i + 1 < block.size(); ++i) {
      if (is_async_branch(block[i]) && std::holds_alternative<ir::CommitOp>(block[i + 1].body)) {
        block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
    return false;
  });
}

bool commit_missing_in_loop(Function& function) {
  return in_pipelined_loop(function, [](ir::ForOp& loop) {
    return std::erase_if(loop.body, [](const Op& op) { return std::holds_alternative<ir::CommitOp>(op.body); }) > 0;
  });
}

bool drop_sync(Function& function, bool first) {
  std::vector<uint32_t> inferred;
  ir::for_each_op(std::as_const(function.body), [&](const Op& op) {
    const auto* sync = std::get_if<ir::SyncOp>(&op.body);
    if (sync != nullptr && sync->is_inferred) {
      inferred.push_back(op.id);
    }
  });
  if (inferred.empty()) {
    return false;
  }
  const uint32_t victim = first ? inferred.front() : inferred.back();
  return in_blocks(function.body, [&](ir::Block& block) {
    return std::erase_if(block, [&](const Op& op) { return op.id == victim; }) > 0;
  });
}

bool change_guards(Function& function, const std::function<bool(std::vector<bool>&, bool is_write)>& change) {
  bool changed = false;
  ir::for_each_op(function.body, [&](Op& op) {
    if (auto* copy = std::get_if<ir::CopyOp>(&op.body)) {
      changed |= change(copy->access.guards, copy->destination.is_global());
    } else if (auto* load = std::get_if<ir::LoadOp>(&op.body)) {
      changed |= change(load->access.guards, false);
    } else if (auto* store = std::get_if<ir::StoreOp>(&op.body)) {
      changed |= change(store->access.guards, true);
    }
  });
  return changed;
}

bool clear_guards(std::vector<bool>& guards) {
  const bool had = std::ranges::find(guards, true) != guards.end();
  guards.assign(guards.size(), false);
  return had;
}

bool no_guards(Function& function) {
  return change_guards(function, [](std::vector<bool>& guards, bool) { return clear_guards(guards); });
}
bool no_read_guards(Function& function) {
  return change_guards(function,
                       [](std::vector<bool>& guards, bool is_write) { return !is_write && clear_guards(guards); });
}
bool no_write_guards(Function& function) {
  return change_guards(function,
                       [](std::vector<bool>& guards, bool is_write) { return is_write && clear_guards(guards); });
}
bool last_axis_unguarded(Function& function) {
  return change_guards(function, [](std::vector<bool>& guards, bool) {
    if (guards.size() < 2 || !guards.back()) {
      return false;
    }
    guards.back() = false;
    return true;
  });
}

bool trans_flipped(Function& function) {
  return in_ops(function, [](Op& op) {
    auto* load = std::get_if<ir::LoadOp>(&op.body);
    if (load == nullptr || load->matrices == 0) {
      return false;
    }
    load->transposed = !load->transposed;
    return true;
  });
}

bool vector_too_wide(Function& function) {
  return in_ops(function, [&](Op& op) {
    auto* store = std::get_if<ir::StoreOp>(&op.body);
    if (store == nullptr || !store->destination.is_global()) {
      return false;
    }
    const ir::Value& value = function.value(store->value);
    const int64_t next = int64_t{store->access.vector_elems} * 2;
    if (next * size_bytes(value.element) > 16 || value.layout->value_count() % next != 0) {
      return false;
    }
    store->access.vector_elems = static_cast<int>(next);
    return true;
  });
}

bool overlapping_offsets(Function& function) {
  for (size_t i = 1; i < function.shared.size(); ++i) {
    if (function.shared[i].aliases.empty() &&
        function.shared[i].layout->offset_bytes != function.shared[0].layout->offset_bytes) {
      function.shared[i].layout->offset_bytes = function.shared[0].layout->offset_bytes;
      return true;
    }
  }
  return false;
}

bool slot_half_size(Function& function) {
  for (ir::SharedObject& object : function.shared) {
    if (object.ring > 1 && object.layout->slot_bytes >= 256) {
      object.layout->slot_bytes /= 2;
      return true;
    }
  }
  return false;
}

bool storage_past_the_end(Function& function) {
  if (function.shared_bytes < 256) {
    return false;
  }
  function.shared_bytes /= 2;
  return true;
}

bool raster_swapped(Function& function) {
  return in_ops(function, [&](Op& op) {
    auto* tiles = std::get_if<ir::TilesOp>(&op.body);
    if (tiles == nullptr || tiles->decode.size() < 2) {
      return false;
    }
    ir::ExprPool& exprs = function.exprs;
    ir::ExprId linear = exprs.symbol_ref(tiles->linear);
    tiles->decode[0] = exprs.floor_div(linear, tiles->extents[0]);
    tiles->decode[1] = exprs.mod(linear, tiles->extents[0]);
    return true;
  });
}

bool raster_skips(Function& function) {
  return in_ops(function, [&](Op& op) {
    auto* tiles = std::get_if<ir::TilesOp>(&op.body);
    if (tiles == nullptr || tiles->decode.empty()) {
      return false;
    }
    ir::ExprPool& exprs = function.exprs;
    tiles->decode.back() = exprs.mul(exprs.floor_div(tiles->decode.back(), exprs.constant(2)), exprs.constant(2));
    return true;
  });
}

bool copy_map_with_hole(Function& function) {
  return in_ops(function, [](Op& op) {
    auto* copy = std::get_if<ir::CopyOp>(&op.body);
    if (copy == nullptr || !copy->map || copy->map->values.empty()) {
      return false;
    }
    // The last digit of the registers stays where it is instead of moving on.
    for (size_t i = copy->map->values.size(); i-- > 0;) {
      if (copy->map->values[i].extent > 1 && copy->map->values[i].axis >= 0 && copy->map->values[i].stride > 1) {
        copy->map->values[i].extent /= 2;
        return true;
      }
    }
    return false;
  });
}

bool accumulator_rows_swapped(Function& function) {
  return in_ops(function, [&](Op& op) {
    const auto* mma = std::get_if<ir::MmaOp>(&op.body);
    if (mma == nullptr || !function.value(mma->result).layout) {
      return false;
    }
    const target::TvLayout right = *function.value(mma->result).layout;
    target::TvLayout wrong = right;
    if (wrong.values.size() < 2 || wrong.values[0].extent != wrong.values[1].extent) {
      return false;
    }
    std::swap(wrong.values[0], wrong.values[1]);
    // Everything that shares the accumulator's layout follows: the product itself no longer fits its instruction.
    for (ir::Value& value : function.values) {
      if (value.layout == right) {
        value.layout = wrong;
      }
    }
    return true;
  });
}

bool same_slice_twice(Function& function) {
  // The second k slice of an operand is the first once more.
  std::vector<ir::LoadOp*> loads;
  ir::for_each_op(function.body, [&](Op& op) {
    if (auto* load = std::get_if<ir::LoadOp>(&op.body); load != nullptr && !load->source.is_global()) {
      loads.push_back(load);
    }
  });
  for (size_t i = 0; i < loads.size(); ++i) {
    for (size_t j = i + 1; j < loads.size(); ++j) {
      if (loads[i]->source.object == loads[j]->source.object &&
          function.value(loads[i]->result).shape == function.value(loads[j]->result).shape) {
        loads[j]->source = loads[i]->source;
        return true;
      }
    }
  }
  return false;
}

bool partial_result_only(Function& function) {
  return in_ops(function, [](Op& op) {
    auto* reduce = std::get_if<ir::ReduceOp>(&op.body);
    if (reduce == nullptr || reduce->keep <= 1) {
      return false;
    }
    // Groups of neighbours instead of the parts of the warps.
    reduce->group_stride = reduce->group_stride > 1 ? reduce->group_stride / 2 : 2;
    return true;
  });
}

// A pipeline's prefetch index is wide too, but fits 32 bits under the condition that it is used in: only a product of
// two unknowns surely does not.
bool all_narrow(Function& function) {
  const bool has_product = std::ranges::any_of(function.wide_exprs, [&](ir::ExprId id) {
    const ir::ExprNode& node = function.exprs.node(id);
    return node.kind == ir::ExprKind::Mul && !function.exprs.constant_value(node.operands[0]) &&
           !function.exprs.constant_value(node.operands[1]);
  });
  if (has_product) {
    function.wide_exprs.clear();
  }
  return has_product;
}

}  // namespace

const std::vector<Fault>& planted_faults() {
  static const std::vector<Fault> all{
      {"drain-one-too-few", "lower_pipelines", "waits for all but S-1 groups: version k may still be under way",
       drain_one_too_few},
      {"no-barrier-in-loop", "lower_pipelines", "other threads' copies are not visible", no_barrier_in_loop},
      {"barrier-before-drain", "lower_pipelines", "the barrier does not cover the other threads' copies",
       barrier_before_drain},
      {"ring-one-short", "lower_pipelines", "a copy overwrites the version that is being read", ring_one_short},
      {"next-version-read", "lower_pipelines", "reads the version that comes next", next_version_read},
      {"one-operand-of-next-version", "lower_pipelines", "the operands come from two versions",
       one_operand_of_next_version},
      {"unconditional-issue", "lower_pipelines", "copies past the last version, of zeros that nobody reads",
       unconditional_issue, Outcome::Harmless},
      {"prologue-without-copies", "lower_pipelines", "the first versions are never filled", prologue_without_copies},
      {"commit-missing-in-loop", "lower_pipelines", "groups are not closed, so the drain counts others",
       commit_missing_in_loop},
      {"first-barrier-dropped", "place_barriers", "an access that needs a barrier has none",
       [](Function& f) { return drop_sync(f, true); }},
      {"last-barrier-dropped", "place_barriers", "an access that needs a barrier has none",
       [](Function& f) { return drop_sync(f, false); }},
      {"no-guards", "place_accesses", "ragged tiles reach outside the tensors", no_guards},
      {"no-read-guards", "place_accesses", "ragged tiles read outside the tensors", no_read_guards},
      {"no-write-guards", "place_accesses", "ragged tiles write outside the tensors", no_write_guards},
      {"last-axis-unguarded", "place_accesses", "a row's end runs into the next row", last_axis_unguarded},
      {"trans-flipped", "place_accesses", "ldmatrix delivers each 8x8 matrix transposed", trans_flipped},
      {"vector-too-wide", "place_accesses", "an access of twice the width that layout or alignment allow",
       vector_too_wide},
      {"overlapping-offsets", "assign_shared", "two objects lie on the same bytes", overlapping_offsets},
      {"slot-half-size", "assign_shared", "neighbouring slots overlap", slot_half_size},
      {"storage-past-the-end", "assign_shared", "objects lie past the end of the block's shared memory",
       storage_past_the_end},
      {"raster-swapped", "lower_tiles", "the extents are taken for one another", raster_swapped},
      {"raster-skips", "lower_tiles", "every other tile is visited twice, the rest never", raster_skips},
      {"copy-map-with-hole", "infer_layouts", "part of a tile is copied by nobody", copy_map_with_hole},
      {"accumulator-rows-swapped", "infer_layouts", "the accumulator's registers are taken in another order",
       accumulator_rows_swapped},
      {"same-slice-twice", "select_atoms", "a k slice is used twice, the next not at all", same_slice_twice},
      {"partial-result-only", "lower_reductions", "the warps' parts are grouped wrongly", partial_result_only},
      {"all-narrow", "choose_widths", "index arithmetic overflows 32 bits at large sizes", all_narrow,
       Outcome::NotProved},
  };
  return all;
}

const Fault* find_fault(std::string_view name) {
  auto it = std::ranges::find(planted_faults(), name, &Fault::name);
  return it == planted_faults().end() ? nullptr : &*it;
}

passes::Pipeline pipeline_with(const Fault& fault, bool* was_planted) {
  passes::Pipeline pipeline = passes::Pipeline::standard();
  pipeline.append_to(fault.pass, [&fault, was_planted](ir::Function& function, passes::PassContext&) -> passes::Status {
    const bool planted = fault.plant(function);
    if (was_planted != nullptr) {
      *was_planted = planted;
    }
    return {};
  });
  return pipeline;
}

}  // namespace tw::lowering
