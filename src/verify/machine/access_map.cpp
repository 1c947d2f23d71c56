// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/access_map.h"

#include <algorithm>
#include <fmt/format.h>

#include "ir/address.h"

namespace tw::verify {
namespace {

constexpr int kWarpThreads = 32;

// Tile axis -> object axis, once a region.
std::vector<int> object_axes(const ir::Region& region) {
  std::vector<int> axes;
  for (size_t i = 0; i < region.perm.size(); ++i) {
    axes.push_back(region.object_axis(static_cast<int>(i)));
  }
  return axes;
}

void touch(AccessMap& map, int64_t granule, int16_t thread) {
  int16_t& owner = map.owner[static_cast<size_t>(granule - map.first_granule)];
  if (owner == AccessMap::kNobody) {
    owner = thread;
  } else if (owner != thread) {
    owner = AccessMap::kSeveral;
  }
}

}  // namespace

std::vector<SharedSide> shared_sides(const ir::Function& function, const ir::Op& op) {
  std::vector<SharedSide> sides;
  auto add = [&](const ir::Region& region, bool is_write, const target::TvLayout* layout) -> SharedSide* {
    if (region.is_global()) {
      return nullptr;
    }
    sides.push_back({&region, is_write, false, layout, false, false});
    return &sides.back();
  };
  std::visit(ir::Overloaded{
                 [](const auto&) {},
                 [&](const ir::CopyOp& copy) {
                   add(copy.source, false, &*copy.map);
                   if (SharedSide* side = add(copy.destination, true, &*copy.map)) {
                     side->is_async = copy.atom.kind == target::CopyKind::CpAsync;
                     side->first_owner_only = true;
                   }
                 },
                 [&](const ir::LoadOp& load) {
                   if (SharedSide* side = add(load.source, false, &*function.value(load.result).layout)) {
                     side->is_collective = load.atom.kind == target::CopyKind::Ldmatrix;
                   }
                 },
                 [&](const ir::StoreOp& store) {
                   if (SharedSide* side = add(store.destination, true, &*function.value(store.value).layout)) {
                     side->first_owner_only = true;
                   }
                 },
             },
             op.body);
  return sides;
}

Result<AccessMap> make_access_map(const ir::Function& function, const ir::Op& op, const SharedSide& side,
                                  const std::vector<int64_t>& starts, int64_t granule_bytes) {
  const ir::SharedObject& object = function.shared_object(side.region->shared());
  const ir::SlotAddress address(object);
  const int64_t element_bytes = size_bytes(object.element);
  AccessMap map;
  map.op = &op;
  map.object = side.region->shared();
  map.is_write = side.is_write;
  map.is_async = side.is_async;
  target::TileCoord base{};
  for (size_t axis = 0; axis < starts.size(); ++axis) {
    const int64_t extent = std::max<int64_t>(1, side.region->axes[axis].extent);
    map.lo.push_back(starts[axis]);
    map.hi.push_back(starts[axis] + extent);
    if (starts[axis] < 0 || starts[axis] + extent > object.shape[axis]) {
      return fail(fmt::format("indices {} to {} of axis {} reach outside `{}`, which has {}", starts[axis],
                              starts[axis] + extent - 1, axis, object.name, object.shape[axis]));
    }
    base[axis] = static_cast<int32_t>(starts[axis]);
  }
  const int64_t slot_granules = std::max<int64_t>(1, object.layout->slot_bytes / granule_bytes);
  map.first_granule = object.layout->offset_bytes / granule_bytes;
  map.owner.assign(static_cast<size_t>(slot_granules), AccessMap::kNobody);
  const std::vector<int> axes = object_axes(*side.region);
  const std::vector<int64_t> shape = side.region->tile_shape();
  const int64_t threads = std::min<int64_t>(side.layout->thread_count(), function.threads);
  const int64_t values = side.layout->value_count();
  std::vector<target::TileCoord> value_offsets;
  for (int64_t value = 0; value < values; ++value) {
    value_offsets.push_back(side.layout->value_offset(value));
  }
  for (int64_t thread = 0; thread < threads; ++thread) {
    if (side.first_owner_only && !side.layout->is_first_owner(thread)) {
      continue;
    }
    const target::TileCoord from_thread = side.layout->thread_offset(thread);
    for (const target::TileCoord& from_value : value_offsets) {
      target::TileCoord coord = base;
      for (size_t i = 0; i < axes.size(); ++i) {
        const int32_t c = from_thread[i] + from_value[i];
        if (c < 0 || c >= shape[i]) {
          return fail(fmt::format("thread {} holds element {} of axis {}, the tile has {}", thread, c, i, shape[i]));
        }
        coord[axes[i]] += c;
      }
      const int64_t byte = address(coord);
      for (int64_t g = byte / granule_bytes; g < (byte + element_bytes + granule_bytes - 1) / granule_bytes; ++g) {
        if (g < 0 || g >= slot_granules) {
          return fail(fmt::format("byte {} of `{}` lies outside its slot of {} bytes", byte, object.name,
                                  object.layout->slot_bytes));
        }
        touch(map, map.first_granule + g, side.is_collective ? AccessMap::kSeveral : static_cast<int16_t>(thread));
      }
    }
  }
  return map;
}

std::optional<Conflict> find_conflict(const AccessMap& a, int64_t shift_a, const AccessMap& b, int64_t shift_b,
                                      int64_t granule_bytes, bool same_thread_too, bool same_warp_ordered) {
  const int64_t ga = a.first_granule + shift_a / granule_bytes;
  const int64_t gb = b.first_granule + shift_b / granule_bytes;
  const int64_t begin = std::max(ga, gb);
  const int64_t end = std::min(ga + static_cast<int64_t>(a.owner.size()), gb + static_cast<int64_t>(b.owner.size()));
  for (int64_t g = begin; g < end; ++g) {
    const int16_t x = a.owner[static_cast<size_t>(g - ga)];
    const int16_t y = b.owner[static_cast<size_t>(g - gb)];
    if (x == AccessMap::kNobody || y == AccessMap::kNobody) {
      continue;
    }
    const bool known = x >= 0 && y >= 0;
    if (known && x == y && !same_thread_too) {
      continue;
    }
    if (known && same_warp_ordered && x / kWarpThreads == y / kWarpThreads) {
      continue;
    }
    return Conflict{g * granule_bytes, x, y};
  }
  return std::nullopt;
}

}  // namespace tw::verify
