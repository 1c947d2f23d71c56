// SPDX-License-Identifier: Apache-2.0
#include "layout/tiler.h"

#include <fmt/format.h>

#include "layout/text_reader.h"

namespace tw::layout {
namespace {

Checked<Tiler> read_tiler(TextReader& reader, int depth) {
  if (reader.take("<")) {
    if (depth == kMaxDepth) {
      return fail_law(Law::NestingLimit, {{"depth", depth + 1}, {"limit", kMaxDepth}},
                      fmt::format("more than {} levels of `<`", kMaxDepth));
    }
    std::vector<Tiler> modes;
    do {
      if (modes.size() == kMaxLeaves) {
        return fail_law(Law::NestingLimit, {{"modes", kMaxLeaves + 1}, {"limit", kMaxLeaves}},
                        fmt::format("more than {} modes", kMaxLeaves));
      }
      TW_TRY(Tiler mode, read_tiler(reader, depth + 1));
      modes.push_back(std::move(mode));
    } while (reader.take(","));
    TW_TRY([[maybe_unused]] const int closed, reader.read_char('>'));
    return Tiler::modes(std::move(modes));
  }
  TW_TRY(IntTuple shape, reader.read_tuple());
  if (!reader.take(":")) {
    return Tiler::of_shape(shape);
  }
  TW_TRY(IntTuple stride, reader.read_tuple());
  TW_TRY(Layout layout, Layout::make(std::move(shape), std::move(stride)));
  return Tiler(std::move(layout));
}

}  // namespace

Tiler Tiler::keep() {
  return {};
}

Tiler Tiler::modes(std::vector<Tiler> modes) {
  Tiler result;
  result.is_tuple_ = true;
  result.modes_ = std::move(modes);
  return result;
}

Checked<Tiler> Tiler::of_shape(const IntTuple& shape) {
  if (shape.is_free()) {
    return keep();
  }
  if (shape.is_int()) {
    // n:1 also for n = 1, as an integer tiler is in CuTe.
    TW_TRY(Layout layout, Layout::make(shape, 1));
    return Tiler(std::move(layout));
  }
  std::vector<Tiler> modes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    auto mode = of_shape(shape.mode(i));
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes.push_back(*std::move(mode));
  }
  return Tiler::modes(std::move(modes));
}

Checked<Tiler> Tiler::parse(std::string_view text) {
  TextReader reader(text);
  TW_TRY(Tiler tiler, read_tiler(reader, 0));
  TW_TRY([[maybe_unused]] const int end, reader.read_end());
  return tiler;
}

std::string Tiler::to_string() const {
  if (is_keep()) {
    return "_";
  }
  if (is_layout()) {
    return layout_->to_string();
  }
  std::string text = "<";
  for (size_t i = 0; i < modes_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + modes_[i].to_string();
  }
  return text + ">";
}

}  // namespace tw::layout
