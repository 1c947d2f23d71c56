// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/registers.h"

#include <algorithm>

namespace tw::targets::cuda {
namespace {

using ir::Op;
using ir::ValueId;

bool is_inline(const Op& op) {
  return std::holds_alternative<ir::ConstantOp>(op.body) || std::holds_alternative<ir::IotaOp>(op.body) ||
         std::holds_alternative<ir::ExprOp>(op.body) || std::holds_alternative<ir::ScalarArgumentOp>(op.body) ||
         std::holds_alternative<ir::BroadcastOp>(op.body);
}

}  // namespace

bool is_packed(const ir::Value& value) {
  return size_bytes(value.element) == 2 && value.layout->value_count() % 2 == 0;
}

int64_t register_count(const ir::Value& value) {
  const int64_t count = value.layout->value_count();
  return is_packed(value) ? count / 2 : count;
}

std::string memory_type(ElementType element) {
  switch (element) {
    case ElementType::Bf16:
    case ElementType::F16:
      return "unsigned short";
    case ElementType::F32:
    case ElementType::Tf32:
      return "float";
    case ElementType::F64:
      return "double";
    case ElementType::I8:
      return "signed char";
    case ElementType::E4m3:
    case ElementType::E5m2:
    case ElementType::U8:
    case ElementType::Bool:
      return "unsigned char";
    case ElementType::I32:
      return "int";
    case ElementType::U32:
      return "unsigned";
    case ElementType::I64:
      return "long long";
  }
  return "void";
}

std::string register_type(const ir::Value& value) {
  if (is_packed(value)) {
    return "unsigned";
  }
  return value.element == ElementType::Bool ? "bool" : memory_type(value.element);
}

Registers::Registers(const ir::Function& function)
    : function_(function),
      intervals_(function.values.size()),
      parent_(function.values.size()),
      members_(function.values.size()),
      used_(function.values.size(), false) {
  for (uint32_t i = 0; i < parent_.size(); ++i) {
    parent_[i] = i;
    members_[i] = {i};
  }
  int next = 0;
  number(function.body, next);
  merge_block(function.body);
}

uint32_t Registers::find(uint32_t index) const {
  while (parent_[index] != index) {
    index = parent_[index];
  }
  return index;
}

const Op* Registers::inline_definition(ValueId id) const {
  auto it = inline_.find(id.index);
  return it == inline_.end() ? nullptr : it->second;
}

void Registers::touch(ValueId id, int position) {
  Interval& interval = intervals_[id.index];
  if (interval.begin < 0) {
    interval.begin = position;
    interval.end = position;
    return;
  }
  // A use inside a loop that the definition stands outside of: needed until the loop ends.
  for (const Loop& loop : loops_) {
    if (loop.begin <= position && position <= loop.end && interval.begin < loop.begin) {
      position = std::max(position, loop.end);
    }
  }
  interval.end = std::max(interval.end, position);
  // What is written inline keeps its operands alive.
  if (const Op* op = inline_definition(id)) {
    if (const auto* broadcast = std::get_if<ir::BroadcastOp>(&op->body)) {
      touch(broadcast->operand, position);
    }
  }
}

void Registers::number(const ir::Block& block, int& next) {
  for (const Op& op : block) {
    const int position = next++;
    const ir::OpUses uses = ir::uses_of(op);
    const bool is_check = std::holds_alternative<ir::CheckOp>(op.body);
    for (ValueId id : uses.values_read) {
      if (!is_check) {
        used_[id.index] = true;
        touch(id, position);
      }
    }
    if (is_inline(op)) {
      inline_[uses.values_defined[0].index] = &op;
    }
    if (const auto* loop = std::get_if<ir::ForOp>(&op.body)) {
      for (const ir::CarriedValue& carried : loop->values) {
        touch(carried.argument, position);
      }
      // The end is not known before the body is numbered; a count of its ops gives it.
      int count = 0;
      ir::for_each_op(loop->body, [&](const Op& inner) {
        count +=
            std::holds_alternative<ir::IfOp>(inner.body) ? 2 : (std::holds_alternative<ir::ForOp>(inner.body) ? 2 : 1);
      });
      loops_.push_back({position, position + count + 1});
      number(loop->body, next);
      const int end = position + count + 1;
      next = end + 1;
      for (const ir::CarriedValue& carried : loop->values) {
        used_[carried.yield.index] = true;
        touch(carried.yield, end);
        touch(carried.result, end);
      }
    } else if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      number(tiles->body, next);
    } else if (const auto* branch = std::get_if<ir::IfOp>(&op.body)) {
      number(branch->then_body, next);
      for (const ir::IfResult& result : branch->results) {
        used_[result.then_value.index] = true;
        touch(result.then_value, next);
      }
      number(branch->else_body, next);
      for (const ir::IfResult& result : branch->results) {
        used_[result.else_value.index] = true;
        touch(result.else_value, next);
        touch(result.result, next);
      }
      ++next;
    } else {
      for (ValueId id : uses.values_defined) {
        touch(id, position);
      }
    }
  }
}

void Registers::try_merge(ValueId a, ValueId b) {
  const uint32_t x = find(a.index);
  const uint32_t y = find(b.index);
  if (x == y || inline_definition(a) != nullptr || inline_definition(b) != nullptr) {
    return;
  }
  const ir::Value& left = function_.value(a);
  const ir::Value& right = function_.value(b);
  if (register_type(left) != register_type(right) || register_count(left) != register_count(right) ||
      left.element != right.element) {
    return;
  }
  for (uint32_t i : members_[x]) {
    for (uint32_t j : members_[y]) {
      const Interval& p = intervals_[i];
      const Interval& q = intervals_[j];
      // Touching ends are fine: the ops merged here read a register before they write it.
      if (p.begin < q.end && q.begin < p.end) {
        return;
      }
      if (p.begin == q.begin) {
        return;
      }
    }
  }
  parent_[y] = x;
  members_[x].insert(members_[x].end(), members_[y].begin(), members_[y].end());
}

void Registers::merge_block(const ir::Block& block) {
  for (const Op& op : block) {
    if (const auto* loop = std::get_if<ir::ForOp>(&op.body)) {
      for (const ir::CarriedValue& carried : loop->values) {
        try_merge(carried.argument, carried.init);
        try_merge(carried.argument, carried.result);
      }
      merge_block(loop->body);
      for (const ir::CarriedValue& carried : loop->values) {
        try_merge(carried.argument, carried.yield);
      }
    } else if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      merge_block(tiles->body);
    } else if (const auto* branch = std::get_if<ir::IfOp>(&op.body)) {
      merge_block(branch->then_body);
      merge_block(branch->else_body);
      for (const ir::IfResult& result : branch->results) {
        try_merge(result.result, result.then_value);
        try_merge(result.result, result.else_value);
      }
    } else if (const auto* mma = std::get_if<ir::MmaOp>(&op.body)) {
      if (mma->c.is_valid()) {
        try_merge(mma->c, mma->result);
      }
    }
  }
}

}  // namespace tw::targets::cuda
