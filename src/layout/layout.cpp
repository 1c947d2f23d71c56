// SPDX-License-Identifier: Apache-2.0
#include "layout/layout.h"

#include <fmt/format.h>

#include "layout/evaluate.h"
#include "layout/text_reader.h"

namespace tw::layout {
namespace {

// The bounds of all values, and the laws of a single layout, in one walk.
struct Measure {
  int64_t size = 1;
  int64_t lowest = 0;
  int64_t highest = 0;
  int64_t reach = 0;
};

Checked<int> measure(const IntTuple& shape, const IntTuple& stride, Measure& into) {
  if (shape.is_free() || stride.is_free()) {
    return fail_law(Law::Congruence, {}, "`_` is a coordinate, not an extent or a stride");
  }
  if (shape.is_tuple() != stride.is_tuple() || shape.rank() != stride.rank()) {
    return fail_law(
        Law::Congruence,
        {{"shape_rank", static_cast<int64_t>(shape.rank())}, {"stride_rank", static_cast<int64_t>(stride.rank())}},
        fmt::format("shape {} and stride {} do not nest alike", shape.to_string(), stride.to_string()));
  }
  if (!shape.is_tuple()) {
    const int64_t extent = shape.value();
    if (extent < 1) {
      return fail_law(Law::PositiveExtent, {{"extent", extent}}, fmt::format("extent {} is below 1", extent));
    }
    TW_TRY(into.size, checked_mul(into.size, extent));
    TW_TRY(const int64_t span, checked_mul(extent - 1, stride.value()));
    int64_t& end = span < 0 ? into.lowest : into.highest;
    TW_TRY(end, checked_add(end, span));
    // -INT64_MIN does not exist: subtract instead of taking the absolute value first.
    int64_t reach = 0;
    if (__builtin_sub_overflow(into.reach, span < 0 ? span : -span, &reach)) {
      return fail_law(Law::Overflow, {{"extent", extent}, {"stride", stride.value()}},
                      "the values of the layout do not fit 64 bits");
    }
    into.reach = reach;
    return 0;
  }
  for (size_t i = 0; i < shape.rank(); ++i) {
    // Only a whole layout may be empty (a slice with no open mode): an empty last mode would swallow the open end.
    if (shape.mode(i).is_tuple() && shape.mode(i).rank() == 0) {
      return Failure<LayoutFailure>{fail_law(Law::Rank, {{"rank", 0}}, "an empty mode `()` stands inside a layout")
                                        .error.in_mode(static_cast<int>(i))};
    }
    if (auto done = measure(shape.mode(i), stride.mode(i), into); !done) {
      return fail(std::move(done).error().in_mode(static_cast<int>(i)));
    }
  }
  return 0;
}

uint64_t evaluate(const IntTuple& shape, const IntTuple& stride, int64_t index) {
  if (!shape.is_tuple()) {
    return static_cast<uint64_t>(index) * static_cast<uint64_t>(stride.value());
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i + 1 == shape.rank()) {
      return sum + evaluate(shape.mode(i), stride.mode(i), index);
    }
    const int64_t extent = product(shape.mode(i)).value();
    sum += evaluate(shape.mode(i), stride.mode(i), index % extent);
    index /= extent;
  }
  return sum;
}

}  // namespace

Checked<Layout> Layout::make(IntTuple shape, IntTuple stride) {
  TW_TRY([[maybe_unused]] const int shape_ok, check_limits(shape));
  TW_TRY([[maybe_unused]] const int stride_ok, check_limits(stride));
  Measure m;
  TW_TRY([[maybe_unused]] const int measured, measure(shape, stride, m));
  Layout result;
  TW_TRY(result.cosize_, checked_add(m.reach, 1));
  result.size_ = m.size;
  result.lowest_ = m.lowest;
  result.highest_ = m.highest;
  result.shape_ = std::move(shape);
  result.stride_ = std::move(stride);
  return result;
}

Checked<Layout> Layout::col_major(IntTuple shape) {
  TW_TRY([[maybe_unused]] const int shape_ok, check_limits(shape));
  TW_TRY(IntTuple stride, compact_col_major(shape));
  return make(std::move(shape), std::move(stride));
}

Checked<Layout> Layout::row_major(IntTuple shape) {
  TW_TRY([[maybe_unused]] const int shape_ok, check_limits(shape));
  TW_TRY(IntTuple stride, compact_row_major(shape));
  return make(std::move(shape), std::move(stride));
}

Checked<Layout> Layout::ordered(IntTuple shape, const IntTuple& order) {
  TW_TRY([[maybe_unused]] const int shape_ok, check_limits(shape));
  TW_TRY([[maybe_unused]] const int order_ok, check_limits(order));
  TW_TRY(IntTuple stride, compact_order(shape, order));
  return make(std::move(shape), std::move(stride));
}

Checked<Layout> Layout::parse(std::string_view text) {
  TextReader reader(text);
  TW_TRY(IntTuple shape, reader.read_tuple());
  if (reader.at_end()) {
    return col_major(std::move(shape));
  }
  TW_TRY([[maybe_unused]] const int colon, reader.read_char(':'));
  TW_TRY(IntTuple stride, reader.read_tuple());
  TW_TRY([[maybe_unused]] const int end, reader.read_end());
  return make(std::move(shape), std::move(stride));
}

Checked<Layout> Layout::concat(const std::vector<Layout>& modes) {
  std::vector<IntTuple> shapes;
  std::vector<IntTuple> strides;
  for (const Layout& mode : modes) {
    shapes.push_back(mode.shape());
    strides.push_back(mode.stride());
  }
  return make(IntTuple::tuple(std::move(shapes)), IntTuple::tuple(std::move(strides)));
}

std::string Layout::to_string() const {
  return shape_.to_string() + ":" + stride_.to_string();
}

Layout Layout::mode(size_t i) const {
  // A part of a layout obeys every law that the whole does.
  return make(shape_.mode(i), stride_.mode(i)).value();
}

std::vector<Layout> Layout::modes() const {
  std::vector<Layout> result;
  for (size_t i = 0; i < rank(); ++i) {
    result.push_back(mode(i));
  }
  return result;
}

int64_t Layout::operator()(int64_t index) const {
  return static_cast<int64_t>(evaluate(shape_, stride_, index));
}

Layout flatten(const Layout& layout) {
  return Layout::make(flatten(layout.shape()), flatten(layout.stride())).value();
}

std::vector<FlatMode> flat_modes(const Layout& layout) {
  const std::vector<int64_t> extents = layout.shape().leaves();
  const std::vector<int64_t> strides = layout.stride().leaves();
  std::vector<FlatMode> modes(extents.size());
  for (size_t i = 0; i < modes.size(); ++i) {
    modes[i] = {extents[i], strides[i]};
  }
  return modes;
}

Checked<Layout> from_flat_modes(const std::vector<FlatMode>& modes) {
  if (modes.empty()) {
    return Layout();
  }
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
  for (const FlatMode& mode : modes) {
    extents.push_back(mode.extent);
    strides.push_back(mode.stride);
  }
  return Layout::make(unwrap_flat(extents), unwrap_flat(strides));
}

}  // namespace tw::layout
