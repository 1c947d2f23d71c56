// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "emulator/problem.h"
#include "emulator/walk.h"

namespace tw::emulator {

// Where a tile's axes lie in an object: element = base + sum of coordinate * stride, in elements of the object
// (row-major for shared objects, by the tensor's strides for global ones).
struct TileFrame {
  int rank = 0;
  std::array<int64_t, kMaxObjectRank> extent{};
  std::array<int64_t, kMaxObjectRank> stride{};
  // Coordinates of the tile's corner on its axes and the object's extent there.
  std::array<int64_t, kMaxObjectRank> lo{};
  std::array<int64_t, kMaxObjectRank> limit{};
  std::array<int, kMaxObjectRank> object_axis{};
  int64_t base = 0;
  // A dropped axis is outside: no element exists.
  bool is_outside = false;

  [[nodiscard]] bool is_all_inside() const {
    for (int d = 0; d < rank; ++d) {
      if (lo[d] < 0 || lo[d] + extent[d] > limit[d]) {
        return false;
      }
    }
    return !is_outside;
  }
  [[nodiscard]] size_t tile_elements() const {
    size_t count = 1;
    for (int d = 0; d < rank; ++d) {
      count *= static_cast<size_t>(extent[d]);
    }
    return count;
  }
};
TileFrame tile_frame(const ir::Function& function, const BoundProblem& bound, const DynamicRegion& region);

// Elements along the last tile axis that exist in the object.
struct Run {
  int64_t tile_element = 0;
  int64_t object_element = 0;
  int64_t stride = 1;
  int64_t count = 0;
};

// Calls visit(run) for all existing elements of the region, row by row.
template <class Visit>
void for_each_run(const ir::Function& function, const BoundProblem& bound, const DynamicRegion& region, Visit visit) {
  const TileFrame frame = tile_frame(function, bound, region);
  if (frame.is_outside) {
    return;
  }
  const int last = frame.rank - 1;
  if (last < 0) {
    visit(Run{0, frame.base, 1, 1});
    return;
  }
  const int64_t first = std::max<int64_t>(0, -frame.lo[last]);
  const int64_t end = std::min(frame.extent[last], frame.limit[last] - frame.lo[last]);
  if (first >= end) {
    return;
  }
  std::array<int64_t, kMaxObjectRank> coord{};
  for (int64_t row = 0;; ++row) {
    bool inside = true;
    int64_t element = frame.base + first * frame.stride[last];
    for (int d = 0; d < last; ++d) {
      const int64_t at = frame.lo[d] + coord[d];
      inside = inside && at >= 0 && at < frame.limit[d];
      element += coord[d] * frame.stride[d];
    }
    if (inside) {
      visit(Run{row * frame.extent[last] + first, element, frame.stride[last], end - first});
    }
    int d = last - 1;
    while (d >= 0 && ++coord[d] == frame.extent[d]) {
      coord[d--] = 0;
    }
    if (d < 0) {
      return;
    }
  }
}

// Coordinates in the object of a tile element (row-major number in the tile).
std::vector<int64_t> object_coordinates(const ir::Region& region, const std::array<int64_t, kMaxObjectRank>& lo,
                                        size_t tile_element);
CellName name_cell(const ir::Function& function, const DynamicRegion& region, size_t tile_element);

}  // namespace tw::emulator
