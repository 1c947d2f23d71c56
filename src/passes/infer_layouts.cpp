// SPDX-License-Identifier: Apache-2.0
#include "passes/infer_layouts.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "passes/clone_free_values.h"
#include "passes/memory.h"
#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::Op;
using ir::Region;
using ir::ValueId;
using target::TvLayout;
using target::TvMode;

constexpr int kLanes = 32;

// A load, store or red of a value.
struct MemoryUse {
  const Region* region = nullptr;
  target::CopyAtom atom;
  diag::Span span;
};

struct ClassInfo {
  std::optional<TvLayout> layout;
  // Where the layout comes from, for messages.
  diag::Span span;
  std::string why;
  std::vector<MemoryUse> memory;
  std::vector<int> reduced_axes;
  // Classes of the same shape that broadcasts and reductions tie to this one.
  std::vector<uint32_t> peers;
  ValueId first;
};

class LayoutInference {
 public:
  LayoutInference(ir::Function& function, PassContext& context)
      : function_(function),
        context_(context),
        facts_(function),
        parent_(function.values.size()),
        related_(function.values.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    std::iota(related_.begin(), related_.end(), 0U);
  }

  Status run() {
    collect_uses();
    if (Status status = seed(); !status) {
      return status;
    }
    if (Status status = propagate(); !status) {
      return status;
    }
    if (Status status = choose_free(); !status) {
      return status;
    }
    for (uint32_t i = 0; i < function_.values.size(); ++i) {
      const ClassInfo& info = classes_[find(ValueId(i))];
      if (info.layout) {
        function_.values[i].layout = info.layout;
      }
    }
    return map_copies();
  }

 private:
  static uint32_t find_in(std::vector<uint32_t>& parent, uint32_t i) {
    while (parent[i] != i) {
      parent[i] = parent[parent[i]];
      i = parent[i];
    }
    return i;
  }
  uint32_t find(ValueId id) { return find_in(parent_, id.index); }
  // Tiles that broadcasts and reductions tie together, however far.
  uint32_t relatives(ValueId id) { return find_in(related_, find(id)); }
  void relate(ValueId a, ValueId b) {
    // Scalars are held by every thread, so they tie nothing together.
    if (!function_.value(a).shape.empty() && !function_.value(b).shape.empty()) {
      related_[relatives(a)] = relatives(b);
    }
  }
  void unite(ValueId a, ValueId b) {
    // Rank-0 values are held by every thread whatever their neighbours do.
    parent_[find(a)] = find(b);
  }

  void collect_uses() {
    ir::for_each_op(std::as_const(function_.body), [&](const Op& op) {
      std::visit(ir::Overloaded{[&](const ir::ForOp& loop) {
                                  for (const ir::CarriedValue& carried : loop.values) {
                                    unite(carried.init, carried.argument);
                                    unite(carried.yield, carried.argument);
                                    unite(carried.result, carried.argument);
                                  }
                                },
                                [&](const ir::IfOp& branch) {
                                  for (const ir::IfResult& r : branch.results) {
                                    unite(r.then_value, r.result);
                                    unite(r.else_value, r.result);
                                  }
                                },
                                [&](const ir::ElementwiseOp& e) {
                                  for (ValueId operand : e.operands) {
                                    unite(operand, e.result);
                                  }
                                },
                                [&](const ir::MmaOp& mma) {
                                  if (mma.c.is_valid()) {
                                    unite(mma.c, mma.result);
                                  }
                                },
                                [](const auto&) {}},
                 op.body);
    });
    classes_.resize(function_.values.size());
    for (uint32_t i = 0; i < function_.values.size(); ++i) {
      ClassInfo& info = classes_[find(ValueId(i))];
      if (!info.first.is_valid()) {
        info.first = ValueId(i);
      }
    }
    ir::for_each_op(std::as_const(function_.body), [&](const Op& op) {
      auto note = [&](ValueId value, const Region& region, target::CopyAtom atom) {
        classes_[find(value)].memory.push_back({&region, atom, op.span});
      };
      if (const auto* load = std::get_if<ir::LoadOp>(&op.body)) {
        note(load->result, load->source, load->atom);
      } else if (const auto* store = std::get_if<ir::StoreOp>(&op.body)) {
        note(store->value, store->destination, store->atom);
      } else if (const auto* red = std::get_if<ir::RedOp>(&op.body)) {
        note(red->value, red->destination, {});
      } else if (const auto* reduce = std::get_if<ir::ReduceOp>(&op.body)) {
        classes_[find(reduce->operand)].reduced_axes.push_back(reduce->axis);
        relate(reduce->operand, reduce->result);
      } else if (const auto* broadcast = std::get_if<ir::BroadcastOp>(&op.body)) {
        relate(broadcast->operand, broadcast->result);
      }
    });
    share_needs();
  }

  // Related tiles of one shape end up in one layout, so each knows the others' accesses and reductions.
  void share_needs() {
    std::vector<std::vector<uint32_t>> groups(function_.values.size());
    for (uint32_t i = 0; i < function_.values.size(); ++i) {
      if (find(ValueId(i)) == i && !function_.values[i].shape.empty()) {
        groups[relatives(ValueId(i))].push_back(i);
      }
    }
    for (const std::vector<uint32_t>& group : groups) {
      std::map<std::vector<int64_t>, std::vector<uint32_t>> by_shape;
      for (uint32_t root : group) {
        by_shape[function_.values[root].shape].push_back(root);
      }
      for (const auto& [shape, roots] : by_shape) {
        ClassInfo all;
        for (uint32_t root : roots) {
          const ClassInfo& own = classes_[root];
          all.memory.insert(all.memory.end(), own.memory.begin(), own.memory.end());
          all.reduced_axes.insert(all.reduced_axes.end(), own.reduced_axes.begin(), own.reduced_axes.end());
        }
        for (uint32_t root : roots) {
          classes_[root].memory = all.memory;
          classes_[root].reduced_axes = all.reduced_axes;
          classes_[root].peers = roots;
        }
      }
    }
  }

  Status set(ValueId value, const TvLayout& layout, diag::Span span, const std::string& why, bool* changed = nullptr) {
    ClassInfo& info = classes_[find(value)];
    if (!info.layout) {
      info.layout = layout;
      info.span = span;
      info.why = why;
      if (changed != nullptr) {
        *changed = true;
      }
      return {};
    }
    if (target::same_map(*info.layout, layout)) {
      return {};
    }
    std::string name = function_.value(value).name;
    return fail(context_.sink.report(diag::codes::LayoutConflict{}, span, name.empty() ? "this tile" : name)
                    .label(span, why + " needs " + layout.normalized().to_string())
                    .label(info.span, info.why + " needs " + info.layout->normalized().to_string())
                    .emit());
  }

  [[nodiscard]] TvLayout everywhere() const { return {{{function_.threads, TvMode::kReplicated, 0}}, {}}; }

  Status seed() {
    for (uint32_t i = 0; i < function_.values.size(); ++i) {
      const ir::Value& value = function_.values[i];
      if (value.shape.empty()) {
        TW_CHECK(set(ValueId(i), everywhere(), value.span, "a scalar"));
      }
      if (value.layout) {
        // The front end pins only layouts that fit.
        TW_CHECK(value.layout->thread_count() == function_.threads);
        TW_CHECK(!target::find_fault(*value.layout, value.shape));
        if (Status status = set(ValueId(i), *value.layout, value.span, "`pin`"); !status) {
          return status;
        }
      }
    }
    Status status;
    ir::for_each_op(std::as_const(function_.body), [&](const Op& op) {
      const auto* mma = std::get_if<ir::MmaOp>(&op.body);
      if (mma == nullptr || !status) {
        return;
      }
      const ValueId a = std::get<ValueId>(mma->a);
      const ValueId b = std::get<ValueId>(mma->b);
      const ir::Value& a_value = function_.value(a);
      const ir::Value& b_value = function_.value(b);
      const target::MmaAtom* atom = function_.machine->find_mma(mma->atom, a_value.element, b_value.element,
                                                                function_.value(mma->result).element);
      TW_CHECK(atom != nullptr);
      auto tiling = target::tile_mma(*atom, a_value.shape[0], b_value.shape[0], a_value.shape[1], function_.threads,
                                     mma->warps_m, mma->warps_n);
      TW_CHECK(tiling.has_value());
      const std::string name = "`" + mma->atom + "`";
      status = set(mma->result, tiling->c, op.span, "the accumulator of " + name);
      if (status) {
        status = set(a, tiling->a, op.span, "operand a of " + name);
      }
      if (status) {
        status = set(b, tiling->b, op.span, "operand b of " + name);
      }
    });
    return status;
  }

  // Broadcasts and reductions tie the layouts of two classes; repeated until nothing new is known.
  Status propagate() {
    bool changed = true;
    while (changed) {
      changed = false;
      Status status;
      ir::for_each_op(std::as_const(function_.body), [&](const Op& op) {
        if (!status) {
          return;
        }
        if (const auto* broadcast = std::get_if<ir::BroadcastOp>(&op.body)) {
          const auto& result = classes_[find(broadcast->result)].layout;
          if (result && !function_.value(broadcast->operand).shape.empty()) {
            status = set(broadcast->operand, target::project(*result, effective_axes(*broadcast)), op.span,
                         "this broadcast", &changed);
          }
        } else if (const auto* reduce = std::get_if<ir::ReduceOp>(&op.body)) {
          const auto& operand = classes_[find(reduce->operand)].layout;
          if (operand) {
            status =
                set(reduce->result, target::drop_axis(*operand, reduce->axis), op.span, "this reduction", &changed);
          }
        }
      });
      if (!status) {
        return status;
      }
    }
    return {};
  }

  // Axes of extent 1 that stretch hold no digit of the result.
  [[nodiscard]] std::vector<int> effective_axes(const ir::BroadcastOp& op) const {
    std::vector<int> map = op.axis_map;
    for (size_t d = 0; d < map.size(); ++d) {
      if (function_.value(op.operand).shape[d] != function_.value(op.result).shape[map[d]]) {
        map[d] = target::kMaxTileRank;
      }
    }
    return map;
  }

  Status choose_free() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < function_.values.size(); ++i) {
      if (find(ValueId(i)) == i) {
        order.push_back(i);
      }
    }
    auto elements = [&](uint32_t root) {
      int64_t count = 1;
      for (int64_t extent : function_.values[root].shape) {
        count *= extent;
      }
      return count;
    };
    // Large tiles first, tiles in memory before others: they set the terms for what broadcasts into or reduces from
    // them.
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
      const bool a_memory = !classes_[a].memory.empty();
      const bool b_memory = !classes_[b].memory.empty();
      return elements(a) != elements(b) ? elements(a) > elements(b) : a_memory && !b_memory;
    });
    for (uint32_t root : order) {
      ClassInfo& info = classes_[root];
      if (info.layout) {
        continue;
      }
      auto layout = free_layout(root);
      if (!layout) {
        return fail(layout.error());
      }
      info.layout = *layout;
      info.span = info.memory.empty() ? function_.values[root].span : info.memory[0].span;
      info.why = info.memory.empty() ? "its own layout" : "coalesced access to memory";
      if (Status status = propagate(); !status) {
        return status;
      }
    }
    return {};
  }

  Checked<TvLayout> free_layout(uint32_t root) {
    const ClassInfo& info = classes_[root];
    const std::vector<int64_t>& shape = function_.values[root].shape;
    for (uint32_t peer : info.peers) {
      if (classes_[peer].layout) {
        return *classes_[peer].layout;
      }
    }
    const int rank = static_cast<int>(shape.size());
    int contiguous = rank - 1;
    for (bool global : {false, true}) {
      for (const MemoryUse& use : info.memory) {
        const int axis = contiguous_tile_axis(function_, *use.region);
        if (use.region->is_global() == global && axis >= 0) {
          contiguous = axis;
        }
      }
    }
    int vector = 1;
    for (const MemoryUse& use : info.memory) {
      const int size = size_bytes(element_of(function_, *use.region));
      const int provable = max_vector_elems(function_, facts_, *use.region, contiguous);
      if (use.atom.kind == target::CopyKind::Vector) {
        const int wanted = use.atom.bytes / size;
        if (wanted > provable) {
          return fail(context_.sink
                          .report(diag::codes::CopyAtomUnsupported{}, use.span, target::to_string(use.atom),
                                  "alignment proves only " + std::to_string(provable * size) + " bytes on `" +
                                      name_of(function_, *use.region) + "`")
                          .emit());
        }
        vector = std::max(vector, wanted);
      } else {
        vector = std::max(vector, provable);
      }
    }
    std::vector<int> order{contiguous};
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (axis != contiguous) {
        order.push_back(axis);
      }
    }
    std::vector<int> warp_order;
    std::vector<int> reduced;
    for (int axis : order) {
      (std::ranges::find(info.reduced_axes, axis) == info.reduced_axes.end() ? warp_order : reduced).push_back(axis);
    }
    warp_order.insert(warp_order.end(), reduced.begin(), reduced.end());
    return spread_layout(shape, order, warp_order, vector, function_.threads);
  }

  Status map_copies() {
    Status status;
    ir::for_each_op(function_.body, [&](Op& op) {
      auto* copy = std::get_if<ir::CopyOp>(&op.body);
      if (copy != nullptr && status) {
        status = map_copy(op, *copy);
      }
    });
    return status;
  }

  Status map_copy(const Op& op, ir::CopyOp& copy) {
    const Region& outer = copy.source.is_global() ? copy.source : copy.destination;
    const Region& inner = copy.source.is_global() ? copy.destination : copy.source;
    const int contiguous = contiguous_tile_axis(function_, outer);
    int vector = 1;
    const int size = size_bytes(element_of(function_, outer));
    if (contiguous >= 0) {
      const int limit = copy.atom.bytes > 0 ? copy.atom.bytes : kMaxAccessBytes;
      vector = std::min(max_vector_elems(function_, facts_, outer, contiguous, limit),
                        max_vector_elems(function_, facts_, inner, contiguous, limit));
    }
    auto refuse = [&](const std::string& why) -> Status {
      return fail(
          context_.sink.report(diag::codes::CopyAtomUnsupported{}, op.span, target::to_string(copy.atom), why).emit());
    };
    if (copy.atom.bytes > 0 && vector * size != copy.atom.bytes) {
      return refuse("alignment proves only " + std::to_string(vector * size) + " bytes between `" +
                    name_of(function_, copy.source) + "` and `" + name_of(function_, copy.destination) + "`");
    }
    if (copy.atom.kind == target::CopyKind::CpAsync) {
      if (!copy.source.is_global() || copy.destination.is_global()) {
        return refuse("it goes from global to shared memory only");
      }
      if (vector * size < 4) {
        return refuse("it needs accesses of 4, 8 or 16 bytes, alignment proves only " + std::to_string(vector * size) +
                      " between `" + name_of(function_, copy.source) + "` and `" +
                      name_of(function_, copy.destination) + "`; assume that the row length is a multiple of " +
                      std::to_string(16 / size));
      }
      if (copy.fill != 0.0) {
        return fail(context_.sink.report(diag::codes::CpAsyncFill{}, op.span, copy.fill).emit());
      }
    }
    const std::vector<int64_t> shape = outer.tile_shape();
    std::vector<int> order{std::max(contiguous, 0)};
    for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
      if (axis != order[0]) {
        order.push_back(axis);
      }
    }
    copy.map = shape.empty() ? everywhere() : spread_layout(shape, order, order, vector, function_.threads);
    return {};
  }

  ir::Function& function_;
  PassContext& context_;
  Facts facts_;
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> related_;
  std::vector<ClassInfo> classes_;
};

}  // namespace

TvLayout spread_layout(const std::vector<int64_t>& shape, const std::vector<int>& order,
                       const std::vector<int>& warp_order, int vector, int threads, int lane_limit) {
  TvLayout out;
  std::vector<int64_t> rest(shape);
  std::vector<int64_t> stride(shape.size(), 1);
  auto take = [&](std::vector<TvMode>& modes, int axis, int64_t extent) {
    if (extent > 1) {
      modes.push_back({static_cast<int32_t>(extent), axis, static_cast<int32_t>(stride[axis])});
    }
    stride[axis] *= extent;
    rest[axis] /= extent;
  };
  const int first = order[0];
  TW_CHECK(shape[first] % vector == 0);
  take(out.values, first, vector);
  // Lanes and warps separately, so that no digit straddles a warp.
  int64_t lanes = std::gcd(threads, kLanes);
  int64_t warps = threads / lanes;
  for (int axis : order) {
    const int64_t limit = axis == first ? std::gcd<int64_t>(lanes, lane_limit) : lanes;
    const int64_t extent = std::gcd(rest[axis], limit);
    take(out.threads, axis, extent);
    lanes /= extent;
  }
  if (lanes > 1) {
    out.threads.push_back({static_cast<int32_t>(lanes), TvMode::kReplicated, 0});
  }
  for (int axis : warp_order) {
    const int64_t extent = std::gcd(rest[axis], warps);
    take(out.threads, axis, extent);
    warps /= extent;
  }
  if (warps > 1) {
    out.threads.push_back({static_cast<int32_t>(warps), TvMode::kReplicated, 0});
  }
  for (int axis : order) {
    take(out.values, axis, rest[axis]);
  }
  return out;
}

Status infer_layouts(ir::Function& function, PassContext& context) {
  clone_free_values(function);
  return LayoutInference(function, context).run();
}

}  // namespace tw::passes
