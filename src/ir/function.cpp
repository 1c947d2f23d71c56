// SPDX-License-Identifier: Apache-2.0
#include "ir/function.h"

#include "base/check.h"

namespace tw::ir {
namespace {

// Ops that contain blocks: calls visit(block) for each.
template <class OpType, class Visit>
void for_each_block(OpType& op, Visit visit) {
  std::visit(
      Overloaded{[&](auto&) {},
                 [&](std::conditional_t<std::is_const_v<OpType>, const ForOp, ForOp>& loop) { visit(loop.body); },
                 [&](std::conditional_t<std::is_const_v<OpType>, const TilesOp, TilesOp>& tiles) { visit(tiles.body); },
                 [&](std::conditional_t<std::is_const_v<OpType>, const IfOp, IfOp>& branch) {
                   visit(branch.then_body);
                   visit(branch.else_body);
                 }},
      op.body);
}

}  // namespace

std::string_view name_of(ElementwiseKind kind) {
  constexpr std::string_view kNames[] = {
      "add",  "sub", "mul",     "div",   "maximum", "minimum", "neg", "abs", "exp", "exp2", "log", "sqrt", "rsqrt",
      "tanh", "erf", "sigmoid", "where", "cast",    "eq",      "ne",  "lt",  "le",  "and",  "or",  "not"};
  return kNames[static_cast<int>(kind)];
}

int Region::object_axis(int tile_axis) const {
  int sliced = perm[tile_axis];
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis].is_point() && sliced-- == 0) {
      return static_cast<int>(axis);
    }
  }
  TW_CHECK(false);
  return -1;
}

std::vector<int64_t> Region::tile_shape() const {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < perm.size(); ++i) {
    shape.push_back(axes[object_axis(static_cast<int>(i))].extent);
  }
  return shape;
}

ValueId Function::add_value(Value value) {
  values.push_back(std::move(value));
  return ValueId(static_cast<uint32_t>(values.size() - 1));
}

SharedId Function::add_shared(SharedObject object) {
  shared.push_back(std::move(object));
  return SharedId(static_cast<uint32_t>(shared.size() - 1));
}

TensorId Function::add_tensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return TensorId(static_cast<uint32_t>(tensors.size() - 1));
}

void for_each_op(const Block& block, const std::function<void(const Op&)>& visit) {
  for (const Op& op : block) {
    visit(op);
    for_each_block(op, [&](const Block& inner) { for_each_op(inner, visit); });
  }
}

void for_each_op(Block& block, const std::function<void(Op&)>& visit) {
  for (Op& op : block) {
    visit(op);
    for_each_block(op, [&](Block& inner) { for_each_op(inner, visit); });
  }
}

OpUses uses_of(const Op& op) {
  OpUses uses;
  auto operand = [&](const MmaOperand& o) {
    if (const auto* value = std::get_if<ValueId>(&o)) {
      uses.values_read.push_back(*value);
    } else {
      uses.regions_read.push_back(&std::get<Region>(o));
    }
  };
  auto unary = [&](ValueId from, ValueId to) {
    uses.values_read.push_back(from);
    uses.values_defined.push_back(to);
  };
  std::visit(Overloaded{
                 [&](const ForOp& loop) {
                   for (const CarriedValue& carried : loop.values) {
                     uses.values_read.push_back(carried.init);
                     uses.values_defined.push_back(carried.result);
                   }
                 },
                 [&](const TilesOp&) {},
                 [&](const IfOp& branch) {
                   for (const IfResult& r : branch.results) {
                     uses.values_defined.push_back(r.result);
                   }
                 },
                 [&](const CopyOp& copy) {
                   uses.regions_read.push_back(&copy.source);
                   uses.regions_written.push_back(&copy.destination);
                 },
                 [&](const LoadOp& load) {
                   uses.regions_read.push_back(&load.source);
                   uses.values_defined.push_back(load.result);
                 },
                 [&](const StoreOp& store) {
                   uses.values_read.push_back(store.value);
                   uses.regions_written.push_back(&store.destination);
                 },
                 [&](const RedOp& red) {
                   uses.values_read.push_back(red.value);
                   uses.regions_written.push_back(&red.destination);
                 },
                 [&](const MmaOp& mma) {
                   operand(mma.a);
                   operand(mma.b);
                   if (mma.c.is_valid()) {
                     uses.values_read.push_back(mma.c);
                   }
                   uses.values_defined.push_back(mma.result);
                 },
                 [&](const ElementwiseOp& e) {
                   uses.values_read = e.operands;
                   uses.values_defined.push_back(e.result);
                 },
                 [&](const BroadcastOp& b) { unary(b.operand, b.result); },
                 [&](const ConstantOp& c) { uses.values_defined.push_back(c.result); },
                 [&](const IotaOp& i) { uses.values_defined.push_back(i.result); },
                 [&](const ExprOp& e) { uses.values_defined.push_back(e.result); },
                 [&](const ScalarArgumentOp& s) { uses.values_defined.push_back(s.result); },
                 [&](const ReduceOp& r) { unary(r.operand, r.result); },
                 [&](const RelayoutOp& r) { unary(r.operand, r.result); },
                 [&](const CommitOp&) {},
                 [&](const DrainOp&) {},
                 [&](const SyncOp&) {},
                 [&](const CheckOp& check) { uses.values_read.push_back(check.value); },
             },
             op.body);
  return uses;
}

}  // namespace tw::ir
