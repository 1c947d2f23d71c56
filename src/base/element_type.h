// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tw {

// Element types of the tile language. Tf32 occupies 4 bytes; its 13 low mantissa bits are zero.
enum class ElementType : uint8_t { Bf16, F16, F32, Tf32, F64, E4m3, E5m2, I8, U8, I32, U32, I64, Bool };

// Storage in memory; Bool takes one byte.
constexpr int size_bytes(ElementType type) {
  switch (type) {
    case ElementType::E4m3:
    case ElementType::E5m2:
    case ElementType::I8:
    case ElementType::U8:
    case ElementType::Bool:
      return 1;
    case ElementType::Bf16:
    case ElementType::F16:
      return 2;
    case ElementType::F32:
    case ElementType::Tf32:
    case ElementType::I32:
    case ElementType::U32:
      return 4;
    case ElementType::F64:
    case ElementType::I64:
      return 8;
  }
  return 0;
}

constexpr bool is_floating(ElementType type) {
  switch (type) {
    case ElementType::Bf16:
    case ElementType::F16:
    case ElementType::F32:
    case ElementType::Tf32:
    case ElementType::F64:
    case ElementType::E4m3:
    case ElementType::E5m2:
      return true;
    default:
      return false;
  }
}

constexpr std::string_view name_of(ElementType type) {
  constexpr std::string_view kNames[] = {"bf16", "f16", "f32", "tf32", "f64", "e4m3", "e5m2",
                                         "i8",   "u8",  "i32", "u32",  "i64", "bool"};
  return kNames[static_cast<int>(type)];
}

constexpr std::optional<ElementType> element_type_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ElementType::Bool); ++i) {
    if (name_of(static_cast<ElementType>(i)) == name) {
      return static_cast<ElementType>(i);
    }
  }
  return std::nullopt;
}

}  // namespace tw
