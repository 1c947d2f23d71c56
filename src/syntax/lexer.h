// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "diag/source.h"

namespace tw::syntax {

// Python's tokens. Keywords and operators are told apart by their text, which is what a reader of the parser sees too.
enum class TokenKind : uint8_t { EndOfFile, Newline, Indent, Dedent, Name, Keyword, Int, Float, String, Operator };

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  diag::Span span;
};

// A comment, or an empty line (then `span` is empty). Comments are no tokens: the parser attaches them to statements.
struct Comment {
  diag::Span span;
  // Nothing but white space stands before it on its line.
  bool is_own_line = false;
  uint32_t column = 0;
  [[nodiscard]] bool is_blank_line() const { return span.begin == span.end; }
};

struct TokenStream {
  // Ends with EndOfFile; Indent and Dedent are balanced.
  std::vector<Token> tokens;
  std::vector<Comment> comments;
  // Newline tokens that end a line inside an open bracket, which has been reported: what is missing there needs no
  // second error.
  std::vector<size_t> reported_newlines;
  // Where errors were reported, in order: the parser says nothing more about those lines.
  std::vector<uint32_t> error_offsets;
  // The first error, if any; all errors are in the sink.
  std::optional<diag::Reported> failure;
  // False when lexing stopped early: what the tokens say about the rest of the file means nothing.
  bool is_complete = true;
};

// Larger files are refused before anything else is looked at.
inline constexpr size_t kMaxFileBytes = size_t{1} << 20;
inline constexpr int kMaxBlockDepth = 48;
inline constexpr int kMaxBracketDepth = 64;
// After this many errors in one file the rest is not read.
inline constexpr int kMaxErrors = 20;

// Splits a file into tokens as Python does: indentation, lines joined in brackets and by a backslash, CRLF, a byte
// order mark. What is no token is reported and left out; lexing goes on behind it.
TokenStream lex(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink);

}  // namespace tw::syntax
