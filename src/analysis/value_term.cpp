// SPDX-License-Identifier: Apache-2.0
#include "analysis/value_term.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/float16.h"
#include "base/hash.h"

namespace tw::analysis {

namespace {

using ir::ElementwiseKind;
using ir::ReduceKind;

// Loop numbers of Loop terms: apart from those of loops under evaluation.
constexpr uint32_t kBoundLoop = 0x80000000;

template <class T>
void merge(std::vector<T>& into, const std::vector<T>& from) {
  if (from.empty()) {
    return;
  }
  std::vector<T> merged;
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
  into = std::move(merged);
}

bool same(const TermNode& a, const TermNode& b) {
  return a.kind == b.kind && a.type == b.type && a.function == b.function && a.reduce == b.reduce &&
         a.is_ordered == b.is_ordered && a.index == b.index && a.slot == b.slot &&
         std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number) && a.integer == b.integer &&
         a.condition == b.condition && a.coords == b.coords && a.operands == b.operands && a.binders == b.binders;
}

uint64_t hash_of(const TermNode& n) {
  Hasher h;
  h.add((static_cast<uint64_t>(n.kind) << 32) | (static_cast<uint64_t>(n.type) << 24) |
        (static_cast<uint64_t>(n.function) << 16) | (static_cast<uint64_t>(n.reduce) << 8) | (n.is_ordered ? 1 : 0));
  h.add((uint64_t{n.index} << 32) | n.slot);
  h.add(std::bit_cast<uint64_t>(n.number));
  h.add((uint64_t{n.integer.index} << 32) | n.condition.index);
  for (IntId c : n.coords) {
    h.add(uint64_t{c.index});
  }
  for (TermId o : n.operands) {
    h.add(uint64_t{o.index});
  }
  for (const Binder& b : n.binders) {
    h.add((uint64_t{b.lo.index} << 32) | b.hi.index);
    h.add(uint64_t{b.var.index});
  }
  return h.value();
}

bool holds_all_values_of(ElementType wide, ElementType narrow) {
  if (wide == narrow) {
    return true;
  }
  auto rank = [](ElementType t) {
    switch (t) {
      case ElementType::E4m3:
      case ElementType::E5m2:
        return 0;
      case ElementType::F16:
      case ElementType::Bf16:
        return 1;
      case ElementType::Tf32:
        return 2;
      case ElementType::F32:
        return 3;
      case ElementType::F64:
        return 4;
      default:
        return -1;
    }
  };
  return rank(narrow) >= 0 && rank(wide) > rank(narrow);
}

}  // namespace

Values::Values(domain::Ints& ints) : ints_(ints) {
  for (int i = 0; i < 4; ++i) {
    axes_[i] = ints_.add_var("axis" + std::to_string(i));
  }
}

VarId Values::bound_var(uint32_t height) {
  while (bound_vars_.size() <= height) {
    bound_vars_.push_back(ints_.add_var("b" + std::to_string(bound_vars_.size())));
  }
  return bound_vars_[height];
}

TermId Values::intern(TermNode node) {
  uint64_t hash = hash_of(node);
  auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (same(nodes_[it->second.index].node, node)) {
      return it->second;
    }
  }
  Entry entry;
  std::vector<VarId> inner;
  for (TermId o : node.operands) {
    const Entry& operand = nodes_[o.index];
    merge(inner, operand.vars);
    merge(entry.carried_loops, operand.carried_loops);
    entry.height = std::max(entry.height, operand.height);
    entry.has_opaque |= operand.has_opaque;
    entry.has_uninitialized |= operand.has_uninitialized;
  }
  for (const Binder& b : node.binders) {
    std::erase(inner, b.var);
    auto it = std::find(bound_vars_.begin(), bound_vars_.end(), b.var);
    entry.height = std::max(entry.height, static_cast<uint32_t>(it - bound_vars_.begin()) + 1);
  }
  // Bounds of later binders may use earlier ones.
  for (const Binder& b : node.binders) {
    for (IntId bound : {b.lo, b.hi}) {
      if (!bound.is_valid()) {
        continue;
      }
      std::vector<VarId> used = ints_.vars(bound);
      for (const Binder& other : node.binders) {
        std::erase(used, other.var);
      }
      merge(inner, used);
    }
  }
  entry.vars = std::move(inner);
  for (IntId c : node.coords) {
    merge(entry.vars, ints_.vars(c));
  }
  if (node.integer.is_valid()) {
    merge(entry.vars, ints_.vars(node.integer));
  }
  if (node.condition.is_valid()) {
    merge(entry.vars, ints_.vars(node.condition));
  }
  if (node.kind == TermKind::Carried) {
    merge(entry.carried_loops, {node.index});
  }
  if (node.kind == TermKind::Loop) {
    std::erase(entry.carried_loops, kBoundLoop + node.slot);
  }
  entry.has_opaque |= node.kind == TermKind::Opaque;
  entry.has_uninitialized |= node.kind == TermKind::Uninitialized;
  entry.node = std::move(node);
  TermId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(std::move(entry));
  index_.emplace(hash, id);
  return id;
}

bool Values::uses(TermId id, VarId var) const {
  const auto& v = vars(id);
  return std::binary_search(v.begin(), v.end(), var);
}

bool Values::has_carried(TermId id, uint32_t loop) const {
  const auto& loops = nodes_[id.index].carried_loops;
  return std::binary_search(loops.begin(), loops.end(), loop);
}

TermId Values::leaf(uint32_t tensor, ElementType type, std::vector<IntId> coords, double fill) {
  TermNode n;
  n.kind = TermKind::Leaf;
  n.type = type;
  n.index = tensor;
  n.number = fill;
  n.coords = std::move(coords);
  return intern(std::move(n));
}

TermId Values::constant(double value, ElementType type) {
  TermNode n;
  n.kind = TermKind::Constant;
  n.type = type;
  // One zero: a reduction of reals does not tell +0 from -0.
  double rounded = round_to(value, type);
  n.number = rounded == 0 ? 0.0 : rounded;
  return intern(std::move(n));
}

TermId Values::pad(double value, ElementType type) {
  TermNode n = node(constant(value, type));
  n.slot = kPadSlot;
  return intern(std::move(n));
}

TermId Values::integer(IntId value) {
  TermNode n;
  n.kind = TermKind::Integer;
  n.type = ElementType::I64;
  n.integer = value;
  return intern(std::move(n));
}

TermId Values::truth(CondId value) {
  TermNode n;
  n.kind = TermKind::Truth;
  n.type = ElementType::Bool;
  n.condition = value;
  return intern(std::move(n));
}

TermId Values::argument(uint32_t number, ElementType type) {
  TermNode n;
  n.kind = TermKind::Argument;
  n.type = type;
  n.index = number;
  return intern(std::move(n));
}

TermId Values::uninitialized(ElementType type) {
  TermNode n;
  n.kind = TermKind::Uninitialized;
  n.type = type;
  return intern(std::move(n));
}

TermId Values::opaque(ElementType type) {
  TermNode n;
  n.kind = TermKind::Opaque;
  n.type = type;
  n.index = opaque_count_++;
  return intern(std::move(n));
}

TermId Values::apply(ElementwiseKind function, ElementType type, std::vector<TermId> operands) {
  // Copies: interning may move the table.
  std::vector<TermNode> nodes;
  for (TermId o : operands) {
    nodes.push_back(node(o));
  }
  auto all = [&](TermKind kind) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const TermNode& n) { return n.kind == kind; });
  };
  auto is_number = [&](const TermNode& n) {
    return n.kind == TermKind::Integer ||
           (n.kind == TermKind::Constant && !is_pad(n) && !is_floating(n.type) && n.type != ElementType::Bool);
  };
  auto number = [&](const TermNode& n) {
    return n.kind == TermKind::Integer ? n.integer : ints_.constant(static_cast<int64_t>(n.number));
  };
  if (nodes.size() == 2 && is_number(nodes[0]) && is_number(nodes[1])) {
    IntId a = number(nodes[0]), b = number(nodes[1]);
    switch (function) {
      case ElementwiseKind::Add:
        return integer(ints_.add(a, b));
      case ElementwiseKind::Sub:
        return integer(ints_.sub(a, b));
      case ElementwiseKind::Mul:
        return integer(ints_.mul(a, b));
      case ElementwiseKind::Maximum:
        return integer(ints_.max(a, b));
      case ElementwiseKind::Minimum:
        return integer(ints_.min(a, b));
      case ElementwiseKind::Eq:
        return truth(ints_.eq(a, b));
      case ElementwiseKind::Ne:
        return truth(ints_.negate(ints_.eq(a, b)));
      case ElementwiseKind::Lt:
        return truth(ints_.lt(a, b));
      case ElementwiseKind::Le:
        return truth(ints_.le(a, b));
      default:
        break;
    }
  }
  if (function == ElementwiseKind::Neg && is_number(nodes[0])) {
    return integer(ints_.scale(number(nodes[0]), -1));
  }
  if (function == ElementwiseKind::Cast && is_number(nodes[0]) && !is_floating(type) && type != ElementType::Bool) {
    // That the type suffices is an obligation of its own (IntegerRecord).
    return integer(number(nodes[0]));
  }
  if (all(TermKind::Truth)) {
    switch (function) {
      case ElementwiseKind::And:
        return truth(ints_.conjunction({nodes[0].condition, nodes[1].condition}));
      case ElementwiseKind::Or:
        return truth(ints_.disjunction({nodes[0].condition, nodes[1].condition}));
      case ElementwiseKind::Not:
        return truth(ints_.negate(nodes[0].condition));
      default:
        break;
    }
  }
  if (function == ElementwiseKind::Where && nodes[0].kind == TermKind::Truth) {
    return select(nodes[0].condition, operands[1], operands[2]);
  }
  if (function == ElementwiseKind::Cast && is_floating(type) && is_floating(nodes[0].type) &&
      holds_all_values_of(type, nodes[0].type)) {
    return operands[0];
  }
  if (function == ElementwiseKind::Maximum || function == ElementwiseKind::Minimum) {
    ReduceKind kind = function == ElementwiseKind::Maximum ? ReduceKind::Max : ReduceKind::Min;
    return accumulate(kind, type, std::move(operands));
  }
  if (all(TermKind::Constant)) {
    std::vector<double> numbers;
    for (const TermNode& n : nodes) {
      numbers.push_back(n.number);
    }
    if (auto value = folded(function, type, numbers)) {
      if (std::any_of(nodes.begin(), nodes.end(), is_pad)) {
        return pad(*value, type);
      }
      return type == ElementType::Bool ? truth(ints_.truth(*value != 0)) : constant(*value, type);
    }
  }
  TermNode n;
  n.kind = TermKind::Apply;
  n.function = function;
  n.type = type;
  n.operands = std::move(operands);
  if (function == ElementwiseKind::Add || function == ElementwiseKind::Mul || function == ElementwiseKind::And ||
      function == ElementwiseKind::Or || function == ElementwiseKind::Eq || function == ElementwiseKind::Ne) {
    // a + b is b + a exactly.
    std::sort(n.operands.begin(), n.operands.end());
  }
  return intern(std::move(n));
}

TermId Values::product(TermId a, TermId b) {
  if (node(a).kind == TermKind::Constant && node(b).kind == TermKind::Constant) {
    const double value = node(a).number * node(b).number;
    return is_pad(node(a)) || is_pad(node(b)) ? pad(value, ElementType::F64) : constant(value, ElementType::F64);
  }
  TermNode n;
  n.kind = TermKind::Product;
  n.type = ElementType::F64;
  n.operands = {std::min(a, b), std::max(a, b)};
  return intern(std::move(n));
}

TermId Values::accumulate(ReduceKind kind, ElementType type, std::vector<TermId> operands) {
  TermNode n;
  n.kind = TermKind::Accumulate;
  n.type = type;
  n.reduce = kind;
  for (TermId o : operands) {
    const TermNode& operand = node(o);
    if (operand.kind == TermKind::Accumulate && operand.reduce == kind && operand.type == type) {
      n.operands.insert(n.operands.end(), operand.operands.begin(), operand.operands.end());
    } else if (operand.kind == TermKind::Constant && operand.number == neutral(kind)) {
      continue;
    } else {
      n.operands.push_back(o);
    }
  }
  std::sort(n.operands.begin(), n.operands.end());
  if (kind != ReduceKind::Add) {
    n.operands.erase(std::unique(n.operands.begin(), n.operands.end()), n.operands.end());
  }
  if (n.operands.empty()) {
    return constant(neutral(kind), type);
  }
  if (n.operands.size() == 1 && (node(n.operands[0]).type == type || kind != ReduceKind::Add)) {
    return n.operands[0];
  }
  return intern(std::move(n));
}

TermId Values::reduce(ReduceKind kind, ElementType type, std::vector<Binder> binders, TermId body, bool is_ordered) {
  // A body that is a reduction of the same kind: one reduction over all binders.
  const TermNode inner = node(body);
  if (!is_ordered && inner.kind == TermKind::Reduce && inner.reduce == kind && inner.type == type &&
      !inner.is_ordered) {
    Opened opened = open(body);
    binders.insert(binders.end(), opened.binders.begin(), opened.binders.end());
    return reduce(kind, type, std::move(binders), opened.body, false);
  }
  if (!is_ordered && inner.kind == TermKind::Accumulate && inner.reduce == kind && inner.type == type) {
    std::vector<TermId> parts;
    for (TermId o : inner.operands) {
      parts.push_back(reduce(kind, type, binders, o, false));
    }
    return accumulate(kind, type, std::move(parts));
  }
  if (inner.kind == TermKind::Constant && inner.number == neutral(kind)) {
    return constant(neutral(kind), type);
  }
  if (binders.empty()) {
    return accumulate(kind, type, {body});
  }
  uint32_t height = nodes_[body.index].height;
  domain::Substitution close;
  std::vector<Binder> bound = binders;
  for (Binder& b : bound) {
    VarId canonical = bound_var(height++);
    close.emplace(b.var, ints_.var(canonical));
    b.var = canonical;
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    bound[i].lo = ints_.substitute(binders[i].lo, close);
    bound[i].hi = ints_.substitute(binders[i].hi, close);
  }
  TermNode n;
  n.kind = TermKind::Reduce;
  n.type = type;
  n.reduce = kind;
  n.is_ordered = is_ordered;
  n.operands = {substitute(body, close)};
  n.binders = std::move(bound);
  return intern(std::move(n));
}

Values::Opened Values::open(TermId id) {
  const TermNode n = node(id);
  TW_CHECK(n.kind == TermKind::Reduce);
  Opened opened;
  domain::Substitution replace;
  for (const Binder& b : n.binders) {
    VarId fresh = ints_.add_var("k" + std::to_string(ints_.var_count()));
    replace.emplace(b.var, ints_.var(fresh));
    opened.binders.push_back({fresh, b.lo, b.hi});
  }
  for (Binder& b : opened.binders) {
    b.lo = ints_.substitute(b.lo, replace);
    b.hi = ints_.substitute(b.hi, replace);
  }
  opened.body = substitute(n.operands[0], replace);
  return opened;
}

TermId Values::select(CondId condition, TermId if_true, TermId if_false) {
  if (if_true == if_false || condition == ints_.truth(true)) {
    return if_true;
  }
  if (condition == ints_.truth(false)) {
    return if_false;
  }
  if (node(if_true).kind == TermKind::Integer && node(if_false).kind == TermKind::Integer) {
    return integer(ints_.select(condition, node(if_true).integer, node(if_false).integer));
  }
  TermNode n;
  n.kind = TermKind::Select;
  n.type = node(if_true).type;
  n.condition = condition;
  n.operands = {if_true, if_false};
  return intern(std::move(n));
}

TermId Values::carried(uint32_t loop, uint32_t slot, ElementType type, std::vector<IntId> coords) {
  TermNode n;
  n.kind = TermKind::Carried;
  n.type = type;
  n.index = loop;
  n.slot = slot;
  n.coords = std::move(coords);
  return intern(std::move(n));
}

TermId Values::loop_state(uint32_t loop, uint32_t slot, ElementType type, std::vector<IntId> coords, VarId iteration,
                          std::vector<TermId> inits, std::vector<TermId> yields) {
  // Only the slots that `slot` depends on, in order of discovery, so that further carried values do not matter.
  std::vector<uint32_t> used{slot};
  std::vector<uint32_t> number(inits.size(), UINT32_MAX);
  number[slot] = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    std::vector<TermId> open{yields[used[i]]};
    std::unordered_map<TermId, bool> seen;
    while (!open.empty()) {
      TermId id = open.back();
      open.pop_back();
      if (!has_carried(id, loop) || !seen.emplace(id, true).second) {
        continue;
      }
      const TermNode& n = node(id);
      if (n.kind == TermKind::Carried && n.index == loop && number[n.slot] == UINT32_MAX) {
        number[n.slot] = static_cast<uint32_t>(used.size());
        used.push_back(n.slot);
      }
      open.insert(open.end(), n.operands.rbegin(), n.operands.rend());
    }
  }
  uint32_t height = 0;
  for (uint32_t s : used) {
    height = std::max({height, nodes_[inits[s].index].height, nodes_[yields[s].index].height});
  }
  TermNode n;
  n.kind = TermKind::Loop;
  n.type = type;
  n.index = 0;
  // Also the number by which the operands' Carried terms name this loop.
  n.slot = height;
  n.coords = std::move(coords);
  domain::Substitution close;
  VarId canonical = bound_var(height++);
  close.emplace(iteration, ints_.var(canonical));
  n.binders.push_back({canonical, {}, {}});
  for (int i = 0; i < 4; ++i) {
    canonical = bound_var(height++);
    close.emplace(axes_[i], ints_.var(canonical));
    n.binders.push_back({canonical, {}, {}});
  }
  for (uint32_t s : used) {
    n.operands.push_back(substitute(inits[s], close));
  }
  for (uint32_t s : used) {
    n.operands.push_back(substitute(rename_carried(yields[s], loop, kBoundLoop + n.slot, number), close));
  }
  return intern(std::move(n));
}

TermId Values::with_operands(TermId id, std::vector<TermId> operands) {
  const TermNode n = node(id);
  if (operands == n.operands) {
    return id;
  }
  switch (n.kind) {
    case TermKind::Apply:
      return apply(n.function, n.type, std::move(operands));
    case TermKind::Product:
      return product(operands[0], operands[1]);
    case TermKind::Accumulate:
      return accumulate(n.reduce, n.type, std::move(operands));
    case TermKind::Select:
      return select(n.condition, operands[0], operands[1]);
    default:
      return id;
  }
}

TermId Values::substitute(TermId id, const domain::Substitution& replacements) {
  std::unordered_map<TermId, TermId> done;
  auto touches = [&](TermId t) {
    for (VarId v : vars(t)) {
      if (replacements.contains(v)) {
        return true;
      }
    }
    return false;
  };
  auto ints = [&](std::vector<IntId> list) {
    for (IntId& i : list) {
      i = ints_.substitute(i, replacements);
    }
    return list;
  };
  std::function<TermId(TermId)> visit = [&](TermId t) -> TermId {
    if (!touches(t)) {
      return t;
    }
    if (auto it = done.find(t); it != done.end()) {
      return it->second;
    }
    const TermNode n = node(t);
    TermId result;
    switch (n.kind) {
      case TermKind::Leaf:
        result = leaf(n.index, n.type, ints(n.coords), n.number);
        break;
      case TermKind::Integer:
        result = integer(ints_.substitute(n.integer, replacements));
        break;
      case TermKind::Truth:
        result = truth(ints_.substitute(n.condition, replacements));
        break;
      case TermKind::Carried:
        result = carried(n.index, n.slot, n.type, ints(n.coords));
        break;
      case TermKind::Select:
        result = select(ints_.substitute(n.condition, replacements), visit(n.operands[0]), visit(n.operands[1]));
        break;
      case TermKind::Reduce:
      case TermKind::Loop: {
        // Bound variables are numbered from the inside; what is put in holds none of them, since terms are opened with
        // fresh variables before anything else is done to them.
        TermNode copy = n;
        copy.coords = ints(copy.coords);
        for (TermId& o : copy.operands) {
          o = visit(o);
        }
        for (Binder& b : copy.binders) {
          if (b.lo.is_valid()) {
            b.lo = ints_.substitute(b.lo, replacements);
            b.hi = ints_.substitute(b.hi, replacements);
          }
        }
        if (n.kind == TermKind::Reduce) {
          const TermNode& body = node(copy.operands[0]);
          if (body.kind == TermKind::Constant && body.number == neutral(n.reduce)) {
            result = constant(neutral(n.reduce), n.type);
            break;
          }
        }
        result = intern(std::move(copy));
        break;
      }
      default: {
        std::vector<TermId> operands;
        for (TermId o : n.operands) {
          operands.push_back(visit(o));
        }
        result = with_operands(t, std::move(operands));
        break;
      }
    }
    done.emplace(t, result);
    return result;
  };
  return visit(id);
}

TermId Values::rename_carried(TermId id, uint32_t from, uint32_t to, const std::vector<uint32_t>& slots) {
  std::unordered_map<TermId, TermId> done;
  std::function<TermId(TermId)> visit = [&](TermId t) -> TermId {
    if (!has_carried(t, from)) {
      return t;
    }
    if (auto it = done.find(t); it != done.end()) {
      return it->second;
    }
    const TermNode n = node(t);
    TermId result;
    if (n.kind == TermKind::Carried && n.index == from) {
      result = carried(to, slots[n.slot], n.type, n.coords);
    } else if (n.kind == TermKind::Reduce || n.kind == TermKind::Loop) {
      TermNode copy = n;
      for (TermId& o : copy.operands) {
        o = visit(o);
      }
      result = intern(std::move(copy));
    } else {
      std::vector<TermId> operands;
      for (TermId o : n.operands) {
        operands.push_back(visit(o));
      }
      result = with_operands(t, std::move(operands));
    }
    done.emplace(t, result);
    return result;
  };
  return visit(id);
}

TermId Values::substitute_carried(TermId id, uint32_t loop, VarId iteration, const std::vector<TermId>& states) {
  std::unordered_map<TermId, TermId> done;
  std::function<TermId(TermId)> visit = [&](TermId t) -> TermId {
    if (!has_carried(t, loop)) {
      return t;
    }
    if (auto it = done.find(t); it != done.end()) {
      return it->second;
    }
    const TermNode n = node(t);
    TermId result = t;
    if (n.kind == TermKind::Carried && n.index == loop) {
      if (states[n.slot].is_valid()) {
        domain::Substitution at{{iteration, n.coords[0]}};
        for (size_t i = 1; i < n.coords.size(); ++i) {
          at.emplace(axes_[i - 1], n.coords[i]);
        }
        result = substitute(states[n.slot], at);
      }
    } else if (n.kind == TermKind::Reduce) {
      // What comes in may hold reductions of its own: close again over fresh variables.
      Opened opened = open(t);
      TermId body = substitute_carried(opened.body, loop, iteration, states);
      result = reduce(n.reduce, n.type, std::move(opened.binders), body, n.is_ordered);
    } else if (n.kind == TermKind::Loop) {
      // A nested loop without closed form that uses a carried value of an outer one: reopen its binders.
      domain::Substitution replace;
      VarId inner = ints_.add_var("k" + std::to_string(ints_.var_count()));
      replace.emplace(n.binders[0].var, ints_.var(inner));
      for (int i = 0; i < 4; ++i) {
        replace.emplace(n.binders[i + 1].var, ints_.var(axes_[i]));
      }
      size_t count = n.operands.size() / 2;
      std::vector<TermId> inits, yields;
      for (size_t i = 0; i < n.operands.size(); ++i) {
        // Operands over the axis variables; the outer state is a function of its own coordinates, so no clash arises.
        TermId operand = substitute_carried(substitute(n.operands[i], replace), loop, iteration, states);
        (i < count ? inits : yields).push_back(operand);
      }
      result = loop_state(kBoundLoop + n.slot, 0, n.type, n.coords, inner, std::move(inits), std::move(yields));
    } else {
      std::vector<TermId> operands;
      for (TermId o : n.operands) {
        operands.push_back(visit(o));
      }
      result = with_operands(t, std::move(operands));
    }
    done.emplace(t, result);
    return result;
  };
  return visit(id);
}

std::string Values::to_string(TermId id) const {
  const TermNode& n = node(id);
  auto list = [&](const auto& items, const auto& show) {
    std::string text;
    for (const auto& item : items) {
      text += (text.empty() ? "" : ", ") + show(item);
    }
    return text;
  };
  auto coords = [&] { return list(n.coords, [&](IntId i) { return ints_.to_string(i); }); };
  auto operands = [&] { return list(n.operands, [&](TermId t) { return to_string(t); }); };
  static constexpr const char* kReduceNames[] = {"sum", "max", "min", "or"};
  switch (n.kind) {
    case TermKind::Leaf:
      return "T" + std::to_string(n.index) + "[" + coords() + "]";
    case TermKind::Constant:
      return std::to_string(n.number);
    case TermKind::Integer:
      return ints_.to_string(n.integer);
    case TermKind::Truth:
      return ints_.to_string(n.condition);
    case TermKind::Argument:
      return "argument" + std::to_string(n.index);
    case TermKind::Apply:
      return std::string(ir::name_of(n.function)) + "." + std::string(name_of(n.type)) + "(" + operands() + ")";
    case TermKind::Product:
      return "(" + to_string(n.operands[0]) + " * " + to_string(n.operands[1]) + ")";
    case TermKind::Accumulate:
      return std::string(kReduceNames[static_cast<int>(n.reduce)]) + "{" + operands() + "}";
    case TermKind::Reduce:
      return std::string(kReduceNames[static_cast<int>(n.reduce)]) + (n.is_ordered ? "!" : "") + "[" +
             list(n.binders,
                  [&](const Binder& b) {
                    return ints_.name(b.var) + " in " + ints_.to_string(b.lo) + " .. " + ints_.to_string(b.hi);
                  }) +
             "](" + operands() + ")";
    case TermKind::Select:
      return "(" + to_string(n.operands[0]) + " if " + ints_.to_string(n.condition) + " else " +
             to_string(n.operands[1]) + ")";
    case TermKind::Carried:
      return "carried" + std::to_string(n.index) + "." + std::to_string(n.slot) + "[" + coords() + "]";
    case TermKind::Loop:
      return "loop[" + coords() + "](" + operands() + ")";
    case TermKind::Uninitialized:
      return "uninitialized";
    case TermKind::Opaque:
      return "opaque" + std::to_string(n.index);
  }
  return "";
}

}  // namespace tw::analysis
