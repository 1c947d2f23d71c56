// SPDX-License-Identifier: Apache-2.0
#include "layout/product.h"

#include <algorithm>
#include <fmt/format.h>

#include "layout/complement.h"
#include "layout/composition.h"
#include "layout/gather.h"
#include "layout/simplify.h"

namespace tw::layout {
namespace {

Checked<Layout> multiply_by(const Layout& block, const Layout& tiler) {
  TW_TRY(const int64_t room, checked_mul(block.size(), tiler.cosize()));
  TW_TRY(const Layout places, complement(block, room));
  TW_TRY(const Layout repeats, composition(places, tiler));
  return Layout::concat({block, repeats});
}

// ((a0,b0),(a1,b1),...); two leaves become the one mode ((a,b)).
Checked<Layout> zip(const Layout& a, const Layout& b) {
  if (!a.shape().is_tuple()) {
    TW_TRY(const Layout pair, Layout::concat({a, b}));
    return Layout::concat({pair});
  }
  if (!b.shape().is_tuple() || a.rank() != b.rank()) {
    return fail_law(Law::Rank, {{"left", static_cast<int64_t>(a.rank())}, {"right", static_cast<int64_t>(b.rank())}},
                    fmt::format("{} and {} do not pair mode by mode", a.to_string(), b.to_string()));
  }
  std::vector<Layout> modes;
  for (size_t i = 0; i < a.rank(); ++i) {
    TW_TRY(Layout pair, Layout::concat({a.mode(i), b.mode(i)}));
    modes.push_back(std::move(pair));
  }
  return Layout::concat(modes);
}

Checked<Layout> padded_product(const Layout& block, const Layout& tiler) {
  const size_t rank = std::max(block.rank(), tiler.rank());
  TW_TRY(const Layout padded_block, append_to_rank(block, rank));
  TW_TRY(const Layout padded_tiler, append_to_rank(tiler, rank));
  return multiply_by(padded_block, padded_tiler);
}

Checked<Layout> tile_to_shape_by(const Layout& block, const IntTuple& shape, const IntTuple* order) {
  if (block.rank() > shape.rank()) {
    return fail_law(Law::Rank,
                    {{"block", static_cast<int64_t>(block.rank())}, {"shape", static_cast<int64_t>(shape.rank())}},
                    fmt::format("block {} has more modes than the shape {}", block.to_string(), shape.to_string()));
  }
  // The laws of the shape are those of a layout over it.
  TW_TRY(const Layout target, Layout::col_major(shape));
  TW_TRY(const Layout padded, append_to_rank(block, target.rank()));
  std::vector<IntTuple> repeats;
  for (size_t i = 0; i < target.rank(); ++i) {
    const int64_t wanted = target.mode(i).size();
    const int64_t held = padded.mode(i).size();
    if (wanted % held != 0) {
      return Failure<LayoutFailure>{
          fail_law(Law::ShapeDivisibility, {{"shape", wanted}, {"block", held}},
                   fmt::format("the block's {} elements do not divide the shape's {}", held, wanted))
              .error.in_mode(static_cast<int>(i))};
    }
    repeats.emplace_back(wanted / held);
  }
  const IntTuple product_shape = IntTuple::tuple(std::move(repeats));
  TW_TRY(const Layout tiler,
         order == nullptr ? Layout::col_major(product_shape) : Layout::ordered(product_shape, *order));
  return blocked_product(padded, tiler);
}

}  // namespace

Checked<Layout> logical_product(const Layout& block, const Tiler& tiler) {
  return by_mode(block, tiler, multiply_by);
}

Checked<Layout> zipped_product(const Layout& block, const Tiler& tiler) {
  return zipped(block, tiler, multiply_by);
}

Checked<Layout> tiled_product(const Layout& block, const Tiler& tiler) {
  TW_TRY(const Layout result, zipped_product(block, tiler));
  return unpack_second(result);
}

Checked<Layout> flat_product(const Layout& block, const Tiler& tiler) {
  TW_TRY(const Layout result, zipped_product(block, tiler));
  return unpack_both(result);
}

Checked<Layout> blocked_product(const Layout& block, const Layout& tiler) {
  TW_TRY(const Layout result, padded_product(block, tiler));
  return zip(result.mode(0), result.mode(1));
}

Checked<Layout> raked_product(const Layout& block, const Layout& tiler) {
  TW_TRY(const Layout result, padded_product(block, tiler));
  return zip(result.mode(1), result.mode(0));
}

Checked<Layout> tile_to_shape(const Layout& block, const IntTuple& shape) {
  return tile_to_shape_by(block, shape, nullptr);
}

Checked<Layout> tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple& order) {
  return tile_to_shape_by(block, shape, &order);
}

}  // namespace tw::layout
