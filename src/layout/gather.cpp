// SPDX-License-Identifier: Apache-2.0
#include "layout/gather.h"

#include <fmt/format.h>

namespace tw::layout {
namespace {

Failure<LayoutFailure> fail_tiler_rank(const Layout& layout, const Tiler& tiler) {
  return fail_law(
      Law::Rank,
      {{"tiler", static_cast<int64_t>(tiler.modes().size())}, {"layout", static_cast<int64_t>(layout.rank())}},
      fmt::format("the tiler has {} modes, {} has {}", tiler.modes().size(), layout.to_string(), layout.rank()));
}

void append_modes(const Layout& layout, std::vector<Layout>& into) {
  if (layout.rank() == 1) {
    into.push_back(layout);
    return;
  }
  const std::vector<Layout> modes = layout.modes();
  into.insert(into.end(), modes.begin(), modes.end());
}

}  // namespace

Checked<Layout> by_mode(const Layout& layout, const Tiler& tiler, SplitFunction apply) {
  if (tiler.is_keep()) {
    return layout;
  }
  if (tiler.is_layout()) {
    return apply(layout, tiler.layout());
  }
  if (tiler.modes().size() > layout.rank()) {
    return fail_tiler_rank(layout, tiler);
  }
  std::vector<Layout> modes = layout.modes();
  for (size_t i = 0; i < tiler.modes().size(); ++i) {
    auto mode = by_mode(modes[i], tiler.modes()[i], apply);
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes[i] = *std::move(mode);
  }
  return Layout::concat(modes);
}

Checked<Layout> zipped(const Layout& layout, const Tiler& tiler, SplitFunction apply) {
  if (tiler.is_keep()) {
    return Layout::concat({Layout(), layout});
  }
  if (tiler.is_layout()) {
    return apply(layout, tiler.layout());
  }
  if (tiler.modes().size() > layout.rank()) {
    return fail_tiler_rank(layout, tiler);
  }
  const std::vector<Layout> modes = layout.modes();
  std::vector<Layout> blocks;
  std::vector<Layout> rests;
  for (size_t i = 0; i < modes.size(); ++i) {
    if (i >= tiler.modes().size()) {
      rests.push_back(modes[i]);
      continue;
    }
    auto pair = zipped(modes[i], tiler.modes()[i], apply);
    if (!pair) {
      return fail(std::move(pair).error().in_mode(static_cast<int>(i)));
    }
    blocks.push_back(pair->mode(0));
    rests.push_back(pair->mode(1));
  }
  TW_TRY(const Layout block, Layout::concat(blocks));
  TW_TRY(const Layout rest, Layout::concat(rests));
  return Layout::concat({block, rest});
}

Checked<Layout> unpack_second(const Layout& pair) {
  std::vector<Layout> modes = {pair.mode(0)};
  append_modes(pair.mode(1), modes);
  return Layout::concat(modes);
}

Checked<Layout> unpack_both(const Layout& pair) {
  std::vector<Layout> modes;
  append_modes(pair.mode(0), modes);
  append_modes(pair.mode(1), modes);
  return Layout::concat(modes);
}

}  // namespace tw::layout
