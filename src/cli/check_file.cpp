// SPDX-License-Identifier: Apache-2.0
#include "cli/check_file.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>

#include "cli/output.h"
#include "diag/render.h"

namespace tw::cli {
namespace {

// The verdict that a user must hear of first.
verify::Verdict worst(verify::Verdict a, verify::Verdict b) {
  auto rank = [](verify::Verdict v) {
    switch (v) {
      case verify::Verdict::Proved:
        return 0;
      case verify::Verdict::Vacuous:
        return 1;
      case verify::Verdict::Unknown:
        return 2;
      case verify::Verdict::Refuted:
        return 3;
    }
    return 3;
  };
  return rank(a) >= rank(b) ? a : b;
}

ExitCode exit_code_of(verify::Verdict verdict) {
  switch (verdict) {
    case verify::Verdict::Proved:
      return ExitCode::Good;
    case verify::Verdict::Refuted:
      return ExitCode::NotGood;
    default:
      return ExitCode::Undecided;
  }
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

json::Value constants_json(const sema::Binding& binding) {
  json::Object out;
  for (const auto& [name, value] : binding) {
    out.set(name, value);
  }
  return out;
}

}  // namespace

CheckedFile check_file(driver::Session& session, const std::string& path, const Options& options,
                       const task::Task* task) {
  const auto start = std::chrono::steady_clock::now();
  CheckedFile out;
  out.file = path;
  auto text = read_input(path);
  if (!text) {
    print_error(diag::codes::InputUnreadable::kInfo, text.error(), options);
    out.verdict = "unreadable";
    out.exit_code = ExitCode::Usage;
    return out;
  }
  const size_t before = session.sink.diagnostics().size();
  auto kernels = driver::compile(session, {path, *text, options.target, options.parameters, false});
  if (!kernels) {
    const bool unreadable = is_unreadable(session, before);
    out.verdict = unreadable ? "unreadable" : "rejected";
    out.exit_code = unreadable ? ExitCode::Usage : ExitCode::NotGood;
    out.time_ms = ms_since(start);
    return out;
  }
  verify::Verdict verdict = verify::Verdict::Proved;
  bool is_full = true;
  for (driver::CompiledKernel& kernel : *kernels) {
    const diag::ContextScope context(session.sink, fmt::format("while checking `{}` in the configuration {}",
                                                               kernel.name, sema::to_string(kernel.constants)));
    verify::Options check_options;
    check_options.effort = static_cast<int>(std::clamp<int64_t>(options.effort, 1, 1000));
    check_options.task = task == nullptr ? nullptr : &task->computation;
    verify::Report report = verify::check(kernel.source, kernel.lowered, check_options, session.sink);
    verdict = worst(verdict, report.verdict);
    is_full = is_full && report.scope == verify::Scope::Full;
    out.target = kernel.lowered.machine->name;
    out.configurations.push_back({kernel.name, kernel.constants, kernel.ir_hash, std::move(report)});
  }
  out.ir_hash = driver::combined_hash(*kernels);
  out.verdict = verify::name_of(verdict);
  out.scope = is_full && verdict == verify::Verdict::Proved ? verify::Scope::Full : verify::Scope::Order;
  out.exit_code = exit_code_of(verdict);
  out.time_ms = ms_since(start);
  return out;
}

json::Value to_json(const CheckedFile& file, const driver::Session& session) {
  json::Array configurations;
  json::Array obligations;
  json::Array counterexamples;
  std::vector<std::string> assumptions;
  for (const CheckedConfiguration& c : file.configurations) {
    configurations.push_back(json::Object{{"kernel", c.kernel},
                                          {"constants", constants_json(c.constants)},
                                          {"ir_hash", c.ir_hash},
                                          {"verdict", verify::name_of(c.report.verdict)},
                                          {"scope", verify::name_of(c.report.scope)}});
    const std::string prefix =
        file.configurations.size() > 1 ? fmt::format("{}[{}]/", c.kernel, configurations.size() - 1) : "";
    for (const verify::Obligation& o : c.report.obligations) {
      json::Value entry = verify::to_json(o, session.sources);
      entry.set("id", prefix + o.id);
      if (o.counterexample && o.verdict == verify::Verdict::Refuted) {
        counterexamples.push_back(verify::to_json(*o.counterexample, session.sources));
      }
      obligations.push_back(std::move(entry));
    }
    for (const std::string& assumption : c.report.assumptions) {
      if (std::ranges::find(assumptions, assumption) == assumptions.end()) {
        assumptions.push_back(assumption);
      }
    }
  }
  json::Array assumption_list;
  for (const std::string& assumption : assumptions) {
    assumption_list.push_back(assumption);
  }
  return json::Object{{"file", file.file},
                      {"target", file.target},
                      {"ir_hash", file.ir_hash},
                      {"verdict", file.verdict},
                      {"scope", verify::name_of(file.scope)},
                      {"configurations", std::move(configurations)},
                      {"assumptions", std::move(assumption_list)},
                      {"obligations", std::move(obligations)},
                      {"counterexamples", std::move(counterexamples)},
                      {"time_ms", file.time_ms}};
}

}  // namespace tw::cli
