// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "diag/sink.h"
#include "spec/term.h"

namespace tw::spec {

// Where the text stands in a file, so that messages point into that file. Offsets map one to one when `is_exact`
// (a literal string); otherwise every message gets `whole`.
struct TextPlace {
  diag::Span whole;
  bool is_exact = false;
};

// Reads equations over the sizes and operands of `declarations` (its equations and lets must be empty). Grammar:
//
//   text      = { ["let"] NAME ["[" NAME {"," NAME} "]"] "=" expr (newline | ";") }
//   expr      = comparisons, + -, * /, unary -, postfix .to(TYPE), as in Python; `and`, `or`, `not`
//   primary   = NUMBER | SIZE | INDEX | TENSOR "[" expr {"," expr} "]" | FUNCTION "(" expr {"," expr} ")" | "(" expr
//   ")"
//             | ("sum" | "max" | "min") "(" NAME ["in" SIZE] {"," NAME ["in" SIZE]} "," expr ")"
//
// Newlines inside brackets do not count, and `#` starts a comment. Several errors are reported a call.
Checked<Computation> parse(std::string_view text, TextPlace place, Computation declarations, diag::Sink& sink);

}  // namespace tw::spec
