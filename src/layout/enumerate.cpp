// SPDX-License-Identifier: Apache-2.0
#include "layout/enumerate.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "layout/coordinate.h"
#include "layout/simplify.h"

namespace tw::layout {
namespace {

Checked<int> check_size(int64_t size, int64_t limit) {
  if (size > std::min(limit, kMaxEnumeration)) {
    return fail_law(Law::EnumerationLimit, {{"size", size}, {"limit", std::min(limit, kMaxEnumeration)}},
                    fmt::format("{} elements are more than the {} that are looked at one by one", size,
                                std::min(limit, kMaxEnumeration)));
  }
  return 0;
}

// Where each value came first; dense when the values are, since a table beats sorting by far.
std::optional<std::pair<size_t, size_t>> find_collision(const std::vector<int64_t>& values) {
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const uint64_t span = static_cast<uint64_t>(*highest) - static_cast<uint64_t>(*lowest);
  if (span < static_cast<uint64_t>(kMaxEnumeration)) {
    std::vector<uint32_t> first(span + 1, UINT32_MAX);
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t& slot = first[static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(*lowest)];
      if (slot != UINT32_MAX) {
        return std::pair(size_t{slot}, i);
      }
      slot = static_cast<uint32_t>(i);
    }
    return std::nullopt;
  }
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return values[a] != values[b] ? values[a] < values[b] : a < b; });
  std::optional<std::pair<size_t, size_t>> best;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const bool starts_group = i == 0 || values[order[i - 1]] != values[order[i]];
    if (starts_group && values[order[i]] == values[order[i + 1]] && (!best || order[i + 1] < best->second)) {
      best = {order[i], order[i + 1]};
    }
  }
  return best;
}

}  // namespace

Checked<std::vector<int64_t>> all_values(const ComposedLayout& layout, int64_t limit) {
  TW_TRY([[maybe_unused]] const int done, check_size(layout.size(), limit));
  // Grow the table mode by mode: each value is one addition.
  std::vector<int64_t> values = {0};
  values.reserve(static_cast<size_t>(layout.size()));
  for (const FlatMode& mode : merged_modes(layout.inner(), OutOfRange::Free)) {
    const size_t block = values.size();
    for (int64_t c = 1; c < mode.extent; ++c) {
      for (size_t j = 0; j < block; ++j) {
        values.push_back(values[j] + c * mode.stride);
      }
    }
  }
  if (!layout.is_plain()) {
    for (int64_t& value : values) {
      value = layout.outer()(value + layout.offset());
    }
  }
  return values;
}

Checked<std::vector<int64_t>> image(const ComposedLayout& layout, int64_t limit) {
  TW_TRY(std::vector<int64_t> values, all_values(layout, limit));
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Checked<std::optional<Collision>> first_collision(const ComposedLayout& layout, int64_t limit) {
  if (is_injective_by_strides(layout.inner())) {
    return std::optional<Collision>();
  }
  TW_TRY(const std::vector<int64_t> values, all_values(layout, limit));
  const auto found = find_collision(values);
  if (!found) {
    return std::optional<Collision>();
  }
  Collision collision;
  collision.first = static_cast<int64_t>(found->first);
  collision.second = static_cast<int64_t>(found->second);
  collision.value = values[found->second];
  TW_TRY(collision.first_coordinate, idx2crd(collision.first, layout.shape()));
  TW_TRY(collision.second_coordinate, idx2crd(collision.second, layout.shape()));
  return std::optional<Collision>(std::move(collision));
}

Checked<bool> is_injective(const ComposedLayout& layout, int64_t limit) {
  TW_TRY(const std::optional<Collision> collision, first_collision(layout, limit));
  return !collision.has_value();
}

Checked<std::optional<int64_t>> first_gap(const ComposedLayout& layout, int64_t n, int64_t limit) {
  if (n <= 0) {
    return std::optional<int64_t>();
  }
  TW_TRY(const std::vector<int64_t> values, all_values(layout, limit));
  // A layout with fewer elements than n has a gap at or below its size: no larger table is needed.
  const auto bound = static_cast<size_t>(std::min(n, layout.size() + 1));
  std::vector<bool> seen(bound, false);
  for (int64_t value : values) {
    if (value >= 0 && static_cast<uint64_t>(value) < bound) {
      seen[static_cast<size_t>(value)] = true;
    }
  }
  const auto gap = std::find(seen.begin(), seen.end(), false);
  if (gap == seen.end()) {
    return std::optional<int64_t>();
  }
  return std::optional<int64_t>(gap - seen.begin());
}

Checked<bool> is_surjective_onto(const ComposedLayout& layout, int64_t n, int64_t limit) {
  TW_TRY(const std::optional<int64_t> gap, first_gap(layout, n, limit));
  return !gap.has_value();
}

Checked<bool> is_bijective_onto(const ComposedLayout& layout, int64_t n, int64_t limit) {
  if (layout.size() != n) {
    return false;
  }
  return is_surjective_onto(layout, n, limit);
}

bool is_injective_by_strides(const Layout& layout) {
  std::vector<FlatMode> modes = merged_modes(layout, OutOfRange::Free);
  for (FlatMode& mode : modes) {
    if (mode.stride == INT64_MIN) {
      return false;
    }
    mode.stride = mode.stride < 0 ? -mode.stride : mode.stride;
  }
  std::sort(modes.begin(), modes.end(), [](const FlatMode& a, const FlatMode& b) { return a.stride < b.stride; });
  int64_t highest = 0;
  for (const FlatMode& mode : modes) {
    if (mode.stride <= highest) {
      return false;
    }
    highest += (mode.extent - 1) * mode.stride;
  }
  return true;
}

Checked<bool> is_equal_function(const ComposedLayout& a, const ComposedLayout& b, int64_t limit) {
  if (a.size() != b.size()) {
    return false;
  }
  TW_TRY([[maybe_unused]] const int done, check_size(a.size(), limit));
  const ComposedEvaluator evaluate_a(a);
  const ComposedEvaluator evaluate_b(b);
  for (int64_t i = 0; i < a.size(); ++i) {
    if (evaluate_a(i) != evaluate_b(i)) {
      return false;
    }
  }
  return true;
}

}  // namespace tw::layout
