// SPDX-License-Identifier: Apache-2.0
#include "cli/deliver.h"

#include <fmt/format.h>

#include "agent/candidate.h"
#include "cli/version.h"
#include "codegen/launch.h"
#include "os/files.h"
#include "report/report.h"
#include "rewrite/kernel_view.h"
#include "smt/smt.h"
#include "syntax/parser.h"
#include "syntax/printer.h"
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
  return {
      {"file", file},
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

Result<agent::CheckOutcome> check_again(const std::string& text, const task::Task& task, const std::string& target) {
  agent::CheckOutcome check = agent::check_candidate(text, task, target);
  if (!check.is_proved()) {
    return fail(fmt::format("a kernel that was proved during the run is {} now", check.verdict));
  }
  return check;
}

Result<syntax::Module> parse(const std::string& text) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto module = syntax::parse(sources, sources.add("kernel.tw.py", text), sink);
  if (!module) {
    return fail("the kernel's text does not parse");
  }
  return *std::move(module);
}

// The program with its kernel's name ending in `_any`.
Result<std::string> renamed(const std::string& text) {
  TW_TRY(syntax::Module module, parse(text));
  if (auto view = rewrite::KernelView::of(module)) {
    view->function().name.text += "_any";
  }
  return syntax::print(module);
}

// Both programs in one file; what is the same in both (imports) stands once.
Result<std::string> joined(const std::string& fast, const std::string& general) {
  TW_TRY(syntax::Module module, parse(fast));
  TW_TRY(syntax::Module other, parse(general));
  for (syntax::StmtPtr& stmt : other.body.statements) {
    if (stmt->is<syntax::FunctionDef>()) {
      module.body.statements.push_back(std::move(stmt));
    }
  }
  return syntax::print(module);
}

// Where the program comes from, as comments.
std::string heading(const task::Task& task, const std::vector<std::string>& moves) {
  std::string out =
      fmt::format("# Computes the task {}: written by `tilewright optimize`, proved as proof.json says.\n", task.name);
  for (const std::string& move : moves) {
    out += fmt::format("#   {}\n", move);
  }
  return out;
}

constexpr const char* kDelivered[] = {"kernel.tw.py", "kernel.cu", "proof.json", "report.html"};

}  // namespace

Status prepare_delivery(const std::string& folder) {
  TW_TRY_STATUS(os::make_folders(folder));
  for (const char* name : kDelivered) {
    if (const std::string path = os::join_path(folder, name); os::is_folder(path)) {
      return fail(Error{fmt::format("cannot write `{}`", path), {"it is a folder"}});
    }
  }
  // The only sure test of a right to make files.
  TW_TRY(const os::TempFolder probe, os::TempFolder::make(".tilewright", folder));
  return {};
}

Status deliver(const std::string& folder, const task::Task& task, const agent::RunResult& result,
               const std::string& target, store::Store& store, const std::string& run_id) {
  TW_TRY_STATUS(os::make_folders(folder));
  std::vector<std::pair<std::string, std::string>> files;
  if (result.best) {
    TW_TRY(const agent::CheckOutcome fast, check_again(result.best->text, task, target));
    std::string program = result.best->text;
    json::Array kernels{proof_of(fast, task, "kernel.tw.py")};
    std::string source;
    if (!result.best->narrowing.empty() && result.general) {
      TW_TRY(const std::string text, renamed(result.general->text));
      TW_TRY(const agent::CheckOutcome general, check_again(text, task, target));
      TW_TRY(program, joined(program, text));
      TW_TRY(source, targets::cuda::emit_with_fallback(fast.kernel->lowered, general.kernel->lowered, {}));
      kernels.push_back(proof_of(general, task, "kernel.tw.py"));
    } else {
      TW_TRY(source, targets::cuda::emit(fast.kernel->lowered, {}));
    }
    json::Object proof{{"schema", "tw.proof/1"},
                       {"tools", json::Object{{"tilewright", version_text()}, {"z3", smt::solver_version()}}}};
    // The fast kernel's entry at the top level; all kernels in `kernels`.
    for (const auto& [name, value] : kernels.front().as_object().members()) {
      proof.set(name, value);
    }
    // Sizes outside the fast kernel's assumptions go to the second.
    proof.set("dispatch",
              json::Object{{"serves_whole_domain", result.best->narrowing.empty() || result.general.has_value()}});
    proof.set("kernels", std::move(kernels));
    files = {{os::join_path(folder, "kernel.tw.py"), heading(task, result.best->moves) + program},
             {os::join_path(folder, "kernel.cu"), source},
             {os::join_path(folder, "proof.json"), json::write(proof, 2) + "\n"}};
  }
  auto collected = report::collect(store, run_id);
  if (!collected) {
    return fail(collected.error().error);
  }
  files.emplace_back(os::join_path(folder, "report.html"), report::to_html(*collected));
  return os::write_files_atomic(files);
}

}  // namespace tw::cli
