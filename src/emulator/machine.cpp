// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "emulator/block_machine.h"
#include "emulator/elements.h"
#include "emulator/plan.h"

namespace tw::emulator {
namespace {

// Compares every element that the reading wrote with what the machine left there.
class OutputComparison {
 public:
  OutputComparison(const BoundProblem& bound, MachineMemory& machine, ReadingMemory& reading, size_t limit,
                   std::vector<Violation>& violations)
      : bound_(bound), machine_(machine), reading_(reading), limit_(limit), violations_(violations) {}

  void run() {
    const ir::Function& function = *bound_.function;
    for (size_t t = 0; t < function.tensors.size(); ++t) {
      const ir::Direction direction = function.tensors[t].direction;
      if (direction == ir::Direction::In || direction == ir::Direction::Work) {
        continue;
      }
      size_t mismatches = 0;
      std::optional<Violation> first;
      int64_t first_element = INT64_MAX;
      reading_.shadow(t).for_each_page([&](uint64_t start, const CellShadow* shadows) {
        compare_page(t, static_cast<int64_t>(start), shadows, mismatches, first, first_element);
      });
      if (first && violations_.size() < limit_) {
        first->missing += fmt::format("; {} of the elements written differ", mismatches);
        violations_.push_back(*std::move(first));
      }
    }
  }

 private:
  void compare_page(size_t tensor, int64_t start, const CellShadow* shadows, size_t& mismatches,
                    std::optional<Violation>& first, int64_t& first_element) {
    const ElementType type = bound_.function->tensors[tensor].element;
    const auto size = static_cast<int64_t>(size_bytes(type));
    for (int64_t i = 0; i < static_cast<int64_t>(Paged<CellShadow>::kPageElements); ++i) {
      const CellShadow& shadow = shadows[i];
      if (shadow.writer_block == 0 && shadow.contributions == 0) {
        continue;
      }
      const int64_t element = start + i;
      std::byte expected[8];
      std::byte got[8];
      reading_.bytes(tensor).read(element * size, size, expected);
      (*machine_.bytes)[tensor].read(element * size, size, got);
      const uint32_t* contributions = machine_.contributions[tensor].find(static_cast<uint64_t>(element));
      const uint32_t received = contributions != nullptr ? *contributions : 0;
      if (received != shadow.contributions) {
        ++mismatches;
        if (element < first_element) {
          first_element = element;
          first = describe(ViolationKind::MissingContribution, tensor, element, shadow);
          first->missing = fmt::format("the machine combined {} contributions, the reading {}", received, shadow.contributions);
        }
        continue;
      }
      if (std::equal(expected, expected + size, got) || is_close(type, expected, got, shadow)) {
        continue;
      }
      ++mismatches;
      if (element < first_element) {
        first_element = element;
        first = describe(ViolationKind::OutputMismatch, tensor, element, shadow);
        first->missing = fmt::format("the machine left {}, the reading {}", text(type, got), text(type, expected));
      }
    }
  }

  static double value_of(ElementType type, const std::byte* bytes) {
    Buffer one = make_buffer(type, 1);
    decode_elements(type, bytes, 1, data_of(one));
    return as_double(one, 0);
  }
  static std::string text(ElementType type, const std::byte* bytes) { return element_text(type, value_of(type, bytes)); }

  static bool is_close(ElementType type, const std::byte* expected, const std::byte* got, const CellShadow& shadow) {
    const double a = value_of(type, expected);
    const double b = value_of(type, got);
    if (std::isnan(a) && std::isnan(b)) {
      return true;
    }
    double bound = shadow.slack;
    if (shadow.contributions > 1 && is_floating(type)) {
      bound += 2.0 * (shadow.contributions - 1) * 0x1p-24 * shadow.magnitude;
    }
    return std::abs(a - b) <= bound;
  }

  Violation describe(ViolationKind kind, size_t tensor, int64_t element, const CellShadow& shadow) const {
    const BoundTensor& shape = bound_.tensors[tensor];
    Violation violation;
    violation.kind = kind;
    violation.block = static_cast<int64_t>(shadow.writer_block) - 1;
    violation.cell = CellName{bound_.function->tensors[tensor].name, -1,
                              shape.coordinates(element).value_or(std::vector<int64_t>{})};
    violation.address_bytes = element * shape.element_bytes;
    violation.size_bytes = shape.element_bytes;
    if (shadow.writer_op != nullptr) {
      violation.access.point.op_id = shadow.writer_op->id;
      violation.access.span = shadow.writer_op->span;
    }
    return violation;
  }

  const BoundProblem& bound_;
  MachineMemory& machine_;
  ReadingMemory& reading_;
  const size_t limit_;
  std::vector<Violation>& violations_;
};

std::vector<int64_t> blocks_to_run(const MachineOptions& options, int64_t grid, const Schedule& schedule) {
  std::vector<int64_t> blocks = options.blocks;
  if (blocks.empty()) {
    for (int64_t b = 0; b < grid; ++b) {
      blocks.push_back(b);
    }
  }
  // Which block runs when is the hardware's choice.
  if (schedule.mode == ScheduleMode::Random) {
    std::mt19937_64 random(schedule.seed);
    for (size_t i = blocks.size(); i > 1; --i) {
      std::swap(blocks[i - 1], blocks[random() % i]);
    }
  }
  return blocks;
}

}  // namespace

MachineRun run_machine(const ir::Function& function, const Problem& problem, const Schedule& schedule,
                       const MachineOptions& options) {
  MachineRun run;
  auto bound = bind(function, problem);
  if (!bound) {
    run.reading_error = std::move(bound).error();
    return run;
  }
  run.bound = *std::move(bound);
  const LaunchPlan plan = make_plan(function, run.bound);
  if (!plan.problem.empty()) {
    ReadingError error;
    error.kind = ReadingErrorKind::Unsupported;
    error.message = plan.problem;
    error.span = function.span;
    run.reading_error = std::move(error);
    return run;
  }
  run.reading_memory = std::make_shared<ReadingMemory>(run.bound, problem);
  MachineMemory memory = make_machine_memory(run.bound, problem);
  run.memory = memory.bytes;
  ReadingOptions reading_options;
  reading_options.limits = options.limits;
  for (int64_t block : blocks_to_run(options, run.bound.grid, schedule)) {
    auto reading = read_block(run.bound, block, reading_options, true, *run.reading_memory);
    if (!reading) {
      run.reading_error = std::move(reading).error();
      return run;
    }
    Schedule of_block = schedule;
    of_block.seed += static_cast<uint64_t>(block) * 7919;
    BlockMachine machine(run.bound, plan, *reading, memory, options.max_violations, run.violations);
    const BlockOutcome outcome =
        run_schedule(machine, reading->walk, of_block, plan.threads, plan.warp_threads, run.violations);
    run.steps += outcome.steps;
    run.hold_expired = run.hold_expired || outcome.hold_expired;
    if (machine.is_stopped()) {
      return run;
    }
  }
  if (options.compare_outputs) {
    OutputComparison(run.bound, memory, *run.reading_memory, options.max_violations, run.violations).run();
  }
  return run;
}

std::vector<std::byte> MachineRun::bytes_of(ir::TensorId tensor) const {
  const BoundTensor& shape = bound.tensors[tensor.index];
  std::vector<std::byte> out(static_cast<size_t>(shape.allocation_elements * shape.element_bytes));
  (*memory)[tensor.index].read(0, static_cast<int64_t>(out.size()), out.data());
  return out;
}

Replay replay(const ir::Function& function, const Problem& problem, const Schedule& schedule, int64_t block) {
  MachineOptions options;
  options.blocks = {block};
  options.max_violations = 1;
  MachineRun run = run_machine(function, problem, schedule, options);
  Replay out;
  out.reading_error = std::move(run.reading_error);
  if (!run.violations.empty()) {
    out.violation = std::move(run.violations.front());
  }
  return out;
}

Hunt hunt(const ir::Function& function, const Problem& problem, const std::vector<Schedule>& schedules,
          const MachineOptions& options) {
  Hunt out;
  for (const Schedule& schedule : schedules) {
    out.run = run_machine(function, problem, schedule, options);
    if (!out.run.is_good()) {
      out.schedule = schedule;
      return out;
    }
  }
  return out;
}

}  // namespace tw::emulator
