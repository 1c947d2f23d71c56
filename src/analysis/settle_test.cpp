// SPDX-License-Identifier: Apache-2.0
#include "analysis/settle.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace tw::analysis {
namespace {

using domain::Assignment;
using domain::Facts;

// Terms as numbers, by their definition and nothing else.
class Numbers {
 public:
  Numbers(Environment& env, const std::vector<std::vector<int64_t>>& extents) : env_(env), extents_(extents) {}

  double value(TermId id, Assignment at) const {
    const TermNode n = env_.values.node(id);
    switch (n.kind) {
      case TermKind::Leaf: {
        int64_t hash = 17 + n.index;
        for (size_t i = 0; i < n.coords.size(); ++i) {
          int64_t c = *env_.ints.evaluate(n.coords[i], at);
          if (c < 0 || c >= extents_[n.index][i]) {
            return n.number;
          }
          hash = hash * 31 + c;
        }
        // Small integers, so that sums of products are exact in any order.
        return static_cast<double>(hash % 7) - 3;
      }
      case TermKind::Constant:
        return n.number;
      case TermKind::Integer:
        return static_cast<double>(*env_.ints.evaluate(n.integer, at));
      case TermKind::Truth:
        return *env_.ints.evaluate(n.condition, at) ? 1 : 0;
      case TermKind::Product:
        return value(n.operands[0], at) * value(n.operands[1], at);
      case TermKind::Select:
        return value(n.operands[*env_.ints.evaluate(n.condition, at) ? 0 : 1], at);
      case TermKind::Apply: {
        std::vector<double> x;
        for (TermId o : n.operands) {
          x.push_back(value(o, at));
        }
        return Values::function_value(n.function, x);
      }
      case TermKind::Accumulate: {
        double sum = Values::neutral(n.reduce);
        for (TermId o : n.operands) {
          sum = combine(n.reduce, sum, value(o, at));
        }
        return sum;
      }
      case TermKind::Reduce:
        return reduce(n, 0, at);
      default:
        ADD_FAILURE() << "no number for " << env_.values.to_string(id);
        return 0;
    }
  }

 private:
  static double combine(ir::ReduceKind kind, double a, double b) {
    return kind == ir::ReduceKind::Add ? a + b : kind == ir::ReduceKind::Max ? std::fmax(a, b) : std::fmin(a, b);
  }
  double reduce(const TermNode& n, size_t depth, Assignment& at) const {
    if (depth == n.binders.size()) {
      return value(n.operands[0], at);
    }
    const Binder& b = n.binders[depth];
    double sum = Values::neutral(n.reduce);
    int64_t lo = *env_.ints.evaluate(b.lo, at), hi = *env_.ints.evaluate(b.hi, at);
    for (int64_t x = lo; x < hi; ++x) {
      at[b.var] = x;
      sum = combine(n.reduce, sum, reduce(n, depth + 1, at));
    }
    return sum;
  }

  Environment& env_;
  const std::vector<std::vector<int64_t>>& extents_;
};

// Two tensors of extents (M, K) and (N, K); tiles of 4 by 4 by 3.
struct Setting {
  Environment env;
  ir::Function f;
  std::vector<bool> finite;
  VarId m, n, k, tile;
  Facts facts;

  Setting() {
    std::vector<ir::ExprId> sizes;
    for (const char* name : {"M", "N", "K"}) {
      ir::SymbolId id = f.exprs.add_symbol(name, ir::SymbolKind::Size);
      f.sizes.push_back(id);
      sizes.push_back(f.exprs.symbol_ref(id));
    }
    for (int i = 0; i < 2; ++i) {
      ir::Tensor t;
      t.name = i == 0 ? "A" : "B";
      t.element = ElementType::F32;
      t.extents = {sizes[i], sizes[2]};
      f.tensors.push_back(t);
    }
    finite = {false, true};
    m = env.named("M");
    n = env.named("N");
    k = env.named("K");
    tile = env.ints.add_var("bm");
    for (VarId v : {m, n, k, tile}) {
      facts.assume(env.ints.non_negative(env.ints.var(v)));
    }
    for (int i = 0; i < 2; ++i) {
      facts.assume(env.ints.non_negative(env.values.axis(i)));
      facts.assume(env.ints.lt(env.values.axis(i), env.ints.constant(4)));
    }
  }
  IntId number(int64_t x) { return env.ints.constant(x); }
};

// sum over k < cdiv(K, 3), kk < 3 of A[bm*4 + i, 3*k + kk] * B[j, 3*k + kk], the inner index split further.
TermId tiled_product(Setting& s, bool split) {
  auto& ints = s.env.ints;
  auto& values = s.env.values;
  VarId k = ints.add_var("k"), kk = ints.add_var("kk");
  IntId row = ints.add(ints.scale(ints.var(s.tile), 4), values.axis(0));
  auto slice = [&](IntId inner, int64_t width, VarId var) {
    IntId column = ints.add(ints.scale(ints.var(k), 3), inner);
    TermId body = values.product(values.leaf(0, ElementType::F32, {row, column}, 0),
                                 values.leaf(1, ElementType::F32, {values.axis(1), column}, 0));
    return values.reduce(ir::ReduceKind::Add, ElementType::F32, {{var, s.number(0), s.number(width)}}, body);
  };
  TermId step;
  if (split) {
    VarId other = ints.add_var("kk");
    step = values.accumulate(ir::ReduceKind::Add, ElementType::F32,
                             {slice(ints.var(kk), 2, kk), slice(ints.add(ints.var(other), s.number(2)), 1, other)});
  } else {
    step = slice(ints.var(kk), 3, kk);
  }
  return values.reduce(ir::ReduceKind::Add, ElementType::F32,
                       {{k, s.number(0), ints.ceil_div(ints.var(s.k), s.number(3))}}, step);
}

TEST(Settle, TiledSumsBecomeOneSum) {
  Setting s;
  Settler settler(s.env, s.f, s.finite);
  auto& ints = s.env.ints;
  auto& values = s.env.values;
  VarId x = ints.add_var("x");
  IntId row = ints.add(ints.scale(ints.var(s.tile), 4), values.axis(0));
  TermId whole = values.reduce(ir::ReduceKind::Add, ElementType::F32, {{x, s.number(0), ints.var(s.k)}},
                               values.product(values.leaf(0, ElementType::F32, {row, ints.var(x)}, 0),
                                              values.leaf(1, ElementType::F32, {values.axis(1), ints.var(x)}, 0)));
  TermId expected = settler.settle(whole, s.facts);
  EXPECT_EQ(settler.settle(tiled_product(s, false), s.facts), expected) << values.to_string(expected);
  const TermId split = settler.settle(tiled_product(s, true), s.facts);
  EXPECT_EQ(split, expected) << values.to_string(split) << "\ninstead of " << values.to_string(expected);
}

TEST(Settle, APadThatIsNotNeutralStays) {
  Setting s;
  Settler settler(s.env, s.f, s.finite);
  auto& ints = s.env.ints;
  auto& values = s.env.values;
  auto row_maximum = [&](double fill) {
    VarId x = ints.add_var("x");
    return values.reduce(ir::ReduceKind::Max, ElementType::F32, {{x, s.number(0), s.number(64)}},
                         values.leaf(0, ElementType::F32, {values.axis(0), ints.var(x)}, fill));
  };
  s.facts.assume(ints.le(ints.var(s.k), s.number(64)));
  s.facts.assume(ints.lt(values.axis(0), ints.var(s.m)));
  auto range_end = [&](TermId t) { return values.node(settler.settle(t, s.facts)).binders[0].hi; };
  EXPECT_EQ(range_end(row_maximum(0)), s.number(64));
  EXPECT_EQ(range_end(row_maximum(-std::numeric_limits<double>::infinity())), ints.var(s.k));
}

// Random terms keep their value under random sizes that satisfy the facts.
TEST(Settle, KeepsTheValue) {
  for (int seed = 0; seed < 150; ++seed) {
    Setting s;
    Settler settler(s.env, s.f, s.finite);
    auto& ints = s.env.ints;
    auto& values = s.env.values;
    std::mt19937 rng(static_cast<unsigned>(seed));
    auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    std::vector<VarId> scope{s.tile, values.axis_var(0), values.axis_var(1)};
    std::function<IntId()> index = [&]() {
      IntId sum = s.number(pick(5) - 2);
      for (int i = 0; i < 2; ++i) {
        VarId v = scope[static_cast<size_t>(pick(static_cast<int>(scope.size())))];
        sum = ints.add(sum, ints.scale(ints.var(v), pick(3) == 0 ? 3 : 1));
      }
      return sum;
    };
    std::function<TermId(int)> make = [&](int depth) -> TermId {
      if (depth == 0) {
        uint32_t t = static_cast<uint32_t>(pick(2));
        return values.leaf(t, ElementType::F32, {index(), index()}, pick(4) == 0 ? 1.0 : 0.0);
      }
      switch (pick(5)) {
        case 0:
          return values.product(make(depth - 1), make(depth - 1));
        case 1:
          return values.accumulate(ir::ReduceKind::Add, ElementType::F32, {make(depth - 1), make(depth - 1)});
        case 2:
          return values.select(ints.lt(index(), pick(2) == 0 ? ints.var(s.k) : index()), make(depth - 1),
                               make(depth - 1));
        default: {
          VarId x = ints.add_var("x");
          IntId hi = pick(2) == 0 ? s.number(1 + pick(4)) : ints.ceil_div(ints.var(s.k), s.number(1 + pick(3)));
          scope.push_back(x);
          TermId body = make(depth - 1);
          scope.pop_back();
          return values.reduce(pick(4) == 0 ? ir::ReduceKind::Max : ir::ReduceKind::Add, ElementType::F32,
                               {{x, s.number(0), hi}}, body, pick(5) == 0);
        }
      }
    };
    TermId term = make(4);
    TermId settled = settler.settle(term, s.facts);
    for (int round = 0; round < 12; ++round) {
      Assignment at{{s.m, pick(6)},
                    {s.n, pick(6)},
                    {s.k, pick(8)},
                    {s.tile, pick(3)},
                    {values.axis_var(0), pick(4)},
                    {values.axis_var(1), pick(4)}};
      std::vector<std::vector<int64_t>> extents{{at[s.m], at[s.k]}, {at[s.n], at[s.k]}};
      Numbers numbers(s.env, extents);
      const double before = numbers.value(term, at), after = numbers.value(settled, at);
      ASSERT_TRUE(before == after || (std::isnan(before) && std::isnan(after)))
          << before << " became " << after << ", seed " << seed << "\n"
          << values.to_string(term) << "\n"
          << values.to_string(settled);
    }
  }
}

TEST(Values, BoundVariablesHaveNoNames) {
  Setting s;
  auto& ints = s.env.ints;
  auto& values = s.env.values;
  auto sum = [&](const char* name) {
    VarId x = ints.add_var(name);
    return values.reduce(ir::ReduceKind::Add, ElementType::F32, {{x, s.number(0), ints.var(s.k)}},
                         values.leaf(0, ElementType::F32, {values.axis(0), ints.var(x)}, 0));
  };
  EXPECT_EQ(sum("x"), sum("y"));
  // Substituting an index that is itself a bound variable's name elsewhere captures nothing.
  VarId z = ints.add_var("z");
  TermId inner = values.substitute(sum("x"), {{values.axis_var(0), ints.var(z)}});
  TermId nested = values.reduce(ir::ReduceKind::Max, ElementType::F32, {{z, s.number(0), ints.var(s.m)}}, inner);
  std::vector<std::vector<int64_t>> extents{{3, 4}, {0, 4}};
  Numbers numbers(s.env, extents);
  Assignment at{{s.m, 3}, {s.k, 4}};
  double best = -std::numeric_limits<double>::infinity();
  for (int64_t row = 0; row < 3; ++row) {
    Assignment here = at;
    here[values.axis_var(0)] = row;
    best = std::fmax(best, numbers.value(sum("w"), here));
  }
  EXPECT_EQ(numbers.value(nested, at), best);
}

}  // namespace
}  // namespace tw::analysis
