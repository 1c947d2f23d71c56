// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/element_type.h"

namespace tw::emulator {

// How elements are held while the emulator computes with them: every short floating-point type and f32 as f32 (exact),
// f64 as itself, integers and truth values as i64.
enum class Rep : uint8_t { F32, F64, I64 };
constexpr Rep rep_of(ElementType type) {
  if (type == ElementType::F64) {
    return Rep::F64;
  }
  return is_floating(type) ? Rep::F32 : Rep::I64;
}

// Smallest and largest value of an integer type.
int64_t lowest_of(ElementType type);
int64_t highest_of(ElementType type);

// Elements in one representation.
using Buffer = std::variant<std::vector<float>, std::vector<double>, std::vector<int64_t>>;
Buffer make_buffer(ElementType type, size_t count);
size_t size_of(const Buffer& buffer);
// A pointer to element `index`, of the representation's type.
void* data_of(Buffer& buffer, size_t index = 0);
const void* data_of(const Buffer& buffer, size_t index = 0);
double as_double(const Buffer& buffer, size_t index);

// Memory bytes (little endian, element after element) to the representation and back.
// REQUIRES: the values are in the type (rounded, in range); encode of an integer outside keeps its low bits, as a
// machine.
void decode_elements(ElementType type, const std::byte* bytes, size_t count, void* out);
void encode_elements(ElementType type, const void* values, size_t count, std::byte* bytes);

// Nearest value of the type: even ties; fp8 and integers saturate, NaN to 0 for integers.
float round_f32_to(ElementType type, float value);
float round_f64_to(ElementType type, double value);
int64_t saturate_to(ElementType type, double value);

// The value of one encoded element, for messages.
std::string element_text(ElementType type, double value);

}  // namespace tw::emulator
