// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/ast.h"
#include "syntax/lexer.h"

namespace tw::syntax {

// Recursive descent. A function that parses something returns null (or false) after it has reported why it could not;
// the statement level then skips to the next line.
class Parser {
 public:
  Parser(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink, TokenStream stream);

  Module parse_module();
  ExprPtr parse_whole_expression();
  // The first error of lexer or parser.
  [[nodiscard]] const std::optional<diag::Reported>& failure() const { return failure_; }

 private:
  // Tokens (parser_tokens.cpp).
  [[nodiscard]] const Token& token() const { return stream_.tokens[at_]; }
  [[nodiscard]] std::string_view text() const { return sources_.text(token().span); }
  [[nodiscard]] std::string_view text_at(size_t index) const;
  [[nodiscard]] bool is_kind(TokenKind kind) const { return token().kind == kind; }
  [[nodiscard]] bool is_op(std::string_view op) const { return is_kind(TokenKind::Operator) && text() == op; }
  [[nodiscard]] bool is_keyword(std::string_view word) const { return is_kind(TokenKind::Keyword) && text() == word; }
  [[nodiscard]] bool is_at_end() const { return is_kind(TokenKind::EndOfFile); }
  void advance();
  bool take_op(std::string_view op);
  bool take_keyword(std::string_view word);
  bool expect_op(std::string_view op, std::string_view where);
  [[nodiscard]] std::string describe_token() const;
  [[nodiscard]] diag::Span span_from(diag::Span begin) const;
  [[nodiscard]] diag::Span previous_span() const { return last_; }
  [[nodiscard]] diag::Span after_previous() const { return {last_.file, last_.end, last_.end}; }

  // Errors.
  void note(diag::Reported reported);
  // The lexer has reported an error in this line: what the parser misses there may be a consequence.
  [[nodiscard]] bool is_reported_line() const;
  void report_unexpected(std::string_view expected);
  void report_outside(diag::Span span, std::string_view what, std::string_view instead);
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

  // Comments.
  void take_leading(Trivia& trivia);
  void take_line_comments(Trivia& trivia);
  void take_dangling(Block& block, uint32_t column);
  [[nodiscard]] std::string comment_text(const Comment& comment) const;

  // Statements.
  void parse_statements(Block& block);
  void parse_statement(Block& block);
  bool parse_simple_line(Block& block, Trivia& trivia);
  StmtPtr parse_simple();
  StmtPtr parse_expression_statement();
  StmtPtr parse_import();
  StmtPtr parse_compound(Trivia& trivia);
  StmtPtr parse_for(diag::Span begin, Trivia& trivia);
  StmtPtr parse_while(diag::Span begin, Trivia& trivia);
  StmtPtr parse_if(diag::Span begin, Trivia& trivia);
  StmtPtr parse_with(diag::Span begin, Trivia& trivia);
  StmtPtr parse_function(diag::Span begin, Trivia& trivia);
  bool parse_parameters(FunctionDef& function);
  bool parse_body(Block& block, Trivia& trivia, std::string_view owner);
  bool refuse_else(std::string_view owner);
  bool refuse_statement();
  void recover();
  void skip_line();
  ExprPtr parse_target(bool allow_tuple);
  bool check_target(const Expr& expr);

  // Expressions (parser_expr.cpp).
  ExprPtr parse_expr();
  // `a, b`: a tuple without parentheses.
  ExprPtr parse_expr_list();
  ExprPtr parse_lambda();
  // `a or b or c`, with `and` below it.
  ExprPtr parse_bool(BoolOp op);
  [[nodiscard]] bool is_bool_operator(BoolOp op) const;
  ExprPtr parse_not();
  ExprPtr parse_comparison();
  ExprPtr parse_binary(int min_precedence);
  ExprPtr parse_unary();
  ExprPtr parse_postfix();
  ExprPtr parse_atom();
  ExprPtr parse_number();
  ExprPtr parse_string();
  ExprPtr parse_parenthesized();
  ExprPtr parse_list();
  ExprPtr parse_dict();
  bool parse_arguments(Call& call);
  bool parse_argument(Call& call);
  bool parse_indices(Subscript& subscript);
  ExprPtr parse_index();
  ExprPtr parse_slice(ExprPtr lo, diag::Span begin);
  bool refuse_comprehension();
  void refuse_in_and_is();
  // Sets span and height; refuses a tree that is too high.
  ExprPtr finish(Expr::Node node, diag::Span begin);
  bool enter();

  const diag::SourceManager& sources_;
  diag::FileId file_;
  diag::Sink& sink_;
  TokenStream stream_;
  size_t at_ = 0;
  size_t next_comment_ = 0;
  diag::Span last_;
  int depth_ = 0;
  int block_depth_ = 0;
  int errors_ = 0;
  bool has_given_up_ = false;
  std::optional<diag::Reported> failure_;
};

}  // namespace tw::syntax
