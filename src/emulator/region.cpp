// SPDX-License-Identifier: Apache-2.0
#include "emulator/region.h"

namespace tw::emulator {

TileFrame tile_frame(const ir::Function& function, const BoundProblem& bound, const DynamicRegion& dynamic) {
  const ir::Region& region = *dynamic.region;
  TileFrame frame;
  frame.rank = static_cast<int>(region.perm.size());
  std::array<int64_t, kMaxObjectRank> limit{};
  std::array<int64_t, kMaxObjectRank> stride{};
  const size_t rank = region.axes.size();
  if (region.is_global()) {
    const BoundTensor& tensor = bound.tensors[region.tensor().index];
    std::copy_n(tensor.extents.begin(), rank, limit.begin());
    std::copy_n(tensor.strides.begin(), rank, stride.begin());
  } else {
    const ir::SharedObject& object = function.shared_object(region.shared());
    int64_t step = 1;
    for (size_t axis = rank; axis-- > 0;) {
      limit[axis] = object.shape[axis];
      stride[axis] = step;
      step *= object.shape[axis];
    }
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    frame.base += dynamic.lo[axis] * stride[axis];
    if (region.axes[axis].is_point()) {
      frame.is_outside = frame.is_outside || dynamic.lo[axis] < 0 || dynamic.lo[axis] >= limit[axis];
    }
  }
  for (int d = 0; d < frame.rank; ++d) {
    const int axis = region.object_axis(d);
    frame.object_axis[d] = axis;
    frame.extent[d] = region.axes[axis].extent;
    frame.stride[d] = stride[axis];
    frame.lo[d] = dynamic.lo[axis];
    frame.limit[d] = limit[axis];
  }
  return frame;
}

std::vector<int64_t> object_coordinates(const ir::Region& region, const std::array<int64_t, kMaxObjectRank>& lo,
                                        size_t tile_element) {
  std::vector<int64_t> coord(lo.begin(), lo.begin() + static_cast<std::ptrdiff_t>(region.axes.size()));
  for (int d = static_cast<int>(region.perm.size()) - 1; d >= 0; --d) {
    const int axis = region.object_axis(d);
    const auto extent = static_cast<size_t>(region.axes[axis].extent);
    coord[axis] += static_cast<int64_t>(tile_element % extent);
    tile_element /= extent;
  }
  return coord;
}

CellName name_cell(const ir::Function& function, const DynamicRegion& region, size_t tile_element) {
  CellName cell;
  cell.object = region.region->is_global() ? function.tensor(region.region->tensor()).name
                                           : function.shared_object(region.region->shared()).name;
  cell.version = region.version;
  cell.element = object_coordinates(*region.region, region.lo, tile_element);
  return cell;
}

}  // namespace tw::emulator
