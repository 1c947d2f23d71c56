// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "diag/sink.h"
#include "diag/source.h"
#include "syntax/ast.h"

namespace tw::syntax {

// Parses a whole file. Errors are reported to the sink, several a run: after one the parser goes on at the next
// statement. Whatever the input, it ends, in time linear in the file's size.
Checked<Module> parse(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink);

// Parses one expression (the whole text), e.g. the value of a command-line option.
Checked<ExprPtr> parse_expression(const diag::SourceManager& sources, diag::FileId file, diag::Sink& sink);

}  // namespace tw::syntax
