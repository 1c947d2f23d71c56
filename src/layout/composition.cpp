// SPDX-License-Identifier: Apache-2.0
#include "layout/composition.h"

#include <algorithm>
#include <fmt/format.h>

#include "layout/simplify.h"

namespace tw::layout {
namespace {

// |value|, or nothing for the one number that has none.
Checked<int64_t> magnitude(int64_t value) {
  return value < 0 ? checked_mul(value, -1) : Checked<int64_t>(value);
}

// The left side, ready for one composition: its merged modes, and how far the modes of the right side together go into
// each of them. A value is the sum of its parts only while no digit carries into the next.
class Composer {
 public:
  explicit Composer(const Layout& a) : modes_(merged_modes(a, OutOfRange::Kept)), used_(modes_.size(), 0) {}

  Checked<Layout> compose(const IntTuple& shape, const IntTuple& stride);

 private:
  Checked<Layout> compose_leaf(int64_t extent, int64_t stride);
  Checked<int> use(size_t mode, int64_t steps, int64_t stride, int64_t sign);

  std::vector<FlatMode> modes_;
  std::vector<int64_t> used_;
  // The signs of strides seen below the open end, and anywhere: positive 1, negative 2.
  int inner_signs_ = 0;
  int all_signs_ = 0;
};

Checked<int> Composer::use(size_t mode, int64_t steps, int64_t stride, int64_t sign) {
  if (steps == 1) {
    return 0;
  }
  const int bit = sign > 0 ? 1 : 2;
  all_signs_ |= bit;
  const bool is_open_end = mode + 1 == modes_.size();
  if (!is_open_end) {
    inner_signs_ |= bit;
    TW_TRY(const int64_t reach, checked_mul(steps - 1, stride));
    TW_TRY(used_[mode], checked_add(used_[mode], reach));
    if (used_[mode] >= modes_[mode].extent) {
      return fail_law(
          Law::Carry,
          {{"reach", used_[mode]}, {"extent", modes_[mode].extent}, {"left_mode", static_cast<int64_t>(mode)}},
          fmt::format("the modes of the right side add up to {} in mode {} of the left side, whose extent is {}",
                      used_[mode], mode, modes_[mode].extent));
    }
  }
  if (inner_signs_ != 0 && all_signs_ == 3) {
    return fail_law(Law::Carry, {{"stride", sign * stride}, {"left_mode", static_cast<int64_t>(mode)}},
                    "strides of both signs on the right side borrow from the modes of the left side");
  }
  return 0;
}

Checked<Layout> Composer::compose_leaf(int64_t extent, int64_t stride) {
  if (stride == 0) {
    return Layout::make(extent, 0);
  }
  if (modes_.size() <= 1) {
    TW_TRY(const int64_t value, checked_mul(stride, modes_.empty() ? 0 : modes_[0].stride));
    return Layout::make(extent, value);
  }
  const int64_t sign = stride < 0 ? -1 : 1;
  std::vector<FlatMode> result;
  int64_t rest_extent = extent;
  TW_TRY(int64_t rest_stride, magnitude(stride));
  for (size_t i = 0; i + 1 < modes_.size(); ++i) {
    const int64_t s = modes_[i].extent;
    if (rest_stride % s != 0 && rest_stride >= s) {
      return fail_law(Law::StrideDivisibility,
                      {{"stride", rest_stride}, {"extent", s}, {"left_mode", static_cast<int64_t>(i)}},
                      fmt::format("stride {} of {}:{} steps over mode {} of the left side, whose extent {} does not "
                                  "divide it",
                                  rest_stride, extent, stride, i, s));
    }
    const int64_t available = ceil_div_nonnegative(s, rest_stride);
    if (available != 1 && rest_extent != 1) {
      const int64_t taken = std::min(available, rest_extent);
      if (rest_extent % taken != 0) {
        return fail_law(
            Law::ShapeDivisibility, {{"extent", rest_extent}, {"taken", taken}, {"left_mode", static_cast<int64_t>(i)}},
            fmt::format("{}:{} takes {} steps in mode {} of the left side, which do not divide the {} that are left",
                        extent, stride, taken, i, rest_extent));
      }
      // Steps of rest_stride that leave the mode must land on its end exactly, or the next mode would be off by the
      // remainder.
      if (s % rest_stride != 0 && taken < rest_extent) {
        return fail_law(Law::StrideDivisibility,
                        {{"stride", rest_stride}, {"extent", s}, {"left_mode", static_cast<int64_t>(i)}},
                        fmt::format("stride {} of {}:{} leaves mode {} of the left side but does not divide its "
                                    "extent {}",
                                    rest_stride, extent, stride, i, s));
      }
      TW_TRY(const int64_t value, checked_mul(sign * rest_stride, modes_[i].stride));
      TW_TRY([[maybe_unused]] const int used, use(i, taken, rest_stride, sign));
      result.push_back({taken, value});
      rest_extent /= taken;
    }
    rest_stride = ceil_div_nonnegative(rest_stride, s);
  }
  if (result.empty() || rest_extent != 1) {
    TW_TRY(const int64_t value, checked_mul(sign * rest_stride, modes_.back().stride));
    TW_TRY([[maybe_unused]] const int used, use(modes_.size() - 1, rest_extent, rest_stride, sign));
    result.push_back({rest_extent, value});
  }
  return from_flat_modes(result);
}

Checked<Layout> Composer::compose(const IntTuple& shape, const IntTuple& stride) {
  if (!shape.is_tuple()) {
    return compose_leaf(shape.value(), stride.value());
  }
  std::vector<Layout> modes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    auto mode = compose(shape.mode(i), stride.mode(i));
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes.push_back(*std::move(mode));
  }
  return Layout::concat(modes);
}

}  // namespace

Checked<Layout> composition(const Layout& a, const Layout& b) {
  return Composer(a).compose(b.shape(), b.stride());
}

Checked<Layout> composition(const Layout& a, const Tiler& tiler) {
  if (tiler.is_keep()) {
    return a;
  }
  if (tiler.is_layout()) {
    return composition(a, tiler.layout());
  }
  if (tiler.modes().size() > a.rank()) {
    return fail_law(Law::Rank,
                    {{"tiler", static_cast<int64_t>(tiler.modes().size())}, {"layout", static_cast<int64_t>(a.rank())}},
                    fmt::format("the tiler has {} modes, the layout {}", tiler.modes().size(), a.rank()));
  }
  std::vector<Layout> modes;
  for (size_t i = 0; i < tiler.modes().size(); ++i) {
    auto mode = composition(a.mode(i), tiler.modes()[i]);
    if (!mode) {
      return fail(std::move(mode).error().in_mode(static_cast<int>(i)));
    }
    modes.push_back(*std::move(mode));
  }
  return Layout::concat(modes);
}

bool is_admissible(const Layout& a, const Layout& b) {
  return composition(a, b).has_value();
}

}  // namespace tw::layout
