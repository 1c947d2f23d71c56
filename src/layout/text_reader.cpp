// SPDX-License-Identifier: Apache-2.0
#include "layout/text_reader.h"

#include <charconv>
#include <fmt/format.h>

namespace tw::layout {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// What the text holds at the byte, without copying control characters into a message.
std::string shown(std::string_view text, size_t at) {
  if (at >= text.size()) {
    return "the end of the text";
  }
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte >= 0x20 && byte < 0x7f ? fmt::format("`{}`", text[at]) : fmt::format("byte 0x{:02x}", byte);
}

}  // namespace

void TextReader::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool TextReader::take(std::string_view word) {
  skip_space();
  if (text_.substr(at_, word.size()) != word) {
    return false;
  }
  at_ += word.size();
  return true;
}

bool TextReader::at_end() {
  skip_space();
  return at_ == text_.size();
}

Failure<LayoutFailure> TextReader::fail_here(std::string_view wanted) {
  return fail_law(Law::TextForm, {{"byte", static_cast<int64_t>(at_)}},
                  fmt::format("expected {} at byte {}, found {}", wanted, at_, shown(text_, at_)));
}

Checked<int> TextReader::read_char(char wanted) {
  if (!take(std::string_view(&wanted, 1))) {
    return fail_here(fmt::format("`{}`", wanted));
  }
  return 0;
}

Checked<int> TextReader::read_end() {
  if (!at_end()) {
    return fail_here("the end of the text");
  }
  return 0;
}

Checked<int64_t> TextReader::read_int() {
  skip_space();
  // CuTe prints its static integers as `_8`.
  if (at_ + 1 < text_.size() && text_[at_] == '_' && (is_digit(text_[at_ + 1]) || text_[at_ + 1] == '-')) {
    ++at_;
  }
  int64_t value = 0;
  const char* begin = text_.data() + at_;
  const char* end = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) {
    return fail_law(Law::Overflow, {{"byte", static_cast<int64_t>(at_)}},
                    fmt::format("the number at byte {} does not fit 64 bits", at_));
  }
  if (error != std::errc()) {
    return fail_here("a number");
  }
  at_ += static_cast<size_t>(stop - begin);
  return value;
}

Checked<Swizzle> TextReader::read_swizzle() {
  if (!take("Swizzle<") && !take("Sw<")) {
    return fail_here("`Sw<`");
  }
  TW_TRY(const int64_t bits, read_int());
  TW_TRY([[maybe_unused]] const int first_comma, read_char(','));
  TW_TRY(const int64_t base, read_int());
  TW_TRY([[maybe_unused]] const int second_comma, read_char(','));
  TW_TRY(const int64_t shift, read_int());
  TW_TRY([[maybe_unused]] const int closed, read_char('>'));
  return Swizzle::make(bits, base, shift);
}

Checked<IntTuple> TextReader::read_tuple_at(int depth) {
  if (!take("(")) {
    if (++leaves_ > kMaxLeaves) {
      return fail_law(Law::NestingLimit, {{"leaves", leaves_}, {"limit", kMaxLeaves}},
                      fmt::format("more than {} leaves", kMaxLeaves));
    }
    skip_space();
    if (at_ < text_.size() && text_[at_] == '_' &&
        (at_ + 1 == text_.size() || (!is_digit(text_[at_ + 1]) && text_[at_ + 1] != '-'))) {
      ++at_;
      return IntTuple::free();
    }
    TW_TRY(const int64_t value, read_int());
    return IntTuple(value);
  }
  if (depth == kMaxDepth) {
    return fail_law(Law::NestingLimit, {{"depth", depth + 1}, {"limit", kMaxDepth}},
                    fmt::format("more than {} levels of parentheses", kMaxDepth));
  }
  std::vector<IntTuple> elements;
  if (take(")")) {
    return IntTuple::tuple({});
  }
  do {
    // Bounds the empty tuples too, which hold no leaf.
    if (elements.size() == kMaxLeaves) {
      return fail_law(Law::NestingLimit, {{"modes", kMaxLeaves + 1}, {"limit", kMaxLeaves}},
                      fmt::format("more than {} modes", kMaxLeaves));
    }
    TW_TRY(IntTuple element, read_tuple_at(depth + 1));
    elements.push_back(std::move(element));
  } while (take(","));
  TW_TRY([[maybe_unused]] const int closed, read_char(')'));
  return IntTuple::tuple(std::move(elements));
}

}  // namespace tw::layout
