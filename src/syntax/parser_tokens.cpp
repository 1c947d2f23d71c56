// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "syntax/parser_impl.h"

namespace tw::syntax {

namespace codes = diag::codes;
using diag::Span;

// ---------------------------------------------------------------------------------------------------------------
// tokens

std::string_view Parser::text_at(size_t index) const {
  return index < stream_.tokens.size() ? sources_.text(stream_.tokens[index].span) : std::string_view();
}

void Parser::advance() {
  if (is_at_end()) {
    return;
  }
  // Spans of statements end with their last word, not with the line or the block.
  if (!is_kind(TokenKind::Newline) && !is_kind(TokenKind::Indent) && !is_kind(TokenKind::Dedent)) {
    last_ = token().span;
  }
  ++at_;
}

bool Parser::take_op(std::string_view op) {
  if (!is_op(op)) {
    return false;
  }
  advance();
  return true;
}

bool Parser::take_keyword(std::string_view word) {
  if (!is_keyword(word)) {
    return false;
  }
  advance();
  return true;
}

bool Parser::expect_op(std::string_view op, std::string_view where) {
  if (take_op(op)) {
    return true;
  }
  if (is_reported_line()) {
    return false;
  }
  if (is_op("=") && op != "=") {
    note(sink_.report(codes::AssignmentInExpression{}, token().span)
             .fixit({"compare", {{token().span, "=="}}, diag::Applicability::MaybeWrong})
             .emit());
    return false;
  }
  diag::Builder builder =
      sink_.report(codes::UnexpectedToken{}, token().span, fmt::format("`{}` {}", op, where), describe_token());
  if (op == ":" && is_kind(TokenKind::Newline)) {
    builder.fixit({"insert `:`", {{after_previous(), ":"}}, diag::Applicability::Safe});
  }
  note(builder.emit());
  return false;
}

std::string Parser::describe_token() const {
  switch (token().kind) {
    case TokenKind::EndOfFile:
      return "the end of the file";
    case TokenKind::Newline:
      return "the end of the line";
    case TokenKind::Indent:
      return "an indented line";
    case TokenKind::Dedent:
      return "the end of the block";
    default: {
      std::string_view found = text();
      return found.size() <= 40 ? fmt::format("`{}`", found) : fmt::format("`{}...`", found.substr(0, 30));
    }
  }
}

Span Parser::span_from(Span begin) const {
  return {file_, begin.begin, std::max(begin.begin, last_.end)};
}

// ---------------------------------------------------------------------------------------------------------------
// errors

void Parser::note(diag::Reported reported) {
  if (!failure_) {
    failure_ = reported;
  }
  if (++errors_ >= kMaxErrors && !has_given_up_) {
    has_given_up_ = true;
    static_cast<void>(sink_.report(codes::TooManySyntaxErrors{}, token().span, errors_).emit());
    at_ = stream_.tokens.size() - 1;
  }
}

bool Parser::is_reported_line() const {
  if (std::ranges::binary_search(stream_.reported_newlines, at_)) {
    return true;
  }
  auto ends_line = [&](size_t index) {
    return stream_.tokens[index].kind == TokenKind::Newline || stream_.tokens[index].kind == TokenKind::EndOfFile;
  };
  size_t first = at_;
  while (first > 0 && !ends_line(first - 1)) {
    --first;
  }
  size_t last = at_;
  while (!ends_line(last)) {
    ++last;
  }
  auto error = std::ranges::lower_bound(stream_.error_offsets, stream_.tokens[first].span.begin);
  return error != stream_.error_offsets.end() && *error <= stream_.tokens[last].span.end;
}

void Parser::report_unexpected(std::string_view expected) {
  if (is_reported_line()) {
    return;
  }
  if (is_op("=")) {
    note(sink_.report(codes::AssignmentInExpression{}, token().span)
             .fixit({"compare", {{token().span, "=="}}, diag::Applicability::MaybeWrong})
             .emit());
    return;
  }
  note(sink_.report(codes::UnexpectedToken{}, token().span, expected, describe_token()).emit());
}

void Parser::report_outside(Span span, std::string_view what, std::string_view instead) {
  note(sink_.report(codes::OutsideLanguage{}, span, what, instead).emit());
}

// -------------------------------------------------------------------------------------------------------------
// comments

std::string Parser::comment_text(const Comment& comment) const {
  std::string_view text = sources_.text(comment.span);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

// All lines before the token at hand.
void Parser::take_leading(Trivia& trivia) {
  while (next_comment_ < stream_.comments.size() && stream_.comments[next_comment_].span.begin < token().span.begin) {
    const Comment& comment = stream_.comments[next_comment_++];
    const bool repeats_blank =
        comment.is_blank_line() && (trivia.leading.empty() ? at_ == 0 : trivia.leading.back().empty());
    if (!repeats_blank) {
      trivia.leading.push_back(comment.is_blank_line() ? "" : comment_text(comment));
    }
  }
}

// Comments of the logical line that ends at the token at hand: the one at its end trails, those inside brackets lead.
void Parser::take_line_comments(Trivia& trivia) {
  while (next_comment_ < stream_.comments.size() && stream_.comments[next_comment_].span.begin < token().span.begin) {
    const Comment& comment = stream_.comments[next_comment_++];
    if (comment.is_blank_line()) {
      continue;
    }
    if (!comment.is_own_line && comment.span.begin >= last_.end) {
      trivia.trailing = comment_text(comment);
    } else {
      trivia.leading.push_back(comment_text(comment));
    }
  }
}

// Comment lines at the end of a block belong to it when they are indented at least as far as its statements.
void Parser::take_dangling(Block& block, uint32_t column) {
  size_t last = next_comment_;
  for (size_t i = next_comment_; i < stream_.comments.size(); ++i) {
    const Comment& comment = stream_.comments[i];
    if (comment.span.begin >= token().span.begin && !is_at_end()) {
      break;
    }
    if (comment.is_blank_line()) {
      continue;
    }
    if (comment.column < column) {
      break;
    }
    last = i + 1;
  }
  while (next_comment_ < last) {
    const Comment& comment = stream_.comments[next_comment_++];
    if (!comment.is_blank_line() || (!block.dangling.empty() && !block.dangling.back().empty())) {
      block.dangling.push_back(comment.is_blank_line() ? "" : comment_text(comment));
    }
  }
}

}  // namespace tw::syntax
