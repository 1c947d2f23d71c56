// SPDX-License-Identifier: Apache-2.0
#include "emulator/elements.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "base/float16.h"
#include "base/float8.h"

namespace tw::emulator {
namespace {

template <class Memory, class Value, class Convert>
void convert_from(const std::byte* bytes, size_t count, void* out, Convert convert) {
  auto* values = static_cast<Value*>(out);
  for (size_t i = 0; i < count; ++i) {
    Memory element;
    std::memcpy(&element, bytes + i * sizeof(Memory), sizeof(Memory));
    values[i] = convert(element);
  }
}

template <class Memory, class Value, class Convert>
void convert_to(const void* in, size_t count, std::byte* bytes, Convert convert) {
  const auto* values = static_cast<const Value*>(in);
  for (size_t i = 0; i < count; ++i) {
    const Memory element = convert(values[i]);
    std::memcpy(bytes + i * sizeof(Memory), &element, sizeof(Memory));
  }
}

template <class Int>
void ints_from(const std::byte* bytes, size_t count, void* out) {
  convert_from<Int, int64_t>(bytes, count, out, [](Int v) { return static_cast<int64_t>(v); });
}
template <class Int>
void ints_to(const void* in, size_t count, std::byte* bytes) {
  convert_to<Int, int64_t>(in, count, bytes, [](int64_t v) { return static_cast<Int>(v); });
}

}  // namespace

int64_t lowest_of(ElementType type) {
  switch (type) {
    case ElementType::I8:
      return INT8_MIN;
    case ElementType::I32:
      return INT32_MIN;
    case ElementType::I64:
      return INT64_MIN;
    default:
      return 0;
  }
}

int64_t highest_of(ElementType type) {
  switch (type) {
    case ElementType::I8:
      return INT8_MAX;
    case ElementType::U8:
      return UINT8_MAX;
    case ElementType::I32:
      return INT32_MAX;
    case ElementType::U32:
      return UINT32_MAX;
    case ElementType::Bool:
      return 1;
    default:
      return INT64_MAX;
  }
}

Buffer make_buffer(ElementType type, size_t count) {
  switch (rep_of(type)) {
    case Rep::F32:
      return std::vector<float>(count);
    case Rep::F64:
      return std::vector<double>(count);
    case Rep::I64:
      return std::vector<int64_t>(count);
  }
  return {};
}

size_t size_of(const Buffer& buffer) {
  return std::visit([](const auto& v) { return v.size(); }, buffer);
}
void* data_of(Buffer& buffer, size_t index) {
  return std::visit([&](auto& v) -> void* { return v.data() + index; }, buffer);
}
const void* data_of(const Buffer& buffer, size_t index) {
  return std::visit([&](const auto& v) -> const void* { return v.data() + index; }, buffer);
}
double as_double(const Buffer& buffer, size_t index) {
  return std::visit([&](const auto& v) { return static_cast<double>(v[index]); }, buffer);
}

void decode_elements(ElementType type, const std::byte* bytes, size_t count, void* out) {
  switch (type) {
    case ElementType::Bf16:
      return convert_from<uint16_t, float>(bytes, count, out, bf16_to_f32);
    case ElementType::F16:
      return convert_from<uint16_t, float>(bytes, count, out, f16_to_f32);
    case ElementType::F32:
    case ElementType::Tf32:
      std::memcpy(out, bytes, count * sizeof(float));
      return;
    case ElementType::F64:
      std::memcpy(out, bytes, count * sizeof(double));
      return;
    case ElementType::E4m3:
      return convert_from<uint8_t, float>(bytes, count, out, e4m3_to_f32);
    case ElementType::E5m2:
      return convert_from<uint8_t, float>(bytes, count, out, e5m2_to_f32);
    case ElementType::I8:
      return ints_from<int8_t>(bytes, count, out);
    case ElementType::U8:
      return ints_from<uint8_t>(bytes, count, out);
    case ElementType::I32:
      return ints_from<int32_t>(bytes, count, out);
    case ElementType::U32:
      return ints_from<uint32_t>(bytes, count, out);
    case ElementType::I64:
      return ints_from<int64_t>(bytes, count, out);
    case ElementType::Bool:
      return convert_from<uint8_t, int64_t>(bytes, count, out, [](uint8_t v) { return int64_t{v != 0}; });
  }
}

void encode_elements(ElementType type, const void* values, size_t count, std::byte* bytes) {
  switch (type) {
    case ElementType::Bf16:
      return convert_to<uint16_t, float>(values, count, bytes, f32_to_bf16);
    case ElementType::F16:
      return convert_to<uint16_t, float>(values, count, bytes, f32_to_f16);
    case ElementType::F32:
    case ElementType::Tf32:
      std::memcpy(bytes, values, count * sizeof(float));
      return;
    case ElementType::F64:
      std::memcpy(bytes, values, count * sizeof(double));
      return;
    case ElementType::E4m3:
      return convert_to<uint8_t, float>(values, count, bytes, f32_to_e4m3);
    case ElementType::E5m2:
      return convert_to<uint8_t, float>(values, count, bytes, f32_to_e5m2);
    case ElementType::I8:
    case ElementType::U8:
      return ints_to<uint8_t>(values, count, bytes);
    case ElementType::I32:
    case ElementType::U32:
      return ints_to<uint32_t>(values, count, bytes);
    case ElementType::I64:
      return ints_to<uint64_t>(values, count, bytes);
    case ElementType::Bool:
      return convert_to<uint8_t, int64_t>(values, count, bytes, [](int64_t v) { return static_cast<uint8_t>(v != 0); });
  }
}

float round_f32_to(ElementType type, float value) {
  switch (type) {
    case ElementType::Bf16:
      return bf16_to_f32(f32_to_bf16(value));
    case ElementType::F16:
      return f16_to_f32(f32_to_f16(value));
    case ElementType::Tf32:
      return round_to_tf32(value);
    case ElementType::E4m3:
      return e4m3_to_f32(f32_to_e4m3(value));
    case ElementType::E5m2:
      return e5m2_to_f32(f32_to_e5m2(value));
    default:
      return value;
  }
}

float round_f64_to(ElementType type, double value) {
  switch (type) {
    case ElementType::Bf16:
      return static_cast<float>(round_to_bf16(value));
    case ElementType::F16:
      return static_cast<float>(round_to_f16(value));
    case ElementType::Tf32:
      return static_cast<float>(round_to_tf32(value));
    case ElementType::E4m3:
    case ElementType::E5m2: {
      // Round to odd on the way, so that the second rounding sees on which side of a tie the value lies.
      auto narrow = static_cast<float>(value);
      if (std::isfinite(value) && std::isfinite(narrow) && static_cast<double>(narrow) != value) {
        const bool is_odd = (std::bit_cast<uint32_t>(narrow) & 1U) != 0;
        if (!is_odd) {
          narrow = std::nextafter(narrow, narrow < value ? std::numeric_limits<float>::infinity()
                                                         : -std::numeric_limits<float>::infinity());
        }
      }
      return round_f32_to(type, narrow);
    }
    default:
      return static_cast<float>(value);
  }
}

int64_t saturate_to(ElementType type, double value) {
  if (std::isnan(value)) {
    return 0;
  }
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(lowest_of(type))) {
    return lowest_of(type);
  }
  if (rounded >= static_cast<double>(highest_of(type))) {
    return highest_of(type);
  }
  return static_cast<int64_t>(rounded);
}

std::string element_text(ElementType type, double value) {
  if (type == ElementType::Bool) {
    return value != 0 ? "true" : "false";
  }
  return is_floating(type) ? fmt::format("{:.9g}", value) : fmt::format("{}", static_cast<int64_t>(value));
}

}  // namespace tw::emulator
