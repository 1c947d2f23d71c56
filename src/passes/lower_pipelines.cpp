// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_pipelines.h"

#include <set>
#include <utility>

#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::ExprId;
using ir::Op;
using ir::SharedId;

bool is_async_copy_to_shared(const Op& op) {
  const auto* copy = std::get_if<ir::CopyOp>(&op.body);
  return copy != nullptr && copy->atom.kind == target::CopyKind::CpAsync && !copy->destination.is_global();
}

bool touches(const Op& op, SharedId id) {
  bool found = false;
  auto look = [&](const Op& inner) {
    for_each_region(inner,
                    [&](const ir::Region& region, bool) { found |= !region.is_global() && region.shared() == id; });
  };
  look(op);
  ir::for_each_op(ir::Block{op}, look);
  return found;
}

class PipelineLowering {
 public:
  PipelineLowering(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  // Before anything moves: every pipeline of the function obeys the rules.
  Status validate() {
    Status status;
    ir::for_each_op(std::as_const(function_.body), [&](const Op& op) {
      const auto* loop = std::get_if<ir::ForOp>(&op.body);
      if (status && loop != nullptr && loop->kind == ir::LoopKind::Pipeline) {
        status = validate_loop(op, *loop);
      }
    });
    return status;
  }

  Status run_block(ir::Block& block, bool runs_again) {
    ir::Block out;
    for (Op& op : block) {
      auto* loop = std::get_if<ir::ForOp>(&op.body);
      const bool is_loop = loop != nullptr || is_persistent(op);
      Status status;
      for_each_block(op, [&](ir::Block& inner) {
        if (status) {
          status = run_block(inner, runs_again || is_loop);
        }
      });
      if (!status) {
        return status;
      }
      if (loop != nullptr && loop->kind == ir::LoopKind::Pipeline) {
        if (Status lowered = lower_loop(op, runs_again, out); !lowered) {
          return lowered;
        }
      } else {
        out.push_back(std::move(op));
      }
    }
    block = std::move(out);
    return {};
  }

 private:
  static bool is_persistent(const Op& op) {
    const auto* tiles = std::get_if<ir::TilesOp>(&op.body);
    return tiles != nullptr && tiles->persistent;
  }

  Op make(const Op& like, ir::OpBody body) { return make_op(function_, like.span, std::move(body)); }

  // Iterations count from 0 in steps of 1, so that the loop variable is the version.
  void normalize(Op& op, ir::ForOp& loop) {
    ir::ExprPool& exprs = function_.exprs;
    if (exprs.is_constant(loop.begin, 0) && loop.step == 1) {
      return;
    }
    ir::SymbolId counter = exprs.add_symbol(exprs.symbol(loop.variable).name + "_i", ir::SymbolKind::Loop, op.span);
    ExprId value = exprs.add(loop.begin, exprs.mul(exprs.symbol_ref(counter), exprs.constant(loop.step)));
    Replacements replacements{{loop.variable, value}};
    substitute(function_, loop.body, replacements);
    for (ir::CarriedScalar& scalar : loop.scalars) {
      scalar.yield = exprs.substitute(scalar.yield, replacements);
    }
    loop.end = exprs.max(exprs.constant(0), exprs.ceil_div(exprs.sub(loop.end, loop.begin), exprs.constant(loop.step)));
    loop.begin = exprs.constant(0);
    loop.step = 1;
    loop.variable = counter;
  }

  Status collect(const Op& op, const ir::ForOp& loop, std::vector<size_t>& copies, std::set<SharedId>& tiles) {
    for (size_t i = 0; i < loop.body.size(); ++i) {
      const Op& inner = loop.body[i];
      if (is_async_copy_to_shared(inner)) {
        const ir::Region& destination = std::get<ir::CopyOp>(inner.body).destination;
        if (function_.shared_object(destination.shared()).ring == 0) {
          copies.push_back(i);
          tiles.insert(destination.shared());
        }
        continue;
      }
      Status nested;
      ir::for_each_op(ir::Block{inner}, [&](const Op& deep) {
        if (nested && is_async_copy_to_shared(deep)) {
          nested = fail(context_.sink.report(diag::codes::PipelineNestedCopy{}, deep.span)
                            .label(op.span, "this `pipeline` moves copies that stand directly in its body")
                            .emit());
        }
        if (nested && std::holds_alternative<ir::DrainOp>(deep.body)) {
          nested = fail(context_.sink.report(diag::codes::PipelineExplicitDrain{}, deep.span)
                            .label(op.span, "this `pipeline` places the waits for its own copies")
                            .emit());
        }
      });
      if (!nested) {
        return nested;
      }
    }
    return {};
  }

  Status check_tile(const Op& op, const ir::ForOp& loop, SharedId tile) {
    const std::string& name = function_.shared_object(tile).name;
    for (const Op& inner : loop.body) {
      if (is_async_copy_to_shared(inner) && std::get<ir::CopyOp>(inner.body).destination.shared() == tile) {
        break;
      }
      if (touches(inner, tile)) {
        return fail(context_.sink.report(diag::codes::PipelineReadBeforeWrite{}, inner.span, name)
                        .label(op.span, "each iteration of this `pipeline` fills its tiles first")
                        .emit());
      }
    }
    std::set<uint32_t> inside;
    ir::for_each_op(loop.body, [&](const Op& inner) { inside.insert(inner.id); });
    const Op* outside = nullptr;
    ir::for_each_op(function_.body, [&](const Op& other) {
      if (outside == nullptr && !inside.contains(other.id)) {
        for_each_region(other, [&](const ir::Region& region, bool) {
          if (!region.is_global() && region.shared() == tile) {
            outside = &other;
          }
        });
      }
    });
    if (outside != nullptr) {
      return fail(context_.sink.report(diag::codes::PipelineTileLeavesLoop{}, outside->span, name)
                      .label(op.span, "this `pipeline` makes a ring of it, so it has no single content outside")
                      .emit());
    }
    return {};
  }

  // The copies of one iteration, in a branch of their own.
  Op issue(const Op& like, const ir::ForOp& loop, const std::vector<size_t>& copies, const std::set<SharedId>& tiles,
           ExprId iteration) {
    ir::IfOp branch;
    branch.condition = function_.exprs.lt(iteration, loop.end);
    for (size_t i : copies) {
      Op copy = make(loop.body[i], loop.body[i].body);
      substitute(function_, copy, {{loop.variable, iteration}});
      ir::Region& destination = std::get<ir::CopyOp>(copy.body).destination;
      if (tiles.contains(destination.shared())) {
        destination.version = iteration;
      }
      branch.then_body.push_back(std::move(copy));
    }
    return make(like, std::move(branch));
  }

  Status validate_loop(const Op& op, const ir::ForOp& loop) {
    std::vector<size_t> copies;
    std::set<SharedId> tiles;
    if (Status status = collect(op, loop, copies, tiles); !status) {
      return status;
    }
    for (SharedId tile : tiles) {
      if (Status status = check_tile(op, loop, tile); !status) {
        return status;
      }
    }
    for (size_t i : copies) {
      if (Status status = check_independent(op, loop, loop.body[i]); !status) {
        return status;
      }
    }
    return {};
  }

  Status lower_loop(Op& op, bool runs_again, ir::Block& out) {
    auto& loop = std::get<ir::ForOp>(op.body);
    loop.kind = ir::LoopKind::Range;
    const int stages = loop.stages;
    loop.stages = 1;
    std::vector<size_t> copies;
    std::set<SharedId> tiles;
    if (Status status = collect(op, loop, copies, tiles); !status) {
      return status;
    }
    if (copies.empty()) {
      out.push_back(std::move(op));
      return {};
    }
    normalize(op, loop);
    for (SharedId tile : tiles) {
      context_.pipelined.insert(tile.index);
      if (stages > 1) {
        function_.shared_object(tile).ring = stages;
      }
    }
    ir::Block rest = take_rest(loop, copies);
    ir::Block body;
    if (stages == 1) {
      body.push_back(make(op, ir::SyncOp{ir::SyncScope::Block, true}));
      for (size_t i : copies) {
        body.push_back(loop.body[i]);
      }
      body.push_back(make(op, ir::CommitOp{}));
      body.push_back(make(op, ir::DrainOp{ir::AsyncKind::CpAsync, 0}));
      body.push_back(make(op, ir::SyncOp{ir::SyncScope::Block, true}));
    } else {
      ir::ExprPool& exprs = function_.exprs;
      ExprId k = exprs.symbol_ref(loop.variable);
      ir::ForOp prologue;
      prologue.variable = exprs.add_symbol("p", ir::SymbolKind::Loop, op.span);
      prologue.begin = exprs.constant(0);
      prologue.end = exprs.constant(stages - 1);
      prologue.unroll = stages - 1;
      prologue.body.push_back(issue(op, loop, copies, tiles, exprs.symbol_ref(prologue.variable)));
      prologue.body.push_back(make(op, ir::CommitOp{}));
      out.push_back(make(op, std::move(prologue)));
      body.push_back(make(op, ir::DrainOp{ir::AsyncKind::CpAsync, stages - 2}));
      body.push_back(make(op, ir::SyncOp{ir::SyncScope::Block, true}));
      body.push_back(issue(op, loop, copies, tiles, exprs.add(k, exprs.constant(stages - 1))));
      body.push_back(make(op, ir::CommitOp{}));
      auto set_version = [&](Op& inner) {
        for_each_region(inner, [&](ir::Region& region, bool) {
          if (!region.is_global() && tiles.contains(region.shared())) {
            region.version = k;
          }
        });
      };
      ir::for_each_op(rest, set_version);
    }
    for (Op& inner : rest) {
      body.push_back(std::move(inner));
    }
    loop.body = std::move(body);
    const Op like{0, op.span, ir::SyncOp{}};
    out.push_back(std::move(op));
    if (stages > 1) {
      out.push_back(make(like, ir::DrainOp{ir::AsyncKind::CpAsync, 0}));
      if (runs_again) {
        out.push_back(make(like, ir::SyncOp{ir::SyncScope::Block, true}));
      }
    }
    return {};
  }

  // A copy is issued iterations ahead, so it may depend on nothing that iterations hand on.
  Status check_independent(const Op& op, const ir::ForOp& loop, Op copy) {
    std::vector<ir::SymbolId> symbols;
    for_each_expr(copy, [&](ExprId& id) { function_.exprs.collect_symbols(id, symbols); });
    for (ir::SymbolId symbol : symbols) {
      for (const ir::CarriedScalar& scalar : loop.scalars) {
        if (scalar.argument == symbol) {
          return fail(
              context_.sink.report(diag::codes::PipelineCarriedIndex{}, copy.span, function_.exprs.symbol(symbol).name)
                  .label(op.span, "copies of this `pipeline` start iterations before their turn")
                  .emit());
        }
      }
    }
    return {};
  }

  // The body without the moved copies and without the commits that closed their groups.
  static ir::Block take_rest(const ir::ForOp& loop, const std::vector<size_t>& copies) {
    std::set<size_t> moved(copies.begin(), copies.end());
    ir::Block rest;
    bool after_moved = false;
    for (size_t i = 0; i < loop.body.size(); ++i) {
      const bool is_commit = std::holds_alternative<ir::CommitOp>(loop.body[i].body);
      if (moved.contains(i)) {
        after_moved = true;
      } else if (!(is_commit && after_moved)) {
        rest.push_back(loop.body[i]);
        after_moved = false;
      }
    }
    return rest;
  }

  ir::Function& function_;
  PassContext& context_;
};

}  // namespace

Status lower_pipelines(ir::Function& function, PassContext& context) {
  ir::for_each_op(std::as_const(function.body),
                  [&](const Op& op) { context.has_author_drains |= std::holds_alternative<ir::DrainOp>(op.body); });
  PipelineLowering lowering(function, context);
  if (Status status = lowering.validate(); !status) {
    return status;
  }
  return lowering.run_block(function.body, false);
}

}  // namespace tw::passes
