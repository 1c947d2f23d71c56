// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "layout/composition.h"
#include "layout/evaluate.h"
#include "layout/layout.h"
#include "layout/swizzle.h"

namespace tw::layout {

// outer(offset + inner(c)): a swizzle after a layout, in CuTe's text `Sw<3,4,3> o 0 o (8,64):(64,1)`.
// The offset stands between them because a swizzle does not commute with +: a slice at offset 64 of a swizzled tile is
// not a swizzled slice. Everything that changes the domain (composition, division, slicing) acts on the inner layout.
// With the identity swizzle and offset 0 it is the inner layout.
// Not represented: an outer function other than a swizzle (see F2Matrix for other bit maps).
class ComposedLayout {
 public:
  ComposedLayout() = default;
  ComposedLayout(Layout inner) : inner_(std::move(inner)) {}
  // Fails when offset + inner(c) could leave 62 bits or go below zero, where a swizzle is not a permutation of memory.
  [[nodiscard]] static Checked<ComposedLayout> make(Swizzle outer, int64_t offset, Layout inner);
  // `Sw<B,M,S> o offset o layout`, `Sw<B,M,S> o layout` or a layout alone.
  [[nodiscard]] static Checked<ComposedLayout> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] const Swizzle& outer() const { return outer_; }
  [[nodiscard]] int64_t offset() const { return offset_; }
  [[nodiscard]] const Layout& inner() const { return inner_; }
  [[nodiscard]] const IntTuple& shape() const { return inner_.shape(); }
  [[nodiscard]] int64_t size() const { return inner_.size(); }
  [[nodiscard]] size_t rank() const { return inner_.rank(); }
  [[nodiscard]] bool is_plain() const { return outer_.is_identity() && offset_ == 0; }
  // One more than the largest value of the domain that the swizzle's block structure allows: a bound, not always
  // reached.
  [[nodiscard]] int64_t cosize_bound() const;

  // Exact inside the domain; beyond it, modulo 2^64.
  [[nodiscard]] int64_t operator()(int64_t index) const {
    return outer_(static_cast<int64_t>(static_cast<uint64_t>(offset_) + static_cast<uint64_t>(inner_(index))));
  }

  friend bool operator==(const ComposedLayout&, const ComposedLayout&) = default;

 private:
  Swizzle outer_;
  int64_t offset_ = 0;
  Layout inner_;
};

// The composed layout made ready for loops, as Evaluator is for a layout.
class ComposedEvaluator {
 public:
  explicit ComposedEvaluator(const ComposedLayout& layout)
      : inner_(layout.inner()), outer_(layout.outer()), offset_(layout.offset()) {}
  [[nodiscard]] int64_t operator()(int64_t index) const {
    return outer_(static_cast<int64_t>(static_cast<uint64_t>(offset_) + static_cast<uint64_t>(inner_(index))));
  }

 private:
  Evaluator inner_;
  Swizzle outer_;
  int64_t offset_;
};

[[nodiscard]] Checked<ComposedLayout> composition(const ComposedLayout& a, const Layout& b);
[[nodiscard]] Checked<ComposedLayout> composition(const ComposedLayout& a, const Tiler& tiler);

}  // namespace tw::layout
