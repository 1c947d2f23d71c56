// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluation.h"

#include <algorithm>
#include <fmt/format.h>

#include "eval/operands.h"

namespace tw::eval {
namespace {

bool is_written(spec::Direction direction) {
  return direction == spec::Direction::Out || direction == spec::Direction::InOut;
}

bool same_direction(ir::Direction kernel, spec::Direction task) {
  switch (kernel) {
    case ir::Direction::In:
      return task == spec::Direction::In;
    case ir::Direction::Out:
    case ir::Direction::Acc:
      return task == spec::Direction::Out;
    case ir::Direction::InOut:
      return task == spec::Direction::InOut;
    case ir::Direction::Work:
      return false;
  }
  return false;
}

emulator::Problem problem_of(const ir::Function& kernel, const task::Task& task, const task::Inputs& inputs) {
  emulator::Problem problem;
  problem.seed = inputs.seed;
  problem.sizes = sizes_of(task, inputs.shape);
  for (const ir::Tensor& tensor : kernel.tensors) {
    const size_t operand = *operand_named(task, tensor.name);
    if (task.computation.tensors[operand].direction != spec::Direction::Out) {
      problem.tensors[tensor.name].bytes = memory_of(task, operand, inputs);
    }
  }
  return problem;
}

// The first output that differs; nullopt: all agree. `worst` gathers the largest error ratio.
std::optional<task::Comparison> compare_outputs(const ir::Function& kernel, const task::Task& task,
                                                const task::Inputs& inputs, const std::vector<spec::Array>& want,
                                                const emulator::MachineRun& run, double& worst) {
  for (size_t t = 0; t < kernel.tensors.size(); ++t) {
    const size_t operand = *operand_named(task, kernel.tensors[t].name);
    if (!is_written(task.computation.tensors[operand].direction)) {
      continue;
    }
    const std::vector<std::byte> bytes = run.bytes_of(ir::TensorId(static_cast<uint32_t>(t)));
    task::Comparison comparison = compare_output(task, operand, inputs.shape, bytes, want[operand]);
    worst = std::max(worst, comparison.worst_ratio);
    if (!comparison.is_ok) {
      return comparison;
    }
  }
  return std::nullopt;
}

bool admits(const emulator::MachineRun& run) {
  return !run.reading_error || run.reading_error->kind != emulator::ReadingErrorKind::BadProblem;
}

}  // namespace

std::optional<std::string> why_not_applicable(const ir::Function& kernel, const task::Task& task) {
  for (const ir::Tensor& tensor : kernel.tensors) {
    auto operand = operand_named(task, tensor.name);
    if (!operand) {
      return fmt::format("the task has no operand `{}`", tensor.name);
    }
    const spec::Tensor& wanted = task.computation.tensors[*operand];
    if (wanted.type != tensor.element) {
      return fmt::format("`{}` is {} in the kernel and {} in the task", tensor.name, name_of(tensor.element),
                         name_of(wanted.type));
    }
    if (!same_direction(tensor.direction, wanted.direction)) {
      return fmt::format("`{}` is not {} in the kernel", tensor.name, spec::name_of(wanted.direction));
    }
    if (wanted.dims.size() != tensor.extents.size()) {
      return fmt::format("`{}` has {} dimensions in the kernel and {} in the task", tensor.name, tensor.extents.size(),
                         wanted.dims.size());
    }
  }
  for (size_t i = 0; i < task.operand_count; ++i) {
    const std::string& name = task.computation.tensors[i].name;
    if (std::ranges::none_of(kernel.tensors, [&](const ir::Tensor& t) { return t.name == name; })) {
      return fmt::format("the kernel has no parameter `{}`", name);
    }
  }
  const std::map<std::string, int64_t> sizes = sizes_of(task, task.headline_shape);
  for (ir::SymbolId size : kernel.sizes) {
    if (!sizes.contains(kernel.exprs.symbol(size).name)) {
      return fmt::format("the task has no size `{}`", kernel.exprs.symbol(size).name);
    }
  }
  return std::nullopt;
}

std::map<std::string, int64_t> sizes_of(const task::Task& task, const task::Shape& shape) {
  std::map<std::string, int64_t> sizes;
  for (size_t d = 0; d < task.computation.dims.size(); ++d) {
    sizes[task.computation.dims[d].name] = shape[d];
  }
  return sizes;
}

Evaluation evaluate_on_emulator(const ir::Function& kernel, const task::Task& task, const EmulatorOptions& options) {
  if (auto reason = why_not_applicable(kernel, task)) {
    return {NotApplicable{*reason}, options.seed};
  }
  const std::vector<task::Shape>& shapes = options.shapes.empty() ? task.test_shapes : options.shapes;
  const std::vector<emulator::Schedule> schedules =
      emulator::standard_schedules(kernel.threads, std::max<size_t>(1, options.schedules), options.seed);
  const size_t distributions = options.distributions == 0 ? task.distributions.size()
                                                          : std::min(options.distributions, task.distributions.size());
  Correct correct;
  for (size_t s = 0; s < shapes.size(); ++s) {
    for (size_t d = 0; d < distributions; ++d) {
      // Every distribution comes up when few are tried a shape.
      const task::Distribution distribution = task.distributions[(s + d) % task.distributions.size()];
      const task::Inputs inputs = task::generate_all(task, shapes[s], distribution, options.seed + s);
      auto want = task::reference(task, inputs);
      if (!want) {
        return {NotApplicable{want.error().message}, options.seed};
      }
      // One schedule after the other, so that all are used without running all on each input.
      const emulator::Schedule& schedule = schedules[(s * distributions + d) % schedules.size()];
      const emulator::MachineRun run = emulator::run_machine(kernel, problem_of(kernel, task, inputs), schedule);
      const std::string shape = task::print_shape(task, shapes[s]);
      if (!admits(run)) {
        ++correct.shapes_skipped;
        break;
      }
      if (!run.is_good()) {
        const std::string finding =
            run.reading_error ? run.reading_error->message : emulator::to_string(run.violations.front());
        return {Faulted{shape, emulator::to_string(schedule), finding}, options.seed};
      }
      if (auto mismatch = compare_outputs(kernel, task, inputs, *want, run, correct.worst_ratio)) {
        return {Mismatched{shape, std::string(task::name_of(distribution)), *std::move(mismatch)}, options.seed};
      }
      ++correct.launches;
    }
  }
  if (correct.launches == 0) {
    return {NotApplicable{"the kernel's assumptions exclude every test shape"}, options.seed};
  }
  return {correct, options.seed};
}

std::string Evaluation::describe() const {
  struct Describe {
    std::string operator()(const NotApplicable& s) const { return "not applicable: " + s.reason; }
    std::string operator()(const Faulted& s) const {
      return fmt::format("wrong at {} ({}): {}", s.shape, s.schedule, s.finding);
    }
    std::string operator()(const Mismatched& s) const {
      return fmt::format("wrong at {} on {} inputs: {}", s.shape, s.distribution, s.comparison.describe());
    }
    std::string operator()(const Correct& s) const {
      return fmt::format(
          "correct in {} launches, largest error {:.3f} of what is allowed{}", s.launches, s.worst_ratio,
          s.shapes_skipped > 0 ? fmt::format("; {} shapes outside the assumptions", s.shapes_skipped) : "");
    }
  };
  return std::visit(Describe{}, status);
}

json::Value Evaluation::to_json() const {
  struct Write {
    json::Object operator()(const NotApplicable& s) const {
      return {{"status", "not_applicable"}, {"reason", s.reason}};
    }
    json::Object operator()(const Faulted& s) const {
      return {{"status", "faulted"}, {"shape", s.shape}, {"schedule", s.schedule}, {"finding", s.finding}};
    }
    json::Object operator()(const Mismatched& s) const {
      return {{"status", "mismatched"},
              {"shape", s.shape},
              {"distribution", s.distribution},
              {"comparison", s.comparison.to_json()}};
    }
    json::Object operator()(const Correct& s) const {
      return {{"status", "correct"},
              {"launches", s.launches},
              {"shapes_skipped", s.shapes_skipped},
              {"worst_ratio", s.worst_ratio}};
    }
  };
  json::Object out = std::visit(Write{}, status);
  out.set("seed", seed);
  return out;
}

}  // namespace tw::eval
