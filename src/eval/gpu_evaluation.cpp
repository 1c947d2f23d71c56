// SPDX-License-Identifier: Apache-2.0
#include "eval/gpu_evaluation.h"

#include <algorithm>
#include <fmt/format.h>

#include "codegen/launch.h"
#include "eval/operands.h"
#include "runner/cublas.h"
#include "runner/launch.h"

namespace tw::eval {
namespace {

constexpr uint8_t kPoison = 0xcd;

// The launch of one shape; the error says what the kernel does not admit.
Result<runner::Launch> make_launch(const ir::Function& kernel, const std::string& cubin, const task::Task& task,
                                   const task::Inputs& inputs) {
  const codegen::LaunchPlan plan = codegen::plan_launch(kernel);
  const std::map<std::string, int64_t> sizes = sizes_of(task, inputs.shape);
  const codegen::SymbolValues values = [&](ir::SymbolId symbol) -> std::optional<int64_t> {
    auto found = sizes.find(kernel.exprs.symbol(symbol).name);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto violated = codegen::violated_conditions(plan, kernel, values); !violated.empty()) {
    return fail("the kernel assumes " + violated.front());
  }
  TW_TRY(const int64_t blocks, codegen::grid_blocks(plan, kernel, values));
  runner::Launch launch;
  launch.cubin = cubin;
  launch.kernel = plan.kernel_name;
  launch.grid.x = static_cast<uint32_t>(std::max<int64_t>(1, blocks));
  launch.block.x = static_cast<uint32_t>(plan.threads);
  launch.shared_dynamic_bytes = static_cast<uint32_t>(plan.shared_bytes);
  for (const codegen::LaunchParameter& p : plan.parameters) {
    if (p.kind == codegen::LaunchParameter::Kind::Size) {
      launch.arguments.push_back({p.name, static_cast<int32_t>(sizes.at(p.name))});
      continue;
    }
    if (p.kind == codegen::LaunchParameter::Kind::Scalar) {
      return fail(fmt::format("the kernel has a scalar argument `{}`, tasks have none", p.name));
    }
    const size_t operand = *operand_named(task, p.name);
    const spec::Tensor& tensor = task.computation.tensors[operand];
    runner::BufferArgument buffer;
    buffer.is_written = tensor.direction != spec::Direction::In;
    if (tensor.direction == spec::Direction::Out) {
      const bool accumulates = kernel.tensor(p.tensor).direction == ir::Direction::Acc;
      buffer.bytes.assign(static_cast<size_t>(task.span_elems(operand, inputs.shape) * size_bytes(tensor.type)),
                          accumulates ? uint8_t{0} : kPoison);
    } else {
      const auto memory = memory_of(task, operand, inputs);
      const auto* begin = reinterpret_cast<const uint8_t*>(memory->data());
      buffer.bytes.assign(begin, begin + memory->size());
    }
    launch.arguments.push_back({p.name, std::move(buffer)});
  }
  return launch;
}

// The first output that differs, or a damaged buffer.
std::optional<Evaluation> judge(const ir::Function& kernel, const task::Task& task, const task::Inputs& inputs,
                                const runner::LaunchOutput& output, Correct& correct) {
  const std::string shape = task::print_shape(task, inputs.shape);
  if (!output.violations.empty()) {
    const runner::BufferViolation& v = output.violations.front();
    const bool guard = v.kind == runner::BufferViolation::Kind::GuardDamaged;
    return Evaluation{Faulted{shape, "on the GPU",
                              fmt::format("{} `{}` at byte {}", guard ? "wrote outside" : "changed the input", v.name,
                                          v.offset_bytes)},
                      inputs.seed};
  }
  auto want = task::reference(task, inputs);
  if (!want) {
    return Evaluation{NotApplicable{want.error().message}, inputs.seed};
  }
  for (size_t t = 0; t < kernel.tensors.size(); ++t) {
    const size_t operand = *operand_named(task, kernel.tensors[t].name);
    if (task.computation.tensors[operand].direction == spec::Direction::In) {
      continue;
    }
    auto comparison =
        compare_output(task, operand, inputs.shape, std::as_bytes(std::span(output.buffers[t])), (*want)[operand]);
    correct.worst_ratio = std::max(correct.worst_ratio, comparison.worst_ratio);
    if (!comparison.is_ok) {
      return Evaluation{Mismatched{shape, std::string(task::name_of(inputs.distribution)), std::move(comparison)},
                        inputs.seed};
    }
  }
  ++correct.launches;
  return std::nullopt;
}

// D[m, n] = sum(k, A * B) with A and B in either order of their dimensions: what cuBLAS can do in one call. Operand
// indices are those of the task; `m`, `n`, `k` are dims.
struct PlainProduct {
  size_t a = 0;
  size_t b = 0;
  size_t d = 0;
  spec::DimId m, n, k;
  bool is_a_transposed = false;
  bool is_b_transposed = false;
};

std::optional<PlainProduct> plain_product(const task::Task& task) {
  if (task.operand_count != 3 || task.computation.equations.size() != 1) {
    return std::nullopt;
  }
  const spec::Term& term = task.computation.equations[0].term;
  const bool is_sum_of_product = term->op == spec::Op::Sum && term->bound.size() == 1 &&
                                 term->operands[0]->op == spec::Op::Mul &&
                                 term->operands[0]->operands[0]->op == spec::Op::Element &&
                                 term->operands[0]->operands[1]->op == spec::Op::Element;
  if (!is_sum_of_product) {
    return std::nullopt;
  }
  PlainProduct p;
  p.a = term->operands[0]->operands[0]->tensor.index;
  p.b = term->operands[0]->operands[1]->tensor.index;
  p.d = task.computation.equations[0].tensor.index;
  p.k = term->bound[0].dim;
  const auto& tensors = task.computation.tensors;
  if (tensors[p.a].dims.size() != 2 || tensors[p.b].dims.size() != 2 || tensors[p.d].dims.size() != 2) {
    return std::nullopt;
  }
  p.m = tensors[p.d].dims[0];
  p.n = tensors[p.d].dims[1];
  // The first factor may be the one that carries n.
  if (std::ranges::find(tensors[p.a].dims, p.m) == tensors[p.a].dims.end()) {
    std::swap(p.a, p.b);
  }
  p.is_a_transposed = tensors[p.a].dims[0] == p.k;
  p.is_b_transposed = tensors[p.b].dims[0] == p.n;
  return p;
}

// The kernel alone, or in turn with cuBLAS on the same operands (into a buffer of its own).
Result<void> time_with_peer(runner::Gpu& gpu, const ir::Function& kernel, const task::Task& task,
                            runner::PreparedLaunch& launch, GpuMeasurement& out) {
  std::vector<runner::TimedItem> items{{"kernel", [&](runner::cuda::Stream stream) { return launch.enqueue(stream); }}};
  auto product = plain_product(task);
  auto cublas = product ? runner::Cublas::find(gpu)
                        : runner::RunResult<std::unique_ptr<runner::Cublas>>(fail(runner::RunError{}));
  std::optional<runner::GuardedBuffer> result;
  runner::GemmCall call;
  if (product && cublas) {
    const auto& tensors = task.computation.tensors;
    const task::Shape& shape = task.headline_shape;
    auto buffer =
        runner::GuardedBuffer::allocate(gpu, task.span_elems(product->d, shape) * size_bytes(tensors[product->d].type));
    if (buffer) {
      result.emplace(*std::move(buffer));
      auto address_of = [&](size_t operand) {
        for (size_t t = 0; t < kernel.tensors.size(); ++t) {
          if (kernel.tensors[t].name == tensors[operand].name) {
            return launch.address(t);
          }
        }
        return runner::cuda::DevicePointer{0};
      };
      call = {tensors[product->a].type,
              tensors[product->d].type,
              static_cast<int32_t>(shape[product->m.index]),
              static_cast<int32_t>(shape[product->n.index]),
              static_cast<int32_t>(shape[product->k.index]),
              product->is_a_transposed,
              product->is_b_transposed,
              address_of(product->a),
              address_of(product->b),
              result->address()};
      items.push_back({"cublas", [&](runner::cuda::Stream stream) { return (*cublas)->enqueue(call, stream); }});
      out.cublas_version = fmt::format("{}", (*cublas)->version());
    }
  }
  auto timings = runner::time_interleaved(gpu, items, {});
  if (!timings) {
    return fail(timings.error().error);
  }
  out.timing = (*timings)[0];
  if (timings->size() > 1) {
    out.cublas = (*timings)[1];
  }
  return {};
}

}  // namespace

Result<GpuMeasurement> measure_on_gpu(runner::Gpu& gpu, const ir::Function& kernel, const std::string& cubin,
                                      const task::Task& task, uint64_t seed) {
  GpuMeasurement out;
  out.device = gpu.info().name;
  if (auto reason = why_not_applicable(kernel, task)) {
    out.evaluation = {NotApplicable{*reason}, seed};
    return out;
  }
  Correct correct;
  for (size_t s = 0; s < task.test_shapes.size(); ++s) {
    for (size_t d = 0; d < task.distributions.size(); ++d) {
      const task::Inputs inputs = task::generate_all(task, task.test_shapes[s], task.distributions[d], seed + s);
      auto launch = make_launch(kernel, cubin, task, inputs);
      if (!launch) {
        ++correct.shapes_skipped;
        break;
      }
      auto output = runner::launch_once(gpu, *launch);
      if (!output) {
        return fail(output.error().error);
      }
      if (auto wrong = judge(kernel, task, inputs, *output, correct)) {
        out.evaluation = *std::move(wrong);
        return out;
      }
    }
  }
  out.evaluation = {correct, seed};
  if (correct.launches == 0) {
    out.evaluation = {NotApplicable{"the kernel's assumptions exclude every test shape"}, seed};
    return out;
  }
  const task::Inputs inputs = task::generate_all(task, task.headline_shape, task::Distribution::Normal, seed);
  TW_TRY(const runner::Launch launch, make_launch(kernel, cubin, task, inputs));
  auto prepared = runner::PreparedLaunch::prepare(gpu, launch);
  if (!prepared) {
    return fail(prepared.error().error);
  }
  TW_TRY_STATUS(time_with_peer(gpu, kernel, task, *prepared, out));
  out.shape = task::print_shape(task, task.headline_shape);
  out.operations = task.operations(task.headline_shape);
  out.least_bytes = task.least_bytes(task.headline_shape);
  if (auto copy = runner::time_copy(gpu, static_cast<int64_t>(out.least_bytes / 2), {})) {
    out.copy = *copy;
  }
  return out;
}

}  // namespace tw::eval
