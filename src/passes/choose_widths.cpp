// SPDX-License-Identifier: Apache-2.0
#include "passes/choose_widths.h"

#include <algorithm>
#include <set>
#include <utility>

#include "passes/rewrite.h"

namespace tw::passes {
namespace {

class WidthChoice {
 public:
  explicit WidthChoice(const ir::Function& function) : function_(function), facts_(function) {}

  void visit(ir::ExprId id) {
    if (!seen_.insert(id).second) {
      return;
    }
    const ir::ExprNode& node = function_.exprs.node(id);
    Range range = facts_.range(id);
    bool is_wide = range.lo < INT32_MIN || range.hi > INT32_MAX;
    for (ir::ExprId operand : node.operands) {
      if (operand.is_valid()) {
        visit(operand);
        // A comparison is done in the wider type of its sides, so only its result is narrow.
        is_wide |= wide_.contains(operand) && !is_truth(node.kind);
      }
    }
    if (is_wide) {
      wide_.insert(id);
    }
  }

  // Counters step once past their last value.
  void visit_counters(ir::Function& function) {
    ir::for_each_op(std::as_const(function.body), [&](const ir::Op& op) {
      if (const auto* loop = std::get_if<ir::ForOp>(&op.body)) {
        if (facts_.range(loop->end).hi - 1 + loop->step > INT32_MAX) {
          mark_wide(function.exprs.symbol_ref(loop->variable));
        }
      } else if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body); tiles != nullptr && tiles->persistent) {
        mark_wide(function.exprs.symbol_ref(tiles->linear));
      }
    });
  }

  [[nodiscard]] std::vector<ir::ExprId> result() const { return {wide_.begin(), wide_.end()}; }

 private:
  void mark_wide(ir::ExprId id) {
    seen_.insert(id);
    wide_.insert(id);
  }

  static bool is_truth(ir::ExprKind kind) {
    switch (kind) {
      case ir::ExprKind::Eq:
      case ir::ExprKind::Ne:
      case ir::ExprKind::Lt:
      case ir::ExprKind::Le:
      case ir::ExprKind::And:
      case ir::ExprKind::Or:
      case ir::ExprKind::Not:
        return true;
      default:
        return false;
    }
  }

  const ir::Function& function_;
  Facts facts_;
  std::set<ir::ExprId> seen_;
  std::set<ir::ExprId> wide_;
};

}  // namespace

Status choose_widths(ir::Function& function, PassContext&) {
  WidthChoice choice(function);
  choice.visit_counters(function);
  for (const ir::Tensor& tensor : function.tensors) {
    for (ir::ExprId id : tensor.extents) {
      choice.visit(id);
    }
    for (ir::ExprId id : tensor.strides) {
      choice.visit(id);
    }
  }
  for (ir::Op& op : function.body) {
    // Checks are not emitted, but their expressions are few; visiting them does no harm.
    for_each_expr(op, [&](ir::ExprId& id) { choice.visit(id); });
  }
  function.wide_exprs = choice.result();
  return {};
}

}  // namespace tw::passes
