// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace tw::verify {

// A non-negative integer that is either known or only known to be large (at least Bounds::big()).
struct Count {
  static constexpr int64_t kBig = -1;
  int64_t value = kBig;
  [[nodiscard]] bool is_big() const { return value == kBig; }
  friend bool operator==(const Count&, const Count&) = default;
};

// A trip count or other size-like expression on which control flow depends.
struct AtomClass {
  ir::ExprId atom;
  Count count;
  // Residue modulo Bounds::modulus, -1: not known.
  int64_t residue = -1;
};

// One enclosing loop: iteration number (begin counts as 0), its residue, and how many iterations are left, this one
// included.
struct LoopState {
  const ir::ForOp* loop = nullptr;
  Count iteration;
  int64_t residue = 0;
  Count left;
};

// A version number: constant, or an offset from something large (an enclosing loop's iteration, an atom).
struct Version {
  enum class Base : uint8_t { Constant, Loop, Atom, Stale } base = Base::Constant;
  // Loop: depth of the loop; Atom: the atom's ExprId.
  uint32_t of = 0;
  int64_t offset = 0;
  friend bool operator==(const Version&, const Version&) = default;
};

// An access that is not yet ordered before everything that follows.
struct Pending {
  enum class Phase : uint8_t {
    // Done by its thread; other threads need a barrier.
    Done,
    // cp.async not yet in a group; in a group that is not waited for. May still happen at any time.
    Open,
    InGroup,
  };
  int map = 0;
  int64_t slot = 0;
  Phase phase = Phase::Done;
  // InGroup: newer groups of the same threads.
  int age = 0;
  // A warp barrier has passed since.
  bool warp_synced = false;
  friend bool operator==(const Pending&, const Pending&) = default;
};

// What part of a slot holds since the last write to it.
struct Content {
  ir::SharedId object;
  int64_t slot = 0;
  std::vector<int64_t> lo, hi;
  Version version;
  uint32_t writer_op = 0;
};

// The state of one unit's order: finite, because loops are counted only up to a bound and versions are relative.
struct OrderState {
  std::vector<AtomClass> atoms;
  std::vector<LoopState> loops;
  std::vector<Pending> pending;
  std::vector<Content> contents;
  // Undecided conditions that do not depend on loops, as taken on this path.
  std::vector<std::pair<ir::ExprId, bool>> facts;

  // Equal states, equal keys.
  [[nodiscard]] std::string key() const;
};

}  // namespace tw::verify
