// SPDX-License-Identifier: Apache-2.0
#include "layout/swizzle.h"

#include <bit>
#include <cstdlib>
#include <fmt/format.h>

#include "layout/text_reader.h"

namespace tw::layout {
namespace {

constexpr int kMaxBits = 62;

Checked<int> log2_of(int64_t n) {
  if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n))) {
    return fail_law(Law::RecastDivisibility, {{"n", n}}, fmt::format("a swizzle recasts by powers of two, not {}", n));
  }
  return std::countr_zero(static_cast<uint64_t>(n));
}

}  // namespace

Checked<Swizzle> Swizzle::make(int64_t bits, int64_t base, int64_t shift) {
  const std::vector<Quantity> numbers = {{"B", bits}, {"M", base}, {"S", shift}};
  if (bits < 0 || base < 0 || bits > kMaxBits || base > kMaxBits || shift > kMaxBits || shift < -kMaxBits) {
    return fail_law(Law::SwizzleForm, numbers,
                    fmt::format("Sw<{},{},{}> needs B and M from 0 and |S| up to {}", bits, base, shift, kMaxBits));
  }
  const int64_t distance = std::abs(shift);
  if (distance < bits) {
    return fail_law(Law::SwizzleForm, numbers,
                    fmt::format("Sw<{},{},{}> would mix its own result: |S| must be at least B", bits, base, shift));
  }
  if (bits + base + distance > kMaxBits) {
    return fail_law(Law::SwizzleForm, numbers,
                    fmt::format("Sw<{},{},{}> needs more than {} bits", bits, base, shift, kMaxBits));
  }
  Swizzle result;
  result.bits_ = static_cast<int>(bits);
  result.base_ = static_cast<int>(base);
  result.shift_ = static_cast<int>(shift);
  const int64_t mask = (int64_t{1} << bits) - 1;
  result.y_mask_ = mask << (base + (shift > 0 ? shift : 0));
  result.z_mask_ = mask << (base + (shift < 0 ? -shift : 0));
  return result;
}

Checked<Swizzle> Swizzle::from_masks(int64_t y_mask, int64_t z_mask) {
  const std::vector<Quantity> numbers = {{"y_mask", y_mask}, {"z_mask", z_mask}};
  const auto y = static_cast<uint64_t>(y_mask);
  const auto z = static_cast<uint64_t>(z_mask);
  if (std::popcount(y) != std::popcount(z)) {
    return fail_law(Law::SwizzleMerge, numbers,
                    fmt::format("masks {:#x} and {:#x} have different numbers of bits", y, z));
  }
  if (y == 0) {
    return Swizzle();
  }
  const int y_low = std::countr_zero(y);
  const int z_low = std::countr_zero(z);
  auto result = make(std::popcount(y), std::min(y_low, z_low), y_low - z_low);
  if (!result || result->y_mask() != y_mask || result->z_mask() != z_mask) {
    return fail_law(Law::SwizzleMerge, numbers,
                    fmt::format("no swizzle has the masks {:#x} (source) and {:#x} (target)", y, z));
  }
  return result;
}

Checked<Swizzle> Swizzle::parse(std::string_view text) {
  TextReader reader(text);
  TW_TRY(Swizzle swizzle, reader.read_swizzle());
  TW_TRY([[maybe_unused]] const int end, reader.read_end());
  return swizzle;
}

std::string Swizzle::to_string() const {
  return fmt::format("Sw<{},{},{}>", bits_, base_, shift_);
}

Checked<Swizzle> composition(const Swizzle& a, const Swizzle& b) {
  if (a.is_identity() || b.is_identity()) {
    return a.is_identity() ? b : a;
  }
  if (a.shift() != b.shift()) {
    return fail_law(Law::SwizzleMerge, {{"left_shift", a.shift()}, {"right_shift", b.shift()}},
                    fmt::format("{} and {} shift by different distances", a.to_string(), b.to_string()));
  }
  // The masks add up only if neither swizzle reads what the other writes.
  if ((a.y_mask() & b.z_mask()) != 0 || (b.y_mask() & a.z_mask()) != 0) {
    return fail_law(Law::SwizzleMerge, {{"left_y", a.y_mask()}, {"right_z", b.z_mask()}},
                    fmt::format("{} and {} read bits that the other writes", a.to_string(), b.to_string()));
  }
  return Swizzle::from_masks(a.y_mask() ^ b.y_mask(), a.z_mask() ^ b.z_mask());
}

Checked<Swizzle> upcast(const Swizzle& swizzle, int64_t n) {
  TW_TRY(const int log2_n, log2_of(n));
  const int base = swizzle.base() - log2_n;
  if (base >= 0) {
    return Swizzle::make(swizzle.bits(), base, swizzle.shift());
  }
  return Swizzle::make(std::max(swizzle.bits() + base, 0), 0, swizzle.shift());
}

Checked<Swizzle> downcast(const Swizzle& swizzle, int64_t n) {
  TW_TRY(const int log2_n, log2_of(n));
  return Swizzle::make(swizzle.bits(), swizzle.base() + log2_n, swizzle.shift());
}

}  // namespace tw::layout
