// SPDX-License-Identifier: Apache-2.0
#include "target/tv_layout.h"

#include <fmt/format.h>
#include <limits>

namespace tw::target {
namespace {

int64_t product_of_extents(const std::vector<TvMode>& modes) {
  int64_t product = 1;
  for (const TvMode& mode : modes) {
    product *= mode.extent;
  }
  return product;
}

TileCoord offset_of(const std::vector<TvMode>& modes, int64_t index) {
  TileCoord coord{};
  for (const TvMode& mode : modes) {
    auto digit = static_cast<int32_t>(index % mode.extent);
    index /= mode.extent;
    if (mode.axis != TvMode::kReplicated) {
      coord[mode.axis] += digit * mode.stride;
    }
  }
  return coord;
}

bool continues(const TvMode& first, const TvMode& second) {
  if (first.axis != second.axis) {
    return false;
  }
  return first.axis == TvMode::kReplicated || second.stride == first.stride * first.extent;
}

std::vector<TvMode> normalized_modes(const std::vector<TvMode>& modes) {
  std::vector<TvMode> out;
  for (TvMode mode : modes) {
    if (mode.extent == 1) {
      continue;
    }
    if (mode.axis == TvMode::kReplicated || mode.stride == 0) {
      mode.axis = TvMode::kReplicated;
      mode.stride = 0;
    }
    if (!out.empty() && continues(out.back(), mode)) {
      out.back().extent *= mode.extent;
    } else {
      out.push_back(mode);
    }
  }
  return out;
}

std::string modes_to_string(const std::vector<TvMode>& modes) {
  std::string out = "(";
  for (size_t i = 0; i < modes.size(); ++i) {
    const TvMode& mode = modes[i];
    out += i == 0 ? "" : ", ";
    out += mode.axis == TvMode::kReplicated ? fmt::format("{}:_", mode.extent)
                                            : fmt::format("{}:{}@{}", mode.extent, mode.stride, mode.axis);
  }
  return out + ")";
}

bool has_replicated(const std::vector<TvMode>& modes) {
  for (const TvMode& mode : modes) {
    if (mode.extent > 1 && (mode.axis == TvMode::kReplicated || mode.stride == 0)) {
      return true;
    }
  }
  return false;
}

// Linear row-major index of `coord`, or -1 outside `shape`.
int64_t linear_index(const TileCoord& coord, const TileShape& shape) {
  int64_t index = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (coord[axis] < 0 || coord[axis] >= shape[axis]) {
      return -1;
    }
    index = index * shape[axis] + coord[axis];
  }
  return index;
}

bool is_first_digit_of_replicas(const std::vector<TvMode>& modes, int64_t index) {
  for (const TvMode& mode : modes) {
    int64_t digit = index % mode.extent;
    index /= mode.extent;
    if (digit != 0 && (mode.axis == TvMode::kReplicated || mode.stride == 0)) {
      return false;
    }
  }
  return true;
}

// `axis_of(axis)` is the new axis, or kReplicated when the operand does not have it.
template <class AxisOf>
TvLayout map_axes(const TvLayout& layout, AxisOf axis_of) {
  TvLayout out;
  for (TvMode mode : layout.threads) {
    if (mode.axis != TvMode::kReplicated) {
      mode.axis = axis_of(mode.axis);
    }
    if (mode.axis == TvMode::kReplicated) {
      mode.stride = 0;
    }
    out.threads.push_back(mode);
  }
  for (TvMode mode : layout.values) {
    if (mode.axis != TvMode::kReplicated) {
      mode.axis = axis_of(mode.axis);
    }
    if (mode.axis != TvMode::kReplicated) {
      out.values.push_back(mode);
    }
  }
  return out;
}

}  // namespace

int64_t TvLayout::thread_count() const {
  return product_of_extents(threads);
}
int64_t TvLayout::value_count() const {
  return product_of_extents(values);
}
TileCoord TvLayout::thread_offset(int64_t thread) const {
  return offset_of(threads, thread);
}
TileCoord TvLayout::value_offset(int64_t value) const {
  return offset_of(values, value);
}

TileCoord TvLayout::coord(int64_t thread, int64_t value) const {
  TileCoord a = thread_offset(thread);
  TileCoord b = value_offset(value);
  for (int axis = 0; axis < kMaxTileRank; ++axis) {
    a[axis] += b[axis];
  }
  return a;
}

bool TvLayout::is_first_owner(int64_t thread) const {
  return is_first_digit_of_replicas(threads, thread);
}
bool TvLayout::has_replicated_values() const {
  return has_replicated(values);
}
bool TvLayout::has_replicated_threads() const {
  return has_replicated(threads);
}

TvLayout TvLayout::normalized() const {
  return {normalized_modes(threads), normalized_modes(values)};
}

std::string TvLayout::to_string() const {
  return "threads=" + modes_to_string(threads) + " values=" + modes_to_string(values);
}

std::string TvFault::to_string() const {
  switch (kind) {
    case Kind::Outside:
      return fmt::format("thread {} value {} holds element ({}, {}), which is outside the tile", thread, value,
                         element[0], element[1]);
    case Kind::Hole:
      return fmt::format("nobody holds element ({}, {})", element[0], element[1]);
    case Kind::Overlap:
      return fmt::format("element ({}, {}) is held by thread {} value {} and by thread {} value {}", element[0],
                         element[1], thread, value, other_thread, other_value);
  }
  return {};
}

std::optional<TvFault> find_fault(const TvLayout& layout, const TileShape& shape) {
  int64_t elements = 1;
  for (int64_t extent : shape) {
    elements *= extent;
  }
  const int64_t threads = layout.thread_count();
  const int64_t values = layout.value_count();
  std::vector<int64_t> holder(static_cast<size_t>(elements), -1);
  for (int64_t thread = 0; thread < threads; ++thread) {
    const bool first = layout.is_first_owner(thread);
    for (int64_t value = 0; value < values; ++value) {
      TileCoord coord = layout.coord(thread, value);
      int64_t index = linear_index(coord, shape);
      if (index < 0) {
        return TvFault{TvFault::Kind::Outside, coord, thread, value, 0, 0};
      }
      if (!first || !is_first_digit_of_replicas(layout.values, value)) {
        continue;
      }
      int64_t& slot = holder[static_cast<size_t>(index)];
      if (slot >= 0) {
        return TvFault{TvFault::Kind::Overlap, coord, slot / values, slot % values, thread, value};
      }
      slot = thread * values + value;
    }
  }
  for (int64_t index = 0; index < elements; ++index) {
    if (holder[static_cast<size_t>(index)] >= 0) {
      continue;
    }
    TileCoord coord{};
    int64_t rest = index;
    for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
      coord[axis] = static_cast<int32_t>(rest % shape[axis]);
      rest /= shape[axis];
    }
    return TvFault{TvFault::Kind::Hole, coord, 0, 0, 0, 0};
  }
  return std::nullopt;
}

bool same_map(const TvLayout& a, const TvLayout& b) {
  TvLayout left = a.normalized();
  TvLayout right = b.normalized();
  if (left == right) {
    return a.thread_count() == b.thread_count() && a.value_count() == b.value_count();
  }
  if (a.thread_count() != b.thread_count() || a.value_count() != b.value_count()) {
    return false;
  }
  for (int64_t thread = 0; thread < a.thread_count(); ++thread) {
    if (a.thread_offset(thread) != b.thread_offset(thread)) {
      return false;
    }
  }
  for (int64_t value = 0; value < a.value_count(); ++value) {
    if (a.value_offset(value) != b.value_offset(value)) {
      return false;
    }
  }
  return true;
}

TvLayout drop_axis(const TvLayout& layout, int axis) {
  return map_axes(layout, [axis](int old_axis) {
    if (old_axis == axis) {
      return TvMode::kReplicated;
    }
    return old_axis > axis ? old_axis - 1 : old_axis;
  });
}

TvLayout project(const TvLayout& layout, const std::vector<int>& axis_map) {
  return map_axes(layout, [&](int old_axis) {
    for (size_t d = 0; d < axis_map.size(); ++d) {
      if (axis_map[d] == old_axis) {
        return static_cast<int>(d);
      }
    }
    return TvMode::kReplicated;
  });
}

}  // namespace tw::target
