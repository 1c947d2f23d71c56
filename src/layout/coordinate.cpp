// SPDX-License-Identifier: Apache-2.0
#include "layout/coordinate.h"

#include <fmt/format.h>

namespace tw::layout {
namespace {

Failure<LayoutFailure> fail_profile(const IntTuple& coordinate, const IntTuple& shape) {
  return fail_law(
      Law::CoordinateProfile,
      {{"coordinate_rank", static_cast<int64_t>(coordinate.rank())},
       {"shape_rank", static_cast<int64_t>(shape.rank())}},
      fmt::format("coordinate {} does not fit the nesting of {}", coordinate.to_string(), shape.to_string()));
}

// Recursion in every function below follows the shape or the coordinate; both are bounded here once.
Checked<int> check_operands(std::initializer_list<const IntTuple*> tuples) {
  for (const IntTuple* tuple : tuples) {
    TW_TRY([[maybe_unused]] const int done, check_limits(*tuple));
  }
  return 0;
}

Checked<int> check_extent(int64_t extent) {
  if (extent < 1) {
    return fail_law(Law::PositiveExtent, {{"extent", extent}}, fmt::format("extent {} is below 1", extent));
  }
  return 0;
}

Checked<int64_t> inner(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride) {
  if (shape.is_tuple() != stride.is_tuple() || shape.rank() != stride.rank() || shape.is_free() || stride.is_free()) {
    return fail_law(
        Law::Congruence,
        {{"shape_rank", static_cast<int64_t>(shape.rank())}, {"stride_rank", static_cast<int64_t>(stride.rank())}},
        fmt::format("shape {} and stride {} do not nest alike", shape.to_string(), stride.to_string()));
  }
  if (coordinate.is_tuple()) {
    if (!shape.is_tuple() || coordinate.rank() != shape.rank()) {
      return fail_profile(coordinate, shape);
    }
    int64_t sum = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
      auto part = inner(coordinate.mode(i), shape.mode(i), stride.mode(i));
      if (!part) {
        return fail(std::move(part).error().in_mode(static_cast<int>(i)));
      }
      TW_TRY(sum, checked_add(sum, *part));
    }
    return sum;
  }
  int64_t rest = coordinate.is_free() ? 0 : coordinate.value();
  if (!shape.is_tuple()) {
    return checked_mul(rest, stride.value());
  }
  int64_t sum = 0;
  for (size_t i = 0; i < shape.rank(); ++i) {
    int64_t part_index = rest;
    if (i + 1 < shape.rank()) {
      TW_TRY(const int64_t extent, product(shape.mode(i)));
      TW_TRY([[maybe_unused]] const int positive, check_extent(extent));
      part_index = rest % extent;
      rest /= extent;
    }
    auto part = inner(part_index, shape.mode(i), stride.mode(i));
    if (!part) {
      return fail(std::move(part).error().in_mode(static_cast<int>(i)));
    }
    TW_TRY(sum, checked_add(sum, *part));
  }
  return sum;
}

// The value of a coordinate in a colexicographic count of the shape.
Checked<int64_t> linear(const IntTuple& coordinate, const IntTuple& shape) {
  if (!coordinate.is_tuple()) {
    return coordinate.is_free() ? 0 : coordinate.value();
  }
  if (!shape.is_tuple() || coordinate.rank() != shape.rank()) {
    return fail_profile(coordinate, shape);
  }
  int64_t index = 0;
  for (size_t step = shape.rank(); step-- > 0;) {
    auto part = linear(coordinate.mode(step), shape.mode(step));
    if (!part) {
      return fail(std::move(part).error().in_mode(static_cast<int>(step)));
    }
    TW_TRY(const int64_t extent, product(shape.mode(step)));
    TW_TRY(index, checked_mul(index, extent));
    TW_TRY(index, checked_add(index, *part));
  }
  return index;
}

Checked<IntTuple> natural(int64_t index, const IntTuple& shape) {
  if (!shape.is_tuple()) {
    return IntTuple(index);
  }
  std::vector<IntTuple> parts;
  for (size_t i = 0; i < shape.rank(); ++i) {
    int64_t part = index;
    if (i + 1 < shape.rank()) {
      TW_TRY(const int64_t extent, product(shape.mode(i)));
      TW_TRY([[maybe_unused]] const int positive, check_extent(extent));
      part = index % extent;
      index /= extent;
    }
    TW_TRY(IntTuple element, natural(part, shape.mode(i)));
    parts.push_back(std::move(element));
  }
  return IntTuple::tuple(std::move(parts));
}

template <class F>
Checked<IntTuple> each_mode(const IntTuple& index, const IntTuple& shape, const F& apply) {
  if (!shape.is_tuple() || index.rank() != shape.rank()) {
    return fail_profile(index, shape);
  }
  std::vector<IntTuple> parts;
  for (size_t i = 0; i < shape.rank(); ++i) {
    auto part = apply(i);
    if (!part) {
      return fail(std::move(part).error().in_mode(static_cast<int>(i)));
    }
    parts.push_back(*std::move(part));
  }
  return IntTuple::tuple(std::move(parts));
}

Checked<IntTuple> natural_of(const IntTuple& index, const IntTuple& shape) {
  if (index.is_tuple()) {
    return each_mode(index, shape, [&](size_t i) { return natural_of(index.mode(i), shape.mode(i)); });
  }
  return natural(index.is_free() ? 0 : index.value(), shape);
}

Checked<IntTuple> strided(const IntTuple& index, const IntTuple& shape, const IntTuple& stride) {
  if (shape.is_tuple() != stride.is_tuple() || shape.rank() != stride.rank() || shape.is_free() || stride.is_free()) {
    return fail_law(
        Law::Congruence,
        {{"shape_rank", static_cast<int64_t>(shape.rank())}, {"stride_rank", static_cast<int64_t>(stride.rank())}},
        fmt::format("shape {} and stride {} do not nest alike", shape.to_string(), stride.to_string()));
  }
  if (index.is_tuple()) {
    return each_mode(index, shape, [&](size_t i) { return strided(index.mode(i), shape.mode(i), stride.mode(i)); });
  }
  if (shape.is_tuple()) {
    std::vector<IntTuple> parts;
    for (size_t i = 0; i < shape.rank(); ++i) {
      auto part = strided(index, shape.mode(i), stride.mode(i));
      if (!part) {
        return fail(std::move(part).error().in_mode(static_cast<int>(i)));
      }
      parts.push_back(*std::move(part));
    }
    return IntTuple::tuple(std::move(parts));
  }
  TW_TRY([[maybe_unused]] const int positive, check_extent(shape.value()));
  if (shape.value() == 1) {
    return IntTuple(0);
  }
  if (stride.value() < 1) {
    return fail_law(Law::NonNegativeStride, {{"stride", stride.value()}},
                    fmt::format("a coordinate along stride {} is not determined by the index", stride.value()));
  }
  const int64_t value = index.is_free() ? 0 : index.value();
  return IntTuple(value / stride.value() % shape.value());
}

}  // namespace

Checked<int64_t> crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride) {
  TW_TRY([[maybe_unused]] const int done, check_operands({&coordinate, &shape, &stride}));
  return inner(coordinate, shape, stride);
}

Checked<int64_t> crd2idx(const IntTuple& coordinate, const Layout& layout) {
  return crd2idx(coordinate, layout.shape(), layout.stride());
}

Checked<int64_t> crd2idx(const IntTuple& coordinate, const IntTuple& shape) {
  TW_TRY([[maybe_unused]] const int done, check_operands({&coordinate, &shape}));
  return linear(coordinate, shape);
}

Checked<IntTuple> idx2crd(const IntTuple& index, const IntTuple& shape) {
  TW_TRY([[maybe_unused]] const int done, check_operands({&index, &shape}));
  return natural_of(index, shape);
}

Checked<IntTuple> idx2crd(const IntTuple& index, const IntTuple& shape, const IntTuple& stride) {
  TW_TRY([[maybe_unused]] const int done, check_operands({&index, &shape, &stride}));
  return strided(index, shape, stride);
}

Checked<IntTuple> crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to) {
  TW_TRY([[maybe_unused]] const int done, check_operands({&coordinate, &from, &to}));
  if (coordinate.is_tuple() && from.is_tuple() && to.is_tuple()) {
    if (coordinate.rank() != from.rank() || coordinate.rank() != to.rank()) {
      return fail_profile(coordinate, coordinate.rank() != from.rank() ? from : to);
    }
    return each_mode(coordinate, to, [&](size_t i) { return crd2crd(coordinate.mode(i), from.mode(i), to.mode(i)); });
  }
  TW_TRY(const int64_t index, linear(coordinate, from));
  return natural(index, to);
}

bool is_in_range(const IntTuple& coordinate, const IntTuple& shape) {
  if (coordinate.is_tuple()) {
    if (!shape.is_tuple() || coordinate.rank() != shape.rank()) {
      return false;
    }
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (!is_in_range(coordinate.mode(i), shape.mode(i))) {
        return false;
      }
    }
    return true;
  }
  const auto size = product(shape);
  return coordinate.is_free() || (size && coordinate.value() >= 0 && coordinate.value() < *size);
}

}  // namespace tw::layout
