// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "diag/render.h"
#include "os/errors.h"
#include "os/file_descriptor.h"
#include "os/files.h"
#include "os/terminal.h"

namespace tw::cli {
namespace {

constexpr size_t kMaxInputBytes = size_t{64} << 20;

void write_all(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

// There is one standard output, and one first reason why it could not be written.
int first_stdout_error = 0;

// What to do about an error that has no place in a program; the page of the code says more.
std::string_view cure_of(const diag::CodeInfo& code) {
  switch (code.number) {
    case diag::codes::BadUsage::kInfo.number:
      return "see `tilewright --help`, or `tilewright COMMAND --help`";
    case diag::codes::DataMissing::kInfo.number:
      return "unset `TILEWRIGHT_DATA`, or set it to the folder that holds `docs`, `kernels` and `tasks`";
    case diag::codes::InputUnreadable::kInfo.number:
      return "give the path of a file that you may read";
    case diag::codes::OutputNotWritten::kInfo.number:
      return "make the folder, free space, or name another place; what was there before is unchanged";
    case diag::codes::NotACounterexample::kInfo.number:
      return "`tilewright check --cex=FOLDER` writes counterexamples";
    case diag::codes::EnvironmentMissing::kInfo.number:
      return "`tilewright doctor` says what this machine can do";
    case diag::codes::StoreNotUsable::kInfo.number:
      return "free space or change permissions, or name another store with `--store=FOLDER`";
    case diag::codes::StoreRefused::kInfo.number:
      return "`tilewright runs` lists the runs of the store";
    default:
      return {};
  }
}

}  // namespace

void print_result(std::string_view text) {
  const int error = os::write_fully(STDOUT_FILENO, text);
  if (first_stdout_error == 0) {
    first_stdout_error = error;
  }
}

void print_progress_line(std::string_view line) {
  write_all(stderr, std::string(line) + "\n");
}

ExitCode finish_output(const Options& options, ExitCode exit_code) {
  if (first_stdout_error == 0 || first_stdout_error == EPIPE) {
    return exit_code;
  }
  print_error(diag::codes::OutputNotWritten::kInfo,
              os::system_error("cannot write to standard output", first_stdout_error), options);
  return worse(exit_code, ExitCode::Usage);
}

void print_json(const json::Value& value) {
  print_result(json::write(value, 2) + "\n");
}

void print_diagnostics(const driver::Session& session, Format format) {
  const auto& diagnostics = session.sink.diagnostics();
  if (diagnostics.empty()) {
    return;
  }
  if (format == Format::Json) {
    write_all(stderr, diag::render_json(diagnostics, session.sources));
    return;
  }
  diag::TerminalOptions options;
  options.is_compact = !os::is_terminal(STDERR_FILENO);
  options.is_color = os::wants_color(STDERR_FILENO);
  options.width = os::terminal_width(STDERR_FILENO).value_or(options.width);
  write_all(stderr, diag::render_terminal(diagnostics, session.sources, options));
}

void print_error(const diag::CodeInfo& code, const Error& error, const Options& options) {
  diag::Diagnostic diagnostic;
  diagnostic.code = &code;
  diagnostic.severity = code.severity;
  diagnostic.arguments.emplace_back(error.message);
  for (const std::string& cause : error.causes) {
    diagnostic.notes.push_back({"because " + cause, std::nullopt});
  }
  if (const std::string_view cure = cure_of(code); !cure.empty()) {
    diagnostic.notes.push_back({std::string(cure), std::nullopt});
  }
  diagnostic.notes.push_back({"repeat with: " + options.command_line, std::nullopt});
  driver::Session session;
  session.sink.add(std::move(diagnostic));
  print_diagnostics(session, options.format);
}

bool is_unreadable(const driver::Session& session, size_t first) {
  constexpr uint16_t kFirstSemanticCode = 1000;
  const auto& all = session.sink.diagnostics();
  return std::any_of(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), [](const diag::Diagnostic& d) {
    return d.severity == diag::Severity::Error && d.code->number < kFirstSemanticCode;
  });
}

Result<std::string> read_input(const std::string& path) {
  return os::read_file(path, kMaxInputBytes);
}

Status write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") {
    print_result(text);
    return {};
  }
  return os::write_file_atomic(path, text);
}

}  // namespace tw::cli
