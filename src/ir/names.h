// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ir/function.h"

namespace tw::ir {

// Spellings of the text form. Each table is in the order of its enumeration.
inline constexpr std::array<std::string_view, 5> kDirectionNames{"in", "out", "inout", "acc", "work"};
inline constexpr std::array<std::string_view, 4> kReduceNames{"add", "max", "min", "or"};
inline constexpr std::array<std::string_view, 10> kSymbolKindNames{
    "size", "scalar", "loop", "tile_coord", "tile_index", "axis", "carried", "result", "block_index", "thread_index"};
inline constexpr std::array<std::string_view, 18> kExprNames{"const", "symbol",  "add", "sub", "mul", "floordiv",
                                                             "mod",   "ceildiv", "min", "max", "eq",  "ne",
                                                             "lt",    "le",      "and", "or",  "not", "select"};

template <class Enum, size_t N>
std::optional<Enum> enum_of(const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) {
      return static_cast<Enum>(i);
    }
  }
  return std::nullopt;
}

inline std::string_view name_of(Direction direction) {
  return kDirectionNames[static_cast<size_t>(direction)];
}
inline std::string_view name_of(ReduceKind kind) {
  return kReduceNames[static_cast<size_t>(kind)];
}
inline std::string_view name_of(SymbolKind kind) {
  return kSymbolKindNames[static_cast<size_t>(kind)];
}
inline std::string_view name_of(ExprKind kind) {
  return kExprNames[static_cast<size_t>(kind)];
}

}  // namespace tw::ir
