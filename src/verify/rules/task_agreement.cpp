// SPDX-License-Identifier: Apache-2.0

// Rule        task-disagreement (obligation 9)
// Scope       every output for which a task states an equation
// Invariant   the element that the kernel writes is the task's term at that element, as real numbers, with the task's
// rounding
//             points
// Criterion   the reading's term as a function of the output's coordinates, rewritten over the task's operands, has the
// normal
//             form of the task's term (spec/normalize.h): sums in any order, no rounding moved, dropped or added
// Valid near  a product accumulated over slices of k where the task has one sum; f32 arithmetic where the task has real
// numbers Diagnostic  TW3050
#include <algorithm>
#include <set>

#include "spec/normalize.h"
#include "verify/context.h"

namespace tw::verify {

namespace {

using analysis::TermKind;
using analysis::TermNode;
using ir::ElementwiseKind;

// Terms of the reading as terms of the task's language.
class ToTask {
 public:
  ToTask(Context& context, const spec::Computation& task) : context_(context) {
    for (uint32_t i = 0; i < context.lowered.tensors.size(); ++i) {
      auto operand = task.find_tensor(context.lowered.tensors[i].name);
      if (!operand || task.tensor(*operand).dims.size() != context.lowered.tensors[i].extents.size()) {
        continue;
      }
      if (auto why = difference(context, i, task, *operand)) {
        problem = *why;
      }
      operands_.emplace(i, *operand);
      for (size_t d = 0; d < task.tensor(*operand).dims.size(); ++d) {
        sizes_.emplace(context.settler->extents()[i][d], task.tensor(*operand).dims[d]);
      }
    }
  }

  // Why the operands of kernel and task are not the same arrays; then terms over them say nothing.
  std::string problem;
  std::unordered_map<VarId, uint32_t> levels;
  uint32_t next_level = 0;

  spec::Term term(TermId id) {
    const TermNode n = context_.values().node(id);
    switch (n.kind) {
      case TermKind::Leaf: {
        auto it = operands_.find(n.index);
        if (it == operands_.end()) {
          return stop("the task has no operand `" + context_.lowered.tensors[n.index].name + "`");
        }
        std::vector<spec::Term> coords;
        for (IntId c : n.coords) {
          coords.push_back(integer(c));
        }
        return spec::element(it->second, std::move(coords));
      }
      case TermKind::Constant:
        return spec::constant(n.number);
      case TermKind::Integer:
        return integer(n.integer);
      case TermKind::Product:
        return spec::binary(spec::Op::Mul, term(n.operands[0]), term(n.operands[1]));
      case TermKind::Accumulate: {
        if (n.reduce == ir::ReduceKind::Or) {
          return stop("a reduction with `or`");
        }
        spec::Op op = n.reduce == ir::ReduceKind::Add   ? spec::Op::Add
                      : n.reduce == ir::ReduceKind::Max ? spec::Op::Maximum
                                                        : spec::Op::Minimum;
        spec::Term result = term(n.operands[0]);
        for (size_t i = 1; i < n.operands.size(); ++i) {
          result = spec::binary(op, result, term(n.operands[i]));
        }
        return result;
      }
      case TermKind::Reduce:
        if (n.reduce == ir::ReduceKind::Add && is_narrow(n.type)) {
          return stop("a sum in " + std::string(name_of(n.type)) + ", which rounds at every step");
        }
        return reduce(id, n);
      case TermKind::Select:
        return spec::where(condition(n.condition), term(n.operands[0]), term(n.operands[1]));
      case TermKind::Truth:
        return condition(n.condition);
      case TermKind::Apply:
        // Arithmetic in a narrow type rounds every result; selections and casts have their own rule.
        return is_narrow(n.type) && rounds(n.function) ? spec::round_to(apply(n), n.type) : apply(n);
      case TermKind::Argument:
        return stop("a scalar argument");
      default:
        return stop("a value without a closed form");
    }
  }

 private:
  // Operands are the same arrays when type, names of sizes and strides agree: callers bind sizes by name.
  static std::optional<std::string> difference(Context& context, uint32_t index, const spec::Computation& task,
                                               spec::TensorId operand) {
    domain::Ints& ints = context.ints();
    const ir::Tensor& tensor = context.lowered.tensors[index];
    const spec::Tensor& wanted = task.tensor(operand);
    const std::string name = "`" + tensor.name + "` ";
    if (tensor.element != wanted.type) {
      return name + "has elements of type " + std::string(name_of(tensor.element)) + ", the task's of type " +
             std::string(name_of(wanted.type));
    }
    IntId packed = ints.constant(1);
    for (size_t d = wanted.dims.size(); d-- > 0;) {
      const spec::Dim& dim = task.dim(wanted.dims[d]);
      const IntId extent = context.settler->extents()[index][d];
      const IntId stated = dim.fixed ? ints.constant(*dim.fixed) : ints.var(context.env.named(dim.name));
      if (extent != stated) {
        return name + "has " + ints.to_string(extent) + " elements along axis " + std::to_string(d) +
               ", the task's has " + ints.to_string(stated);
      }
      const IntId stride = analysis::to_int(context.env, context.lowered, tensor.strides[d]);
      if (stride != packed) {
        return name + "has stride " + ints.to_string(stride) + " along axis " + std::to_string(d) +
               ": only arrays that are packed row-major are compared with a task";
      }
      packed = ints.mul(packed, extent);
    }
    return std::nullopt;
  }

  static bool is_narrow(ElementType type) {
    return type == ElementType::Bf16 || type == ElementType::F16 || type == ElementType::Tf32;
  }
  static bool rounds(ElementwiseKind function) {
    switch (function) {
      case ElementwiseKind::Cast:
      case ElementwiseKind::Where:
      case ElementwiseKind::Maximum:
      case ElementwiseKind::Minimum:
      case ElementwiseKind::Neg:
      case ElementwiseKind::Abs:
        return false;
      default:
        return true;
    }
  }

  spec::Term stop(std::string why) {
    if (problem.empty()) {
      problem = std::move(why);
    }
    return spec::constant(0);
  }

  // The dimension whose extent this is, under the kernel's assumptions (whole tiles).
  std::optional<spec::DimId> dimension_of(IntId extent) {
    if (auto known = sizes_.find(extent); known != sizes_.end()) {
      return known->second;
    }
    Facts facts;
    for (CondId c : context_.reading.premises) {
      facts.assume(c);
    }
    for (const auto& [size, dim] : sizes_) {
      if (context_.env.prover.proves(facts, context_.ints().eq(size, extent))) {
        return dim;
      }
    }
    return std::nullopt;
  }

  spec::Term reduce(TermId id, const TermNode& n) {
    if (n.reduce == ir::ReduceKind::Or) {
      return stop("a reduction with `or`");
    }
    analysis::Values::Opened opened = context_.values().open(id);
    std::vector<spec::BoundIndex> bound;
    const uint32_t first = next_level;
    for (const analysis::Binder& b : opened.binders) {
      const std::optional<spec::DimId> dim = dimension_of(b.hi);
      if (!context_.ints().is_constant(b.lo, 0) || !dim) {
        return stop("a reduction over [" + context_.ints().to_string(b.lo) + ", " + context_.ints().to_string(b.hi) +
                    "), which is no dimension of an operand");
      }
      levels[b.var] = next_level;
      bound.push_back({next_level++, *dim});
    }
    spec::Term body = term(opened.body);
    next_level = first;
    spec::Op op = n.reduce == ir::ReduceKind::Add   ? spec::Op::Sum
                  : n.reduce == ir::ReduceKind::Max ? spec::Op::Max
                                                    : spec::Op::Min;
    return spec::reduce(op, std::move(bound), body);
  }

  spec::Term apply(const TermNode& n) {
    using spec::Op;
    auto unary = [&](Op op) { return spec::unary(op, term(n.operands[0])); };
    auto binary = [&](Op op) { return spec::binary(op, term(n.operands[0]), term(n.operands[1])); };
    switch (n.function) {
      case ElementwiseKind::Add:
        return binary(Op::Add);
      case ElementwiseKind::Sub:
        return binary(Op::Sub);
      case ElementwiseKind::Mul:
        return binary(Op::Mul);
      case ElementwiseKind::Div:
        return binary(Op::Div);
      case ElementwiseKind::Neg:
        return unary(Op::Neg);
      case ElementwiseKind::Abs:
        return unary(Op::Abs);
      case ElementwiseKind::Exp:
        return unary(Op::Exp);
      case ElementwiseKind::Exp2:
        return unary(Op::Exp2);
      case ElementwiseKind::Log:
        return unary(Op::Log);
      case ElementwiseKind::Sqrt:
        return unary(Op::Sqrt);
      case ElementwiseKind::Rsqrt:
        return unary(Op::Rsqrt);
      case ElementwiseKind::Tanh:
        return unary(Op::Tanh);
      case ElementwiseKind::Erf:
        return unary(Op::Erf);
      case ElementwiseKind::Sigmoid:
        return unary(Op::Sigmoid);
      case ElementwiseKind::Where:
        return spec::where(term(n.operands[0]), term(n.operands[1]), term(n.operands[2]));
      case ElementwiseKind::Lt:
        return binary(Op::Less);
      case ElementwiseKind::Le:
        return binary(Op::LessEqual);
      case ElementwiseKind::Eq:
        return binary(Op::Equal);
      case ElementwiseKind::And:
        return binary(Op::And);
      case ElementwiseKind::Or:
        return binary(Op::Or);
      case ElementwiseKind::Not:
        return unary(Op::Not);
      case ElementwiseKind::Ne:
        return spec::unary(Op::Not, binary(Op::Equal));
      case ElementwiseKind::Cast:
        // f32 stands for the task's real numbers.
        if (n.type == ElementType::F32 || n.type == ElementType::F64) {
          return term(n.operands[0]);
        }
        return spec::round_to(term(n.operands[0]), n.type);
      default:
        return stop("an element-wise function that tasks do not have");
    }
  }

  spec::Term integer(IntId id) {
    const domain::Ints& ints = context_.ints();
    const domain::Polynomial p = ints.polynomial(id);
    std::vector<spec::Term> summands;
    for (const domain::Monomial& m : p.monomials) {
      spec::Term product;
      for (domain::AtomId f : m.factors) {
        const domain::Atom atom = ints.atom(f);
        if (atom.kind != domain::AtomKind::Var) {
          return stop("an index with a division or a minimum: " + ints.to_string(id));
        }
        spec::Term factor;
        if (auto level = levels.find(atom.var); level != levels.end()) {
          factor = spec::index(level->second);
        } else if (auto dim = sizes_.find(context_.env.ints.var(atom.var)); dim != sizes_.end()) {
          factor = spec::size(dim->second);
        } else {
          return stop("an index that depends on `" + ints.name(atom.var) + "`: " + ints.to_string(id));
        }
        product = product ? spec::binary(spec::Op::Mul, product, factor) : factor;
      }
      if (m.coefficient != 1) {
        product = spec::binary(spec::Op::Mul, spec::integer(m.coefficient), product);
      }
      summands.push_back(product);
    }
    if (p.constant != 0 || summands.empty()) {
      summands.push_back(spec::integer(p.constant));
    }
    spec::Term result = summands[0];
    for (size_t i = 1; i < summands.size(); ++i) {
      result = spec::binary(spec::Op::Add, result, summands[i]);
    }
    return result;
  }

  spec::Term condition(CondId id) {
    const domain::Condition c = context_.ints().condition(id);
    switch (c.kind) {
      case domain::CondKind::NonNegative:
        return spec::binary(spec::Op::LessEqual, spec::integer(0), integer(c.value));
      case domain::CondKind::Zero:
        return spec::binary(spec::Op::Equal, integer(c.value), spec::integer(0));
      case domain::CondKind::NonZero:
        return spec::unary(spec::Op::Not, spec::binary(spec::Op::Equal, integer(c.value), spec::integer(0)));
      default:
        return stop("a compound condition");
    }
  }

  Context& context_;
  std::unordered_map<uint32_t, spec::TensorId> operands_;
  std::unordered_map<IntId, spec::DimId> sizes_;
};

std::string compare(Context& context, const analysis::StoreRecord& store, const spec::Computation& task,
                    const spec::Equation& equation) {
  domain::Ints& ints = context.ints();
  Facts facts;
  context.assume(facts, store.access.place, store.access.shape);
  const std::vector<IntId>& extents = context.settler->extents()[store.tensor.index];
  // The element's coordinates e_i in place of tiles and axes: axis = e - (coordinate - axis).
  ToTask to_task(context, task);
  domain::Substitution to_element;
  std::vector<VarId> element;
  // An axis of one element is element 0, whichever way the program came by it (a broadcast names no axis).
  domain::Substitution single;
  for (size_t t = 0; t < store.access.shape.size(); ++t) {
    if (store.access.shape[t] == 1) {
      single.emplace(context.values().axis_var(static_cast<int>(t)), ints.constant(0));
    }
  }
  for (size_t i = 0; i < store.access.coords.size(); ++i) {
    IntId coord = ints.substitute(store.access.coords[i], single);
    facts.assume(ints.non_negative(coord));
    facts.assume(ints.lt(coord, extents[i]));
    element.push_back(ints.add_var("e" + std::to_string(i)));
    to_task.levels[element.back()] = to_task.next_level++;
    std::vector<VarId> digits;
    for (size_t t = 0; t < store.access.shape.size(); ++t) {
      digits.push_back(context.values().axis_var(static_cast<int>(t)));
    }
    for (const analysis::LoopVar& loop : store.access.place.loops) {
      digits.push_back(loop.var);
    }
    bool solved = false;
    for (VarId digit : digits) {
      auto linear = ints.uses(coord, digit) ? ints.linear_in(coord, digit) : std::nullopt;
      if (linear && linear->coefficient == 1 && !to_element.contains(digit)) {
        to_element.emplace(digit, ints.sub(ints.var(element.back()), linear->rest));
        solved = true;
        break;
      }
    }
    if (!solved) {
      return "the written coordinate " + ints.to_string(coord) + " does not run over the axis";
    }
  }
  TermId value = context.settler->settle(context.values().substitute(store.value, single), facts, true);
  // The rounding of the store itself.
  if (const TermNode n = context.values().node(value); n.kind == TermKind::Apply &&
                                                       n.function == ElementwiseKind::Cast &&
                                                       n.type == context.lowered.tensor(store.tensor).element) {
    value = n.operands[0];
  }
  value = context.values().substitute(value, to_element);
  spec::Term got = to_task.term(value);
  if (!to_task.problem.empty()) {
    return to_task.problem;
  }
  auto expanded = spec::expanded(task, equation.term);
  if (!expanded) {
    return expanded.error().message;
  }
  auto want = spec::normalized(*expanded);
  auto have = spec::normalized(got);
  if (!want || !have) {
    return !want ? want.error().message : have.error().message;
  }
  if (!spec::equivalent(*want, *have)) {
    std::vector<std::string> names;
    for (size_t i = 0; i < element.size(); ++i) {
      names.push_back("e" + std::to_string(i));
    }
    return "normal forms differ: the kernel's " + spec::print(task, *have, names).substr(0, 300) + ", the task's " +
           spec::print(task, *want, names).substr(0, 300);
  }
  return "";
}

}  // namespace

void check_task(Context& context) {
  if (context.options.task == nullptr) {
    return;
  }
  const spec::Computation& task = *context.options.task;
  std::optional<Counterexample> counterexample;
  bool hunted = false;
  for (const spec::Equation& equation : task.equations) {
    const spec::Tensor& output = task.tensor(equation.tensor);
    if (output.direction == spec::Direction::Let) {
      continue;
    }
    Obligation& obligation = context.add("task", "`" + output.name + "` is what the task states", context.lowered.span);
    Timer timer(obligation);
    std::string problem;
    for (const analysis::StoreRecord& store : context.reading.stores) {
      if (context.lowered.tensor(store.tensor).name != output.name) {
        continue;
      }
      ++obligation.compared;
      obligation.span = store.access.place.op->span;
      if (problem.empty()) {
        problem = store.is_red ? "contributions by `red` are not compared with the task"
                               : compare(context, store, task, equation);
      }
    }
    if (obligation.compared == 0) {
      problem = "the kernel does not write `" + output.name + "`";
    }
    if (problem.empty()) {
      continue;
    }
    if (!hunted) {
      hunted = true;
      counterexample = hunt_task(context);
    }
    if (counterexample) {
      Counterexample cex = *counterexample;
      cex.why = problem;
      cex.points.push_back({obligation.span, 0, "writes"});
      conclude(context, obligation, std::move(cex));
    } else {
      give_up(obligation, problem);
    }
  }
}

}  // namespace tw::verify
