// SPDX-License-Identifier: Apache-2.0
#include "task/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float16.h"
#include "base/float8.h"

namespace tw::task {
namespace {

uint64_t mixed(uint64_t a, uint64_t b) {
  Random random(a ^ (b * 0x9e3779b97f4a7c15ULL));
  return random.next();
}

// How far "large" goes: far enough that products are large, not so far that every sum overflows the type.
double large_scale(ElementType type) {
  switch (type) {
    case ElementType::F16:
      return 16;
    case ElementType::E4m3:
    case ElementType::E5m2:
      return 8;
    default:
      return 1024;
  }
}

// Rows that break careless kernels: a softmax without the maximum, a variance by differences of squares, a reduction
// that skips its tail or starts from 0, a mask that is off by one.
double adversarial(Random& random, int64_t row, int64_t column, int64_t columns, ElementType type) {
  double high = type == ElementType::F16 ? 100 : 1000;
  switch (row % 7) {
    case 0:
      return column == columns - 1 ? high : random.normal();
    case 1:
      return 1;
    case 2:
      return -high + random.normal();
    case 3:
      return high + random.normal();
    case 4:
      return (column % 2 == 0 ? 1 : -1) * (8 + random.uniform());
    case 5:
      return 4 * static_cast<double>(column) / static_cast<double>(columns) - 2;
    default:
      return column == 0 ? -high : random.uniform();
  }
}

double draw(Random& random, Distribution distribution, int64_t row, int64_t column, int64_t columns, ElementType type) {
  switch (distribution) {
    case Distribution::Normal:
      return random.normal();
    case Distribution::Uniform:
      return 2 * random.uniform() - 1;
    case Distribution::Large:
      return large_scale(type) * random.normal();
    case Distribution::MostlyZero: {
      double value = random.normal();
      return random.uniform() < 0.9 ? 0 : value;
    }
    case Distribution::Adversarial:
      return adversarial(random, row, column, columns, type);
  }
  return 0;
}

// Calls visit(flat row-major index, offset in elements) for every element.
template <class Visit>
void for_each_element(std::span<const int64_t> extents, std::span<const int64_t> strides, Visit visit) {
  std::vector<int64_t> position(extents.size(), 0);
  int64_t count = 1;
  for (int64_t extent : extents) {
    count *= extent;
  }
  int64_t offset = 0;
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(flat, offset);
    for (size_t axis = extents.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++position[axis] < extents[axis]) {
        break;
      }
      offset -= position[axis] * strides[axis];
      position[axis] = 0;
    }
  }
}

template <class T>
void put(std::span<std::byte> bytes, int64_t offset, T value) {
  std::memcpy(bytes.data() + offset * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}
template <class T>
T get(std::span<const std::byte> bytes, int64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

double decode_float8(uint8_t code, ElementType type) {
  return type == ElementType::E4m3 ? e4m3_to_f32(code) : e5m2_to_f32(code);
}

uint8_t encode_float8(double value, ElementType type) {
  auto single = static_cast<float>(value);
  return type == ElementType::E4m3 ? f32_to_e4m3(single) : f32_to_e5m2(single);
}

double saturated(double value, double low, double high) {
  return std::isnan(value) ? 0 : std::clamp(std::trunc(value), low, high);
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Random::normal() {
  // Box-Muller; 1 - u keeps the logarithm finite.
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

uint64_t Random::below(uint64_t bound) {
  return next() % bound;
}

double representable(double value, ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return round_to_bf16(value);
    case ElementType::F16:
      return round_to_f16(value);
    case ElementType::Tf32:
      return round_to_tf32(value);
    case ElementType::F32:
      return static_cast<double>(static_cast<float>(value));
    case ElementType::F64:
      return value;
    case ElementType::E4m3:
    case ElementType::E5m2:
      return decode_float8(encode_float8(value, type), type);
    case ElementType::I8:
      return saturated(value, -128, 127);
    case ElementType::U8:
      return saturated(value, 0, 255);
    case ElementType::I32:
      return saturated(value, INT32_MIN, INT32_MAX);
    case ElementType::U32:
      return saturated(value, 0, UINT32_MAX);
    case ElementType::I64:
      return saturated(value, -0x1p53, 0x1p53);
    case ElementType::Bool:
      return value != 0 ? 1 : 0;
  }
  return value;
}

spec::Array generate(const Task& task, size_t operand, const Shape& shape, Distribution distribution, uint64_t seed) {
  const spec::Tensor& tensor = task.computation.tensors.at(operand);
  std::vector<int64_t> extents;
  for (spec::DimId dim : tensor.dims) {
    extents.push_back(shape.at(dim.index));
  }
  spec::Array array = spec::Array::filled(extents);
  if (tensor.direction == spec::Direction::Out) {
    return array;
  }
  Random random(mixed(mixed(seed, operand + 1), static_cast<uint64_t>(distribution) + 1));
  int64_t columns = extents.empty() ? 1 : extents.back();
  // Below: rows of different operands start with different cases.
  auto first_row = static_cast<int64_t>(random.below(7));
  for (int64_t i = 0; i < array.element_count(); ++i) {
    double value = 0;
    if (is_floating(tensor.type)) {
      value = draw(random, distribution, first_row + i / columns, i % columns, columns, tensor.type);
    } else {
      IntegerRange range = task.integer_ranges.at(operand).value_or(IntegerRange{});
      int64_t below = range.below_size.has_value() ? shape.at(range.below_size->index) : range.below;
      value =
          static_cast<double>(range.min) + static_cast<double>(random.below(std::max<int64_t>(1, below - range.min)));
    }
    array.values[i] = representable(value, tensor.type);
  }
  return array;
}

Inputs generate_all(const Task& task, const Shape& shape, Distribution distribution, uint64_t seed) {
  Inputs inputs{shape, distribution, seed, {}};
  for (size_t i = 0; i < task.operand_count; ++i) {
    bool is_read = task.computation.tensors[i].direction != spec::Direction::Out;
    inputs.values.push_back(is_read ? generate(task, i, shape, distribution, seed) : spec::Array{});
  }
  return inputs;
}

Result<std::vector<spec::Array>> reference(const Task& task, const Inputs& inputs) {
  std::vector<const spec::Array*> arrays(task.computation.tensors.size(), nullptr);
  for (size_t i = 0; i < task.operand_count; ++i) {
    if (task.computation.tensors[i].direction != spec::Direction::Out) {
      arrays[i] = &inputs.values[i];
    }
  }
  spec::EvaluateOptions options;
  options.with_errors = true;
  TW_TRY(std::vector<spec::Array> results, spec::evaluate(task.computation, inputs.shape, arrays, options));
  results.resize(task.operand_count);
  return results;
}

void encode(const spec::Array& values, ElementType type, std::span<const int64_t> strides_elems,
            std::span<std::byte> bytes) {
  for_each_element(values.extents, strides_elems, [&](int64_t flat, int64_t offset) {
    double value = values.values[flat];
    switch (type) {
      case ElementType::Bf16:
        return put(bytes, offset, f64_to_bf16(value));
      case ElementType::F16:
        return put(bytes, offset, f64_to_f16(value));
      case ElementType::Tf32:
        return put(bytes, offset, static_cast<float>(round_to_tf32(value)));
      case ElementType::F32:
        return put(bytes, offset, static_cast<float>(value));
      case ElementType::F64:
        return put(bytes, offset, value);
      case ElementType::E4m3:
      case ElementType::E5m2:
        return put(bytes, offset, encode_float8(value, type));
      case ElementType::I8:
        return put(bytes, offset, static_cast<int8_t>(representable(value, type)));
      case ElementType::U8:
        return put(bytes, offset, static_cast<uint8_t>(representable(value, type)));
      case ElementType::I32:
        return put(bytes, offset, static_cast<int32_t>(representable(value, type)));
      case ElementType::U32:
        return put(bytes, offset, static_cast<uint32_t>(representable(value, type)));
      case ElementType::I64:
        return put(bytes, offset, static_cast<int64_t>(representable(value, type)));
      case ElementType::Bool:
        return put(bytes, offset, static_cast<uint8_t>(value != 0 ? 1 : 0));
    }
  });
}

spec::Array decode(std::span<const std::byte> bytes, ElementType type, std::span<const int64_t> extents,
                   std::span<const int64_t> strides_elems) {
  spec::Array array = spec::Array::filled({extents.begin(), extents.end()});
  for_each_element(extents, strides_elems, [&](int64_t flat, int64_t offset) {
    double& value = array.values[flat];
    switch (type) {
      case ElementType::Bf16:
        value = bf16_to_f32(get<uint16_t>(bytes, offset));
        break;
      case ElementType::F16:
        value = f16_to_f32(get<uint16_t>(bytes, offset));
        break;
      case ElementType::Tf32:
      case ElementType::F32:
        value = get<float>(bytes, offset);
        break;
      case ElementType::F64:
        value = get<double>(bytes, offset);
        break;
      case ElementType::E4m3:
      case ElementType::E5m2:
        value = decode_float8(get<uint8_t>(bytes, offset), type);
        break;
      case ElementType::I8:
        value = get<int8_t>(bytes, offset);
        break;
      case ElementType::U8:
      case ElementType::Bool:
        value = get<uint8_t>(bytes, offset);
        break;
      case ElementType::I32:
        value = get<int32_t>(bytes, offset);
        break;
      case ElementType::U32:
        value = get<uint32_t>(bytes, offset);
        break;
      case ElementType::I64:
        value = static_cast<double>(get<int64_t>(bytes, offset));
        break;
    }
  });
  return array;
}

std::vector<uint8_t> untouched(std::span<const std::byte> bytes, ElementType type, std::span<const int64_t> extents,
                               std::span<const int64_t> strides_elems, std::byte poison) {
  int64_t count = 1;
  for (int64_t extent : extents) {
    count *= extent;
  }
  std::vector<uint8_t> result(static_cast<size_t>(count), 0);
  for_each_element(extents, strides_elems, [&](int64_t flat, int64_t offset) {
    auto element = bytes.subspan(static_cast<size_t>(offset * size_bytes(type)), static_cast<size_t>(size_bytes(type)));
    result[flat] = std::ranges::all_of(element, [&](std::byte b) { return b == poison; }) ? 1 : 0;
  });
  return result;
}

}  // namespace tw::task
