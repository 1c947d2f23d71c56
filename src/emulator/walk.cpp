// SPDX-License-Identifier: Apache-2.0
#include "emulator/walk.h"

#include <algorithm>
#include <fmt/format.h>

namespace tw::emulator {
namespace {

using Symbols = std::vector<std::optional<int64_t>>;

ReadingError make_error(ReadingErrorKind kind, std::string message, diag::Span span = {}) {
  ReadingError error;
  error.kind = kind;
  error.message = std::move(message);
  error.span = span;
  return error;
}

class Evaluation {
 public:
  Evaluation(const ir::Function& function, const Symbols& symbols) : function_(function), symbols_(symbols) {}

  Result<int64_t, ReadingError> run(ir::ExprId id) {
    const ir::ExprNode& node = function_.exprs.node(id);
    using enum ir::ExprKind;
    switch (node.kind) {
      case Const:
        return node.value;
      case Symbol: {
        const auto& value = symbols_[node.symbol.index];
        if (!value) {
          return fail(make_error(ReadingErrorKind::Unsupported,
                                 fmt::format("`{}` has no value here", function_.exprs.symbol(node.symbol).name)));
        }
        return *value;
      }
      case And:
      case Or: {
        TW_TRY(int64_t left, run(node.operands[0]));
        if ((left != 0) == (node.kind == Or)) {
          return int64_t{left != 0};
        }
        TW_TRY(int64_t right, run(node.operands[1]));
        return int64_t{right != 0};
      }
      case Not: {
        TW_TRY(int64_t operand, run(node.operands[0]));
        return int64_t{operand == 0};
      }
      case Select: {
        TW_TRY(int64_t condition, run(node.operands[0]));
        return run(node.operands[condition != 0 ? 1 : 2]);
      }
      default:
        break;
    }
    TW_TRY(int64_t a, run(node.operands[0]));
    TW_TRY(int64_t b, run(node.operands[1]));
    return binary(id, node.kind, a, b);
  }

 private:
  Result<int64_t, ReadingError> binary(ir::ExprId id, ir::ExprKind kind, int64_t a, int64_t b) {
    using enum ir::ExprKind;
    int64_t out = 0;
    bool overflow = false;
    switch (kind) {
      case Add:
        overflow = __builtin_add_overflow(a, b, &out);
        break;
      case Sub:
        overflow = __builtin_sub_overflow(a, b, &out);
        break;
      case Mul:
        overflow = __builtin_mul_overflow(a, b, &out);
        break;
      case FloorDiv:
      case Mod:
      case CeilDiv: {
        // A divisor must be positive (docs/language.md): what C does with a negative one is another operation.
        if (b <= 0) {
          return fail(make_error(
              ReadingErrorKind::DivisionByZero,
              fmt::format("`{}` divides {} by {}, which is not positive", function_.exprs.to_string(id), a, b)));
        }
        const int64_t floor = a / b - ((a % b != 0 && a < 0) ? 1 : 0);
        out = kind == FloorDiv ? floor : kind == Mod ? a - floor * b : floor + (floor * b != a ? 1 : 0);
        break;
      }
      case Min:
        return std::min(a, b);
      case Max:
        return std::max(a, b);
      case Eq:
        return int64_t{a == b};
      case Ne:
        return int64_t{a != b};
      case Lt:
        return int64_t{a < b};
      case Le:
        return int64_t{a <= b};
      default:
        break;
    }
    if (overflow) {
      return fail(make_error(ReadingErrorKind::Overflow,
                             fmt::format("`{}` leaves 64 bits on {} and {}", function_.exprs.to_string(id), a, b)));
    }
    return out;
  }

  const ir::Function& function_;
  const Symbols& symbols_;
};

using Done = Result<void, ReadingError>;

class Walker {
 public:
  Walker(const BoundProblem& problem, int64_t block, const WalkLimits& limits)
      : function_(*problem.function), problem_(problem), limits_(limits), symbols_(problem.symbols) {
    walk_.block = block;
    for (uint32_t i = 0; i < symbols_.size(); ++i) {
      if (function_.exprs.symbol(ir::SymbolId(i)).kind == ir::SymbolKind::BlockIndex) {
        symbols_[i] = block;
      }
    }
  }

  Result<Walk, ReadingError> run() {
    TW_TRY_STATUS(block(function_.body));
    return std::move(walk_);
  }

 private:
  Done block(const ir::Block& ops) {
    for (const ir::Op& op : ops) {
      auto done = std::visit([&](const auto& body) { return visit(op, body); }, op.body);
      if (!done) {
        return locate(std::move(done), op);
      }
    }
    return {};
  }

  Done locate(Done failed, const ir::Op& op) {
    ReadingError error = std::move(failed).error();
    if (!error.span.is_valid()) {
      error.span = op.span;
    }
    if (error.point.op_id == 0) {
      Instance here;
      here.op = &op;
      here.frame = frame_;
      walk_.instances.push_back(here);
      error.point = walk_.point(static_cast<uint32_t>(walk_.instances.size() - 1));
      error.block = walk_.block;
    }
    return fail(std::move(error));
  }

  Result<int64_t, ReadingError> value(ir::ExprId id) const { return evaluate(function_, id, symbols_); }

  Result<Instance*, ReadingError> add(const ir::Op& op) {
    if (walk_.instances.size() >= limits_.instances) {
      return fail(make_error(ReadingErrorKind::Limit,
                             fmt::format("the block executes more than {} ops", limits_.instances), op.span));
    }
    Instance instance;
    instance.op = &op;
    instance.frame = frame_;
    walk_.instances.push_back(instance);
    return &walk_.instances.back();
  }

  Result<uint32_t, ReadingError> region(const ir::Region& r) {
    DynamicRegion out;
    out.region = &r;
    if (r.axes.size() > kMaxObjectRank) {
      return fail(make_error(ReadingErrorKind::Unsupported, fmt::format("more than {} axes", kMaxObjectRank)));
    }
    for (size_t axis = 0; axis < r.axes.size(); ++axis) {
      TW_TRY(out.lo[axis], value(r.axes[axis].lo));
    }
    if (r.version.is_valid()) {
      TW_TRY(out.version, value(r.version));
    }
    walk_.regions.push_back(out);
    return static_cast<uint32_t>(walk_.regions.size() - 1);
  }

  Done move_all(const ir::Op& op, std::vector<Move> moves) {
    if (moves.empty()) {
      return {};
    }
    const auto begin = static_cast<uint32_t>(walk_.moves.size());
    walk_.moves.insert(walk_.moves.end(), moves.begin(), moves.end());
    TW_TRY(Instance * instance, add(op));
    instance->moves_begin = begin;
    instance->moves_end = static_cast<uint32_t>(walk_.moves.size());
    return {};
  }

  uint32_t enter(bool is_tile, int64_t iteration) {
    const uint32_t outer = frame_;
    walk_.frames.push_back({outer, is_tile, iteration});
    frame_ = static_cast<uint32_t>(walk_.frames.size() - 1);
    return outer;
  }

  Done visit(const ir::Op& op, const ir::ForOp& loop) {
    TW_TRY(int64_t begin, value(loop.begin));
    TW_TRY(int64_t end, value(loop.end));
    std::vector<Move> moves;
    for (const ir::CarriedValue& c : loop.values) {
      moves.push_back({c.init, c.argument});
    }
    TW_TRY_STATUS(move_all(op, moves));
    for (const ir::CarriedScalar& c : loop.scalars) {
      TW_TRY(symbols_[c.argument.index], value(c.init));
    }
    int64_t iteration = 0;
    for (int64_t i = begin; i < end; ++iteration) {
      const uint32_t outer = enter(false, iteration);
      symbols_[loop.variable.index] = i;
      TW_TRY_STATUS(block(loop.body));
      frame_ = outer;
      moves.clear();
      for (const ir::CarriedValue& c : loop.values) {
        if (c.yield != c.argument) {
          moves.push_back({c.yield, c.argument});
        }
      }
      TW_TRY_STATUS(move_all(op, moves));
      std::vector<int64_t> next;
      for (const ir::CarriedScalar& c : loop.scalars) {
        TW_TRY(int64_t carried, value(c.yield));
        next.push_back(carried);
      }
      for (size_t s = 0; s < next.size(); ++s) {
        symbols_[loop.scalars[s].argument.index] = next[s];
      }
      if (__builtin_add_overflow(i, loop.step, &i)) {
        break;
      }
    }
    symbols_[loop.variable.index].reset();
    moves.clear();
    for (const ir::CarriedValue& c : loop.values) {
      moves.push_back({c.argument, c.result});
    }
    for (const ir::CarriedScalar& c : loop.scalars) {
      symbols_[c.result.index] = symbols_[c.argument.index];
    }
    return move_all(op, moves);
  }

  Done visit(const ir::Op& op, const ir::TilesOp& tiles) {
    int64_t points = 1;
    std::vector<int64_t> extents;
    for (ir::ExprId id : tiles.extents) {
      TW_TRY(int64_t extent, value(id));
      extents.push_back(std::max<int64_t>(extent, 0));
      if (__builtin_mul_overflow(points, extents.back(), &points)) {
        return fail(make_error(ReadingErrorKind::Overflow, "the number of tiles leaves 64 bits", op.span));
      }
    }
    const int64_t step = tiles.persistent ? problem_.grid : points;
    int64_t ordinal = 0;
    for (int64_t linear = walk_.block; linear < points; linear += step) {
      const uint32_t outer = enter(true, ordinal++);
      if (tiles.linear.is_valid()) {
        symbols_[tiles.linear.index] = linear;
      }
      int64_t rest = linear;
      for (size_t i = tiles.variables.size(); i-- > 0;) {
        if (tiles.decode.empty()) {
          symbols_[tiles.variables[i].index] = rest % extents[i];
          rest /= extents[i];
        } else {
          TW_TRY(symbols_[tiles.variables[i].index], value(tiles.decode[i]));
        }
      }
      TW_TRY_STATUS(block(tiles.body));
      frame_ = outer;
    }
    return {};
  }

  Done visit(const ir::Op& op, const ir::IfOp& branch) {
    TW_TRY(int64_t condition, value(branch.condition));
    TW_TRY_STATUS(block(condition != 0 ? branch.then_body : branch.else_body));
    std::vector<Move> moves;
    for (const ir::IfResult& r : branch.results) {
      moves.push_back({condition != 0 ? r.then_value : r.else_value, r.result});
    }
    return move_all(op, moves);
  }

  Done with_regions(const ir::Op& op, const ir::Region* first, const ir::Region* second) {
    uint32_t ids[2] = {kNoIndex, kNoIndex};
    if (first != nullptr) {
      TW_TRY(ids[0], region(*first));
    }
    if (second != nullptr) {
      TW_TRY(ids[1], region(*second));
    }
    TW_TRY(Instance * instance, add(op));
    instance->regions[0] = ids[0];
    instance->regions[1] = ids[1];
    return {};
  }

  Done visit(const ir::Op& op, const ir::CopyOp& copy) { return with_regions(op, &copy.source, &copy.destination); }
  Done visit(const ir::Op& op, const ir::LoadOp& load) { return with_regions(op, &load.source, nullptr); }
  Done visit(const ir::Op& op, const ir::StoreOp& store) { return with_regions(op, &store.destination, nullptr); }
  Done visit(const ir::Op& op, const ir::RedOp& red) { return with_regions(op, &red.destination, nullptr); }
  Done visit(const ir::Op& op, const ir::MmaOp& mma) {
    return with_regions(op, std::get_if<ir::Region>(&mma.a), std::get_if<ir::Region>(&mma.b));
  }
  Done visit(const ir::Op& op, const ir::ExprOp& expr) {
    TW_TRY(int64_t scalar, value(expr.expr));
    TW_TRY(Instance * instance, add(op));
    instance->scalar = scalar;
    return {};
  }
  Done visit(const ir::Op& op, const ir::CheckOp&) {
    return limits_.with_checks ? with_regions(op, nullptr, nullptr) : Done{};
  }
  template <class Body>
  Done visit(const ir::Op& op, const Body&) {
    TW_TRY_STATUS(with_regions(op, nullptr, nullptr));
    return {};
  }

  const ir::Function& function_;
  const BoundProblem& problem_;
  WalkLimits limits_;
  Symbols symbols_;
  Walk walk_;
  uint32_t frame_ = kNoIndex;
};

}  // namespace

Result<int64_t, ReadingError> evaluate(const ir::Function& function, ir::ExprId expr, const Symbols& symbols) {
  return Evaluation(function, symbols).run(expr);
}

DynamicPoint Walk::point(uint32_t instance) const {
  DynamicPoint out;
  out.op_id = instances[instance].op->id;
  for (uint32_t frame = instances[instance].frame; frame != kNoIndex; frame = frames[frame].parent) {
    if (frames[frame].is_tile) {
      out.tile = frames[frame].iteration;
    } else {
      out.iterations.insert(out.iterations.begin(), frames[frame].iteration);
    }
  }
  return out;
}

std::optional<uint32_t> Walk::find(const DynamicPoint& wanted) const {
  for (uint32_t i = 0; i < instances.size(); ++i) {
    if (instances[i].op->id == wanted.op_id && !instances[i].is_move() && point(i) == wanted) {
      return i;
    }
  }
  return std::nullopt;
}

Result<Walk, ReadingError> walk_block(const BoundProblem& problem, int64_t block, const WalkLimits& limits) {
  return Walker(problem, block, limits).run();
}

Result<int64_t, ReadingError> grid_size(const BoundProblem& bound, const Problem& problem) {
  const ir::Function& function = *bound.function;
  int64_t grid = 0;
  bool has_tiles = false;
  std::optional<ReadingError> failed;
  ir::for_each_op(function.body, [&](const ir::Op& op) {
    const auto* tiles = std::get_if<ir::TilesOp>(&op.body);
    if (tiles == nullptr || failed) {
      return;
    }
    has_tiles = true;
    int64_t points = 1;
    for (ir::ExprId id : tiles->extents) {
      auto extent = evaluate(function, id, bound.symbols);
      if (!extent) {
        failed = extent.error();
        failed->span = op.span;
        return;
      }
      if (__builtin_mul_overflow(points, std::max<int64_t>(*extent, 0), &points)) {
        failed = make_error(ReadingErrorKind::Overflow, "the number of tiles leaves 64 bits", op.span);
        return;
      }
    }
    if (tiles->persistent) {
      const int64_t wanted = problem.persistent_blocks > 0 ? problem.persistent_blocks : kDefaultPersistentBlocks;
      points = std::min(points, wanted);
    }
    grid = std::max(grid, points);
  });
  if (failed) {
    return fail(*std::move(failed));
  }
  return has_tiles ? grid : int64_t{1};
}

}  // namespace tw::emulator
