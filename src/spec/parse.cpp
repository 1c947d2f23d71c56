// SPDX-License-Identifier: Apache-2.0
#include "spec/parse.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "spec/lexer.h"

namespace tw::spec {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxNodes = 2000;
constexpr int kMaxErrors = 20;
constexpr uint32_t kMaxRank = 8;

struct Function {
  std::string_view name;
  Op op;
  size_t arity;
};
constexpr std::array kFunctions{
    Function{"exp", Op::Exp, 1},     Function{"exp2", Op::Exp2, 1},       Function{"log", Op::Log, 1},
    Function{"sqrt", Op::Sqrt, 1},   Function{"rsqrt", Op::Rsqrt, 1},     Function{"tanh", Op::Tanh, 1},
    Function{"erf", Op::Erf, 1},     Function{"sigmoid", Op::Sigmoid, 1}, Function{"abs", Op::Abs, 1},
    Function{"relu", Op::Relu, 1},   Function{"gelu", Op::Gelu, 1},       Function{"gelu_tanh", Op::GeluTanh, 1},
    Function{"silu", Op::Silu, 1},   Function{"maximum", Op::Maximum, 2}, Function{"minimum", Op::Minimum, 2},
    Function{"where", Op::Where, 3},
};
constexpr std::array kReductions{Function{"sum", Op::Sum, 0}, Function{"max", Op::Max, 0}, Function{"min", Op::Min, 0}};

template <class Table>
const Function* find(const Table& table, std::string_view name) {
  auto found = std::ranges::find(table, name, &Function::name);
  return found == table.end() ? nullptr : &*found;
}

bool is_reserved(std::string_view name) {
  return find(kFunctions, name) != nullptr || find(kReductions, name) != nullptr || name == "let" || name == "in" ||
         name == "and" || name == "or" || name == "not" || name == "inf";
}

std::string_view describe_kind(Kind kind) {
  constexpr std::string_view kNames[] = {"a real number", "an integer", "a condition"};
  return kNames[static_cast<int>(kind)];
}

class Parser {
 public:
  Parser(std::string_view text, TextPlace place, Computation computation, diag::Sink& sink)
      : tokens_(lex(text)), place_(place), computation_(std::move(computation)), sink_(sink) {
    declared_tensors_ = computation_.tensors.size();
  }

  Checked<Computation> run() {
    while (true) {
      while (is_end_of_statement() && peek().kind != TokenKind::End) {
        advance();
      }
      if (peek().kind == TokenKind::End || errors_ >= kMaxErrors) {
        break;
      }
      if (!statement()) {
        recover();
      }
    }
    if (errors_ == 0) {
      check_outputs();
    }
    if (reported_.has_value()) {
      return fail(*reported_);
    }
    return std::move(computation_);
  }

 private:
  struct Scoped {
    std::string_view name;
    std::optional<DimId> dim;
    Token declared;
    Token first_use;
  };

  [[nodiscard]] const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  Token advance() {
    Token token = peek();
    if (next_ + 1 < tokens_.size()) {
      ++next_;
    }
    return token;
  }
  [[nodiscard]] bool is_symbol(std::string_view symbol, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::Symbol && peek(ahead).text == symbol;
  }
  [[nodiscard]] bool is_word(std::string_view word) const {
    return peek().kind == TokenKind::Name && peek().text == word;
  }
  [[nodiscard]] bool is_end_of_statement() const {
    return peek().kind == TokenKind::Newline || peek().kind == TokenKind::End || is_symbol(";");
  }
  bool accept(std::string_view symbol) {
    if (!is_symbol(symbol)) {
      return false;
    }
    advance();
    return true;
  }
  bool expect(std::string_view symbol) {
    if (accept(symbol)) {
      return true;
    }
    error(diag::codes::SpecSyntax{}, peek(), fmt::format("`{}`", symbol), describe(peek()));
    return false;
  }

  [[nodiscard]] diag::Span span(uint32_t begin, uint32_t end) const {
    if (!place_.is_exact) {
      return place_.whole;
    }
    return {place_.whole.file, place_.whole.begin + begin, place_.whole.begin + end};
  }
  [[nodiscard]] diag::Span span(const Token& token) const { return span(token.begin, token.end); }

  template <class Code, class... Args>
  void error(Code code, const Token& at, Args&&... args) {
    error_at(code, span(at), std::nullopt, "", std::forward<Args>(args)...);
  }
  template <class Code, class... Args>
  void error_at(Code code, diag::Span at, std::optional<diag::Span> other, std::string other_text, Args&&... args) {
    ++errors_;
    diag::Builder builder = sink_.report(code, at, std::forward<Args>(args)...);
    if (other.has_value()) {
      builder.label(*other, std::move(other_text));
    }
    reported_ = builder.emit();
  }

  // Skips the rest of a statement that could not be read.
  void recover() {
    while (!is_end_of_statement()) {
      advance();
    }
    scope_.clear();
    depth_ = 0;
  }

  bool statement() {
    Token first = peek();
    bool is_let = is_word("let");
    if (is_let) {
      advance();
    }
    if (peek().kind != TokenKind::Name || (is_reserved(peek().text) && peek().text != "in")) {
      error(diag::codes::SpecSyntax{}, peek(), "the name of an output, or `let`", describe(peek()));
      return false;
    }
    Token name = advance();
    std::optional<TensorId> target = computation_.find_tensor(name.text);
    bool ok = is_let ? can_define_let(name) : can_define_output(name, target);
    if (!ok) {
      failed_.insert(std::string(name.text));
      return false;
    }
    if (!index_list() || !expect("=")) {
      failed_.insert(std::string(name.text));
      return false;
    }
    uint32_t rank = static_cast<uint32_t>(scope_.size());
    if (!is_let) {
      const Tensor& tensor = computation_.tensor(*target);
      if (rank != tensor.dims.size()) {
        error(diag::codes::SpecRank{}, name, name.text, tensor.dims.size(), rank);
        return false;
      }
      for (uint32_t i = 0; i < rank; ++i) {
        scope_[i].dim = tensor.dims[i];
        scope_[i].first_use = scope_[i].declared;
      }
    }
    Term term = expression();
    if (term != nullptr && !is_end_of_statement()) {
      error(diag::codes::SpecSyntax{}, peek(), "an operator or the end of the line", describe(peek()));
      term = nullptr;
    }
    if (term == nullptr || !close_scope(0)) {
      failed_.insert(std::string(name.text));
      return false;
    }
    Equation equation;
    equation.term = term;
    equation.span = span(first.begin, tokens_[next_ > 0 ? next_ - 1 : 0].end);
    std::vector<DimId> dims;
    for (const Scoped& index : scope_) {
      equation.index_names.emplace_back(index.name);
      dims.push_back(*index.dim);
    }
    scope_.clear();
    if (is_let) {
      ElementType type = term->kind == Kind::Real      ? ElementType::F64
                         : term->kind == Kind::Integer ? ElementType::I64
                                                       : ElementType::Bool;
      computation_.tensors.push_back({std::string(name.text), type, std::move(dims), Direction::Let});
      target = TensorId(static_cast<uint32_t>(computation_.tensors.size() - 1));
    } else if (!can_store(name, *target, *term)) {
      return false;
    }
    equation.tensor = *target;
    computation_.equations.push_back(std::move(equation));
    return true;
  }

  bool can_define_let(const Token& name) {
    if (computation_.find_tensor(name.text).has_value() || computation_.find_dim(name.text).has_value()) {
      error(diag::codes::SpecOutput{}, name, name.text, "already names something else");
      return false;
    }
    return true;
  }

  bool can_define_output(const Token& name, std::optional<TensorId> target) {
    if (!target.has_value()) {
      error(diag::codes::SpecUnknownName{}, name, name.text, "not an output of the task; write `let` to name a part");
      return false;
    }
    Direction direction = computation_.tensor(*target).direction;
    if (direction == Direction::In || direction == Direction::Let) {
      error(diag::codes::SpecOutput{}, name, name.text,
            direction == Direction::In ? "is an input and cannot be defined" : "is defined twice");
      return false;
    }
    if (const Equation* other = computation_.equation_of(*target); other != nullptr) {
      error_at(diag::codes::SpecOutput{}, span(name), other->span, "defined here first", name.text, "is defined twice");
      return false;
    }
    return true;
  }

  bool can_store(const Token& name, TensorId target, const Node& term) {
    Kind wanted = kind_of(computation_.tensor(target).type);
    bool ok = term.kind == wanted || (wanted == Kind::Real && term.kind == Kind::Integer);
    if (!ok) {
      error(diag::codes::SpecKind{}, name, fmt::format("output `{}`", name.text), describe_kind(wanted),
            describe_kind(term.kind));
    }
    return ok;
  }

  bool index_list() {
    scope_.clear();
    if (!accept("[")) {
      return true;
    }
    do {
      if (peek().kind != TokenKind::Name) {
        error(diag::codes::SpecSyntax{}, peek(), "the name of an index", describe(peek()));
        return false;
      }
      if (!declare(advance())) {
        return false;
      }
      if (scope_.size() > kMaxRank) {
        error(diag::codes::SpecTooLarge{}, peek(), fmt::format("{} indices on one tensor", kMaxRank));
        return false;
      }
    } while (accept(","));
    return expect("]");
  }

  // Opens an index; its range follows from its uses unless `in` gives it.
  bool declare(const Token& name) {
    if (is_reserved(name.text) || computation_.find_dim(name.text).has_value() ||
        computation_.find_tensor(name.text).has_value()) {
      error(diag::codes::SpecOutput{}, name, name.text,
            "already names something else; choose another name for the index");
      return false;
    }
    if (auto other = std::ranges::find(scope_, name.text, &Scoped::name); other != scope_.end()) {
      error_at(diag::codes::SpecOutput{}, span(name), span(other->declared), "bound here first", name.text,
               "is bound twice; choose another name for the inner index");
      return false;
    }
    scope_.push_back({name.text, std::nullopt, name, name});
    return true;
  }

  // Checks that every index from `from` on got a range.
  bool close_scope(size_t from) {
    bool ok = true;
    for (size_t i = from; i < scope_.size(); ++i) {
      if (!scope_[i].dim.has_value()) {
        error(diag::codes::SpecNoRange{}, scope_[i].declared, scope_[i].name, scope_[i].name);
        ok = false;
      }
    }
    return ok;
  }

  bool enter(const Token& at) {
    if (++depth_ > kMaxDepth) {
      error(diag::codes::SpecTooLarge{}, at, fmt::format("{} levels of nesting", kMaxDepth));
      return false;
    }
    return true;
  }

  Term place(Term term, const Token& begin) {
    if (term == nullptr) {
      return term;
    }
    if (++nodes_ > kMaxNodes) {
      error(diag::codes::SpecTooLarge{}, begin, fmt::format("{} operations", kMaxNodes));
      return nullptr;
    }
    Node copy = *term;
    copy.span = span(begin.begin, tokens_[next_ - 1].end);
    return std::make_shared<const Node>(std::move(copy));
  }

  bool require(const Term& operand, bool ok, std::string_view what, std::string_view takes) {
    if (!ok) {
      error_at(diag::codes::SpecKind{}, operand->span, std::nullopt, "", fmt::format("`{}`", what), takes,
               describe_kind(operand->kind));
    }
    return ok;
  }
  bool require_number(const Term& operand, std::string_view what) {
    return require(operand, operand->kind != Kind::Boolean, what, "a number");
  }
  bool require_integer(const Term& operand, std::string_view what) {
    return require(operand, operand->kind == Kind::Integer, what, "an integer");
  }
  bool require_condition(const Term& operand, std::string_view what) {
    return require(operand, operand->kind == Kind::Boolean, what, "a condition");
  }

  Term expression() { return disjunction(); }

  Term disjunction() {
    Token begin = peek();
    Term left = conjunction();
    while (left != nullptr && is_word("or")) {
      advance();
      Term right = conjunction();
      if (right == nullptr || !require_condition(left, "or") || !require_condition(right, "or")) {
        return nullptr;
      }
      left = place(binary(Op::Or, left, right), begin);
    }
    return left;
  }

  Term conjunction() {
    Token begin = peek();
    Term left = negation();
    while (left != nullptr && is_word("and")) {
      advance();
      Term right = negation();
      if (right == nullptr || !require_condition(left, "and") || !require_condition(right, "and")) {
        return nullptr;
      }
      left = place(binary(Op::And, left, right), begin);
    }
    return left;
  }

  Term negation() {
    if (!is_word("not")) {
      return comparison();
    }
    Token begin = advance();
    if (!enter(begin)) {
      return nullptr;
    }
    Term operand = negation();
    --depth_;
    if (operand == nullptr || !require_condition(operand, "not")) {
      return nullptr;
    }
    return place(unary(Op::Not, operand), begin);
  }

  Term comparison() {
    Token begin = peek();
    Term left = additive();
    if (left == nullptr || peek().kind != TokenKind::Symbol) {
      return left;
    }
    std::string_view symbol = peek().text;
    if (symbol != "<" && symbol != "<=" && symbol != ">" && symbol != ">=" && symbol != "==" && symbol != "!=") {
      return left;
    }
    advance();
    Term right = additive();
    if (right == nullptr || !require_number(left, symbol) || !require_number(right, symbol)) {
      return nullptr;
    }
    if (symbol[0] == '>') {
      std::swap(left, right);
    }
    if (symbol == "!=") {
      return place(unary(Op::Not, binary(Op::Equal, left, right)), begin);
    }
    Op op = symbol == "==" ? Op::Equal : symbol.size() == 2 ? Op::LessEqual : Op::Less;
    return place(binary(op, left, right), begin);
  }

  Term additive() {
    Token begin = peek();
    Term left = multiplicative();
    while (left != nullptr && (is_symbol("+") || is_symbol("-"))) {
      std::string_view symbol = advance().text;
      Term right = multiplicative();
      if (right == nullptr || !require_number(left, symbol) || !require_number(right, symbol)) {
        return nullptr;
      }
      left = place(binary(symbol == "+" ? Op::Add : Op::Sub, left, right), begin);
    }
    return left;
  }

  Term multiplicative() {
    Token begin = peek();
    Term left = negative();
    while (left != nullptr && (is_symbol("*") || is_symbol("/") || is_symbol("//") || is_symbol("%"))) {
      std::string_view symbol = advance().text;
      Term right = negative();
      if (right == nullptr) {
        return nullptr;
      }
      bool is_whole = symbol == "//" || symbol == "%";
      if (is_whole ? !require_integer(left, symbol) || !require_integer(right, symbol)
                   : !require_number(left, symbol) || !require_number(right, symbol)) {
        return nullptr;
      }
      Op op = symbol == "*" ? Op::Mul : symbol == "/" ? Op::Div : symbol == "//" ? Op::FloorDiv : Op::Mod;
      left = place(binary(op, left, right), begin);
    }
    return left;
  }

  Term negative() {
    if (!is_symbol("-")) {
      return postfix();
    }
    Token begin = advance();
    if (!enter(begin)) {
      return nullptr;
    }
    Term operand = negative();
    --depth_;
    if (operand == nullptr || !require_number(operand, "-")) {
      return nullptr;
    }
    if (operand->op == Op::Constant) {
      return place(
          operand->kind == Kind::Integer ? integer(-static_cast<int64_t>(operand->value)) : constant(-operand->value),
          begin);
    }
    return place(unary(Op::Neg, operand), begin);
  }

  Term postfix() {
    Token begin = peek();
    Term term = primary();
    while (term != nullptr && is_symbol(".")) {
      advance();
      if (!is_word("to")) {
        error(diag::codes::SpecSyntax{}, peek(), "`to(TYPE)` after `.`", describe(peek()));
        return nullptr;
      }
      advance();
      if (!expect("(")) {
        return nullptr;
      }
      std::optional<ElementType> type = element_type_of(peek().text);
      if (!type.has_value() || !is_floating(*type)) {
        error(diag::codes::SpecSyntax{}, peek(), "a floating-point type such as `bf16`", describe(peek()));
        return nullptr;
      }
      advance();
      if (!expect(")") || !require_number(term, "to")) {
        return nullptr;
      }
      term = place(round_to(term, *type), begin);
    }
    return term;
  }

  Term primary() {
    Token token = peek();
    if (token.kind == TokenKind::Number) {
      advance();
      return place(token.is_integer ? integer(static_cast<int64_t>(token.value)) : constant(token.value), token);
    }
    if (is_symbol("(")) {
      advance();
      if (!enter(token)) {
        return nullptr;
      }
      Term inner = expression();
      --depth_;
      return inner != nullptr && expect(")") ? inner : nullptr;
    }
    if (token.kind != TokenKind::Name || token.text == "let" || token.text == "in" || token.text == "and" ||
        token.text == "or") {
      error(diag::codes::SpecSyntax{}, token, "an expression", describe(token));
      return nullptr;
    }
    advance();
    if (token.text == "inf") {
      return place(constant(std::numeric_limits<double>::infinity()), token);
    }
    if (!enter(token)) {
      return nullptr;
    }
    Term term = nullptr;
    if (const Function* reduction = find(kReductions, token.text); reduction != nullptr && is_symbol("(")) {
      term = reduction_call(*reduction);
    } else if (const Function* function = find(kFunctions, token.text); function != nullptr && is_symbol("(")) {
      term = function_call(*function);
    } else {
      term = name_use(token);
    }
    --depth_;
    return place(term, token);
  }

  Term reduction_call(const Function& reduction) {
    expect("(");
    size_t outer = scope_.size();
    while (peek().kind == TokenKind::Name &&
           (is_symbol(",", 1) || (peek(1).kind == TokenKind::Name && peek(1).text == "in"))) {
      Token name = advance();
      if (!declare(name)) {
        return nullptr;
      }
      if (is_word("in")) {
        advance();
        std::optional<DimId> dim = computation_.find_dim(peek().text);
        if (!dim.has_value()) {
          error(diag::codes::SpecUnknownName{}, peek(), peek().text, "not a size of the task");
          return nullptr;
        }
        scope_.back().dim = dim;
        scope_.back().first_use = advance();
      }
      if (!expect(",")) {
        return nullptr;
      }
    }
    if (scope_.size() == outer) {
      error(diag::codes::SpecSyntax{}, peek(),
            fmt::format("the index of `{0}`, as in `{0}(k, A[m, k])`", reduction.name), describe(peek()));
      return nullptr;
    }
    Term body = expression();
    if (body == nullptr || !expect(")") || !require_number(body, reduction.name) || !close_scope(outer)) {
      return nullptr;
    }
    std::vector<BoundIndex> bound;
    for (size_t i = outer; i < scope_.size(); ++i) {
      bound.push_back({static_cast<uint32_t>(i), *scope_[i].dim});
    }
    scope_.resize(outer);
    return reduce(reduction.op, std::move(bound), body);
  }

  Term function_call(const Function& function) {
    expect("(");
    std::vector<Term> arguments;
    Token open = peek();
    do {
      Term argument = expression();
      if (argument == nullptr) {
        return nullptr;
      }
      arguments.push_back(argument);
    } while (accept(","));
    if (!expect(")")) {
      return nullptr;
    }
    if (arguments.size() != function.arity) {
      error(diag::codes::SpecSyntax{}, open, fmt::format("{} argument(s) of `{}`", function.arity, function.name),
            fmt::format("{}", arguments.size()));
      return nullptr;
    }
    if (function.op == Op::Where) {
      bool is_condition = arguments[1]->kind == Kind::Boolean;
      if (!require_condition(arguments[0], "where") ||
          !require(arguments[2], (arguments[2]->kind == Kind::Boolean) == is_condition, "where",
                   is_condition ? "two conditions" : "two numbers")) {
        return nullptr;
      }
      return where(arguments[0], arguments[1], arguments[2]);
    }
    for (const Term& argument : arguments) {
      if (!require_number(argument, function.name)) {
        return nullptr;
      }
    }
    return function.arity == 1 ? unary(function.op, arguments[0]) : binary(function.op, arguments[0], arguments[1]);
  }

  Term name_use(const Token& name) {
    if (is_symbol("(")) {
      error(diag::codes::SpecUnknownName{}, name, name.text, "not a function of the reference language");
      return nullptr;
    }
    if (auto found = std::ranges::find(scope_, name.text, &Scoped::name); found != scope_.end()) {
      return index(static_cast<uint32_t>(found - scope_.begin()));
    }
    if (std::optional<TensorId> tensor = computation_.find_tensor(name.text)) {
      return tensor_use(name, *tensor);
    }
    if (std::optional<DimId> dim = computation_.find_dim(name.text)) {
      return size(*dim);
    }
    if (failed_.contains(std::string(name.text))) {
      // Its own error was reported already.
      ++errors_;
      return nullptr;
    }
    error(diag::codes::SpecUnknownName{}, name, name.text, "not an index, a size, an operand or a `let` of this text");
    return nullptr;
  }

  Term tensor_use(const Token& name, TensorId id) {
    const Tensor tensor = computation_.tensor(id);
    if (tensor.direction == Direction::Out) {
      error(diag::codes::SpecOutput{}, name, name.text, "is an output and cannot be read; name the value with `let`");
      return nullptr;
    }
    std::vector<Term> coordinates;
    if (accept("[")) {
      do {
        Token begin = peek();
        Term coordinate = expression();
        if (coordinate == nullptr || !require_integer(coordinate, "[]")) {
          return nullptr;
        }
        if (coordinates.size() < tensor.dims.size() && coordinate->op == Op::Index &&
            !unify(coordinate->level, tensor.dims[coordinates.size()], begin)) {
          return nullptr;
        }
        coordinates.push_back(coordinate);
      } while (accept(","));
      if (!expect("]")) {
        return nullptr;
      }
    }
    if (coordinates.size() != tensor.dims.size()) {
      error(diag::codes::SpecRank{}, name, name.text, tensor.dims.size(), coordinates.size());
      return nullptr;
    }
    return element(id, std::move(coordinates), kind_of(tensor.type));
  }

  bool unify(uint32_t level, DimId dim, const Token& at) {
    Scoped& index = scope_[level];
    if (!index.dim.has_value()) {
      index.dim = dim;
      index.first_use = at;
      return true;
    }
    if (*index.dim == dim) {
      return true;
    }
    error_at(diag::codes::SpecRange{}, span(at), span(index.first_use),
             fmt::format("`{}` runs over `{}` here", index.name, computation_.dim(*index.dim).name), index.name,
             computation_.dim(dim).name, computation_.dim(*index.dim).name);
    return false;
  }

  void check_outputs() {
    for (size_t i = 0; i < declared_tensors_; ++i) {
      const Tensor& tensor = computation_.tensors[i];
      if (tensor.direction != Direction::In &&
          computation_.equation_of(TensorId(static_cast<uint32_t>(i))) == nullptr) {
        error_at(diag::codes::SpecOutput{}, place_.whole, std::nullopt, "", tensor.name,
                 "is an output, but no equation defines it");
      }
    }
  }

  std::vector<Token> tokens_;
  TextPlace place_;
  Computation computation_;
  diag::Sink& sink_;
  size_t next_ = 0;
  size_t declared_tensors_ = 0;
  std::vector<Scoped> scope_;
  std::set<std::string> failed_;
  std::optional<diag::Reported> reported_;
  int depth_ = 0;
  int nodes_ = 0;
  int errors_ = 0;
};

}  // namespace

Checked<Computation> parse(std::string_view text, TextPlace place, Computation declarations, diag::Sink& sink) {
  return Parser(text, place, std::move(declarations), sink).run();
}

}  // namespace tw::spec
