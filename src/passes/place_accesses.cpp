// SPDX-License-Identifier: Apache-2.0
#include "passes/place_accesses.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "passes/memory.h"
#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::Op;
using ir::Region;
using target::TvLayout;
using target::TvMode;

constexpr int kMatrixRows = 8;

class AccessPlacement {
 public:
  AccessPlacement(ir::Function& function, PassContext& context)
      : function_(function), context_(context), facts_(function) {}

  Status run_block(ir::Block& block) {
    for (Op& op : block) {
      Status status = place(op);
      auto* branch = std::get_if<ir::IfOp>(&op.body);
      bool is_first = true;
      for_each_block(op, [&](ir::Block& inner) {
        if (!status) {
          return;
        }
        const size_t mark = facts_.mark();
        if (branch != nullptr && is_first) {
          facts_.add_condition(branch->condition);
        }
        status = run_block(inner);
        facts_.restore(mark);
        is_first = false;
      });
      if (!status) {
        return status;
      }
    }
    return {};
  }

 private:
  // Consecutive registers that are consecutive along `axis`, every run aligned to its length.
  static int run_length(const TvLayout& layout, int axis, int limit) {
    int64_t run = 1;
    size_t next = 0;
    for (; next < layout.values.size(); ++next) {
      const TvMode& mode = layout.values[next];
      if (mode.extent == 1) {
        continue;
      }
      if (mode.axis != axis || mode.stride != run) {
        break;
      }
      run *= mode.extent;
    }
    int length = limit;
    auto fits = [&](int candidate) {
      if (run % candidate != 0) {
        return false;
      }
      auto aligned = [&](const TvMode& mode) {
        return mode.axis != axis || mode.extent == 1 || mode.stride % candidate == 0;
      };
      return std::ranges::all_of(layout.threads, aligned) &&
             std::all_of(layout.values.begin() + static_cast<std::ptrdiff_t>(next), layout.values.end(), aligned);
    };
    while (length > 1 && !fits(length)) {
      length /= 2;
    }
    return length;
  }

  std::vector<bool> guards_of(const Region& region) const {
    std::vector<bool> guards(region.axes.size(), false);
    if (!region.is_global()) {
      return guards;
    }
    const ir::Tensor& tensor = function_.tensor(region.tensor());
    for (size_t i = 0; i < region.axes.size(); ++i) {
      const ir::AxisIndex& axis = region.axes[i];
      const bool inside =
          facts_.range(axis.lo).lo >= 0 && facts_.fits(axis.lo, axis.is_point() ? 1 : axis.extent, tensor.extents[i]);
      guards[i] = !inside;
    }
    return guards;
  }

  Status refuse(const Op& op, target::CopyAtom atom, const std::string& why) {
    return fail(context_.sink.report(diag::codes::CopyAtomUnsupported{}, op.span, target::to_string(atom), why).emit());
  }

  Status place_plain(const Op& op, const Region& region, const TvLayout& layout, target::CopyAtom atom,
                     ir::Access& access) {
    access.guards = guards_of(region);
    const int axis = contiguous_tile_axis(function_, region);
    access.vector_elems = axis < 0 ? 1 : run_length(layout, axis, max_vector_elems(function_, facts_, region, axis));
    const int size = size_bytes(element_of(function_, region));
    if (atom.kind == target::CopyKind::Vector) {
      if (access.vector_elems * size < atom.bytes) {
        return refuse(op, atom,
                      "layout and alignment allow only " + std::to_string(access.vector_elems * size) + " bytes on `" +
                          name_of(function_, region) + "`");
      }
      access.vector_elems = atom.bytes / size;
    }
    return {};
  }

  Status place_copy(const Op& op, ir::CopyOp& copy) {
    const Region& outer = copy.source.is_global() ? copy.source : copy.destination;
    const Region& inner = copy.source.is_global() ? copy.destination : copy.source;
    copy.access.guards = guards_of(outer);
    const int axis = contiguous_tile_axis(function_, outer);
    const int limit = copy.atom.bytes > 0 ? copy.atom.bytes : kMaxAccessBytes;
    int elems = 1;
    if (axis >= 0) {
      elems = std::min(max_vector_elems(function_, facts_, outer, axis, limit),
                       max_vector_elems(function_, facts_, inner, axis, limit));
      elems = run_length(*copy.map, axis, elems);
    }
    copy.access.vector_elems = elems;
    const int bytes = elems * size_bytes(element_of(function_, outer));
    if ((copy.atom.bytes > 0 && bytes != copy.atom.bytes) ||
        (copy.atom.kind == target::CopyKind::CpAsync && bytes < 4)) {
      return refuse(op, copy.atom, "layout and alignment allow only " + std::to_string(bytes) + " bytes");
    }
    return {};
  }

  // The fragment of mma operands: registers in pairs along one axis, lanes (4 pairs along it) x (8 along the other).
  Status place_ldmatrix(const Op& op, ir::LoadOp& load) {
    const Region& region = load.source;
    const TvLayout layout = function_.value(load.result).layout->normalized();
    load.access.guards = guards_of(region);
    load.access.vector_elems = 1;
    if (region.is_global()) {
      return refuse(op, load.atom, "it reads shared memory only");
    }
    if (size_bytes(element_of(function_, region)) != 2 || region.perm.size() != 2) {
      return refuse(op, load.atom, "it moves 8x8 matrices of 16-bit elements");
    }
    const std::vector<TvMode>& threads = layout.threads;
    const bool has_pairs = !layout.values.empty() && layout.values[0].stride == 1 && layout.values[0].extent % 2 == 0;
    const int pair_axis = has_pairs ? layout.values[0].axis : TvMode::kReplicated;
    const int lane_axis = pair_axis == 0 ? 1 : 0;
    const bool is_fragment = has_pairs && pair_axis != TvMode::kReplicated && layout.values[0].extent == 2 &&
                             threads.size() >= 2 && threads[0] == TvMode{4, pair_axis, 2} &&
                             threads[1].axis == lane_axis && threads[1].stride == 1 &&
                             threads[1].extent % kMatrixRows == 0;
    if (!is_fragment) {
      return refuse(op, load.atom, "the tile's layout is no mma operand: " + layout.to_string());
    }
    const int contiguous = contiguous_tile_axis(function_, region);
    if (contiguous < 0 || max_vector_elems(function_, facts_, region, contiguous) < kMatrixRows) {
      return refuse(op, load.atom,
                    "rows of 8 elements of `" + name_of(function_, region) + "` are not 16-byte aligned");
    }
    load.transposed = contiguous != pair_axis;
    const int64_t pairs = function_.value(load.result).layout->value_count() / 2;
    load.matrices = pairs % 4 == 0 ? 4 : (pairs % 2 == 0 ? 2 : 1);
    return {};
  }

  Status place(Op& op) {
    return std::visit(ir::Overloaded{[&](ir::CopyOp& copy) { return place_copy(op, copy); },
                                     [&](ir::LoadOp& load) {
                                       return load.atom.kind == target::CopyKind::Ldmatrix
                                                  ? place_ldmatrix(op, load)
                                                  : place_plain(op, load.source, *function_.value(load.result).layout,
                                                                load.atom, load.access);
                                     },
                                     [&](ir::StoreOp& store) {
                                       return place_plain(op, store.destination, *function_.value(store.value).layout,
                                                          store.atom, store.access);
                                     },
                                     [&](ir::RedOp& red) {
                                       red.access.guards = guards_of(red.destination);
                                       red.access.vector_elems = 1;
                                       return Status{};
                                     },
                                     [](auto&) { return Status{}; }},
                      op.body);
  }

  ir::Function& function_;
  PassContext& context_;
  Facts facts_;
};

}  // namespace

Status place_accesses(ir::Function& function, PassContext& context) {
  return AccessPlacement(function, context).run_block(function.body);
}

}  // namespace tw::passes
