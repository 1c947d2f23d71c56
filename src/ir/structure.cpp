// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <vector>

#include "ir/print.h"

namespace tw::ir {
namespace {

// Walks the program once; the first broken rule ends it. Scopes are undone when their block ends.
class StructureCheck {
 public:
  explicit StructureCheck(const Function& function)
      : f_(function), defined_(function.values.size(), false), assigned_(function.values.size(), false) {}

  Status run() {
    TW_TRY_STATUS(objects());
    return block(f_.body);
  }

 private:
  [[nodiscard]] bool lowered() const { return f_.stage == Stage::Lowered; }

  [[nodiscard]] Failure<Error> broken(const Op& op, std::string rule) const {
    return fail(fmt::format("op {} ({}): {}", op.id, kind_name(op), std::move(rule)));
  }

  static std::string_view kind_name(const Op& op) {
    constexpr std::string_view kNames[] = {
        "for",      "tiles", "if",   "copy",     "load",   "store",    "red",    "mma",   "elementwise", "broadcast",
        "constant", "iota",  "expr", "argument", "reduce", "relayout", "commit", "drain", "sync",        "check"};
    static_assert(std::size(kNames) == std::variant_size_v<OpBody>);
    return kNames[op.body.index()];
  }

  Status objects() {
    for (const Tensor& t : f_.tensors) {
      if (t.extents.size() != t.strides.size() || t.extents.size() != t.dims.size()) {
        return fail(fmt::format("tensor {}: extents, strides and dims differ in number", t.name));
      }
      if (t.tag.axes.size() != t.extents.size()) {
        return fail(
            fmt::format("tensor {}: the tag has {} axes, the tensor {}", t.name, t.tag.axes.size(), t.extents.size()));
      }
    }
    for (const SharedObject& s : f_.shared) {
      if (lowered() && !s.layout) {
        return fail(fmt::format("shared {}: has no address map", s.name));
      }
    }
    if (f_.machine == nullptr) {
      return fail("the function has no target");
    }
    return {};
  }

  Status use(const Op& op, ValueId id) const {
    if (!id.is_valid() || id.index >= f_.values.size()) {
      return broken(op, "uses a value that does not exist");
    }
    return defined_[id.index]
               ? Status{}
               : broken(op, fmt::format("uses %{} before its definition or outside its scope", id.index));
  }

  Status define(const Op& op, ValueId id) {
    if (!id.is_valid() || id.index >= f_.values.size()) {
      return broken(op, "defines a value that does not exist");
    }
    if (assigned_[id.index]) {
      return broken(op, fmt::format("defines %{} a second time", id.index));
    }
    assigned_[id.index] = true;
    defined_[id.index] = true;
    scope_.push_back(id);
    if (f_.value(id).shape.size() > target::kMaxTileRank) {
      return broken(op, fmt::format("%{} has rank {}, the largest is {}", id.index, f_.value(id).shape.size(),
                                    target::kMaxTileRank));
    }
    if (lowered() && !f_.value(id).layout) {
      return broken(op, fmt::format("%{} has no thread/value layout", id.index));
    }
    return {};
  }

  Status nested(const Block& inner) {
    const size_t mark = scope_.size();
    TW_TRY_STATUS(block(inner));
    leave(mark);
    return {};
  }

  void leave(size_t mark) {
    while (scope_.size() > mark) {
      defined_[scope_.back().index] = false;
      scope_.pop_back();
    }
  }

  Status same_type(const Op& op, ValueId a, ValueId b, std::string_view what) const {
    const Value& x = f_.value(a);
    const Value& y = f_.value(b);
    if (x.shape != y.shape || x.element != y.element) {
      return broken(op, fmt::format("{} %{} and %{} differ in type", what, a.index, b.index));
    }
    if (lowered() && !target::same_map(*x.layout, *y.layout)) {
      return broken(op, fmt::format("{} %{} and %{} differ in layout", what, a.index, b.index));
    }
    return {};
  }

  Status region(const Op& op, const Region& r) const {
    size_t rank = 0;
    if (r.is_global()) {
      if (r.tensor().index >= f_.tensors.size()) {
        return broken(op, "names a tensor that does not exist");
      }
      rank = f_.tensor(r.tensor()).extents.size();
      if (r.version.is_valid()) {
        return broken(op, "gives a version to a tensor");
      }
    } else {
      if (r.shared().index >= f_.shared.size()) {
        return broken(op, "names a shared object that does not exist");
      }
      const SharedObject& s = f_.shared_object(r.shared());
      rank = s.shape.size();
      if (r.version.is_valid() != (s.ring > 0)) {
        return broken(op, fmt::format("`{}` has a ring of {}; a version goes with a ring", s.name, s.ring));
      }
    }
    if (r.axes.size() != rank) {
      return broken(op, fmt::format("indexes {} of {} axes", r.axes.size(), rank));
    }
    size_t sliced = 0;
    for (const AxisIndex& axis : r.axes) {
      sliced += axis.is_point() ? 0 : 1;
      if (!axis.lo.is_valid() || axis.extent < 0) {
        return broken(op, "has an axis without a start or with a negative extent");
      }
    }
    if (r.perm.size() != sliced) {
      return broken(op, fmt::format("permutes {} axes, {} are sliced", r.perm.size(), sliced));
    }
    std::vector<bool> seen(sliced, false);
    for (int p : r.perm) {
      if (p < 0 || static_cast<size_t>(p) >= sliced || seen[p]) {
        return broken(op, "has a perm that is not a permutation");
      }
      seen[p] = true;
    }
    return {};
  }

  Status access(const Op& op, const Access& a, const Region& global_side) const {
    if (!lowered()) {
      return {};
    }
    if (a.vector_elems < 1) {
      return broken(op, "has a vector width below 1");
    }
    if (global_side.is_global() && a.guards.size() != global_side.axes.size()) {
      return broken(op, fmt::format("has {} guards for {} axes", a.guards.size(), global_side.axes.size()));
    }
    return {};
  }

  Status shape_is(const Op& op, ValueId id, const std::vector<int64_t>& shape) const {
    return f_.value(id).shape == shape ? Status{}
                                       : broken(op, fmt::format("%{} does not have the region's shape", id.index));
  }

  Status block(const Block& ops) {
    for (const Op& op : ops) {
      TW_TRY_STATUS(std::visit([&](const auto& body) { return check(op, body); }, op.body));
    }
    return {};
  }

  Status check(const Op& op, const ForOp& loop) {
    if (loop.step <= 0) {
      return broken(op, "has a step that is not positive");
    }
    if (lowered() && loop.kind == LoopKind::Pipeline) {
      return broken(op, "is a pipeline in a lowered function");
    }
    for (const CarriedValue& c : loop.values) {
      TW_TRY_STATUS(use(op, c.init));
    }
    const size_t mark = scope_.size();
    for (const CarriedValue& c : loop.values) {
      TW_TRY_STATUS(define(op, c.argument));
      TW_TRY_STATUS(same_type(op, c.init, c.argument, "carried"));
    }
    TW_TRY_STATUS(block(loop.body));
    for (const CarriedValue& c : loop.values) {
      TW_TRY_STATUS(use(op, c.yield));
      TW_TRY_STATUS(same_type(op, c.init, c.yield, "carried"));
    }
    leave(mark);
    for (const CarriedValue& c : loop.values) {
      TW_TRY_STATUS(define(op, c.result));
      TW_TRY_STATUS(same_type(op, c.init, c.result, "carried"));
    }
    return {};
  }

  Status check(const Op& op, const TilesOp& tiles) {
    if (tiles.variables.size() != tiles.extents.size() || tiles.variables.empty()) {
      return broken(op, "has variables and extents of different number");
    }
    if (lowered() && tiles.decode.size() != tiles.variables.size()) {
      return broken(op, "has no decode of its variables");
    }
    return nested(tiles.body);
  }

  Status check(const Op& op, const IfOp& branch) {
    auto one_side = [&](const Block& body, bool is_then) -> Status {
      const size_t mark = scope_.size();
      TW_TRY_STATUS(block(body));
      for (const IfResult& r : branch.results) {
        TW_TRY_STATUS(use(op, is_then ? r.then_value : r.else_value));
      }
      leave(mark);
      return {};
    };
    TW_TRY_STATUS(one_side(branch.then_body, true));
    TW_TRY_STATUS(one_side(branch.else_body, false));
    for (const IfResult& r : branch.results) {
      TW_TRY_STATUS(define(op, r.result));
      TW_TRY_STATUS(same_type(op, r.then_value, r.result, "merged"));
      TW_TRY_STATUS(same_type(op, r.else_value, r.result, "merged"));
    }
    return {};
  }

  Status check(const Op& op, const CopyOp& copy) {
    TW_TRY_STATUS(region(op, copy.source));
    TW_TRY_STATUS(region(op, copy.destination));
    if (copy.source.tile_shape() != copy.destination.tile_shape()) {
      return broken(op, "has sides of different shape");
    }
    if (lowered() && !copy.map) {
      return broken(op, "has no thread map");
    }
    return access(op, copy.access, copy.source.is_global() ? copy.source : copy.destination);
  }
  Status check(const Op& op, const LoadOp& load) {
    TW_TRY_STATUS(region(op, load.source));
    TW_TRY_STATUS(define(op, load.result));
    TW_TRY_STATUS(shape_is(op, load.result, load.source.tile_shape()));
    return access(op, load.access, load.source);
  }
  Status check(const Op& op, const StoreOp& store) {
    TW_TRY_STATUS(use(op, store.value));
    TW_TRY_STATUS(region(op, store.destination));
    TW_TRY_STATUS(shape_is(op, store.value, store.destination.tile_shape()));
    return access(op, store.access, store.destination);
  }
  Status check(const Op& op, const RedOp& red) {
    TW_TRY_STATUS(use(op, red.value));
    TW_TRY_STATUS(region(op, red.destination));
    TW_TRY_STATUS(shape_is(op, red.value, red.destination.tile_shape()));
    return access(op, red.access, red.destination);
  }

  Status operand_shape(const Op& op, const MmaOperand& operand, std::vector<int64_t>& shape) {
    if (const auto* id = std::get_if<ValueId>(&operand)) {
      TW_TRY_STATUS(use(op, *id));
      shape = f_.value(*id).shape;
    } else {
      TW_TRY_STATUS(region(op, std::get<Region>(operand)));
      shape = std::get<Region>(operand).tile_shape();
    }
    return shape.size() == 2 ? Status{} : broken(op, "has an operand that is not a matrix");
  }

  Status check(const Op& op, const MmaOp& mma) {
    std::vector<int64_t> a;
    std::vector<int64_t> b;
    TW_TRY_STATUS(operand_shape(op, mma.a, a));
    TW_TRY_STATUS(operand_shape(op, mma.b, b));
    if (mma.c.is_valid()) {
      TW_TRY_STATUS(use(op, mma.c));
    }
    TW_TRY_STATUS(define(op, mma.result));
    if (a[1] != b[1] || f_.value(mma.result).shape != std::vector<int64_t>{a[0], b[0]}) {
      return broken(op, "has shapes that do not contract: (m, k), (n, k) to (m, n)");
    }
    return mma.c.is_valid() ? same_type(op, mma.c, mma.result, "accumulator") : Status{};
  }

  Status check(const Op& op, const ElementwiseOp& e) {
    for (ValueId operand : e.operands) {
      TW_TRY_STATUS(use(op, operand));
      if (f_.value(operand).shape != f_.value(e.result).shape) {
        return broken(op, fmt::format("has operand %{} of another shape than its result", operand.index));
      }
    }
    TW_TRY_STATUS(define(op, e.result));
    for (ValueId operand : e.operands) {
      if (lowered() && !target::same_map(*f_.value(operand).layout, *f_.value(e.result).layout)) {
        return broken(op, fmt::format("has operand %{} in another layout than its result", operand.index));
      }
    }
    return {};
  }

  Status check(const Op& op, const BroadcastOp& b) {
    TW_TRY_STATUS(use(op, b.operand));
    TW_TRY_STATUS(define(op, b.result));
    const std::vector<int64_t>& from = f_.value(b.operand).shape;
    const std::vector<int64_t>& to = f_.value(b.result).shape;
    if (b.axis_map.size() != from.size()) {
      return broken(op, "maps another number of axes than its operand has");
    }
    std::vector<bool> hit(to.size(), false);
    for (size_t d = 0; d < from.size(); ++d) {
      const int axis = b.axis_map[d];
      if (axis < 0 || static_cast<size_t>(axis) >= to.size() || hit[axis]) {
        return broken(op, "maps two axes to one, or one to nowhere");
      }
      hit[axis] = true;
      if (from[d] != 1 && from[d] != to[axis]) {
        return broken(op, fmt::format("stretches an extent of {} to {}", from[d], to[axis]));
      }
    }
    return {};
  }

  Status check(const Op& op, const ConstantOp& c) { return define(op, c.result); }
  Status check(const Op& op, const IotaOp& i) {
    TW_TRY_STATUS(define(op, i.result));
    const size_t rank = f_.value(i.result).shape.size();
    return i.axis >= 0 && static_cast<size_t>(i.axis) < rank ? Status{}
                                                             : broken(op, "counts along an axis it does not have");
  }
  Status check(const Op& op, const ExprOp& e) { return define(op, e.result); }
  Status check(const Op& op, const ScalarArgumentOp& s) {
    TW_TRY_STATUS(define(op, s.result));
    return s.argument >= 0 && static_cast<size_t>(s.argument) < f_.scalars.size()
               ? Status{}
               : broken(op, "names an argument that does not exist");
  }
  Status check(const Op& op, const ReduceOp& r) {
    TW_TRY_STATUS(use(op, r.operand));
    TW_TRY_STATUS(define(op, r.result));
    std::vector<int64_t> shape = f_.value(r.operand).shape;
    if (r.axis < 0 || static_cast<size_t>(r.axis) >= shape.size()) {
      return broken(op, "reduces an axis it does not have");
    }
    const int64_t extent = shape[r.axis];
    shape.erase(shape.begin() + r.axis);
    if (r.keep > 1) {
      shape.push_back(r.keep);
      if (r.group_stride < 1 || extent % (r.keep * r.group_stride) != 0) {
        return broken(op, fmt::format("has {} groups of stride {} in an extent of {}", r.keep, r.group_stride, extent));
      }
    }
    return f_.value(r.result).shape == shape ? Status{} : broken(op, "has a result of the wrong shape");
  }
  Status check(const Op& op, const RelayoutOp& r) {
    TW_TRY_STATUS(use(op, r.operand));
    TW_TRY_STATUS(define(op, r.result));
    const Value& from = f_.value(r.operand);
    const Value& to = f_.value(r.result);
    return from.shape == to.shape && from.element == to.element ? Status{} : broken(op, "changes more than the layout");
  }
  Status check(const Op&, const CommitOp&) { return {}; }
  Status check(const Op& op, const DrainOp& d) {
    return d.pending >= 0 ? Status{} : broken(op, "has negative pending groups");
  }
  Status check(const Op&, const SyncOp&) { return {}; }
  Status check(const Op& op, const CheckOp& c) {
    TW_TRY_STATUS(use(op, c.value));
    return c.expected.axes.size() == f_.value(c.value).shape.size()
               ? Status{}
               : broken(op, "has another number of axes than its value");
  }

  const Function& f_;
  std::vector<bool> defined_;
  std::vector<bool> assigned_;
  std::vector<ValueId> scope_;
};

}  // namespace

Status check_structure(const Function& function) {
  return StructureCheck(function).run();
}

}  // namespace tw::ir
