// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine.h"

#include <algorithm>
#include <fmt/format.h>
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
      machine_.bytes[tensor]->read(element * size, size, got);
      const uint32_t* contributions = machine_.contributions[tensor].find(static_cast<uint64_t>(element));
      const uint32_t received = contributions != nullptr ? *contributions : 0;
      if (received != shadow.contributions) {
        ++mismatches;
        if (element < first_element) {
          first_element = element;
          first = describe(ViolationKind::MissingContribution, tensor, element, shadow);
          first->missing =
              fmt::format("the machine combined {} contributions, the reading {}", received, shadow.contributions);
        }
        continue;
      }
      if (is_within_reassociation(type, expected, got, shadow)) {
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
  static std::string text(ElementType type, const std::byte* bytes) {
    return element_text(type, value_of(type, bytes));
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

struct Launch {
  BoundProblem bound;
  LaunchPlan plan;
};

Result<Launch, ReadingError> prepare(const ir::Function& function, const Problem& problem) {
  Launch launch;
  TW_TRY(launch.bound, bind(function, problem));
  launch.plan = make_plan(function, launch.bound);
  if (!launch.plan.problem.empty()) {
    ReadingError error;
    error.kind = ReadingErrorKind::Unsupported;
    error.message = launch.plan.problem;
    error.span = function.span;
    return fail(std::move(error));
  }
  return launch;
}

ReadingOptions reading_options(const MachineOptions& options) {
  ReadingOptions out;
  out.limits = options.limits;
  out.mma_in_any_order = options.tensor_core_model;
  return out;
}

// False: there is nothing to learn from further blocks.
bool run_block(const Launch& launch, const BlockReading& reading, const Schedule& schedule,
               const MachineOptions& options, MachineMemory& memory, MachineRun& run) {
  Schedule of_block = schedule;
  of_block.seed += static_cast<uint64_t>(reading.walk.block) * 7919;
  BlockMachine machine(launch.bound, launch.plan, reading, memory, options.max_violations, run.violations);
  machine.uses_tensor_core_model = options.tensor_core_model;
  const BlockOutcome outcome =
      run_schedule(machine, reading.walk, of_block, launch.plan.threads, launch.plan.warp_threads, run.violations);
  run.steps += outcome.steps;
  run.hold_expired = run.hold_expired || outcome.hold_expired;
  return !machine.is_stopped();
}

}  // namespace

MachineRun run_machine(const ir::Function& function, const Problem& problem, const Schedule& schedule,
                       const MachineOptions& options) {
  MachineRun run;
  auto launch = prepare(function, problem);
  if (!launch) {
    run.reading_error = std::move(launch).error();
    return run;
  }
  MachineMemory memory = make_machine_memory(launch->bound, problem);
  run.memory = memory.bytes;
  run.reading_memory = std::make_shared<ReadingMemory>(launch->bound, problem);
  for (int64_t block : blocks_to_run(options, launch->bound.grid, schedule)) {
    auto reading = read_block(launch->bound, block, reading_options(options), true, *run.reading_memory);
    if (!reading) {
      run.reading_error = std::move(reading).error();
      break;
    }
    if (!run_block(*launch, *reading, schedule, options, memory, run)) {
      break;
    }
  }
  if (run.is_good() && options.compare_outputs) {
    OutputComparison(launch->bound, memory, *run.reading_memory, options.max_violations, run.violations).run();
  }
  if (run.is_good() && options.check_coverage && options.blocks.empty()) {
    run.reading_error = find_unwritten(launch->bound, *run.reading_memory);
  }
  run.bound = std::move(launch->bound);
  return run;
}

std::vector<std::byte> MachineRun::bytes_of(ir::TensorId tensor) const {
  const BoundTensor& shape = bound.tensors[tensor.index];
  std::vector<std::byte> out(static_cast<size_t>(shape.allocation_elements * shape.element_bytes));
  memory[tensor.index]->read(0, static_cast<int64_t>(out.size()), out.data());
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
  auto launch = prepare(function, problem);
  if (!launch) {
    out.run.reading_error = std::move(launch).error();
    return out;
  }
  auto reading_memory = std::make_shared<ReadingMemory>(launch->bound, problem);
  std::vector<MachineMemory> memories;
  std::vector<MachineRun> runs(schedules.size());
  for (size_t s = 0; s < schedules.size(); ++s) {
    memories.push_back(make_machine_memory(launch->bound, problem, s == 0 ? nullptr : memories.data()));
  }
  auto take = [&](size_t s) {
    out.run = std::move(runs[s]);
    out.run.memory = memories[s].bytes;
    out.run.reading_memory = reading_memory;
    out.run.bound = std::move(launch->bound);
    if (!out.run.is_good()) {
      out.schedule = schedules[s];
    }
  };
  for (int64_t block : blocks_to_run(options, launch->bound.grid, {})) {
    auto reading = read_block(launch->bound, block, reading_options(options), true, *reading_memory);
    if (!reading) {
      out.run.reading_error = std::move(reading).error();
      return out;
    }
    for (size_t s = 0; s < schedules.size(); ++s) {
      run_block(*launch, *reading, schedules[s], options, memories[s], runs[s]);
      if (!runs[s].is_good()) {
        take(s);
        return out;
      }
    }
  }
  if (options.check_coverage && options.blocks.empty()) {
    out.run.reading_error = find_unwritten(launch->bound, *reading_memory);
    if (out.run.reading_error) {
      return out;
    }
  }
  for (size_t s = 0; s < schedules.size(); ++s) {
    if (options.compare_outputs) {
      OutputComparison(launch->bound, memories[s], *reading_memory, options.max_violations, runs[s].violations).run();
    }
    if (!runs[s].is_good() || s + 1 == schedules.size()) {
      take(s);
      return out;
    }
  }
  return out;
}

}  // namespace tw::emulator
