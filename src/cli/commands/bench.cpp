// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/output.h"
#include "mutate/campaign.h"
#include "os/env.h"
#include "os/files.h"

namespace tw::cli {
namespace {

constexpr int kDefaultMutants = 200;

// The shipped kernels, or those that the command line names.
Result<std::vector<std::string>> kernel_files(const Options& options) {
  if (options.files.size() > 1) {
    return std::vector<std::string>(options.files.begin() + 1, options.files.end());
  }
  TW_TRY(std::string data, os::data_folder());
  const std::string top = data + "/kernels";
  TW_TRY(std::vector<std::string> folders, os::list_folder(top));
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    if (!os::is_folder(top + "/" + folder)) {
      continue;
    }
    TW_TRY(std::vector<std::string> names, os::list_folder(top + "/" + folder));
    for (const std::string& name : names) {
      if (name.ends_with(".tw.py")) {
        out.push_back(top + "/" + folder + "/" + name);
      }
    }
  }
  return out;
}

void print_progress(const mutate::MutantResult& r, size_t done, size_t all, const std::string& file) {
  const std::string_view emulator = !r.is_built                                 ? "not built"
                                    : r.emulator == mutate::EmulatorSays::Wrong ? "wrong"
                                                                                : "right";
  print_progress_line(fmt::format("[{}/{}] {} of {}: {}{}{}{}", done, all, r.mutant.name(), file, emulator,
                                  r.is_built ? fmt::format(" on the emulator, {}", verify::name_of(r.verdict)) : "",
                                  r.verdict == verify::Verdict::Refuted && !r.is_replayed ? ", not replayed" : "",
                                  r.is_missed() ? " MISSED" : ""));
}

ExitCode bench_mutants(const Options& options) {
  auto files = kernel_files(options);
  if (!files) {
    print_error(diag::codes::DataMissing::kInfo, files.error(), options);
    return ExitCode::Environment;
  }
  driver::Session session;
  std::vector<std::vector<driver::CompiledKernel>> kernels;
  kernels.reserve(files->size());
  std::vector<mutate::Subject> subjects;
  for (const std::string& file : *files) {
    auto text = read_input(file);
    if (!text) {
      print_error(diag::codes::InputUnreadable::kInfo, text.error(), options);
      return ExitCode::Usage;
    }
    auto compiled = driver::compile(session, {file, *text, options.target, {}, true});
    if (!compiled || compiled->empty()) {
      print_diagnostics(session, options.format);
      return is_unreadable(session) ? ExitCode::Usage : ExitCode::NotGood;
    }
    kernels.push_back(std::move(*compiled));
    const size_t name = file.rfind("kernels/");
    subjects.push_back({name == std::string::npos ? file : file.substr(name), &kernels.back().front()});
  }
  mutate::CampaignOptions campaign_options;
  campaign_options.seed = options.seed.value_or(1);
  campaign_options.count = options.mutants > 0 ? static_cast<int>(options.mutants) : kDefaultMutants;
  campaign_options.only = options.only;
  campaign_options.progress = [&](const mutate::MutantResult& r, size_t done, size_t all) {
    print_progress(r, done, all, subjects[r.mutant.subject].file);
  };
  const mutate::Campaign campaign = mutate::run_campaign(subjects, campaign_options, session.sources);
  if (campaign.results.empty()) {
    print_error(
        diag::codes::BadUsage::kInfo,
        {options.only.empty() ? std::string("these kernels offer no place for a mutant")
                              : fmt::format("`--only={}` names no operator and place of these kernels", options.only),
         {}},
        options);
    return ExitCode::Usage;
  }
  const json::Value record = mutate::to_json(campaign, subjects, session.sources);
  if (!options.output.empty()) {
    if (auto written = write_output(options.output, json::write(record, 2) + "\n"); !written) {
      print_error(diag::codes::OutputNotWritten::kInfo, written.error(), options);
      return ExitCode::Usage;
    }
  }
  if (options.format == Format::Json) {
    print_json(record);
  } else {
    std::string out;
    for (std::string_view key : {"seed", "mutants", "not_built", "emulator_wrong", "refuted", "unknown", "missed",
                                 "false_alarms", "replayed"}) {
      out += fmt::format("{:<15} {}\n", key, json::write(*record.find(key)));
    }
    for (const json::Value& entry : record.find("missed_list")->as_array()) {
      out += fmt::format("missed: {} of {} ({})\n", *entry.get_string("mutant"), *entry.get_string("kernel"),
                         *entry.get_string("verdict"));
    }
    print_result(out);
  }
  const bool is_good = campaign.missed() == 0 && campaign.false_alarms.empty() && campaign.wrong_originals.empty();
  return is_good ? ExitCode::Good : ExitCode::NotGood;
}

}  // namespace

ExitCode bench_command(const Options& options) {
  const std::string& suite = options.files.front();
  if (suite == "mutants") {
    return bench_mutants(options);
  }
  print_error(diag::codes::UnknownSuite::kInfo, {fmt::format("`{}`; there is: mutants", suite), {}}, options);
  return ExitCode::Usage;
}

}  // namespace tw::cli
