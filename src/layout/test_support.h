// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "layout/composed.h"
#include "layout/layout.h"
#include "layout/tiler.h"

namespace tw::layout {

inline Layout L(std::string_view text) {
  auto layout = Layout::parse(text);
  EXPECT_TRUE(layout.has_value()) << text << ": " << layout.error().to_string();
  return layout ? *layout : Layout();
}
inline IntTuple T(std::string_view text) {
  auto tuple = IntTuple::parse(text);
  EXPECT_TRUE(tuple.has_value()) << text;
  return tuple ? *tuple : IntTuple();
}
inline Tiler tiler(std::string_view text) {
  auto result = Tiler::parse(text);
  EXPECT_TRUE(result.has_value()) << text;
  return result ? *result : Tiler::keep();
}
inline ComposedLayout C(std::string_view text) {
  auto layout = ComposedLayout::parse(text);
  EXPECT_TRUE(layout.has_value()) << text << ": " << layout.error().to_string();
  return layout ? *layout : ComposedLayout();
}

template <class R>
std::string shown(const Checked<R>& result) {
  return result ? result->to_string() : "!" + result.error().to_string();
}

// The failure's law and the mode where it broke.
#define EXPECT_FAILS(expression, expected_law, expected_mode)                                             \
  do {                                                                                                    \
    const auto tw_result = (expression);                                                                  \
    ASSERT_FALSE(tw_result.has_value()) << #expression;                                                   \
    EXPECT_EQ(law_name(tw_result.error().law), law_name(expected_law)) << tw_result.error().to_string();  \
    EXPECT_EQ(tw_result.error().mode, (std::vector<int> expected_mode)) << tw_result.error().to_string(); \
    EXPECT_FALSE(tw_result.error().sentence.empty());                                                     \
  } while (false)

// Seeded random layouts: compact, permuted, padded, broadcast or arbitrary strides; up to 3 levels.
class LayoutSource {
 public:
  explicit LayoutSource(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Layout layout(int max_leaves = 4, int64_t max_size = 96) {
    static constexpr int64_t kExtents[] = {1, 2, 2, 3, 4, 4, 5, 6, 8};
    std::vector<int64_t> extents;
    int64_t size = 1;
    const int64_t leaves = 1 + below(max_leaves);
    for (int64_t i = 0; i < leaves; ++i) {
      const int64_t extent = kExtents[below(9)];
      if (size * extent > max_size) {
        break;
      }
      size *= extent;
      extents.push_back(extent);
    }
    if (extents.empty()) {
      extents.push_back(2);
    }
    std::vector<size_t> order(extents.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    if (below(2) == 0) {
      std::shuffle(order.begin(), order.end(), random_);
    }
    std::vector<int64_t> strides(extents.size());
    int64_t current = below(4) == 0 ? 1 + below(4) : 1;
    for (size_t i : order) {
      strides[i] = below(10) == 0 ? 0 : below(8) == 0 ? below(12) : current;
      current *= extents[i] * (below(8) == 0 ? 2 : 1);
    }
    size_t next = 0;
    const IntTuple profile = nest(extents.size(), 3);
    return Layout::make(fill(profile, extents, next), refill(profile, strides)).value();
  }

 private:
  IntTuple nest(size_t leaves, int depth) {
    if (leaves == 1) {
      return 0;
    }
    std::vector<IntTuple> parts;
    while (leaves > 0) {
      const size_t part =
          depth <= 1 ? 1 : 1 + static_cast<size_t>(below(static_cast<int64_t>(std::min<size_t>(leaves, 2))));
      parts.push_back(nest(part, depth - 1));
      leaves -= part;
    }
    return IntTuple::tuple(std::move(parts));
  }
  IntTuple fill(const IntTuple& profile, const std::vector<int64_t>& values, size_t& next) {
    if (!profile.is_tuple()) {
      return values[next++];
    }
    std::vector<IntTuple> parts;
    for (const IntTuple& part : profile.elements()) {
      parts.push_back(fill(part, values, next));
    }
    return IntTuple::tuple(std::move(parts));
  }
  IntTuple refill(const IntTuple& profile, const std::vector<int64_t>& values) {
    size_t next = 0;
    return fill(profile, values, next);
  }

  std::mt19937_64 random_;
};

}  // namespace tw::layout
