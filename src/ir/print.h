// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "ir/function.h"

namespace tw::ir {

// The text form: deterministic, everything that has a meaning, no spans. parse(print(f)) is f up to spans and ids.
std::string print(const Function& function);

// SHA-256 of the text form: equal in `check`, `emit` and `run` of one program.
std::string ir_hash(const Function& function);

// Reads the text form; the error names the line and what was expected there.
Result<Function> parse(std::string_view text);

// Structure that every stage must have: ids in range, values defined before use and in scope, shapes and element types
// that fit their ops, carried and yielded values of equal types; Lowered: layouts, address maps and accesses present.
// The error names the op and the rule.
Status check_structure(const Function& function);

}  // namespace tw::ir
