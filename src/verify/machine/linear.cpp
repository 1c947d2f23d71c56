// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/linear.h"

namespace tw::verify {
namespace {

// nullopt: a coefficient does not fit 64 bits.
std::optional<Linear> combine(const Linear& a, const Linear& b, int64_t factor) {
  Linear out = a;
  auto accumulate = [&](int64_t& target, int64_t amount) {
    int64_t scaled = 0;
    return !__builtin_mul_overflow(amount, factor, &scaled) && !__builtin_add_overflow(target, scaled, &target);
  };
  if (!accumulate(out.constant, b.constant)) {
    return std::nullopt;
  }
  for (const auto& [atom, coefficient] : b.terms) {
    int64_t& target = out.terms[atom];
    if (!accumulate(target, coefficient)) {
      return std::nullopt;
    }
    if (target == 0) {
      out.terms.erase(atom);
    }
  }
  return out;
}

Linear atom_of(ir::ExprId expr) {
  return {{{expr, 1}}, 0};
}

}  // namespace

int64_t Linear::coefficient(ir::ExprId atom) const {
  auto found = terms.find(atom);
  return found == terms.end() ? 0 : found->second;
}

Linear Linear::without(ir::ExprId atom) const {
  Linear out = *this;
  out.terms.erase(atom);
  return out;
}

std::optional<ir::ExprId> Linear::single_atom() const {
  return terms.size() == 1 ? std::optional(terms.begin()->first) : std::nullopt;
}

Linear linear_of(const ir::ExprPool& pool, ir::ExprId expr) {
  const ir::ExprNode& node = pool.node(expr);
  switch (node.kind) {
    case ir::ExprKind::Const:
      return {{}, node.value};
    case ir::ExprKind::Add:
    case ir::ExprKind::Sub: {
      auto out = combine(linear_of(pool, node.operands[0]), linear_of(pool, node.operands[1]),
                         node.kind == ir::ExprKind::Add ? 1 : -1);
      return out ? *out : atom_of(expr);
    }
    case ir::ExprKind::Mul:
      for (int i = 0; i < 2; ++i) {
        if (auto factor = pool.constant_value(node.operands[i])) {
          auto out = combine({}, linear_of(pool, node.operands[1 - i]), *factor);
          return out ? *out : atom_of(expr);
        }
      }
      return atom_of(expr);
    default:
      return atom_of(expr);
  }
}

Linear difference(const Linear& a, const Linear& b) {
  auto out = combine(a, b, -1);
  // A difference that overflows is no longer decidable: an atom that equals nothing else.
  return out ? *out : Linear{{{ir::ExprId{}, 1}}, 0};
}

Linear sum(const Linear& a, const Linear& b) {
  auto out = combine(a, b, 1);
  return out ? *out : Linear{{{ir::ExprId{}, 1}}, 0};
}

}  // namespace tw::verify
