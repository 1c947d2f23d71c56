// SPDX-License-Identifier: Apache-2.0
#include "passes/select_atoms.h"

#include <algorithm>

#include "base/check.h"
#include "passes/memory.h"
#include "passes/rewrite.h"

namespace tw::passes {
namespace {

using ir::Op;
using ir::Region;
using ir::ValueId;
using target::MmaAtom;
using target::MmaKind;

class AtomSelection {
 public:
  AtomSelection(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  Status run_block(ir::Block& block) {
    ir::Block out;
    for (Op& op : block) {
      Status status;
      for_each_block(op, [&](ir::Block& inner) {
        if (status) {
          status = run_block(inner);
        }
      });
      if (!status) {
        return status;
      }
      if (std::holds_alternative<ir::MmaOp>(op.body)) {
        if (Status lowered = lower_mma(op, out); !lowered) {
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
  [[nodiscard]] std::vector<int64_t> shape_of(const ir::MmaOperand& operand) const {
    const auto* value = std::get_if<ValueId>(&operand);
    return value != nullptr ? function_.value(*value).shape : std::get<Region>(operand).tile_shape();
  }
  [[nodiscard]] ElementType element_of_operand(const ir::MmaOperand& operand) const {
    const auto* value = std::get_if<ValueId>(&operand);
    return value != nullptr ? function_.value(*value).element : element_of(function_, std::get<Region>(operand));
  }

  // All grids that tile_mma accepts, the one with the least operand traffic first.
  bool choose_grid(const MmaAtom& atom, int64_t m, int64_t n, int64_t k, ir::MmaOp& mma) const {
    const int64_t units =
        atom.kind == MmaKind::Fma ? function_.threads : function_.threads / function_.machine->warp_threads;
    int64_t best = -1;
    for (int64_t gm = 1; gm <= units; ++gm) {
      if (units % gm != 0) {
        continue;
      }
      const int64_t gn = units / gm;
      if (!target::tile_mma(atom, m, n, k, function_.threads, static_cast<int>(gm), static_cast<int>(gn))) {
        continue;
      }
      const int64_t traffic = m / gm + n / gn;
      if (best < 0 || traffic < best) {
        best = traffic;
        mma.warps_m = static_cast<int>(gm);
        mma.warps_n = static_cast<int>(gn);
      }
    }
    return best >= 0;
  }

  Status choose_atom(const Op& op, ir::MmaOp& mma, const MmaAtom*& chosen) {
    const auto a = shape_of(mma.a);
    const auto b = shape_of(mma.b);
    const ElementType a_type = element_of_operand(mma.a);
    const ElementType b_type = element_of_operand(mma.b);
    const ElementType c_type = function_.value(mma.result).element;
    std::vector<std::string> names{mma.atom};
    if (mma.atom.empty()) {
      names.clear();
      for (const MmaAtom& atom : function_.machine->mma_atoms) {
        if (std::ranges::find(names, atom.name) == names.end()) {
          names.emplace_back(atom.name);
        }
      }
    }
    std::string why;
    bool is_known = false;
    for (const std::string& name : names) {
      const MmaAtom* atom = function_.machine->find_mma(name, a_type, b_type, c_type);
      if (atom == nullptr) {
        continue;
      }
      is_known = true;
      if (mma.warps_m > 0 && mma.warps_n > 0) {
        auto tiling = target::tile_mma(*atom, a[0], b[0], a[1], function_.threads, mma.warps_m, mma.warps_n);
        if (tiling) {
          chosen = atom;
          break;
        }
        why = tiling.error().message;
      } else if (choose_grid(*atom, a[0], b[0], a[1], mma)) {
        chosen = atom;
        break;
      } else {
        why = "no grid of the unit's " + std::to_string(function_.threads) + " threads fits";
      }
    }
    if (chosen != nullptr) {
      mma.atom = chosen->name;
      return {};
    }
    // The front end refuses instructions that the target does not have for these element types.
    TW_CHECK_MSG(is_known, mma.atom);
    const std::string name = mma.atom.empty() ? "mma" : mma.atom;
    return fail(context_.sink.report(diag::codes::MmaTileDoesNotDivide{}, op.span, a[0], b[0], a[1], name, why).emit());
  }

  ValueId load(const Op& like, const Region& region, const MmaAtom& atom, ir::Block& out) {
    ir::Value value;
    value.name = name_of(function_, region);
    value.element = element_of(function_, region);
    value.shape = region.tile_shape();
    value.span = like.span;
    ir::LoadOp load;
    load.source = region;
    load.result = function_.add_value(std::move(value));
    if (!region.is_global() && atom.kind == MmaKind::Mma && size_bytes(element_of(function_, region)) == 2 &&
        function_.machine->has(target::CopyKind::Ldmatrix)) {
      load.atom.kind = target::CopyKind::Ldmatrix;
    }
    ValueId result = load.result;
    out.push_back(make_op(function_, like.span, std::move(load)));
    return result;
  }

  Region slice(Region region, int64_t begin, int64_t extent) {
    ir::AxisIndex& axis = region.axes[region.object_axis(1)];
    axis.lo = function_.exprs.add(axis.lo, function_.exprs.constant(begin));
    axis.extent = extent;
    return region;
  }

  Status lower_mma(Op& op, ir::Block& out) {
    auto mma = std::get<ir::MmaOp>(op.body);
    const MmaAtom* atom = nullptr;
    if (Status status = choose_atom(op, mma, atom); !status) {
      return status;
    }
    const auto* a = std::get_if<Region>(&mma.a);
    const auto* b = std::get_if<Region>(&mma.b);
    const int64_t tile_k = shape_of(mma.a)[1];
    int64_t slice_k = tile_k;
    if (a != nullptr && b != nullptr) {
      slice_k = atom->kind == MmaKind::Mma ? atom->k : (tile_k % 4 == 0 ? 4 : 1);
    }
    // The operands of slice i + 1 are loaded before slice i is multiplied, so that the loads hide behind the product.
    // Scalar products have more registers to lose than time to win by that.
    const bool looks_ahead = atom->kind == MmaKind::Mma;
    std::vector<ir::MmaOp> parts(static_cast<size_t>(tile_k / slice_k), mma);
    auto load_part = [&](size_t i) {
      const auto begin = static_cast<int64_t>(i) * slice_k;
      if (a != nullptr) {
        parts[i].a = load(op, slice(*a, begin, slice_k), *atom, out);
      }
      if (b != nullptr) {
        parts[i].b = load(op, slice(*b, begin, slice_k), *atom, out);
      }
    };
    if (looks_ahead) {
      load_part(0);
    }
    ValueId c = mma.c;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool is_last = i + 1 == parts.size();
      ir::MmaOp& part = parts[i];
      if (!looks_ahead) {
        load_part(i);
      } else if (!is_last) {
        load_part(i + 1);
      }
      if (!is_last) {
        ir::Value partial = function_.value(mma.result);
        part.result = function_.add_value(std::move(partial));
      }
      part.c = c;
      c = part.result;
      if (is_last) {
        op.body = std::move(part);
        out.push_back(std::move(op));
      } else {
        out.push_back(make_op(function_, op.span, std::move(part)));
      }
    }
    return {};
  }

  ir::Function& function_;
  PassContext& context_;
};

}  // namespace

Status select_atoms(ir::Function& function, PassContext& context) {
  const target::Machine& machine = *function.machine;
  // The front end refuses other numbers.
  TW_CHECK(function.threads > 0 && function.threads % machine.warp_threads == 0 &&
           function.threads <= machine.max_threads_per_block);
  return AtomSelection(function, context).run_block(function.body);
}

}  // namespace tw::passes
