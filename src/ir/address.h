// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "layout/evaluate.h"

namespace tw::ir {

// Byte addresses of one shared object's elements inside a slot: SharedLayout as a function, ready for loops.
// REQUIRES: object.layout.
class SlotAddress {
 public:
  explicit SlotAddress(const SharedObject& object)
      : elements_(object.layout->elements),
        swizzle_(object.layout->swizzle),
        element_bytes_(size_bytes(object.element)) {
    int64_t scale = 1;
    for (size_t axis = 0; axis < object.shape.size(); ++axis) {
      scale_[axis] = scale;
      scale *= object.shape[axis];
    }
  }

  // `coord`: object coordinates; REQUIRES: inside the object's shape.
  [[nodiscard]] int64_t operator()(const target::TileCoord& coord) const {
    int64_t index = 0;
    for (int axis = 0; axis < target::kMaxTileRank; ++axis) {
      index += coord[axis] * scale_[axis];
    }
    return swizzle_(elements_(index) * element_bytes_);
  }

 private:
  layout::Evaluator elements_;
  layout::Swizzle swizzle_;
  int64_t element_bytes_;
  // The layout's index runs column-major over the object's axes.
  int64_t scale_[target::kMaxTileRank] = {};
};

}  // namespace tw::ir
