// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tw {

// An index into one particular table; indices of different tables do not mix.
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t i) : index(i) {}
  [[nodiscard]] constexpr bool is_valid() const { return index != kNone; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

}  // namespace tw

template <class Tag>
struct std::hash<tw::Id<Tag>> {
  size_t operator()(const tw::Id<Tag>& id) const noexcept { return std::hash<uint32_t>{}(id.index); }
};
