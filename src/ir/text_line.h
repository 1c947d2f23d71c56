// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace tw::ir {

// What was expected where reading stopped. Thrown inside the parser of the text form only; parse() turns it into an
// Error.
struct Stop {
  std::string expected;
};

// One line, read from left to right. Spaces between words do not matter.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] std::string_view rest() {
    skip();
    return text_.substr(at_);
  }
  [[nodiscard]] bool is_at_end() { return rest().empty(); }

  bool accept(std::string_view word) {
    if (!rest().starts_with(word)) {
      return false;
    }
    // A word does not end inside a longer one.
    const size_t end = at_ + word.size();
    if (is_word(word.back()) && end < text_.size() && is_word(text_[end])) {
      return false;
    }
    at_ = end;
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) {
      throw Stop{fmt::format("`{}`", word)};
    }
  }

  std::string name() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    if (begin == at_) {
      throw Stop{"a name"};
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  int64_t integer() {
    skip();
    const std::string text(text_.substr(at_, 24));
    char* end = nullptr;
    errno = 0;
    const int64_t value = std::strtoll(text.c_str(), &end, 10);
    if (end == text.c_str() || errno != 0) {
      throw Stop{"an integer"};
    }
    at_ += static_cast<size_t>(end - text.c_str());
    return value;
  }
  int small() {
    const int64_t value = integer();
    if (value < INT32_MIN || value > INT32_MAX) {
      throw Stop{"a 32-bit integer"};
    }
    return static_cast<int>(value);
  }
  bool flag() { return small() != 0; }

  double number_f64() {
    skip();
    const std::string text(text_.substr(at_, 40));
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str()) {
      throw Stop{"a number"};
    }
    at_ += static_cast<size_t>(end - text.c_str());
    return value;
  }

  // Up to the next space: layouts and swizzles have none.
  std::string word() {
    skip();
    const size_t end = std::min(text_.find(' ', at_), text_.size());
    std::string out(text_.substr(at_, end - at_));
    at_ = end;
    return out;
  }

 private:
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  std::string_view text_;
  int number_;
  size_t at_ = 0;
};

}  // namespace tw::ir
