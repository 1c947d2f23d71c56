// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "cli/options.h"

namespace tw::cli {

// One function a command, one file a function.
ExitCode bench_command(const Options& options);
ExitCode check_command(const Options& options);
ExitCode emit_command(const Options& options);
ExitCode run_command(const Options& options);
ExitCode explain_command(const Options& options);
ExitCode doctor_command(const Options& options);
ExitCode layout_command(const Options& options);
ExitCode show_cex_command(const Options& options);
ExitCode optimize_command(const Options& options);
ExitCode runs_command(const Options& options);
ExitCode runs_diff_command(const Options& options);
ExitCode status_command(const Options& options);
ExitCode show_command(const Options& options);
ExitCode report_command(const Options& options);
ExitCode export_command(const Options& options);

struct Command {
  std::string_view name;
  ExitCode (*run)(const Options& options);
};
std::span<const Command> commands();

}  // namespace tw::cli
