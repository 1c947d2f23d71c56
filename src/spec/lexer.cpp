// SPDX-License-Identifier: Apache-2.0
#include "spec/lexer.h"

#include <charconv>
#include <fmt/format.h>
#include <limits>

namespace tw::spec {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

size_t number_end(std::string_view text, size_t begin) {
  size_t i = begin;
  auto digits = [&] {
    while (i < text.size() && is_digit(text[i])) {
      ++i;
    }
  };
  digits();
  if (i < text.size() && text[i] == '.' && !(i + 1 < text.size() && is_name_start(text[i + 1]) && text[i + 1] != 'e')) {
    ++i;
    digits();
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    size_t mark = i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
      ++i;
    }
    size_t first = i;
    digits();
    if (i == first) {
      i = mark;
    }
  }
  return i;
}

Token number(std::string_view text, size_t begin, size_t end) {
  Token token{TokenKind::Number, static_cast<uint32_t>(begin), static_cast<uint32_t>(end),
              text.substr(begin, end - begin)};
  token.is_integer = token.text.find_first_not_of("0123456789") == std::string_view::npos;
  auto parsed = std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.value);
  if (parsed.ec == std::errc::result_out_of_range || (token.is_integer && token.value > 0x1p53)) {
    token.kind = TokenKind::Unknown;
  }
  return token;
}

}  // namespace

std::vector<Token> lex(std::string_view text) {
  std::vector<Token> tokens;
  int depth = 0;
  size_t i = 0;
  auto push = [&](TokenKind kind, size_t end) {
    tokens.push_back({kind, static_cast<uint32_t>(i), static_cast<uint32_t>(end), text.substr(i, end - i)});
    i = end;
  };
  while (i < text.size()) {
    char c = text[i];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (c == '#') {
      while (i < text.size() && text[i] != '\n') {
        ++i;
      }
    } else if (c == '\n') {
      if (depth == 0) {
        push(TokenKind::Newline, i + 1);
      } else {
        ++i;
      }
    } else if (is_name_start(c)) {
      size_t end = i;
      while (end < text.size() && (is_name_start(text[end]) || is_digit(text[end]))) {
        ++end;
      }
      push(TokenKind::Name, end);
    } else if (is_digit(c) || (c == '.' && i + 1 < text.size() && is_digit(text[i + 1]))) {
      size_t end = number_end(text, i);
      tokens.push_back(number(text, i, end));
      i = end;
    } else {
      std::string_view two = text.substr(i, 2);
      if (two == "//" || two == "<=" || two == ">=" || two == "==" || two == "!=") {
        push(TokenKind::Symbol, i + 2);
      } else if (std::string_view("[](),;=+-*/%<>.").find(c) != std::string_view::npos) {
        if (c == '(' || c == '[') {
          ++depth;
        } else if ((c == ')' || c == ']') && depth > 0) {
          --depth;
        }
        push(TokenKind::Symbol, i + 1);
      } else {
        push(TokenKind::Unknown, i + 1);
      }
    }
  }
  push(TokenKind::End, text.size());
  return tokens;
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::End) {
    return "the end of the text";
  }
  if (token.kind == TokenKind::Newline) {
    return "the end of the line";
  }
  constexpr size_t kLongest = 40;
  std::string result = "`";
  for (char c : token.text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + (token.text.size() > kLongest ? "...`" : "`");
}

}  // namespace tw::spec
