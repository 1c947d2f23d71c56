// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/reading.h"
#include "verify/verify.h"

// What all kinds of replay share: problems made from counterexamples, and outputs.
namespace tw::verify {

emulator::Problem problem_of(const Counterexample& cex);
// Scalar arguments that the counterexample leaves open are 1.
emulator::Problem with_scalars(const ir::Function& f, emulator::Problem problem);

// One element in the bytes of a tensor.
void encode(ElementType type, double value, std::byte* out);
double decode(ElementType type, const std::byte* in);

struct Outputs {
  // By tensor; empty for inputs.
  std::vector<std::vector<std::byte>> bytes;
  std::optional<emulator::ReadingError> error;
};
// `watch`: see emulator::ReadingOptions.
Outputs outputs_of(const ir::Function& f, const emulator::Problem& problem,
                   std::optional<emulator::Watch> watch = std::nullopt);

// The first output element that differs by more than `tolerance` of its size.
std::optional<std::string> first_difference(const ir::Function& f, const Outputs& a, const Outputs& b,
                                            double tolerance);

// The elements that meet at the counterexample's place, by perturbing them (ReplayKind::Tags).
Result<std::string> replay_tags(const ir::Function& source, const ir::Function& lowered, const Counterexample& cex);

}  // namespace tw::verify
