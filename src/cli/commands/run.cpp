// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "cli/commands/commands.h"
#include "cli/compile_one.h"
#include "cli/gpu_run.h"
#include "cli/output.h"
#include "emulator/machine.h"
#include "eval/evaluation.h"
#include "task/task.h"
#include "verify/machine/machine_obligations.h"
#include "verify/machine/witness.h"
#include "verify/verify.h"

namespace tw::cli {
namespace {

constexpr size_t kProblems = 6;
constexpr size_t kSchedules = 6;
constexpr double kMostElements = 1 << 24;

double elements_of(const emulator::BoundProblem& problem) {
  double count = 0;
  for (const emulator::BoundTensor& tensor : problem.tensors) {
    count += static_cast<double>(tensor.allocation_elements);
  }
  return count;
}

// Without a task: does the machine keep the reading, on small problems (or the one given) under several schedules?
ExitCode run_against_reading(const driver::CompiledKernel& kernel, const Options& options) {
  const ir::Function& f = kernel.lowered;
  std::map<ir::SymbolId, int64_t> fixed;
  for (const auto& [name, value] : options.sizes) {
    auto size = std::ranges::find_if(f.sizes, [&](ir::SymbolId id) { return f.exprs.symbol(id).name == name; });
    if (size == f.sizes.end()) {
      print_error(diag::codes::BadUsage::kInfo, {fmt::format("`{}` has no size `{}`", f.name, name), {}}, options);
      return ExitCode::Usage;
    }
    fixed[*size] = value;
  }
  const uint64_t seed = options.seed.value_or(1);
  const auto problems = verify::small_problems(f, fixed, fixed.size() == f.sizes.size() ? 1 : kProblems);
  for (const emulator::Problem& problem : problems) {
    // Sizes that no tensor can have are found by the run itself; these ones could be had, but not in a lifetime.
    if (auto bound = emulator::bind(f, problem); bound && elements_of(*bound) > kMostElements) {
      print_error(diag::codes::RunNotPossible::kInfo,
                  {fmt::format("at these sizes the tensors have {:.3g} elements; the emulator runs all of a launch and "
                               "takes at most {} (choose smaller sizes with `--size`)",
                               elements_of(*bound), static_cast<int64_t>(kMostElements)),
                   {}},
                  options);
      return ExitCode::Usage;
    }
  }
  if (problems.empty()) {
    print_error(diag::codes::RunNotPossible::kInfo,
                {fmt::format("no launch of `{}`: {} its `assume`s", f.name,
                             fixed.empty() ? "no small sizes satisfy" : "these sizes do not satisfy"),
                 {}},
                options);
    return ExitCode::Usage;
  }
  json::Array runs;
  std::string text;
  bool is_good = true;
  size_t launches = 0;
  for (emulator::Problem problem : problems) {
    problem.seed = seed;
    for (const emulator::Schedule& schedule : emulator::standard_schedules(f.threads, kSchedules, seed)) {
      const emulator::MachineRun run = emulator::run_machine(f, problem, schedule);
      ++launches;
      if (run.is_good()) {
        continue;
      }
      is_good = false;
      std::string sizes;
      json::Object sizes_json;
      for (const auto& [name, value] : problem.sizes) {
        sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value);
        sizes_json.set(name, value);
      }
      const std::string finding =
          run.reading_error ? run.reading_error->message : emulator::to_string(run.violations.front());
      runs.push_back(json::Object{
          {"sizes", std::move(sizes_json)}, {"schedule", emulator::to_json(schedule)}, {"finding", finding}});
      text += fmt::format("wrong at {} ({}): {}\n", sizes, emulator::to_string(schedule), finding);
      break;
    }
  }
  if (options.format == Format::Json) {
    print_json(json::Object{{"schema", "tw.run/1"},
                            {"file", options.files.front()},
                            {"kernel", kernel.name},
                            {"ir_hash", kernel.ir_hash},
                            {"on", "emulator"},
                            {"launches", launches},
                            {"verdict", is_good ? "kept" : "wrong"},
                            {"findings", std::move(runs)},
                            {"seed", seed}});
  } else {
    print_result(is_good ? fmt::format("{}: the machine keeps the reading in {} launches on the emulator (seed {})\n",
                                       kernel.name, launches, seed)
                         : text);
  }
  return is_good ? ExitCode::Good : ExitCode::NotGood;
}

ExitCode run_against_task(const driver::CompiledKernel& kernel, const task::Task& task, const Options& options) {
  eval::EmulatorOptions eval_options;
  eval_options.seed = options.seed.value_or(1);
  const eval::Evaluation evaluation = eval::evaluate_on_emulator(kernel.lowered, task, eval_options);
  if (options.format == Format::Json) {
    print_json(json::Object{{"schema", "tw.run/1"},
                            {"file", options.files.front()},
                            {"kernel", kernel.name},
                            {"ir_hash", kernel.ir_hash},
                            {"task", task.name},
                            {"on", "emulator"},
                            {"evaluation", evaluation.to_json()}});
  } else {
    print_result(fmt::format("{}: {}\n", kernel.name, evaluation.describe()));
  }
  return evaluation.is_correct() ? ExitCode::Good : ExitCode::NotGood;
}

ExitCode replay(const driver::CompiledKernel& kernel, const task::Task* task, const Options& options) {
  auto text = read_input(options.replay);
  if (!text) {
    print_error(diag::codes::InputUnreadable::kInfo, text.error(), options);
    return ExitCode::Usage;
  }
  auto value = json::parse(*text);
  auto counterexample =
      value ? verify::counterexample_from_json(*value) : Result<verify::Counterexample>(fail(value.error()));
  if (!counterexample) {
    print_error(diag::codes::NotACounterexample::kInfo, counterexample.error(), options);
    return ExitCode::Usage;
  }
  if (auto hash = value->get_string("ir_hash"); hash && *hash != kernel.ir_hash) {
    print_error(diag::codes::NotACounterexample::kInfo,
                {"it was made for another program or configuration (its `ir_hash` differs)", {}}, options);
    return ExitCode::Usage;
  }
  auto finding =
      verify::replay(kernel.source, kernel.lowered, *counterexample, task == nullptr ? nullptr : &task->computation);
  const bool is_shown = finding.has_value();
  if (options.format == Format::Json) {
    print_json(json::Object{{"schema", "tw.replay/1"},
                            {"file", options.files.front()},
                            {"reproduced", is_shown},
                            {"finding", is_shown ? *finding : finding.error().message}});
  } else {
    print_result(is_shown ? fmt::format("reproduced: {}\n", *finding)
                          : fmt::format("not reproduced: {}\n", finding.error().message));
  }
  return is_shown ? ExitCode::NotGood : ExitCode::Undecided;
}

}  // namespace

ExitCode run_command(const Options& options) {
  const std::string on = options.on.empty() ? "emulator" : options.on;
  if (on != "emulator" && on != "gpu") {
    print_error(diag::codes::BadUsage::kInfo,
                {fmt::format("`--on={}`; this version runs on `emulator` and `gpu`", on), {}}, options);
    return ExitCode::Usage;
  }
  driver::Session session;
  OneKernel one;
  if (!options.replay.empty() && options.parameters.empty()) {
    // The counterexample knows its configuration.
    Options with_constants = options;
    if (auto text = read_input(options.replay)) {
      if (auto value = json::parse(*text)) {
        if (const json::Value* constants = value->find("constants"); constants != nullptr && constants->is_object()) {
          for (const auto& [name, bound] : constants->as_object().members()) {
            if (bound.is_int()) {
              with_constants.parameters.emplace_back(name, bound.as_int());
            }
          }
        }
        if (auto target = value->get_string("target"); target && options.target.empty()) {
          with_constants.target = *target;
        }
      }
    }
    one = compile_one(session, options.files.front(), with_constants);
  } else {
    one = compile_one(session, options.files.front(), options);
  }
  if (!one.kernel) {
    return one.exit_code;
  }
  if (options.task.empty()) {
    if (!options.replay.empty()) {
      return replay(*one.kernel, nullptr, options);
    }
    if (on == "gpu") {
      print_error(diag::codes::RunNotPossible::kInfo,
                  {"a run on a GPU needs a task (`--task=`) that judges its output", {}}, options);
      return ExitCode::Usage;
    }
    return run_against_reading(*one.kernel, options);
  }
  driver::Session task_session;
  auto task = task::load(options.task, task_session.sources, task_session.sink);
  if (!task) {
    print_diagnostics(task_session, options.format);
    return ExitCode::Usage;
  }
  if (!options.replay.empty()) {
    return replay(*one.kernel, &*task, options);
  }
  return on == "gpu" ? run_on_gpu(session, *one.kernel, *task, options) : run_against_task(*one.kernel, *task, options);
}

}  // namespace tw::cli
