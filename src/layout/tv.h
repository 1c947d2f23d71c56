// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "layout/enumerate.h"
#include "layout/layout.h"

namespace tw::layout {

// Which element of a register tile thread t holds as its v-th value: a layout with two modes (threads, values) onto the
// column-major index of the tile, as CuTe writes MMA atoms. The accumulator of mma.m16n8k16 is
//   ((4,8),(2,2)):((32,1),(16,8))  onto the 16 x 8 tile: thread 5 = (1,1), value 1 = (1,0) -> 32 + 1 + 16 = 49 = (1,
//   3).
// Threads may hold copies of one element (stride 0, or a reduced row held by the whole quad); then the map is not
// injective and `owners` lists all holders.
class TvMap {
 public:
  struct Owner {
    int64_t thread = 0;
    int64_t value = 0;
    friend bool operator==(const Owner&, const Owner&) = default;
  };

  // Fails with Rank unless there are two modes, with Coverage when a value lies outside 0, ..., tile_elems-1, and with
  // EnumerationLimit above kMaxEnumeration.
  [[nodiscard]] static Checked<TvMap> make(Layout layout, int64_t tile_elems);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] int64_t threads() const { return threads_; }
  [[nodiscard]] int64_t values() const { return values_; }
  [[nodiscard]] int64_t tile_elems() const { return tile_elems_; }
  // REQUIRES: 0 <= thread < threads(), 0 <= value < values().
  [[nodiscard]] int64_t element(int64_t thread, int64_t value) const {
    return elements_[static_cast<size_t>(thread + value * threads_)];
  }
  // All holders of an element, smallest (value, thread) first. REQUIRES: 0 <= element < tile_elems().
  [[nodiscard]] std::vector<Owner> owners(int64_t element) const;
  [[nodiscard]] std::optional<Owner> first_owner(int64_t element) const;

  // Each element is held by at least one thread.
  [[nodiscard]] bool is_covering() const { return first_gap_ == tile_elems_; }
  // No element is held twice.
  [[nodiscard]] bool is_injective() const { return is_injective_; }
  [[nodiscard]] bool is_bijective() const { return is_covering() && is_injective_; }
  // The smallest element that no thread holds; tile_elems() if there is none.
  [[nodiscard]] int64_t first_gap() const { return first_gap_; }

 private:
  Layout layout_;
  int64_t threads_ = 1;
  int64_t values_ = 1;
  int64_t tile_elems_ = 1;
  int64_t first_gap_ = 0;
  bool is_injective_ = true;
  std::vector<int64_t> elements_;
  // Index of the first holder of each element, -1 for none.
  std::vector<int64_t> first_holder_;
};

// The map of tile element -> (thread, value) as a layout onto thread + threads * value, when there is one that covers
// the tile: right_inverse. Fails with Coverage and the number of elements that it reaches.
[[nodiscard]] Checked<Layout> tv_inverse(const Layout& tv, int64_t tile_elems);

}  // namespace tw::layout
