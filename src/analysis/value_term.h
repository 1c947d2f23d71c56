// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/element_type.h"
#include "domain/facts.h"
#include "domain/ints.h"
#include "ir/function.h"

// What a register tile or a stored element *is*: a term over the tensors' elements, as a function of its coordinates
// and valid for all sizes. `semantics.md` calls this the value in the reading; the verifier compares, tags and covers
// these terms.
//
// A tile of rank r is a term with the free axis variables axis(0) .. axis(r-1). Example: the accumulator of a tiled
// product is
//
//   Accumulate(Add) { Reduce(Add) [k in [0, K // 32 rounded up)) [kk in [0, 32)] A[bm*128 + i, k*32 + kk] * B[bn*128 +
//   j, ...] }
//
// with i = axis(0), j = axis(1). Bound variables are canonical (numbered by nesting from the inside), so terms that
// differ in the names of bound variables have one id. Equal ids: equal values. Different ids mean nothing.
//
// Real identities used when terms are made: `Accumulate` and `Reduce` (sums of mma and reduce, max, min) are
// associative and commutative and drop their neutral constant; a conversion into a type that holds all values of the
// operand's type is no operation. Nothing else: element-wise additions stay where they are (`is_ordered` reductions
// come from such loops).
namespace tw::analysis {

using TermId = Id<struct ValueTermTag>;
using domain::CondId;
using domain::IntId;
using domain::VarId;

enum class TermKind : uint8_t {
  // Element of a global tensor as it is at launch, `fill` outside its extents.
  Leaf,
  Constant,
  // An integer or truth value that is known as an expression.
  Integer,
  Truth,
  // Floating-point argument of the kernel.
  Argument,
  // Element-wise function, rounded to `type`.
  Apply,
  // Exact product inside a contraction.
  Product,
  // operands[0] (+) operands[1] (+) ...
  Accumulate,
  // (+) over the binders of operands[0].
  Reduce,
  // operands[0] where the condition holds, else operands[1].
  Select,
  // Value carried by a loop under evaluation, at the head of iteration coords[0]; coords[1..] are element coordinates.
  Carried,
  // State of a loop without a closed form: coords[0] iterations done, element coords[1..]; operands are the initial
  // values and
  // then the values at the end of an iteration, over the binders (iteration, element coordinates).
  Loop,
  // A cell that nobody wrote.
  Uninitialized,
  // Something the evaluator does not model; `index` keeps different ones apart.
  Opaque,
};

// lo <= var < hi
struct Binder {
  VarId var;
  IntId lo, hi;
  friend bool operator==(const Binder&, const Binder&) = default;
};

struct TermNode {
  TermKind kind = TermKind::Constant;
  ElementType type = ElementType::F32;
  ir::ElementwiseKind function = ir::ElementwiseKind::Add;
  ir::ReduceKind reduce = ir::ReduceKind::Add;
  // Reduce: the order of the summands is the loop's, every step rounded (an element-wise addition in a loop).
  bool is_ordered = false;
  // Leaf: tensor. Argument, Opaque: number. Carried: loop. Loop: which of the carried values.
  uint32_t index = 0;
  // Carried: which of the carried values. Constant: Values::kPadSlot for a pad.
  uint32_t slot = 0;
  // Constant: the value. Leaf: fill.
  double number = 0;
  IntId integer;
  CondId condition;
  std::vector<IntId> coords;
  std::vector<TermId> operands;
  std::vector<Binder> binders;
};

class Values {
 public:
  static constexpr uint32_t kPadSlot = 1;

  explicit Values(domain::Ints& ints);

  domain::Ints& ints() { return ints_; }
  [[nodiscard]] const domain::Ints& ints() const { return ints_; }
  [[nodiscard]] VarId axis_var(int axis) const { return axes_[axis]; }
  IntId axis(int axis) { return ints_.var(axes_[axis]); }

  TermId leaf(uint32_t tensor, ElementType type, std::vector<IntId> coords, double fill);
  TermId constant(double value, ElementType type);
  // The constant that stands for an element outside its tensor, and what is computed from such constants alone. It is
  // equal to no other constant: an output must not depend on it.
  TermId pad(double value, ElementType type);
  [[nodiscard]] static bool is_pad(const TermNode& node) {
    return node.kind == TermKind::Constant && node.slot == kPadSlot;
  }
  TermId integer(IntId value);
  TermId truth(CondId value);
  TermId argument(uint32_t number, ElementType type);
  TermId apply(ir::ElementwiseKind function, ElementType type, std::vector<TermId> operands);
  TermId product(TermId a, TermId b);
  TermId accumulate(ir::ReduceKind kind, ElementType type, std::vector<TermId> operands);
  // The binders' variables are free in `body` and become bound.
  TermId reduce(ir::ReduceKind kind, ElementType type, std::vector<Binder> binders, TermId body,
                bool is_ordered = false);
  TermId select(CondId condition, TermId if_true, TermId if_false);
  TermId carried(uint32_t loop, uint32_t slot, ElementType type, std::vector<IntId> coords);
  // State of `slot` after `coords[0]` iterations; `iteration` and the axis variables are free in `inits` and `yields`,
  // where Carried terms of `loop` stand for the state at the head of an iteration. Slots are numbered as in `inits`.
  TermId loop_state(uint32_t loop, uint32_t slot, ElementType type, std::vector<IntId> coords, VarId iteration,
                    std::vector<TermId> inits, std::vector<TermId> yields);
  TermId uninitialized(ElementType type);
  TermId opaque(ElementType type);

  [[nodiscard]] const TermNode& node(TermId id) const { return nodes_[id.index].node; }
  // Free variables, ascending.
  [[nodiscard]] const std::vector<VarId>& vars(TermId id) const { return nodes_[id.index].vars; }
  [[nodiscard]] bool uses(TermId id, VarId var) const;
  // Whether a node of this kind occurs; Carried: of the given loop.
  [[nodiscard]] bool has_carried(TermId id, uint32_t loop) const;
  [[nodiscard]] bool has_opaque(TermId id) const { return nodes_[id.index].has_opaque; }
  [[nodiscard]] bool has_uninitialized(TermId id) const { return nodes_[id.index].has_uninitialized; }

  TermId substitute(TermId id, const domain::Substitution& replacements);
  // Replaces Carried(loop, slot, coords) by `states[slot]`, a term over `iteration` and the axis variables; invalid:
  // kept.
  TermId substitute_carried(TermId id, uint32_t loop, VarId iteration, const std::vector<TermId>& states);
  // Rebuilds bottom-up through the makers, replacing the nodes for which `replace` gives a term. Bound variables of the
  // result of `open` are fresh. `replace` sees terms whose free variables may be canonical bound ones.
  struct Opened {
    std::vector<Binder> binders;
    TermId body;
  };
  // REQUIRES: a Reduce. Its binders with fresh variables, and its body over them.
  Opened open(TermId reduce);
  // The same node with other operands (not for Reduce and Loop).
  TermId with_operands(TermId id, std::vector<TermId> operands);

  [[nodiscard]] std::string to_string(TermId id) const;
  [[nodiscard]] size_t size() const { return nodes_.size(); }

  // Values of the functions and roundings, as `evaluate` and the constant folding use them.
  static double function_value(ir::ElementwiseKind function, std::span<const double> operands);
  // nullopt: the result on the machine is not known exactly.
  static std::optional<double> folded(ir::ElementwiseKind function, ElementType type, std::span<const double> x);
  static double round_to(double value, ElementType type);
  static double neutral(ir::ReduceKind kind);

 private:
  struct Entry {
    TermNode node;
    std::vector<VarId> vars;
    // Highest canonical bound variable inside, plus one.
    uint32_t height = 0;
    std::vector<uint32_t> carried_loops;
    bool has_opaque = false;
    bool has_uninitialized = false;
  };
  TermId intern(TermNode node);
  VarId bound_var(uint32_t height);
  TermId rename_carried(TermId id, uint32_t from, uint32_t to, const std::vector<uint32_t>& slots);

  domain::Ints& ints_;
  std::array<VarId, 4> axes_;
  std::vector<VarId> bound_vars_;
  std::vector<Entry> nodes_;
  std::unordered_multimap<uint64_t, TermId> index_;
  uint32_t opaque_count_ = 0;
};

}  // namespace tw::analysis
