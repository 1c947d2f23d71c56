// SPDX-License-Identifier: Apache-2.0
#include "smt/smt.h"

#include <gtest/gtest.h>

namespace tw::smt {
namespace {

TEST(Smt, ProvesRefutesAndGivesModels) {
  Terms t;
  Solver solver(t);
  TermId k = t.variable("k"), s = t.variable("k");
  TermId low = t.le(t.constant(0), k);
  // k % 4 == (k + 4) % 4
  Answer proved = solver.prove({"ring", {low}, t.eq(t.mod(k, 4), t.mod(t.add({k, t.constant(4)}), 4))});
  EXPECT_EQ(proved.verdict, Verdict::Proved);
  // Two variables of one name are two variables.
  Answer refuted = solver.prove({"apart", {low, t.le(t.constant(7), s)}, t.le(s, k)});
  ASSERT_EQ(refuted.verdict, Verdict::Refuted);
  EXPECT_LT(refuted.model.at(k), refuted.model.at(s));
  EXPECT_GE(refuted.model.at(s), 7);
  Answer division = solver.prove({"down", {}, t.eq(t.div(t.constant(-1), 4), t.constant(-1))});
  EXPECT_EQ(division.verdict, Verdict::Proved);
  EXPECT_EQ(solver.statistics().queries, 3u);
}

TEST(Smt, GivesUpAtItsBudgetInsteadOfHanging) {
  Terms t;
  Solver solver(t, Budget{.resource_units = 2000});
  // x^3 + y^3 == z^3 without a solution: non-linear, far beyond the budget.
  std::vector<TermId> v{t.variable("x"), t.variable("y"), t.variable("z")};
  std::vector<TermId> assumptions;
  for (TermId x : v) {
    assumptions.push_back(t.le(t.constant(1), x));
  }
  auto cube = [&](TermId x) { return t.mul(x, t.mul(x, x)); };
  Answer answer = solver.prove({"fermat", assumptions, t.negation(t.eq(t.add({cube(v[0]), cube(v[1])}), cube(v[2])))});
  EXPECT_EQ(answer.verdict, Verdict::Unknown);
  EXPECT_FALSE(answer.reason.empty());
}

TEST(Smt, SameQuestionSameCost) {
  auto cost = [] {
    Terms t;
    Solver solver(t);
    TermId m = t.variable("M"), b = t.variable("b"), i = t.variable("i");
    std::vector<TermId> facts{t.le(t.constant(0), b), t.le(t.constant(0), i), t.le(i, t.constant(127)),
                              t.eq(t.mod(m, 128), t.constant(0)),
                              t.le(t.add({b, t.constant(1)}), t.div(t.add({m, t.constant(127)}), 128))};
    TermId row = t.add({t.mul(t.constant(128), b), i});
    Answer answer = solver.prove({"tile", facts, t.le(t.add({row, t.constant(1)}), m)});
    EXPECT_EQ(answer.verdict, Verdict::Proved);
    return answer.resource_units;
  };
  EXPECT_EQ(cost(), cost());
}

}  // namespace
}  // namespace tw::smt
