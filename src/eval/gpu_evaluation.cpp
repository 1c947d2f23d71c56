// SPDX-License-Identifier: Apache-2.0
#include "eval/gpu_evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/launch.h"
#include "eval/operands.h"
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
    return Evaluation{Faulted{shape, "on the GPU", fmt::format("{} `{}` at byte {}", guard ? "wrote outside" : "changed the input",
                                                               v.name, v.offset_bytes)},
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
    auto comparison = compare_output(task, operand, inputs.shape, std::as_bytes(std::span(output.buffers[t])), (*want)[operand]);
    correct.worst_ratio = std::max(correct.worst_ratio, comparison.worst_ratio);
    if (!comparison.is_ok) {
      return Evaluation{Mismatched{shape, std::string(task::name_of(inputs.distribution)), std::move(comparison)}, inputs.seed};
    }
  }
  ++correct.launches;
  return std::nullopt;
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
  auto timing = runner::time_launch(gpu, *prepared, {});
  if (!timing) {
    return fail(timing.error().error);
  }
  out.timing = *timing;
  out.shape = task::print_shape(task, task.headline_shape);
  out.operations = task.operations(task.headline_shape);
  out.least_bytes = task.least_bytes(task.headline_shape);
  if (auto copy = runner::time_copy(gpu, static_cast<int64_t>(out.least_bytes / 2), {})) {
    out.copy = *copy;
  }
  return out;
}

}  // namespace tw::eval
