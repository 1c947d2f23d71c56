// SPDX-License-Identifier: Apache-2.0
#include "spec/term.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace tw::spec {
namespace {

Kind numeric_join(Kind a, Kind b) {
  return a == Kind::Integer && b == Kind::Integer ? Kind::Integer : Kind::Real;
}

Kind result_kind(Op op, const std::vector<Term>& operands) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Maximum:
    case Op::Minimum:
      return numeric_join(operands[0]->kind, operands[1]->kind);
    case Op::FloorDiv:
    case Op::Mod:
      return Kind::Integer;
    case Op::Neg:
    case Op::Abs:
    case Op::Relu:
    case Op::Sum:
    case Op::Max:
    case Op::Min:
      return operands[0]->kind;
    case Op::Less:
    case Op::LessEqual:
    case Op::Equal:
    case Op::And:
    case Op::Or:
    case Op::Not:
      return Kind::Boolean;
    case Op::Where:
      return operands[1]->kind == Kind::Boolean ? Kind::Boolean : numeric_join(operands[1]->kind, operands[2]->kind);
    default:
      return Kind::Real;
  }
}

Term make(Node node) {
  return std::make_shared<const Node>(std::move(node));
}

using LevelSets = std::unordered_map<const Node*, std::vector<uint32_t>>;

const std::vector<uint32_t>& free_levels_memo(const Term& term, LevelSets& memo) {
  if (auto found = memo.find(term.get()); found != memo.end()) {
    return found->second;
  }
  std::vector<uint32_t> levels;
  if (term->op == Op::Index) {
    levels.push_back(term->level);
  }
  for (const Term& operand : term->operands) {
    const std::vector<uint32_t>& inner = free_levels_memo(operand, memo);
    levels.insert(levels.end(), inner.begin(), inner.end());
  }
  std::ranges::sort(levels);
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  for (const BoundIndex& bound : term->bound) {
    std::erase(levels, bound.level);
  }
  return memo.emplace(term.get(), std::move(levels)).first->second;
}

bool is_contraction(const Node& node, LevelSets& memo) {
  if (node.op != Op::Sum || node.operands[0]->op != Op::Mul) {
    return false;
  }
  const std::vector<uint32_t>& left = free_levels_memo(node.operands[0]->operands[0], memo);
  const std::vector<uint32_t>& right = free_levels_memo(node.operands[0]->operands[1], memo);
  for (const BoundIndex& bound : node.bound) {
    if (!std::ranges::binary_search(left, bound.level) || !std::ranges::binary_search(right, bound.level)) {
      return false;
    }
  }
  // A norm's sum of squares reduces two equal index sets: no operand is used twice.
  return left != right;
}

struct Features {
  int contractions = 0;
  bool has_exp = false;
  bool has_reduction = false;
  bool has_arithmetic = false;
  std::vector<DimId> reduced_dims;
};

void collect(const Term& term, LevelSets& memo, Features& features) {
  if (is_contraction(*term, memo)) {
    ++features.contractions;
  }
  if (is_reduction(term->op)) {
    features.has_reduction = true;
    for (const BoundIndex& bound : term->bound) {
      features.reduced_dims.push_back(bound.dim);
    }
  }
  if (term->op == Op::Exp || term->op == Op::Exp2) {
    features.has_exp = true;
  }
  if (term->op != Op::Element && term->op != Op::Round && term->op != Op::Index) {
    features.has_arithmetic = true;
  }
  if (term->op == Op::Element) {
    // Arithmetic on coordinates moves data, it does not compute.
    return;
  }
  for (const Term& operand : term->operands) {
    collect(operand, memo, features);
  }
}

int64_t saturating_product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t accumulation_length_of(const Computation& computation, const Term& term, const std::vector<int64_t>& extents,
                               std::unordered_map<const Node*, int64_t>& memo) {
  if (auto found = memo.find(term.get()); found != memo.end()) {
    return found->second;
  }
  int64_t length = 1;
  for (const Term& operand : term->operands) {
    length = std::max(length, accumulation_length_of(computation, operand, extents, memo));
  }
  if (term->op == Op::Element) {
    if (const Equation* equation = computation.equation_of(term->tensor);
        equation != nullptr && computation.tensor(term->tensor).direction == Direction::Let) {
      length = std::max(length, accumulation_length_of(computation, equation->term, extents, memo));
    }
  }
  if (term->op == Op::Sum) {
    for (const BoundIndex& bound : term->bound) {
      length = saturating_product(length, std::max<int64_t>(1, extents.at(bound.dim.index)));
    }
  }
  memo.emplace(term.get(), length);
  return length;
}

void record_levels(const Term& term, std::unordered_map<uint32_t, DimId>& dims) {
  for (const BoundIndex& bound : term->bound) {
    dims[bound.level] = bound.dim;
  }
}

double operation_count_of(const Term& term, LevelSets& memo, std::unordered_map<uint32_t, DimId> dims,
                          const std::vector<int64_t>& extents) {
  record_levels(term, dims);
  double count = 0;
  for (const Term& operand : term->operands) {
    if (term->op != Op::Element) {
      count += operation_count_of(operand, memo, dims, extents);
    }
  }
  bool is_operation = !term->operands.empty() && term->op != Op::Element && term->op != Op::Round;
  if (is_operation) {
    double volume = 1;
    for (uint32_t level : free_levels_memo(term, memo)) {
      volume *= static_cast<double>(extents.at(dims.at(level).index));
    }
    for (const BoundIndex& bound : term->bound) {
      volume *= static_cast<double>(extents.at(bound.dim.index));
    }
    count += volume;
  }
  return count;
}

}  // namespace

std::string_view name_of(Direction direction) {
  constexpr std::string_view kNames[] = {"in", "out", "inout", "let"};
  return kNames[static_cast<int>(direction)];
}

Kind kind_of(ElementType type) {
  if (is_floating(type)) {
    return Kind::Real;
  }
  return type == ElementType::Bool ? Kind::Boolean : Kind::Integer;
}

std::optional<TensorId> Computation::find_tensor(std::string_view name) const {
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) {
      return TensorId(i);
    }
  }
  return std::nullopt;
}

std::optional<DimId> Computation::find_dim(std::string_view name) const {
  for (uint32_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == name) {
      return DimId(i);
    }
  }
  return std::nullopt;
}

const Equation* Computation::equation_of(TensorId id) const {
  for (const Equation& equation : equations) {
    if (equation.tensor == id) {
      return &equation;
    }
  }
  return nullptr;
}

Term constant(double value) {
  return make({.op = Op::Constant, .kind = Kind::Real, .value = value});
}

Term integer(int64_t value) {
  return make({.op = Op::Constant, .kind = Kind::Integer, .value = static_cast<double>(value)});
}

Term size(DimId dim) {
  return make({.op = Op::Size, .kind = Kind::Integer, .dim = dim});
}

Term index(uint32_t level) {
  return make({.op = Op::Index, .kind = Kind::Integer, .level = level});
}

Term element(TensorId tensor, std::vector<Term> coordinates, Kind kind) {
  return make({.op = Op::Element, .kind = kind, .tensor = tensor, .operands = std::move(coordinates)});
}

Term unary(Op op, Term a) {
  std::vector<Term> operands{std::move(a)};
  Kind kind = result_kind(op, operands);
  return make({.op = op, .kind = kind, .operands = std::move(operands)});
}

Term binary(Op op, Term a, Term b) {
  std::vector<Term> operands{std::move(a), std::move(b)};
  Kind kind = result_kind(op, operands);
  return make({.op = op, .kind = kind, .operands = std::move(operands)});
}

Term where(Term condition, Term a, Term b) {
  std::vector<Term> operands{std::move(condition), std::move(a), std::move(b)};
  Kind kind = result_kind(Op::Where, operands);
  return make({.op = Op::Where, .kind = kind, .operands = std::move(operands)});
}

Term round_to(Term a, ElementType type) {
  return make({.op = Op::Round, .type = type, .operands = {std::move(a)}});
}

Term reduce(Op op, std::vector<BoundIndex> bound, Term body) {
  TW_CHECK(is_reduction(op));
  Kind kind = body->kind;
  return make({.op = op, .kind = kind, .bound = std::move(bound), .operands = {std::move(body)}});
}

Term with_operands(const Node& node, std::vector<Term> operands) {
  Node copy = node;
  copy.operands = std::move(operands);
  return make(std::move(copy));
}

std::string_view name_of(Op op) {
  switch (op) {
    case Op::Constant:
      return "constant";
    case Op::Size:
      return "size";
    case Op::Index:
      return "index";
    case Op::Element:
      return "element";
    case Op::Add:
      return "+";
    case Op::Sub:
    case Op::Neg:
      return "-";
    case Op::Mul:
      return "*";
    case Op::Div:
      return "/";
    case Op::FloorDiv:
      return "//";
    case Op::Mod:
      return "%";
    case Op::Exp:
      return "exp";
    case Op::Exp2:
      return "exp2";
    case Op::Log:
      return "log";
    case Op::Sqrt:
      return "sqrt";
    case Op::Rsqrt:
      return "rsqrt";
    case Op::Tanh:
      return "tanh";
    case Op::Erf:
      return "erf";
    case Op::Sigmoid:
      return "sigmoid";
    case Op::Abs:
      return "abs";
    case Op::Relu:
      return "relu";
    case Op::Gelu:
      return "gelu";
    case Op::GeluTanh:
      return "gelu_tanh";
    case Op::Silu:
      return "silu";
    case Op::Maximum:
      return "maximum";
    case Op::Minimum:
      return "minimum";
    case Op::Where:
      return "where";
    case Op::Less:
      return "<";
    case Op::LessEqual:
      return "<=";
    case Op::Equal:
      return "==";
    case Op::And:
      return "and";
    case Op::Or:
      return "or";
    case Op::Not:
      return "not";
    case Op::Round:
      return "to";
    case Op::Sum:
      return "sum";
    case Op::Max:
      return "max";
    case Op::Min:
      return "min";
  }
  return "?";
}

bool equal(const Term& a, const Term& b) {
  if (a == b) {
    return true;
  }
  if (a->op != b->op || a->kind != b->kind || a->value != b->value || a->dim != b->dim || a->tensor != b->tensor ||
      a->level != b->level || a->bound != b->bound || a->operands.size() != b->operands.size() ||
      (a->op == Op::Round && a->type != b->type)) {
    return false;
  }
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (!equal(a->operands[i], b->operands[i])) {
      return false;
    }
  }
  return true;
}

std::vector<uint32_t> free_levels(const Term& term) {
  LevelSets memo;
  return free_levels_memo(term, memo);
}

std::string_view name_of(WorkloadClass workload) {
  constexpr std::string_view kNames[] = {"contraction", "attention",    "normalization",
                                         "reduction",   "element-wise", "data movement"};
  return kNames[static_cast<int>(workload)];
}

WorkloadClass classify(const Computation& computation) {
  LevelSets memo;
  Features features;
  for (const Equation& equation : computation.equations) {
    collect(equation.term, memo, features);
  }
  if (features.contractions >= 2 && features.has_exp) {
    return WorkloadClass::Attention;
  }
  if (features.contractions >= 1) {
    return WorkloadClass::Contraction;
  }
  if (features.has_reduction) {
    // A normalization writes along the dimension that it reduces.
    for (const Equation& equation : computation.equations) {
      const Tensor& output = computation.tensor(equation.tensor);
      if (output.direction == Direction::Let) {
        continue;
      }
      for (DimId dim : output.dims) {
        if (std::ranges::find(features.reduced_dims, dim) != features.reduced_dims.end()) {
          return WorkloadClass::Normalization;
        }
      }
    }
    return WorkloadClass::Reduction;
  }
  return features.has_arithmetic ? WorkloadClass::ElementWise : WorkloadClass::DataMovement;
}

int64_t accumulation_length(const Computation& computation, const std::vector<int64_t>& extents) {
  std::unordered_map<const Node*, int64_t> memo;
  int64_t length = 1;
  for (const Equation& equation : computation.equations) {
    length = std::max(length, accumulation_length_of(computation, equation.term, extents, memo));
  }
  return length;
}

double operation_count(const Computation& computation, const std::vector<int64_t>& extents) {
  LevelSets memo;
  double count = 0;
  for (const Equation& equation : computation.equations) {
    std::unordered_map<uint32_t, DimId> dims;
    const Tensor& tensor = computation.tensor(equation.tensor);
    for (uint32_t level = 0; level < tensor.dims.size(); ++level) {
      dims[level] = tensor.dims[level];
    }
    count += operation_count_of(equation.term, memo, dims, extents);
  }
  return count;
}

}  // namespace tw::spec
