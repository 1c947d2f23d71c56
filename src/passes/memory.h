// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "layout/layout.h"
#include "passes/facts.h"

namespace tw::passes {

constexpr int kMaxAccessBytes = 16;

// Elements of a shared object in memory: the program's own layout, else row-major with `pad` added to each row.
layout::Layout planned_elements(const ir::SharedObject& object);
// The modes of one axis, fastest first.
std::vector<layout::FlatMode> axis_modes(const layout::Layout& elements, size_t axis);

// The tile axis along which neighbours are neighbours in memory; -1 when there is none.
int contiguous_tile_axis(const ir::Function& function, const ir::Region& region);

// The widest access of power-of-two elements along `tile_axis` that alignment proves: every vector starts at a multiple
// of its size in bytes and lies inside the tensor whenever its first element does. Bases are 16-byte aligned (a
// precondition of the launch for tensors, assigned for shared objects). `limit_bytes`: at most this wide.
int max_vector_elems(const ir::Function& function, const Facts& facts, const ir::Region& region, int tile_axis,
                     int limit_bytes = kMaxAccessBytes);

ElementType element_of(const ir::Function& function, const ir::Region& region);
std::string name_of(const ir::Function& function, const ir::Region& region);

}  // namespace tw::passes
