// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "layout/layout.h"

namespace tw::layout {

// A layout made ready for loops: flat, adjacent modes merged, divisions by powers of two as shifts; no allocation.
// Equal to the layout at every index, out of range and negative ones included.
class Evaluator {
 public:
  explicit Evaluator(const Layout& layout);

  [[nodiscard]] int64_t operator()(int64_t index) const {
    uint64_t sum = 0;
    if (index < 0) {
      return slow(index);
    }
    auto rest = static_cast<uint64_t>(index);
    for (size_t i = 0; i < count_; ++i) {
      const Mode& mode = modes_[i];
      uint64_t digit = 0;
      if (mode.shift >= 0) {
        digit = rest & (mode.extent - 1);
        rest >>= mode.shift;
      } else {
        digit = rest % mode.extent;
        rest /= mode.extent;
      }
      sum += digit * mode.stride;
    }
    return static_cast<int64_t>(sum + rest * last_stride_);
  }

  // Number of modes that are left after merging.
  [[nodiscard]] size_t mode_count() const { return count_ + 1; }

 private:
  struct Mode {
    uint64_t extent = 1;
    uint64_t stride = 0;
    int shift = -1;
  };

  [[nodiscard]] int64_t slow(int64_t index) const;

  // All modes but the last, which takes what is left of the index.
  std::array<Mode, kMaxLeaves> modes_;
  size_t count_ = 0;
  uint64_t last_stride_ = 0;
};

}  // namespace tw::layout
