// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "layout/layout.h"

namespace tw::layout {

// The fewest modes with the same values: extents of 1 dropped, adjacent modes merged where extent*stride of the left is
// the stride of the right. (2,(1,6)):(1,(6,2)) -> 12:1. At most one level; equal inside the domain only:
// (4,1):(1,0) -> 4:1, which differ at index 4.
[[nodiscard]] Layout coalesce(const Layout& layout);
// Coalesces below each leaf of the profile, so that the modes that it names survive: ((2,2),(3,1)):((1,2),(4,0)) by
// (1,1) -> (4,3):(1,4). The profile may name fewer modes than there are.
[[nodiscard]] Checked<Layout> coalesce(const Layout& layout, const IntTuple& profile);

// Modes of stride 0 get extent 1: one coordinate for each set of equal values along such a mode.
[[nodiscard]] Layout filter_zeros(const Layout& layout);
// filter_zeros, then coalesce: (2,2,4):(0,1,2) -> 8:1. Injective layouts keep their size.
[[nodiscard]] Layout filter(const Layout& layout);
[[nodiscard]] Checked<Layout> filter(const Layout& layout, const IntTuple& profile);

// Mode lists: each builds a layout from the modes of others.
[[nodiscard]] Checked<Layout> append(const Layout& layout, const Layout& mode);
[[nodiscard]] Checked<Layout> prepend(const Layout& layout, const Layout& mode);
// Pads with `mode` (1:0) on the right up to `rank` modes.
[[nodiscard]] Checked<Layout> append_to_rank(const Layout& layout, size_t rank, const Layout& mode = Layout());
[[nodiscard]] Checked<Layout> replace(const Layout& layout, size_t index, const Layout& mode);
// Modes [begin, end).
[[nodiscard]] Checked<Layout> take(const Layout& layout, size_t begin, size_t end);
[[nodiscard]] Checked<Layout> select(const Layout& layout, const std::vector<size_t>& indices);
// Modes [begin, end) become one mode.
[[nodiscard]] Checked<Layout> group(const Layout& layout, size_t begin, size_t end);

enum class OutOfRange {
  // equal at every index
  Kept,
  // equal inside the domain
  Free,
};
// The merged leaves; empty when Free and the layout has one element.
[[nodiscard]] std::vector<FlatMode> merged_modes(const Layout& layout, OutOfRange out_of_range);

}  // namespace tw::layout
