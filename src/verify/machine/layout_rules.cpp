// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/layout_rules.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

#include "ir/address.h"

namespace tw::verify {
namespace {

using target::TileCoord;
using target::TvLayout;

constexpr int kWarpThreads = 32;
constexpr int64_t kMatrixRowBytes = 16;

std::string text(const TileCoord& c, size_t rank) {
  std::string out = "(";
  for (size_t i = 0; i < rank; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", c[i]);
  }
  return out + ")";
}

class LayoutRules {
 public:
  explicit LayoutRules(const ir::Function& function) : f_(function) {}

  LayoutResult run() {
    storage();
    resources();
    ir::for_each_op(f_.body, [&](const ir::Op& op) { std::visit([&](const auto& body) { rule(op, body); }, op.body); });
    return std::move(result_);
  }

 private:
  void report(LayoutFinding finding) { result_.findings.push_back(std::move(finding)); }
  [[nodiscard]] const TvLayout& layout(ir::ValueId id) const { return *f_.value(id).layout; }

  // --- maps of values and copies

  void map_covers(const ir::Op& op, const TvLayout& map, const target::TileShape& shape, const std::string& what) {
    const std::string key = map.to_string() + fmt::format("{}", fmt::join(shape, ","));
    ++result_.compared_layouts;
    auto [entry, is_new] = faults_.try_emplace(key);
    if (is_new) {
      entry->second = target::find_fault(map, shape);
    }
    if (entry->second) {
      report({.kind = LayoutFinding::Kind::Map,
              .op = &op,
              .claim = fmt::format("the thread/value map of {} does not hold each element exactly once", what),
              .facts = {entry->second->to_string(), "map " + map.to_string()}});
    }
    if (map.thread_count() != f_.threads) {
      report({.kind = LayoutFinding::Kind::Map,
              .op = &op,
              .claim = fmt::format("the thread/value map of {} has {} threads, the unit has {}", what,
                                   map.thread_count(), f_.threads),
              .facts = {"map " + map.to_string()}});
    }
  }

  void value_defined(const ir::Op& op, ir::ValueId id) {
    const ir::Value& value = f_.value(id);
    map_covers(op, *value.layout, value.shape,
               value.name.empty() ? fmt::format("value {}", id.index) : "`" + value.name + "`");
  }

  // --- shared vectors and ldmatrix

  [[nodiscard]] std::vector<int64_t> constant_starts(const ir::Region& region) const {
    std::vector<int64_t> starts;
    for (const ir::AxisIndex& axis : region.axes) {
      // Starts that vary move whole tiles; alignment is checked at 0 and the stride of the variable part by the vector
      // rule.
      starts.push_back(f_.exprs.constant_value(axis.lo).value_or(0));
    }
    return starts;
  }

  [[nodiscard]] TileCoord object_coord(const ir::Region& region, const std::vector<int64_t>& starts,
                                       const TileCoord& tile) const {
    TileCoord coord{};
    for (size_t axis = 0; axis < starts.size(); ++axis) {
      coord[axis] = static_cast<int32_t>(starts[axis]);
    }
    for (size_t i = 0; i < region.perm.size(); ++i) {
      coord[region.object_axis(static_cast<int>(i))] += tile[i];
    }
    return coord;
  }

  void shared_vectors(const ir::Op& op, const ir::Region& region, const TvLayout& map, const ir::Access& access) {
    if (region.is_global()) {
      return;
    }
    const ir::SharedObject& object = f_.shared_object(region.shared());
    const int64_t element_bytes = size_bytes(object.element);
    const int64_t width = access.vector_elems * element_bytes;
    const int64_t values = map.value_count();
    ++result_.compared_layouts;
    if (values % access.vector_elems != 0) {
      report(
          {.kind = LayoutFinding::Kind::SharedVector,
           .op = &op,
           .claim = fmt::format("{} values a thread do not divide into vectors of {}", values, access.vector_elems)});
      return;
    }
    if (object.layout->slot_bytes % width != 0 || object.layout->offset_bytes % width != 0) {
      report({.kind = LayoutFinding::Kind::SharedVector,
              .op = &op,
              .object = region.shared(),
              .claim = fmt::format("`{}` starts or repeats at a byte that is no multiple of the {}-byte access",
                                   object.name, width)});
    }
    const ir::SlotAddress address(object);
    const std::vector<int64_t> starts = constant_starts(region);
    for (int64_t thread = 0; thread < map.thread_count(); ++thread) {
      for (int64_t first = 0; first < values; first += access.vector_elems) {
        const int64_t base = address(object_coord(region, starts, map.coord(thread, first)));
        bool is_run = base % width == 0;
        for (int64_t e = 1; e < access.vector_elems && is_run; ++e) {
          is_run = address(object_coord(region, starts, map.coord(thread, first + e))) == base + e * element_bytes;
        }
        if (!is_run) {
          report({.kind = LayoutFinding::Kind::SharedVector,
                  .op = &op,
                  .object = region.shared(),
                  .claim = fmt::format("a {}-byte access of `{}` is not {} contiguous, aligned elements", width,
                                       object.name, access.vector_elems),
                  .facts = {fmt::format("thread {} value {} starts at byte {} of the slot", thread, first, base)}});
          return;
        }
      }
    }
  }

  // Each lane names one row; what the instruction delivers to (lane, register) must be what the value's layout says.
  void ldmatrix(const ir::Op& op, const ir::LoadOp& load) {
    const ir::SharedObject& object = f_.shared_object(load.source.shared());
    const TvLayout& map = layout(load.result);
    const int64_t per_instruction = 2 * load.matrices;
    ++result_.compared_layouts;
    auto wrong = [&](std::string claim, std::vector<std::string> facts) {
      report({.kind = LayoutFinding::Kind::Ldmatrix,
              .op = &op,
              .object = load.source.shared(),
              .claim = std::move(claim),
              .facts = std::move(facts)});
    };
    if (size_bytes(object.element) != 2) {
      wrong(fmt::format("`ldmatrix` moves 16-bit elements, `{}` has {}", object.name, name_of(object.element)), {});
      return;
    }
    if ((load.matrices != 1 && load.matrices != 2 && load.matrices != 4) || map.value_count() % per_instruction != 0) {
      wrong(fmt::format("{} values a thread do not divide into `ldmatrix.x{}`", map.value_count(), load.matrices), {});
      return;
    }
    const ir::SlotAddress address(object);
    const std::vector<int64_t> starts = constant_starts(load.source);
    const int64_t base_bytes = object.layout->offset_bytes;
    auto byte_of = [&](int64_t thread, int64_t value) {
      return address(object_coord(load.source, starts, map.coord(thread, value)));
    };
    const std::array<RowHolder, 8> holders = row_holders(load.transposed);
    for (int64_t warp = 0; warp < map.thread_count(); warp += kWarpThreads) {
      for (int64_t matrix_value = 0; matrix_value < map.value_count(); matrix_value += 2) {
        std::array<int64_t, 8> row_start{};
        for (int row = 0; row < 8; ++row) {
          row_start[row] = byte_of(warp + holders[row].lane, matrix_value + holders[row].value);
          if ((row_start[row] + base_bytes) % kMatrixRowBytes != 0) {
            wrong(fmt::format("a row of an 8x8 matrix of `{}` does not start on a 16-byte boundary", object.name),
                  {fmt::format("warp {} value {} row {} starts at byte {}", warp / kWarpThreads, matrix_value, row,
                               row_start[row])});
            return;
          }
        }
        for (int lane = 0; lane < kWarpThreads; ++lane) {
          for (int v = 0; v < 2; ++v) {
            const target::LdmatrixElement element = target::ldmatrix_element(lane, v, load.transposed);
            const int64_t delivered = row_start[element.row] + element.column * size_bytes(object.element);
            const int64_t wanted = byte_of(warp + lane, matrix_value + v);
            if (delivered != wanted) {
              const TileCoord coord = map.coord(warp + lane, matrix_value + v);
              wrong(fmt::format("`ldmatrix{}` does not deliver `{}` in the layout that its use needs",
                                load.transposed ? ".trans" : "", object.name),
                    {fmt::format("thread {} value {} should hold element {}, byte {} of the slot", warp + lane,
                                 matrix_value + v, text(coord, load.source.perm.size()), wanted),
                     fmt::format("the instruction gives it byte {}", delivered)});
              return;
            }
          }
        }
      }
    }
  }

  // The lane and register that hold column 0 of each row of a matrix, by the hardware's map.
  struct RowHolder {
    int lane = 0;
    int value = 0;
  };
  static std::array<RowHolder, 8> row_holders(bool transposed) {
    std::array<RowHolder, 8> out{};
    for (int lane = 0; lane < kWarpThreads; ++lane) {
      for (int v = 0; v < 2; ++v) {
        const target::LdmatrixElement element = target::ldmatrix_element(lane, v, transposed);
        if (element.column == 0) {
          out[element.row] = {lane, v};
        }
      }
    }
    return out;
  }

  // --- ops

  void rule(const ir::Op&, const ir::ForOp&) {}
  void rule(const ir::Op&, const ir::TilesOp&) {}
  void rule(const ir::Op&, const ir::IfOp&) {}
  void rule(const ir::Op&, const ir::CommitOp&) {}
  void rule(const ir::Op&, const ir::DrainOp&) {}
  void rule(const ir::Op&, const ir::SyncOp&) {}
  void rule(const ir::Op&, const ir::CheckOp&) {}
  void rule(const ir::Op&, const ir::RedOp&) {}
  void rule(const ir::Op& op, const ir::CopyOp& copy) {
    ++result_.compared_layouts;
    if (copy.atom.kind == target::CopyKind::CpAsync && copy.fill != 0) {
      report({.kind = LayoutFinding::Kind::Fragment,
              .op = &op,
              .claim = fmt::format("`cp.async` fills pads with zeros, the copy asks for {}", copy.fill)});
    }
    map_covers(op, *copy.map, copy.source.tile_shape(), "the copy");
    shared_vectors(op, copy.source, *copy.map, copy.access);
    shared_vectors(op, copy.destination, *copy.map, copy.access);
  }
  void rule(const ir::Op& op, const ir::LoadOp& load) {
    value_defined(op, load.result);
    if (load.atom.kind == target::CopyKind::Ldmatrix) {
      ldmatrix(op, load);
    } else {
      shared_vectors(op, load.source, layout(load.result), load.access);
    }
  }
  void rule(const ir::Op& op, const ir::StoreOp& store) {
    shared_vectors(op, store.destination, layout(store.value), store.access);
  }

  void rule(const ir::Op& op, const ir::MmaOp& mma) {
    value_defined(op, mma.result);
    const auto* a = std::get_if<ir::ValueId>(&mma.a);
    const auto* b = std::get_if<ir::ValueId>(&mma.b);
    if (a == nullptr || b == nullptr) {
      report({.kind = LayoutFinding::Kind::Fragment, .op = &op, .claim = "the operands are not in registers"});
      return;
    }
    const ir::Value& result = f_.value(mma.result);
    const target::MmaAtom* atom =
        f_.machine->find_mma(mma.atom, f_.value(*a).element, f_.value(*b).element, result.element);
    if (atom == nullptr) {
      report({.kind = LayoutFinding::Kind::Fragment,
              .op = &op,
              .claim =
                  fmt::format("`{}` does not multiply {} by {} into {} on {}", mma.atom, name_of(f_.value(*a).element),
                              name_of(f_.value(*b).element), name_of(result.element), f_.machine->name)});
      return;
    }
    auto tiling = target::tile_mma(*atom, result.shape[0], result.shape[1], f_.value(*a).shape[1], f_.threads,
                                   mma.warps_m, mma.warps_n);
    if (!tiling) {
      report({.kind = LayoutFinding::Kind::Fragment, .op = &op, .claim = tiling.error().message});
      return;
    }
    fragment_is(op, *a, tiling->a, "first operand");
    fragment_is(op, *b, tiling->b, "second operand");
    fragment_is(op, mma.result, tiling->c, "result");
    if (mma.c.is_valid()) {
      fragment_is(op, mma.c, tiling->c, "accumulator");
    }
  }

  void fragment_is(const ir::Op& op, ir::ValueId id, const TvLayout& wanted, std::string_view role) {
    ++result_.compared_layouts;
    const TvLayout& have = layout(id);
    if (target::same_map(have, wanted)) {
      return;
    }
    LayoutFinding finding;
    finding.kind = LayoutFinding::Kind::Fragment;
    finding.op = &op;
    finding.claim = fmt::format("the {} `{}` is not in the layout that the instruction reads", role, f_.value(id).name);
    const size_t rank = f_.value(id).shape.size();
    for (int64_t thread = 0; thread < std::min(have.thread_count(), wanted.thread_count()); ++thread) {
      for (int64_t value = 0; value < std::min(have.value_count(), wanted.value_count()); ++value) {
        if (have.coord(thread, value) != wanted.coord(thread, value)) {
          finding.facts.push_back(fmt::format("thread {} register {} holds element {}, the instruction takes it for {}",
                                              thread, value, text(have.coord(thread, value), rank),
                                              text(wanted.coord(thread, value), rank)));
          report(std::move(finding));
          return;
        }
      }
    }
    finding.facts.push_back(fmt::format("{} values a thread instead of {}", have.value_count(), wanted.value_count()));
    report(std::move(finding));
  }

  void rule(const ir::Op& op, const ir::ElementwiseOp& e) { value_defined(op, e.result); }
  void rule(const ir::Op& op, const ir::ConstantOp& c) { value_defined(op, c.result); }
  void rule(const ir::Op& op, const ir::IotaOp& i) { value_defined(op, i.result); }
  void rule(const ir::Op& op, const ir::ExprOp& e) { value_defined(op, e.result); }
  void rule(const ir::Op& op, const ir::ScalarArgumentOp& s) { value_defined(op, s.result); }
  void rule(const ir::Op& op, const ir::RelayoutOp& r) { value_defined(op, r.result); }

  // Elements that one thread holds of a tile, as (linear element) -> true.
  [[nodiscard]] std::vector<TileCoord> held_by(const TvLayout& map, int64_t thread) const {
    std::vector<TileCoord> out;
    for (int64_t value = 0; value < map.value_count(); ++value) {
      out.push_back(map.coord(thread, value));
    }
    std::ranges::sort(out);
    return out;
  }

  // A broadcast moves nothing between threads: each thread must hold what its result elements repeat.
  void rule(const ir::Op& op, const ir::BroadcastOp& b) {
    value_defined(op, b.result);
    ++result_.compared_layouts;
    const TvLayout& from = layout(b.operand);
    const TvLayout& to = layout(b.result);
    const std::vector<int64_t>& from_shape = f_.value(b.operand).shape;
    for (int64_t thread = 0; thread < std::min(from.thread_count(), to.thread_count()); ++thread) {
      const std::vector<TileCoord> held = held_by(from, thread);
      for (int64_t value = 0; value < to.value_count(); ++value) {
        const TileCoord result_coord = to.coord(thread, value);
        TileCoord wanted{};
        for (size_t d = 0; d < from_shape.size(); ++d) {
          wanted[d] = from_shape[d] == 1 ? 0 : result_coord[b.axis_map[d]];
        }
        if (!std::ranges::binary_search(held, wanted)) {
          report({.kind = LayoutFinding::Kind::Fragment,
                  .op = &op,
                  .claim = fmt::format("a broadcast of `{}` needs an element that its thread does not hold",
                                       f_.value(b.operand).name),
                  .facts = {fmt::format("thread {} needs element {}", thread, text(wanted, from_shape.size()))}});
          return;
        }
      }
    }
  }

  // A reduction combines inside a warp: every element of a result's group must lie in the warp of the threads that hold
  // it, once (replicated threads hold equal copies, which count once).
  void rule(const ir::Op& op, const ir::ReduceOp& r) {
    value_defined(op, r.result);
    ++result_.compared_layouts;
    const TvLayout& from = layout(r.operand);
    const TvLayout& to = layout(r.result);
    const std::vector<int64_t>& shape = f_.value(r.operand).shape;
    const int64_t group_size = shape[r.axis] / r.keep;
    auto group_of = [&](const TileCoord& c) {
      TileCoord key{};
      size_t d = 0;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (static_cast<int>(axis) != r.axis) {
          key[d++] = c[axis];
        }
      }
      if (r.keep > 1) {
        key[d] = static_cast<int32_t>((c[r.axis] / r.group_stride) % r.keep);
      }
      return key;
    };
    for (int64_t warp = 0; warp < from.thread_count(); warp += kWarpThreads) {
      std::map<TileCoord, std::vector<int32_t>> groups;
      const int64_t end = std::min<int64_t>(warp + kWarpThreads, from.thread_count());
      for (int64_t thread = warp; thread < end; ++thread) {
        for (int64_t value = 0; value < from.value_count(); ++value) {
          const TileCoord c = from.coord(thread, value);
          groups[group_of(c)].push_back(c[r.axis]);
        }
      }
      for (auto& [key, members] : groups) {
        std::ranges::sort(members);
        members.erase(std::unique(members.begin(), members.end()), members.end());
      }
      for (int64_t thread = warp; thread < std::min(end, to.thread_count()); ++thread) {
        for (int64_t value = 0; value < to.value_count(); ++value) {
          const TileCoord key = to.coord(thread, value);
          auto found = groups.find(key);
          const int64_t have = found == groups.end() ? 0 : static_cast<int64_t>(found->second.size());
          if (have != group_size) {
            report({.kind = LayoutFinding::Kind::Fragment,
                    .op = &op,
                    .claim = fmt::format("a reduction of `{}` inside each warp does not see all its elements",
                                         f_.value(r.operand).name),
                    .facts = {fmt::format("thread {} combines {} of {} elements of result {}", thread, have, group_size,
                                          text(key, f_.value(r.result).shape.size()))}});
            return;
          }
        }
      }
    }
  }

  // --- storage and resources

  void storage() {
    for (size_t i = 0; i < f_.shared.size(); ++i) {
      const ir::SharedObject& object = f_.shared[i];
      const ir::SharedId id(static_cast<uint32_t>(i));
      address_map(object, id);
      for (size_t j = i + 1; j < f_.shared.size(); ++j) {
        overlap(object, id, f_.shared[j], ir::SharedId(static_cast<uint32_t>(j)));
      }
    }
  }

  [[nodiscard]] static int64_t end_byte(const ir::SharedObject& object) {
    return object.layout->offset_bytes + std::max(1, object.ring) * object.layout->slot_bytes;
  }

  void overlap(const ir::SharedObject& a, ir::SharedId a_id, const ir::SharedObject& b, ir::SharedId b_id) {
    ++result_.compared_layouts;
    const bool declared =
        std::ranges::find(a.aliases, b_id) != a.aliases.end() || std::ranges::find(b.aliases, a_id) != b.aliases.end();
    const bool meets = a.layout->offset_bytes < end_byte(b) && b.layout->offset_bytes < end_byte(a);
    if (meets && !declared) {
      report({.kind = LayoutFinding::Kind::Storage,
              .object = b_id,
              .claim = fmt::format("`{}` and `{}` lie over the same bytes and are no declared aliases", a.name, b.name),
              .facts = {fmt::format("`{}` has bytes [{}, {}), `{}` has [{}, {})", a.name, a.layout->offset_bytes,
                                    end_byte(a), b.name, b.layout->offset_bytes, end_byte(b))}});
    }
  }

  // Injective, and inside the slot.
  void address_map(const ir::SharedObject& object, ir::SharedId id) {
    ++result_.compared_layouts;
    const ir::SlotAddress address(object);
    const int64_t element_bytes = size_bytes(object.element);
    int64_t elements = 1;
    for (int64_t extent : object.shape) {
      elements *= extent;
    }
    std::unordered_map<int64_t, int64_t> holder;
    holder.reserve(static_cast<size_t>(elements));
    auto coord_of = [&](int64_t index) {
      TileCoord c{};
      for (int axis = static_cast<int>(object.shape.size()) - 1; axis >= 0; --axis) {
        c[axis] = static_cast<int32_t>(index % object.shape[axis]);
        index /= object.shape[axis];
      }
      return c;
    };
    const size_t rank = object.shape.size();
    for (int64_t index = 0; index < elements; ++index) {
      const int64_t byte = address(coord_of(index));
      if (byte < 0 || byte + element_bytes > object.layout->slot_bytes) {
        report({.kind = LayoutFinding::Kind::Storage,
                .object = id,
                .claim = fmt::format("`{}` has an element outside its slot of {} bytes", object.name,
                                     object.layout->slot_bytes),
                .facts = {fmt::format("element {} lies at byte {}", text(coord_of(index), rank), byte)}});
        return;
      }
      auto [entry, is_new] = holder.try_emplace(byte / element_bytes, index);
      if (!is_new || byte % element_bytes != 0) {
        report({.kind = LayoutFinding::Kind::Storage,
                .object = id,
                .claim = fmt::format("two elements of `{}` share a byte", object.name),
                .facts = {fmt::format("elements {} and {} both lie at byte {}", text(coord_of(entry->second), rank),
                                      text(coord_of(index), rank), byte)}});
        return;
      }
    }
  }

  void resources() {
    auto limit = [&](int64_t have, int64_t most, std::string_view what) {
      ++result_.compared_resources;
      if (have > most) {
        report({.kind = LayoutFinding::Kind::Resource,
                .claim = fmt::format("{} {} on {}, the limit is {}", have, what, f_.machine->name, most)});
      }
    };
    limit(f_.shared_bytes, f_.machine->max_shared_bytes_per_block, "bytes of shared memory a block");
    limit(f_.threads, f_.machine->max_threads_per_block, "threads a block");
    ++result_.compared_resources;
    if (f_.threads % f_.machine->warp_threads != 0 || f_.threads <= 0) {
      report(
          {.kind = LayoutFinding::Kind::Resource, .claim = fmt::format("{} threads are not whole warps", f_.threads)});
    }
    for (const ir::SharedObject& object : f_.shared) {
      ++result_.compared_resources;
      if (end_byte(object) > f_.shared_bytes) {
        report({.kind = LayoutFinding::Kind::Resource,
                .claim = fmt::format("`{}` ends at byte {}, the block has {} bytes of shared memory", object.name,
                                     end_byte(object), f_.shared_bytes)});
      }
    }
    if (f_.min_blocks > 1) {
      limit(f_.min_blocks * f_.shared_bytes, f_.machine->shared_bytes_per_sm,
            "bytes of shared memory an SM for the asked blocks");
      limit(int64_t{f_.min_blocks} * f_.threads, f_.machine->max_threads_per_sm, "threads an SM for the asked blocks");
    }
    // Registers that the widest value alone occupies: more cannot be held, whatever the compiler does.
    for (const ir::Value& value : f_.values) {
      if (value.layout && !value.shape.empty()) {
        limit(value.layout->value_count() * size_bytes(value.element) / 4, f_.machine->max_registers_per_thread,
              "registers a thread for one tile");
      }
    }
  }

  const ir::Function& f_;
  LayoutResult result_;
  std::map<std::string, std::optional<target::TvFault>> faults_;
};

}  // namespace

LayoutResult check_layouts(const ir::Function& function) {
  return LayoutRules(function).run();
}

}  // namespace tw::verify
