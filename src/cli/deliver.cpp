// SPDX-License-Identifier: Apache-2.0
#include "cli/deliver.h"

#include <fmt/format.h>

#include "agent/candidate.h"
#include "cli/version.h"
#include "codegen/launch.h"
#include "os/files.h"
#include "report/report.h"
#include "targets/cuda/emit.h"

namespace tw::cli {
namespace {

json::Object proof_of(const agent::CheckOutcome& check, const task::Task& task, const std::string& file) {
  const driver::CompiledKernel& kernel = *check.kernel;
  json::Array obligations;
  diag::SourceManager no_sources;
  for (const verify::Obligation& o : check.report->obligations) {
    verify::Obligation without_place = o;
    without_place.span = {};
    obligations.push_back(verify::to_json(without_place, no_sources));
  }
  json::Array assumptions;
  for (const std::string& a : check.report->assumptions) {
    assumptions.push_back(a);
  }
  json::Array preconditions;
  for (const codegen::Precondition& p : codegen::plan_launch(kernel.lowered).preconditions) {
    preconditions.push_back(p.text);
  }
  json::Array not_covered;
  for (const std::string& text : check.report->not_covered) {
    not_covered.push_back(text);
  }
  json::Object constants;
  for (const auto& [name, value] : kernel.constants) {
    constants.set(name, value);
  }
  return {{"file", file},
          {"kernel", kernel.name},
          {"target", kernel.lowered.machine->name},
          {"ir_hash", kernel.ir_hash},
          {"verdict", check.verdict},
          {"scope", verify::name_of(check.scope)},
          {"configurations", json::Array{json::Object{{"constants", std::move(constants)}, {"ir_hash", kernel.ir_hash}}}},
          {"obligations", std::move(obligations)},
          {"assumptions", std::move(assumptions)},
          {"preconditions", std::move(preconditions)},
          {"not_covered", std::move(not_covered)},
          {"task", json::Object{{"name", task.name}, {"hash", task.content_hash}}}};
}

// One kernel's files; returns its entry of the proof.
Result<json::Object> write_kernel(const std::string& folder, const std::string& stem, const agent::BestKernel& best,
                                  const task::Task& task, const std::string& target) {
  const agent::CheckOutcome check = agent::check_candidate(best.text, task, target);
  if (!check.is_proved()) {
    return fail(fmt::format("`{}` was proved during the run and is {} now", stem, check.verdict));
  }
  TW_TRY(const std::string source, targets::cuda::emit(check.kernel->lowered, {nullptr, true}));
  TW_TRY_STATUS(os::write_file_atomic(os::join_path(folder, stem + ".tw.py"), best.text));
  TW_TRY_STATUS(os::write_file_atomic(os::join_path(folder, stem + ".cu"), source));
  return proof_of(check, task, stem + ".tw.py");
}

}  // namespace

Status deliver(const std::string& folder, const task::Task& task, const agent::RunResult& result, const std::string& target,
               store::Store& store, const std::string& run_id) {
  TW_TRY_STATUS(os::make_folders(folder));
  json::Array kernels;
  if (result.best) {
    TW_TRY(json::Object proof, write_kernel(folder, "kernel", *result.best, task, target));
    kernels.push_back(std::move(proof));
    const bool needs_fallback = !result.best->narrowing.empty();
    if (needs_fallback && result.general) {
      TW_TRY(json::Object fallback, write_kernel(folder, "kernel_any", *result.general, task, target));
      kernels.push_back(std::move(fallback));
    }
    json::Object proof_file{{"schema", "tw.proof/1"}, {"tools", json::Object{{"tilewright", version_text()}, {"z3", "4.13.4"}}}};
    // The fast kernel's entry at the top level; all kernels, with the condition under which each is called, in `kernels`.
    for (const auto& [name, value] : kernels.front().as_object().members()) {
      proof_file.set(name, value);
    }
    proof_file.set("kernels", std::move(kernels));
    TW_TRY_STATUS(os::write_file_atomic(os::join_path(folder, "proof.json"), json::write(proof_file, 2) + "\n"));
  }
  auto collected = report::collect(store, run_id);
  if (!collected) {
    return fail(collected.error().error);
  }
  return os::write_file_atomic(os::join_path(folder, "report.html"), report::to_html(*collected));
}

}  // namespace tw::cli
