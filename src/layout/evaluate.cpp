// SPDX-License-Identifier: Apache-2.0
#include "layout/evaluate.h"

#include "layout/simplify.h"

namespace tw::layout {

Evaluator::Evaluator(const Layout& layout) {
  const std::vector<FlatMode> modes = merged_modes(layout, OutOfRange::Kept);
  TW_CHECK(modes.size() <= kMaxLeaves);
  for (size_t i = 0; i + 1 < modes.size(); ++i) {
    Mode& mode = modes_[count_++];
    mode.extent = static_cast<uint64_t>(modes[i].extent);
    mode.stride = static_cast<uint64_t>(modes[i].stride);
    mode.shift = std::has_single_bit(mode.extent) ? std::countr_zero(mode.extent) : -1;
  }
  last_stride_ = modes.empty() ? 0 : static_cast<uint64_t>(modes.back().stride);
}

int64_t Evaluator::slow(int64_t index) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < count_; ++i) {
    const auto extent = static_cast<int64_t>(modes_[i].extent);
    sum += static_cast<uint64_t>(index % extent) * modes_[i].stride;
    index /= extent;
  }
  return static_cast<int64_t>(sum + static_cast<uint64_t>(index) * last_stride_);
}

}  // namespace tw::layout
