// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tw::verify {

// Something that keeps the machine half of obligation 0 (semantics.md, 0c) from being proved for one unit.
struct OrderFinding {
  enum class Kind : uint8_t {
    // Two accesses of one byte, one a write, that nothing orders.
    Race,
    // The bytes a read names hold another version or another object: slot reused too early, wrong slot, alias.
    WrongVersion,
    // An index or a version that leaves its object.
    OutOfObject,
    // What the analysis cannot follow: the verdict is unknown.
    NotFollowed,
  } kind = Kind::Race;
  const ir::Op* first = nullptr;
  const ir::Op* second = nullptr;
  // What is missing, in words.
  std::string claim;
  std::vector<std::string> facts;
  int thread_first = -1;
  int thread_second = -1;
};

struct OrderResult {
  // Pairs of accesses compared; 0: the kernel uses no shared memory.
  int64_t compared = 0;
  int64_t states = 0;
  std::vector<OrderFinding> findings;
};

// Takes: a lowered function. Gives: proof that in every execution each read of shared memory returns the write that
// program order says, for every trip count: an exploration of the unit's order state (accesses not yet ordered, groups
// in flight, versions in slots) to its fixpoint. Loops are counted exactly up to the largest constant the program
// compares with and modulo the rings, which is all their effect on order; so the state space is finite and the result
// holds for all counts. Never does: values, global memory, coverage. Example: `drain(pending=2)` in a ring of 3 leaves
// the group of version k in flight at the read of version k.
OrderResult check_order(const ir::Function& function);

}  // namespace tw::verify
