// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

#include "sema/lowering.h"

namespace tw::sema {
namespace {

using ir::ExprId;
using ir::SymbolId;
using ir::ValueId;

// Calls visit for every value that the op itself reads (nested blocks are not entered, what they hand out is).
void visit_reads(ir::Op& op, const std::function<void(ValueId&)>& visit) {
  auto operand = [&](ir::MmaOperand& o) {
    if (auto* value = std::get_if<ValueId>(&o)) {
      visit(*value);
    }
  };
  std::visit(ir::Overloaded{
                 [&](ir::ForOp& o) {
                   for (ir::CarriedValue& carried : o.values) {
                     visit(carried.init);
                     visit(carried.yield);
                   }
                 },
                 [&](ir::IfOp& o) {
                   for (ir::IfResult& result : o.results) {
                     visit(result.then_value);
                     visit(result.else_value);
                   }
                 },
                 [&](ir::StoreOp& o) { visit(o.value); },
                 [&](ir::RedOp& o) { visit(o.value); },
                 [&](ir::MmaOp& o) {
                   operand(o.a);
                   operand(o.b);
                   if (o.c.is_valid()) {
                     visit(o.c);
                   }
                 },
                 [&](ir::ElementwiseOp& o) { std::ranges::for_each(o.operands, visit); },
                 [&](ir::BroadcastOp& o) { visit(o.operand); },
                 [&](ir::ReduceOp& o) { visit(o.operand); },
                 [&](ir::RelayoutOp& o) { visit(o.operand); },
                 [&](ir::CheckOp& o) { visit(o.value); },
                 [&](auto&) {},
             },
             op.body);
}

void visit_region(ir::Region& region, const std::function<void(ExprId&)>& visit) {
  if (region.version.is_valid()) {
    visit(region.version);
  }
  for (ir::AxisIndex& axis : region.axes) {
    visit(axis.lo);
  }
}

// Calls visit for every scalar expression of the op itself.
void visit_exprs(ir::Op& op, const std::function<void(ExprId&)>& visit) {
  auto operand = [&](ir::MmaOperand& o) {
    if (auto* region = std::get_if<ir::Region>(&o)) {
      visit_region(*region, visit);
    }
  };
  std::visit(ir::Overloaded{
                 [&](ir::ForOp& o) {
                   visit(o.begin);
                   visit(o.end);
                   for (ir::CarriedScalar& carried : o.scalars) {
                     visit(carried.init);
                     visit(carried.yield);
                   }
                 },
                 [&](ir::TilesOp& o) { std::ranges::for_each(o.extents, visit); },
                 [&](ir::IfOp& o) { visit(o.condition); },
                 [&](ir::CopyOp& o) {
                   visit_region(o.source, visit);
                   visit_region(o.destination, visit);
                 },
                 [&](ir::LoadOp& o) { visit_region(o.source, visit); },
                 [&](ir::StoreOp& o) { visit_region(o.destination, visit); },
                 [&](ir::RedOp& o) { visit_region(o.destination, visit); },
                 [&](ir::MmaOp& o) {
                   operand(o.a);
                   operand(o.b);
                 },
                 [&](ir::ExprOp& o) { visit(o.expr); },
                 [&](ir::CheckOp& o) {
                   for (auto& [name, expr] : o.expected.fields) {
                     visit(expr);
                   }
                   for (ir::CoverageRange& range : o.over) {
                     visit(range.lo);
                     visit(range.hi);
                   }
                   if (o.where.is_valid()) {
                     visit(o.where);
                   }
                 },
                 [&](auto&) {},
             },
             op.body);
}

// The result of an op without effect, whose removal changes nothing when it is unused.
ValueId free_result(const ir::Op& op) {
  return std::visit(ir::Overloaded{
                        [](const ir::BroadcastOp& o) { return o.result; },
                        [](const ir::ConstantOp& o) { return o.result; },
                        [](const ir::ExprOp& o) { return o.result; },
                        [](const ir::ScalarArgumentOp& o) { return o.result; },
                        [](const auto&) { return ValueId{}; },
                    },
                    op.body);
}

class Pruner {
 public:
  explicit Pruner(ir::Function& function) : f_(function) {}

  void run() {
    // Each round removes at least one item, so it ends.
    while (round()) {
    }
  }

 private:
  bool round() {
    value_uses_.assign(f_.values.size(), 0);
    symbol_uses_.assign(f_.exprs.symbol_count(), 0);
    ir::for_each_op(f_.body, [&](ir::Op& op) {
      visit_reads(op, [&](ValueId& id) { ++value_uses_[id.index]; });
      visit_exprs(op, [&](ExprId& id) { count(id); });
    });
    values_.clear();
    symbols_.clear();
    bool has_changed = prune(f_.body);
    if (!values_.empty() || !symbols_.empty()) {
      replace();
    }
    return has_changed;
  }

  void count(ExprId id) {
    std::vector<SymbolId> symbols;
    f_.exprs.collect_symbols(id, symbols);
    for (SymbolId symbol : symbols) {
      ++symbol_uses_[symbol.index];
    }
  }

  [[nodiscard]] bool mentions(ExprId id, SymbolId symbol) const {
    std::vector<SymbolId> symbols;
    f_.exprs.collect_symbols(id, symbols);
    return std::ranges::find(symbols, symbol) != symbols.end();
  }

  bool prune(ir::Block& block) {
    bool has_changed = false;
    for (ir::Op& op : block) {
      if (auto* loop = std::get_if<ir::ForOp>(&op.body)) {
        has_changed |= prune_loop(*loop);
        has_changed |= prune(loop->body);
      } else if (auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
        has_changed |= prune(tiles->body);
      } else if (auto* branch = std::get_if<ir::IfOp>(&op.body)) {
        has_changed |=
            std::erase_if(branch->results, [&](const ir::IfResult& r) { return value_uses_[r.result.index] == 0; }) > 0;
        has_changed |= prune(branch->then_body);
        has_changed |= prune(branch->else_body);
      }
    }
    has_changed |= std::erase_if(block, [&](const ir::Op& op) {
                     ValueId result = free_result(op);
                     return result.is_valid() && value_uses_[result.index] == 0;
                   }) > 0;
    return has_changed;
  }

  bool prune_loop(ir::ForOp& loop) {
    size_t removed = std::erase_if(loop.values, [&](const ir::CarriedValue& carried) {
      if (carried.yield == carried.argument) {
        values_[carried.argument] = carried.init;
        values_[carried.result] = carried.init;
        return true;
      }
      // The yields of this loop are its only reads.
      return value_uses_[carried.argument.index] == 0 && value_uses_[carried.result.index] == 0;
    });
    removed += std::erase_if(loop.scalars, [&](const ir::CarriedScalar& carried) {
      // A large initial value would be copied to every use.
      const ir::ExprKind kind = f_.exprs.node(carried.init).kind;
      const bool is_leaf = kind == ir::ExprKind::Const || kind == ir::ExprKind::Symbol;
      if (is_leaf && carried.yield == f_.exprs.symbol_ref(carried.argument)) {
        symbols_[carried.argument] = carried.init;
        symbols_[carried.result] = carried.init;
        return true;
      }
      const int own_use = mentions(carried.yield, carried.argument) ? 1 : 0;
      return symbol_uses_[carried.argument.index] == own_use && symbol_uses_[carried.result.index] == 0;
    });
    return removed > 0;
  }

  void replace() {
    ir::for_each_op(f_.body, [&](ir::Op& op) {
      visit_reads(op, [&](ValueId& id) {
        // An initial value may itself be the argument of an outer loop that goes in the same round.
        for (auto found = values_.find(id); found != values_.end(); found = values_.find(id)) {
          id = found->second;
        }
      });
      visit_exprs(op, [&](ExprId& id) {
        for (ExprId next = f_.exprs.substitute(id, symbols_); next != id; next = f_.exprs.substitute(id, symbols_)) {
          id = next;
        }
      });
    });
  }

  ir::Function& f_;
  std::vector<int> value_uses_;
  std::vector<int> symbol_uses_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<SymbolId, ExprId> symbols_;
};

}  // namespace

void prune_carried(ir::Function& function) {
  Pruner(function).run();
}

bool uses_value(const ir::Block& block, ValueId value) {
  bool is_used = false;
  ir::for_each_op(const_cast<ir::Block&>(block),
                  [&](ir::Op& op) { visit_reads(op, [&](ValueId& id) { is_used |= id == value; }); });
  return is_used;
}

bool uses_symbol(const ir::ExprPool& exprs, const ir::Block& block, SymbolId symbol) {
  std::vector<SymbolId> symbols;
  ir::for_each_op(const_cast<ir::Block&>(block),
                  [&](ir::Op& op) { visit_exprs(op, [&](ExprId& id) { exprs.collect_symbols(id, symbols); }); });
  return std::ranges::find(symbols, symbol) != symbols.end();
}

}  // namespace tw::sema
