// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "domain/ints.h"

namespace tw::domain {

struct SampleOptions {
  // Candidate values tried, over all restarts.
  int budget = 4000;
  // Ranges up to this many values are searched whole.
  int64_t whole_range = 20;
};

// Values that satisfy all conditions, small ones first: a search, deterministic, that finds witnesses and
// counterexamples. nullopt says nothing. Variables are assigned in order of creation; bounds come from conditions
// linear in a variable, other candidates from the constants that the conditions contain (a tile size t gives t-1, t,
// t+1, ...).
std::optional<Assignment> find_assignment(Ints& ints, std::span<const CondId> conditions,
                                          const SampleOptions& options = {});

}  // namespace tw::domain
