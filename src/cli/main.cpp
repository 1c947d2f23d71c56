// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "base/check.h"
#include "cli/commands/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "os/file_descriptor.h"

namespace {

tw::cli::ExitCode dispatch(const tw::cli::Options& options) {
  const auto all = tw::cli::commands();
  const auto found = std::ranges::find(all, std::string_view(options.command), &tw::cli::Command::name);
  TW_CHECK(found != all.end());
  return found->run(options);
}

}  // namespace

int main(int argc, char** argv) {
  // Writing to a closed pipe is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  tw::os::hold_standard_streams();
  const tw::cli::Parsed parsed = tw::cli::parse_options(argc, argv);
  if (!parsed.options) {
    tw::cli::print_result(parsed.text);
    tw::cli::Options nothing;
    nothing.command_line = "tilewright --help";
    return static_cast<int>(tw::cli::finish_output(nothing, parsed.exit_code));
  }
  const tw::PhaseScope phase("running `" + parsed.options->command_line + "`");
  // Third-party code may throw (out of memory, a library's own error); nothing else does.
  try {
    return static_cast<int>(tw::cli::finish_output(*parsed.options, dispatch(*parsed.options)));
  } catch (const std::bad_alloc&) {
    tw::cli::print_error(tw::diag::codes::OutOfMemory::kInfo, {"an allocation failed", {}}, *parsed.options);
  } catch (const std::exception& error) {
    tw::cli::print_error(tw::diag::codes::UnexpectedException::kInfo, {error.what(), {}}, *parsed.options);
  }
  return static_cast<int>(tw::cli::ExitCode::Internal);
}
