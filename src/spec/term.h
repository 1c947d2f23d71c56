// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/element_type.h"
#include "base/ids.h"
#include "diag/source.h"

// What a task computes, as index expressions over named sizes:
//
//   D[m, n] = gelu(sum(k, A[m, k] * B[n, k]) + bias[n])
//
// says that for every m in [0, M) and n in [0, N), element (m, n) of D is that real number, rounded once to D's element
// type. Arithmetic is on real numbers; the only rounding is where `.to(type)` stands and at the stores into outputs.
// Reductions run over the whole range of their index, in no particular order.
//
// Not represented: control flow, loops that carry state, and writes to computed places (scatter).
namespace tw::spec {

using DimId = Id<struct DimTag>;
using TensorId = Id<struct TensorTag>;

enum class Op : uint8_t {
  // Leaves: a number, a size as a number, the value of an index, an element of a tensor (operands: its coordinates).
  Constant,
  Size,
  Index,
  Element,
  // FloorDiv and Mod are for integers (`//` and `%`, rounding down).
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Neg,
  Exp,
  Exp2,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Sigmoid,
  Abs,
  // Named for reading; `normalized` replaces them by their definitions.
  Relu,
  Gelu,
  GeluTanh,
  Silu,
  Maximum,
  Minimum,
  // where(condition, a, b)
  Where,
  Less,
  LessEqual,
  Equal,
  And,
  Or,
  Not,
  // x.to(type): a declared rounding point.
  Round,
  Sum,
  Max,
  Min,
};

enum class Kind : uint8_t { Real, Integer, Boolean };

constexpr bool is_reduction(Op op) {
  return op == Op::Sum || op == Op::Max || op == Op::Min;
}

struct Node;
// Immutable and shared: equal subterms may be one node.
using Term = std::shared_ptr<const Node>;

// An index is its binding depth: an equation of rank r binds 0 .. r-1, a reduction binds the next free ones. So two
// terms that differ only in the names of their indices are equal node by node.
struct BoundIndex {
  uint32_t level = 0;
  DimId dim;
  friend bool operator==(const BoundIndex&, const BoundIndex&) = default;
};

struct Node {
  Op op = Op::Constant;
  Kind kind = Kind::Real;
  // Constant.
  double value = 0;
  // Size.
  DimId dim;
  // Element.
  TensorId tensor;
  // Index.
  uint32_t level = 0;
  // Round.
  ElementType type = ElementType::F32;
  // Reductions: what they bind, outermost first.
  std::vector<BoundIndex> bound;
  std::vector<Term> operands;
  // Where the text says it; not part of equality.
  diag::Span span;
};

// A named size; `fixed` when the task gives it as a number.
struct Dim {
  std::string name;
  std::optional<int64_t> fixed;
};

enum class Direction : uint8_t { In, Out, InOut, Let };
std::string_view name_of(Direction direction);
Kind kind_of(ElementType type);

// An operand of the task, or an intermediate that the text names with `let` (Direction::Let, never rounded).
struct Tensor {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<DimId> dims;
  Direction direction = Direction::In;
};

// tensor[i0, i1, ...] = term, for all values of the indices 0 .. rank-1.
struct Equation {
  TensorId tensor;
  Term term;
  // As written; only for printing.
  std::vector<std::string> index_names;
  diag::Span span;
};

// Equations come in order of definition: each uses inputs and earlier `let`s only.
struct Computation {
  std::vector<Dim> dims;
  std::vector<Tensor> tensors;
  std::vector<Equation> equations;

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors.at(id.index); }
  [[nodiscard]] const Dim& dim(DimId id) const { return dims.at(id.index); }
  [[nodiscard]] std::optional<TensorId> find_tensor(std::string_view name) const;
  [[nodiscard]] std::optional<DimId> find_dim(std::string_view name) const;
  // nullptr for inputs.
  [[nodiscard]] const Equation* equation_of(TensorId id) const;
};

// Makers. Integer operands give integer results where that makes sense; no simplification.
Term constant(double value);
Term integer(int64_t value);
Term size(DimId dim);
Term index(uint32_t level);
Term element(TensorId tensor, std::vector<Term> coordinates, Kind kind = Kind::Real);
Term unary(Op op, Term a);
Term binary(Op op, Term a, Term b);
Term where(Term condition, Term a, Term b);
Term round_to(Term a, ElementType type);
Term reduce(Op op, std::vector<BoundIndex> bound, Term body);

std::string_view name_of(Op op);
// The same node with other operands.
Term with_operands(const Node& node, std::vector<Term> operands);

// Same tree, spans aside.
bool equal(const Term& a, const Term& b);

// Indices that `term` uses and does not bind, ascending.
std::vector<uint32_t> free_levels(const Term& term);

// The text form, as the parser reads it. `names[level]` are used for free indices; bound ones get fresh letters.
std::string print(const Computation& computation, const Term& term, const std::vector<std::string>& names);
std::string print(const Computation& computation, const Equation& equation);
// All equations, one a line.
std::string print(const Computation& computation);

// Workload class, from the computation's own graph (never declared).
enum class WorkloadClass : uint8_t { Contraction, Attention, Normalization, Reduction, ElementWise, DataMovement };
std::string_view name_of(WorkloadClass workload);
WorkloadClass classify(const Computation& computation);

// Length of the longest chain of additions behind one output element: the product of the sizes of nested sums.
// `extents[dim]` are the sizes.
int64_t accumulation_length(const Computation& computation, const std::vector<int64_t>& extents);

// Floating-point operations of one evaluation, counted as the text says (a multiply-add is two).
double operation_count(const Computation& computation, const std::vector<int64_t>& extents);

}  // namespace tw::spec
