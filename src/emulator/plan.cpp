// SPDX-License-Identifier: Apache-2.0
#include "emulator/plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "base/check.h"
#include "emulator/arithmetic.h"
#include "emulator/region.h"
#include "layout/evaluate.h"

namespace tw::emulator {
namespace {

using target::TileCoord;
using target::TvLayout;

// A layout whose thread digits run out repeats: the missing digits move nothing.
TileCoord thread_offset(const TvLayout& layout, int64_t thread) {
  return layout.thread_offset(thread % layout.thread_count());
}

bool is_first_owner(const TvLayout& layout, int64_t thread) {
  return thread < layout.thread_count() && layout.is_first_owner(thread);
}

bool is_first_value(const TvLayout& layout, int64_t value) {
  for (const target::TvMode& mode : layout.values) {
    const int64_t digit = value % mode.extent;
    value /= mode.extent;
    if (digit != 0 && (mode.axis == target::TvMode::kReplicated || mode.stride == 0)) {
      return false;
    }
  }
  return true;
}

// Row-major number of a coordinate in a tile, or -1 outside it.
int64_t tile_number(const TileCoord& coord, const std::vector<int64_t>& shape) {
  int64_t number = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (coord[axis] < 0 || coord[axis] >= shape[axis]) {
      return -1;
    }
    number = number * shape[axis] + coord[axis];
  }
  return number;
}

class Planner {
 public:
  Planner(const ir::Function& function, const BoundProblem& bound) : function_(function), bound_(bound) {}

  LaunchPlan run() {
    plan_.threads = function_.threads;
    plan_.shared_bytes = function_.shared_bytes;
    if (function_.stage != ir::Stage::Lowered) {
      plan_.problem = "the machine half executes lowered functions only";
      return std::move(plan_);
    }
    if (function_.machine == nullptr) {
      plan_.problem = "the function names no target";
      return std::move(plan_);
    }
    plan_.warp_threads = function_.machine->warp_threads;
    plan_values();
    plan_shared();
    plan_.ops.resize(function_.next_op_id);
    ir::for_each_op(function_.body, [&](const ir::Op& op) {
      if (op.id >= plan_.ops.size()) {
        plan_.problem = fmt::format("op {} has an id beyond the function's next one", op.id);
        return;
      }
      op_ = &plan_.ops[op.id];
      std::visit([&](const auto& body) { plan_op(body); }, op.body);
    });
    return std::move(plan_);
  }

 private:
  const TvLayout& layout_of(ir::ValueId id) const { return *function_.value(id).layout; }
  int64_t values_of(ir::ValueId id) const { return plan_.values[id.index]; }

  void plan_values() {
    for (const ir::Value& value : function_.values) {
      if (!value.layout) {
        plan_.problem = fmt::format("`{}` has no thread/value layout", value.name);
        plan_.values.push_back(0);
        continue;
      }
      plan_.values.push_back(value.layout->value_count());
    }
  }

  void plan_shared() {
    int granule = 16;
    for (const ir::SharedObject& object : function_.shared) {
      SharedPlan shared;
      shared.element_bytes = size_bytes(object.element);
      granule = std::min(granule, shared.element_bytes);
      if (!object.layout) {
        plan_.problem = fmt::format("`{}` has no address map", object.name);
        plan_.shared.push_back(shared);
        continue;
      }
      shared.offset_bytes = object.layout->offset_bytes;
      shared.slot_bytes = object.layout->slot_bytes;
      shared.ring = object.ring;
      const layout::Layout& elements = object.layout->elements;
      const size_t count = std::accumulate(object.shape.begin(), object.shape.end(), size_t{1}, std::multiplies<>());
      std::vector<int64_t> weights(object.shape.size(), 1);
      int64_t size = 1;
      bool fits = elements.rank() == object.shape.size() || object.shape.size() == 1;
      for (size_t axis = 0; axis < object.shape.size(); ++axis) {
        weights[axis] = size;
        size *= object.shape[axis];
        fits = fits && (object.shape.size() == 1 || elements.mode(axis).size() == object.shape[axis]);
      }
      if (!fits || elements.size() != size) {
        plan_.problem = fmt::format("the layout {} of `{}` does not have its shape", elements.to_string(), object.name);
        plan_.shared.push_back(shared);
        continue;
      }
      const layout::Evaluator evaluate(elements);
      for (size_t i = 0; i < count; ++i) {
        size_t rest = i;
        int64_t index = 0;
        for (size_t axis = object.shape.size(); axis-- > 0;) {
          index += static_cast<int64_t>(rest % static_cast<size_t>(object.shape[axis])) * weights[axis];
          rest /= static_cast<size_t>(object.shape[axis]);
        }
        shared.address.push_back(static_cast<int32_t>(object.layout->swizzle(evaluate(index) * shared.element_bytes)));
      }
      plan_.shared.push_back(std::move(shared));
    }
    plan_.granule = granule;
  }

  void fill_access(const TvLayout& layout, const std::vector<int64_t>& shape, const ir::Access& access,
                   bool owners_only) {
    AccessTable& table = op_->access;
    table.threads = plan_.threads;
    table.values = layout.value_count();
    table.vector = std::max(access.vector_elems, 1);
    if (table.values % table.vector != 0) {
      op_->mismatch = fmt::format("{} registers do not divide into vectors of {}", table.values, table.vector);
      return;
    }
    auto number = [&](const TileCoord& coord) {
      int64_t out = 0;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        out = out * shape[axis] + coord[axis];
      }
      return static_cast<int32_t>(out);
    };
    for (int64_t t = 0; t < plan_.threads; ++t) {
      const TileCoord coord = thread_offset(layout, t);
      table.coord_by_thread.push_back(coord);
      table.tile_by_thread.push_back(number(coord));
      table.is_active_thread.push_back(!owners_only || is_first_owner(layout, t) ? 1 : 0);
    }
    for (int64_t v = 0; v < table.values; ++v) {
      const TileCoord coord = layout.value_offset(v);
      table.coord_by_value.push_back(coord);
      table.tile_by_value.push_back(number(coord));
      if (v % table.vector == 0) {
        table.is_active_vector.push_back(!owners_only || is_first_value(layout, v) ? 1 : 0);
      }
    }
    if (auto outside = find_outside(table, shape)) {
      op_->mismatch = *outside;
    }
  }

  std::optional<std::string> find_outside(const AccessTable& table, const std::vector<int64_t>& shape) const {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      int32_t most_thread = 0;
      int32_t most_value = 0;
      for (const TileCoord& coord : table.coord_by_thread) {
        most_thread = std::max(most_thread, coord[axis]);
      }
      for (const TileCoord& coord : table.coord_by_value) {
        most_value = std::max(most_value, coord[axis]);
      }
      if (most_thread + most_value >= shape[axis]) {
        return fmt::format("the layout reaches coordinate {} of axis {}, whose extent is {}", most_thread + most_value,
                           axis, shape[axis]);
      }
    }
    return std::nullopt;
  }

  void fill_guards(const ir::Region& region, const ir::Access& access) {
    for (size_t axis = 0; axis < access.guards.size() && axis < region.axes.size(); ++axis) {
      if (access.guards[axis] && region.axes[axis].is_point()) {
        op_->access.guards_points = true;
      }
    }
    for (size_t d = 0; d < region.perm.size(); ++d) {
      const auto axis = static_cast<size_t>(region.object_axis(static_cast<int>(d)));
      if (axis < access.guards.size() && access.guards[axis]) {
        op_->access.guarded_tile_axes.push_back(static_cast<int>(d));
      }
    }
  }

  void fill_side(int which, const ir::Region& region) {
    SideTable& side = op_->sides[which];
    side.is_global = region.is_global();
    side.object = region.is_global() ? region.tensor().index : region.shared().index;
    side.element_bytes = size_bytes(region.is_global() ? function_.tensor(region.tensor()).element
                                                       : function_.shared_object(region.shared()).element);
    DynamicRegion corner;
    corner.region = &region;
    const TileFrame frame = tile_frame(function_, bound_, corner);
    auto place = [&](const TileCoord& coord) {
      int64_t element = 0;
      for (int d = 0; d < frame.rank; ++d) {
        element += coord[d] * frame.stride[d];
      }
      return element;
    };
    for (const TileCoord& coord : op_->access.coord_by_thread) {
      side.by_thread.push_back(place(coord));
    }
    for (const TileCoord& coord : op_->access.coord_by_value) {
      side.by_value.push_back(place(coord));
    }
  }

  void plan_op(const ir::CopyOp& op) {
    fill_access(*op.map, op.source.tile_shape(), op.access, true);
    fill_guards(op.source.is_global() ? op.source : op.destination, op.access);
    fill_side(0, op.source);
    fill_side(1, op.destination);
    if (op_->sides[0].element_bytes != op_->sides[1].element_bytes) {
      op_->mismatch = "the two sides have elements of different size";
    }
    if (op.atom.kind == target::CopyKind::CpAsync) {
      const int bytes = op_->access.vector * op_->sides[0].element_bytes;
      if (!op.source.is_global() || op.destination.is_global()) {
        op_->mismatch = "cp.async copies from global to shared memory only";
      } else if (bytes != 4 && bytes != 8 && bytes != 16) {
        op_->mismatch = fmt::format("cp.async moves 4, 8 or 16 bytes, not {}", bytes);
      } else if (op.fill != 0) {
        op_->mismatch = "cp.async fills with zeros only";
      }
    } else if (op.atom.kind == target::CopyKind::Ldmatrix) {
      op_->mismatch = "ldmatrix loads to registers";
    }
    check_width();
  }

  void check_width() {
    const int bytes = op_->access.vector * op_->sides[0].element_bytes;
    if (op_->mismatch.empty() && (bytes > 16 || (bytes & (bytes - 1)) != 0)) {
      op_->mismatch = fmt::format("an access moves 1, 2, 4, 8 or 16 bytes, not {}", bytes);
    }
  }

  void plan_op(const ir::LoadOp& op) {
    ir::Access access = op.access;
    if (op.atom.kind == target::CopyKind::Ldmatrix) {
      access.vector_elems = 1;
    }
    fill_access(layout_of(op.result), op.source.tile_shape(), access, false);
    fill_guards(op.source, op.access);
    fill_side(0, op.source);
    if (op.atom.kind == target::CopyKind::Ldmatrix) {
      op_->step = StepKind::Warp;
      plan_ldmatrix(op);
    } else if (op.atom.kind == target::CopyKind::CpAsync) {
      op_->mismatch = "cp.async copies to shared memory";
    }
    check_width();
  }

  // A register holds one 32-bit element or, for 16-bit elements, half of one: `halves` 16-bit parts each.
  void plan_ldmatrix(const ir::LoadOp& op) {
    const int bytes = op_->sides[0].element_bytes;
    if (op.source.is_global()) {
      op_->mismatch = "ldmatrix reads shared memory";
      return;
    }
    if ((bytes != 2 && bytes != 4) || (bytes == 4 && op.transposed)) {
      op_->mismatch = fmt::format("ldmatrix moves 16-bit elements (32-bit ones untransposed), not {}-byte ones", bytes);
      return;
    }
    if (op.matrices != 1 && op.matrices != 2 && op.matrices != 4) {
      op_->mismatch = fmt::format("ldmatrix loads 1, 2 or 4 matrices, not {}", op.matrices);
      return;
    }
    const int halves = bytes / 2;
    LdmatrixTable& table = op_->ldmatrix;
    table.group_values = 2 * op.matrices / halves;
    if (op_->access.values % table.group_values != 0) {
      op_->mismatch = fmt::format("{} registers do not divide among ldmatrix.x{}", op_->access.values, op.matrices);
      return;
    }
    const int rows = op.matrices * 8;
    table.first_lane.assign(static_cast<size_t>(rows), 0);
    table.first_value.assign(static_cast<size_t>(rows), 0);
    for (int lane = 0; lane < 32; ++lane) {
      for (int value = 0; value < table.group_values; ++value) {
        const target::LdmatrixElement e = target::ldmatrix_element(lane, value * halves, op.transposed);
        const int row = e.matrix * 8 + e.row;
        table.row_of.push_back(static_cast<uint8_t>(row));
        table.byte_of.push_back(static_cast<uint8_t>(e.column * 2));
        if (e.column == 0) {
          table.first_lane[static_cast<size_t>(row)] = static_cast<uint8_t>(lane);
          table.first_value[static_cast<size_t>(row)] = static_cast<uint8_t>(value);
        }
      }
    }
    if (plan_.threads % 32 != 0) {
      op_->mismatch = "ldmatrix needs whole warps";
    }
  }

  void plan_op(const ir::StoreOp& op) {
    fill_access(layout_of(op.value), op.destination.tile_shape(), op.access, true);
    fill_guards(op.destination, op.access);
    fill_side(0, op.destination);
    check_width();
  }
  void plan_op(const ir::RedOp& op) {
    fill_access(layout_of(op.value), op.destination.tile_shape(), op.access, true);
    fill_guards(op.destination, op.access);
    fill_side(0, op.destination);
    if (!op.destination.is_global()) {
      op_->mismatch = "`red` combines into global memory";
    }
  }

  void plan_op(const ir::MmaOp& op) {
    const auto* a = std::get_if<ir::ValueId>(&op.a);
    const auto* b = std::get_if<ir::ValueId>(&op.b);
    if (a == nullptr || b == nullptr) {
      op_->mismatch = "an operand of the product is still in memory";
      return;
    }
    const ir::Value& va = function_.value(*a);
    const ir::Value& vb = function_.value(*b);
    const ir::Value& vc = function_.value(op.result);
    const target::MmaAtom* atom = function_.machine->find_mma(op.atom, va.element, vb.element, vc.element);
    if (atom == nullptr) {
      op_->mismatch = fmt::format("{} has no `{}` for {} x {} -> {}", function_.machine->name, op.atom,
                                  name_of(va.element), name_of(vb.element), name_of(vc.element));
      return;
    }
    auto tiling = target::tile_mma(*atom, va.shape[0], vb.shape[0], va.shape[1], plan_.threads, op.warps_m, op.warps_n);
    if (!tiling) {
      op_->mismatch = tiling.error().message;
      return;
    }
    MmaTable& table = op_->mma;
    table.is_per_thread = atom->kind == target::MmaKind::Fma;
    op_->step = table.is_per_thread ? StepKind::Thread : StepKind::Warp;
    table.instruction_depth = static_cast<size_t>(atom->k);
    table.exact_products = has_exact_products(va.element, vb.element);
    table.a_values = tiling->a.value_count();
    table.b_values = tiling->b.value_count();
    table.c_values = tiling->c.value_count();
    const struct {
      ir::ValueId id;
      int64_t needed;
      std::string_view name;
    } operands[] = {{*a, table.a_values, "a"},
                    {*b, table.b_values, "b"},
                    {op.result, table.c_values, "the result"},
                    {op.c.is_valid() ? op.c : op.result, table.c_values, "c"}};
    for (const auto& operand : operands) {
      if (values_of(operand.id) != operand.needed) {
        op_->mismatch = fmt::format("{} of `{}` has {} registers a thread, the instructions take {}", operand.name,
                                    op.atom, values_of(operand.id), operand.needed);
        return;
      }
    }
    fill_mma(*tiling, va.shape[0], vb.shape[0], va.shape[1]);
  }

  // Coordinates are a thread's offset plus a register's: both once, not for every pair.
  struct Offsets {
    explicit Offsets(const TvLayout& layout) {
      for (int64_t t = 0; t < layout.thread_count(); ++t) {
        threads.push_back(layout.thread_offset(t));
      }
      for (int64_t v = 0; v < layout.value_count(); ++v) {
        values.push_back(layout.value_offset(v));
      }
    }
    [[nodiscard]] TileCoord at(int64_t thread, int64_t value) const {
      const TileCoord& t = threads[static_cast<size_t>(thread)];
      const TileCoord& v = values[static_cast<size_t>(value)];
      return {t[0] + v[0], t[1] + v[1]};
    }
    std::vector<TileCoord> threads;
    std::vector<TileCoord> values;
  };

  void fill_mma(const target::MmaTiling& tiling, int64_t tile_m, int64_t tile_n, int64_t depth) {
    MmaTable& table = op_->mma;
    table.depth = static_cast<size_t>(depth);
    const int group = table.is_per_thread ? 1 : plan_.warp_threads;
    table.a.resize(static_cast<size_t>(plan_.threads * table.a_values));
    table.b.resize(static_cast<size_t>(plan_.threads * table.b_values));
    table.c.resize(static_cast<size_t>(plan_.threads * table.c_values));
    const Offsets a(tiling.a), b(tiling.b), c(tiling.c);
    for (int first = 0; first < plan_.threads; first += group) {
      std::vector<int32_t> row_of(static_cast<size_t>(tile_m), -1);
      std::vector<int32_t> column_of(static_cast<size_t>(tile_n), -1);
      for (int t = first; t < first + group; ++t) {
        for (int64_t v = 0; v < table.c_values; ++v) {
          const TileCoord x = c.at(t, v);
          row_of[static_cast<size_t>(x[0])] = 0;
          column_of[static_cast<size_t>(x[1])] = 0;
        }
      }
      table.rows = number_those_used(row_of);
      table.columns = number_those_used(column_of);
      for (int t = first; t < first + group; ++t) {
        for (int64_t v = 0; v < table.a_values; ++v) {
          const TileCoord x = a.at(t, v);
          TW_CHECK(row_of[static_cast<size_t>(x[0])] >= 0);
          table.a[static_cast<size_t>(t * table.a_values + v)] =
              static_cast<int32_t>(row_of[static_cast<size_t>(x[0])] * depth + x[1]);
        }
        for (int64_t v = 0; v < table.b_values; ++v) {
          const TileCoord x = b.at(t, v);
          TW_CHECK(column_of[static_cast<size_t>(x[0])] >= 0);
          table.b[static_cast<size_t>(t * table.b_values + v)] =
              static_cast<int32_t>(x[1] * static_cast<int64_t>(table.columns) + column_of[static_cast<size_t>(x[0])]);
        }
        for (int64_t v = 0; v < table.c_values; ++v) {
          const TileCoord x = c.at(t, v);
          table.c[static_cast<size_t>(t * table.c_values + v)] =
              row_of[static_cast<size_t>(x[0])] * static_cast<int32_t>(table.columns) +
              column_of[static_cast<size_t>(x[1])];
        }
      }
    }
  }

  static size_t number_those_used(std::vector<int32_t>& used) {
    int32_t next = 0;
    for (int32_t& slot : used) {
      if (slot >= 0) {
        slot = next++;
      }
    }
    return static_cast<size_t>(next);
  }

  void plan_op(const ir::ElementwiseOp& op) {
    for (ir::ValueId id : op.operands) {
      if (values_of(id) != values_of(op.result)) {
        op_->mismatch =
            fmt::format("an operand has {} registers a thread, the result {}", values_of(id), values_of(op.result));
      }
    }
  }

  // The register of a thread that holds a tile element, for all threads.
  std::vector<std::map<int64_t, int32_t>> holders(ir::ValueId id) const {
    const TvLayout& layout = layout_of(id);
    const std::vector<int64_t>& shape = function_.value(id).shape;
    std::vector<std::map<int64_t, int32_t>> out(static_cast<size_t>(plan_.threads));
    for (int t = 0; t < plan_.threads; ++t) {
      const TileCoord base = thread_offset(layout, t);
      for (int64_t v = 0; v < layout.value_count(); ++v) {
        TileCoord coord = layout.value_offset(v);
        for (int axis = 0; axis < target::kMaxTileRank; ++axis) {
          coord[axis] += base[axis];
        }
        out[static_cast<size_t>(t)].try_emplace(tile_number(coord, shape), static_cast<int32_t>(v));
      }
    }
    return out;
  }

  // Calls visit(thread, value, coord) for all registers of a value.
  template <class Visit>
  void for_each_register(ir::ValueId id, Visit visit) const {
    const TvLayout& layout = layout_of(id);
    for (int t = 0; t < plan_.threads; ++t) {
      const TileCoord base = thread_offset(layout, t);
      for (int64_t v = 0; v < layout.value_count(); ++v) {
        TileCoord coord = layout.value_offset(v);
        for (int axis = 0; axis < target::kMaxTileRank; ++axis) {
          coord[axis] += base[axis];
        }
        visit(t, v, coord);
      }
    }
  }

  void plan_op(const ir::BroadcastOp& op) {
    const std::vector<int64_t>& from = function_.value(op.operand).shape;
    const auto held = holders(op.operand);
    for_each_register(op.result, [&](int t, int64_t, const TileCoord& coord) {
      TileCoord source{};
      for (size_t d = 0; d < from.size(); ++d) {
        source[d] = from[d] == 1 ? 0 : coord[op.axis_map[d]];
      }
      const auto& mine = held[static_cast<size_t>(t)];
      auto found = mine.find(tile_number(source, from));
      if (found == mine.end()) {
        op_->mismatch = fmt::format("thread {} needs element ({}, {}) of the operand and does not hold it", t,
                                    source[0], source[1]);
        op_->gather.source.push_back(0);
        return;
      }
      op_->gather.source.push_back(static_cast<int32_t>(t * values_of(op.operand) + found->second));
    });
  }

  void plan_op(const ir::RelayoutOp& op) {
    const std::vector<int64_t>& shape = function_.value(op.operand).shape;
    const auto held = holders(op.operand);
    std::map<int64_t, std::vector<int>> threads_with;
    for (int t = 0; t < plan_.threads; ++t) {
      for (const auto& [element, value] : held[static_cast<size_t>(t)]) {
        threads_with[element].push_back(t);
      }
    }
    for_each_register(op.result, [&](int t, int64_t, const TileCoord& coord) {
      const int64_t element = tile_number(coord, shape);
      const int warp = t / plan_.warp_threads;
      int from = -1;
      for (int candidate : threads_with[element]) {
        if (candidate == t) {
          from = t;
          break;
        }
        if (from < 0 && candidate / plan_.warp_threads == warp) {
          from = candidate;
        }
      }
      if (from < 0) {
        op_->mismatch = fmt::format(
            "thread {} needs element ({}, {}), which no thread of its warp holds; a change of layout across "
            "warps is a store, a barrier and a load",
            t, coord[0], coord[1]);
        op_->gather.source.push_back(0);
        return;
      }
      if (from != t) {
        op_->step = StepKind::Warp;
      }
      op_->gather.source.push_back(
          static_cast<int32_t>(from * values_of(op.operand) + held[static_cast<size_t>(from)].at(element)));
    });
  }

  void plan_op(const ir::ReduceOp& op) {
    const ir::Value& operand = function_.value(op.operand);
    const int64_t extent = operand.shape[static_cast<size_t>(op.axis)];
    const int64_t keep = std::max<int64_t>(op.keep, 1);
    const size_t result_rank = function_.value(op.result).shape.size();
    const auto held = holders(op.operand);
    ReduceTable& table = op_->reduce;
    // First holder of each element in each warp.
    const int warps = (plan_.threads + plan_.warp_threads - 1) / plan_.warp_threads;
    std::vector<std::map<int64_t, int>> first_in_warp(static_cast<size_t>(warps));
    for (int t = 0; t < plan_.threads; ++t) {
      for (const auto& [element, value] : held[static_cast<size_t>(t)]) {
        first_in_warp[static_cast<size_t>(t / plan_.warp_threads)].try_emplace(element, t);
      }
    }
    for_each_register(op.result, [&](int t, int64_t, const TileCoord& coord) {
      table.begin.push_back(static_cast<uint32_t>(table.source.size()));
      std::vector<std::pair<int, int32_t>> terms;
      for (int64_t x = 0; x < extent; ++x) {
        if (keep > 1 && (x / op.group_stride) % keep != coord[result_rank - 1]) {
          continue;
        }
        TileCoord source{};
        for (size_t d = 0, r = 0; d < operand.shape.size(); ++d) {
          source[d] = d == static_cast<size_t>(op.axis) ? static_cast<int32_t>(x) : coord[r++];
        }
        const int64_t element = tile_number(source, operand.shape);
        int from = t;
        auto mine = held[static_cast<size_t>(t)].find(element);
        if (mine == held[static_cast<size_t>(t)].end()) {
          const auto& warp = first_in_warp[static_cast<size_t>(t / plan_.warp_threads)];
          auto other = warp.find(element);
          if (other == warp.end()) {
            op_->mismatch =
                fmt::format("the reduction in thread {} needs element ({}, {}), which no thread of its warp holds", t,
                            source[0], source[1]);
            continue;
          }
          from = other->second;
          op_->step = StepKind::Warp;
        }
        terms.emplace_back(from, held[static_cast<size_t>(from)].at(element));
      }
      std::ranges::sort(terms);
      for (auto [from, value] : terms) {
        table.source.push_back(static_cast<uint32_t>(from * values_of(op.operand) + value));
      }
    });
    table.begin.push_back(static_cast<uint32_t>(table.source.size()));
  }

  void plan_op(const ir::SyncOp& op) { op_->step = op.scope == ir::SyncScope::Warp ? StepKind::Warp : StepKind::Block; }
  template <class Body>
  void plan_op(const Body&) {}

  const ir::Function& function_;
  const BoundProblem& bound_;
  LaunchPlan plan_;
  OpPlan* op_ = nullptr;
};

}  // namespace

LaunchPlan make_plan(const ir::Function& function, const BoundProblem& bound) {
  return Planner(function, bound).run();
}

}  // namespace tw::emulator
