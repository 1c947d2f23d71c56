// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::spec {

enum class TokenKind : uint8_t { Name, Number, Symbol, Newline, End, Unknown };

// Offsets are into the text given to `lex`.
struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t begin = 0;
  uint32_t end = 0;
  std::string_view text;
  double value = 0;
  bool is_integer = false;
};

// Newlines inside brackets and comments are dropped; the last token is End. Bytes that start no token become Unknown.
std::vector<Token> lex(std::string_view text);

// What a message calls the token: its text in backticks, shortened, with unprintable bytes as \xNN.
std::string describe(const Token& token);

}  // namespace tw::spec
