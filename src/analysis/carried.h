// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/reading.h"

namespace tw::analysis {

// Iterations lo <= variable < hi of a loop; its carried values are Carried terms of number `id`.
struct LoopRange {
  uint32_t id = 0;
  VarId variable;
  IntId lo, hi;
};

// Values that a loop carries: at the head of iteration `variable`, and after the last one.
struct CarriedForms {
  std::vector<TermId> heads;
  std::vector<TermId> results;
};

// Takes: for each carried value its argument (a Carried term), what it starts from, and what an iteration hands on as a
// function of the arguments. Gives: a value that does not depend on the one before is what the previous iteration
// yielded; one that grows by a term is a reduction over the iterations; anything else stays a loop term.
CarriedForms solve_carried(Environment& env, const domain::Facts& facts, const LoopRange& loop,
                           std::vector<TermId> arguments, const std::vector<TermId>& inits, std::vector<TermId> yields);

}  // namespace tw::analysis
