// SPDX-License-Identifier: Apache-2.0
#include "layout/failure.h"

#include <fmt/format.h>

namespace tw::layout {

std::string_view law_name(Law law) {
  switch (law) {
    case Law::TextForm:
      return "text-form";
    case Law::Congruence:
      return "congruence";
    case Law::PositiveExtent:
      return "positive-extent";
    case Law::NestingLimit:
      return "nesting-limit";
    case Law::Overflow:
      return "overflow";
    case Law::CoordinateProfile:
      return "coordinate-profile";
    case Law::Rank:
      return "rank";
    case Law::StrideDivisibility:
      return "stride-divisibility";
    case Law::ShapeDivisibility:
      return "shape-divisibility";
    case Law::Carry:
      return "carry";
    case Law::Injectivity:
      return "injectivity";
    case Law::NonNegativeStride:
      return "non-negative-stride";
    case Law::InverseDivisibility:
      return "inverse-divisibility";
    case Law::SwizzleForm:
      return "swizzle-form";
    case Law::SwizzleMerge:
      return "swizzle-merge";
    case Law::RecastDivisibility:
      return "recast-divisibility";
    case Law::F2Linear:
      return "f2-linear";
    case Law::F2Size:
      return "f2-size";
    case Law::F2Singular:
      return "f2-singular";
    case Law::EnumerationLimit:
      return "enumeration-limit";
    case Law::Coverage:
      return "coverage";
  }
  TW_CHECK_MSG(false, "a law without a name");
}

std::string LayoutFailure::to_string() const {
  std::string text(law_name(law));
  if (!mode.empty()) {
    text += fmt::format(" at mode {}", fmt::join(mode, "."));
  }
  text += ": " + sentence;
  if (!numbers.empty()) {
    text += " [";
    for (size_t i = 0; i < numbers.size(); ++i) {
      text += fmt::format("{}{}={}", i == 0 ? "" : ", ", numbers[i].name, numbers[i].value);
    }
    text += "]";
  }
  return text;
}

LayoutFailure LayoutFailure::in_mode(int index) && {
  mode.insert(mode.begin(), index);
  return std::move(*this);
}

Failure<LayoutFailure> fail_law(Law law, std::vector<Quantity> numbers, std::string sentence) {
  return {LayoutFailure{law, {}, std::move(numbers), std::move(sentence)}};
}

Checked<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return fail_law(Law::Overflow, {{"left", a}, {"right", b}}, fmt::format("{} + {} does not fit 64 bits", a, b));
  }
  return sum;
}

Checked<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return fail_law(Law::Overflow, {{"left", a}, {"right", b}}, fmt::format("{} * {} does not fit 64 bits", a, b));
  }
  return product;
}

}  // namespace tw::layout
