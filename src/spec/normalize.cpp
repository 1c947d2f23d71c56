// SPDX-License-Identifier: Apache-2.0
#include "spec/normalize.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numbers>
#include <unordered_map>

namespace tw::spec {
namespace {

using LevelMap = std::map<uint32_t, Term>;

// Rebuilds terms with indices replaced, so that bound indices stay numbered by depth.
class Rebuilder {
 public:
  explicit Rebuilder(const Computation* lets, size_t max_nodes) : lets_(lets), max_nodes_(max_nodes) {}

  // Free indices go through `map` (absent: kept); the first free level for bound indices is `depth`.
  Term rebuild(const Term& term, const LevelMap& map, uint32_t depth) {
    if (++nodes_ > max_nodes_) {
      return nullptr;
    }
    if (term->op == Op::Index) {
      auto found = map.find(term->level);
      return found == map.end() ? term : found->second;
    }
    LevelMap inner = map;
    uint32_t inner_depth = depth;
    Node copy = *term;
    for (BoundIndex& bound : copy.bound) {
      inner[bound.level] = index(inner_depth);
      bound.level = inner_depth++;
    }
    for (Term& operand : copy.operands) {
      operand = rebuild(operand, inner, inner_depth);
      if (operand == nullptr) {
        return nullptr;
      }
    }
    if (lets_ != nullptr && copy.op == Op::Element && lets_->tensor(copy.tensor).direction == Direction::Let) {
      LevelMap arguments;
      for (uint32_t i = 0; i < copy.operands.size(); ++i) {
        arguments[i] = copy.operands[i];
      }
      return rebuild(lets_->equation_of(copy.tensor)->term, arguments, depth);
    }
    return std::make_shared<const Node>(std::move(copy));
  }

 private:
  const Computation* lets_;
  size_t max_nodes_;
  size_t nodes_ = 0;
};

uint32_t depth_of(const Term& term) {
  std::vector<uint32_t> free = free_levels(term);
  return free.empty() ? 0 : free.back() + 1;
}

int sign(double a, double b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// A total order on terms. Constants count last, so that a small difference between two of them never changes an order
// that the rest of the terms decides.
int compare(const Term& a, const Term& b, bool with_constants) {
  if (a == b) {
    return 0;
  }
  auto three_way = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (int c = three_way(a->op, b->op); c != 0)
    return c;
  if (int c = three_way(a->dim.index, b->dim.index); c != 0)
    return c;
  if (int c = three_way(a->tensor.index, b->tensor.index); c != 0)
    return c;
  if (int c = three_way(a->level, b->level); c != 0)
    return c;
  if (a->op == Op::Round) {
    if (int c = three_way(a->type, b->type); c != 0)
      return c;
  }
  if (int c = three_way(a->operands.size(), b->operands.size()); c != 0)
    return c;
  if (int c = three_way(a->bound.size(), b->bound.size()); c != 0)
    return c;
  for (size_t i = 0; i < a->bound.size(); ++i) {
    if (int c = three_way(a->bound[i].level, b->bound[i].level); c != 0)
      return c;
    if (int c = three_way(a->bound[i].dim.index, b->bound[i].dim.index); c != 0)
      return c;
  }
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (int c = compare(a->operands[i], b->operands[i], with_constants); c != 0)
      return c;
  }
  return with_constants && a->op == Op::Constant ? sign(a->value, b->value) : 0;
}

bool precedes(const Term& a, const Term& b) {
  int order = compare(a, b, false);
  return order != 0 ? order < 0 : compare(a, b, true) < 0;
}

// coefficient * factor * factor * ...; the factors are sorted, none is a constant or a product.
struct Summand {
  double coefficient = 0;
  std::vector<Term> factors;
};
using Sum = std::vector<Summand>;

bool same_factors(const Summand& a, const Summand& b) {
  return std::ranges::equal(a.factors, b.factors, [](const Term& x, const Term& y) { return equivalent(x, y); });
}

bool precedes_summand(const Summand& a, const Summand& b) {
  return std::ranges::lexicographical_compare(a.factors, b.factors, precedes);
}

Sum merged(Sum sum) {
  std::ranges::stable_sort(sum, precedes_summand);
  Sum result;
  for (Summand& summand : sum) {
    if (!result.empty() && same_factors(result.back(), summand)) {
      double scale = std::abs(result.back().coefficient) + std::abs(summand.coefficient);
      result.back().coefficient += summand.coefficient;
      if (std::abs(result.back().coefficient) <= 1e-12 * scale) {
        result.back().coefficient = 0;
      }
    } else {
      result.push_back(std::move(summand));
    }
    if (result.back().coefficient == 0) {
      result.pop_back();
    }
  }
  return result;
}

class Normalizer {
 public:
  explicit Normalizer(size_t max_nodes) : max_nodes_(max_nodes) {}

  Term run(const Term& term) { return to_term(sum_of(term, depth_of(term))); }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }

 private:
  // Every node is kept alive and knows the size of its tree, so that a term whose tree is huge is found before it is
  // walked.
  Term node(Op op, std::vector<Term> operands, const Node* like = nullptr) {
    Node result;
    if (like != nullptr) {
      result = *like;
      result.span = {};
    }
    result.op = op;
    result.kind = Kind::Real;
    result.operands = std::move(operands);
    double size = 1;
    for (const Term& operand : result.operands) {
      auto known = sizes_.find(operand.get());
      size += known == sizes_.end() ? 1 : known->second;
    }
    if (size > static_cast<double>(max_nodes_)) {
      is_too_large_ = true;
    }
    Term term = std::make_shared<const Node>(std::move(result));
    sizes_[term.get()] = size;
    alive_.push_back(term);
    return term;
  }

  Term to_term(const Sum& sum) {
    std::vector<Term> terms;
    for (const Summand& summand : sum) {
      std::vector<Term> factors = summand.factors;
      if (summand.coefficient != 1 || factors.empty()) {
        factors.insert(factors.begin(), constant(summand.coefficient));
      }
      terms.push_back(factors.size() == 1 ? factors[0] : node(Op::Mul, std::move(factors)));
    }
    if (terms.empty()) {
      return constant(0);
    }
    return terms.size() == 1 ? terms[0] : node(Op::Add, std::move(terms));
  }

  static Sum number(double value) { return value == 0 ? Sum{} : Sum{{value, {}}}; }
  static Sum atom(Term term) { return {{1, {std::move(term)}}}; }

  static Sum scaled(Sum sum, double factor) {
    if (factor == 0) {
      return {};
    }
    for (Summand& summand : sum) {
      summand.coefficient *= factor;
    }
    return sum;
  }

  static Sum added(Sum a, const Sum& b) {
    a.insert(a.end(), b.begin(), b.end());
    return merged(std::move(a));
  }

  // A sum as one summand: several summands become one factor whose first coefficient is 1.
  Summand as_product(const Sum& sum) {
    if (sum.size() == 1) {
      return sum[0];
    }
    double lead = sum[0].coefficient;
    return {lead, {to_term(scaled(sum, 1 / lead))}};
  }

  Sum multiplied(const Sum& a, const Sum& b) {
    if (a.empty() || b.empty()) {
      return {};
    }
    if (a.size() == 1 && a[0].factors.empty()) {
      return scaled(b, a[0].coefficient);
    }
    if (b.size() == 1 && b[0].factors.empty()) {
      return scaled(a, b[0].coefficient);
    }
    Summand left = as_product(a);
    Summand right = as_product(b);
    left.coefficient *= right.coefficient;
    left.factors.insert(left.factors.end(), right.factors.begin(), right.factors.end());
    return {tidied(std::move(left))};
  }

  // Sorts factors and cancels N * (1 / N) for sizes.
  static Summand tidied(Summand summand) {
    for (size_t i = 0; i < summand.factors.size(); ++i) {
      if (summand.factors[i]->op != Op::Size) {
        continue;
      }
      auto inverse = std::ranges::find_if(summand.factors, [&](const Term& factor) {
        return factor->op == Op::Div && factor->operands[1]->op == Op::Size &&
               factor->operands[1]->dim == summand.factors[i]->dim;
      });
      if (inverse != summand.factors.end()) {
        auto at = static_cast<size_t>(inverse - summand.factors.begin());
        summand.factors.erase(summand.factors.begin() + static_cast<std::ptrdiff_t>(std::max(i, at)));
        summand.factors.erase(summand.factors.begin() + static_cast<std::ptrdiff_t>(std::min(i, at)));
        i = static_cast<size_t>(-1);
      }
    }
    std::ranges::stable_sort(summand.factors, precedes);
    return summand;
  }

  Sum inverted(const Sum& sum) {
    if (sum.empty()) {
      // 1 / 0 has no value to simplify to.
      return atom(node(Op::Div, {constant(1), constant(0)}));
    }
    Summand product = as_product(sum);
    Summand result{1 / product.coefficient, {}};
    for (const Term& factor : product.factors) {
      bool is_inverse = factor->op == Op::Div && factor->operands[0]->op == Op::Constant;
      result.factors.push_back(is_inverse ? factor->operands[1] : node(Op::Div, {constant(1), factor}));
    }
    return {tidied(std::move(result))};
  }

  Sum exponential(const Sum& argument) { return atom(node(Op::Exp2, {to_term(argument)})); }

  Sum sigmoid(const Sum& x) {
    Sum minus = scaled(x, -std::numbers::log2e);
    return inverted(added(number(1), exponential(minus)));
  }

  // x * (1 + g) / 2
  Sum gated(const Sum& x, Term gate) { return multiplied(scaled(x, 0.5), added(number(1), atom(std::move(gate)))); }

  Sum sum_of(const Term& term, uint32_t depth) {
    if (is_too_large_) {
      return {};
    }
    const Node& n = *term;
    auto argument = [&](size_t i) { return sum_of(n.operands[i], depth); };
    switch (n.op) {
      case Op::Constant:
        return number(n.value);
      case Op::Size:
      case Op::Index:
        return atom(node(n.op, {}, &n));
      case Op::Add:
        return added(argument(0), argument(1));
      case Op::Sub:
        return added(argument(0), scaled(argument(1), -1));
      case Op::Neg:
        return scaled(argument(0), -1);
      case Op::Mul:
        return multiplied(argument(0), argument(1));
      case Op::Div:
        return multiplied(argument(0), inverted(argument(1)));
      case Op::Exp:
        return exponential(scaled(argument(0), std::numbers::log2e));
      case Op::Exp2:
        return exponential(argument(0));
      case Op::Sigmoid:
        return sigmoid(argument(0));
      case Op::Rsqrt:
        return inverted(atom(node(Op::Sqrt, {to_term(argument(0))})));
      case Op::Relu:
        return commutative(Op::Maximum, {argument(0), number(0)});
      case Op::Silu: {
        Sum x = argument(0);
        return multiplied(x, sigmoid(x));
      }
      case Op::Gelu: {
        Sum x = argument(0);
        return gated(x, node(Op::Erf, {to_term(scaled(x, std::numbers::sqrt2 / 2))}));
      }
      case Op::GeluTanh: {
        Sum x = argument(0);
        Sum cube = scaled(multiplied(x, multiplied(x, x)), 0.044715);
        return gated(x, node(Op::Tanh, {to_term(scaled(added(x, cube), std::sqrt(2 / std::numbers::pi)))}));
      }
      case Op::Maximum:
      case Op::Minimum:
      case Op::And:
      case Op::Or:
        return commutative(n.op, {argument(0), argument(1)});
      case Op::Equal: {
        Term a = to_term(argument(0));
        Term b = to_term(argument(1));
        return atom(precedes(b, a) ? node(n.op, {b, a}) : node(n.op, {a, b}));
      }
      case Op::Sum:
        return summation(n, depth);
      case Op::Max:
      case Op::Min:
        return extremum(n, depth);
      default: {
        std::vector<Term> operands;
        for (size_t i = 0; i < n.operands.size(); ++i) {
          Term operand = to_term(argument(i));
          bool is_integer = n.op == Op::Element || n.op == Op::FloorDiv || n.op == Op::Mod;
          operands.push_back(is_integer ? integral(operand) : operand);
        }
        return atom(node(n.op, std::move(operands), &n));
      }
    }
  }

  // Coordinates stay integers, constants in them too.
  Term integral(const Term& term) {
    Node copy = *term;
    copy.kind = Kind::Integer;
    for (Term& operand : copy.operands) {
      operand = integral(operand);
    }
    Term result = std::make_shared<const Node>(std::move(copy));
    auto known = sizes_.find(term.get());
    sizes_[result.get()] = known == sizes_.end() ? 1 : known->second;
    alive_.push_back(result);
    return result;
  }

  Sum commutative(Op op, const std::vector<Sum>& arguments) {
    std::vector<Term> operands;
    for (const Sum& argument : arguments) {
      Term term = to_term(argument);
      if (term->op == op) {
        operands.insert(operands.end(), term->operands.begin(), term->operands.end());
      } else {
        operands.push_back(term);
      }
    }
    std::ranges::stable_sort(operands, precedes);
    auto repeated = std::ranges::unique(operands, [](const Term& a, const Term& b) { return equivalent(a, b); });
    operands.erase(repeated.begin(), repeated.end());
    return operands.size() == 1 ? atom(operands[0]) : atom(node(op, std::move(operands)));
  }

  Term renumbered(const Term& term, const LevelMap& map, uint32_t depth) {
    Term result = Rebuilder(nullptr, max_nodes_).rebuild(term, map, depth);
    if (result == nullptr) {
      is_too_large_ = true;
      return constant(0);
    }
    // The copy is as large as the original, which was counted.
    auto known = sizes_.find(term.get());
    sizes_[result.get()] = known == sizes_.end() ? 1 : known->second;
    alive_.push_back(result);
    return result;
  }

  Sum summation(const Node& n, uint32_t depth) {
    auto inner_depth = depth + static_cast<uint32_t>(n.bound.size());
    Sum result;
    for (Summand& summand : sum_of(n.operands[0], inner_depth)) {
      Summand outside{summand.coefficient, {}};
      std::vector<Term> inside;
      std::vector<BoundIndex> used;
      for (const Term& factor : summand.factors) {
        std::vector<uint32_t> levels = free_levels(factor);
        bool depends = std::ranges::any_of(
            n.bound, [&](const BoundIndex& bound) { return std::ranges::binary_search(levels, bound.level); });
        (depends ? inside : outside.factors).push_back(depends ? factor : renumbered(factor, {}, depth));
      }
      for (const BoundIndex& bound : n.bound) {
        bool is_used = std::ranges::any_of(
            inside, [&](const Term& factor) { return std::ranges::binary_search(free_levels(factor), bound.level); });
        if (is_used) {
          used.push_back(bound);
        } else {
          outside.factors.push_back(node(Op::Size, {}, size(bound.dim).get()));
        }
      }
      if (!inside.empty()) {
        Term body = to_term({{1, inside}});
        outside.factors.push_back(reduction(Op::Sum, std::move(used), body, depth));
      }
      result.push_back(tidied(std::move(outside)));
    }
    return merged(std::move(result));
  }

  Sum extremum(const Node& n, uint32_t depth) {
    auto inner_depth = depth + static_cast<uint32_t>(n.bound.size());
    Term body = to_term(sum_of(n.operands[0], inner_depth));
    std::vector<uint32_t> levels = free_levels(body);
    std::vector<BoundIndex> used;
    for (const BoundIndex& bound : n.bound) {
      if (std::ranges::binary_search(levels, bound.level)) {
        used.push_back(bound);
      }
    }
    if (used.empty()) {
      return sum_of(renumbered(body, {}, depth), depth);
    }
    return atom(reduction(n.op, std::move(used), body, depth));
  }

  // A reduction over `bound`, merged with one of the same kind directly inside; its indices in the order that gives the
  // least body.
  Term reduction(Op op, std::vector<BoundIndex> bound, Term body, uint32_t depth) {
    if (body->op == op) {
      bound.insert(bound.end(), body->bound.begin(), body->bound.end());
      body = body->operands[0];
    } else if (op == Op::Sum && body->op == Op::Mul) {
      body = sums_pulled_up(bound, body);
    }
    std::vector<size_t> order(bound.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    Term best;
    constexpr size_t kMaxPermuted = 4;
    do {
      LevelMap map;
      Node like;
      for (size_t i = 0; i < order.size(); ++i) {
        map[bound[order[i]].level] = index(depth + static_cast<uint32_t>(i));
        like.bound.push_back({depth + static_cast<uint32_t>(i), bound[order[i]].dim});
      }
      auto inner_depth = depth + static_cast<uint32_t>(order.size());
      // Renumbering changes the order of factors: sort again.
      Term candidate_body = resorted(renumbered(body, map, inner_depth));
      Term candidate = node(op, {candidate_body}, &like);
      if (best == nullptr || precedes(candidate, best)) {
        best = candidate;
      }
    } while (order.size() <= kMaxPermuted && std::next_permutation(order.begin(), order.end()) && !is_too_large_);
    return best;
  }

  // f * sum(i, g) under a sum is one sum over i too; its indices are added to `bound`.
  Term sums_pulled_up(std::vector<BoundIndex>& bound, const Term& body) {
    uint32_t added = 0;
    for (const Term& factor : body->operands) {
      added += factor->op == Op::Sum ? static_cast<uint32_t>(factor->bound.size()) : 0;
    }
    if (added == 0) {
      return body;
    }
    uint32_t next = std::ranges::max(bound, {}, &BoundIndex::level).level + 1;
    // All deeper indices are numbered above the merged ones, so that none captures another.
    uint32_t inner_depth = next + added;
    std::vector<Term> factors;
    for (const Term& factor : body->operands) {
      if (factor->op != Op::Sum) {
        factors.push_back(renumbered(factor, {}, inner_depth));
        continue;
      }
      LevelMap map;
      for (const BoundIndex& inner : factor->bound) {
        map[inner.level] = index(next);
        bound.push_back({next++, inner.dim});
      }
      Term inner = renumbered(factor->operands[0], map, inner_depth);
      if (inner->op == Op::Mul) {
        factors.insert(factors.end(), inner->operands.begin(), inner->operands.end());
      } else {
        factors.push_back(inner);
      }
    }
    return node(Op::Mul, std::move(factors));
  }

  Term resorted(const Term& term) {
    if (is_too_large_ || term->operands.empty()) {
      return term;
    }
    std::vector<Term> operands;
    for (const Term& operand : term->operands) {
      operands.push_back(resorted(operand));
    }
    switch (term->op) {
      case Op::Mul: {
        // A constant stays in front.
        auto begin = operands.begin() + (operands[0]->op == Op::Constant ? 1 : 0);
        std::stable_sort(begin, operands.end(), precedes);
        break;
      }
      case Op::Add: {
        Sum sum;
        for (const Term& operand : operands) {
          Summand summand{1, {operand}};
          if (operand->op == Op::Constant) {
            summand = {operand->value, {}};
          } else if (operand->op == Op::Mul) {
            summand.factors = operand->operands;
            if (summand.factors[0]->op == Op::Constant) {
              summand.coefficient = summand.factors[0]->value;
              summand.factors.erase(summand.factors.begin());
            }
          }
          sum.push_back(std::move(summand));
        }
        return to_term(merged(std::move(sum)));
      }
      case Op::Maximum:
      case Op::Minimum:
      case Op::And:
      case Op::Or:
      case Op::Equal:
        std::ranges::stable_sort(operands, precedes);
        break;
      default:
        break;
    }
    return node(term->op, std::move(operands), term.get());
  }

  size_t max_nodes_;
  bool is_too_large_ = false;
  std::unordered_map<const Node*, double> sizes_;
  std::vector<Term> alive_;
};

}  // namespace

Result<Term> expanded(const Computation& computation, const Term& term, size_t max_nodes) {
  Term result = Rebuilder(&computation, max_nodes).rebuild(term, {}, depth_of(term));
  if (result == nullptr) {
    return fail(fmt::format("the reference has more than {} operations once its `let`s are expanded", max_nodes));
  }
  return result;
}

Result<Term> normalized(const Term& term, size_t max_nodes) {
  Normalizer normalizer(max_nodes);
  Term result = normalizer.run(term);
  if (normalizer.is_too_large()) {
    return fail(fmt::format("the normal form of the reference has more than {} operations", max_nodes));
  }
  return result;
}

bool equivalent(const Term& a, const Term& b, double relative_tolerance) {
  if (a == b) {
    return true;
  }
  if (a->op != b->op || a->dim != b->dim || a->tensor != b->tensor || a->level != b->level || a->bound != b->bound ||
      a->operands.size() != b->operands.size() || (a->op == Op::Round && a->type != b->type)) {
    return false;
  }
  if (a->op == Op::Constant && a->value != b->value &&
      !(std::abs(a->value - b->value) <= relative_tolerance * std::max(std::abs(a->value), std::abs(b->value)))) {
    return false;
  }
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (!equivalent(a->operands[i], b->operands[i], relative_tolerance)) {
      return false;
    }
  }
  return true;
}

}  // namespace tw::spec
