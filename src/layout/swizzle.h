// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "layout/evaluate.h"
#include "layout/layout.h"

namespace tw::layout {

// Swizzle<B,M,S>, as in CuTe: of the bits of an offset
//   0b..YYY..ZZZ....   the lowest M bits stay; ZZZ are the next B bits, YYY the B bits |S| above (S < 0: Y below Z)
// ZZZ becomes ZZZ xor YYY. Swizzle<3,4,3> turns 0x90 = 0b1_001_0000 (Y = 1, Z = 1) into 0x80.
// Its own inverse. Linear over xor, not over +: hence a swizzle is always the outermost function.
// Not represented: B > |S| (Y and Z would overlap), more than 62 bits.
class Swizzle {
 public:
  // The identity, printed Sw<0,4,3> as in CuTe.
  Swizzle() = default;
  [[nodiscard]] static Checked<Swizzle> make(int64_t bits, int64_t base, int64_t shift);
  // From the masks of Y and Z; fails with SwizzleMerge if no single swizzle has them.
  [[nodiscard]] static Checked<Swizzle> from_masks(int64_t y_mask, int64_t z_mask);
  // `Sw<3,4,3>` or `Swizzle<3,4,3>`.
  [[nodiscard]] static Checked<Swizzle> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] int bits() const { return bits_; }
  [[nodiscard]] int base() const { return base_; }
  [[nodiscard]] int shift() const { return shift_; }
  [[nodiscard]] int64_t y_mask() const { return y_mask_; }
  [[nodiscard]] int64_t z_mask() const { return z_mask_; }
  [[nodiscard]] bool is_identity() const { return bits_ == 0; }
  // The offsets that it permutes among themselves: 2^(B+M+|S|).
  [[nodiscard]] int64_t period() const { return int64_t{1} << (bits_ + base_ + (shift_ < 0 ? -shift_ : shift_)); }

  [[nodiscard]] int64_t operator()(int64_t offset) const {
    const int64_t y = offset & y_mask_;
    return offset ^ (shift_ >= 0 ? y >> shift_ : static_cast<int64_t>(static_cast<uint64_t>(y) << -shift_));
  }

  friend bool operator==(const Swizzle& a, const Swizzle& b) {
    return a.bits_ == b.bits_ && a.base_ == b.base_ && a.shift_ == b.shift_;
  }

 private:
  int bits_ = 0;
  int base_ = 4;
  int shift_ = 3;
  int64_t y_mask_ = 0;
  int64_t z_mask_ = 0;
};

// One swizzle for both, if they have the same shift and their masks join to one.
[[nodiscard]] Checked<Swizzle> composition(const Swizzle& a, const Swizzle& b);
// The same permutation of memory seen in elements n times as large (upcast) or as small (downcast). n is a power of
// two.
[[nodiscard]] Checked<Swizzle> upcast(const Swizzle& swizzle, int64_t n);
[[nodiscard]] Checked<Swizzle> downcast(const Swizzle& swizzle, int64_t n);

}  // namespace tw::layout
