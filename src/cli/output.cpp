// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "diag/render.h"
#include "os/files.h"
#include "os/terminal.h"

namespace tw::cli {
namespace {

constexpr size_t kMaxInputBytes = size_t{64} << 20;

void write_all(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace

void print_result(std::string_view text) {
  write_all(stdout, text);
  std::fflush(stdout);
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
  diagnostic.notes.push_back({"repeat with: " + options.command_line, std::nullopt});
  driver::Session session;
  session.sink.add(std::move(diagnostic));
  print_diagnostics(session, options.format);
}

Result<std::string> read_input(const std::string& path) {
  return os::read_file(path, kMaxInputBytes);
}

Status write_output(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") {
    print_result(text);
    return std::ferror(stdout) != 0 ? Status(fail("cannot write to standard output")) : Status();
  }
  return os::write_file_atomic(path, text);
}

}  // namespace tw::cli
