// SPDX-License-Identifier: Apache-2.0
#include "syntax/lexer.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>

#include "base/strings.h"

namespace tw::syntax {
namespace {

namespace codes = diag::codes;
using diag::Span;

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

// Longest first within a first character, so that the first match is the longest. The last five are no Python, but
// writing them is a common slip: the parser names the operator that was meant.
constexpr std::array<std::string_view, 52> kOperators = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=", "-=", "*=", "/=",
    "%=",  "&=",  "|=",  "^=",  "@=",  ":=", "&&", "||", "++", "--", "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",
    ".",   ";",   "@",   "=",   "+",   "-",  "*",  "/",  "%",  "&",  "|",  "^",  "~",  "<",  ">",  "!"};

// A line that starts with one of these starts a statement: inside brackets it shows that a bracket was left open.
constexpr std::array<std::string_view, 12> kStatementKeywords = {
    "def", "class", "while", "with", "return", "import", "from", "break", "continue", "pass", "elif", "try"};

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_part(char c) {
  return is_name_start(c) || is_digit(c);
}

char closing_of(char open) {
  return open == '(' ? ')' : open == '[' ? ']' : '}';
}

// Offset of the first byte that is no UTF-8 text (a NUL counts), or the size.
size_t find_non_text(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const size_t length = text[i] == '\0' ? 0 : utf8_length(text.substr(i));
    if (length == 0) {
      return i;
    }
    i += length;
  }
  return text.size();
}

class Lexer {
 public:
  Lexer(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink)
      : text_(sources.text(file)), file_(file), sink_(sink) {}

  TokenStream run() {
    if (text_.size() > kMaxFileBytes) {
      out_.failure = sink_.report(codes::FileTooLarge{}, span(0, 0), text_.size(), kMaxFileBytes).emit();
    } else if (size_t bad = find_non_text(text_); bad < text_.size()) {
      auto byte = static_cast<unsigned char>(text_[bad]);
      out_.failure = sink_.report(codes::NotText{}, span(bad, bad + 1), fmt::format("0x{:02x}", byte), bad).emit();
    } else {
      lex_text();
    }
    finish();
    return std::move(out_);
  }

 private:
  struct Bracket {
    char open;
    size_t offset;
  };
  // Width with tabs to multiples of eight, and with tabs as one: a line is consistent when both agree on the order.
  struct Indentation {
    uint32_t wide = 0;
    uint32_t narrow = 0;
  };

  [[nodiscard]] Span span(size_t begin, size_t end) const {
    return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  [[nodiscard]] char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  [[nodiscard]] bool at_line_end() const { return at_ >= text_.size() || peek() == '\n' || peek() == '\r'; }

  void push(TokenKind kind, size_t begin, size_t end) { out_.tokens.push_back({kind, span(begin, end)}); }

  void note_failure(diag::Reported reported) {
    ++errors_;
    out_.error_offsets.push_back(sink_.diagnostics().back().primary.begin);
    if (!out_.failure) {
      out_.failure = reported;
    }
  }

  void skip_line_end() {
    if (peek() == '\r') {
      ++at_;
    }
    if (peek() == '\n') {
      ++at_;
    }
  }

  void lex_text() {
    if (text_.starts_with("\xEF\xBB\xBF")) {
      at_ = 3;
    }
    while (at_ < text_.size() && errors_ < kMaxErrors) {
      lex_line();
    }
  }

  // One physical line; `brackets_` and `is_continued_` carry a logical line over several of them.
  void lex_line() {
    const size_t line_begin = at_;
    Indentation indentation;
    while (peek() == ' ' || peek() == '\t' || peek() == '\f') {
      if (peek() == '\t') {
        indentation.wide = indentation.wide / 8 * 8 + 8;
        ++indentation.narrow;
      } else if (peek() == ' ') {
        ++indentation.wide;
        ++indentation.narrow;
      }
      ++at_;
    }
    const bool is_joined = is_continued_ || !brackets_.empty();
    is_continued_ = false;
    if (at_line_end()) {
      if (!is_joined) {
        out_.comments.push_back({span(line_begin, line_begin), true, 0});
      }
      skip_line_end();
      return;
    }
    if (peek() == '#') {
      lex_comment(true, indentation.wide);
      skip_line_end();
      return;
    }
    if (!brackets_.empty() && starts_statement()) {
      report_unclosed();
      out_.reported_newlines.push_back(out_.tokens.size());
      push(TokenKind::Newline, line_begin, line_begin);
      set_indentation(indentation, line_begin);
    } else if (!is_joined) {
      set_indentation(indentation, line_begin);
    }
    while (!at_line_end() && errors_ < kMaxErrors) {
      lex_token();
    }
    if (brackets_.empty() && !is_continued_ && has_open_line()) {
      push(TokenKind::Newline, at_, at_);
    }
    skip_line_end();
  }

  [[nodiscard]] bool has_open_line() const {
    if (out_.tokens.empty()) {
      return false;
    }
    TokenKind kind = out_.tokens.back().kind;
    return kind != TokenKind::Newline && kind != TokenKind::Indent && kind != TokenKind::Dedent;
  }

  [[nodiscard]] bool starts_statement() const {
    size_t end = at_;
    while (end < text_.size() && is_name_part(text_[end])) {
      ++end;
    }
    std::string_view word = text_.substr(at_, end - at_);
    return std::ranges::find(kStatementKeywords, word) != kStatementKeywords.end();
  }

  void set_indentation(Indentation now, size_t line_begin) {
    const Indentation current = indentations_.back();
    bool is_deeper = now.wide > current.wide;
    if (is_deeper != (now.narrow > current.narrow) || (now.wide == current.wide) != (now.narrow == current.narrow)) {
      note_failure(sink_.report(codes::InconsistentIndentation{}, span(line_begin, at_), "mixes tabs and spaces")
                       .note("the widths of the lines of one block must not depend on how wide a tab is")
                       .emit());
      now.narrow = now.wide;
    }
    if (is_deeper) {
      if (static_cast<int>(indentations_.size()) > kMaxBlockDepth) {
        note_failure(
            sink_.report(codes::NestingTooDeep{}, span(line_begin, at_), "blocks nested", kMaxBlockDepth).emit());
        // The rest cannot be read sensibly: every further line would repeat the message.
        errors_ = kMaxErrors;
        at_ = text_.size();
        return;
      }
      indentations_.push_back(now);
      push(TokenKind::Indent, at_, at_);
      return;
    }
    while (now.wide < indentations_.back().wide) {
      indentations_.pop_back();
      push(TokenKind::Dedent, at_, at_);
      if (now.wide > indentations_.back().wide) {
        note_failure(
            sink_.report(codes::InconsistentIndentation{}, span(line_begin, at_), "matches no enclosing block").emit());
        indentations_.push_back(now);
        out_.tokens.pop_back();
        return;
      }
    }
  }

  void lex_comment(bool is_own_line, uint32_t column) {
    const size_t begin = at_;
    while (!at_line_end()) {
      ++at_;
    }
    out_.comments.push_back({span(begin, at_), is_own_line, column});
  }

  void lex_token() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\f') {
      ++at_;
    } else if (c == '#') {
      lex_comment(false, 0);
    } else if (c == '\\' && (peek(1) == '\n' || peek(1) == '\r')) {
      // The line end itself is skipped by lex_line.
      ++at_;
      is_continued_ = true;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      lex_number();
    } else if (c == '"' || c == '\'') {
      lex_string(at_);
    } else if (is_name_start(c)) {
      lex_name();
    } else {
      lex_operator();
    }
  }

  void lex_name() {
    const size_t begin = at_;
    while (is_name_part(peek())) {
      ++at_;
    }
    std::string_view word = text_.substr(begin, at_ - begin);
    if ((peek() == '"' || peek() == '\'') && word.size() <= 2 &&
        word.find_first_not_of("rRbBfFuU") == std::string_view::npos) {
      lex_string(begin);
      return;
    }
    const bool is_keyword = std::ranges::find(kKeywords, word) != kKeywords.end();
    push(is_keyword ? TokenKind::Keyword : TokenKind::Name, begin, at_);
  }

  // `begin` is where the prefix starts; at_ is at the quote.
  void lex_string(size_t begin) {
    const char quote = peek();
    const bool is_triple = peek(1) == quote && peek(2) == quote;
    const size_t quote_length = is_triple ? 3 : 1;
    at_ += quote_length;
    while (at_ < text_.size()) {
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        at_ += 2;
      } else if (peek() == quote && (!is_triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += quote_length;
        push(TokenKind::String, begin, at_);
        return;
      } else if (!is_triple && (peek() == '\n' || peek() == '\r')) {
        break;
      } else {
        ++at_;
      }
    }
    note_failure(sink_
                     .report(codes::UnterminatedString{}, span(begin, std::min(at_, begin + quote_length)),
                             std::string(quote_length, quote))
                     .emit());
    push(TokenKind::String, begin, at_);
    last_open_string_ = begin;
  }

  // Takes digits and single underscores between them; false when an underscore stands elsewhere.
  bool take_digits(std::string_view allowed) {
    bool is_well_formed = true;
    bool last_is_digit = false;
    while (true) {
      if (allowed.find(peek()) != std::string_view::npos && peek() != '\0') {
        last_is_digit = true;
      } else if (peek() == '_') {
        is_well_formed = is_well_formed && last_is_digit;
        last_is_digit = false;
      } else {
        return is_well_formed && last_is_digit;
      }
      ++at_;
    }
  }

  void lex_number() {
    static constexpr std::string_view kDecimal = "0123456789";
    const size_t begin = at_;
    std::string_view why;
    bool is_float = false;
    if (peek() == '0' && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos && peek(1) != '\0') {
      const char base = static_cast<char>(peek(1) | 0x20);
      at_ += 2;
      const std::string_view digits = base == 'x' ? "0123456789abcdefABCDEF" : base == 'o' ? "01234567" : "01";
      // An underscore may stand right after the prefix.
      if (peek() == '_') {
        ++at_;
      }
      if (!take_digits(digits)) {
        why = base == 'x'   ? "expected hexadecimal digits"
              : base == 'o' ? "expected octal digits"
                            : "expected binary digits";
      }
    } else {
      bool is_well_formed = true;
      if (peek() != '.') {
        is_well_formed = take_digits(kDecimal);
      }
      if (peek() == '.') {
        is_float = true;
        ++at_;
        if (is_digit(peek()) || peek() == '_') {
          is_well_formed = take_digits(kDecimal) && is_well_formed;
        }
      }
      const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
        is_float = true;
        at_ += 1 + sign;
        is_well_formed = take_digits(kDecimal) && is_well_formed;
      }
      if (!is_well_formed) {
        why = "an underscore stands only between two digits";
      }
      const std::string_view digits = text_.substr(begin, at_ - begin);
      if (!is_float && digits.size() > 1 && digits[0] == '0' &&
          digits.find_first_not_of("0_") != std::string_view::npos) {
        why = "a decimal integer does not start with 0";
      }
    }
    if (is_name_part(peek())) {
      const bool is_imaginary = (peek() == 'j' || peek() == 'J') && !is_name_part(peek(1));
      while (is_name_part(peek())) {
        ++at_;
      }
      why = is_imaginary ? "there are no complex numbers in the tile language" : "a letter follows the digits";
    }
    if (!why.empty()) {
      note_failure(
          sink_.report(codes::MalformedNumber{}, span(begin, at_), clipped(text_.substr(begin, at_ - begin)), why)
              .emit());
    }
    push(is_float ? TokenKind::Float : TokenKind::Int, begin, at_);
  }

  static std::string clipped(std::string_view text) {
    return text.size() <= 40 ? std::string(text) : std::string(text.substr(0, 37)) + "...";
  }

  void lex_operator() {
    const std::string_view rest = text_.substr(at_);
    for (std::string_view op : kOperators) {
      if (rest.starts_with(op)) {
        // `x - -1` and `x + +1` are Python; only `i++` and `i--` at the end of an expression are the slip.
        if ((op == "++" || op == "--") && !is_increment()) {
          op = op.substr(0, 1);
        }
        const size_t begin = at_;
        at_ += op.size();
        if (track_bracket(op[0], begin)) {
          push(TokenKind::Operator, begin, at_);
        }
        return;
      }
    }
    report_character();
  }

  [[nodiscard]] bool is_increment() const {
    size_t next = at_ + 2;
    while (next < text_.size() && (text_[next] == ' ' || text_[next] == '\t')) {
      ++next;
    }
    const bool ends = next >= text_.size() || std::string_view("\r\n;#)").find(text_[next]) != std::string_view::npos;
    return ends && !out_.tokens.empty() && out_.tokens.back().kind == TokenKind::Name;
  }

  // False: the token is to be left out.
  bool track_bracket(char c, size_t begin) {
    if (c == '(' || c == '[' || c == '{') {
      if (static_cast<int>(brackets_.size()) >= kMaxBracketDepth) {
        note_failure(
            sink_.report(codes::NestingTooDeep{}, span(begin, begin + 1), "brackets nested", kMaxBracketDepth).emit());
        errors_ = kMaxErrors;
        at_ = text_.size();
        return false;
      }
      brackets_.push_back({c, begin});
      return true;
    }
    if (c != ')' && c != ']' && c != '}') {
      return true;
    }
    if (brackets_.empty()) {
      note_failure(sink_
                       .report(codes::UnmatchedBracket{}, span(begin, begin + 1), std::string(1, c),
                               "an opening bracket before it")
                       .fixit({"remove it", {{span(begin, begin + 1), ""}}, diag::Applicability::MaybeWrong})
                       .emit());
      return false;
    }
    const Bracket open = brackets_.back();
    const char expected = closing_of(open.open);
    if (c == expected) {
      brackets_.pop_back();
      return true;
    }
    const bool closes_outer =
        std::ranges::any_of(brackets_, [&](const Bracket& bracket) { return closing_of(bracket.open) == c; });
    note_failure(
        sink_
            .report(codes::UnmatchedBracket{}, span(begin, begin + 1), std::string(1, c), fmt::format("`{}`", expected))
            .label(span(open.offset, open.offset + 1), "opened here")
            .emit());
    if (!closes_outer) {
      // The wrong kind was written for the innermost one.
      brackets_.pop_back();
      return false;
    }
    while (closing_of(brackets_.back().open) != c) {
      brackets_.pop_back();
    }
    brackets_.pop_back();
    return true;
  }

  void report_unclosed() {
    const Bracket open = brackets_.back();
    brackets_.clear();
    // Its closing bracket is in the string that was never closed.
    if (last_open_string_ > open.offset) {
      return;
    }
    note_failure(sink_
                     .report(codes::UnclosedBracket{}, span(open.offset, open.offset + 1), std::string(1, open.open),
                             std::string(1, closing_of(open.open)))
                     .emit());
  }

  void report_character() {
    const auto lead = static_cast<unsigned char>(peek());
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const std::string_view character = text_.substr(at_, length);
    const bool is_printable = lead >= 0x20 && lead != 0x7F;
    note_failure(sink_
                     .report(codes::UnexpectedCharacter{}, span(at_, at_ + length),
                             is_printable ? fmt::format("`{}`", character) : fmt::format("byte 0x{:02x}", lead))
                     .emit());
    // A run of such characters is one slip.
    while (at_ < text_.size() &&
           (static_cast<unsigned char>(peek()) >= 0x80 || text_.substr(at_, length) == character)) {
      ++at_;
    }
  }

  void finish() {
    std::ranges::sort(out_.error_offsets);
    out_.is_complete = at_ >= text_.size() && errors_ < kMaxErrors;
    if (!brackets_.empty() && errors_ < kMaxErrors) {
      report_unclosed();
      out_.reported_newlines.push_back(out_.tokens.size());
    }
    const size_t end = text_.size();
    if (has_open_line()) {
      push(TokenKind::Newline, end, end);
    }
    while (indentations_.size() > 1) {
      indentations_.pop_back();
      push(TokenKind::Dedent, end, end);
    }
    push(TokenKind::EndOfFile, end, end);
  }

  std::string_view text_;
  diag::FileId file_;
  diag::Sink& sink_;
  size_t at_ = 0;
  int errors_ = 0;
  bool is_continued_ = false;
  size_t last_open_string_ = 0;
  std::vector<Bracket> brackets_;
  std::vector<Indentation> indentations_{Indentation{}};
  TokenStream out_;
};

}  // namespace

TokenStream lex(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink) {
  return Lexer(sources, file, sink).run();
}

}  // namespace tw::syntax
