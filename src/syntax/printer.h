// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "syntax/ast.h"

namespace tw::syntax {

// Lines longer than this are broken after a comma where there is one.
inline constexpr int kPrintWidth = 120;

// The text of a module in one canonical form, comments included. Parsing it gives the same tree:
// is_same(parse(print(m)), m, true).
std::string print(const Module& module);
std::string print(const Expr& expr);
// Without the line end; a compound statement spans several lines.
std::string print(const Stmt& stmt);

}  // namespace tw::syntax
