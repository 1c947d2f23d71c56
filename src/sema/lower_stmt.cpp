// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "sema/lowering.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;

namespace {

void collect_target(const syntax::Expr& target, std::set<std::string>& out) {
  if (const auto* name = target.as<syntax::Name>()) {
    out.insert(name->id);
  } else if (const auto* tuple = target.as<syntax::TupleExpr>()) {
    for (const syntax::ExprPtr& element : tuple->elements) {
      collect_target(*element, out);
    }
  }
}

// The names that a body may assign, whichever way it goes.
void collect_assigned(const syntax::Block& block, std::set<std::string>& out) {
  for (const syntax::StmtPtr& stmt : block.statements) {
    if (const auto* node = stmt->as<syntax::Assign>()) {
      collect_target(*node->target, out);
    } else if (const auto* node = stmt->as<syntax::AugAssign>()) {
      collect_target(*node->target, out);
    } else if (const auto* node = stmt->as<syntax::For>()) {
      collect_target(*node->target, out);
    } else if (const auto* node = stmt->as<syntax::With>()) {
      for (const syntax::WithItem& item : node->items) {
        if (item.target != nullptr) {
          collect_target(*item.target, out);
        }
      }
    }
    for (const syntax::Block* body : syntax::bodies(*stmt)) {
      collect_assigned(*body, out);
    }
  }
}

bool is_same_value(const Value& a, const Value& b) {
  if (const auto* x = a.as<TileValue>()) {
    const auto* y = b.as<TileValue>();
    return y != nullptr && x->id == y->id;
  }
  if (const auto* x = a.as<IntValue>()) {
    const auto* y = b.as<IntValue>();
    return y != nullptr && x->expr == y->expr;
  }
  if (const auto* x = a.as<BoolValue>()) {
    const auto* y = b.as<BoolValue>();
    return y != nullptr && x->expr == y->expr;
  }
  if (const auto* x = a.as<FloatValue>()) {
    const auto* y = b.as<FloatValue>();
    return y != nullptr && (x->value == y->value || (x->value != x->value && y->value != y->value));
  }
  if (const auto* x = a.as<TupleValue>()) {
    const auto* y = b.as<TupleValue>();
    return y != nullptr && std::ranges::equal(x->elements, y->elements, is_same_value);
  }
  if (const auto* x = a.as<MemoryValue>()) {
    const auto* y = b.as<MemoryValue>();
    auto same_axis = [](const MemoryAxis& p, const MemoryAxis& q) {
      return p.kind == q.kind && p.lo == q.lo && p.extent == q.extent;
    };
    return y != nullptr && x->object == y->object && x->version == y->version && x->perm == y->perm &&
           std::ranges::equal(x->axes, y->axes, same_axis);
  }
  if (const auto* x = a.as<BuiltinValue>()) {
    const auto* y = b.as<BuiltinValue>();
    return y != nullptr && x->entry == y->entry;
  }
  if (const auto* x = a.as<TypeValue>()) {
    const auto* y = b.as<TypeValue>();
    return y != nullptr && x->type == y->type;
  }
  if (const auto* x = a.as<StringValue>()) {
    const auto* y = b.as<StringValue>();
    return y != nullptr && x->text == y->text;
  }
  if (const auto* x = a.as<LambdaValue>()) {
    const auto* y = b.as<LambdaValue>();
    return y != nullptr && x->lambda == y->lambda;
  }
  return a.is<NoneValue>() && b.is<NoneValue>();
}

}  // namespace

bool Lowering::take_step(Span span, size_t cost) {
  if (has_stopped_) {
    return false;
  }
  steps_ += static_cast<int64_t>(cost);
  if (steps_ <= kMaxSteps) {
    return true;
  }
  has_stopped_ = true;
  note(sink_.report(codes::ExpansionTooLarge{}, span, "the kernel", "more", kMaxSteps)
           .note("loops over `unroll(..)` and `static(..)` and calls of functions are expanded; use `range(..)` for "
                 "long loops")
           .emit());
  return false;
}

void Lowering::inside(ir::Block& block, const std::function<void()>& body) {
  ir::Block* outer = std::exchange(block_, &block);
  body();
  block_ = outer;
}

Lowering::Flow Lowering::exec_block(const syntax::Block& block) {
  for (const syntax::StmtPtr& stmt : block.statements) {
    if (!take_step(stmt->header_span)) {
      return Flow::Next;
    }
    if (!enter(stmt->header_span)) {
      return Flow::Next;
    }
    const Flow flow = exec(*stmt);
    --depth_;
    if (flow != Flow::Next) {
      return flow;
    }
  }
  return Flow::Next;
}

Lowering::Flow Lowering::exec(const syntax::Stmt& stmt) {
  if (const auto* node = stmt.as<syntax::Assign>()) {
    const auto* name = node->target->as<syntax::Name>();
    name_hint_ = name != nullptr ? name->id : "";
    Value value;
    // Objects declared side by side take their names from the same place in the target.
    const auto* targets = node->target->as<syntax::TupleExpr>();
    const auto* values = node->value->as<syntax::TupleExpr>();
    if (targets != nullptr && values != nullptr && targets->elements.size() == values->elements.size()) {
      TupleValue tuple;
      for (size_t i = 0; i < values->elements.size(); ++i) {
        const auto* element_name = targets->elements[i]->as<syntax::Name>();
        name_hint_ = element_name != nullptr ? element_name->id : "";
        tuple.elements.push_back(eval(*values->elements[i]));
      }
      value = std::move(tuple);
    } else {
      value = eval(*node->value);
    }
    name_hint_.clear();
    assign(*node->target, std::move(value), node->value->span);
    return Flow::Next;
  }
  if (const auto* node = stmt.as<syntax::AugAssign>()) {
    const std::string& name = node->target->as<syntax::Name>()->id;
    Operand left{eval(*node->target), node->target->span};
    name_hint_.clear();
    Operand right{eval(*node->value), node->value->span};
    name_hint_ = name;
    Value value = binary(node->op, left, right, stmt.span, {});
    name_hint_.clear();
    assign(*node->target, std::move(value), stmt.span);
    return Flow::Next;
  }
  if (const auto* node = stmt.as<syntax::ExprStmt>()) {
    exec_expression(stmt, *node->value);
    return Flow::Next;
  }
  if (const auto* node = stmt.as<syntax::For>()) {
    return exec_for(stmt, *node);
  }
  if (const auto* node = stmt.as<syntax::While>()) {
    std::optional<ir::ExprId> condition = eval_bool(*node->condition, "the condition of `while`");
    if (condition && !exprs().is_constant(*condition, 0)) {
      report_not_lowered(stmt.header_span, "`while`",
                         "a loop whose trip count is known when it starts is written `for k in range(..)`");
    }
    if (!condition || !exprs().is_constant(*condition, 0)) {
      poison_assigned(node->body);
    }
    return Flow::Next;
  }
  if (const auto* node = stmt.as<syntax::If>()) {
    return exec_if(stmt, *node, 0);
  }
  if (const auto* node = stmt.as<syntax::With>()) {
    return exec_with(stmt, *node);
  }
  if (stmt.is<syntax::Return>() || stmt.is<syntax::Break>() || stmt.is<syntax::Continue>()) {
    return exec_jump(stmt);
  }
  return Flow::Next;
}

void Lowering::exec_expression(const syntax::Stmt& stmt, const syntax::Expr& expr) {
  // A text that stands alone is documentation.
  if (expr.is<syntax::StringLiteral>()) {
    return;
  }
  const Value value = eval(expr);
  // `pin(x, ..)` acts on x itself.
  if (value.is<NoneValue>() || value.is_poison() || syntax::callee_name(expr) == "pin") {
    return;
  }
  std::string what = "this expression";
  if (std::string_view callee = syntax::callee_name(expr); !callee.empty()) {
    what = fmt::format("`{}(..)`", callee);
  }
  diag::Builder builder = sink_.report(codes::UnusedResult{}, stmt.span, what);
  if (value.is<TileValue>()) {
    builder.note("give it a name, e.g. `acc = mma(a, b, acc)`, or write it to memory with `store(value, T[..])`");
  }
  note(builder.emit());
}

Lowering::Flow Lowering::exec_jump(const syntax::Stmt& stmt) {
  if (const auto* node = stmt.as<syntax::Return>()) {
    return_value_ = node->value != nullptr ? eval(*node->value) : Value(NoneValue{});
    if (run_time_depth_ > function_base_) {
      report_not_lowered(stmt.span, "`return` inside a run-time loop or branch", "let the rest stand in an `if`");
      return Flow::Next;
    }
    if (inline_stack_.size() == 1 && !return_value_.is<NoneValue>() && !return_value_.is_poison()) {
      note(sink_
               .report(codes::Placement{}, stmt.span, "`return` with a value", "in a kernel",
                       "results are written to `Out` tensors")
               .emit());
    }
    return Flow::Return;
  }
  const bool is_break = stmt.is<syntax::Break>();
  const std::string_view word = is_break ? "`break`" : "`continue`";
  if (loops_.empty()) {
    note(
        sink_
            .report(codes::Placement{}, stmt.span, word, "outside a loop", "it ends an iteration of the loop around it")
            .emit());
    return Flow::Next;
  }
  const LoopScope& loop = loops_.back();
  if (loop.is_run_time || branches_ > loop.branches) {
    report_not_lowered(stmt.span, fmt::format("{} under a run-time condition", word),
                       "bound the range of the loop, or let the rest stand in an `if`");
    return Flow::Next;
  }
  return is_break ? Flow::Break : Flow::Continue;
}

void Lowering::assign(const syntax::Expr& target, Value value, Span value_span) {
  if (const auto* name = target.as<syntax::Name>()) {
    if (value.is<NoneValue>()) {
      note(sink_
               .report(codes::WrongKind{}, value_span, fmt::format("the value of `{}`", name->id), "no value",
                       "an expression that has one")
               .emit());
      value = PoisonValue{};
    }
    if (const auto* tile = value.as<TileValue>(); tile != nullptr && function_.value(tile->id).name.empty()) {
      function_.value(tile->id).name = name->id;
    }
    frame_->names[name->id] = std::move(value);
    return;
  }
  const auto& targets = target.as<syntax::TupleExpr>()->elements;
  auto* tuple = value.as<TupleValue>();
  if (tuple == nullptr) {
    if (!value.is_poison()) {
      poison_wrong_kind(value_span, "the value", value, fmt::format("a tuple of {} values", targets.size()));
    }
    poison_target(target);
    return;
  }
  if (tuple->elements.size() != targets.size()) {
    note(sink_.report(codes::UnpackCount{}, target.span, targets.size(), tuple->elements.size())
             .label(value_span, "the values")
             .emit());
    poison_target(target);
    return;
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    assign(*targets[i], std::move(tuple->elements[i]), value_span);
  }
}

void Lowering::poison_target(const syntax::Expr& target) {
  std::set<std::string> names;
  collect_target(target, names);
  for (const std::string& name : names) {
    frame_->names[name] = PoisonValue{};
  }
}

void Lowering::poison_assigned(const syntax::Block& block) {
  std::set<std::string> names;
  collect_assigned(block, names);
  for (const std::string& name : names) {
    frame_->names[name] = PoisonValue{};
  }
}

Lowering::Flow Lowering::exec_for(const syntax::Stmt& stmt, const syntax::For& node) {
  Value iterable = eval(*node.iterable);
  if (const auto* range = iterable.as<RangeValue>()) {
    return exec_range(stmt, node, *range);
  }
  if (const auto* items = iterable.as<StaticValue>()) {
    return exec_expanded(stmt, node, items->items);
  }
  if (const auto* tiles = iterable.as<TilesValue>()) {
    return exec_tiles(stmt, node, *tiles);
  }
  if (!iterable.is_poison()) {
    diag::Builder builder = sink_.report(codes::NotIterable{}, node.iterable->span, describe(iterable));
    if (iterable.is<TupleValue>()) {
      builder.note("`for x in static(a, b)` runs over values that are known at compile time");
    }
    note(builder.emit());
  }
  // The body is still read for its own errors, with the loop's names unknown.
  poison_target(*node.target);
  poison_assigned(node.body);
  ir::Block ignored;
  loops_.push_back({true, branches_});
  ++run_time_depth_;
  inside(ignored, [&] { exec_block(node.body); });
  --run_time_depth_;
  loops_.pop_back();
  poison_assigned(node.body);
  return Flow::Next;
}

Lowering::Flow Lowering::exec_expanded(const syntax::Stmt& stmt, const syntax::For& node,
                                       const std::vector<Value>& items) {
  Flow result = Flow::Next;
  loops_.push_back({false, branches_});
  for (const Value& item : items) {
    if (!take_step(stmt.header_span)) {
      break;
    }
    assign(*node.target, item, node.iterable->span);
    Flow flow = exec_block(node.body);
    if (flow == Flow::Break) {
      break;
    }
    if (flow == Flow::Return) {
      result = flow;
      break;
    }
  }
  loops_.pop_back();
  return result;
}

Lowering::Flow Lowering::exec_range(const syntax::Stmt& stmt, const syntax::For& node, const RangeValue& range) {
  const auto* variable_name = node.target->as<syntax::Name>();
  if (variable_name == nullptr) {
    note(sink_.report(codes::UnpackCount{}, node.target->span, node.target->as<syntax::TupleExpr>()->elements.size(), 1)
             .emit());
    poison_target(*node.target);
    return Flow::Next;
  }
  if (range.use == RangeUse::Unroll && range.factor == 0) {
    std::optional<int64_t> begin = exprs().constant_value(range.begin);
    std::optional<int64_t> end = exprs().constant_value(range.end);
    if (begin && end) {
      const int64_t count = *end > *begin ? (*end - *begin + range.step - 1) / range.step : 0;
      if (count > kMaxExpandedIterations) {
        note(sink_.report(codes::ExpansionTooLarge{}, node.iterable->span, "the loop", count, kMaxExpandedIterations)
                 .emit());
        poison_assigned(node.body);
        return Flow::Next;
      }
      std::vector<Value> items;
      for (int64_t i = 0; i < count; ++i) {
        items.emplace_back(IntValue{exprs().constant(*begin + i * range.step)});
      }
      return exec_expanded(stmt, node, items);
    }
    note(sink_
             .report(codes::NotCompileTime{}, node.iterable->span, "the range of `unroll`",
                     text_of(exprs().constant_value(range.begin) ? range.end : range.begin))
             .note("`unroll(range(..), 4)` unrolls by a factor instead")
             .emit());
    poison_assigned(node.body);
    return Flow::Next;
  }

  if (!take_step(stmt.header_span, 1 + frame_->names.size() / 8)) {
    return Flow::Next;
  }
  ir::ForOp loop;
  loop.variable = exprs().add_symbol(variable_name->id, ir::SymbolKind::Loop, node.target->span);
  loop.begin = range.begin;
  loop.end = range.end;
  loop.step = range.step;
  loop.kind = range.use == RangeUse::Pipeline ? ir::LoopKind::Pipeline : ir::LoopKind::Range;
  loop.stages = range.stages;
  loop.unroll = range.factor;

  std::set<std::string> assigned;
  collect_assigned(node.body, assigned);
  assigned.erase(variable_name->id);
  struct Candidate {
    std::string name;
    Value before;
  };
  std::vector<Candidate> candidates;
  const Frame before = *frame_;
  for (const std::string& name : assigned) {
    auto found = frame_->names.find(name);
    if (found == frame_->names.end()) {
      continue;
    }
    Value& value = found->second;
    candidates.push_back({name, value});
    if (const auto* tile = value.as<TileValue>()) {
      ir::Value head = function_.value(tile->id);
      head.name = name;
      head.span = stmt.header_span;
      value = TileValue{function_.add_value(std::move(head))};
    } else if (value.is<IntValue>() || value.is<BoolValue>()) {
      ir::ExprId head = exprs().symbol_ref(exprs().add_symbol(name, ir::SymbolKind::Carried, stmt.header_span));
      value = value.is<IntValue>() ? Value(IntValue{head}) : Value(BoolValue{head});
    }
  }
  std::map<std::string, Value, std::less<>> heads;
  for (const Candidate& candidate : candidates) {
    heads[candidate.name] = frame_->names[candidate.name];
  }
  frame_->names[variable_name->id] = IntValue{exprs().symbol_ref(loop.variable)};
  loops_.push_back({true, branches_});
  ++run_time_depth_;
  inside(loop.body, [&] { exec_block(node.body); });
  --run_time_depth_;
  loops_.pop_back();

  // Does another name end an iteration with what `head` began it with?
  auto expr_in = [](const Value& value) {
    return value.is<IntValue>() ? value.as<IntValue>()->expr
                                : (value.is<BoolValue>() ? value.as<BoolValue>()->expr : ir::ExprId{});
  };
  auto is_yielded = [&](const Value& head) {
    return std::ranges::any_of(candidates, [&](const Candidate& other) {
      const Value& after = frame_->names[other.name];
      if (const auto* tile = after.as<TileValue>()) {
        return head.is<TileValue>() && tile->id == head.as<TileValue>()->id;
      }
      std::vector<ir::SymbolId> symbols;
      if (expr_in(after).is_valid() && expr_in(head).is_valid()) {
        exprs().collect_symbols(expr_in(after), symbols);
      }
      return !symbols.empty() && std::ranges::find(symbols, exprs().node(expr_in(head)).symbol) != symbols.end();
    });
  };
  std::map<std::string, Value, std::less<>> results;
  for (const Candidate& candidate : candidates) {
    const std::string& name = candidate.name;
    const Value& head = heads[name];
    const Value& after = frame_->names[name];
    if (after.is_poison() || candidate.before.is_poison()) {
      results[name] = PoisonValue{};
    } else if (const auto* tile = after.as<TileValue>(); tile != nullptr && head.is<TileValue>()) {
      const ir::ValueId argument = head.as<TileValue>()->id;
      const ir::ValueId init = candidate.before.as<TileValue>()->id;
      const ir::Value& from = function_.value(init);
      if (function_.value(tile->id).shape != from.shape || function_.value(tile->id).element != from.element) {
        results[name] = changed_type(stmt, loop.body, name, candidate.before, head, after, is_yielded(head));
        continue;
      }
      ir::Value result = from;
      result.name = name;
      result.span = stmt.header_span;
      const ir::ValueId result_id = function_.add_value(std::move(result));
      loop.values.push_back({init, argument, tile->id, result_id});
      results[name] = TileValue{result_id};
    } else if ((after.is<IntValue>() && head.is<IntValue>()) || (after.is<BoolValue>() && head.is<BoolValue>())) {
      const bool is_int = after.is<IntValue>();
      auto expr_of = [&](const Value& value) {
        return is_int ? value.as<IntValue>()->expr : value.as<BoolValue>()->expr;
      };
      const ir::SymbolId argument = exprs().node(expr_of(head)).symbol;
      const ir::SymbolId result = exprs().add_symbol(name, ir::SymbolKind::Result, stmt.header_span);
      loop.scalars.push_back({expr_of(candidate.before), argument, expr_of(after), result});
      const ir::ExprId value = exprs().symbol_ref(result);
      results[name] = is_int ? Value(IntValue{value}) : Value(BoolValue{value});
    } else if (is_same_value(after, candidate.before)) {
      results[name] = candidate.before;
    } else {
      results[name] = changed_type(stmt, loop.body, name, candidate.before, head, after, is_yielded(head));
    }
  }
  frame_->names = before.names;
  for (const std::string& name : assigned) {
    auto found = results.find(name);
    frame_->names[name] = found != results.end()
                              ? found->second
                              : Value(UnavailableValue{"it is assigned in a loop that may not run", stmt.header_span});
  }
  frame_->names[variable_name->id] = UnavailableValue{"a loop variable exists inside its loop only", stmt.header_span};
  emit(stmt.header_span, std::move(loop));
  return Flow::Next;
}

// A name whose kind or shape differs at the end of an iteration cannot be carried; that is fine while no iteration
// reads what the one before left.
Value Lowering::changed_type(const syntax::Stmt& loop, const ir::Block& body, const std::string& name,
                             const Value& before, const Value& head, const Value& after, bool is_yielded) {
  bool is_used = false;
  if (const auto* tile = head.as<TileValue>()) {
    is_used = uses_value(body, tile->id);
  } else if (head.is<IntValue>() || head.is<BoolValue>()) {
    const ir::ExprId expr = head.is<IntValue>() ? head.as<IntValue>()->expr : head.as<BoolValue>()->expr;
    is_used = uses_symbol(exprs(), body, exprs().node(expr).symbol);
  } else {
    is_used = !before.is<UnavailableValue>();
  }
  if (!is_used && !is_yielded) {
    return UnavailableValue{fmt::format("before the loop it was {}, and the loop may not run", describe(before)),
                            loop.header_span};
  }
  note(sink_.report(codes::LoopChangesType{}, loop.header_span, name, describe(before), describe(after))
           .note(fmt::format("give `{}` its final type before the loop, e.g. `{} = zeros(f32, (M, N))`", name, name))
           .emit());
  return PoisonValue{};
}

Lowering::Flow Lowering::exec_tiles(const syntax::Stmt& stmt, const syntax::For& node, const TilesValue& tiles) {
  std::string_view where;
  if (inline_stack_.size() > 1) {
    where = "in a function";
  } else if (run_time_depth_ > 0 || !loops_.empty()) {
    where = "inside another loop or branch";
  } else if (has_tiles_) {
    where = "after another `tiles` loop";
  }
  if (!where.empty()) {
    note(sink_
             .report(codes::Placement{}, stmt.header_span, "a `tiles` loop", where,
                     "a kernel distributes its work over blocks once, at its top level")
             .emit());
    poison_target(*node.target);
    return Flow::Next;
  }
  has_tiles_ = true;
  const syntax::Expr* target = node.target.get();
  if (tiles.is_enumerated) {
    const auto* pair = target->as<syntax::TupleExpr>();
    if (pair == nullptr || pair->elements.size() != 2) {
      note(sink_.report(codes::UnpackCount{}, target->span, pair != nullptr ? pair->elements.size() : 1, 2).emit());
      poison_target(*target);
      return Flow::Next;
    }
    if (tiles.is_persistent) {
      report_not_lowered(node.iterable->span, "`enumerate` over persistent tiles");
    }
    // A block of a grid that is not persistent works on one point.
    assign(*pair->elements[0], IntValue{exprs().constant(0)}, node.iterable->span);
    target = pair->elements[1].get();
  }
  ir::TilesOp loop;
  loop.extents = tiles.extents;
  loop.raster = tiles.raster.kind;
  loop.raster_group = tiles.raster.group;
  loop.persistent = tiles.is_persistent;
  TupleValue point;
  const auto* names = target->as<syntax::TupleExpr>();
  for (size_t i = 0; i < tiles.extents.size(); ++i) {
    const syntax::Expr* variable = names != nullptr && i < names->elements.size() ? names->elements[i].get() : target;
    const auto* name = variable->as<syntax::Name>();
    ir::SymbolId symbol = exprs().add_symbol(name != nullptr ? name->id : fmt::format("t{}", i),
                                             ir::SymbolKind::TileCoord, variable->span);
    loop.variables.push_back(symbol);
    point.elements.emplace_back(IntValue{exprs().symbol_ref(symbol)});
  }
  std::set<std::string> assigned;
  collect_assigned(node.body, assigned);
  for (const std::string& name : assigned) {
    if (auto found = frame_->names.find(name); found != frame_->names.end() && !found->second.is_poison()) {
      found->second = UnavailableValue{"values are not carried from tile to tile", stmt.header_span};
    }
  }
  if (names == nullptr && point.elements.size() == 1) {
    assign(*target, point.elements[0], node.iterable->span);
  } else {
    assign(*target, Value(std::move(point)), node.iterable->span);
  }
  ++run_time_depth_;
  in_tiles_ = true;
  loops_.push_back({true, branches_});
  inside(loop.body, [&] { exec_block(node.body); });
  loops_.pop_back();
  in_tiles_ = false;
  --run_time_depth_;
  collect_target(*node.target, assigned);
  for (const std::string& name : assigned) {
    frame_->names[name] = UnavailableValue{
        "it is assigned in the `tiles` loop, which a block may run for several tiles or none", stmt.header_span};
  }
  emit(stmt.header_span, std::move(loop));
  return Flow::Next;
}

Lowering::Flow Lowering::exec_if(const syntax::Stmt& stmt, const syntax::If& node, size_t branch) {
  // Branches whose condition is known to be false leave nothing behind.
  std::optional<ir::ExprId> condition;
  for (;; ++branch) {
    if (branch == node.branches.size()) {
      return node.has_else ? exec_block(node.else_body) : Flow::Next;
    }
    condition = eval_bool(*node.branches[branch].condition, "the condition of `if`");
    const std::optional<int64_t> known = condition ? exprs().constant_value(*condition) : std::nullopt;
    if (!known) {
      break;
    }
    if (*known != 0) {
      return exec_block(node.branches[branch].body);
    }
  }
  const syntax::Branch& current = node.branches[branch];
  // Each further branch of a chain stands inside the `else` of the one before.
  if (branches_ >= kMaxNestedBranches) {
    note(sink_
             .report(codes::ExpansionTooLarge{}, stmt.header_span, "the nesting of branches chosen at run time", "more",
                     kMaxNestedBranches)
             .emit());
    return Flow::Next;
  }
  // Both branches work on a copy of all names.
  if (!take_step(stmt.header_span, 1 + frame_->names.size() / 8)) {
    return Flow::Next;
  }
  ir::IfOp op;
  op.condition = condition.value_or(exprs().constant(1));
  const Frame before = *frame_;
  const size_t symbol_mark = exprs().symbol_count();
  ++branches_;
  ++run_time_depth_;
  inside(op.then_body, [&] { exec_block(current.body); });
  const Frame then_frame = *frame_;
  *frame_ = before;
  inside(op.else_body, [&] { exec_if(stmt, node, branch + 1); });
  --run_time_depth_;
  --branches_;
  if (!condition) {
    poison_assigned(current.body);
    return Flow::Next;
  }
  const Frame else_frame = *frame_;
  merge(op, then_frame, else_frame, symbol_mark);
  emit(stmt.header_span, std::move(op));
  return Flow::Next;
}

void Lowering::merge(ir::IfOp& branch, const Frame& then_frame, const Frame& else_frame, size_t symbol_mark) {
  std::set<std::string> names;
  for (const auto& [name, value] : then_frame.names) {
    names.insert(name);
  }
  for (const auto& [name, value] : else_frame.names) {
    names.insert(name);
  }
  for (const std::string& name : names) {
    auto then_value = then_frame.names.find(name);
    auto else_value = else_frame.names.find(name);
    if (then_value == then_frame.names.end() || else_value == else_frame.names.end()) {
      frame_->names[name] = UnavailableValue{"it is assigned in one branch of an `if` only", {}};
    } else if (is_same_value(then_value->second, else_value->second)) {
      frame_->names[name] = then_value->second;
    } else {
      frame_->names[name] = merge_value(branch, name, then_value->second, else_value->second, symbol_mark);
    }
  }
}

Value Lowering::merge_value(ir::IfOp& branch, const std::string& name, const Value& then_value, const Value& else_value,
                            size_t symbol_mark) {
  if (then_value.is_poison() || else_value.is_poison()) {
    return PoisonValue{};
  }
  if (then_value.is<UnavailableValue>() || else_value.is<UnavailableValue>()) {
    return then_value.is<UnavailableValue>() ? then_value : else_value;
  }
  const auto* then_tile = then_value.as<TileValue>();
  const auto* else_tile = else_value.as<TileValue>();
  if (then_tile != nullptr && else_tile != nullptr) {
    const ir::Value& one = function_.value(then_tile->id);
    const ir::Value& other = function_.value(else_tile->id);
    if (one.shape == other.shape && one.element == other.element) {
      ir::ValueId result = new_value(one.element, one.shape, one.span, name);
      branch.results.push_back({then_tile->id, else_tile->id, result});
      return TileValue{result};
    }
  }
  const bool are_ints = then_value.is<IntValue>() && else_value.is<IntValue>();
  const bool are_bools = then_value.is<BoolValue>() && else_value.is<BoolValue>();
  if (are_ints || are_bools) {
    auto expr_of = [&](const Value& value) {
      return are_ints ? value.as<IntValue>()->expr : value.as<BoolValue>()->expr;
    };
    std::vector<ir::SymbolId> symbols;
    exprs().collect_symbols(expr_of(then_value), symbols);
    exprs().collect_symbols(expr_of(else_value), symbols);
    if (std::ranges::any_of(symbols, [&](ir::SymbolId symbol) { return symbol.index >= symbol_mark; })) {
      return UnavailableValue{"it comes from a loop inside a branch", {}};
    }
    ir::ExprId chosen = exprs().select(branch.condition, expr_of(then_value), expr_of(else_value));
    return are_ints ? Value(IntValue{chosen}) : Value(BoolValue{chosen});
  }
  return UnavailableValue{
      fmt::format("it is {} in one branch of an `if` and {} in the other", describe(then_value), describe(else_value)),
      {}};
}

Lowering::Flow Lowering::exec_with(const syntax::Stmt& stmt, const syntax::With& node) {
  for (const syntax::WithItem& item : node.items) {
    Value context = eval(*item.context);
    if (context.is_poison()) {
      // Roles and the like are not lowered: their bodies would only repeat that.
      poison_assigned(node.body);
      if (item.target != nullptr) {
        poison_target(*item.target);
      }
      return Flow::Next;
    }
    if (!context.is<GroupValue>()) {
      poison_wrong_kind(item.context->span, "the context of `with`", context, "`group()`");
      poison_assigned(node.body);
      return Flow::Next;
    }
    if (item.target != nullptr) {
      note(sink_.report(codes::WrongKind{}, item.target->span, "the value of `group()`", "nothing", "`with group():`")
               .emit());
      poison_target(*item.target);
    }
  }
  if (group_depth_ > 0) {
    note(sink_
             .report(codes::Placement{}, stmt.header_span, "`with group()`", "inside another",
                     "a copy belongs to one group")
             .emit());
  }
  ++group_depth_;
  Flow flow = exec_block(node.body);
  --group_depth_;
  emit(stmt.header_span, ir::CommitOp{});
  return flow;
}

void Lowering::guarded(const Arguments& arguments, Span span, const std::function<void()>& body) {
  const syntax::Expr* when = arguments.find("when");
  if (when == nullptr) {
    body();
    return;
  }
  std::optional<ir::ExprId> condition = eval_bool(*when, "`when`");
  if (!condition) {
    return;
  }
  if (std::optional<int64_t> known = exprs().constant_value(*condition)) {
    if (*known != 0) {
      body();
    }
    return;
  }
  ir::IfOp op;
  op.condition = *condition;
  inside(op.then_body, body);
  emit(span, std::move(op));
}

}  // namespace tw::sema
