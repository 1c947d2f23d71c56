// SPDX-License-Identifier: Apache-2.0
#include "layout/slice.h"

#include <fmt/format.h>

#include "layout/coordinate.h"

namespace tw::layout {
namespace {

// Appends what is kept of `from` to `into`, lifted out of the tuples of the coordinate.
Checked<int> lift(const IntTuple& coordinate, const IntTuple& from, bool keep_free, std::vector<IntTuple>& into) {
  if (!coordinate.is_tuple()) {
    if (coordinate.is_free() == keep_free) {
      into.push_back(from);
    }
    return 0;
  }
  if (!from.is_tuple() || from.rank() != coordinate.rank()) {
    return fail_law(
        Law::CoordinateProfile,
        {{"coordinate_rank", static_cast<int64_t>(coordinate.rank())},
         {"shape_rank", static_cast<int64_t>(from.rank())}},
        fmt::format("coordinate {} does not fit the nesting of {}", coordinate.to_string(), from.to_string()));
  }
  std::vector<IntTuple> kept;
  for (size_t i = 0; i < from.rank(); ++i) {
    if (auto done = lift(coordinate.mode(i), from.mode(i), keep_free, kept); !done) {
      return fail(std::move(done).error().in_mode(static_cast<int>(i)));
    }
  }
  into.insert(into.end(), kept.begin(), kept.end());
  return 0;
}

Checked<Layout> part(const IntTuple& coordinate, const Layout& layout, bool keep_free) {
  TW_TRY([[maybe_unused]] const int done, check_limits(coordinate));
  if (!coordinate.is_tuple()) {
    return coordinate.is_free() == keep_free ? Checked<Layout>(layout) : Layout::concat({});
  }
  std::vector<IntTuple> shapes;
  std::vector<IntTuple> strides;
  TW_TRY([[maybe_unused]] const int of_shape, lift(coordinate, layout.shape(), keep_free, shapes));
  TW_TRY([[maybe_unused]] const int of_stride, lift(coordinate, layout.stride(), keep_free, strides));
  return Layout::make(IntTuple::tuple(std::move(shapes)), IntTuple::tuple(std::move(strides)));
}

}  // namespace

Checked<Layout> slice(const IntTuple& coordinate, const Layout& layout) {
  return part(coordinate, layout, true);
}

Checked<Layout> dice(const IntTuple& coordinate, const Layout& layout) {
  return part(coordinate, layout, false);
}

Checked<Slice> slice_and_offset(const IntTuple& coordinate, const Layout& layout) {
  TW_TRY(Layout kept, slice(coordinate, layout));
  TW_TRY(const int64_t offset, crd2idx(coordinate, layout));
  return Slice{std::move(kept), offset};
}

Checked<ComposedLayout> slice(const IntTuple& coordinate, const ComposedLayout& layout) {
  TW_TRY(Slice inner, slice_and_offset(coordinate, layout.inner()));
  TW_TRY(const int64_t offset, checked_add(layout.offset(), inner.offset));
  return ComposedLayout::make(layout.outer(), offset, std::move(inner.layout));
}

}  // namespace tw::layout
