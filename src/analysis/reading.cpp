// SPDX-License-Identifier: Apache-2.0
#include "analysis/reading.h"

#include <algorithm>
#include <set>

#include "analysis/carried.h"
#include "analysis/expr_reader.h"
#include "analysis/pieces.h"
#include "base/check.h"

namespace tw::analysis {

namespace {

using domain::Decision;
using domain::Facts;
using domain::FactScope;
using domain::Ints;
using ir::ExprId;
using ir::SymbolId;
using ir::ValueId;

constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;
constexpr int kMaxPasses = 4;

class Evaluator {
 public:
  Evaluator(Environment& env, const ir::Function& function)
      : env_(env), ints_(env.ints), values_(env.values), f_(function), reader_(env, function), memory_(env) {}

  Result<Reading> run() {
    reading_.finite.resize(f_.tensors.size(), false);
    for (SymbolId size : f_.sizes) {
      IntId value = ints_.var(env_.named(f_.exprs.symbol(size).name));
      reader_.symbols[size] = value;
      facts_.assume(ints_.non_negative(value));
      facts_.assume(ints_.le(value, ints_.constant(kMaxSize)));
    }
    for (const ir::ScalarParameter& scalar : f_.scalars) {
      if (scalar.symbol.is_valid()) {
        IntId value = ints_.var(env_.named(scalar.name));
        reader_.symbols[scalar.symbol] = value;
        if (scalar.element == ElementType::I32) {
          facts_.assume(ints_.le(ints_.constant(-kMaxSize - 1), value));
          facts_.assume(ints_.le(value, ints_.constant(kMaxSize)));
        }
      }
    }
    for (const ir::Tensor& tensor : f_.tensors) {
      for (ExprId extent : tensor.extents) {
        CondId condition = ints_.non_negative(reader_.integer(extent));
        if (condition != ints_.truth(true)) {
          facts_.assume(condition);
        }
      }
    }
    for (const ir::Assumption& assumption : f_.assumptions) {
      if (assumption.condition.is_valid()) {
        facts_.assume(reader_.condition(assumption.condition));
      }
      if (assumption.finite.is_valid()) {
        reading_.finite[assumption.finite.index] = true;
      }
    }
    size_t tiles = 0;
    ir::for_each_op(f_.body, [&](const ir::Op& op) {
      if (const auto* space = std::get_if<ir::TilesOp>(&op.body)) {
        ordinals_[op.id] = tiles;
        if (space->linear.is_valid()) {
          VarId var = env_.named("tile " + std::to_string(tiles) + " linear");
          reader_.symbols[space->linear] = ints_.var(var);
          facts_.assume(ints_.non_negative(ints_.var(var)));
          reading_.choices.push_back(var);
        }
        ++tiles;
      }
    });
    reading_.premises = facts_.conditions();
    block(f_.body);
    if (!problem_.empty()) {
      return fail(problem_);
    }
    if (!reader_.problem.empty()) {
      return fail(reader_.problem);
    }
    return std::move(reading_);
  }

 private:
  // ---- places, expressions

  Place place(const ir::Op& op) { return Place{&op, facts_.conditions(), loops_}; }

  IntId integer(ExprId id) {
    IntId result = reader_.integer(id);
    note_parts();
    note_divisors();
    return result;
  }
  CondId condition(ExprId id) {
    CondId result = reader_.condition(id);
    note_parts();
    note_divisors();
    return result;
  }
  void note_divisors() {
    for (IntId d : reader_.divisors) {
      reading_.divisors.emplace_back(Place{current_, facts_.conditions(), loops_}, d);
    }
    reader_.divisors.clear();
  }

  void note_parts() {
    if (f_.stage != ir::Stage::Lowered || current_ == nullptr || std::holds_alternative<ir::CheckOp>(current_->body)) {
      // Checks are not emitted.
      return;
    }
    if (scalar_place_ == nullptr || scalar_place_->op != current_ || scalar_place_->path != facts_.conditions()) {
      scalar_place_ = std::make_shared<Place>(place(*current_));
      seen_parts_.clear();
    }
    for (const auto& [expr, value] : reader_.parts()) {
      if (!ints_.constant_value(value) && seen_parts_.insert({expr, value}).second) {
        reading_.scalars.push_back({scalar_place_, expr, value});
      }
    }
  }

  void approximate(std::string what, diag::Span span) { reading_.approximations.push_back({std::move(what), span}); }
  TermId unknown(ElementType type, std::string what, diag::Span span) {
    approximate(std::move(what), span);
    return values_.opaque(type);
  }

  TermId term(ValueId id) {
    auto it = terms_.find(id);
    TW_CHECK(it != terms_.end());
    return it->second;
  }
  void define(ValueId id, TermId t) { terms_[id] = t; }
  // Of a value that an op computes; handing values on (loops, branches) changes nothing in them.
  void compute(ValueId id, TermId t) {
    define(id, t);
    const TermNode& n = values_.node(t);
    const ElementType type = element(id);
    if (f_.stage == ir::Stage::Lowered && n.kind == TermKind::Integer && !is_floating(type) &&
        type != ElementType::Bool && current_ != nullptr) {
      reading_.integers.push_back({place(*current_), n.integer, type, shape(id), f_.value(id).name});
    }
  }
  const std::vector<int64_t>& shape(ValueId id) const { return f_.value(id).shape; }
  ElementType element(ValueId id) const { return f_.value(id).element; }

  void assume_axes(const std::vector<int64_t>& tile) {
    for (size_t i = 0; i < tile.size(); ++i) {
      facts_.assume(ints_.non_negative(values_.axis(static_cast<int>(i))));
      facts_.assume(ints_.lt(values_.axis(static_cast<int>(i)), ints_.constant(tile[i])));
    }
  }

  // ---- memory

  AccessRecord access_of(const ir::Op& op, const ir::Region& region, bool is_write, const ir::Access* access) {
    AccessRecord record;
    record.place = place(op);
    record.region = &region;
    record.is_write = is_write;
    record.access = region.is_global() ? access : nullptr;
    if (region.version.is_valid()) {
      record.version = integer(region.version);
    }
    for (const ir::AxisIndex& axis : region.axes) {
      record.coords.push_back(integer(axis.lo));
    }
    record.shape = region.tile_shape();
    for (size_t t = 0; t < record.shape.size(); ++t) {
      IntId& coord = record.coords[region.object_axis(static_cast<int>(t))];
      coord = ints_.add(coord, values_.axis(static_cast<int>(t)));
    }
    return record;
  }

  TermId read(const ir::Op& op, const ir::Region& region, double fill, const ir::Access* access) {
    AccessRecord record = access_of(op, region, false, access);
    reading_.accesses.push_back(record);
    ElementType type = ElementType::F32;
    TermId bottom;
    bool is_written = false;
    if (region.is_global()) {
      const ir::Tensor& tensor = f_.tensor(region.tensor());
      type = tensor.element;
      if (tensor.direction == ir::Direction::In || tensor.direction == ir::Direction::InOut) {
        bottom = values_.leaf(region.tensor().index, type, record.coords, fill);
      }
      if (tensor.direction == ir::Direction::In) {
        return bottom;
      }
      is_written = true;
    } else {
      type = f_.shared_object(region.shared()).element;
    }
    if (is_written) {
      // Whether another block writes the cell is not looked at.
      approximate("reads `" + f_.tensor(region.tensor()).name + "`, which the kernel may also write", region.span);
    }
    FactScope scope(facts_);
    assume_axes(record.shape);
    MemoryRead found = memory_.read(object_key(region), record.version, record.coords, facts_, type);
    if (found.is_incomplete && bottom.is_valid()) {
      return values_.select(ints_.negate(found.open_condition), found.value, bottom);
    }
    if (found.is_incomplete) {
      UnwrittenRead unwritten;
      unwritten.access = record;
      unwritten.open = found.open;
      unwritten.is_stale = found.is_stale;
      reading_.unwritten.push_back(std::move(unwritten));
    }
    if (found.is_approximate) {
      return unknown(type, "a read that no single earlier write is known to serve", region.span);
    }
    return found.value;
  }

  void write(const ir::Op& op, const ir::Region& region, TermId value, const ir::Access* access) {
    AccessRecord record = access_of(op, region, true, access);
    reading_.accesses.push_back(record);
    if (region.is_global()) {
      StoreRecord store;
      store.access = record;
      store.tensor = region.tensor();
      store.value = value;
      reading_.stores.push_back(std::move(store));
    }
    // Over the cell's coordinates instead of the tile's axes.
    domain::Substitution to_cell;
    std::vector<CondId> guard;
    if (record.version.is_valid()) {
      guard.push_back(ints_.eq(ints_.var(env_.cell_version), record.version));
    }
    std::vector<int> tile_axis(region.axes.size(), -1);
    for (size_t t = 0; t < record.shape.size(); ++t) {
      tile_axis[region.object_axis(static_cast<int>(t))] = static_cast<int>(t);
    }
    for (size_t i = 0; i < region.axes.size(); ++i) {
      IntId cell = ints_.var(env_.cell_coords[i]);
      if (tile_axis[i] < 0) {
        guard.push_back(ints_.eq(cell, record.coords[i]));
        continue;
      }
      IntId lo = ints_.sub(record.coords[i], values_.axis(tile_axis[i]));
      IntId offset = ints_.sub(cell, lo);
      to_cell.emplace(values_.axis_var(tile_axis[i]), offset);
      guard.push_back(ints_.non_negative(offset));
      guard.push_back(ints_.lt(offset, ints_.constant(record.shape[tile_axis[i]])));
    }
    memory_.write(object_key(region), Piece{std::move(guard), values_.substitute(value, to_cell), PieceKind::Write});
  }

  // ---- control flow

  void block(const ir::Block& ops) {
    for (const ir::Op& op : ops) {
      if (!problem_.empty()) {
        return;
      }
      const ir::Op* outer = current_;
      current_ = &op;
      std::visit([&](const auto& body) { evaluate(op, body); }, op.body);
      current_ = outer;
    }
  }

  struct Marks {
    size_t accesses, stores, mmas, checks, unwritten, approximations, divisors, scalars;
  };
  Marks marks() const {
    return {reading_.accesses.size(), reading_.stores.size(),    reading_.mmas.size(),
            reading_.checks.size(),   reading_.unwritten.size(), reading_.approximations.size(),
            reading_.divisors.size(), reading_.scalars.size()};
  }
  void rollback(const Marks& m) {
    reading_.accesses.resize(m.accesses);
    reading_.stores.resize(m.stores);
    reading_.mmas.resize(m.mmas);
    reading_.checks.resize(m.checks);
    reading_.unwritten.resize(m.unwritten);
    reading_.approximations.resize(m.approximations);
    reading_.divisors.resize(m.divisors);
    reading_.scalars.resize(m.scalars);
    scalar_place_ = nullptr;
  }

  std::set<ObjectKey> written_objects(const ir::Block& ops) {
    std::set<ObjectKey> keys;
    ir::for_each_op(ops, [&](const ir::Op& op) {
      for (const ir::Region* region : ir::uses_of(op).regions_written) {
        keys.insert(object_key(*region));
      }
    });
    return keys;
  }

  void evaluate(const ir::Op& op, const ir::TilesOp& tiles) {
    FactScope scope(facts_);
    const size_t ordinal = ordinals_.at(op.id);
    for (size_t i = 0; i < tiles.variables.size(); ++i) {
      VarId var = env_.named("tile " + std::to_string(ordinal) + "." + std::to_string(i) + " " +
                             f_.exprs.symbol(tiles.variables[i]).name);
      IntId hi = integer(tiles.extents[i]);
      reader_.symbols[tiles.variables[i]] = ints_.var(var);
      facts_.assume(ints_.non_negative(ints_.var(var)));
      facts_.assume(ints_.lt(ints_.var(var), hi));
      loops_.push_back({var, ints_.constant(0), hi, true, op.id, f_.exprs.symbol(tiles.variables[i]).name});
    }
    if (tiles.persistent) {
      // What earlier tiles of the block left behind depends on who ran them.
      for (const ObjectKey& key : written_objects(tiles.body)) {
        memory_.write(key, Piece{{}, {}, PieceKind::Stale});
      }
    }
    block(tiles.body);
    loops_.resize(loops_.size() - tiles.variables.size());
    for (const ObjectKey& key : written_objects(tiles.body)) {
      memory_.write(key, Piece{{}, {}, PieceKind::Stale});
    }
  }

  void evaluate(const ir::Op&, const ir::IfOp& branch) {
    CondId c = condition(branch.condition);
    Decision decision = env_.prover.decide(facts_, c);
    if (decision != Decision::Unknown) {
      block(decision == Decision::True ? branch.then_body : branch.else_body);
      for (const ir::IfResult& r : branch.results) {
        define(r.result, term(decision == Decision::True ? r.then_value : r.else_value));
      }
      return;
    }
    // The else branch may see the writes of the then branch in memory: their guards exclude each other.
    for (bool side : {true, false}) {
      FactScope scope(facts_);
      CondId here = side ? c : ints_.negate(c);
      facts_.assume(here);
      MemoryMark mark = memory_.mark();
      block(side ? branch.then_body : branch.else_body);
      memory_.guard_since(mark, here);
    }
    if (!problem_.empty()) {
      return;
    }
    for (const ir::IfResult& r : branch.results) {
      define(r.result, values_.select(c, term(r.then_value), term(r.else_value)));
    }
  }

  void evaluate(const ir::Op& op, const ir::ForOp& loop) {
    IntId begin = integer(loop.begin), end = integer(loop.end);
    // Iterations lo <= v < hi; the program's variable is begin + step * (v - lo) for steps other than 1.
    IntId lo = begin, hi = end;
    if (loop.step != 1) {
      lo = ints_.constant(0);
      hi = ints_.ceil_div(ints_.sub(end, begin), ints_.constant(loop.step));
    }
    auto program_value = [&](IntId v) { return loop.step == 1 ? v : ints_.add(begin, ints_.scale(v, loop.step)); };
    if (env_.prover.proves(facts_, ints_.le(hi, lo))) {
      for (const ir::CarriedValue& c : loop.values) {
        define(c.result, term(c.init));
      }
      for (const ir::CarriedScalar& c : loop.scalars) {
        reader_.symbols[c.result] = integer(c.init);
      }
      return;
    }
    if (ints_.is_constant(ints_.sub(hi, lo), 1)) {
      reader_.symbols[loop.variable] = program_value(lo);
      for (const ir::CarriedValue& c : loop.values) {
        define(c.argument, term(c.init));
      }
      for (const ir::CarriedScalar& c : loop.scalars) {
        reader_.symbols[c.argument] = integer(c.init);
      }
      block(loop.body);
      if (!problem_.empty()) {
        return;
      }
      for (const ir::CarriedValue& c : loop.values) {
        define(c.result, term(c.yield));
      }
      for (const ir::CarriedScalar& c : loop.scalars) {
        reader_.symbols[c.result] = integer(c.yield);
      }
      return;
    }
    run_loop(op, loop, lo, hi, program_value);
  }

  template <class ProgramValue>
  void run_loop(const ir::Op& op, const ir::ForOp& loop, IntId lo, IntId hi, const ProgramValue& program_value) {
    const std::string& name = f_.exprs.symbol(loop.variable).name;
    const uint32_t loop_id = next_loop_++;
    VarId v = ints_.add_var(name);
    IntId at = ints_.var(v);
    std::vector<TermId> inits;
    for (const ir::CarriedValue& c : loop.values) {
      inits.push_back(term(c.init));
      std::vector<IntId> coords{at};
      for (size_t i = 0; i < shape(c.argument).size(); ++i) {
        coords.push_back(values_.axis(static_cast<int>(i)));
      }
      define(c.argument,
             values_.carried(loop_id, static_cast<uint32_t>(inits.size() - 1), element(c.argument), coords));
    }
    std::vector<IntId> scalar_inits;
    std::vector<VarId> scalar_vars;
    for (const ir::CarriedScalar& c : loop.scalars) {
      scalar_inits.push_back(integer(c.init));
      scalar_vars.push_back(ints_.add_var(f_.exprs.symbol(c.argument).name));
      reader_.symbols[c.argument] = ints_.var(scalar_vars.back());
    }
    const std::set<ObjectKey> written = written_objects(loop.body);
    const Marks mark = marks();
    const Memory before = memory_;
    std::map<ObjectKey, std::vector<Piece>> pieces;

    auto pass = [&](bool discover) {
      FactScope scope(facts_);
      facts_.assume(ints_.le(lo, at));
      facts_.assume(ints_.lt(at, hi));
      reader_.symbols[loop.variable] = program_value(at);
      memory_ = before;
      for (const ObjectKey& key : written) {
        if (discover) {
          memory_.write(key, Piece{{}, {}, PieceKind::Unknown});
        } else {
          memory_.append_closed(key, pieces[key], v, lo, at, facts_);
        }
      }
      MemoryMark start = memory_.mark();
      loops_.push_back({v, lo, hi, false, op.id, name});
      block(loop.body);
      loops_.pop_back();
      return memory_.since(start);
    };

    const bool discover = !written.empty() || !loop.scalars.empty();
    if (discover) {
      pieces = pass(true);
      if (!problem_.empty()) {
        return;
      }
      std::vector<IntId> deltas;
      if (!solve_scalars(loop, scalar_vars, v, deltas)) {
        problem_ = "the scalar carried by the loop over `" + name + "` does not grow by a fixed step";
        return;
      }
      for (size_t i = 0; i < loop.scalars.size(); ++i) {
        reader_.symbols[loop.scalars[i].argument] = ints_.add(scalar_inits[i], ints_.mul(ints_.sub(at, lo), deltas[i]));
        scalar_inits[i] =
            ints_.add(scalar_inits[i], ints_.mul(ints_.max(ints_.sub(hi, lo), ints_.constant(0)), deltas[i]));
      }
      if (!loop.scalars.empty()) {
        rollback(mark);
        pieces = pass(true);
      }
    }
    for (int count = 0;; ++count) {
      rollback(mark);
      std::map<ObjectKey, std::vector<Piece>> next = pass(false);
      if (!problem_.empty()) {
        return;
      }
      if (same_pieces(next, pieces)) {
        pieces = std::move(next);
        break;
      }
      pieces = std::move(next);
      if (count == kMaxPasses) {
        // Values that go round through memory: no closed form.
        approximate("memory contents that one iteration hands to the next", op.span);
        for (auto& [key, list] : pieces) {
          for (Piece& piece : list) {
            piece = Piece{{}, {}, PieceKind::Unknown};
          }
        }
        break;
      }
    }

    // Registers: closed forms of the state at the head of iteration v, and after the last one.
    std::vector<TermId> yields;
    for (const ir::CarriedValue& c : loop.values) {
      yields.push_back(term(c.yield));
    }
    std::vector<TermId> arguments;
    for (const ir::CarriedValue& c : loop.values) {
      arguments.push_back(term(c.argument));
    }
    const CarriedForms forms =
        solve_carried(env_, facts_, {loop_id, v, lo, hi}, std::move(arguments), inits, std::move(yields));
    auto settle = [&](TermId& t) {
      if (t.is_valid()) {
        t = values_.substitute_carried(t, loop_id, v, forms.heads);
      }
    };
    for (size_t i = mark.stores; i < reading_.stores.size(); ++i) {
      settle(reading_.stores[i].value);
    }
    for (size_t i = mark.mmas; i < reading_.mmas.size(); ++i) {
      MmaRecord& m = reading_.mmas[i];
      for (TermId* t : {&m.a, &m.b, &m.c, &m.result}) {
        settle(*t);
      }
    }
    for (size_t i = mark.checks; i < reading_.checks.size(); ++i) {
      settle(reading_.checks[i].value);
    }
    for (size_t i = 0; i < loop.values.size(); ++i) {
      define(loop.values[i].result, forms.results[i]);
    }
    for (size_t i = 0; i < loop.scalars.size(); ++i) {
      reader_.symbols[loop.scalars[i].result] = scalar_inits[i];
    }
    memory_ = before;
    for (const ObjectKey& key : written) {
      for (Piece& piece : pieces[key]) {
        settle(piece.value);
      }
      memory_.append_closed(key, pieces[key], v, lo, hi, facts_);
    }
  }

  // yield = argument + delta with the same delta in every iteration.
  bool solve_scalars(const ir::ForOp& loop, const std::vector<VarId>& vars, VarId v, std::vector<IntId>& deltas) {
    for (size_t i = 0; i < loop.scalars.size(); ++i) {
      auto linear = ints_.linear_in(integer(loop.scalars[i].yield), vars[i]);
      if (!linear || linear->coefficient != 1) {
        return false;
      }
      bool depends = ints_.uses(linear->rest, v);
      for (VarId other : vars) {
        depends = depends || ints_.uses(linear->rest, other);
      }
      if (depends) {
        return false;
      }
      deltas.push_back(linear->rest);
    }
    return true;
  }

  // ---- data statements

  void evaluate(const ir::Op& op, const ir::CopyOp& copy) {
    TermId value = read(op, copy.source, copy.fill, &copy.access);
    write(op, copy.destination, value, &copy.access);
  }
  void evaluate(const ir::Op& op, const ir::LoadOp& load) {
    define(load.result, read(op, load.source, load.fill, &load.access));
  }
  void evaluate(const ir::Op& op, const ir::StoreOp& store) {
    write(op, store.destination, term(store.value), &store.access);
  }
  void evaluate(const ir::Op& op, const ir::RedOp& red) {
    StoreRecord record;
    record.access = access_of(op, red.destination, true, &red.access);
    reading_.accesses.push_back(record.access);
    record.tensor = red.destination.tensor();
    record.value = term(red.value);
    record.is_red = true;
    record.red = red.kind;
    reading_.stores.push_back(std::move(record));
  }

  TermId operand(const ir::Op& op, const ir::MmaOperand& o) {
    if (const auto* id = std::get_if<ValueId>(&o)) {
      return term(*id);
    }
    return read(op, std::get<ir::Region>(o), 0.0, nullptr);
  }
  std::vector<int64_t> operand_shape(const ir::MmaOperand& o) {
    if (const auto* id = std::get_if<ValueId>(&o)) {
      return shape(*id);
    }
    return std::get<ir::Region>(o).tile_shape();
  }

  void evaluate(const ir::Op& op, const ir::MmaOp& mma) {
    MmaRecord record;
    record.place = place(op);
    record.a = operand(op, mma.a);
    record.b = operand(op, mma.b);
    record.m = operand_shape(mma.a)[0];
    record.k = operand_shape(mma.a)[1];
    record.n = operand_shape(mma.b)[0];
    ElementType type = element(mma.result);
    record.c = mma.c.is_valid() ? term(mma.c) : values_.constant(0, type);
    VarId k = ints_.add_var("kk");
    TermId a = values_.substitute(record.a, {{values_.axis_var(1), ints_.var(k)}});
    TermId b =
        values_.substitute(record.b, {{values_.axis_var(0), values_.axis(1)}, {values_.axis_var(1), ints_.var(k)}});
    TermId sum = values_.reduce(ir::ReduceKind::Add, type, {{k, ints_.constant(0), ints_.constant(record.k)}},
                                values_.product(a, b));
    record.result = values_.accumulate(ir::ReduceKind::Add, type, {record.c, sum});
    define(mma.result, record.result);
    reading_.mmas.push_back(std::move(record));
  }

  void evaluate(const ir::Op&, const ir::ElementwiseOp& e) {
    std::vector<TermId> operands;
    for (ValueId o : e.operands) {
      operands.push_back(term(o));
    }
    compute(e.result, values_.apply(e.kind, element(e.result), std::move(operands)));
  }

  void evaluate(const ir::Op&, const ir::BroadcastOp& b) {
    domain::Substitution axes;
    for (size_t d = 0; d < b.axis_map.size(); ++d) {
      axes.emplace(values_.axis_var(static_cast<int>(d)),
                   shape(b.operand)[d] == 1 ? ints_.constant(0) : values_.axis(b.axis_map[d]));
    }
    define(b.result, values_.substitute(term(b.operand), axes));
  }

  void evaluate(const ir::Op&, const ir::ConstantOp& c) {
    ElementType type = element(c.result);
    if (type == ElementType::Bool) {
      define(c.result, values_.truth(ints_.truth(c.value != 0)));
    } else if (!is_floating(type)) {
      compute(c.result, values_.integer(ints_.constant(static_cast<int64_t>(c.value))));
    } else {
      define(c.result, values_.constant(c.value, type));
    }
  }
  void evaluate(const ir::Op&, const ir::IotaOp& i) { compute(i.result, values_.integer(values_.axis(i.axis))); }
  void evaluate(const ir::Op&, const ir::ExprOp& e) {
    if (element(e.result) == ElementType::Bool) {
      define(e.result, values_.truth(condition(e.expr)));
    } else {
      compute(e.result, values_.integer(integer(e.expr)));
    }
  }
  void evaluate(const ir::Op&, const ir::ScalarArgumentOp& s) {
    define(s.result, values_.argument(static_cast<uint32_t>(s.argument), element(s.result)));
  }

  void evaluate(const ir::Op& op, const ir::ReduceOp& r) {
    const std::vector<int64_t>& in = shape(r.operand);
    ElementType type = element(r.result);
    const int64_t extent = in[r.axis];
    domain::Substitution axes;
    // Axes behind the reduced one move down by one.
    for (size_t i = r.axis + 1; i < in.size(); ++i) {
      axes.emplace(values_.axis_var(static_cast<int>(i)), values_.axis(static_cast<int>(i) - 1));
    }
    std::vector<Binder> binders;
    if (r.keep <= 1) {
      VarId x = ints_.add_var("x");
      binders.push_back({x, ints_.constant(0), ints_.constant(extent)});
      axes.emplace(values_.axis_var(r.axis), ints_.var(x));
    } else {
      const int64_t period = r.keep * r.group_stride;
      if (extent % period != 0) {
        define(r.result, unknown(type, "a partial reduction over groups of unequal size", op.span));
        return;
      }
      VarId outer = ints_.add_var("x"), inner = ints_.add_var("x");
      binders.push_back({outer, ints_.constant(0), ints_.constant(extent / period)});
      binders.push_back({inner, ints_.constant(0), ints_.constant(r.group_stride)});
      IntId group = values_.axis(static_cast<int>(in.size()) - 1);
      axes.emplace(values_.axis_var(r.axis),
                   ints_.add(ints_.add(ints_.scale(ints_.var(outer), period), ints_.scale(group, r.group_stride)),
                             ints_.var(inner)));
    }
    TermId body = values_.substitute(term(r.operand), axes);
    define(r.result, values_.reduce(r.kind, type, std::move(binders), body));
  }

  void evaluate(const ir::Op&, const ir::RelayoutOp& r) { define(r.result, term(r.operand)); }
  void evaluate(const ir::Op&, const ir::CommitOp&) {}
  void evaluate(const ir::Op&, const ir::DrainOp&) {}
  void evaluate(const ir::Op&, const ir::SyncOp&) {}

  void evaluate(const ir::Op& op, const ir::CheckOp& check) {
    CheckRecord record;
    record.place = place(op);
    record.value = term(check.value);
    record.shape = shape(check.value);
    for (size_t i = 0; i < check.expected.axes.size(); ++i) {
      reader_.symbols[check.expected.axes[i]] = values_.axis(static_cast<int>(i));
    }
    for (const auto& [name, expr] : check.expected.fields) {
      record.expected.push_back(integer(expr));
    }
    for (const ir::CoverageRange& range : check.over) {
      record.over.emplace_back(integer(range.lo), integer(range.hi));
    }
    record.where = check.where.is_valid() ? condition(check.where) : ints_.truth(true);
    reading_.checks.push_back(std::move(record));
  }

  Environment& env_;
  Ints& ints_;
  Values& values_;
  const ir::Function& f_;
  ExprReader reader_;
  Facts facts_;
  Memory memory_;
  Reading reading_;
  std::unordered_map<ValueId, TermId> terms_;
  std::vector<LoopVar> loops_;
  const ir::Op* current_ = nullptr;
  std::shared_ptr<const Place> scalar_place_;
  std::set<std::pair<ExprId, IntId>> seen_parts_;
  std::string problem_;
  uint32_t next_loop_ = 0;
  // Tile spaces in program order, by op.
  std::unordered_map<uint32_t, size_t> ordinals_;
};

}  // namespace

VarId Environment::named(const std::string& name) {
  auto it = by_name.find(name);
  if (it == by_name.end()) {
    it = by_name.emplace(name, ints.add_var(name.starts_with("tile ") ? name.substr(name.rfind(' ') + 1) : name)).first;
  }
  return it->second;
}

Result<Reading> evaluate_reading(Environment& environment, const ir::Function& function) {
  return Evaluator(environment, function).run();
}

IntId to_int(Environment& environment, const ir::Function& function, ir::ExprId expr) {
  return to_int(environment, function, expr, {}, {});
}

IntId to_int(Environment& environment, const ir::Function& function, ir::ExprId expr,
             const std::vector<ir::SymbolId>& axes, const std::vector<IntId>& coords) {
  ExprReader reader(environment, function);
  for (ir::SymbolId size : function.sizes) {
    reader.symbols[size] = environment.ints.var(environment.named(function.exprs.symbol(size).name));
  }
  for (const ir::ScalarParameter& scalar : function.scalars) {
    if (scalar.symbol.is_valid()) {
      reader.symbols[scalar.symbol] = environment.ints.var(environment.named(scalar.name));
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    reader.symbols[axes[i]] = coords[i];
  }
  return reader.integer(expr);
}

}  // namespace tw::analysis
