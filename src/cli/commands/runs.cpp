// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "report/report.h"
#include "store/record.h"

namespace tw::cli {
namespace {

// The store and the run that the command names.
struct Named {
  store::Store store;
  std::string run_id;
};

// Failures are printed.
Result<Named, ExitCode> open_run(const Options& options, const std::string& name) {
  auto store = open_store(options, store::Access::ReadOnly);
  if (!store) {
    return fail(store.error());
  }
  auto resolved = store->resolve(name);
  if (!resolved) {
    return fail(print_store_error(resolved.error(), options));
  }
  return Named{*std::move(store), *resolved};
}

}  // namespace

ExitCode runs_command(const Options& options) {
  auto store = open_store(options, store::Access::ReadOnly);
  if (!store) {
    return store.error();
  }
  auto runs = store->runs();
  if (!runs) {
    return print_store_error(runs.error(), options);
  }
  if (options.format == Format::Json) {
    json::Array list;
    for (const store::Run& run : *runs) {
      list.push_back(store::to_json(run));
    }
    print_json(json::Object{{"runs", std::move(list)}});
    return ExitCode::Good;
  }
  std::string text;
  for (const store::Run& run : *runs) {
    text += fmt::format("{:<11} {}  {}  {} steps\n", store::name_of(run.state), run.id, run.task, run.step_count);
  }
  print_result(text);
  return ExitCode::Good;
}

ExitCode runs_diff_command(const Options& options) {
  auto first = open_run(options, options.files[0]);
  if (!first) {
    return first.error();
  }
  auto second = open_run(options, options.files[1]);
  if (!second) {
    return second.error();
  }
  auto difference = store::diff_runs(first->store, first->run_id, second->run_id);
  if (!difference) {
    return print_store_error(difference.error(), options);
  }
  if (options.format == Format::Json) {
    json::Array list;
    for (const store::Difference& d : *difference) {
      list.push_back(json::Object{{"path", d.path}, {"left", d.left}, {"right", d.right}});
    }
    print_json(json::Object{{"equal", difference->empty()}, {"differences", std::move(list)}});
  } else {
    std::string text = difference->empty() ? "equal\n" : "";
    for (const store::Difference& d : *difference) {
      text += fmt::format("{}: {} | {}\n", d.path, d.left, d.right);
    }
    print_result(text);
  }
  return difference->empty() ? ExitCode::Good : ExitCode::NotGood;
}

ExitCode status_command(const Options& options) {
  auto named = open_run(options, options.files.front());
  if (!named) {
    return named.error();
  }
  auto run = named->store.run(named->run_id);
  if (!run) {
    return print_store_error(run.error(), options);
  }
  if (options.format == Format::Json) {
    print_json(store::to_json(*run));
  } else {
    print_result(fmt::format("{}  {}  {}  {} steps\n{}\n", run->id, run->task, store::name_of(run->state),
                             run->step_count, json::write(run->summary, 2)));
  }
  return ExitCode::Good;
}

ExitCode show_command(const Options& options) {
  auto named = open_run(options, options.files.front());
  if (!named) {
    return named.error();
  }
  auto steps = named->store.steps(named->run_id);
  if (!steps) {
    return print_store_error(steps.error(), options);
  }
  int64_t wanted = -1;
  if (!options.step.empty()) {
    auto [rest, error] = std::from_chars(options.step.data(), options.step.data() + options.step.size(), wanted);
    if (error != std::errc() || wanted < 0 || wanted >= static_cast<int64_t>(steps->size())) {
      print_error(diag::codes::BadUsage::kInfo,
                  {fmt::format("`{}` is no step of the run, which has {}", options.step, steps->size()), {}}, options);
      return ExitCode::Usage;
    }
  }
  std::string text;
  json::Array list;
  for (const store::Step& step : *steps) {
    if (wanted >= 0 && step.index != wanted) {
      continue;
    }
    list.push_back(store::to_json(named->run_id, step));
    text += fmt::format("{:>4} {:<9} {:>9.1f} ms  {}\n", step.index, step.kind, step.time_ms,
                        wanted >= 0 ? "\n" + json::write(step.output, 2) : json::write(step.output).substr(0, 110));
  }
  if (options.format == Format::Json) {
    print_json(wanted >= 0 ? list.front() : json::Value(json::Object{{"steps", std::move(list)}}));
  } else {
    print_result(text);
  }
  return ExitCode::Good;
}

ExitCode report_command(const Options& options) {
  auto named = open_run(options, options.files.front());
  if (!named) {
    return named.error();
  }
  auto collected = report::collect(named->store, named->run_id);
  if (!collected) {
    return print_store_error(collected.error(), options);
  }
  std::string text = options.format == Format::Json ? json::write(report::to_json(*collected), 2) + "\n"
                                                    : report::to_terminal(*collected);
  if (options.output.ends_with(".html")) {
    text = report::to_html(*collected);
  } else if (options.output.ends_with(".md")) {
    text = report::to_markdown(*collected);
  }
  if (auto written = write_output(options.output, text); !written) {
    print_error(diag::codes::OutputNotWritten::kInfo, written.error(), options);
    return ExitCode::Usage;
  }
  return ExitCode::Good;
}

ExitCode export_command(const Options& options) {
  auto named = open_run(options, options.files.front());
  if (!named) {
    return named.error();
  }
  auto exported = store::export_run(named->store, named->run_id);
  if (!exported) {
    return print_store_error(exported.error(), options);
  }
  if (auto written = write_output(options.output, json::write(*exported, 2) + "\n"); !written) {
    print_error(diag::codes::OutputNotWritten::kInfo, written.error(), options);
    return ExitCode::Usage;
  }
  return ExitCode::Good;
}

}  // namespace tw::cli
