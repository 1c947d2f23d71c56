// SPDX-License-Identifier: Apache-2.0
#include "layout/composed.h"

#include <bit>
#include <fmt/format.h>

#include "layout/text_reader.h"

namespace tw::layout {
namespace {

constexpr int64_t kMaxSwizzled = int64_t{1} << 62;

}  // namespace

Checked<ComposedLayout> ComposedLayout::make(Swizzle outer, int64_t offset, Layout inner) {
  TW_TRY(const int64_t lowest, checked_add(offset, inner.lowest()));
  TW_TRY(const int64_t highest, checked_add(offset, inner.highest()));
  if (!outer.is_identity() && (lowest < 0 || highest >= kMaxSwizzled)) {
    return fail_law(Law::SwizzleForm, {{"lowest", lowest}, {"highest", highest}},
                    fmt::format("{} applies to offsets from 0 to 2^62, {} plus {} reaches from {} to {}",
                                outer.to_string(), offset, inner.to_string(), lowest, highest));
  }
  ComposedLayout result;
  result.outer_ = outer;
  result.offset_ = offset;
  result.inner_ = std::move(inner);
  return result;
}

Checked<ComposedLayout> ComposedLayout::parse(std::string_view text) {
  TextReader reader(text);
  const bool has_swizzle = text.find("Sw") != std::string_view::npos;
  Swizzle outer;
  int64_t offset = 0;
  if (has_swizzle) {
    TW_TRY(outer, reader.read_swizzle());
    TW_TRY([[maybe_unused]] const int after, reader.read_char('o'));
  }
  TW_TRY(IntTuple shape, reader.read_tuple());
  if (has_swizzle && reader.take("o")) {
    if (!shape.is_int()) {
      return reader.fail_here("a number as the offset before `o`");
    }
    offset = shape.value();
    TW_TRY(shape, reader.read_tuple());
  }
  Layout inner;
  if (reader.at_end()) {
    TW_TRY(inner, Layout::col_major(std::move(shape)));
  } else {
    TW_TRY([[maybe_unused]] const int colon, reader.read_char(':'));
    TW_TRY(IntTuple stride, reader.read_tuple());
    TW_TRY([[maybe_unused]] const int end, reader.read_end());
    TW_TRY(inner, Layout::make(std::move(shape), std::move(stride)));
  }
  return make(outer, offset, std::move(inner));
}

std::string ComposedLayout::to_string() const {
  if (is_plain()) {
    return inner_.to_string();
  }
  return fmt::format("{} o {} o {}", outer_.to_string(), offset_, inner_.to_string());
}

int64_t ComposedLayout::cosize_bound() const {
  const int64_t highest = offset_ + inner_.highest();
  if (outer_.is_identity()) {
    return highest + 1;
  }
  // Any value v <= highest becomes at most v | z_mask, which is at most highest | (all bits up to the top of z_mask).
  const int64_t below = (int64_t{1} << (64 - std::countl_zero(static_cast<uint64_t>(outer_.z_mask())))) - 1;
  return (highest | below) + 1;
}

Checked<ComposedLayout> composition(const ComposedLayout& a, const Layout& b) {
  TW_TRY(Layout inner, composition(a.inner(), b));
  return ComposedLayout::make(a.outer(), a.offset(), std::move(inner));
}

Checked<ComposedLayout> composition(const ComposedLayout& a, const Tiler& tiler) {
  TW_TRY(Layout inner, composition(a.inner(), tiler));
  return ComposedLayout::make(a.outer(), a.offset(), std::move(inner));
}

}  // namespace tw::layout
