// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/options.h"
#include "driver/driver.h"

namespace tw::cli {

// The result goes to stdout, everything else to stderr. What cannot be written is remembered for finish_output.
void print_result(std::string_view text);
void print_json(const json::Value& value);

// One line of progress on stderr; where nobody can read it, nothing happens.
void print_progress_line(std::string_view line);

// The exit code of a command that ends with `exit_code` otherwise: an error (printed here) when its result did not
// reach standard output (a full disk, a closed descriptor). A pipe that its reader closed is no error: the reader had
// enough.
ExitCode finish_output(const Options& options, ExitCode exit_code);

// All diagnostics of a session on stderr: frames on a terminal, compact lines in a pipe, JSON Lines with --format=json.
void print_diagnostics(const driver::Session& session, Format format);

// An error that has no place in a program: one diagnostic with its causes and how to repeat the command.
void print_error(const diag::CodeInfo& code, const Error& error, const Options& options);

// Is one of the diagnostics, from `first` on, about text that is no program at all (exit code 2 instead of 1)?
bool is_unreadable(const driver::Session& session, size_t first = 0);

// Reads a file that the user named; says why when it can't.
Result<std::string> read_input(const std::string& path);

// Writes to `path`, or to stdout when it is empty or "-" (finish_output tells when that failed).
Status write_output(const std::string& path, std::string_view text);

}  // namespace tw::cli
