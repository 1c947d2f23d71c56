// SPDX-License-Identifier: Apache-2.0
#include "layout/simplify.h"

#include <algorithm>
#include <fmt/format.h>

namespace tw::layout {
namespace {

Failure<LayoutFailure> fail_rank(std::string_view what, size_t wanted, size_t found) {
  return fail_law(Law::Rank, {{"wanted", static_cast<int64_t>(wanted)}, {"found", static_cast<int64_t>(found)}},
                  fmt::format("{} needs {} modes, the layout has {}", what, wanted, found));
}

template <class F>
Checked<Layout> by_profile(const Layout& layout, const IntTuple& profile, std::string_view what, const F& apply) {
  if (!profile.is_tuple()) {
    return apply(layout);
  }
  if (profile.rank() > layout.rank()) {
    return fail_rank(what, profile.rank(), layout.rank());
  }
  std::vector<Layout> modes = layout.modes();
  for (size_t i = 0; i < profile.rank(); ++i) {
    auto mode = by_profile(modes[i], profile.mode(i), what, apply);
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes[i] = *std::move(mode);
  }
  return Layout::concat(modes);
}

IntTuple ones_like(const IntTuple& shape, const IntTuple& stride) {
  if (!shape.is_tuple()) {
    return stride.value() == 0 ? IntTuple(1) : shape;
  }
  std::vector<IntTuple> extents;
  for (size_t i = 0; i < shape.rank(); ++i) {
    extents.push_back(ones_like(shape.mode(i), stride.mode(i)));
  }
  return IntTuple::tuple(std::move(extents));
}

}  // namespace

std::vector<FlatMode> merged_modes(const Layout& layout, OutOfRange out_of_range) {
  const std::vector<FlatMode> flat = flat_modes(layout);
  std::vector<FlatMode> merged;
  for (size_t i = 0; i < flat.size(); ++i) {
    const bool is_open_end = out_of_range == OutOfRange::Kept && i + 1 == flat.size();
    if (flat[i].extent == 1 && !is_open_end) {
      continue;
    }
    int64_t reach = 0;
    // A merged extent is at most the size, which fits; the open end may have extent 1 and still carry the rest.
    if (!merged.empty() && !__builtin_mul_overflow(merged.back().extent, merged.back().stride, &reach) &&
        reach == flat[i].stride) {
      merged.back().extent *= flat[i].extent;
    } else {
      merged.push_back(flat[i]);
    }
  }
  return merged;
}

Layout coalesce(const Layout& layout) {
  return from_flat_modes(merged_modes(layout, OutOfRange::Free)).value();
}

Checked<Layout> coalesce(const Layout& layout, const IntTuple& profile) {
  return by_profile(layout, profile, "coalesce", [](const Layout& l) -> Checked<Layout> { return coalesce(l); });
}

Layout filter_zeros(const Layout& layout) {
  return Layout::make(ones_like(layout.shape(), layout.stride()), layout.stride()).value();
}

Layout filter(const Layout& layout) {
  return coalesce(filter_zeros(layout));
}

Checked<Layout> filter(const Layout& layout, const IntTuple& profile) {
  return by_profile(layout, profile, "filter", [](const Layout& l) -> Checked<Layout> { return filter(l); });
}

Checked<Layout> append(const Layout& layout, const Layout& mode) {
  std::vector<Layout> modes = layout.modes();
  modes.push_back(mode);
  return Layout::concat(modes);
}

Checked<Layout> prepend(const Layout& layout, const Layout& mode) {
  std::vector<Layout> modes = layout.modes();
  modes.insert(modes.begin(), mode);
  return Layout::concat(modes);
}

Checked<Layout> append_to_rank(const Layout& layout, size_t rank, const Layout& mode) {
  if (layout.rank() >= rank) {
    return layout;
  }
  if (rank > kMaxLeaves) {
    return fail_law(Law::NestingLimit, {{"rank", static_cast<int64_t>(rank)}, {"limit", kMaxLeaves}},
                    fmt::format("more than {} modes", kMaxLeaves));
  }
  std::vector<Layout> modes = layout.modes();
  modes.resize(rank, mode);
  return Layout::concat(modes);
}

Checked<Layout> replace(const Layout& layout, size_t index, const Layout& mode) {
  if (index >= layout.rank()) {
    return fail_rank("replace", index + 1, layout.rank());
  }
  if (!layout.shape().is_tuple()) {
    return mode;
  }
  std::vector<Layout> modes = layout.modes();
  modes[index] = mode;
  return Layout::concat(modes);
}

Checked<Layout> take(const Layout& layout, size_t begin, size_t end) {
  if (begin >= end || end > layout.rank()) {
    return fail_rank("take", end, layout.rank());
  }
  const std::vector<Layout> modes = layout.modes();
  return Layout::concat(
      {modes.begin() + static_cast<std::ptrdiff_t>(begin), modes.begin() + static_cast<std::ptrdiff_t>(end)});
}

Checked<Layout> select(const Layout& layout, const std::vector<size_t>& indices) {
  std::vector<Layout> modes;
  for (size_t index : indices) {
    if (index >= layout.rank()) {
      return fail_rank("select", index + 1, layout.rank());
    }
    modes.push_back(layout.mode(index));
  }
  return Layout::concat(modes);
}

Checked<Layout> group(const Layout& layout, size_t begin, size_t end) {
  if (begin >= end || end > layout.rank()) {
    return fail_rank("group", end, layout.rank());
  }
  TW_TRY(Layout grouped, take(layout, begin, end));
  std::vector<Layout> modes;
  for (size_t i = 0; i < layout.rank(); ++i) {
    if (i == begin) {
      modes.push_back(grouped);
    } else if (i < begin || i >= end) {
      modes.push_back(layout.mode(i));
    }
  }
  return Layout::concat(modes);
}

}  // namespace tw::layout
