// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tw::verify {

// A vector access of global memory that is not proved contiguous, aligned and guarded as a whole (D4).
struct GlobalFinding {
  const ir::Op* op = nullptr;
  ir::TensorId tensor;
  std::string claim;
  std::vector<std::string> facts;
  // Sizes that satisfy the assumptions and break the rule, by symbol; empty: none found, the verdict is unknown.
  std::map<ir::SymbolId, int64_t> sizes;
};

struct GlobalResult {
  int64_t compared = 0;
  std::vector<GlobalFinding> findings;
};

// Takes: a lowered function. Gives: for every access of global memory that is wider than one element: its elements
// follow each other in memory, every address is a multiple of the width for all admitted sizes (base pointers are
// multiples of 16 bytes, a launch precondition), and a guard that looks at the first element speaks for all.
GlobalResult check_global_vectors(const ir::Function& function);

// Does `divisor` divide `expr` for all admitted sizes? True only when proved from the expression's form and the
// assumptions
// (`K % 8 == 0`).
bool divides(const ir::Function& function, int64_t divisor, ir::ExprId expr);

// Do these sizes satisfy every assumption over sizes? Unbound symbols count as satisfied.
bool admits(const ir::Function& function, const std::map<ir::SymbolId, int64_t>& sizes);

}  // namespace tw::verify
