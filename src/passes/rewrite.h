// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/function.h"

namespace tw::passes {

// The regions of one op (nested blocks not descended into), with whether the op writes there.
void for_each_region(ir::Op& op, const std::function<void(ir::Region&, bool is_write)>& visit);
void for_each_region(const ir::Op& op, const std::function<void(const ir::Region&, bool is_write)>& visit);

// Every scalar expression of the op and of the blocks inside it. Invalid ids are skipped.
void for_each_expr(ir::Op& op, const std::function<void(ir::ExprId&)>& visit);

// The blocks directly inside an op.
void for_each_block(ir::Op& op, const std::function<void(ir::Block&)>& visit);

using Replacements = std::unordered_map<ir::SymbolId, ir::ExprId>;
void substitute(ir::Function& function, ir::Op& op, const Replacements& replacements);
void substitute(ir::Function& function, ir::Block& block, const Replacements& replacements);

// The value ids that the op reads (not those inside its blocks), to be changed in place.
void for_each_operand(ir::Op& op, const std::function<void(ir::ValueId&)>& visit);

ir::Op make_op(ir::Function& function, diag::Span span, ir::OpBody body);

}  // namespace tw::passes
