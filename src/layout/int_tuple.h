// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "layout/failure.h"

namespace tw::layout {

// Deeper or wider tuples than any instruction's map needs; operations refuse to build them, so recursion stays shallow.
inline constexpr int kMaxDepth = 16;
inline constexpr int kMaxLeaves = 64;

// An integer, the free coordinate `_`, or a tuple of these: shapes, strides and coordinates are IntTuples.
// Text: `8`, `_`, `((4,8),(2,2))`, `(5)` is a tuple of one, `()` the empty tuple (its product is 1).
class IntTuple {
 public:
  IntTuple() = default;
  // Implicit: shapes read like the text, IntTuple{{4, 8}, {2, 2}} aside (see tuple()).
  IntTuple(int64_t value) : value_(value) {}
  IntTuple(int value) : value_(value) {}

  [[nodiscard]] static IntTuple tuple(std::vector<IntTuple> elements);
  template <class... Ts>
  [[nodiscard]] static IntTuple of(Ts&&... elements) {
    return tuple(std::vector<IntTuple>{IntTuple(std::forward<Ts>(elements))...});
  }
  // The coordinate that keeps its whole mode when slicing.
  [[nodiscard]] static IntTuple free();

  // `_8`, CuTe's static integers, are read as 8; white space is skipped.
  [[nodiscard]] static Checked<IntTuple> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool is_tuple() const { return kind_ == Kind::Tuple; }
  [[nodiscard]] bool is_int() const { return kind_ == Kind::Int; }
  [[nodiscard]] bool is_free() const { return kind_ == Kind::Free; }
  [[nodiscard]] bool has_free() const;
  // REQUIRES: is_int().
  [[nodiscard]] int64_t value() const {
    TW_CHECK(is_int());
    return value_;
  }
  [[nodiscard]] const std::vector<IntTuple>& elements() const { return elements_; }

  // Number of modes: 1 for a leaf.
  [[nodiscard]] size_t rank() const { return is_tuple() ? elements_.size() : 1; }
  // Mode i; a leaf is its own mode 0. REQUIRES: i < rank().
  [[nodiscard]] const IntTuple& mode(size_t i) const {
    TW_CHECK(i < rank());
    return is_tuple() ? elements_[i] : *this;
  }
  // 0 for a leaf.
  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] int leaf_count() const { return leaves_; }
  // Leaves from left to right (a free leaf has no value and is skipped).
  [[nodiscard]] std::vector<int64_t> leaves() const;
  void append_leaves(std::vector<int64_t>& into) const;

  friend bool operator==(const IntTuple& a, const IntTuple& b);

 private:
  enum class Kind : uint8_t { Int, Free, Tuple };
  int64_t value_ = 0;
  std::vector<IntTuple> elements_;
  Kind kind_ = Kind::Int;
  // Saturating, so that a check against the limits cannot be fooled.
  uint8_t depth_ = 0;
  uint16_t leaves_ = 1;
};

// Product of all leaves; 1 for (). Fails on overflow.
[[nodiscard]] Checked<int64_t> product(const IntTuple& tuple);
[[nodiscard]] IntTuple flatten(const IntTuple& tuple);
// The flat values in the nesting of `profile`. REQUIRES: flat.size() == profile.leaf_count().
[[nodiscard]] IntTuple unflatten(const std::vector<int64_t>& flat, const IntTuple& profile);
// A leaf for one value, a flat tuple for several.
[[nodiscard]] IntTuple unwrap_flat(const std::vector<int64_t>& flat);
// Fails with NestingLimit when the tuple is deeper or wider than the operations allow.
[[nodiscard]] Checked<int> check_limits(const IntTuple& tuple);

// Same nesting.
[[nodiscard]] bool is_congruent(const IntTuple& a, const IntTuple& b);
// a's nesting is b's with some subtrees cut off to leaves: a partial order.
[[nodiscard]] bool is_weakly_congruent(const IntTuple& a, const IntTuple& b);
// Every coordinate into `a` is also one into `b` of the same size: at each leaf of a, the product of b's subtree equals
// it.
[[nodiscard]] bool is_compatible(const IntTuple& a, const IntTuple& b);
// As CuTe: for each leaf t of tiler over the matching subtree of shape: size(shape) == t * ceil(size(shape) / t).
[[nodiscard]] bool is_evenly_divided(const IntTuple& shape, const IntTuple& tiler);

// Element by element with the fold of CuTe: ((4,5,6), 40) -> (1,1,3). Fails unless one number divides the other.
[[nodiscard]] Checked<IntTuple> shape_div(const IntTuple& a, const IntTuple& b);

// Compact strides: the leftmost (column-major) or rightmost (row-major) leaf has stride 1; extents of 1 get stride 0.
[[nodiscard]] Checked<IntTuple> compact_col_major(const IntTuple& shape, int64_t first_stride = 1);
[[nodiscard]] Checked<IntTuple> compact_row_major(const IntTuple& shape, int64_t first_stride = 1);
// Compact strides in the order given for each mode, smallest first: ((2,2,2,2),(0,2,3,1)) -> (1,4,8,2).
[[nodiscard]] Checked<IntTuple> compact_order(const IntTuple& shape, const IntTuple& order);

}  // namespace tw::layout
