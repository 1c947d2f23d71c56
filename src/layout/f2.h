// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout/composed.h"
#include "layout/layout.h"
#include "layout/swizzle.h"

namespace tw::layout {

// A linear map over the field of two elements, from in_bits to out_bits (each at most 64): bit i of the value is the
// parity of row(i) & x. Layouts whose extents are powers of two and whose steps never carry into each other are such
// maps (+ is then xor), swizzles always are, and so is any chain of the two; equality of chains becomes equality of
// matrices instead of a comparison at 2^n points.
//   (2,4):(1,4) has the columns 0b1, 0b100, 0b1000; Sw<1,0,1> is the 2x2 matrix of rows 0b11, 0b10.
// Not represented: extents that are not powers of two, additions that carry, constants (see F2Affine).
class F2Matrix {
 public:
  F2Matrix() = default;
  [[nodiscard]] static Checked<F2Matrix> zero(int out_bits, int in_bits);
  [[nodiscard]] static Checked<F2Matrix> identity(int bits);
  [[nodiscard]] static Checked<F2Matrix> from_rows(std::vector<uint64_t> rows, int in_bits);
  // Column j is the value at 2^j.
  [[nodiscard]] static Checked<F2Matrix> from_columns(const std::vector<uint64_t>& columns, int out_bits);
  // The map of the whole domain; in_bits = log2(size). Fails with F2Linear where + is not xor.
  [[nodiscard]] static Checked<F2Matrix> from_layout(const Layout& layout);
  // The map of all indices below 2^k, k = max(min_bits, bits of the domain): the layout's open end included.
  [[nodiscard]] static Checked<F2Matrix> from_layout_prefix(const Layout& layout, int min_bits);
  // Fails with F2Size when the swizzle moves bits at or above `bits`.
  [[nodiscard]] static Checked<F2Matrix> from_swizzle(const Swizzle& swizzle, int bits);

  [[nodiscard]] int in_bits() const { return in_bits_; }
  [[nodiscard]] int out_bits() const { return static_cast<int>(rows_.size()); }
  [[nodiscard]] uint64_t row(int i) const { return rows_[static_cast<size_t>(i)]; }
  [[nodiscard]] uint64_t column(int j) const;
  [[nodiscard]] uint64_t operator()(uint64_t x) const;
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] int rank() const;
  [[nodiscard]] bool is_injective() const { return rank() == in_bits_; }
  [[nodiscard]] bool is_surjective() const { return rank() == out_bits(); }
  // log2 of the number of distinct values.
  [[nodiscard]] int image_bits() const { return rank(); }
  // A basis of the inputs that are sent to 0.
  [[nodiscard]] std::vector<uint64_t> kernel() const;
  // Some x with (*this)(x) = y, if there is one.
  [[nodiscard]] std::optional<uint64_t> solve(uint64_t y) const;

  friend bool operator==(const F2Matrix&, const F2Matrix&) = default;

 private:
  std::vector<uint64_t> rows_;
  int in_bits_ = 0;
};

// a after b. Fails with F2Size unless a.in_bits() >= b.out_bits() (missing bits are 0).
[[nodiscard]] Checked<F2Matrix> multiply(const F2Matrix& a, const F2Matrix& b);
[[nodiscard]] Checked<F2Matrix> transpose(const F2Matrix& a);
// The two-sided inverse of a square matrix; F2Singular names the rank.
[[nodiscard]] Checked<F2Matrix> inverse(const F2Matrix& a);
// R with a(R(y)) = y for every y; needs full row rank.
[[nodiscard]] Checked<F2Matrix> right_inverse(const F2Matrix& a);
// L with L(a(x)) = x for every x; needs full column rank.
[[nodiscard]] Checked<F2Matrix> left_inverse(const F2Matrix& a);
// The rows [first, first + count) alone: the bits that choose a bank, say.
[[nodiscard]] Checked<F2Matrix> select_rows(const F2Matrix& a, int first, int count);

// x -> linear(x) xor constant: a swizzled layout with an offset that does not carry into it.
struct F2Affine {
  F2Matrix linear;
  uint64_t constant = 0;
  [[nodiscard]] uint64_t operator()(uint64_t x) const { return linear(x) ^ constant; }
  friend bool operator==(const F2Affine&, const F2Affine&) = default;
};
[[nodiscard]] Checked<F2Affine> to_f2(const ComposedLayout& layout);

// Shared memory as `banks` words of `word_bytes` each that can be read side by side.
struct BankModel {
  int64_t banks = 32;
  int64_t word_bytes = 4;
};
// How many passes the slowest bank needs: the largest number of distinct words in one bank (a word read by several
// lanes counts once). 1 is free of conflicts, 0 no access at all.
[[nodiscard]] Checked<int64_t> bank_conflict_ways(std::span<const int64_t> byte_addresses, const BankModel& model = {});
// The same for the lanes x -> byte address of a linear map, in closed form: 2^(rank(word bits) - rank(bank bits)).
[[nodiscard]] Checked<int64_t> bank_conflict_ways(const F2Matrix& byte_address_of_lane, const BankModel& model = {});

}  // namespace tw::layout
