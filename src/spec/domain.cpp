// SPDX-License-Identifier: Apache-2.0
#include "spec/domain.h"

#include <fmt/format.h>

#include "base/check.h"

namespace tw::spec {

int64_t SizeRange::smallest() const {
  int64_t excess = min % multiple_of;
  if (excess == 0) {
    return min;
  }
  int64_t next = 0;
  return __builtin_add_overflow(min - excess, multiple_of, &next) ? std::numeric_limits<int64_t>::max() : next;
}

int64_t SizeRange::largest() const {
  return max - max % multiple_of;
}

bool SizeRange::contains(const SizeRange& inner) const {
  if (inner.is_empty()) {
    return true;
  }
  bool is_single = inner.smallest() == inner.largest();
  return contains(inner.smallest()) && contains(inner.largest()) && (is_single || inner.multiple_of % multiple_of == 0);
}

std::string print(std::string_view name, const SizeRange& range) {
  if (range.min == range.max) {
    return fmt::format("{} = {}", name, range.min);
  }
  std::string result = range.max == std::numeric_limits<int32_t>::max()
                           ? fmt::format("{} >= {}", name, range.min)
                           : fmt::format("{} <= {} <= {}", range.min, name, range.max);
  if (range.multiple_of > 1) {
    result += fmt::format(", {} % {} == 0", name, range.multiple_of);
  }
  return result;
}

bool ShapeDomain::contains(std::span<const int64_t> extents) const {
  TW_CHECK(extents.size() == ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].contains(extents[i])) {
      return false;
    }
  }
  return true;
}

bool ShapeDomain::contains(const ShapeDomain& inner) const {
  TW_CHECK(inner.ranges.size() == ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].contains(inner.ranges[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace tw::spec
