// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "layout/int_tuple.h"
#include "layout/swizzle.h"

namespace tw::layout {

// Reads the pieces of the text form from left to right; every failure names the byte where reading stopped.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  [[nodiscard]] Checked<IntTuple> read_tuple() { return read_tuple_at(0); }
  [[nodiscard]] Checked<int64_t> read_int();
  [[nodiscard]] Checked<Swizzle> read_swizzle();
  [[nodiscard]] Checked<int> read_char(char wanted);
  [[nodiscard]] Checked<int> read_end();
  // Skips white space; takes `word` if it is next.
  [[nodiscard]] bool take(std::string_view word);
  [[nodiscard]] bool at_end();
  [[nodiscard]] Failure<LayoutFailure> fail_here(std::string_view wanted);

 private:
  Checked<IntTuple> read_tuple_at(int depth);
  void skip_space();

  std::string_view text_;
  size_t at_ = 0;
  int leaves_ = 0;
};

}  // namespace tw::layout
