// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/loop.h"
#include "cli/commands/commands.h"
#include "cli/deliver.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "cli/version.h"
#include "os/env.h"
#include "os/files.h"
#include "os/signals.h"
#include "rewrite/moves.h"
#include "target/machine.h"
#include "toolchain/compiler.h"

namespace tw::cli {
namespace {

// time=10m,steps=60
Status parse_budget(const std::string& text, agent::Request& request) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    int64_t number = 0;
    const char* first = item.data() + (equals == std::string::npos ? item.size() : equals + 1);
    const char* last = item.data() + item.size();
    auto [rest, error] = std::from_chars(first, last, number);
    const std::string unit(rest, last);
    if (error != std::errc() || number <= 0) {
      return fail(fmt::format("`{}` in the budget is not KEY=NUMBER with a positive number", item));
    }
    if (key == "steps" && unit.empty()) {
      request.max_steps = number;
    } else if (key == "time" && (unit == "s" || unit == "m" || unit == "h")) {
      request.max_seconds = static_cast<double>(number) * (unit == "h" ? 3600 : unit == "m" ? 60 : 1);
    } else {
      return fail(fmt::format("`{}`: a budget is time=NUMBER(s|m|h) and steps=NUMBER, separated by commas", item));
    }
  }
  return {};
}

Result<agent::Request> make_request(const Options& options, const task::Task& task) {
  agent::Request request;
  request.target = options.target.empty() ? task.target : options.target;
  request.seed = options.seed.value_or(1);
  request.without_moves = options.without_moves;
  for (const std::string& move : request.without_moves) {
    if (rewrite::find_move(move) == nullptr) {
      std::string known;
      for (const rewrite::Move& m : rewrite::moves()) {
        known += (known.empty() ? "" : ", ") + std::string(m.name);
      }
      return fail(fmt::format("no move `{}`; the menu is {}", move, known));
    }
  }
  if (target::find_machine(request.target) == nullptr) {
    std::string known;
    for (const target::Machine& machine : target::machines()) {
      known += (known.empty() ? "" : ", ") + std::string(machine.name);
    }
    return fail(fmt::format("unknown target `{}`; known targets are {}", request.target, known));
  }
  TW_TRY_STATUS(parse_budget(options.budget, request));
  return request;
}

// The program of --from; what is wrong with it is printed. A kernel that is rejected may be where a run starts (the
// loop tries to mend it), but not a text in which there is none.
Result<std::string, ExitCode> read_start(const agent::Request& request, const Options& options) {
  auto text = read_input(options.from);
  if (!text) {
    print_error(diag::codes::InputUnreadable::kInfo, text.error(), options);
    return fail(ExitCode::Usage);
  }
  driver::Session session;
  auto kernels = driver::compile(session, {options.from, *text, request.target, {}, true});
  print_diagnostics(session, options.format);
  if (is_unreadable(session)) {
    return fail(ExitCode::Usage);
  }
  for (const diag::Diagnostic& d : session.sink.diagnostics()) {
    if (d.code->number == diag::codes::NoKernel::kInfo.number) {
      return fail(ExitCode::NotGood);
    }
  }
  return *text;
}

void print_plan(const agent::Request& request, const task::Task& task) {
  std::string text = fmt::format("task {} ({}), target {}, author builtin (no network, no cost)\n", task.name,
                                 task.path, request.target);
  text += request.from_text.empty() ? "start: the simplest program of the family in kernels/\n"
                                    : "start: the given program\n";
  for (const rewrite::Move& move : rewrite::moves()) {
    text += fmt::format("  {:<16} {}\n", move.name, move.summary);
  }
  print_result(text);
}

json::Object best_json(const agent::BestKernel& best) {
  json::Array moves;
  for (const std::string& move : best.moves) {
    moves.push_back(move);
  }
  json::Array assumes;
  for (const std::string& condition : best.narrowing) {
    assumes.push_back(condition);
  }
  return {{"candidate", best.reference}, {"estimate_us", best.estimate_us}, {"label", "estimate"},
          {"bound", best.bound},         {"moves", std::move(moves)},       {"assumes", std::move(assumes)}};
}

json::Object summary_of(const agent::RunResult& result) {
  json::Object out{{"reason", result.reason}};
  if (result.best) {
    out.set("best", result.best->reference);
    out.set("kernel", best_json(*result.best));
  }
  if (result.general) {
    out.set("general", best_json(*result.general));
  }
  return out;
}

void print_outcome(const agent::RunResult& result, const std::string& run_id, const std::string& folder,
                   const Options& options) {
  if (options.format == Format::Json) {
    json::Object out{{"schema", "tw.optimize/1"}, {"run", run_id}, {"output", folder}};
    const json::Object summary = summary_of(result);
    for (const auto& [name, value] : summary.members()) {
      out.set(name, value);
    }
    print_json(std::move(out));
    return;
  }
  std::string text = fmt::format("run {}: {}\n", run_id, result.reason);
  if (result.best) {
    text += fmt::format("best kernel: proved, scope full, {:.1f} us (estimate, bound by {})\n",
                        result.best->estimate_us, result.best->bound);
    for (const std::string& move : result.best->moves) {
      text += "  " + move + "\n";
    }
    if (!result.best->narrowing.empty()) {
      text += fmt::format("it assumes {}", fmt::join(result.best->narrowing, " and "));
      text += result.general ? fmt::format("; a second kernel ({:.1f} us by estimate) serves every other size\n",
                                           result.general->estimate_us)
                             : std::string("; no proved kernel serves the other sizes\n");
    }
  }
  if (!folder.empty() && result.best) {
    text += fmt::format("written: {0}/kernel.tw.py {0}/kernel.cu {0}/proof.json {0}/report.html\n", folder);
  } else if (!folder.empty()) {
    text += fmt::format("written: {}/report.html; a kernel that is there is of an earlier run\n", folder);
  }
  print_result(text);
}

// Before hours of work, not after: can the results be written where they are wanted? Failures are printed.
bool can_deliver(const Options& options) {
  if (options.output.empty()) {
    return true;
  }
  auto prepared = prepare_delivery(options.output);
  if (!prepared) {
    print_error(diag::codes::OutputNotWritten::kInfo, prepared.error(), options);
  }
  return prepared.has_value();
}

// Runs the loop under the lock of its run, records how it ended and hands over.
ExitCode drive(store::Store& store, const store::RunLock& lock, const task::Task& task, const agent::Request& request,
               std::vector<store::Step> recorded, const Options& options) {
  toolchain::CompilerConfig config;
  config.build_id = version_text();
  if (auto cache = os::cache_folder()) {
    config.cache_folder = os::join_path(*cache, "cuda");
  }
  auto compiler = toolchain::CudaCompiler::find(config);
  agent::Recorder recorder(store, lock, std::move(recorded));
  agent::Progress progress;
  progress.say = [](const std::string& line) { print_progress_line(line); };
  os::catch_interrupts();
  auto result = agent::run_loop(task, request, recorder, compiler ? &*compiler : nullptr, progress);
  if (!result && recorder.store_error()) {
    // Nothing is wrong with the run: it reads as interrupted, and can be resumed when there is room again.
    return print_store_error(*recorder.store_error(), options);
  }
  if (!result) {
    static_cast<void>(store.set_state(lock, store::RunState::Failed, json::Object{{"reason", result.error().message}}));
    print_error(diag::codes::RunNotPossible::kInfo, result.error(), options);
    return ExitCode::NotGood;
  }
  if (result->is_interrupted) {
    static_cast<void>(store.set_state(lock, store::RunState::Interrupted, summary_of(*result)));
    print_progress_line(fmt::format("interrupted; go on with: tilewright optimize --resume={}", lock.run_id()));
    return ExitCode::Interrupted;
  }
  // Delivered first: a run that is done has its results on disk.
  if (!options.output.empty()) {
    if (auto delivered = deliver(options.output, task, *result, request.target, store, lock.run_id()); !delivered) {
      print_error(diag::codes::OutputNotWritten::kInfo, delivered.error(), options);
      return ExitCode::Usage;
    }
  }
  const bool is_good = result->best.has_value();
  if (auto ended =
          store.set_state(lock, is_good ? store::RunState::Done : store::RunState::Failed, summary_of(*result));
      !ended) {
    return print_store_error(ended.error(), options);
  }
  // Once more, now that the record says how it ended.
  if (!options.output.empty()) {
    if (auto delivered = deliver(options.output, task, *result, request.target, store, lock.run_id()); !delivered) {
      print_error(diag::codes::OutputNotWritten::kInfo, delivered.error(), options);
      return ExitCode::Usage;
    }
  }
  print_outcome(*result, lock.run_id(), options.output, options);
  return is_good ? ExitCode::Good : ExitCode::NotGood;
}

ExitCode resume(store::Store& store, const Options& options) {
  std::string run_id = *options.resume;
  if (run_id.empty()) {
    auto newest = store.newest_unfinished();
    if (!newest) {
      return print_store_error(newest.error(), options);
    }
    if (!*newest) {
      print_error(diag::codes::BadUsage::kInfo, {"there is no unfinished run to resume", {}}, options);
      return ExitCode::Usage;
    }
    run_id = **newest;
  }
  auto resolved = store.resolve(run_id);
  if (!resolved) {
    return print_store_error(resolved.error(), options);
  }
  auto lock = store.lock_run(*resolved);
  auto run = store.run(*resolved);
  auto steps = store.steps(*resolved);
  if (!lock || !run || !steps) {
    return print_store_error(!lock ? lock.error() : !run ? run.error() : steps.error(), options);
  }
  auto request = agent::request_from_json(run->config);
  const json::Value* task_json = run->config.find("task");
  auto text = task_json != nullptr ? task_json->get_string("text") : Result<std::string>(fail("the run names no task"));
  auto path = task_json != nullptr ? task_json->get_string("path") : Result<std::string>(fail("the run names no task"));
  if (!request || !text || !path) {
    print_error(diag::codes::RunNotPossible::kInfo,
                !request ? request.error()
                : !text  ? text.error()
                         : path.error(),
                options);
    return ExitCode::Usage;
  }
  driver::Session session;
  auto task = task::parse(*path, *text, session.sources, session.sink);
  if (!task) {
    print_diagnostics(session, options.format);
    return ExitCode::Usage;
  }
  if (!can_deliver(options)) {
    return ExitCode::Usage;
  }
  static_cast<void>(store.set_state(*lock, store::RunState::Running, nullptr));
  return drive(store, *lock, *task, *request, *std::move(steps), options);
}

}  // namespace

ExitCode optimize_command(const Options& options) {
  auto store = open_store(options, store::Access::ReadWrite);
  if (!store) {
    return store.error();
  }
  if (options.resume) {
    return resume(*store, options);
  }
  if (options.files.empty()) {
    print_error(diag::codes::BadUsage::kInfo, {"a task is needed, or --resume", {}}, options);
    return ExitCode::Usage;
  }
  if (!options.on.empty() && options.on != "emulator") {
    print_error(diag::codes::BadUsage::kInfo,
                {fmt::format("`--on={}`; this version optimizes on the emulator", options.on), {}}, options);
    return ExitCode::Usage;
  }
  driver::Session session;
  auto task = task::load(options.files.front(), session.sources, session.sink);
  print_diagnostics(session, options.format);
  if (!task) {
    return ExitCode::Usage;
  }
  auto request = make_request(options, *task);
  if (!request) {
    print_error(diag::codes::BadUsage::kInfo, request.error(), options);
    return ExitCode::Usage;
  }
  if (!options.from.empty()) {
    auto start = read_start(*request, options);
    if (!start) {
      return start.error();
    }
    request->from_text = *start;
  }
  if (options.is_dry_run) {
    print_plan(*request, *task);
    return ExitCode::Good;
  }
  if (!can_deliver(options)) {
    return ExitCode::Usage;
  }
  auto lock = store->create_run(task->name, agent::to_json(*request, *task));
  if (!lock) {
    return print_store_error(lock.error(), options);
  }
  print_progress_line(fmt::format("run {} in {}", lock->run_id(), store->folder()));
  return drive(*store, *lock, *task, *request, {}, options);
}

}  // namespace tw::cli
