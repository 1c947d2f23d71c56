// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/commands.h"

namespace tw::cli {
namespace {

constexpr Command kCommands[] = {
    {"bench", bench_command},   {"check", check_command},       {"doctor", doctor_command},
    {"emit", emit_command},     {"explain", explain_command},   {"export", export_command},
    {"layout", layout_command}, {"optimize", optimize_command}, {"report", report_command},
    {"run", run_command},       {"runs", runs_command},         {"runs diff", runs_diff_command},
    {"show", show_command},     {"show-cex", show_cex_command}, {"status", status_command},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace tw::cli
