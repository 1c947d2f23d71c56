// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <random>

#include "domain/facts.h"
#include "domain/ints.h"
#include "domain/sampler.h"

namespace tw::domain {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Random expressions built twice: as normal forms and as plain functions of the variables.
struct Random {
  Ints ints;
  std::vector<VarId> vars;
  std::mt19937 rng;
  struct Pair {
    IntId id;
    std::function<int64_t(const std::vector<int64_t>&)> value;
  };
  explicit Random(int seed) : rng(seed) {
    for (const char* name : {"x", "y", "z"}) {
      vars.push_back(ints.add_var(name));
    }
  }
  int pick(int n) { return static_cast<int>(rng() % n); }
  Pair make(int depth) {
    if (depth == 0 || pick(5) == 0) {
      if (pick(2) == 0) {
        int64_t c = pick(17) - 8;
        return {ints.constant(c), [c](const auto&) { return c; }};
      }
      int v = pick(3);
      return {ints.var(vars[v]), [v](const auto& x) { return x[v]; }};
    }
    Pair a = make(depth - 1), b = make(depth - 1);
    switch (pick(7)) {
      case 0:
        return {ints.add(a.id, b.id), [=](const auto& x) { return a.value(x) + b.value(x); }};
      case 1:
        return {ints.sub(a.id, b.id), [=](const auto& x) { return a.value(x) - b.value(x); }};
      case 2: {
        int64_t c = pick(9) - 4;
        return {ints.scale(a.id, c), [=](const auto& x) { return a.value(x) * c; }};
      }
      case 3: {
        int64_t d = 1 + pick(8);
        return {ints.floor_div(a.id, ints.constant(d)), [=](const auto& x) { return floor_div(a.value(x), d); }};
      }
      case 4: {
        int64_t d = 1 + pick(8);
        return {ints.mod(a.id, ints.constant(d)),
                [=](const auto& x) { return a.value(x) - d * floor_div(a.value(x), d); }};
      }
      case 5:
        return {ints.min(a.id, b.id), [=](const auto& x) { return std::min(a.value(x), b.value(x)); }};
      default:
        return {ints.select(ints.le(a.id, b.id), a.id, ints.mul(a.id, b.id)),
                [=](const auto& x) { return a.value(x) <= b.value(x) ? a.value(x) : a.value(x) * b.value(x); }};
    }
  }
};

TEST(Ints, NormalFormsMeanTheExpression) {
  for (int seed = 0; seed < 300; ++seed) {
    Random r(seed);
    auto pair = r.make(4);
    for (int64_t x = -5; x <= 5; ++x) {
      for (int64_t y = -4; y <= 4; y += 2) {
        std::vector<int64_t> values{x, y, 3 - x};
        Assignment assignment{{r.vars[0], x}, {r.vars[1], y}, {r.vars[2], 3 - x}};
        ASSERT_EQ(r.ints.evaluate(pair.id, assignment), pair.value(values))
            << seed << ": " << r.ints.to_string(pair.id);
      }
    }
  }
}

TEST(Ints, SubstitutionCommutesWithEvaluation) {
  for (int seed = 1000; seed < 1200; ++seed) {
    Random r(seed);
    auto pair = r.make(4);
    auto by = r.make(2);
    IntId substituted = r.ints.substitute(pair.id, {{r.vars[0], by.id}});
    for (int64_t x = -4; x <= 4; ++x) {
      std::vector<int64_t> values{x, 2 * x - 1, 5 - x};
      Assignment before{{r.vars[0], values[0]}, {r.vars[1], values[1]}, {r.vars[2], values[2]}};
      values[0] = by.value(values);
      ASSERT_EQ(r.ints.evaluate(substituted, before), pair.value(values)) << seed;
    }
  }
}

TEST(Ints, EqualIndicesHaveEqualIds) {
  Ints ints;
  IntId k = ints.var(ints.add_var("k"));
  IntId j = ints.var(ints.add_var("j"));
  EXPECT_EQ(ints.add(ints.scale(k, 32), ints.add(j, ints.constant(16))),
            ints.add(ints.scale(ints.add(ints.scale(k, 4), ints.constant(2)), 8), j));
  EXPECT_EQ(ints.floor_div(ints.add(ints.scale(k, 8), j), ints.constant(8)),
            ints.add(k, ints.floor_div(j, ints.constant(8))));
  EXPECT_EQ(ints.mod(ints.scale(k, 6), ints.constant(3)), ints.constant(0));
  EXPECT_NE(k, j);
}

TEST(Ints, ConditionsNegate) {
  for (int seed = 0; seed < 100; ++seed) {
    Random r(seed);
    CondId c = r.ints.disjunction(
        {r.ints.le(r.make(2).id, r.make(2).id),
         r.ints.conjunction({r.ints.eq(r.make(1).id, r.make(1).id), r.ints.lt(r.make(2).id, r.make(2).id)})});
    CondId n = r.ints.negate(c);
    for (int64_t x = -3; x <= 3; ++x) {
      for (int64_t y = -3; y <= 3; ++y) {
        Assignment a{{r.vars[0], x}, {r.vars[1], y}, {r.vars[2], x - y}};
        ASSERT_NE(r.ints.evaluate(c, a), r.ints.evaluate(n, a));
      }
    }
  }
}

// Whatever the prover says about random facts and goals is compared with all assignments of a box that the facts
// include.
TEST(Prover, IsSoundAgainstBruteForce) {
  int proved = 0;
  for (int seed = 0; seed < 400; ++seed) {
    Random r(seed);
    Facts facts;
    for (VarId v : r.vars) {
      facts.assume(r.ints.le(r.ints.constant(-3), r.ints.var(v)));
      facts.assume(r.ints.le(r.ints.var(v), r.ints.constant(3)));
    }
    for (int i = 0; i < 3; ++i) {
      facts.assume(r.pick(4) == 0 ? r.ints.eq(r.make(1).id, r.make(2).id) : r.ints.le(r.make(2).id, r.make(2).id));
    }
    CondId goal = r.pick(4) == 0 ? r.ints.eq(r.make(2).id, r.make(2).id) : r.ints.le(r.make(3).id, r.make(2).id);
    Prover prover(r.ints);
    Decision decision = prover.decide(facts, goal);
    proved += decision != Decision::Unknown ? 1 : 0;
    for (int64_t x = -3; x <= 3; ++x) {
      for (int64_t y = -3; y <= 3; ++y) {
        for (int64_t z = -3; z <= 3; ++z) {
          Assignment a{{r.vars[0], x}, {r.vars[1], y}, {r.vars[2], z}};
          bool admitted = true;
          for (CondId c : facts.conditions()) {
            admitted = admitted && r.ints.evaluate(c, a) == std::optional(true);
          }
          if (!admitted) {
            continue;
          }
          bool holds = *r.ints.evaluate(goal, a);
          if (decision == Decision::True) {
            ASSERT_TRUE(holds) << seed << " " << r.ints.to_string(goal);
          } else if (decision == Decision::False) {
            ASSERT_FALSE(holds) << seed << " " << r.ints.to_string(goal);
          }
        }
      }
    }
  }
  // The search is not so weak that the test above is empty.
  EXPECT_GT(proved, 150);
}

TEST(Prover, TileArithmetic) {
  Ints ints;
  auto var = [&](const char* name) { return ints.var(ints.add_var(name)); };
  IntId size = var("M"), tile = var("bm"), axis = var("i"), depth = var("K"), step = var("k");
  IntId c128 = ints.constant(128), c32 = ints.constant(32);
  Facts facts;
  for (IntId v : {size, tile, axis, depth, step}) {
    facts.assume(ints.non_negative(v));
  }
  facts.assume(ints.lt(tile, ints.ceil_div(size, c128)));
  facts.assume(ints.lt(axis, c128));
  facts.assume(ints.lt(step, ints.ceil_div(depth, c32)));
  Prover prover(ints);
  IntId row = ints.add(ints.scale(tile, 128), axis);
  EXPECT_TRUE(prover.proves_quickly(facts, ints.lt(row, ints.add(size, c128))));
  EXPECT_FALSE(prover.proves_quickly(facts, ints.lt(row, size)));
  EXPECT_TRUE(prover.proves_quickly(facts, ints.le(depth, ints.scale(ints.ceil_div(depth, c32), 32))));
  EXPECT_TRUE(prover.proves_quickly(facts, ints.lt(ints.scale(step, 32), depth)));
  {
    FactScope scope(facts);
    facts.assume(ints.zero(ints.mod(size, c128)));
    EXPECT_TRUE(prover.proves_quickly(facts, ints.lt(row, size)));
  }
  // Symbolic strides: row * K + column stays below (M + 127) * K.
  FactScope scope(facts);
  IntId column = var("j");
  facts.assume(ints.non_negative(column));
  facts.assume(ints.lt(column, depth));
  facts.assume(ints.lt(row, size));
  EXPECT_TRUE(prover.proves_quickly(facts, ints.lt(ints.add(ints.mul(tile, depth), column), ints.mul(size, depth))));
}

TEST(Sampler, FindsSmallWitnesses) {
  Ints ints;
  VarId size = ints.add_var("M"), other = ints.add_var("N"), tile = ints.add_var("bm"), axis = ints.add_var("i");
  IntId c128 = ints.constant(128);
  std::vector<CondId> conditions{ints.non_negative(ints.var(size)),
                                 ints.non_negative(ints.var(other)),
                                 ints.non_negative(ints.var(tile)),
                                 ints.lt(ints.var(tile), ints.ceil_div(ints.var(size), c128)),
                                 ints.non_negative(ints.var(axis)),
                                 ints.lt(ints.var(axis), c128),
                                 ints.le(ints.var(size), ints.add(ints.scale(ints.var(tile), 128), ints.var(axis))),
                                 ints.le(ints.constant(1), ints.var(tile)),
                                 ints.zero(ints.mod(ints.var(size), ints.constant(8)))};
  auto found = find_assignment(ints, conditions);
  ASSERT_TRUE(found.has_value());
  for (CondId c : conditions) {
    EXPECT_EQ(ints.evaluate(c, *found), std::optional(true)) << ints.to_string(c);
  }
  conditions.push_back(ints.lt(ints.var(size), ints.constant(100)));
  EXPECT_FALSE(find_assignment(ints, conditions).has_value());
}

}  // namespace
}  // namespace tw::domain
