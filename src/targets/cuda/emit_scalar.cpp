// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cctype>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"
#include "targets/cuda/emitter.h"
#include "targets/cuda/prelude.h"

namespace tw::targets::cuda {
namespace {

using ir::ExprId;
using ir::ExprKind;

std::string identifier(const std::string& wish) {
  std::string out;
  for (char c : wish) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) {
    out.insert(0, "v");
  }
  return out;
}

}  // namespace

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string add_text(const std::string& a, const std::string& b) {
  if (a == "0") {
    return b;
  }
  if (b == "0") {
    return a;
  }
  if (is_number(a) && is_number(b)) {
    return std::to_string(std::stoll(a) + std::stoll(b));
  }
  return a + " + " + b;
}

std::string scaled_text(const std::string& a, int64_t factor) {
  if (factor == 0 || a == "0") {
    return "0";
  }
  if (is_number(a)) {
    return std::to_string(std::stoll(a) * factor);
  }
  const bool is_simple = a.find(' ') == std::string::npos;
  const std::string base = is_simple ? a : "(" + a + ")";
  return factor == 1 ? a : fmt::format("{} * {}", base, factor);
}

std::string map_index(const codegen::ThreadTerms& terms, const std::string& index) {
  if (is_number(index)) {
    return std::to_string(codegen::evaluate(terms, std::stoll(index)));
  }
  const bool is_simple = index.find(' ') == std::string::npos;
  return codegen::to_text(terms, is_simple ? index : "(" + index + ")");
}

std::string float_literal(double value) {
  const auto narrow = static_cast<float>(value);
  if (std::isnan(narrow)) {
    return "__int_as_float(0x7fffffff)";
  }
  if (std::isinf(narrow)) {
    return narrow > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  }
  std::string text = fmt::format("{}", narrow);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text + "f";
}

std::string double_literal(double value) {
  if (std::isnan(value)) {
    return "__longlong_as_double(0x7ff8000000000000LL)";
  }
  if (std::isinf(value)) {
    return value > 0 ? "__longlong_as_double(0x7ff0000000000000LL)" : "__longlong_as_double(0xfff0000000000000LL)";
  }
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void Emitter::line(const std::string& text) {
  body_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n";
}

void Emitter::open(const std::string& head) {
  line(head + (head.empty() ? "{" : " {"));
  ++depth_;
  declared_.emplace_back();
}

void Emitter::close(const std::string& tail) {
  --depth_;
  declared_.pop_back();
  line(tail);
}

std::string Emitter::unique(const std::string& wish) {
  std::string base = identifier(wish);
  std::string name = base;
  for (int i = 2; !names_.insert(name).second; ++i) {
    name = fmt::format("{}_{}", base, i);
  }
  return name;
}

std::string Emitter::hoist(const std::string& type, const std::string& name, const std::string& text) {
  auto it = hoisted_names_.find(type + text);
  if (it != hoisted_names_.end()) {
    return it->second;
  }
  std::string fresh = unique(name);
  hoisted_.emplace_back(fmt::format("{} {}", type, fresh), text);
  hoisted_names_.emplace(type + text, fresh);
  return fresh;
}

std::string Emitter::helper(const std::string& name) {
  require_helper(name, helpers_);
  return name;
}

void Emitter::source_comment(const ir::Op& op) {
  if (options_.sources == nullptr || !op.span.is_valid()) {
    return;
  }
  const diag::SourceManager& sources = *options_.sources;
  const diag::Position position = sources.position(op.span.file, op.span.begin);
  std::string_view name = sources.name(op.span.file);
  name = name.substr(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1);
  std::string text(trim(sources.line_text(op.span.file, position.line)));
  // A comment must not go on after a line that ends in a backslash.
  while (!text.empty() && text.back() == '\\') {
    text.pop_back();
  }
  std::string comment = fmt::format("// {}:{}: {}", name, position.line, text);
  if (comment != last_comment_) {
    line(comment);
    last_comment_ = comment;
  }
}

std::string Emitter::symbol_name(ir::SymbolId id) {
  auto it = symbol_names_.find(id);
  if (it != symbol_names_.end()) {
    return it->second;
  }
  const ir::Symbol& symbol = function_.exprs.symbol(id);
  if (symbol.kind == ir::SymbolKind::ThreadIndex) {
    return "thread";
  }
  if (symbol.kind == ir::SymbolKind::BlockIndex) {
    return "(int)blockIdx.x";
  }
  return symbol_names_.emplace(id, unique(symbol.name)).first->second;
}

std::string Emitter::operand(ExprId id, bool as_wide) {
  const ir::ExprNode& node = function_.exprs.node(id);
  std::string text = scalar(id);
  const bool is_atom = node.kind == ExprKind::Symbol || (node.kind == ExprKind::Const && node.value >= 0);
  if (as_wide && !is_wide(id)) {
    return node.kind == ExprKind::Const ? text + "LL" : fmt::format("(long long){}", is_atom ? text : "(" + text + ")");
  }
  return is_atom || text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

std::string Emitter::wide_scalar(ExprId id) {
  return is_wide(id) ? scalar(id) : operand(id, true);
}

std::string Emitter::scalar(ExprId id) {
  const ir::ExprNode& node = function_.exprs.node(id);
  const bool wide = is_wide(id);
  auto side_width = [&](int a, int b) { return is_wide(node.operands[a]) || is_wide(node.operands[b]); };
  auto infix = [&](const char* op) {
    return fmt::format("{} {} {}", operand(node.operands[0], wide), op, operand(node.operands[1], wide));
  };
  auto compare = [&](const char* op) {
    const bool as_wide = side_width(0, 1);
    return fmt::format("{} {} {}", operand(node.operands[0], as_wide), op, operand(node.operands[1], as_wide));
  };
  auto call = [&](const char* name) {
    return fmt::format("{}({}, {})", helper(name), wide ? wide_scalar(node.operands[0]) : scalar(node.operands[0]),
                       wide ? wide_scalar(node.operands[1]) : scalar(node.operands[1]));
  };
  const auto is_natural = [&] {
    return facts_.range(node.operands[0]).lo >= 0 && facts_.range(node.operands[1]).lo > 0;
  };
  switch (node.kind) {
    case ExprKind::Const:
      return wide ? fmt::format("{}LL", node.value) : std::to_string(node.value);
    case ExprKind::Symbol:
      return symbol_name(node.symbol);
    case ExprKind::Add:
      return infix("+");
    case ExprKind::Sub:
      return infix("-");
    case ExprKind::Mul:
      return infix("*");
    case ExprKind::FloorDiv:
      return is_natural() ? infix("/") : call("tw_floor_div");
    case ExprKind::Mod:
      return is_natural() ? infix("%") : call("tw_floor_mod");
    case ExprKind::CeilDiv:
      return call("tw_ceil_div");
    case ExprKind::Min:
      return call("tw_min");
    case ExprKind::Max:
      return call("tw_max");
    case ExprKind::Eq:
      return compare("==");
    case ExprKind::Ne:
      return compare("!=");
    case ExprKind::Lt:
      return compare("<");
    case ExprKind::Le:
      return compare("<=");
    case ExprKind::And:
      return fmt::format("{} && {}", operand(node.operands[0], false), operand(node.operands[1], false));
    case ExprKind::Or:
      return fmt::format("{} || {}", operand(node.operands[0], false), operand(node.operands[1], false));
    case ExprKind::Not:
      return fmt::format("!{}", operand(node.operands[0], false));
    case ExprKind::Select:
      return fmt::format("{} ? {} : {}", operand(node.operands[0], false), operand(node.operands[1], wide),
                         operand(node.operands[2], wide));
  }
  TW_CHECK(false);
  return {};
}

}  // namespace tw::targets::cuda
