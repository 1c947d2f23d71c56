// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "passes/pass.h"

// Mistakes that a lowering pass could make. A verifier that is asked about the lowered program must refute what they
// give.
namespace tw::lowering {

enum class Outcome : uint8_t {
  Refuted,
  // The emulator computes indices in 64 bits and so cannot show it: not proved, with the candidate attached.
  NotProved,
  // The program computes the same all the same.
  Harmless,
};

struct Fault {
  std::string_view name;
  // The pass that makes the mistake.
  std::string_view pass;
  // What goes wrong.
  std::string_view effect;
  // Spoils what the pass left; false when the program offers no place for the mistake.
  std::function<bool(ir::Function&)> plant;
  Outcome expected = Outcome::Refuted;
};

const std::vector<Fault>& planted_faults();
const Fault* find_fault(std::string_view name);

// The standard pipeline with one mistake. `*was_planted` says whether there was a place for it.
passes::Pipeline pipeline_with(const Fault& fault, bool* was_planted);

}  // namespace tw::lowering
