// SPDX-License-Identifier: Apache-2.0
#include "syntax/parser.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "syntax/parser_impl.h"

namespace tw::syntax {

namespace codes = diag::codes;
using diag::Span;

namespace {

struct Refused {
  std::string_view keyword;
  std::string_view instead;
};
constexpr std::array<Refused, 13> kRefusedStatements = {{
    {"class", "a file holds kernels, programs and functions"},
    {"try", "nothing is thrown in a kernel"},
    {"except", "nothing is thrown in a kernel"},
    {"finally", "nothing is thrown in a kernel"},
    {"raise", "state what must hold with `assume(..)` or `check(..)`"},
    {"assert", "use `check(..)` for what must be proved and `assume(..)` for what the caller guarantees"},
    {"del", "a name simply stops being used"},
    {"global", "a kernel has no state outside its parameters"},
    {"nonlocal", "a kernel has no state outside its parameters"},
    {"async", "asynchronous copies are written `copy(.., via=cp_async)`"},
    {"await", "asynchronous copies are waited for with `drain(..)`"},
    {"yield", "functions return their values with `return`"},
    {"match", "use `if`"},
}};

struct AugmentedOp {
  std::string_view text;
  BinaryOp op;
};
constexpr std::array<AugmentedOp, 12> kAugmentedOps = {{
    {"+=", BinaryOp::Add},
    {"-=", BinaryOp::Sub},
    {"*=", BinaryOp::Mul},
    {"/=", BinaryOp::Div},
    {"//=", BinaryOp::FloorDiv},
    {"%=", BinaryOp::Mod},
    {"**=", BinaryOp::Pow},
    {"<<=", BinaryOp::ShiftLeft},
    {">>=", BinaryOp::ShiftRight},
    {"&=", BinaryOp::BitAnd},
    {"|=", BinaryOp::BitOr},
    {"^=", BinaryOp::BitXor},
}};

}  // namespace

Parser::Parser(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink, TokenStream stream)
    : sources_(sources), file_(file), sink_(sink), stream_(std::move(stream)), last_{file, 0, 0} {
  failure_ = stream_.failure;
}

// -----------------------------------------------------------------------------------------------------------
// statements

Module Parser::parse_module() {
  Module module{file_, {}};
  while (!is_at_end() && !has_given_up()) {
    parse_statements(module.body);
    // A dedent that closes nothing is left over from a bad indentation, which the lexer has reported.
    if (is_kind(TokenKind::Dedent)) {
      advance();
    }
  }
  take_dangling(module.body, 0);
  return module;
}

void Parser::parse_statements(Block& block) {
  while (!is_at_end() && !is_kind(TokenKind::Dedent) && !has_given_up()) {
    const size_t before = at_;
    parse_statement(block);
    if (at_ == before) {
      advance();
    }
  }
}

void Parser::parse_statement(Block& block) {
  if (is_kind(TokenKind::Newline)) {
    advance();
    return;
  }
  if (is_kind(TokenKind::Indent)) {
    note(sink_.report(codes::UnexpectedIndentation{}, token().span).emit());
    advance();
    parse_statements(block);
    if (is_kind(TokenKind::Dedent)) {
      advance();
    }
    return;
  }
  Trivia trivia;
  take_leading(trivia);
  const bool is_compound = is_keyword("for") || is_keyword("while") || is_keyword("if") || is_keyword("with") ||
                           is_keyword("def") || is_op("@");
  if (!is_compound) {
    const bool is_try = is_keyword("try");
    if (refuse_statement() || !parse_simple_line(block, trivia)) {
      recover();
    }
    // The clauses of a refused `try` are refused with it.
    while (is_try && (is_keyword("except") || is_keyword("finally") || is_keyword("else"))) {
      recover();
    }
    return;
  }
  const Span begin = token().span;
  StmtPtr stmt = parse_compound(trivia);
  if (stmt == nullptr) {
    recover();
    return;
  }
  stmt->span = span_from(begin);
  stmt->trivia = std::move(trivia);
  block.statements.push_back(std::move(stmt));
}

// Skips the rest of the line; a block that hangs on it is still read for its own errors.
void Parser::recover() {
  skip_line();
  if (is_kind(TokenKind::Indent)) {
    advance();
    Block ignored;
    parse_statements(ignored);
    if (is_kind(TokenKind::Dedent)) {
      advance();
    }
  }
}

void Parser::skip_line() {
  while (!is_at_end() && !is_kind(TokenKind::Newline) && !is_kind(TokenKind::Indent) && !is_kind(TokenKind::Dedent)) {
    advance();
  }
  if (is_kind(TokenKind::Newline)) {
    advance();
  }
  while (next_comment_ < stream_.comments.size() && stream_.comments[next_comment_].span.begin < last_.end) {
    ++next_comment_;
  }
}

bool Parser::refuse_statement() {
  const std::string_view word = text();
  const Span span = token().span;
  if (is_kind(TokenKind::Keyword) && (word == "elif" || word == "else")) {
    note(
        sink_.report(codes::UnexpectedToken{}, span, "a statement", fmt::format("`{}` without an `if` before it", word))
            .emit());
    return true;
  }
  // `match x:` is a statement only when a value follows; `match` is a name otherwise.
  const bool is_match = is_kind(TokenKind::Name) && word == "match" && at_ + 1 < stream_.tokens.size() &&
                        stream_.tokens[at_ + 1].kind == TokenKind::Name;
  if (!is_kind(TokenKind::Keyword) && !is_match) {
    return false;
  }
  const auto* refused = std::ranges::find(kRefusedStatements, word, &Refused::keyword);
  if (refused == kRefusedStatements.end()) {
    return false;
  }
  report_outside(span, fmt::format("`{}`", word), refused->instead);
  return true;
}

bool Parser::parse_simple_line(Block& block, Trivia& trivia) {
  const size_t first = block.statements.size();
  while (true) {
    const Span begin = token().span;
    StmtPtr stmt = parse_simple();
    if (stmt == nullptr) {
      return false;
    }
    stmt->span = stmt->header_span = span_from(begin);
    block.statements.push_back(std::move(stmt));
    if (!take_op(";") || is_kind(TokenKind::Newline)) {
      break;
    }
  }
  if (!is_kind(TokenKind::Newline)) {
    if (is_op("++") || is_op("--")) {
      const std::string_view op = text().substr(0, 1);
      note(sink_.report(codes::ForeignOperator{}, token().span, text(), fmt::format("`{}= 1`", op))
               .fixit({fmt::format("write `{}= 1`", op),
                       {{token().span, fmt::format(" {}= 1", op)}},
                       diag::Applicability::Safe})
               .emit());
    } else if (is_op(":=")) {
      report_outside(token().span, "`:=`", "assign in a statement of its own");
    } else if (is_keyword("in") || is_keyword("is")) {
      refuse_in_and_is();
    } else if (is_keyword("for")) {
      refuse_comprehension();
    } else {
      report_unexpected("the end of the statement");
    }
    return false;
  }
  take_line_comments(trivia);
  block.statements[first]->trivia.leading = std::move(trivia.leading);
  block.statements.back()->trivia.trailing = std::move(trivia.trailing);
  advance();
  return true;
}

StmtPtr Parser::parse_simple() {
  if (take_keyword("pass")) {
    return make_stmt(Pass{});
  }
  if (take_keyword("break")) {
    return make_stmt(Break{});
  }
  if (take_keyword("continue")) {
    return make_stmt(Continue{});
  }
  if (take_keyword("return")) {
    if (is_kind(TokenKind::Newline) || is_op(";")) {
      return make_stmt(Return{});
    }
    ExprPtr value = parse_expr_list();
    return value != nullptr ? make_stmt(Return{std::move(value)}) : nullptr;
  }
  if (is_keyword("import") || is_keyword("from")) {
    return parse_import();
  }
  return parse_expression_statement();
}

StmtPtr Parser::parse_import() {
  const Span begin = token().span;
  std::string text_of_import;
  while (!is_kind(TokenKind::Newline) && !is_op(";") && !is_at_end()) {
    const std::string_view word = text();
    const bool is_tight =
        word == "." || word == "," || word == ")" || text_of_import.ends_with('.') || text_of_import.ends_with('(');
    if (!text_of_import.empty() && !is_tight) {
      text_of_import += ' ';
    }
    text_of_import += word;
    advance();
  }
  const bool is_ours = text_of_import.starts_with("from tilewright import ") ||
                       text_of_import.starts_with("from tilewright.language import ");
  if (!is_ours) {
    note(sink_
             .report(codes::OutsideLanguage{}, span_from(begin), fmt::format("`{}`", text_of_import),
                     "a file is parsed, never run; only `from tilewright import *` may stand here, for editors")
             .fixit({"remove the import", {{span_from(begin), ""}}, diag::Applicability::MaybeWrong})
             .emit());
    return nullptr;
  }
  return make_stmt(Import{std::move(text_of_import)});
}

StmtPtr Parser::parse_expression_statement() {
  const Span begin = token().span;
  ExprPtr first = parse_expr_list();
  if (first == nullptr) {
    return nullptr;
  }
  if (is_op(":")) {
    report_outside(token().span, "an annotated assignment", "the type of a value follows from its expression");
    return nullptr;
  }
  if (is_op("@=")) {
    report_outside(token().span, "`@=`", "write `acc = mma(a, b, acc)`");
    return nullptr;
  }
  if (is_kind(TokenKind::Operator)) {
    const auto* augmented = std::ranges::find(kAugmentedOps, text(), &AugmentedOp::text);
    if (augmented != kAugmentedOps.end()) {
      if (!first->is<Name>()) {
        note(sink_.report(codes::AssignmentTarget{}, first->span, "the left side of an augmented assignment")
                 .note("`x += y` rebinds the name `x`; memory is written with `store(..)` or combined with `red(..)`")
                 .emit());
        return nullptr;
      }
      advance();
      ExprPtr value = parse_expr_list();
      return value != nullptr ? make_stmt(AugAssign{augmented->op, std::move(first), std::move(value)}) : nullptr;
    }
  }
  if (!take_op("=")) {
    return make_stmt(ExprStmt{std::move(first)}, span_from(begin));
  }
  if (!check_target(*first)) {
    return nullptr;
  }
  ExprPtr value = parse_expr_list();
  if (value == nullptr) {
    return nullptr;
  }
  if (is_op("=")) {
    report_outside(token().span, "a chained assignment", "assign one name a statement");
    return nullptr;
  }
  return make_stmt(Assign{std::move(first), std::move(value)});
}

bool Parser::check_target(const Expr& expr) {
  if (expr.is<Name>()) {
    return true;
  }
  if (const auto* tuple = expr.as<TupleExpr>(); tuple != nullptr && !tuple->elements.empty()) {
    return std::ranges::all_of(tuple->elements, [&](const ExprPtr& element) { return check_target(*element); });
  }
  std::string_view what = "this expression";
  std::string_view why;
  if (expr.is<Subscript>()) {
    what = "an element of a tile or tensor";
    why = "memory is written with `store(value, T[..])` or `copy(..)`; register tiles are values";
  } else if (expr.is<Call>()) {
    what = "the result of a call";
  } else if (expr.is<Attribute>()) {
    what = "an attribute";
  } else if (expr.is<IntLiteral>() || expr.is<FloatLiteral>() || expr.is<StringLiteral>() || expr.is<BoolLiteral>() ||
             expr.is<NoneLiteral>()) {
    what = "a constant";
  }
  diag::Builder builder = sink_.report(codes::AssignmentTarget{}, expr.span, what);
  if (!why.empty()) {
    builder.note(std::string(why));
  }
  note(builder.emit());
  return false;
}

ExprPtr Parser::parse_target(bool allow_tuple) {
  const Span begin = token().span;
  std::vector<ExprPtr> elements;
  bool is_tuple = false;
  while (true) {
    // Operators would take `in` of a `for` with them: a target is a postfix expression at most.
    ExprPtr element = parse_postfix();
    if (element == nullptr || !check_target(*element)) {
      return nullptr;
    }
    elements.push_back(std::move(element));
    if (!allow_tuple || !take_op(",")) {
      break;
    }
    is_tuple = true;
    if (is_keyword("in")) {
      break;
    }
  }
  return is_tuple ? finish(TupleExpr{std::move(elements)}, begin) : std::move(elements[0]);
}

StmtPtr Parser::parse_compound(Trivia& trivia) {
  const Span begin = token().span;
  if (take_keyword("for")) {
    return parse_for(begin, trivia);
  }
  if (take_keyword("while")) {
    return parse_while(begin, trivia);
  }
  if (take_keyword("if")) {
    return parse_if(begin, trivia);
  }
  if (take_keyword("with")) {
    return parse_with(begin, trivia);
  }
  return parse_function(begin, trivia);
}

StmtPtr Parser::parse_for(Span begin, Trivia& trivia) {
  For node;
  node.target = parse_target(true);
  if (node.target == nullptr) {
    return nullptr;
  }
  if (!take_keyword("in")) {
    report_unexpected("`in` after the loop's names");
    return nullptr;
  }
  node.iterable = parse_expr_list();
  if (node.iterable == nullptr) {
    return nullptr;
  }
  Span header = span_from(begin);
  if (!parse_body(node.body, trivia, "`for`")) {
    return nullptr;
  }
  refuse_else("for");
  StmtPtr stmt = make_stmt(std::move(node));
  stmt->header_span = header;
  return stmt;
}

StmtPtr Parser::parse_while(Span begin, Trivia& trivia) {
  While node;
  node.condition = parse_expr();
  if (node.condition == nullptr) {
    return nullptr;
  }
  Span header = span_from(begin);
  if (!parse_body(node.body, trivia, "`while`")) {
    return nullptr;
  }
  refuse_else("while");
  StmtPtr stmt = make_stmt(std::move(node));
  stmt->header_span = header;
  return stmt;
}

bool Parser::refuse_else(std::string_view owner) {
  if (!is_keyword("else")) {
    return false;
  }
  report_outside(token().span, fmt::format("`else` of a `{}` loop", owner), "test a value after the loop");
  recover();
  return true;
}

StmtPtr Parser::parse_if(Span begin, Trivia& trivia) {
  If node;
  Span header;
  do {
    Branch branch;
    const bool is_first = node.branches.empty();
    if (!is_first) {
      // What stands before `elif` was no part of the body above: it is indented less.
      take_leading(branch.trivia);
      advance();
    }
    branch.condition = parse_expr();
    if (branch.condition == nullptr) {
      return nullptr;
    }
    if (is_first) {
      header = span_from(begin);
    }
    if (!parse_body(branch.body, is_first ? trivia : branch.trivia, is_first ? "`if`" : "`elif`")) {
      return nullptr;
    }
    node.branches.push_back(std::move(branch));
  } while (is_keyword("elif"));
  if (is_keyword("else")) {
    take_leading(node.else_trivia);
    advance();
    node.has_else = true;
    if (!parse_body(node.else_body, node.else_trivia, "`else`")) {
      return nullptr;
    }
  }
  StmtPtr stmt = make_stmt(std::move(node));
  stmt->header_span = header;
  return stmt;
}

StmtPtr Parser::parse_with(Span begin, Trivia& trivia) {
  With node;
  do {
    WithItem item;
    item.context = parse_expr();
    if (item.context == nullptr) {
      return nullptr;
    }
    if (take_keyword("as")) {
      item.target = parse_target(false);
      if (item.target == nullptr) {
        return nullptr;
      }
    }
    node.items.push_back(std::move(item));
  } while (take_op(","));
  Span header = span_from(begin);
  if (!parse_body(node.body, trivia, "`with`")) {
    return nullptr;
  }
  StmtPtr stmt = make_stmt(std::move(node));
  stmt->header_span = header;
  return stmt;
}

StmtPtr Parser::parse_function(Span begin, Trivia& trivia) {
  FunctionDef node;
  while (take_op("@")) {
    ExprPtr value = parse_expr();
    if (value == nullptr) {
      return nullptr;
    }
    node.decorators.push_back({std::move(value)});
    if (!is_kind(TokenKind::Newline)) {
      report_unexpected("the end of the line after a decorator");
      return nullptr;
    }
    Trivia line;
    take_line_comments(line);
    advance();
    take_leading(line);
    if (!line.trailing.empty()) {
      trivia.leading.push_back(line.trailing);
    }
    std::ranges::copy_if(line.leading, std::back_inserter(trivia.leading),
                         [](const std::string& text) { return !text.empty(); });
  }
  if (!take_keyword("def")) {
    report_unexpected("`def` after a decorator");
    return nullptr;
  }
  if (!is_kind(TokenKind::Name)) {
    report_unexpected("the function's name");
    return nullptr;
  }
  node.name = {std::string(text()), token().span};
  advance();
  if (block_depth_ > 0) {
    report_outside(node.name.span, "a function inside another", "move it to the top level and decorate it with `@fn`");
    return nullptr;
  }
  if (!expect_op("(", "before the parameters") || !parse_parameters(node)) {
    return nullptr;
  }
  if (take_op("->")) {
    node.returns = parse_expr();
    if (node.returns == nullptr) {
      return nullptr;
    }
  }
  Span header = span_from(begin);
  if (!parse_body(node.body, trivia, "`def`")) {
    return nullptr;
  }
  StmtPtr stmt = make_stmt(std::move(node));
  stmt->header_span = header;
  return stmt;
}

bool Parser::parse_parameters(FunctionDef& function) {
  while (!is_op(")")) {
    if (is_op("*") || is_op("**") || is_op("/")) {
      report_outside(token().span, fmt::format("`{}` in a parameter list", text()), "list every parameter by name");
      return false;
    }
    if (!is_kind(TokenKind::Name)) {
      report_unexpected("a parameter's name");
      return false;
    }
    Parameter parameter;
    parameter.name = {std::string(text()), token().span};
    advance();
    if (take_op(":")) {
      parameter.annotation = parse_expr();
      if (parameter.annotation == nullptr) {
        return false;
      }
    }
    if (take_op("=")) {
      parameter.default_value = parse_expr();
      if (parameter.default_value == nullptr) {
        return false;
      }
    }
    auto is_same_name = [&](const Parameter& other) { return other.name.text == parameter.name.text; };
    if (auto twin = std::ranges::find_if(function.parameters, is_same_name); twin != function.parameters.end()) {
      note(sink_.report(codes::RepeatedName{}, parameter.name.span, "parameter", parameter.name.text)
               .label(twin->name.span, "first here")
               .emit());
    }
    function.parameters.push_back(std::move(parameter));
    if (!take_op(",")) {
      break;
    }
  }
  return expect_op(")", "after the parameters");
}

bool Parser::parse_body(Block& block, Trivia& trivia, std::string_view owner) {
  if (!expect_op(":", fmt::format("after the head of {}", owner))) {
    return false;
  }
  if (!is_kind(TokenKind::Newline)) {
    Trivia line;
    if (is_keyword("for") || is_keyword("while") || is_keyword("if") || is_keyword("with") || is_keyword("def")) {
      report_unexpected("a simple statement or the end of the line after `:`");
      return false;
    }
    ++block_depth_;
    const bool is_good = parse_simple_line(block, line);
    --block_depth_;
    return is_good;
  }
  take_line_comments(trivia);
  advance();
  if (!is_kind(TokenKind::Indent)) {
    note(sink_.report(codes::ExpectedBlock{}, token().span, owner, describe_token()).emit());
    // The next line is read as a statement of the enclosing block; this one is kept with an empty body.
    return true;
  }
  const Span indent = token().span;
  const uint32_t column = sources_.position(file_, indent.begin).column - 1;
  advance();
  ++block_depth_;
  parse_statements(block);
  --block_depth_;
  take_dangling(block, column);
  if (is_kind(TokenKind::Dedent)) {
    advance();
  }
  return true;
}

Checked<Module> parse(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink) {
  TokenStream stream = lex(sources, file, sink);
  if (!stream.is_complete && stream.failure) {
    return fail(*stream.failure);
  }
  Parser parser(sources, file, sink, std::move(stream));
  Module module = parser.parse_module();
  if (parser.failure()) {
    return fail(*parser.failure());
  }
  return module;
}

Checked<ExprPtr> parse_expression(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink) {
  TokenStream stream = lex(sources, file, sink);
  if (stream.failure) {
    return fail(*stream.failure);
  }
  Parser parser(sources, file, sink, std::move(stream));
  ExprPtr expr = parser.parse_whole_expression();
  if (parser.failure()) {
    return fail(*parser.failure());
  }
  return expr;
}

}  // namespace tw::syntax
