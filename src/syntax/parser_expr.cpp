// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "syntax/parser_impl.h"

namespace tw::syntax {

namespace codes = diag::codes;
using diag::Span;

namespace {

struct BinaryEntry {
  std::string_view text;
  BinaryOp op;
  int precedence;
};
constexpr int kLowestBinary = 1;
constexpr int kTightestBinary = 6;
// `**` binds tighter than a unary minus on its left: it is read by parse_unary.
constexpr std::array<BinaryEntry, 11> kBinaryOps = {{
    {"|", BinaryOp::BitOr, 1},
    {"^", BinaryOp::BitXor, 2},
    {"&", BinaryOp::BitAnd, 3},
    {"<<", BinaryOp::ShiftLeft, 4},
    {">>", BinaryOp::ShiftRight, 4},
    {"+", BinaryOp::Add, 5},
    {"-", BinaryOp::Sub, 5},
    {"*", BinaryOp::Mul, 6},
    {"/", BinaryOp::Div, 6},
    {"//", BinaryOp::FloorDiv, 6},
    {"%", BinaryOp::Mod, 6},
}};

struct CompareEntry {
  std::string_view text;
  CompareOp op;
};
constexpr std::array<CompareEntry, 6> kCompareOps = {{
    {"<", CompareOp::Less},
    {"<=", CompareOp::LessEqual},
    {">", CompareOp::Greater},
    {">=", CompareOp::GreaterEqual},
    {"==", CompareOp::Equal},
    {"!=", CompareOp::NotEqual},
}};

// Brackets are limited by the lexer; this bounds chains of prefix operators, lambdas and conditionals.
constexpr int kMaxRecursion = kMaxExprHeight + kMaxBracketDepth;

class DepthScope {
 public:
  explicit DepthScope(int& depth) : depth_(depth) { ++depth_; }
  ~DepthScope() { --depth_; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;

 private:
  int& depth_;
};

std::string without_underscores(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return c != '_'; });
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// What a literal's inside denotes; an escape that the language does not know stands for itself, as in Python.
std::string unescape(std::string_view inside) {
  std::string out;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 >= inside.size()) {
      out += inside[i];
      continue;
    }
    const char c = inside[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == '\\' || c == '\'' || c == '"') {
      out += c;
    } else if (c == '\n') {
      continue;
    } else if (c == 'x' && i + 2 < inside.size() && hex_digit(inside[i + 1]) >= 0 && hex_digit(inside[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(inside[i + 1]) * 16 + hex_digit(inside[i + 2]));
      i += 2;
    } else {
      out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace

ExprPtr Parser::finish(Expr::Node node, Span begin) {
  auto expr = std::make_unique<Expr>(Expr{span_from(begin), std::move(node)});
  int height = 1;
  for (ExprPtr* child : children(*expr)) {
    height = std::max(height, (*child)->height + 1);
  }
  if (height > kMaxExprHeight) {
    note(sink_.report(codes::NestingTooDeep{}, expr->span, "expression nested", kMaxExprHeight)
             .note("give parts of it names of their own")
             .emit());
    return nullptr;
  }
  expr->height = static_cast<uint16_t>(height);
  return expr;
}

bool Parser::enter() {
  if (depth_ <= kMaxRecursion) {
    return true;
  }
  note(sink_.report(codes::NestingTooDeep{}, token().span, "expression nested", kMaxExprHeight)
           .note("give parts of it names of their own")
           .emit());
  return false;
}

ExprPtr Parser::parse_whole_expression() {
  ExprPtr expr = parse_expr_list();
  if (expr != nullptr && !is_kind(TokenKind::Newline) && !is_at_end()) {
    report_unexpected("the end of the expression");
    return nullptr;
  }
  if (expr != nullptr && is_kind(TokenKind::Newline)) {
    advance();
    if (!is_at_end()) {
      report_unexpected("the end of the expression");
      return nullptr;
    }
  }
  return expr;
}

ExprPtr Parser::parse_expr_list() {
  const Span begin = token().span;
  ExprPtr first = parse_expr();
  if (first == nullptr || !is_op(",")) {
    return first;
  }
  TupleExpr tuple;
  tuple.elements.push_back(std::move(first));
  while (take_op(",")) {
    if (is_kind(TokenKind::Newline) || is_op("=") || is_op(":") || is_op(";")) {
      break;
    }
    ExprPtr next = parse_expr();
    if (next == nullptr) {
      return nullptr;
    }
    tuple.elements.push_back(std::move(next));
  }
  return finish(std::move(tuple), begin);
}

ExprPtr Parser::parse_expr() {
  DepthScope scope(depth_);
  if (!enter()) {
    return nullptr;
  }
  if (is_keyword("lambda")) {
    return parse_lambda();
  }
  const Span begin = token().span;
  ExprPtr then = parse_bool(BoolOp::Or);
  if (then == nullptr || !take_keyword("if")) {
    return then;
  }
  ExprPtr condition = parse_bool(BoolOp::Or);
  if (condition == nullptr) {
    return nullptr;
  }
  if (!take_keyword("else")) {
    report_unexpected("`else` of the conditional expression");
    return nullptr;
  }
  ExprPtr otherwise = parse_expr();
  if (otherwise == nullptr) {
    return nullptr;
  }
  return finish(Conditional{std::move(condition), std::move(then), std::move(otherwise)}, begin);
}

ExprPtr Parser::parse_lambda() {
  const Span begin = token().span;
  advance();
  Lambda lambda;
  while (is_kind(TokenKind::Name)) {
    Identifier parameter{std::string(text()), token().span};
    auto is_same_name = [&](const Identifier& other) { return other.text == parameter.text; };
    if (std::ranges::any_of(lambda.parameters, is_same_name)) {
      note(sink_.report(codes::RepeatedName{}, parameter.span, "parameter", parameter.text).emit());
    }
    lambda.parameters.push_back(std::move(parameter));
    advance();
    if (is_op("=")) {
      report_outside(token().span, "a default value in a `lambda`", "the names around it are visible inside");
      return nullptr;
    }
    if (!take_op(",")) {
      break;
    }
  }
  if (is_op("*") || is_op("**") || is_op("/")) {
    report_outside(token().span, fmt::format("`{}` in a parameter list", text()), "list every parameter by name");
    return nullptr;
  }
  if (!expect_op(":", "after the parameters of `lambda`")) {
    return nullptr;
  }
  lambda.body = parse_expr();
  return lambda.body != nullptr ? finish(std::move(lambda), begin) : nullptr;
}

ExprPtr Parser::parse_bool(BoolOp op) {
  const Span begin = token().span;
  ExprPtr operand = op == BoolOp::Or ? parse_bool(BoolOp::And) : parse_not();
  if (operand == nullptr || !is_bool_operator(op)) {
    return operand;
  }
  BoolExpr node{op, {}};
  node.operands.push_back(std::move(operand));
  while (is_bool_operator(op)) {
    if (is_kind(TokenKind::Operator)) {
      const std::string word(spelling(op));
      note(sink_.report(codes::ForeignOperator{}, token().span, text(), fmt::format("`{}`", word))
               .fixit({fmt::format("write `{}`", word), {{token().span, word}}, diag::Applicability::Safe})
               .emit());
    }
    advance();
    operand = op == BoolOp::Or ? parse_bool(BoolOp::And) : parse_not();
    if (operand == nullptr) {
      return nullptr;
    }
    node.operands.push_back(std::move(operand));
  }
  return finish(std::move(node), begin);
}

bool Parser::is_bool_operator(BoolOp op) const {
  return op == BoolOp::Or ? is_keyword("or") || is_op("||") : is_keyword("and") || is_op("&&");
}

ExprPtr Parser::parse_not() {
  const Span begin = token().span;
  if (!is_keyword("not") && !is_op("!")) {
    return parse_comparison();
  }
  DepthScope scope(depth_);
  if (!enter()) {
    return nullptr;
  }
  if (is_op("!")) {
    note(sink_.report(codes::ForeignOperator{}, token().span, "!", "`not`")
             .fixit({"write `not`", {{token().span, "not "}}, diag::Applicability::Safe})
             .emit());
  }
  advance();
  ExprPtr operand = parse_not();
  return operand != nullptr ? finish(Unary{UnaryOp::Not, std::move(operand)}, begin) : nullptr;
}

void Parser::refuse_in_and_is() {
  const bool is_not_in = is_keyword("not");
  std::string word = is_not_in ? "not in" : std::string(text());
  report_outside(token().span, fmt::format("`{}`", word),
                 word == "is" ? "compare with `==`" : "compare with each value");
}

ExprPtr Parser::parse_comparison() {
  const Span begin = token().span;
  ExprPtr first = parse_binary(kLowestBinary);
  if (first == nullptr) {
    return nullptr;
  }
  Compare node;
  while (is_kind(TokenKind::Operator)) {
    const auto* found = std::ranges::find(kCompareOps, text(), &CompareEntry::text);
    if (found == kCompareOps.end()) {
      break;
    }
    advance();
    ExprPtr operand = parse_binary(kLowestBinary);
    if (operand == nullptr) {
      return nullptr;
    }
    node.rest.emplace_back(found->op, std::move(operand));
  }
  if (is_keyword("is") || (is_keyword("not") && text_at(at_ + 1) == "in")) {
    refuse_in_and_is();
    return nullptr;
  }
  if (node.rest.empty()) {
    return first;
  }
  node.first = std::move(first);
  return finish(std::move(node), begin);
}

ExprPtr Parser::parse_binary(int min_precedence) {
  const Span begin = token().span;
  ExprPtr left = parse_unary();
  while (left != nullptr && is_kind(TokenKind::Operator)) {
    if (is_op("@")) {
      report_outside(token().span, "`@` between two values",
                     "write `mma(a, b)`, which multiplies a by the transpose of b");
      return nullptr;
    }
    const auto* found = std::ranges::find(kBinaryOps, text(), &BinaryEntry::text);
    if (found == kBinaryOps.end() || found->precedence < min_precedence) {
      break;
    }
    const Span op_span = token().span;
    advance();
    // Operators of one level associate to the left, so the right operand takes only tighter ones.
    ExprPtr right = found->precedence == kTightestBinary ? parse_unary() : parse_binary(found->precedence + 1);
    if (right == nullptr) {
      return nullptr;
    }
    left = finish(Binary{found->op, std::move(left), std::move(right), op_span}, begin);
  }
  return left;
}

ExprPtr Parser::parse_unary() {
  const Span begin = token().span;
  DepthScope scope(depth_);
  if (!enter()) {
    return nullptr;
  }
  if (is_op("-") || is_op("+") || is_op("~")) {
    const UnaryOp op = is_op("-") ? UnaryOp::Minus : is_op("+") ? UnaryOp::Plus : UnaryOp::Invert;
    advance();
    ExprPtr operand = parse_unary();
    return operand != nullptr ? finish(Unary{op, std::move(operand)}, begin) : nullptr;
  }
  ExprPtr base = parse_postfix();
  const Span op_span = token().span;
  if (base == nullptr || !take_op("**")) {
    return base;
  }
  ExprPtr exponent = parse_unary();
  return exponent != nullptr ? finish(Binary{BinaryOp::Pow, std::move(base), std::move(exponent), op_span}, begin)
                             : nullptr;
}

ExprPtr Parser::parse_postfix() {
  const Span begin = token().span;
  ExprPtr expr = parse_atom();
  while (expr != nullptr) {
    if (take_op("(")) {
      Call call{std::move(expr), {}};
      if (!parse_arguments(call)) {
        return nullptr;
      }
      expr = finish(std::move(call), begin);
    } else if (take_op("[")) {
      Subscript subscript{std::move(expr), {}};
      if (!parse_indices(subscript)) {
        return nullptr;
      }
      expr = finish(std::move(subscript), begin);
    } else if (take_op(".")) {
      if (!is_kind(TokenKind::Name)) {
        report_unexpected("a name after `.`");
        return nullptr;
      }
      Identifier name{std::string(text()), token().span};
      advance();
      expr = finish(Attribute{std::move(expr), std::move(name)}, begin);
    } else {
      break;
    }
  }
  return expr;
}

bool Parser::refuse_comprehension() {
  if (!is_keyword("for") && !is_keyword("async")) {
    return false;
  }
  report_outside(token().span, "a comprehension", "write a loop, or `forall(n, lambda i: ..)` in an assumption");
  return true;
}

bool Parser::parse_arguments(Call& call) {
  while (!is_op(")")) {
    if (!parse_argument(call)) {
      return false;
    }
    if (!take_op(",")) {
      break;
    }
  }
  if (refuse_comprehension()) {
    return false;
  }
  if (take_op(")")) {
    return true;
  }
  report_unexpected("`,` or `)` in the arguments");
  return false;
}

bool Parser::parse_argument(Call& call) {
  if (is_op("*") || is_op("**")) {
    report_outside(token().span, fmt::format("`{}` before an argument", text()), "write out the arguments");
    return false;
  }
  Argument argument;
  if (is_kind(TokenKind::Name) && text_at(at_ + 1) == "=") {
    argument.name = {std::string(text()), token().span};
    advance();
    advance();
    auto is_same_name = [&](const Argument& other) { return other.name.text == argument.name.text; };
    if (auto twin = std::ranges::find_if(call.arguments, is_same_name); twin != call.arguments.end()) {
      note(sink_.report(codes::RepeatedName{}, argument.name.span, "argument", argument.name.text)
               .label(twin->name.span, "first here")
               .emit());
    }
  } else if (!call.arguments.empty() && call.arguments.back().is_keyword()) {
    note(sink_.report(codes::PositionalAfterKeyword{}, token().span, call.arguments.back().name.text)
             .label(call.arguments.back().name.span, "keyword arguments start at the latest here")
             .emit());
  }
  argument.value = parse_expr();
  if (argument.value == nullptr) {
    return false;
  }
  if (is_op(":=")) {
    report_outside(token().span, "`:=`", "assign in a statement of its own");
    return false;
  }
  call.arguments.push_back(std::move(argument));
  return true;
}

bool Parser::parse_indices(Subscript& subscript) {
  if (is_op("]")) {
    report_unexpected("an index; `:` is the whole axis");
    return false;
  }
  while (!is_op("]")) {
    ExprPtr index = parse_index();
    if (index == nullptr) {
      return false;
    }
    subscript.indices.push_back(std::move(index));
    if (!take_op(",")) {
      break;
    }
  }
  if (take_op("]")) {
    return true;
  }
  report_unexpected("`,` or `]` in the index");
  return false;
}

ExprPtr Parser::parse_index() {
  const Span begin = token().span;
  if (is_op("...")) {
    report_outside(token().span, "`...`", "write `:` for each axis that is taken whole");
    return nullptr;
  }
  ExprPtr lo;
  if (!is_op(":") && !is_op(":=")) {
    lo = parse_expr();
    if (lo == nullptr) {
      return nullptr;
    }
  }
  return is_op(":") ? parse_slice(std::move(lo), begin) : std::move(lo);
}

// At the `:`. `lo:+count` and `:` are the two forms; every other Python slice is read and refused with what to write
// instead.
ExprPtr Parser::parse_slice(ExprPtr lo, Span begin) {
  advance();
  if (lo == nullptr && (is_op(",") || is_op("]"))) {
    return finish(Slice{}, begin);
  }
  const bool has_plus = is_op("+");
  if (has_plus) {
    advance();
  }
  ExprPtr second;
  if (!is_op(",") && !is_op("]") && !is_op(":")) {
    second = parse_expr();
    if (second == nullptr) {
      return nullptr;
    }
  }
  const bool has_step = is_op(":");
  if (has_plus && lo != nullptr && second != nullptr && !has_step) {
    return finish(Slice{std::move(lo), std::move(second)}, begin);
  }
  if (has_step) {
    advance();
    if (!is_op(",") && !is_op("]")) {
      ExprPtr step = parse_expr();
      if (step == nullptr) {
        return nullptr;
      }
    }
  }
  const Span span = span_from(begin);
  diag::Builder builder =
      sink_.report(codes::SliceForm{}, span, "n elements from lo; n is known at compile time",
                   sources_.text(span).size() <= 60 ? sources_.text(span) : std::string_view("..."));
  if (!has_step && second != nullptr) {
    const std::string_view hi_text = sources_.text(second->span);
    if (lo == nullptr || (lo->is<IntLiteral>() && lo->as<IntLiteral>()->value == 0)) {
      builder.fixit(
          {"write the number of elements", {{span, fmt::format("0:+{}", hi_text)}}, diag::Applicability::Safe});
    } else {
      builder.fixit(
          {"write the number of elements",
           {{span, fmt::format("{}:+({} - ({}))", sources_.text(lo->span), hi_text, sources_.text(lo->span))}},
           diag::Applicability::MaybeWrong});
    }
  }
  note(builder.emit());
  // The shape is clear enough to go on with the rest of the statement.
  return finish(Slice{}, begin);
}

ExprPtr Parser::parse_atom() {
  const Span begin = token().span;
  switch (token().kind) {
    case TokenKind::Name: {
      std::string id(text());
      advance();
      return finish(Name{std::move(id)}, begin);
    }
    case TokenKind::Int:
    case TokenKind::Float:
      return parse_number();
    case TokenKind::String:
      return parse_string();
    case TokenKind::Keyword:
      if (is_keyword("True") || is_keyword("False")) {
        const bool value = is_keyword("True");
        advance();
        return finish(BoolLiteral{value}, begin);
      }
      if (take_keyword("None")) {
        return finish(NoneLiteral{}, begin);
      }
      if (is_keyword("yield") || is_keyword("await")) {
        report_outside(begin, fmt::format("`{}`", text()), "functions return their values with `return`");
        return nullptr;
      }
      break;
    case TokenKind::Operator:
      if (is_op("(")) {
        return parse_parenthesized();
      }
      if (is_op("[")) {
        return parse_list();
      }
      if (is_op("{")) {
        return parse_dict();
      }
      if (is_op("*")) {
        report_outside(begin, "a starred expression", "write out the elements");
        return nullptr;
      }
      break;
    default:
      break;
  }
  report_unexpected("an expression");
  return nullptr;
}

ExprPtr Parser::parse_number() {
  const Span begin = token().span;
  std::string written(text());
  const bool is_float = is_kind(TokenKind::Float);
  advance();
  const std::string digits = without_underscores(written);
  if (is_float) {
    double value = 0;
    // Overflow to infinity and underflow to zero are what Python does.
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) {
      value = digits.find("e-") != std::string::npos || digits.find("E-") != std::string::npos ? 0.0 : HUGE_VAL;
    }
    return finish(FloatLiteral{value, std::move(written)}, begin);
  }
  int base = 10;
  std::string_view body = digits;
  if (body.size() > 2 && body[0] == '0') {
    const char prefix = static_cast<char>(body[1] | 0x20);
    base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
    if (base != 10) {
      body.remove_prefix(2);
    }
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value, base);
  if (error == std::errc::result_out_of_range) {
    note(sink_.report(codes::NumberTooLarge{}, begin, written.size() <= 40 ? written : written.substr(0, 37) + "...")
             .emit());
  }
  return finish(IntLiteral{value, std::move(written)}, begin);
}

ExprPtr Parser::parse_string() {
  const Span begin = token().span;
  std::string written(text());
  advance();
  const size_t quote = written.find_first_of("'\"");
  const std::string prefix = written.substr(0, quote);
  const bool is_raw = prefix.find_first_of("rR") != std::string::npos;
  if (prefix.find_first_of("fFbB") != std::string::npos) {
    report_outside(begin, prefix.find_first_of("fF") != std::string::npos ? "a formatted string" : "a bytes literal",
                   "write a plain string");
    return nullptr;
  }
  if (is_kind(TokenKind::String)) {
    report_outside(token().span, "a string right after another", "write one string");
    return nullptr;
  }
  std::string_view inside = std::string_view(written).substr(quote);
  const size_t width = inside.size() >= 6 && inside.substr(0, 3) == std::string(3, inside[0]) ? 3 : 1;
  // An unterminated string has been reported; whatever it holds is its value.
  inside = inside.size() >= 2 * width ? inside.substr(width, inside.size() - 2 * width) : std::string_view();
  std::string value = is_raw ? std::string(inside) : unescape(inside);
  return finish(StringLiteral{std::move(value), std::move(written)}, begin);
}

ExprPtr Parser::parse_parenthesized() {
  const Span begin = token().span;
  advance();
  if (take_op(")")) {
    return finish(TupleExpr{}, begin);
  }
  ExprPtr first = parse_expr();
  if (first == nullptr || refuse_comprehension()) {
    return nullptr;
  }
  if (take_op(")")) {
    return first;
  }
  if (is_op(":=")) {
    report_outside(token().span, "`:=`", "assign in a statement of its own");
    return nullptr;
  }
  TupleExpr tuple;
  tuple.elements.push_back(std::move(first));
  while (take_op(",")) {
    if (is_op(")")) {
      break;
    }
    ExprPtr next = parse_expr();
    if (next == nullptr) {
      return nullptr;
    }
    tuple.elements.push_back(std::move(next));
  }
  if (!take_op(")")) {
    report_unexpected("`,` or `)`");
    return nullptr;
  }
  return finish(std::move(tuple), begin);
}

ExprPtr Parser::parse_list() {
  const Span begin = token().span;
  advance();
  ListExpr list;
  while (!is_op("]")) {
    ExprPtr next = parse_expr();
    if (next == nullptr || refuse_comprehension()) {
      return nullptr;
    }
    list.elements.push_back(std::move(next));
    if (!take_op(",")) {
      break;
    }
  }
  if (!take_op("]")) {
    report_unexpected("`,` or `]`");
    return nullptr;
  }
  return finish(std::move(list), begin);
}

ExprPtr Parser::parse_dict() {
  const Span begin = token().span;
  advance();
  DictExpr dict;
  while (!is_op("}")) {
    ExprPtr key = parse_expr();
    if (key == nullptr) {
      return nullptr;
    }
    if (is_op(",") || is_op("}") || is_keyword("for")) {
      report_outside(span_from(begin), is_keyword("for") ? "a comprehension" : "a set", "write a tuple");
      return nullptr;
    }
    if (!expect_op(":", "between key and value")) {
      return nullptr;
    }
    ExprPtr value = parse_expr();
    if (value == nullptr || refuse_comprehension()) {
      return nullptr;
    }
    dict.entries.emplace_back(std::move(key), std::move(value));
    if (!take_op(",")) {
      break;
    }
  }
  if (!take_op("}")) {
    report_unexpected("`,` or `}`");
    return nullptr;
  }
  return finish(std::move(dict), begin);
}

}  // namespace tw::syntax
