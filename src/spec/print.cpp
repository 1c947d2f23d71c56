// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/term.h"

namespace tw::spec {
namespace {

// Python's order, loosest first.
enum Precedence : int { kOr = 1, kAnd, kNot, kCompare, kSum, kProduct, kUnary, kPostfix };

int precedence(const Node& node) {
  switch (node.op) {
    case Op::Or:
      return kOr;
    case Op::And:
      return kAnd;
    case Op::Not:
      return kNot;
    case Op::Less:
    case Op::LessEqual:
    case Op::Equal:
      return kCompare;
    case Op::Add:
    case Op::Sub:
      return kSum;
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
      return kProduct;
    case Op::Neg:
      return kUnary;
    case Op::Constant:
      return std::signbit(node.value) ? kUnary : kPostfix;
    default:
      return kPostfix;
  }
}

// Whether an index of `dim` at `level` can be inferred: it stands alone as a coordinate of a tensor along that dim.
bool has_plain_use(const Computation& computation, const Term& term, uint32_t level, DimId dim) {
  for (size_t i = 0; i < term->operands.size(); ++i) {
    const Term& operand = term->operands[i];
    if (term->op == Op::Element && operand->op == Op::Index && operand->level == level &&
        computation.tensor(term->tensor).dims.at(i) == dim) {
      return true;
    }
    if (has_plain_use(computation, operand, level, dim)) {
      return true;
    }
  }
  return false;
}

class Printer {
 public:
  Printer(const Computation& computation, std::vector<std::string> names)
      : computation_(computation), names_(std::move(names)) {}

  std::string text(const Term& term, int minimum = 0) {
    std::string result = bare(*term);
    return precedence(*term) < minimum ? "(" + result + ")" : result;
  }

 private:
  std::string bare(const Node& node) {
    switch (node.op) {
      case Op::Constant:
        return number(node);
      case Op::Size:
        return computation_.dim(node.dim).name;
      case Op::Index:
        return node.level < names_.size() ? names_[node.level] : fmt::format("i{}", node.level);
      case Op::Element:
        return element_text(node);
      case Op::Neg:
        return "-" + text(node.operands[0], kUnary);
      case Op::Not:
        return "not " + text(node.operands[0], kNot);
      case Op::Round:
        return fmt::format("{}.to({})", text(node.operands[0], kPostfix), tw::name_of(node.type));
      case Op::Sum:
      case Op::Max:
      case Op::Min:
        return reduction(node);
      case Op::Less:
      case Op::LessEqual:
      case Op::Equal:
        return fmt::format("{} {} {}", text(node.operands[0], kSum), name_of(node.op), text(node.operands[1], kSum));
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Div:
      case Op::FloorDiv:
      case Op::Mod:
      case Op::And:
      case Op::Or:
        return left_associative(node);
      default:
        return call(node);
    }
  }

  std::string left_associative(const Node& node) {
    int own = precedence(node);
    std::string result = text(node.operands[0], own);
    for (size_t i = 1; i < node.operands.size(); ++i) {
      result += fmt::format(" {} {}", name_of(node.op), text(node.operands[i], own + 1));
    }
    return result;
  }

  std::string call(const Node& node) {
    std::string result = std::string(name_of(node.op)) + "(";
    for (size_t i = 0; i < node.operands.size(); ++i) {
      result += (i == 0 ? "" : ", ") + text(node.operands[i]);
    }
    return result + ")";
  }

  std::string element_text(const Node& node) {
    std::string result = computation_.tensor(node.tensor).name;
    if (node.operands.empty()) {
      return result;
    }
    result += "[";
    for (size_t i = 0; i < node.operands.size(); ++i) {
      result += (i == 0 ? "" : ", ") + text(node.operands[i]);
    }
    return result + "]";
  }

  std::string reduction(const Node& node) {
    std::vector<std::string> outer = names_;
    std::string result = std::string(name_of(node.op)) + "(";
    for (const BoundIndex& bound : node.bound) {
      if (names_.size() <= bound.level) {
        names_.resize(bound.level + 1);
      }
      names_[bound.level] = fresh_name(bound.dim);
      result += names_[bound.level];
      if (!has_plain_use(computation_, node.operands[0], bound.level, bound.dim)) {
        result += " in " + computation_.dim(bound.dim).name;
      }
      result += ", ";
    }
    result += text(node.operands[0]) + ")";
    names_ = std::move(outer);
    return result;
  }

  static std::string number(const Node& node) {
    if (node.kind == Kind::Integer) {
      return fmt::format("{:.0f}", node.value);
    }
    if (std::isinf(node.value)) {
      return node.value > 0 ? "inf" : "-inf";
    }
    std::string result = fmt::format("{}", node.value);
    return result.find_first_of(".en") == std::string::npos ? result + ".0" : result;
  }

  std::string fresh_name(DimId dim) {
    std::string stem;
    for (char c : computation_.dim(dim).name) {
      stem += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    auto is_taken = [&](const std::string& name) {
      return std::ranges::find(names_, name) != names_.end() || computation_.find_dim(name).has_value() ||
             computation_.find_tensor(name).has_value();
    };
    std::string name = stem;
    for (int i = 2; is_taken(name); ++i) {
      name = fmt::format("{}{}", stem, i);
    }
    return name;
  }

  const Computation& computation_;
  std::vector<std::string> names_;
};

}  // namespace

std::string print(const Computation& computation, const Term& term, const std::vector<std::string>& names) {
  return Printer(computation, names).text(term);
}

std::string print(const Computation& computation, const Equation& equation) {
  const Tensor& tensor = computation.tensor(equation.tensor);
  std::string result = tensor.direction == Direction::Let ? "let " : "";
  result += tensor.name;
  if (!tensor.dims.empty()) {
    result += fmt::format("[{}]", fmt::join(equation.index_names, ", "));
  }
  return result + " = " + print(computation, equation.term, equation.index_names);
}

std::string print(const Computation& computation) {
  std::string result;
  for (const Equation& equation : computation.equations) {
    result += print(computation, equation) + "\n";
  }
  return result;
}

}  // namespace tw::spec
