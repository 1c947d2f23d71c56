// SPDX-License-Identifier: Apache-2.0
#include "layout/tv.h"

#include <algorithm>
#include <fmt/format.h>

#include "layout/inverse.h"

namespace tw::layout {

Checked<TvMap> TvMap::make(Layout layout, int64_t tile_elems) {
  if (!layout.shape().is_tuple() || layout.rank() != 2) {
    return fail_law(Law::Rank, {{"rank", static_cast<int64_t>(layout.rank())}},
                    fmt::format("a thread/value layout has two modes, {} has {}", layout.to_string(), layout.rank()));
  }
  if (tile_elems < 1 || tile_elems > kMaxEnumeration) {
    return fail_law(Law::EnumerationLimit, {{"tile_elems", tile_elems}, {"limit", kMaxEnumeration}},
                    fmt::format("a tile of {} elements is outside 1 to {}", tile_elems, kMaxEnumeration));
  }
  TvMap map;
  map.threads_ = layout.mode(0).size();
  map.values_ = layout.mode(1).size();
  map.tile_elems_ = tile_elems;
  TW_TRY(map.elements_, all_values(layout));
  map.first_holder_.assign(static_cast<size_t>(tile_elems), -1);
  for (size_t i = 0; i < map.elements_.size(); ++i) {
    const int64_t element = map.elements_[i];
    if (element < 0 || element >= tile_elems) {
      const int64_t thread = static_cast<int64_t>(i) % map.threads_;
      const int64_t value = static_cast<int64_t>(i) / map.threads_;
      return fail_law(Law::Coverage,
                      {{"thread", thread}, {"value", value}, {"element", element}, {"tile_elems", tile_elems}},
                      fmt::format("thread {} holds as value {} the element {}, outside a tile of {}", thread, value,
                                  element, tile_elems));
    }
    int64_t& holder = map.first_holder_[static_cast<size_t>(element)];
    if (holder >= 0) {
      map.is_injective_ = false;
    } else {
      holder = static_cast<int64_t>(i);
    }
  }
  map.first_gap_ = std::find(map.first_holder_.begin(), map.first_holder_.end(), -1) - map.first_holder_.begin();
  map.layout_ = std::move(layout);
  return map;
}

std::vector<TvMap::Owner> TvMap::owners(int64_t element) const {
  std::vector<Owner> result;
  const auto first = first_holder_[static_cast<size_t>(element)];
  for (int64_t i = first; i >= 0 && i < static_cast<int64_t>(elements_.size()); ++i) {
    if (elements_[static_cast<size_t>(i)] == element) {
      result.push_back({i % threads_, i / threads_});
      if (is_injective_) {
        break;
      }
    }
  }
  return result;
}

std::optional<TvMap::Owner> TvMap::first_owner(int64_t element) const {
  const int64_t i = first_holder_[static_cast<size_t>(element)];
  if (i < 0) {
    return std::nullopt;
  }
  return Owner{i % threads_, i / threads_};
}

Checked<Layout> tv_inverse(const Layout& tv, int64_t tile_elems) {
  TW_TRY(Layout inverse, right_inverse(tv));
  if (inverse.size() < tile_elems) {
    return fail_law(Law::Coverage, {{"reached", inverse.size()}, {"tile_elems", tile_elems}},
                    fmt::format("the inverse of {} reaches {} elements of a tile of {}", tv.to_string(), inverse.size(),
                                tile_elems));
  }
  return inverse;
}

}  // namespace tw::layout
