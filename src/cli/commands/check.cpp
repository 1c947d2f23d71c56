// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "cli/check_file.h"
#include "cli/commands/commands.h"
#include "cli/output.h"
#include "diag/fixit.h"
#include "diag/render.h"
#include "os/files.h"

namespace tw::cli {
namespace {

// "proved  kernels/gemm/naive.tw.py  sm_80  full  3 configurations  26 obligations  41 ms".
std::string summary_line(const CheckedFile& file) {
  size_t obligations = 0;
  for (const CheckedConfiguration& c : file.configurations) {
    obligations += c.report.obligations.size();
  }
  if (file.configurations.empty()) {
    return fmt::format("{:<10} {}\n", file.verdict, file.file);
  }
  return fmt::format("{:<10} {}  {}  scope {}  {} configuration{}  {} obligations  {:.0f} ms\n", file.verdict,
                     file.file, file.target, verify::name_of(file.scope), file.configurations.size(),
                     file.configurations.size() == 1 ? "" : "s", obligations, file.time_ms);
}

// One file a counterexample: NAME-KERNEL-N.cex.json.
Status write_counterexamples(const CheckedFile& file, const driver::Session& session, const std::string& folder) {
  TW_TRY_STATUS(os::make_folders(folder));
  std::string stem(os::base_name(file.file));
  stem = stem.substr(0, stem.find('.'));
  int number = 0;
  for (const CheckedConfiguration& c : file.configurations) {
    for (const verify::Obligation& o : c.report.obligations) {
      if (!o.counterexample || o.verdict != verify::Verdict::Refuted) {
        continue;
      }
      json::Value value = verify::to_json(*o.counterexample, session.sources);
      value.set("file", file.file);
      value.set("kernel", c.kernel);
      json::Object constants;
      for (const auto& [name, bound] : c.constants) {
        constants.set(name, bound);
      }
      value.set("constants", std::move(constants));
      value.set("target", file.target);
      value.set("ir_hash", c.ir_hash);
      const std::string path = os::join_path(folder, fmt::format("{}-{}-{}.cex.json", stem, c.kernel, ++number));
      TW_TRY_STATUS(os::write_file_atomic(path, json::write(value, 2) + "\n"));
    }
  }
  return {};
}

// Applies the first safe fix-it of the file's diagnostics; true when the text changed.
Result<bool> apply_fix(const driver::Session& session, const std::string& path) {
  for (const diag::Diagnostic& d : session.sink.diagnostics()) {
    for (const diag::FixIt& fix : d.fixits) {
      const bool is_here = !fix.edits.empty() && session.sources.name(fix.edits.front().span.file) == path;
      if (fix.applicability != diag::Applicability::Safe || !is_here) {
        continue;
      }
      auto fixed = diag::apply_fixit(fix, fix.edits.front().span.file, session.sources);
      if (!fixed) {
        continue;
      }
      TW_TRY_STATUS(os::write_file_atomic(path, *fixed));
      return true;
    }
  }
  return false;
}

constexpr int kMostFixes = 20;

}  // namespace

ExitCode check_command(const Options& options) {
  driver::Session task_session;
  std::optional<task::Task> task;
  if (!options.task.empty()) {
    auto loaded = task::load(options.task, task_session.sources, task_session.sink);
    if (!loaded) {
      print_diagnostics(task_session, options.format);
      return ExitCode::Usage;
    }
    task = *std::move(loaded);
  }
  json::Array entries;
  std::string text;
  ExitCode exit_code = ExitCode::Good;
  for (const std::string& path : options.files) {
    CheckedFile file;
    driver::Session own;
    for (int fixes = 0;; ++fixes) {
      own = driver::Session();
      file = check_file(own, path, options, task ? &*task : nullptr);
      if (!options.wants_fix || fixes == kMostFixes) {
        break;
      }
      auto changed = apply_fix(own, path);
      if (!changed) {
        print_error(diag::codes::OutputNotWritten::kInfo, changed.error(), options);
        return ExitCode::Usage;
      }
      if (!*changed) {
        break;
      }
    }
    print_diagnostics(own, options.format);
    if (!options.cex_folder.empty()) {
      if (auto written = write_counterexamples(file, own, options.cex_folder); !written) {
        print_error(diag::codes::OutputNotWritten::kInfo, written.error(), options);
        return ExitCode::Usage;
      }
    }
    exit_code = worse(exit_code, file.exit_code);
    entries.push_back(to_json(file, own));
    text += summary_line(file);
  }
  if (options.format == Format::Json) {
    print_json(json::Object{{"schema", "tw.check/1"}, {"files", std::move(entries)}});
  } else {
    print_result(text);
  }
  return exit_code;
}

}  // namespace tw::cli
