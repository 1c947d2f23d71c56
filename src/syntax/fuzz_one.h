// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tw::syntax {

// What must hold for every input: parsing ends; a refused input has an error whose span lies in the file; an accepted
// one prints to a text that parses to the same tree, comments included. Returns the rule that was broken.
std::optional<std::string> fuzz_one(const std::string& text);

// One of `corpus` with a few edits by bytes, lines and tokens; the same for the same seed.
std::string mutate(const std::vector<std::string>& corpus, uint64_t seed);

// A program that touches every construct.
extern const char* const kFuzzSeedProgram;

}  // namespace tw::syntax
