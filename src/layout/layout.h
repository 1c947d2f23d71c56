// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout/failure.h"
#include "layout/int_tuple.h"

namespace tw::layout {

// A layout is a function from coordinates to integers, written shape:stride, where shape and stride nest alike.
//
// The number 0 <= i < size counts coordinates with the leftmost leaf running fastest; the value is the inner product of
// the coordinate with the stride. The layout (4,8):(8,1) has size 32. Index 6 is the coordinate (6 mod 4, 6 div 4) =
// (2,1), and its value is 2*8 + 1*1 = 17: a row-major 4 x 8 matrix read column by column. A mode may be a tuple itself:
// in ((2,2),8):((1,16),2) the first mode has 4 coordinates at 0, 1, 16, 17, so one number or a pair can name them:
//   index 11 = coordinate (3,2) = coordinate ((1,1),2) -> 1*1 + 1*16 + 2*2 = 21.
//
// Why functions of integers and not matrices over bits: extents need not be powers of two, tiles of a problem aren't.
// Maps that are bit permutations with xor (swizzles) are a Swizzle after a layout (composed.h), or an F2Matrix (f2.h).
//
// Laws, checked over all coordinates by the tests of each operation:
//   coalesce(A)(i) = A(i)                                    for i < size(A); at most one level of nesting
//   composition(A, B)(c) = A(B(c))                           for every coordinate c of B
//   A(complement(A, n)(j)) never meets A but in 0, ordered   so that (A, complement(A, n)) is injective
//   A(right_inverse(A)(i)) = i                               for i < size(right_inverse(A))
//   left_inverse(A)(A(i)) = i                                for injective A (else it names a coordinate of equal
//   value) logical_divide(A, T)((t, r)) = A((T, complement(T, size(A)))((t, r))) logical_product(A, T)((a, t)) = A(a) +
//   (where block t lies)
//
// Beyond its shape a layout goes on: the last leaf takes what is left of the index, so (4,8):(8,1) maps 32 to 8. A
// negative index mirrors, A(-i) = -A(i), as in C++ CuTe.
//
// Not represented: extents below 1, symbolic (run-time) extents and strides, strides that are basis vectors (CuTe's
// coordinate tensors), more than kMaxLeaves leaves or kMaxDepth levels, values beyond 64 bits. An operation that would
// need one of these, or has no answer, returns a LayoutFailure that names the law, the mode and the numbers.
class Layout {
 public:
  // 1:0
  Layout() = default;

  [[nodiscard]] static Checked<Layout> make(IntTuple shape, IntTuple stride);
  // Compact, leftmost leaf fastest.
  [[nodiscard]] static Checked<Layout> col_major(IntTuple shape);
  // Compact, rightmost leaf fastest.
  [[nodiscard]] static Checked<Layout> row_major(IntTuple shape);
  // Compact, the mode with the smallest order fastest.
  [[nodiscard]] static Checked<Layout> ordered(IntTuple shape, const IntTuple& order);
  // `((4,8),(2,2)):((32,1),(16,8))`; a shape alone is column-major.
  [[nodiscard]] static Checked<Layout> parse(std::string_view text);
  // Modes side by side: (A,B,...).
  [[nodiscard]] static Checked<Layout> concat(const std::vector<Layout>& modes);

  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] const IntTuple& shape() const { return shape_; }
  [[nodiscard]] const IntTuple& stride() const { return stride_; }
  [[nodiscard]] int64_t size() const { return size_; }
  // One more than the largest distance from 0 that the strides can reach: 1 + sum of (extent-1)*|stride|.
  [[nodiscard]] int64_t cosize() const { return cosize_; }
  [[nodiscard]] size_t rank() const { return shape_.rank(); }
  [[nodiscard]] int depth() const { return shape_.depth(); }

  // The layout of mode i. REQUIRES: i < rank().
  [[nodiscard]] Layout mode(size_t i) const;
  [[nodiscard]] std::vector<Layout> modes() const;

  // The value at an index, exact inside the domain; beyond it, modulo 2^64. Convenient; use Evaluator in loops.
  [[nodiscard]] int64_t operator()(int64_t index) const;
  // Inside [lowest, highest] of all values in the domain.
  [[nodiscard]] int64_t lowest() const { return lowest_; }
  [[nodiscard]] int64_t highest() const { return highest_; }

  friend bool operator==(const Layout& a, const Layout& b) { return a.shape_ == b.shape_ && a.stride_ == b.stride_; }

 private:
  IntTuple shape_ = 1;
  IntTuple stride_ = 0;
  int64_t size_ = 1;
  int64_t cosize_ = 1;
  int64_t lowest_ = 0;
  int64_t highest_ = 0;
};

// Depth at most 1, one mode a leaf.
[[nodiscard]] Layout flatten(const Layout& layout);

struct FlatMode {
  int64_t extent = 1;
  int64_t stride = 0;
  friend bool operator==(const FlatMode&, const FlatMode&) = default;
};
// The leaves as pairs, left to right.
[[nodiscard]] std::vector<FlatMode> flat_modes(const Layout& layout);
// A leaf for one mode, a flat tuple for several, 1:0 for none.
[[nodiscard]] Checked<Layout> from_flat_modes(const std::vector<FlatMode>& modes);

}  // namespace tw::layout
