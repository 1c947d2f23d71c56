// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/global_access.h"

#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <optional>

namespace tw::verify {
namespace {

using target::TileCoord;
using target::TvLayout;

constexpr int64_t kCandidateSizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 31, 33, 40, 63, 65, 72, 100, 129, 4095};

// The largest divisor that the assumptions give a size: gcd-style, from conjuncts `S % m == 0`.
int64_t assumed_divisor(const ir::Function& f, ir::ExprId symbol) {
  int64_t divisor = 1;
  for (const ir::Assumption& assumption : f.assumptions) {
    std::vector<ir::ExprId> todo;
    if (assumption.condition.is_valid()) {
      todo.push_back(assumption.condition);
    }
    while (!todo.empty()) {
      const ir::ExprNode node = f.exprs.node(todo.back());
      todo.pop_back();
      if (node.kind == ir::ExprKind::And) {
        todo.push_back(node.operands[0]);
        todo.push_back(node.operands[1]);
      }
      if (node.kind != ir::ExprKind::Eq) {
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        const ir::ExprNode& mod = f.exprs.node(node.operands[side]);
        if (mod.kind == ir::ExprKind::Mod && mod.operands[0] == symbol &&
            f.exprs.is_constant(node.operands[1 - side], 0)) {
          if (auto m = f.exprs.constant_value(mod.operands[1]); m && *m > 0) {
            divisor = std::lcm(divisor, *m);
          }
        }
      }
    }
  }
  return divisor;
}

// A number that divides `expr` for all admitted values; 0 when the expression is always 0.
int64_t known_divisor(const ir::Function& f, ir::ExprId expr) {
  const ir::ExprNode node = f.exprs.node(expr);
  constexpr int64_t kLargest = int64_t{1} << 30;
  switch (node.kind) {
    case ir::ExprKind::Const:
      return node.value < 0 ? -node.value : node.value;
    case ir::ExprKind::Add:
    case ir::ExprKind::Sub:
      return std::gcd(known_divisor(f, node.operands[0]), known_divisor(f, node.operands[1]));
    case ir::ExprKind::Mul: {
      const int64_t a = known_divisor(f, node.operands[0]);
      const int64_t b = known_divisor(f, node.operands[1]);
      return a != 0 && b > kLargest / a ? std::max(a, b) : a * b;
    }
    case ir::ExprKind::Min:
    case ir::ExprKind::Max:
      return std::gcd(known_divisor(f, node.operands[0]), known_divisor(f, node.operands[1]));
    case ir::ExprKind::Select:
      return std::gcd(known_divisor(f, node.operands[1]), known_divisor(f, node.operands[2]));
    case ir::ExprKind::Symbol:
      return assumed_divisor(f, expr);
    default:
      return 1;
  }
}

struct GlobalSide {
  const ir::Region* region = nullptr;
  const TvLayout* map = nullptr;
  const ir::Access* access = nullptr;
};

std::optional<GlobalSide> global_side(const ir::Function& f, const ir::Op& op) {
  return std::visit(
      ir::Overloaded{
          [](const auto&) { return std::optional<GlobalSide>(); },
          [&](const ir::CopyOp& copy) {
            const ir::Region& region = copy.source.is_global() ? copy.source : copy.destination;
            return region.is_global() ? std::optional(GlobalSide{&region, &*copy.map, &copy.access}) : std::nullopt;
          },
          [&](const ir::LoadOp& load) {
            return load.source.is_global()
                       ? std::optional(GlobalSide{&load.source, &*f.value(load.result).layout, &load.access})
                       : std::nullopt;
          },
          [&](const ir::StoreOp& store) {
            return store.destination.is_global()
                       ? std::optional(GlobalSide{&store.destination, &*f.value(store.value).layout, &store.access})
                       : std::nullopt;
          },
          [&](const ir::RedOp& red) {
            return red.destination.is_global()
                       ? std::optional(GlobalSide{&red.destination, &*f.value(red.value).layout, &red.access})
                       : std::nullopt;
          },
      },
      op.body);
}

class GlobalVectors {
 public:
  explicit GlobalVectors(const ir::Function& function) : f_(function) {}

  GlobalResult run() {
    ir::for_each_op(f_.body, [&](const ir::Op& op) {
      if (auto side = global_side(f_, op)) {
        ++result_.compared;
        if (side->access->vector_elems > 1) {
          check(op, *side);
        }
      }
    });
    return std::move(result_);
  }

 private:
  void report(const ir::Op& op, const GlobalSide& side, std::string claim, std::vector<std::string> facts,
              std::map<ir::SymbolId, int64_t> sizes) {
    result_.findings.push_back({&op, side.region->tensor(), std::move(claim), std::move(facts), std::move(sizes)});
  }

  void check(const ir::Op& op, const GlobalSide& side) {
    const ir::Tensor& tensor = f_.tensor(side.region->tensor());
    const int64_t width = side.access->vector_elems;
    auto axis = vector_axis(op, side, width);
    if (!axis) {
      return;
    }
    if (!f_.exprs.is_constant(tensor.strides[*axis], 1)) {
      report(op, side,
             fmt::format("a vector of {} elements runs along axis {} of `{}`, whose stride is {}", width, *axis,
                         tensor.name, f_.exprs.to_string(tensor.strides[*axis])),
             {}, find_sizes(tensor.strides[*axis], 0));
      return;
    }
    for (size_t other = 0; other < tensor.strides.size(); ++other) {
      if (static_cast<int>(other) != *axis && !only_zero(side.region->axes[other], tensor.extents[other])) {
        must_divide(op, side, width, tensor.strides[other],
                    fmt::format("the stride of axis {} of `{}`, {} elements,", other, tensor.name,
                                f_.exprs.to_string(tensor.strides[other])));
      }
    }
    must_divide(op, side, width, side.region->axes[*axis].lo,
                fmt::format("the start of the slice of `{}` along axis {}, {},", tensor.name, *axis,
                            f_.exprs.to_string(side.region->axes[*axis].lo)));
    if (side.access->guards[*axis]) {
      must_divide(op, side, width, tensor.extents[*axis],
                  fmt::format("the extent {} of `{}` along axis {}, where one comparison guards the vector,",
                              f_.exprs.to_string(tensor.extents[*axis]), tensor.name, *axis));
    }
  }

  [[nodiscard]] bool only_zero(const ir::AxisIndex& index, ir::ExprId extent) const {
    return f_.exprs.is_constant(index.lo, 0) && (index.extent <= 1 || f_.exprs.is_constant(extent, 1));
  }

  // The object axis along which the elements of each vector follow each other; reported when there is none.
  std::optional<int> vector_axis(const ir::Op& op, const GlobalSide& side, int64_t width) {
    const int64_t values = side.map->value_count();
    if (values % width != 0) {
      report(op, side, fmt::format("{} values a thread do not divide into vectors of {}", values, width), {}, {});
      return std::nullopt;
    }
    const size_t rank = side.region->perm.size();
    std::optional<int> tile_axis;
    for (int64_t first = 0; first < values; first += width) {
      for (int64_t e = 1; e < width; ++e) {
        const TileCoord a = side.map->value_offset(first);
        const TileCoord b = side.map->value_offset(first + e);
        for (size_t d = 0; d < rank; ++d) {
          if (a[d] == b[d]) {
            continue;
          }
          const bool is_step = b[d] - a[d] == e && (!tile_axis || *tile_axis == static_cast<int>(d));
          if (!is_step) {
            report(op, side, fmt::format("the {} elements of a vector do not follow each other along one axis", width),
                   {fmt::format("values {} and {} of a thread", first, first + e)}, {});
            return std::nullopt;
          }
          tile_axis = static_cast<int>(d);
        }
      }
    }
    if (!tile_axis || !starts_are_multiples(*side.map, *tile_axis, width)) {
      report(op, side, fmt::format("a vector of {} elements starts inside another inside the tile", width), {}, {});
      return std::nullopt;
    }
    return side.region->object_axis(*tile_axis);
  }

  static bool starts_are_multiples(const TvLayout& map, int axis, int64_t width) {
    for (const target::TvMode& mode : map.threads) {
      if (mode.axis == axis && mode.extent > 1 && mode.stride % width != 0) {
        return false;
      }
    }
    for (int64_t first = 0; first < map.value_count(); first += width) {
      if (map.value_offset(first)[axis] % width != 0) {
        return false;
      }
    }
    return true;
  }

  void must_divide(const ir::Op& op, const GlobalSide& side, int64_t width, ir::ExprId expr, const std::string& what) {
    ++result_.compared;
    if (divides(f_, width, expr)) {
      return;
    }
    const ir::Tensor& tensor = f_.tensor(side.region->tensor());
    std::map<ir::SymbolId, int64_t> sizes = find_sizes(expr, width);
    std::vector<std::string> facts{fmt::format("{} bytes an access of {} {} elements",
                                               width * size_bytes(tensor.element), width, name_of(tensor.element))};
    for (const auto& [symbol, value] : sizes) {
      facts.push_back(fmt::format("{} = {}", f_.exprs.symbol(symbol).name, value));
    }
    report(op, side, fmt::format("{} is not known to be a multiple of {}", what, width), std::move(facts),
           std::move(sizes));
  }

  // Admitted sizes at which `expr` is no multiple of `width` (width 0: is not 1); empty when none is found among the
  // candidates.
  std::map<ir::SymbolId, int64_t> find_sizes(ir::ExprId expr, int64_t width) const {
    std::vector<ir::SymbolId> symbols;
    f_.exprs.collect_symbols(expr, symbols);
    std::map<ir::SymbolId, int64_t> sizes;
    std::map<ir::SymbolId, int64_t> found;
    std::function<bool(size_t)> search = [&](size_t i) {
      if (i == symbols.size()) {
        auto value = f_.exprs.evaluate(expr, [&](ir::SymbolId id) { return std::optional(sizes.at(id)); });
        const bool breaks = value && (width == 0 ? *value != 1 : *value % width != 0);
        if (breaks && admits(f_, sizes)) {
          found = sizes;
          return true;
        }
        return false;
      }
      for (int64_t size : kCandidateSizes) {
        sizes[symbols[i]] = size;
        if (search(i + 1)) {
          return true;
        }
      }
      sizes.erase(symbols[i]);
      return false;
    };
    if (symbols.size() <= 3) {
      search(0);
    }
    return found;
  }

  const ir::Function& f_;
  GlobalResult result_;
};

}  // namespace

GlobalResult check_global_vectors(const ir::Function& function) {
  return GlobalVectors(function).run();
}

bool divides(const ir::Function& function, int64_t divisor, ir::ExprId expr) {
  return divisor == 1 || known_divisor(function, expr) % divisor == 0;
}

bool admits(const ir::Function& function, const std::map<ir::SymbolId, int64_t>& sizes) {
  for (const ir::Assumption& assumption : function.assumptions) {
    if (!assumption.condition.is_valid()) {
      continue;
    }
    auto truth = function.exprs.evaluate(assumption.condition, [&](ir::SymbolId id) {
      auto found = sizes.find(id);
      return found == sizes.end() ? std::nullopt : std::optional(found->second);
    });
    if (truth == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace tw::verify
