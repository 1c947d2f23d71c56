// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_reductions.h"

#include <algorithm>
#include <bit>

#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::Op;
using ir::ValueId;
using target::TvLayout;
using target::TvMode;

constexpr int64_t kLanes = 32;

struct ThreadDigit {
  TvMode mode;
  bool is_cross_warp = false;
};

// Thread digits, none of which straddles the warp boundary.
std::vector<ThreadDigit> split_at_warps(const TvLayout& layout) {
  std::vector<ThreadDigit> out;
  int64_t position = 1;
  for (const TvMode& mode : layout.threads) {
    const int64_t end = position * mode.extent;
    if (position < kLanes && end > kLanes && kLanes % position == 0 && end % kLanes == 0) {
      const auto inner = static_cast<int32_t>(kLanes / position);
      out.push_back({{inner, mode.axis, mode.stride}, false});
      out.push_back({{mode.extent / inner, mode.axis, mode.stride * inner}, true});
    } else {
      out.push_back({mode, position >= kLanes});
    }
    position = end;
  }
  return out;
}

class ReductionLowering {
 public:
  ReductionLowering(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  Status run_block(ir::Block& block) {
    ir::Block out;
    for (Op& op : block) {
      Status status;
      for_each_block(op, [&](ir::Block& inner) {
        if (status) {
          status = run_block(inner);
        }
      });
      if (status && std::holds_alternative<ir::ReduceOp>(op.body)) {
        status = lower_reduce(op, out);
      } else if (status && std::holds_alternative<ir::RelayoutOp>(op.body)) {
        status = lower_relayout(op, out);
      } else {
        out.push_back(std::move(op));
      }
      if (!status) {
        return status;
      }
    }
    block = std::move(out);
    return {};
  }

 private:
  ir::Region whole(ir::SharedId id, diag::Span span) {
    ir::Region region;
    region.object = id;
    region.span = span;
    const std::vector<int64_t>& shape = function_.shared_object(id).shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      region.axes.push_back({function_.exprs.constant(0), shape[i]});
      region.perm.push_back(static_cast<int>(i));
    }
    return region;
  }

  // store `from` to a scratch object, load it as `to`.
  void exchange(const Op& like, ValueId from, ValueId to, const std::string& name, int64_t pad, ir::Block& out) {
    ir::SharedObject scratch;
    scratch.name = name;
    scratch.element = function_.value(from).element;
    scratch.shape = function_.value(from).shape;
    scratch.pad = pad;
    scratch.is_scratch = true;
    scratch.span = like.span;
    ir::SharedId id = function_.add_shared(std::move(scratch));
    auto barrier = [&] {
      if (function_.sync == ir::SyncMode::Manual) {
        out.push_back(make_op(function_, like.span, ir::SyncOp{ir::SyncScope::Block, true}));
      }
    };
    // Before the store: in a loop, the loads of the last turn come first.
    barrier();
    ir::StoreOp store;
    store.value = from;
    store.destination = whole(id, like.span);
    out.push_back(make_op(function_, like.span, std::move(store)));
    barrier();
    ir::LoadOp load;
    load.source = whole(id, like.span);
    load.result = to;
    out.push_back(make_op(function_, like.span, std::move(load)));
  }

  Status refuse(const Op& op, int axis, const std::string& why) {
    return fail(context_.sink.report(diag::codes::ReductionUnsupported{}, op.span, axis, why).emit());
  }

  Status lower_reduce(Op& op, ir::Block& out) {
    auto reduce = std::get<ir::ReduceOp>(op.body);
    const ir::Value operand = function_.value(reduce.operand);
    const ir::Value result = function_.value(reduce.result);
    const int axis = reduce.axis;
    const std::vector<ThreadDigit> digits = split_at_warps(*operand.layout);
    int64_t keep = 1;
    int64_t group_stride = 1;
    for (const ThreadDigit& digit : digits) {
      if (digit.mode.axis != axis || digit.mode.extent == 1) {
        continue;
      }
      if (!digit.is_cross_warp) {
        if (!std::has_single_bit(static_cast<uint32_t>(digit.mode.extent))) {
          return refuse(op, axis,
                        "it lies across " + std::to_string(digit.mode.extent) + " lanes, which is no power of two");
        }
        continue;
      }
      if (keep == 1) {
        group_stride = digit.mode.stride;
      } else if (digit.mode.stride != group_stride * keep) {
        return refuse(op, axis, "its warps do not hold neighbouring parts");
      }
      keep *= digit.mode.extent;
    }
    if (keep == 1) {
      out.push_back(std::move(op));
      return {};
    }
    auto disturbs = [&](const TvMode& mode) {
      return mode.axis == axis && mode.extent > 1 && int64_t{mode.stride} * mode.extent > group_stride &&
             mode.stride % (group_stride * keep) != 0;
    };
    for (const ThreadDigit& digit : digits) {
      if (!digit.is_cross_warp && disturbs(digit.mode)) {
        return refuse(op, axis, "lanes and warps interleave along it");
      }
    }
    if (std::ranges::any_of(operand.layout->values, disturbs)) {
      return refuse(op, axis, "registers and warps interleave along it");
    }
    const auto last = static_cast<int>(operand.shape.size()) - 1;
    auto kept_axis = [&](int old_axis) { return old_axis > axis ? old_axis - 1 : old_axis; };
    ir::Value partial = result;
    partial.is_pinned = false;
    partial.name = result.name.empty() ? "partial" : result.name + "_partial";
    partial.shape.push_back(keep);
    TvLayout layout;
    for (const ThreadDigit& digit : digits) {
      TvMode mode = digit.mode;
      if (mode.axis == axis) {
        mode = digit.is_cross_warp ? TvMode{mode.extent, last, static_cast<int32_t>(mode.stride / group_stride)}
                                   : TvMode{mode.extent, TvMode::kReplicated, 0};
      } else if (mode.axis != TvMode::kReplicated) {
        mode.axis = kept_axis(mode.axis);
      }
      layout.threads.push_back(mode);
    }
    for (TvMode mode : operand.layout->values) {
      if (mode.axis != axis && mode.axis != TvMode::kReplicated) {
        mode.axis = kept_axis(mode.axis);
        layout.values.push_back(mode);
      }
    }
    partial.layout = layout;
    ir::Value gathered = partial;
    gathered.name = result.name.empty() ? "partials" : result.name + "_partials";
    gathered.layout = target::drop_axis(*operand.layout, axis);
    gathered.layout->values.insert(gathered.layout->values.begin(), TvMode{static_cast<int32_t>(keep), last, 1});
    const ValueId partial_id = function_.add_value(partial);
    const ValueId gathered_id = function_.add_value(gathered);
    const Op like{0, op.span, ir::SyncOp{}};
    out.push_back(
        make_op(function_, op.span, ir::ReduceOp{reduce.operand, axis, reduce.kind, keep, group_stride, partial_id}));
    exchange(like, partial_id, gathered_id, (result.name.empty() ? "reduce" : result.name) + "_scratch", 0, out);
    reduce.operand = gathered_id;
    reduce.axis = last;
    op.body = reduce;
    out.push_back(std::move(op));
    return {};
  }

  Status lower_relayout(Op& op, ir::Block& out) {
    const auto relayout = std::get<ir::RelayoutOp>(op.body);
    const ir::Value& from = function_.value(relayout.operand);
    const ir::Value& to = function_.value(relayout.result);
    if (target::same_map(*from.layout, *to.layout)) {
      op.body = ir::ElementwiseOp{ir::ElementwiseKind::Cast, {relayout.operand}, relayout.result, false};
      out.push_back(std::move(op));
      return {};
    }
    if (!relayout.through_shared) {
      return fail(context_.sink.report(diag::codes::RelayoutUnsupported{}, op.span).emit());
    }
    const Op like{0, op.span, ir::SyncOp{}};
    // 16 bytes more a row: neighbouring rows start in different banks.
    const int64_t pad = from.shape.size() >= 2 ? 16 / size_bytes(from.element) : 0;
    const std::string name = (from.name.empty() ? "relayout" : from.name) + "_scratch";
    exchange(like, relayout.operand, relayout.result, name, pad, out);
    return {};
  }

  ir::Function& function_;
  PassContext& context_;
};

}  // namespace

Status lower_reductions(ir::Function& function, PassContext& context) {
  return ReductionLowering(function, context).run_block(function.body);
}

}  // namespace tw::passes
