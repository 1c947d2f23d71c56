// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

namespace tw::passes {

using ir::Overloaded;
using ir::Region;

void for_each_region(ir::Op& op, const std::function<void(Region&, bool)>& visit) {
  auto operand = [&](ir::MmaOperand& o) {
    if (auto* region = std::get_if<Region>(&o)) {
      visit(*region, false);
    }
  };
  std::visit(Overloaded{[&](ir::CopyOp& copy) {
                          visit(copy.source, false);
                          visit(copy.destination, true);
                        },
                        [&](ir::LoadOp& load) { visit(load.source, false); },
                        [&](ir::StoreOp& store) { visit(store.destination, true); },
                        [&](ir::RedOp& red) { visit(red.destination, true); },
                        [&](ir::MmaOp& mma) {
                          operand(mma.a);
                          operand(mma.b);
                        },
                        [](auto&) {}},
             op.body);
}

void for_each_region(const ir::Op& op, const std::function<void(const Region&, bool)>& visit) {
  for_each_region(const_cast<ir::Op&>(op), [&](Region& region, bool is_write) { visit(region, is_write); });
}

void for_each_block(ir::Op& op, const std::function<void(ir::Block&)>& visit) {
  std::visit(Overloaded{[&](ir::ForOp& loop) { visit(loop.body); }, [&](ir::TilesOp& tiles) { visit(tiles.body); },
                        [&](ir::IfOp& branch) {
                          visit(branch.then_body);
                          visit(branch.else_body);
                        },
                        [](auto&) {}},
             op.body);
}

void for_each_expr(ir::Op& op, const std::function<void(ir::ExprId&)>& visit) {
  auto one = [&](ir::ExprId& id) {
    if (id.is_valid()) {
      visit(id);
    }
  };
  for_each_region(op, [&](Region& region, bool) {
    one(region.version);
    for (ir::AxisIndex& axis : region.axes) {
      one(axis.lo);
    }
  });
  std::visit(Overloaded{[&](ir::ForOp& loop) {
                          one(loop.begin);
                          one(loop.end);
                          for (ir::CarriedScalar& scalar : loop.scalars) {
                            one(scalar.init);
                            one(scalar.yield);
                          }
                        },
                        [&](ir::TilesOp& tiles) {
                          for (ir::ExprId& id : tiles.extents) {
                            one(id);
                          }
                          for (ir::ExprId& id : tiles.decode) {
                            one(id);
                          }
                        },
                        [&](ir::IfOp& branch) { one(branch.condition); }, [&](ir::ExprOp& e) { one(e.expr); },
                        [&](ir::CheckOp& check) {
                          for (auto& [name, id] : check.expected.fields) {
                            one(id);
                          }
                          for (ir::CoverageRange& range : check.over) {
                            one(range.lo);
                            one(range.hi);
                          }
                          one(check.where);
                        },
                        [](auto&) {}},
             op.body);
  for_each_block(op, [&](ir::Block& block) {
    for (ir::Op& inner : block) {
      for_each_expr(inner, visit);
    }
  });
}

void substitute(ir::Function& function, ir::Op& op, const Replacements& replacements) {
  for_each_expr(op, [&](ir::ExprId& id) { id = function.exprs.substitute(id, replacements); });
}

void substitute(ir::Function& function, ir::Block& block, const Replacements& replacements) {
  for (ir::Op& op : block) {
    substitute(function, op, replacements);
  }
}

void for_each_operand(ir::Op& op, const std::function<void(ir::ValueId&)>& visit) {
  auto operand = [&](ir::MmaOperand& o) {
    if (auto* value = std::get_if<ir::ValueId>(&o)) {
      visit(*value);
    }
  };
  std::visit(
      Overloaded{[&](ir::ForOp& loop) {
                   for (ir::CarriedValue& carried : loop.values) {
                     visit(carried.init);
                   }
                 },
                 [&](ir::StoreOp& store) { visit(store.value); }, [&](ir::RedOp& red) { visit(red.value); },
                 [&](ir::MmaOp& mma) {
                   operand(mma.a);
                   operand(mma.b);
                   if (mma.c.is_valid()) {
                     visit(mma.c);
                   }
                 },
                 [&](ir::ElementwiseOp& e) {
                   for (ir::ValueId& id : e.operands) {
                     visit(id);
                   }
                 },
                 [&](ir::BroadcastOp& b) { visit(b.operand); }, [&](ir::ReduceOp& r) { visit(r.operand); },
                 [&](ir::RelayoutOp& r) { visit(r.operand); }, [&](ir::CheckOp& c) { visit(c.value); }, [](auto&) {}},
      op.body);
}

ir::Op make_op(ir::Function& function, diag::Span span, ir::OpBody body) {
  return ir::Op{function.new_op_id(), span, std::move(body)};
}

}  // namespace tw::passes
