// SPDX-License-Identifier: Apache-2.0
#include "codegen/launch.h"

#include <algorithm>
#include <fmt/format.h>

namespace tw::codegen {
namespace {

constexpr int64_t kMaxGrid = (int64_t{1} << 31) - 1;

}  // namespace

LaunchPlan plan_launch(const ir::Function& function) {
  LaunchPlan plan;
  plan.kernel_name = function.name;
  plan.threads = function.threads;
  plan.shared_bytes = function.shared_bytes;
  for (uint32_t i = 0; i < function.tensors.size(); ++i) {
    const ir::Tensor& tensor = function.tensors[i];
    plan.parameters.push_back({LaunchParameter::Kind::Pointer,
                               tensor.name,
                               tensor.element,
                               tensor.direction == ir::Direction::In,
                               ir::TensorId(i),
                               {}});
    plan.preconditions.push_back(
        {Precondition::Kind::Aligned, fmt::format("`{}` is aligned to 16 bytes", tensor.name), {}, ir::TensorId(i)});
    if (tensor.direction != ir::Direction::In) {
      plan.preconditions.push_back({Precondition::Kind::Disjoint,
                                    fmt::format("`{}` shares no memory with another parameter", tensor.name),
                                    {},
                                    ir::TensorId(i)});
    }
  }
  for (ir::SymbolId size : function.sizes) {
    plan.parameters.push_back(
        {LaunchParameter::Kind::Size, function.exprs.symbol(size).name, ElementType::I32, false, {}, size});
  }
  for (const ir::ScalarParameter& scalar : function.scalars) {
    plan.parameters.push_back({LaunchParameter::Kind::Scalar, scalar.name, scalar.element, false, {}, scalar.symbol});
  }
  for (const ir::Assumption& assumption : function.assumptions) {
    if (assumption.condition.is_valid()) {
      plan.preconditions.push_back(
          {Precondition::Kind::Condition, function.exprs.to_string(assumption.condition), assumption.condition, {}});
    }
    if (assumption.finite.is_valid()) {
      plan.preconditions.push_back(
          {Precondition::Kind::Finite,
           fmt::format("every element of `{}` is finite", function.tensor(assumption.finite).name),
           {},
           assumption.finite});
    }
  }
  ir::for_each_op(function.body, [&](const ir::Op& op) {
    if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      plan.spaces.push_back({tiles->extents, tiles->persistent});
    }
  });
  plan.persistent_blocks = int64_t{function.machine->sm_count} * std::max(function.min_blocks, 1);
  return plan;
}

Result<int64_t> grid_blocks(const LaunchPlan& plan, const ir::Function& function, const SymbolValues& values) {
  if (plan.spaces.empty()) {
    return int64_t{1};
  }
  int64_t grid = 0;
  for (const LaunchPlan::TileSpace& space : plan.spaces) {
    int64_t points = 1;
    for (ir::ExprId extent : space.extents) {
      auto value = function.exprs.evaluate(extent, values);
      if (!value) {
        return fail(fmt::format("the extent {} has no value for these sizes", function.exprs.to_string(extent)));
      }
      if (*value <= 0) {
        points = 0;
        break;
      }
      if (__builtin_mul_overflow(points, *value, &points) || points > kMaxGrid) {
        return fail("more than 2^31 - 1 tiles");
      }
    }
    grid = std::max(grid, space.is_persistent ? std::min(points, plan.persistent_blocks) : points);
  }
  return grid;
}

std::vector<std::string> violated_conditions(const LaunchPlan& plan, const ir::Function& function,
                                             const SymbolValues& values) {
  std::vector<std::string> out;
  for (const Precondition& precondition : plan.preconditions) {
    if (precondition.kind == Precondition::Kind::Condition &&
        function.exprs.evaluate(precondition.condition, values).value_or(0) == 0) {
      out.push_back(precondition.text);
    }
  }
  return out;
}

Status check_ready(const ir::Function& function) {
  if (function.stage != ir::Stage::Lowered) {
    return fail("the function is not lowered");
  }
  for (const ir::SharedObject& object : function.shared) {
    if (!object.layout) {
      return fail(fmt::format("shared `{}` has no address map", object.name));
    }
  }
  if (function.shared_bytes > function.machine->max_shared_bytes_per_block) {
    return fail(fmt::format("{} bytes of shared memory, the target has {}", function.shared_bytes,
                            function.machine->max_shared_bytes_per_block));
  }
  Status status;
  auto broken = [&](const ir::Op& op, const std::string& rule) {
    if (status) {
      status = fail(fmt::format("op {}: {}", op.id, rule));
    }
  };
  auto check_width = [&](const ir::Op& op, const ir::Region& region, int elems) {
    const ElementType element =
        region.is_global() ? function.tensor(region.tensor()).element : function.shared_object(region.shared()).element;
    const int bytes = elems * size_bytes(element);
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
      broken(op, fmt::format("an access of {} bytes", bytes));
    }
  };
  ir::for_each_op(function.body, [&](const ir::Op& op) {
    for (ir::ValueId id : ir::uses_of(op).values_defined) {
      if (!function.value(id).layout) {
        broken(op, "a value without a thread/value layout");
      }
    }
    std::visit(ir::Overloaded{
                   [&](const ir::ForOp& loop) {
                     if (loop.kind == ir::LoopKind::Pipeline) {
                       broken(op, "a pipeline that is not lowered");
                     }
                   },
                   [&](const ir::TilesOp& tiles) {
                     if (tiles.decode.size() != tiles.variables.size() || !tiles.linear.is_valid()) {
                       broken(op, "a tile space without a decoding");
                     }
                   },
                   [&](const ir::CopyOp& copy) {
                     if (!copy.map) {
                       broken(op, "a copy without a thread map");
                     }
                     check_width(op, copy.source, copy.access.vector_elems);
                   },
                   [&](const ir::LoadOp& load) {
                     if (load.atom.kind == target::CopyKind::Ldmatrix && load.matrices == 0) {
                       broken(op, "ldmatrix without a number of matrices");
                     }
                     check_width(op, load.source, load.access.vector_elems);
                   },
                   [&](const ir::StoreOp& store) { check_width(op, store.destination, store.access.vector_elems); },
                   [&](const ir::MmaOp& mma) {
                     if (std::holds_alternative<ir::Region>(mma.a) || std::holds_alternative<ir::Region>(mma.b)) {
                       broken(op, "an operand of mma in memory");
                     }
                   },
                   [&](const ir::RelayoutOp&) { broken(op, "a relayout that is not lowered"); }, [](const auto&) {}},
               op.body);
  });
  return status;
}

}  // namespace tw::codegen
