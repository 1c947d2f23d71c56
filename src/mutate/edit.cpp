// SPDX-License-Identifier: Apache-2.0
#include "mutate/edit.h"

#include <algorithm>

namespace tw::mutate {

bool in_blocks(Block& block, const std::function<bool(Block&)>& visit) {
  if (visit(block)) {
    return true;
  }
  for (Op& op : block) {
    if (auto* loop = as<ir::ForOp>(op); loop != nullptr && in_blocks(loop->body, visit)) {
      return true;
    }
    if (auto* tiles = as<ir::TilesOp>(op); tiles != nullptr && in_blocks(tiles->body, visit)) {
      return true;
    }
    if (auto* branch = as<ir::IfOp>(op);
        branch != nullptr && (in_blocks(branch->then_body, visit) || in_blocks(branch->else_body, visit))) {
      return true;
    }
  }
  return false;
}

bool in_ops(Function& f, const std::function<bool(Op&)>& change) {
  bool done = false;
  ir::for_each_op(f.body, [&](Op& op) { done = done || change(op); });
  return done;
}

bool drop(Function& f, Place& place, const OpTest& test) {
  return in_blocks(f.body, [&](Block& block) {
    for (size_t i = 0; i < block.size(); ++i) {
      if (test(block[i]) && place.here(block[i])) {
        block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
    return false;
  });
}

bool duplicate(Function& f, Place& place, const OpTest& test) {
  return in_blocks(f.body, [&](Block& block) {
    for (size_t i = 0; i < block.size(); ++i) {
      if (test(block[i]) && place.here(block[i])) {
        Op copy = block[i];
        copy.id = f.new_op_id();
        block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(copy));
        return true;
      }
    }
    return false;
  });
}

bool move(Function& f, Place& place, const OpTest& test, int step) {
  return in_blocks(f.body, [&](Block& block) {
    for (size_t i = 0; i < block.size(); ++i) {
      const bool has_neighbour = step < 0 ? i > 0 : i + 1 < block.size();
      if (!has_neighbour || !test(block[i])) {
        continue;
      }
      const size_t other = step < 0 ? i - 1 : i + 1;
      if (block[other].body.index() == block[i].body.index() || !place.here(block[i])) {
        continue;
      }
      std::swap(block[i], block[other]);
      return true;
    }
    return false;
  });
}

bool move_to_end(Function& f, Place& place, const OpTest& test) {
  return in_blocks(f.body, [&](Block& block) {
    for (size_t i = 0; i + 1 < block.size(); ++i) {
      if (test(block[i]) && place.here(block[i])) {
        std::rotate(block.begin() + static_cast<std::ptrdiff_t>(i), block.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    block.end());
        return true;
      }
    }
    return false;
  });
}

bool is_block_sync(const Op& op) {
  return is<ir::SyncOp>(op);
}
bool is_async_copy(const Op& op) {
  const auto* copy = std::get_if<ir::CopyOp>(&op.body);
  return copy != nullptr && copy->atom.kind == target::CopyKind::CpAsync;
}

std::vector<Region*> regions_read(Op& op) {
  std::vector<Region*> out;
  if (auto* copy = as<ir::CopyOp>(op)) {
    out.push_back(&copy->source);
  } else if (auto* load = as<ir::LoadOp>(op)) {
    out.push_back(&load->source);
  } else if (auto* mma = as<ir::MmaOp>(op)) {
    for (ir::MmaOperand* operand : {&mma->a, &mma->b}) {
      if (auto* region = std::get_if<Region>(operand)) {
        out.push_back(region);
      }
    }
  }
  return out;
}

std::vector<Region*> regions_written(Op& op) {
  if (auto* copy = as<ir::CopyOp>(op)) {
    return {&copy->destination};
  }
  if (auto* store = as<ir::StoreOp>(op)) {
    return {&store->destination};
  }
  if (auto* red = as<ir::RedOp>(op)) {
    return {&red->destination};
  }
  return {};
}

std::vector<Region*> regions_of(Op& op) {
  std::vector<Region*> out = regions_read(op);
  for (Region* region : regions_written(op)) {
    out.push_back(region);
  }
  return out;
}

bool shift_version(Function& f, Place& place, RegionsOf regions, int64_t by) {
  return in_ops(f, [&](Op& op) {
    for (Region* region : regions(op)) {
      if (!region->is_global() && region->version.is_valid() && place.here(op)) {
        region->version = f.exprs.add(region->version, f.exprs.constant(by));
        return true;
      }
    }
    return false;
  });
}

std::optional<int64_t> shift_of(const Function& f, const Region& region, size_t axis, bool small) {
  const ir::AxisIndex& index = region.axes[axis];
  if (region.is_global()) {
    return small ? 1 : std::max<int64_t>(index.extent, 1);
  }
  auto lo = f.exprs.constant_value(index.lo);
  const int64_t shape = f.shared_object(region.shared()).shape[axis];
  const int64_t step = small ? 1 : std::max<int64_t>(index.extent, 1);
  if (!lo) {
    return step;
  }
  if (*lo + step + std::max<int64_t>(index.extent, 1) <= shape) {
    return step;
  }
  if (*lo - step >= 0) {
    return -step;
  }
  return std::nullopt;
}

bool shift_slice(Function& f, Place& place, RegionsOf regions, bool wants_global, bool small) {
  return in_ops(f, [&](Op& op) {
    for (Region* region : regions(op)) {
      if (region->is_global() != wants_global) {
        continue;
      }
      for (size_t axis = 0; axis < region->axes.size(); ++axis) {
        auto by = shift_of(f, *region, axis, small);
        if (by && place.here(op)) {
          region->axes[axis].lo = f.exprs.add(region->axes[axis].lo, f.exprs.constant(*by));
          return true;
        }
      }
    }
    return false;
  });
}

bool change_loop(Function& f, Place& place, const std::function<bool(ir::ForOp&)>& applies,
                 const std::function<void(ir::ForOp&)>& change) {
  return in_ops(f, [&](Op& op) {
    auto* loop = as<ir::ForOp>(op);
    if (loop == nullptr || !applies(*loop) || !place.here(op)) {
      return false;
    }
    change(*loop);
    return true;
  });
}

bool any_loop(ir::ForOp& /*loop*/) {
  return true;
}

void replace_in_block(Function& f, Block& block, const std::unordered_map<ir::SymbolId, ExprId>& replacements) {
  ir::for_each_op(block, [&](Op& op) {
    for (Region* region : regions_of(op)) {
      for (ir::AxisIndex& axis : region->axes) {
        axis.lo = f.exprs.substitute(axis.lo, replacements);
      }
    }
  });
}

}  // namespace tw::mutate
