// SPDX-License-Identifier: Apache-2.0
#include "syntax/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tw::syntax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Lexed {
  std::vector<std::string> tokens;
  std::vector<int> errors;
};

Lexed lex_text(std::string text) {
  diag::SourceManager sources;
  diag::Sink sink;
  TokenStream stream = lex(sources, sources.add("a.tw.py", std::move(text)), sink);
  Lexed out;
  for (const Token& token : stream.tokens) {
    switch (token.kind) {
      case TokenKind::EndOfFile:
        break;
      case TokenKind::Newline:
        out.tokens.emplace_back("NL");
        break;
      case TokenKind::Indent:
        out.tokens.emplace_back(">>");
        break;
      case TokenKind::Dedent:
        out.tokens.emplace_back("<<");
        break;
      default:
        out.tokens.emplace_back(sources.text(token.span));
    }
  }
  for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
    out.errors.push_back(diagnostic.code->number);
  }
  return out;
}

TEST(Lexer, indentation_opens_and_closes_blocks) {
  Lexed lexed = lex_text("if a:\n    b\n\n    # note\n    c\nd");
  EXPECT_THAT(lexed.tokens, ElementsAre("if", "a", ":", "NL", ">>", "b", "NL", "c", "NL", "<<", "d", "NL"));
  EXPECT_THAT(lexed.errors, IsEmpty());
}

TEST(Lexer, brackets_and_backslashes_join_lines) {
  EXPECT_THAT(lex_text("f(a,\n  b)\n").tokens, ElementsAre("f", "(", "a", ",", "b", ")", "NL"));
  EXPECT_THAT(lex_text("a = \\\n   b\n").tokens, ElementsAre("a", "=", "b", "NL"));
}

TEST(Lexer, crlf_and_byte_order_mark_change_nothing) {
  EXPECT_THAT(lex_text("\xEF\xBB\xBFif a:\r\n  b\r\nc\r\n").tokens,
              ElementsAre("if", "a", ":", "NL", ">>", "b", "NL", "<<", "c", "NL"));
}

TEST(Lexer, tabs_are_fine_until_they_contradict_spaces) {
  EXPECT_THAT(lex_text("if a:\n\tb\n\tc\n").errors, IsEmpty());
  EXPECT_THAT(lex_text("if a:\n        b\n\tc\n").errors, ElementsAre(9));
}

TEST(Lexer, slices_keep_colon_and_plus_apart) {
  EXPECT_THAT(lex_text("T[a:+n]").tokens, ElementsAre("T", "[", "a", ":", "+", "n", "]", "NL"));
}

TEST(Lexer, numbers_of_every_form) {
  EXPECT_THAT(lex_text("1 1_000 0xFF 0b1 0o7 1.5 .5 1. 1e-3 0").errors, IsEmpty());
  EXPECT_THAT(lex_text("1__0").errors, ElementsAre(7));
  EXPECT_THAT(lex_text("0x").errors, ElementsAre(7));
  EXPECT_THAT(lex_text("007").errors, ElementsAre(7));
  EXPECT_THAT(lex_text("3j").errors, ElementsAre(7));
  EXPECT_THAT(lex_text("12ab").errors, ElementsAre(7));
}

TEST(Lexer, strings_may_hold_brackets_and_quotes) {
  EXPECT_THAT(lex_text(R"(x = "a(\"" + 'b]')").tokens, ElementsAre("x", "=", "\"a(\\\"\"", "+", "'b]'", "NL"));
  EXPECT_THAT(lex_text("x = '''a\nb'''\ny").tokens, ElementsAre("x", "=", "'''a\nb'''", "NL", "y", "NL"));
  EXPECT_THAT(lex_text("x = 'abc\ny = 1\n").errors, ElementsAre(4));
}

TEST(Lexer, brackets_that_do_not_match_are_named) {
  EXPECT_THAT(lex_text("f(a]\n").errors, ElementsAre(6));
  EXPECT_THAT(lex_text("a)\n").errors, ElementsAre(6));
  EXPECT_THAT(lex_text("f(a\n").errors, ElementsAre(5));
}

TEST(Lexer, an_open_bracket_does_not_swallow_the_next_function) {
  Lexed lexed = lex_text("f(a,\ndef g():\n    pass\n");
  EXPECT_THAT(lexed.errors, ElementsAre(5));
  EXPECT_THAT(lexed.tokens,
              ElementsAre("f", "(", "a", ",", "NL", "def", "g", "(", ")", ":", "NL", ">>", "pass", "NL", "<<"));
}

TEST(Lexer, what_is_no_text_is_refused_once) {
  EXPECT_THAT(lex_text(std::string("a = \0 1", 7)).errors, ElementsAre(1));
  EXPECT_THAT(lex_text("a = \xff\xfe").errors, ElementsAre(1));
  // Cut off at the end, longer than need be, half of a surrogate pair, behind the last character.
  for (const char* tail : {"\xe2\x82", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_THAT(lex_text(std::string("a = 1 # ") + tail).errors, ElementsAre(1)) << tail;
  }
  EXPECT_THAT(lex_text("a = 1 # \xe2\x82\xac \xf0\x9f\x98\x80\n").errors, IsEmpty());
  EXPECT_THAT(lex_text("\x7f"
                       "ELF")
                  .errors,
              ElementsAre(3));
  EXPECT_THAT(lex_text(std::string(kMaxFileBytes + 1, 'a')).errors, ElementsAre(2));
}

TEST(Lexer, depth_limits_are_errors_not_crashes) {
  EXPECT_THAT(lex_text(std::string(100000, '(')).errors, ElementsAre(13));
  std::string stairs;
  for (int i = 0; i < 200; ++i) {
    stairs += std::string(static_cast<size_t>(i), ' ') + "if a:\n";
  }
  EXPECT_THAT(lex_text(stairs).errors, ElementsAre(13));
}

}  // namespace
}  // namespace tw::syntax
