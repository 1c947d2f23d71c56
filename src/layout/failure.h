// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tw::layout {

// The laws of the algebra. An operation without an answer names the first one that its operands break.
enum class Law : uint8_t {
  // the text is not of the CuTe form
  TextForm,
  // shape and stride do not nest alike, or two tuples of one operation do not
  Congruence,
  // every extent is at least 1
  PositiveExtent,
  // at most kMaxDepth levels and kMaxLeaves leaves
  NestingLimit,
  // every size and every value inside the domain fits 64 bits
  Overflow,
  // the coordinate does not fit the shape's nesting
  CoordinateProfile,
  // the operation needs a mode that is not there, or a tiler has more modes than the layout
  Rank,
  // composition: a stride of the right side neither steps over nor stays inside a mode of the left side
  StrideDivisibility,
  // composition: the part taken from a mode does not divide the extent that is left
  ShapeDivisibility,
  // composition: modes of the right side add up beyond an extent of the left side, so that values carry
  Carry,
  // complement, inverse: two coordinates reach one index
  Injectivity,
  // complement, left inverse: strides must not be negative
  NonNegativeStride,
  // left inverse: each stride must be a multiple of the next smaller one
  InverseDivisibility,
  // Swizzle<B,M,S>: 0 <= B <= |S|, 0 <= M, everything within 62 bits
  SwizzleForm,
  // the result is not expressible as one swizzle
  SwizzleMerge,
  // recast: sizes must divide
  RecastDivisibility,
  // the map is not linear over the two-element field
  F2Linear,
  // matrix sizes do not fit, or more than 64 bits
  F2Size,
  // the matrix has no inverse
  F2Singular,
  // an exact enumeration would be larger than its limit
  EnumerationLimit,
  // a thread/value layout must reach each element of its tile exactly once
  Coverage,
};

[[nodiscard]] std::string_view law_name(Law law);

struct Quantity {
  std::string name;
  int64_t value = 0;
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

// Why an operation has no answer: the law, where (a path of mode numbers from the outside in; empty is the whole), the
// numbers that break it, and one sentence for people.
struct LayoutFailure {
  Law law = Law::TextForm;
  std::vector<int> mode;
  std::vector<Quantity> numbers;
  std::string sentence;

  // "stride-divisibility at mode 1.0: ... [extent=4, stride=6]"
  [[nodiscard]] std::string to_string() const;
  // The same failure seen from one level up: `index` becomes the first step of the path.
  [[nodiscard]] LayoutFailure in_mode(int index) &&;
};

template <class T>
using Checked = Result<T, LayoutFailure>;

[[nodiscard]] Failure<LayoutFailure> fail_law(Law law, std::vector<Quantity> numbers, std::string sentence);

// 64-bit arithmetic that says when it does not fit; used by every operation.
[[nodiscard]] Checked<int64_t> checked_add(int64_t a, int64_t b);
[[nodiscard]] Checked<int64_t> checked_mul(int64_t a, int64_t b);
// REQUIRES: b > 0, a >= 0.
[[nodiscard]] constexpr int64_t ceil_div_nonnegative(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace tw::layout
