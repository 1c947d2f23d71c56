// SPDX-License-Identifier: Apache-2.0
#include "syntax/printer.h"

#include <cmath>
#include <fmt/format.h>

namespace tw::syntax {
namespace {

// How tightly a form binds; an operand that binds less tightly than its place asks for gets parentheses.
enum Precedence : int {
  kLambda,
  kConditional,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kPostfix,
  kAtom
};

int precedence_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::BitOr:
      return kBitOr;
    case BinaryOp::BitXor:
      return kBitXor;
    case BinaryOp::BitAnd:
      return kBitAnd;
    case BinaryOp::ShiftLeft:
    case BinaryOp::ShiftRight:
      return kShift;
    case BinaryOp::Add:
    case BinaryOp::Sub:
      return kSum;
    case BinaryOp::Pow:
      return kPower;
    default:
      return kProduct;
  }
}

int precedence_of(const Expr& expr) {
  if (expr.is<Lambda>()) {
    return kLambda;
  }
  if (expr.is<Conditional>()) {
    return kConditional;
  }
  if (const auto* node = expr.as<BoolExpr>()) {
    return node->op == BoolOp::Or ? kOr : kAnd;
  }
  if (const auto* node = expr.as<Unary>()) {
    return node->op == UnaryOp::Not ? kNot : kUnary;
  }
  if (expr.is<Compare>()) {
    return kCompare;
  }
  if (const auto* node = expr.as<Binary>()) {
    return precedence_of(node->op);
  }
  if (expr.is<Call>() || expr.is<Subscript>() || expr.is<Attribute>()) {
    return kPostfix;
  }
  return kAtom;
}

std::string quoted(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

class ExprPrinter {
 public:
  std::string take(const Expr& expr, int min_precedence) {
    print(expr, min_precedence);
    return std::move(out_);
  }
  // `a, b` without parentheses where a statement allows it.
  std::string take_list(const Expr& expr) {
    const auto* tuple = expr.as<TupleExpr>();
    if (tuple == nullptr || tuple->elements.size() < 2) {
      return take(expr, kLambda);
    }
    print_all(tuple->elements);
    return std::move(out_);
  }

 private:
  void print(const Expr& expr, int min_precedence) {
    const bool needs_parentheses = precedence_of(expr) < min_precedence;
    if (needs_parentheses) {
      out_ += '(';
    }
    // What an index asks for (tight products) ends at a bracket.
    const bool was_tight = is_tight_;
    is_tight_ = is_tight_ && !needs_parentheses;
    std::visit([&](const auto& node) { print_node(node); }, expr.node);
    is_tight_ = was_tight;
    if (needs_parentheses) {
      out_ += ')';
    }
  }

  void print_all(const std::vector<ExprPtr>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      out_ += i > 0 ? ", " : "";
      print(*list[i], kLambda);
    }
  }

  void print_node(const Name& n) { out_ += n.id; }
  void print_node(const IntLiteral& n) { out_ += n.text.empty() ? fmt::format("{}", n.value) : n.text; }
  void print_node(const FloatLiteral& n) {
    if (!n.text.empty()) {
      out_ += n.text;
      return;
    }
    if (std::isinf(n.value)) {
      out_ += "1e999";
      return;
    }
    std::string text = fmt::format("{}", n.value);
    if (text.find_first_of(".e") == std::string::npos) {
      text += ".0";
    }
    out_ += text;
  }
  void print_node(const StringLiteral& n) { out_ += n.text.empty() ? quoted(n.value) : n.text; }
  void print_node(const BoolLiteral& n) { out_ += n.value ? "True" : "False"; }
  void print_node(const NoneLiteral&) { out_ += "None"; }
  void print_node(const TupleExpr& n) {
    const bool was_tight = std::exchange(is_tight_, false);
    out_ += '(';
    print_all(n.elements);
    out_ += n.elements.size() == 1 ? ",)" : ")";
    is_tight_ = was_tight;
  }
  void print_node(const ListExpr& n) {
    const bool was_tight = std::exchange(is_tight_, false);
    out_ += '[';
    print_all(n.elements);
    out_ += ']';
    is_tight_ = was_tight;
  }
  void print_node(const DictExpr& n) {
    const bool was_tight = std::exchange(is_tight_, false);
    out_ += '{';
    for (size_t i = 0; i < n.entries.size(); ++i) {
      out_ += i > 0 ? ", " : "";
      print(*n.entries[i].first, kLambda);
      out_ += ": ";
      print(*n.entries[i].second, kLambda);
    }
    out_ += '}';
    is_tight_ = was_tight;
  }
  void print_node(const Unary& n) {
    out_ += n.op == UnaryOp::Not ? "not " : spelling(n.op);
    print(*n.operand, n.op == UnaryOp::Not ? kNot : kUnary);
  }
  void print_node(const Binary& n) {
    const int own = precedence_of(n.op);
    const bool is_power = n.op == BinaryOp::Pow;
    print(*n.left, is_power ? kPostfix : own);
    const bool is_close = is_power || (is_tight_ && own == kProduct);
    out_ += is_close ? std::string(spelling(n.op)) : fmt::format(" {} ", spelling(n.op));
    print(*n.right, is_power ? kUnary : own + 1);
  }
  void print_node(const Compare& n) {
    print(*n.first, kBitOr);
    for (const auto& [op, operand] : n.rest) {
      out_ += fmt::format(" {} ", spelling(op));
      print(*operand, kBitOr);
    }
  }
  void print_node(const BoolExpr& n) {
    const int inner = n.op == BoolOp::Or ? kAnd : kNot;
    for (size_t i = 0; i < n.operands.size(); ++i) {
      out_ += i > 0 ? fmt::format(" {} ", spelling(n.op)) : "";
      print(*n.operands[i], inner);
    }
  }
  void print_node(const Conditional& n) {
    print(*n.then, kOr);
    out_ += " if ";
    print(*n.condition, kOr);
    out_ += " else ";
    print(*n.otherwise, kLambda);
  }
  void print_node(const Lambda& n) {
    out_ += "lambda";
    for (size_t i = 0; i < n.parameters.size(); ++i) {
      out_ += i > 0 ? ", " : " ";
      out_ += n.parameters[i].text;
    }
    out_ += ": ";
    print(*n.body, kLambda);
  }
  void print_node(const Call& n) {
    print_base(*n.callee);
    const bool was_tight = std::exchange(is_tight_, false);
    out_ += '(';
    for (size_t i = 0; i < n.arguments.size(); ++i) {
      out_ += i > 0 ? ", " : "";
      if (n.arguments[i].is_keyword()) {
        out_ += n.arguments[i].name.text + "=";
      }
      print(*n.arguments[i].value, kLambda);
    }
    out_ += ')';
    is_tight_ = was_tight;
  }
  void print_node(const Subscript& n) {
    print_base(*n.base);
    const bool was_tight = std::exchange(is_tight_, true);
    out_ += '[';
    for (size_t i = 0; i < n.indices.size(); ++i) {
      out_ += i > 0 ? ", " : "";
      print(*n.indices[i], kLambda);
    }
    out_ += ']';
    is_tight_ = was_tight;
  }
  void print_node(const Slice& n) {
    if (n.lo == nullptr || n.count == nullptr) {
      out_ += ':';
      return;
    }
    print(*n.lo, kConditional);
    out_ += ":+";
    print(*n.count, kConditional);
  }
  void print_node(const Attribute& n) {
    print_base(*n.base);
    out_ += "." + n.name.text;
  }
  // `1.x` would be read as a number.
  void print_base(const Expr& base) {
    const bool is_number = base.is<IntLiteral>() || base.is<FloatLiteral>();
    print(base, is_number ? kAtom + 1 : kPostfix);
  }

  std::string out_;
  bool is_tight_ = false;
};

std::string print_expr(const Expr& expr, int min_precedence = kLambda) {
  return ExprPrinter().take(expr, min_precedence);
}
std::string print_list(const Expr& expr) {
  return ExprPrinter().take_list(expr);
}

// Breaks one long line after commas inside brackets; what follows is aligned with the bracket's first element.
std::string wrap(const std::string& line) {
  if (line.size() <= static_cast<size_t>(kPrintWidth) || line.find('\n') != std::string::npos) {
    return line;
  }
  struct Break {
    size_t after = 0;
    size_t column = 0;
    size_t depth = 0;
  };
  std::string out;
  std::string rest = line;
  // Columns of the open brackets at the start of `rest`.
  std::vector<size_t> open;
  while (rest.size() > static_cast<size_t>(kPrintWidth)) {
    std::vector<size_t> stack = open;
    Break best;
    std::vector<size_t> best_stack;
    char quote = '\0';
    for (size_t i = 0; i < rest.size() && i < static_cast<size_t>(kPrintWidth); ++i) {
      const char c = rest[i];
      if (quote != '\0') {
        if (c == '\\') {
          ++i;
        } else if (c == quote) {
          quote = '\0';
        }
        continue;
      }
      if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '[' || c == '{') {
        stack.push_back(i + 1);
      } else if ((c == ')' || c == ']' || c == '}') && !stack.empty()) {
        stack.pop_back();
      } else if (c == ',' && !stack.empty() && i + 1 < rest.size() && rest[i + 1] == ' ') {
        // The outermost bracket that fills at least half of the line is the best place.
        const bool fills = i >= static_cast<size_t>(kPrintWidth) / 2;
        if (best.after == 0 || stack.size() <= best.depth ||
            (fills && best.after < static_cast<size_t>(kPrintWidth) / 2)) {
          best = {i + 1, stack.back(), stack.size()};
          best_stack = stack;
        }
      }
    }
    const size_t indent = best.column;
    if (best.after == 0 || best.after <= indent + 1) {
      break;
    }
    out += rest.substr(0, best.after) + "\n";
    rest = std::string(indent, ' ') + rest.substr(best.after + 1);
    open = best_stack;
  }
  return out + rest;
}

class StmtPrinter {
 public:
  std::string take() { return std::move(out_); }

  void print_block(const Block& block, int indent) {
    if (block.statements.empty() && indent > 0) {
      line(indent, "pass", "");
    }
    for (const StmtPtr& stmt : block.statements) {
      print_stmt(*stmt, indent);
    }
    lines(block.dangling, indent);
  }

  void print_stmt(const Stmt& stmt, int indent) {
    lines(stmt.trivia.leading, indent);
    const std::string& comment = stmt.trivia.trailing;
    if (const auto* n = stmt.as<Assign>()) {
      line(indent, print_list(*n->target) + " = " + print_list(*n->value), comment);
    } else if (const auto* n = stmt.as<AugAssign>()) {
      line(indent, fmt::format("{} {}= {}", print_expr(*n->target), spelling(n->op), print_list(*n->value)), comment);
    } else if (const auto* n = stmt.as<ExprStmt>()) {
      line(indent, print_list(*n->value), comment);
    } else if (const auto* n = stmt.as<For>()) {
      line(indent, fmt::format("for {} in {}:", print_list(*n->target), print_expr(*n->iterable)), comment);
      print_block(n->body, indent + 4);
    } else if (const auto* n = stmt.as<While>()) {
      line(indent, fmt::format("while {}:", print_expr(*n->condition)), comment);
      print_block(n->body, indent + 4);
    } else if (const auto* n = stmt.as<If>()) {
      print_if(*n, comment, indent);
    } else if (const auto* n = stmt.as<With>()) {
      print_with(*n, comment, indent);
    } else if (const auto* n = stmt.as<Return>()) {
      line(indent, n->value != nullptr ? "return " + print_list(*n->value) : "return", comment);
    } else if (stmt.is<Break>()) {
      line(indent, "break", comment);
    } else if (stmt.is<Continue>()) {
      line(indent, "continue", comment);
    } else if (stmt.is<Pass>()) {
      line(indent, "pass", comment);
    } else if (const auto* n = stmt.as<Import>()) {
      line(indent, n->text, comment);
    } else if (const auto* n = stmt.as<FunctionDef>()) {
      print_function(*n, comment, indent);
    }
  }

 private:
  void line(int indent, const std::string& text, const std::string& comment) {
    out_ += wrap(std::string(static_cast<size_t>(indent), ' ') + text);
    if (!comment.empty()) {
      out_ += "  " + comment;
    }
    out_ += '\n';
  }

  void lines(const std::vector<std::string>& comments, int indent) {
    for (const std::string& comment : comments) {
      out_ += comment.empty() ? "\n" : std::string(static_cast<size_t>(indent), ' ') + comment + "\n";
    }
  }

  void print_if(const If& node, const std::string& comment, int indent) {
    for (size_t i = 0; i < node.branches.size(); ++i) {
      const Branch& branch = node.branches[i];
      if (i > 0) {
        lines(branch.trivia.leading, indent);
      }
      line(indent, fmt::format("{} {}:", i == 0 ? "if" : "elif", print_expr(*branch.condition)),
           i == 0 ? comment : branch.trivia.trailing);
      print_block(branch.body, indent + 4);
    }
    if (node.has_else) {
      lines(node.else_trivia.leading, indent);
      line(indent, "else:", node.else_trivia.trailing);
      print_block(node.else_body, indent + 4);
    }
  }

  void print_with(const With& node, const std::string& comment, int indent) {
    std::string text = "with ";
    for (size_t i = 0; i < node.items.size(); ++i) {
      text += i > 0 ? ", " : "";
      text += print_expr(*node.items[i].context);
      if (node.items[i].target != nullptr) {
        text += " as " + print_expr(*node.items[i].target);
      }
    }
    line(indent, text + ":", comment);
    print_block(node.body, indent + 4);
  }

  void print_function(const FunctionDef& node, const std::string& comment, int indent) {
    for (const Decorator& decorator : node.decorators) {
      line(indent, "@" + print_expr(*decorator.value), "");
    }
    std::string text = "def " + node.name.text + "(";
    for (size_t i = 0; i < node.parameters.size(); ++i) {
      const Parameter& parameter = node.parameters[i];
      text += i > 0 ? ", " : "";
      text += parameter.name.text;
      if (parameter.annotation != nullptr) {
        text += ": " + print_expr(*parameter.annotation);
      }
      if (parameter.default_value != nullptr) {
        text += (parameter.annotation != nullptr ? " = " : "=") + print_expr(*parameter.default_value);
      }
    }
    text += node.returns != nullptr ? ") -> " + print_expr(*node.returns) + ":" : "):";
    line(indent, text, comment);
    print_block(node.body, indent + 4);
  }

  std::string out_;
};

}  // namespace

std::string print(const Module& module) {
  StmtPrinter printer;
  printer.print_block(module.body, 0);
  return printer.take();
}

std::string print(const Expr& expr) {
  return print_expr(expr);
}

std::string print(const Stmt& stmt) {
  StmtPrinter printer;
  printer.print_stmt(stmt, 0);
  std::string out = printer.take();
  if (out.ends_with('\n')) {
    out.pop_back();
  }
  return out;
}

}  // namespace tw::syntax
