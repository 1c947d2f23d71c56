// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "emulator/machine.h"
#include "emulator/reading.h"
#include "spec/evaluate.h"
#include "verify/context.h"
#include "verify/machine/layout_rules.h"
#include "verify/machine/machine_obligations.h"
#include "verify/machine/witness.h"
#include "verify/replay_problem.h"

namespace tw::verify {

namespace {

using emulator::Problem;
using emulator::ReadingErrorKind;

// Emulated work of one replay: launches larger than this are not tried.
constexpr int64_t kMaxElements = int64_t{1} << 24;
// All values that small_problems tries of three sizes, one at a time.
constexpr size_t kHuntedProblems = 64;

Result<std::string> replay_difference(const ir::Function& source, const ir::Function& lowered,
                                      const Counterexample& cex) {
  Problem problem = with_scalars(source, problem_of(cex));
  Outputs a = outputs_of(source, problem), b = outputs_of(lowered, problem);
  if (a.error) {
    return fail("the source's reading stops: " + a.error->message);
  }
  if (b.error) {
    return "the source's reading completes, the lowered program's stops: " + b.error->message;
  }
  if (auto difference = first_difference(source, a, b, 2e-2)) {
    return "outputs of source and lowered program differ: " + *difference;
  }
  return fail("source and lowered program give the same outputs");
}

// Output by output against the equations, with the error that they grant to a sound kernel.
Result<std::string> replay_task(const ir::Function& lowered, const Counterexample& cex, const spec::Computation& task) {
  Problem problem = with_scalars(lowered, problem_of(cex));
  auto bound = emulator::bind(lowered, problem);
  if (!bound) {
    return fail(bound.error().message);
  }
  std::vector<int64_t> extents(task.dims.size(), -1);
  std::vector<spec::Array> storage(task.tensors.size());
  std::vector<const spec::Array*> inputs(task.tensors.size(), nullptr);
  std::vector<std::pair<uint32_t, uint32_t>> outputs;
  for (uint32_t i = 0; i < task.tensors.size(); ++i) {
    const spec::Tensor& operand = task.tensors[i];
    if (operand.direction == spec::Direction::Let) {
      continue;
    }
    uint32_t index = 0;
    while (index < lowered.tensors.size() && lowered.tensors[index].name != operand.name) {
      ++index;
    }
    if (index == lowered.tensors.size() || lowered.tensors[index].extents.size() != operand.dims.size()) {
      return fail("the kernel has no operand `" + operand.name + "` of that rank");
    }
    const emulator::BoundTensor& tensor = bound->tensors[index];
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      int64_t& extent = extents[operand.dims[d].index];
      auto fixed = task.dim(operand.dims[d]).fixed;
      if ((extent >= 0 && extent != tensor.extents[d]) || (fixed && *fixed != tensor.extents[d])) {
        return fail("these sizes are not the task's");
      }
      extent = tensor.extents[d];
    }
    if (operand.direction == spec::Direction::In) {
      auto bytes = emulator::initial_bytes(lowered, problem, ir::TensorId(index));
      if (!bytes) {
        return fail(bytes.error().message);
      }
      spec::Array array = spec::Array::filled(tensor.extents);
      const ElementType type = lowered.tensors[index].element;
      for (int64_t at = 0; at < array.element_count(); ++at) {
        int64_t rest = at, offset = 0;
        for (size_t d = tensor.extents.size(); d-- > 0;) {
          offset += rest % tensor.extents[d] * tensor.strides[d];
          rest /= tensor.extents[d];
        }
        array.values[static_cast<size_t>(at)] = decode(type, bytes->data() + offset * size_bytes(type));
      }
      storage[i] = std::move(array);
      inputs[i] = &storage[i];
    } else {
      outputs.emplace_back(i, index);
    }
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] < 0) {
      extents[d] = task.dims[d].fixed.value_or(1);
    }
  }
  spec::EvaluateOptions options;
  options.with_errors = true;
  TW_TRY(std::vector<spec::Array> expected, spec::evaluate(task, extents, inputs, options));
  Outputs got = outputs_of(lowered, problem);
  if (got.error) {
    return fail("the reading stops: " + got.error->message);
  }
  for (auto [i, index] : outputs) {
    const emulator::BoundTensor& tensor = bound->tensors[index];
    const ElementType type = lowered.tensors[index].element;
    const double unit = type == ElementType::Bf16 ? 0x1p-7 : type == ElementType::F16 ? 0x1p-10 : 0x1p-20;
    const spec::Array& array = expected[i];
    for (int64_t at = 0; at < array.element_count(); ++at) {
      int64_t rest = at, offset = 0;
      std::string coords;
      for (size_t d = tensor.extents.size(); d-- > 0;) {
        coords = std::to_string(rest % tensor.extents[d]) + (coords.empty() ? "" : ", ") + coords;
        offset += rest % tensor.extents[d] * tensor.strides[d];
        rest /= tensor.extents[d];
      }
      double value = decode(type, got.bytes[index].data() + offset * size_bytes(type));
      double want = array.values[static_cast<size_t>(at)];
      double slack =
          4 * (array.errors.empty() ? 0.0 : array.errors[static_cast<size_t>(at)]) + unit * std::abs(want) + 1e-6;
      if ((std::isnan(value) != std::isnan(want)) || std::abs(value - want) > slack) {
        return "`" + task.tensors[i].name + "[" + coords + "]` is " + std::to_string(value) + ", the task's value is " +
               std::to_string(want);
      }
    }
  }
  return fail("the outputs are the task's at these sizes");
}

std::vector<ReadingErrorKind> kinds_of(const std::string& rule) {
  if (rule == "uninitialized-read") {
    return {ReadingErrorKind::UninitializedRead};
  }
  if (rule == "pad-reaches-output") {
    return {ReadingErrorKind::PadReachesOutput};
  }
  if (rule == "out-of-bounds") {
    return {ReadingErrorKind::OutOfBounds};
  }
  if (rule == "division-by-zero") {
    return {ReadingErrorKind::DivisionByZero};
  }
  if (rule == "integer-overflow") {
    return {ReadingErrorKind::Overflow};
  }
  return {ReadingErrorKind::DoubleWrite, ReadingErrorKind::NotWritten, ReadingErrorKind::Discipline};
}

int64_t work_of(const ir::Function& f, const Problem& problem) {
  auto bound = emulator::bind(f, problem);
  if (!bound) {
    return -1;
  }
  int64_t total = 0;
  for (const emulator::BoundTensor& tensor : bound->tensors) {
    if (tensor.allocation_elements > kMaxElements) {
      return kMaxElements + 1;
    }
    total += tensor.allocation_elements;
  }
  return total;
}

Counterexample of_error(const ir::Function& f, const Problem& problem, const emulator::ReadingError& error) {
  Counterexample cex;
  for (const auto& [name, value] : problem.sizes) {
    cex.sizes.emplace_back(name, value);
  }
  cex.seed = problem.seed;
  cex.claim = error.message;
  if (error.block >= 0) {
    cex.block = error.block;
  }
  for (size_t i = 0; i < error.point.iterations.size(); ++i) {
    cex.iterations.emplace_back("loop" + std::to_string(i), error.point.iterations[i]);
  }
  if (error.cell) {
    cex.object = error.cell->object;
    cex.element = error.cell->element;
    if (error.cell->version >= 0) {
      cex.version = error.cell->version;
    }
  }
  if (error.span.is_valid()) {
    cex.points.push_back({error.span, error.point.op_id, "here"});
  }
  if (error.other_span.is_valid()) {
    cex.points.push_back({error.other_span, error.other_point ? error.other_point->op_id : 0, "and here"});
  }
  cex.got = std::string(emulator::name_of(error.kind));
  cex.replay = ReplayKind::Reading;
  (void)f;
  return cex;
}

}  // namespace

std::optional<Counterexample> hunt_reading(Context& context, const std::vector<ReadingErrorKind>& kinds,
                                           const std::vector<std::pair<std::string, int64_t>>& sizes_first) {
  std::vector<Problem> problems;
  if (!sizes_first.empty()) {
    Counterexample at;
    at.sizes = sizes_first;
    problems.push_back(problem_of(at));
  }
  for (Problem& p : small_problems(context.lowered, {}, kHuntedProblems)) {
    problems.push_back(std::move(p));
  }
  for (const Problem& raw : problems) {
    Problem problem = with_scalars(context.lowered, raw);
    int64_t work = work_of(context.lowered, problem);
    if (work < 0 || work > (int64_t{1} << 20)) {
      continue;
    }
    emulator::Reading reading = emulator::run_reading(context.lowered, problem);
    if (reading.error && std::find(kinds.begin(), kinds.end(), reading.error->kind) != kinds.end()) {
      return of_error(context.lowered, problem, *reading.error);
    }
  }
  return std::nullopt;
}

std::optional<Counterexample> hunt_difference(Context& context) {
  if (!context.options.replay) {
    return std::nullopt;
  }
  for (const Problem& raw : small_problems(context.source, {}, kHuntedProblems / 4)) {
    Problem problem = with_scalars(context.source, raw);
    int64_t work = work_of(context.source, problem);
    if (work < 0 || work > (int64_t{1} << 20)) {
      continue;
    }
    Counterexample cex;
    for (const auto& [name, value] : problem.sizes) {
      cex.sizes.emplace_back(name, value);
    }
    cex.seed = problem.seed;
    cex.rule = "reading-kept";
    cex.replay = ReplayKind::Difference;
    if (auto found = replay_difference(context.source, context.lowered, cex)) {
      cex.claim = *found;
      cex.why = "lowering must keep what the program computes";
      return cex;
    }
  }
  return std::nullopt;
}

std::optional<Counterexample> hunt_task(Context& context) {
  if (!context.options.replay) {
    return std::nullopt;
  }
  for (const Problem& raw : small_problems(context.lowered, {}, kHuntedProblems / 4)) {
    Problem problem = with_scalars(context.lowered, raw);
    int64_t work = work_of(context.lowered, problem);
    if (work < 0 || work > (int64_t{1} << 19)) {
      continue;
    }
    Counterexample cex;
    for (const auto& [name, value] : problem.sizes) {
      cex.sizes.emplace_back(name, value);
    }
    cex.seed = problem.seed;
    cex.rule = "task-disagreement";
    cex.replay = ReplayKind::Task;
    if (auto found = replay_task(context.lowered, cex, *context.options.task)) {
      cex.claim = *found;
      return cex;
    }
  }
  return std::nullopt;
}

Result<std::string> replay(const ir::Function& source, const ir::Function& lowered, const Counterexample& cex,
                           const spec::Computation* task) {
  if (cex.replay == ReplayKind::Layout) {
    // Layouts and resources do not depend on sizes.
    for (const LayoutFinding& finding : check_layouts(lowered).findings) {
      if (finding.claim == cex.claim) {
        return "by enumeration: " + (finding.facts.empty() ? finding.claim : finding.facts.front());
      }
    }
    return fail("enumeration of the layouts finds nothing of the kind");
  }
  Problem problem = with_scalars(lowered, problem_of(cex));
  int64_t work = work_of(lowered, problem);
  if (work < 0) {
    return fail("the sizes are not ones that the program admits");
  }
  if (work > kMaxElements) {
    return fail("the problem is too large to emulate");
  }
  switch (cex.replay) {
    case ReplayKind::None:
    case ReplayKind::Layout:
      return fail("there is no way to replay it");
    case ReplayKind::Tags:
      return replay_tags(source, lowered, cex);
    case ReplayKind::Task:
      return task != nullptr ? replay_task(lowered, cex, *task) : fail("its task is needed to replay it: --task=FILE");
    case ReplayKind::Difference:
      return replay_difference(source, lowered, cex);
    case ReplayKind::Reading: {
      emulator::Reading reading = emulator::run_reading(lowered, problem);
      if (!reading.error) {
        return fail("the reading completes at these sizes");
      }
      for (ReadingErrorKind kind : kinds_of(cex.rule)) {
        if (reading.error->kind == kind) {
          return reading.error->message;
        }
      }
      return fail("the reading stops for another reason: " + reading.error->message);
    }
    case ReplayKind::Machine: {
      if (!cex.schedule.is_null() || cex.is_replayed) {
        return replay_machine(lowered, cex);
      }
      emulator::MachineRun run = emulator::run_machine(lowered, problem);
      if (run.reading_error) {
        return run.reading_error->message;
      }
      if (run.violations.empty()) {
        return fail("the machine runs without a finding at these sizes");
      }
      return to_string(run.violations[0]);
    }
  }
  return fail("there is no way to replay it");
}

}  // namespace tw::verify
