// SPDX-License-Identifier: Apache-2.0
#include "passes/clone_free_values.h"

#include <unordered_map>

#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::Op;
using ir::ValueId;

ValueId* result_of_free_op(Op& op) {
  return std::visit(
      ir::Overloaded{[](ir::ConstantOp& o) { return &o.result; }, [](ir::IotaOp& o) { return &o.result; },
                     [](ir::ExprOp& o) { return &o.result; }, [](ir::ScalarArgumentOp& o) { return &o.result; },
                     [](ir::BroadcastOp& o) { return &o.result; }, [](auto&) -> ValueId* { return nullptr; }},
      op.body);
}

class Cloning {
 public:
  explicit Cloning(ir::Function& function) : function_(function) {}

  void run(ir::Block& block) {
    ir::Block out;
    for (Op& op : block) {
      for_each_operand(op, [&](ValueId& id) { renew(id, out); });
      for_each_block(op, [&](ir::Block& inner) { run(inner); });
      if (auto* loop = std::get_if<ir::ForOp>(&op.body)) {
        for (ir::CarriedValue& carried : loop->values) {
          renew(carried.yield, loop->body);
        }
      } else if (auto* branch = std::get_if<ir::IfOp>(&op.body)) {
        for (ir::IfResult& result : branch->results) {
          renew(result.then_value, branch->then_body);
          renew(result.else_value, branch->else_body);
        }
      }
      if (ValueId* result = result_of_free_op(op)) {
        definitions_.emplace(*result, op);
      }
      out.push_back(std::move(op));
    }
    block = std::move(out);
  }

 private:
  // The first use keeps the original; later ones get a copy made right there.
  void renew(ValueId& id, ir::Block& out) {
    auto it = definitions_.find(id);
    if (it == definitions_.end() || used_.insert({id, true}).second) {
      return;
    }
    Op copy = it->second;
    copy.id = function_.new_op_id();
    ir::Value value = function_.value(id);
    ValueId fresh = function_.add_value(std::move(value));
    *result_of_free_op(copy) = fresh;
    id = fresh;
    if (auto* broadcast = std::get_if<ir::BroadcastOp>(&copy.body)) {
      renew(broadcast->operand, out);
    }
    out.push_back(std::move(copy));
  }

  ir::Function& function_;
  std::unordered_map<ValueId, Op> definitions_;
  std::unordered_map<ValueId, bool> used_;
};

}  // namespace

void clone_free_values(ir::Function& function) {
  Cloning(function).run(function.body);
}

}  // namespace tw::passes
