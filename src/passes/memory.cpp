// SPDX-License-Identifier: Apache-2.0
#include "passes/memory.h"

#include <algorithm>

#include "base/check.h"

namespace tw::passes {
namespace {

using ir::ExprId;
using ir::Region;

bool is_multiple(int64_t divisor, int64_t of) {
  return divisor % of == 0;
}

// The product of two divisors (0: the value is 0), capped so that it stays in range.
int64_t multiply_divisors(int64_t a, int64_t b) {
  constexpr int64_t kCap = int64_t{1} << 30;
  return std::min(a, kCap) * std::min(b, kCap);
}

bool global_allows(const ir::Function& function, const Facts& facts, const Region& region, int object_axis,
                   int64_t elems) {
  const ir::Tensor& tensor = function.tensor(region.tensor());
  if (!function.exprs.is_constant(tensor.strides[object_axis], 1)) {
    return false;
  }
  for (size_t axis = 0; axis < region.axes.size(); ++axis) {
    const ir::AxisIndex& index = region.axes[axis];
    const int64_t lo = facts.divisor(index.lo);
    const int64_t stride = facts.divisor(tensor.strides[axis]);
    if (static_cast<int>(axis) == object_axis) {
      // A vector whose first element is inside must be inside as a whole.
      const bool whole = is_multiple(facts.divisor(tensor.extents[axis]), elems) ||
                         facts.fits(index.lo, index.extent, tensor.extents[axis]);
      if (!is_multiple(lo, elems) || !whole) {
        return false;
      }
    } else if (index.is_point() ? !is_multiple(multiply_divisors(lo, stride), elems) : !is_multiple(stride, elems)) {
      return false;
    }
  }
  return true;
}

bool shared_allows(const ir::Function& function, const Facts& facts, const Region& region, int object_axis,
                   int64_t elems) {
  const ir::SharedObject& object = function.shared_object(region.shared());
  layout::Layout elements = object.layout ? object.layout->elements : planned_elements(object);
  for (size_t axis = 0; axis < region.axes.size(); ++axis) {
    std::vector<layout::FlatMode> modes = axis_modes(elements, axis);
    if (static_cast<int>(axis) == object_axis) {
      if (modes.empty() || modes[0].stride != 1 || !is_multiple(modes[0].extent, elems) ||
          !is_multiple(facts.divisor(region.axes[axis].lo), elems)) {
        return false;
      }
      modes.erase(modes.begin());
    }
    for (const layout::FlatMode& mode : modes) {
      if (mode.extent > 1 && !is_multiple(mode.stride, elems)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

layout::Layout planned_elements(const ir::SharedObject& object) {
  if (object.explicit_layout) {
    return *object.explicit_layout;
  }
  std::vector<layout::IntTuple> shape;
  std::vector<layout::IntTuple> stride(object.shape.size());
  int64_t next = 1;
  for (size_t i = object.shape.size(); i-- > 0;) {
    stride[i] = next;
    next *= object.shape[i];
    if (i + 1 == object.shape.size()) {
      next += object.pad;
    }
  }
  for (int64_t extent : object.shape) {
    shape.emplace_back(extent);
  }
  auto made = layout::Layout::make(layout::IntTuple::tuple(shape), layout::IntTuple::tuple(stride));
  TW_CHECK(made.has_value());
  return *made;
}

std::vector<layout::FlatMode> axis_modes(const layout::Layout& elements, size_t axis) {
  return layout::flat_modes(elements.mode(axis));
}

int contiguous_tile_axis(const ir::Function& function, const Region& region) {
  for (int tile_axis = static_cast<int>(region.perm.size()) - 1; tile_axis >= 0; --tile_axis) {
    const int axis = region.object_axis(tile_axis);
    if (region.is_global()) {
      if (function.exprs.is_constant(function.tensor(region.tensor()).strides[axis], 1)) {
        return tile_axis;
      }
    } else {
      const ir::SharedObject& object = function.shared_object(region.shared());
      auto modes = axis_modes(object.layout ? object.layout->elements : planned_elements(object), axis);
      if (!modes.empty() && modes[0].stride == 1) {
        return tile_axis;
      }
    }
  }
  return -1;
}

int max_vector_elems(const ir::Function& function, const Facts& facts, const Region& region, int tile_axis,
                     int limit_bytes) {
  if (tile_axis < 0) {
    return 1;
  }
  const int axis = region.object_axis(tile_axis);
  const int size = size_bytes(element_of(function, region));
  for (int elems = std::min(limit_bytes, kMaxAccessBytes) / size; elems > 1; elems /= 2) {
    if (region.axes[axis].extent % elems != 0) {
      continue;
    }
    if (region.is_global() ? global_allows(function, facts, region, axis, elems)
                           : shared_allows(function, facts, region, axis, elems)) {
      return elems;
    }
  }
  return 1;
}

ElementType element_of(const ir::Function& function, const Region& region) {
  return region.is_global() ? function.tensor(region.tensor()).element
                            : function.shared_object(region.shared()).element;
}

std::string name_of(const ir::Function& function, const Region& region) {
  return region.is_global() ? function.tensor(region.tensor()).name : function.shared_object(region.shared()).name;
}

}  // namespace tw::passes
