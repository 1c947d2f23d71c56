// SPDX-License-Identifier: Apache-2.0
#include "layout/int_tuple.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "layout/text_reader.h"

namespace tw::layout {
namespace {

void print(const IntTuple& tuple, std::string& out) {
  if (tuple.is_free()) {
    out += '_';
  } else if (tuple.is_int()) {
    out += std::to_string(tuple.value());
  } else {
    out += '(';
    for (size_t i = 0; i < tuple.rank(); ++i) {
      out += i == 0 ? "" : ",";
      print(tuple.mode(i), out);
    }
    out += ')';
  }
}

IntTuple unflatten_at(const std::vector<int64_t>& flat, const IntTuple& profile, size_t& next) {
  if (!profile.is_tuple()) {
    return flat[next++];
  }
  std::vector<IntTuple> elements;
  elements.reserve(profile.rank());
  for (const IntTuple& element : profile.elements()) {
    elements.push_back(unflatten_at(flat, element, next));
  }
  return IntTuple::tuple(std::move(elements));
}

Checked<IntTuple> compact(const IntTuple& shape, int64_t& current, bool left) {
  if (shape.is_free()) {
    return fail_law(Law::Congruence, {}, "a shape holds the free coordinate `_`");
  }
  if (!shape.is_tuple()) {
    if (shape.value() < 1) {
      return fail_law(Law::PositiveExtent, {{"extent", shape.value()}},
                      fmt::format("extent {} is below 1", shape.value()));
    }
    // CuTe's static rule: a mode that is never stepped along has stride 0.
    if (shape.value() == 1) {
      return IntTuple(0);
    }
    const int64_t stride = current;
    TW_TRY(current, checked_mul(current, shape.value()));
    return IntTuple(stride);
  }
  std::vector<IntTuple> strides(shape.rank());
  for (size_t step = 0; step < shape.rank(); ++step) {
    const size_t i = left ? step : shape.rank() - 1 - step;
    auto stride = compact(shape.mode(i), current, left);
    if (!stride) {
      return fail(std::move(stride).error().in_mode(static_cast<int>(i)));
    }
    strides[i] = *std::move(stride);
  }
  return IntTuple::tuple(std::move(strides));
}

Checked<IntTuple> compact_order_at(const IntTuple& shape, const IntTuple& order,
                                   const std::vector<std::pair<int64_t, int64_t>>& extents_by_order) {
  if (order.is_tuple()) {
    if (!shape.is_tuple() || shape.rank() != order.rank()) {
      return fail_law(
          Law::Congruence,
          {{"shape_rank", static_cast<int64_t>(shape.rank())}, {"order_rank", static_cast<int64_t>(order.rank())}},
          fmt::format("order {} has other modes than shape {}", order.to_string(), shape.to_string()));
    }
    std::vector<IntTuple> strides;
    for (size_t i = 0; i < shape.rank(); ++i) {
      auto stride = compact_order_at(shape.mode(i), order.mode(i), extents_by_order);
      if (!stride) {
        return fail(std::move(stride).error().in_mode(static_cast<int>(i)));
      }
      strides.push_back(*std::move(stride));
    }
    return IntTuple::tuple(std::move(strides));
  }
  if (order.is_free()) {
    return fail_law(Law::Congruence, {}, "an order holds the free coordinate `_`");
  }
  int64_t start = 1;
  for (const auto& [other, extent] : extents_by_order) {
    if (other < order.value()) {
      TW_TRY(start, checked_mul(start, extent));
    }
  }
  return compact_col_major(shape, start);
}

Checked<int> collect_order(const IntTuple& shape, const IntTuple& order,
                           std::vector<std::pair<int64_t, int64_t>>& extents_by_order) {
  if (order.is_int()) {
    TW_TRY(const int64_t extent, product(shape));
    extents_by_order.emplace_back(order.value(), extent);
    return 0;
  }
  for (size_t i = 0; i < std::min(order.rank(), shape.rank()) && order.is_tuple() && shape.is_tuple(); ++i) {
    TW_TRY([[maybe_unused]] const int done, collect_order(shape.mode(i), order.mode(i), extents_by_order));
  }
  return 0;
}

}  // namespace

IntTuple IntTuple::tuple(std::vector<IntTuple> elements) {
  IntTuple result;
  result.kind_ = Kind::Tuple;
  int depth = 0;
  int leaves = 0;
  for (const IntTuple& element : elements) {
    depth = std::max(depth, int{element.depth_});
    leaves = std::min(leaves + int{element.leaves_}, int{std::numeric_limits<uint16_t>::max()});
  }
  result.depth_ = static_cast<uint8_t>(std::min(depth + 1, int{std::numeric_limits<uint8_t>::max()}));
  result.leaves_ = static_cast<uint16_t>(leaves);
  result.elements_ = std::move(elements);
  return result;
}

IntTuple IntTuple::free() {
  IntTuple result;
  result.kind_ = Kind::Free;
  return result;
}

Checked<IntTuple> IntTuple::parse(std::string_view text) {
  TextReader reader(text);
  TW_TRY(IntTuple tuple, reader.read_tuple());
  TW_TRY([[maybe_unused]] const int done, reader.read_end());
  return tuple;
}

std::string IntTuple::to_string() const {
  std::string out;
  print(*this, out);
  return out;
}

bool IntTuple::has_free() const {
  return is_free() || std::any_of(elements_.begin(), elements_.end(), [](const IntTuple& e) { return e.has_free(); });
}

void IntTuple::append_leaves(std::vector<int64_t>& into) const {
  if (is_int()) {
    into.push_back(value_);
  }
  for (const IntTuple& element : elements_) {
    element.append_leaves(into);
  }
}

std::vector<int64_t> IntTuple::leaves() const {
  std::vector<int64_t> result;
  result.reserve(leaves_);
  append_leaves(result);
  return result;
}

bool operator==(const IntTuple& a, const IntTuple& b) {
  return a.kind_ == b.kind_ && (a.kind_ == IntTuple::Kind::Int ? a.value_ == b.value_ : a.elements_ == b.elements_);
}

Checked<int64_t> product(const IntTuple& tuple) {
  if (tuple.is_free()) {
    return fail_law(Law::CoordinateProfile, {}, "the free coordinate `_` has no size");
  }
  if (tuple.is_int()) {
    return tuple.value();
  }
  int64_t result = 1;
  for (const IntTuple& element : tuple.elements()) {
    TW_TRY(const int64_t factor, product(element));
    TW_TRY(result, checked_mul(result, factor));
  }
  return result;
}

IntTuple flatten(const IntTuple& tuple) {
  if (!tuple.is_tuple()) {
    return tuple;
  }
  std::vector<IntTuple> elements;
  for (const IntTuple& element : tuple.elements()) {
    const IntTuple flat = flatten(element);
    if (flat.is_tuple()) {
      elements.insert(elements.end(), flat.elements().begin(), flat.elements().end());
    } else {
      elements.push_back(flat);
    }
  }
  return IntTuple::tuple(std::move(elements));
}

IntTuple unflatten(const std::vector<int64_t>& flat, const IntTuple& profile) {
  TW_CHECK(flat.size() == static_cast<size_t>(profile.leaf_count()));
  size_t next = 0;
  return unflatten_at(flat, profile, next);
}

IntTuple unwrap_flat(const std::vector<int64_t>& flat) {
  if (flat.size() == 1) {
    return flat[0];
  }
  std::vector<IntTuple> elements(flat.begin(), flat.end());
  return IntTuple::tuple(std::move(elements));
}

Checked<int> check_limits(const IntTuple& tuple) {
  if (tuple.depth() > kMaxDepth) {
    return fail_law(Law::NestingLimit, {{"depth", tuple.depth()}, {"limit", kMaxDepth}},
                    fmt::format("nesting of {} levels is above the limit of {}", tuple.depth(), kMaxDepth));
  }
  if (tuple.leaf_count() > kMaxLeaves) {
    return fail_law(Law::NestingLimit, {{"leaves", tuple.leaf_count()}, {"limit", kMaxLeaves}},
                    fmt::format("{} leaves are above the limit of {}", tuple.leaf_count(), kMaxLeaves));
  }
  return 0;
}

bool is_congruent(const IntTuple& a, const IntTuple& b) {
  if (a.is_tuple() != b.is_tuple() || a.rank() != b.rank()) {
    return false;
  }
  for (size_t i = 0; a.is_tuple() && i < a.rank(); ++i) {
    if (!is_congruent(a.mode(i), b.mode(i))) {
      return false;
    }
  }
  return true;
}

bool is_weakly_congruent(const IntTuple& a, const IntTuple& b) {
  if (!a.is_tuple()) {
    return true;
  }
  if (!b.is_tuple() || a.rank() != b.rank()) {
    return false;
  }
  for (size_t i = 0; i < a.rank(); ++i) {
    if (!is_weakly_congruent(a.mode(i), b.mode(i))) {
      return false;
    }
  }
  return true;
}

bool is_compatible(const IntTuple& a, const IntTuple& b) {
  if (!a.is_tuple()) {
    const auto size = product(b);
    return a.is_int() && size && *size == a.value();
  }
  if (!b.is_tuple() || a.rank() != b.rank()) {
    return false;
  }
  for (size_t i = 0; i < a.rank(); ++i) {
    if (!is_compatible(a.mode(i), b.mode(i))) {
      return false;
    }
  }
  return true;
}

bool is_evenly_divided(const IntTuple& shape, const IntTuple& tiler) {
  if (tiler.is_tuple()) {
    if (tiler.rank() > shape.rank()) {
      return false;
    }
    for (size_t i = 0; i < tiler.rank(); ++i) {
      if (!is_evenly_divided(shape.mode(i), tiler.mode(i))) {
        return false;
      }
    }
    return true;
  }
  const auto size = product(shape);
  return size && tiler.is_int() && tiler.value() > 0 && *size % tiler.value() == 0;
}

Checked<IntTuple> shape_div(const IntTuple& a, const IntTuple& b) {
  if (a.has_free() || b.has_free()) {
    return fail_law(Law::CoordinateProfile, {}, "shape_div of the free coordinate `_`");
  }
  if (a.is_tuple() && b.is_tuple()) {
    if (a.rank() != b.rank()) {
      return fail_law(Law::Congruence,
                      {{"left_rank", static_cast<int64_t>(a.rank())}, {"right_rank", static_cast<int64_t>(b.rank())}},
                      fmt::format("{} and {} have different ranks", a.to_string(), b.to_string()));
    }
    std::vector<IntTuple> quotients;
    for (size_t i = 0; i < a.rank(); ++i) {
      auto quotient = shape_div(a.mode(i), b.mode(i));
      if (!quotient) {
        return fail(std::move(quotient).error().in_mode(static_cast<int>(i)));
      }
      quotients.push_back(*std::move(quotient));
    }
    return IntTuple::tuple(std::move(quotients));
  }
  TW_TRY(const int64_t divisor, product(b));
  if (a.is_tuple()) {
    std::vector<IntTuple> quotients;
    IntTuple rest = divisor;
    for (size_t i = 0; i < a.rank(); ++i) {
      auto quotient = shape_div(a.mode(i), rest);
      if (!quotient) {
        return fail(std::move(quotient).error().in_mode(static_cast<int>(i)));
      }
      quotients.push_back(*std::move(quotient));
      TW_TRY(const int64_t extent, product(a.mode(i)));
      TW_TRY(rest, shape_div(rest, extent));
    }
    return IntTuple::tuple(std::move(quotients));
  }
  const int64_t value = a.value();
  if (value < 1 || divisor < 1) {
    return fail_law(Law::PositiveExtent, {{"left", value}, {"right", divisor}},
                    fmt::format("shape_div of {} by {} needs extents of at least 1", value, divisor));
  }
  if (value % divisor != 0 && divisor % value != 0) {
    return fail_law(Law::ShapeDivisibility, {{"left", value}, {"right", divisor}},
                    fmt::format("neither of {} and {} divides the other", value, divisor));
  }
  return IntTuple(ceil_div_nonnegative(value, divisor));
}

Checked<IntTuple> compact_col_major(const IntTuple& shape, int64_t first_stride) {
  int64_t current = first_stride;
  return compact(shape, current, true);
}

Checked<IntTuple> compact_row_major(const IntTuple& shape, int64_t first_stride) {
  int64_t current = first_stride;
  return compact(shape, current, false);
}

Checked<IntTuple> compact_order(const IntTuple& shape, const IntTuple& order) {
  std::vector<std::pair<int64_t, int64_t>> extents_by_order;
  TW_TRY([[maybe_unused]] const int done, collect_order(shape, order, extents_by_order));
  return compact_order_at(shape, order, extents_by_order);
}

}  // namespace tw::layout
