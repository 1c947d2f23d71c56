// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"

namespace tw::cli {

enum class Format : uint8_t { Text, Json };

// What the command line said. One struct for all commands: each reads the fields that its help names.
struct Options {
  std::string command;
  // The whole command line, for "repeat with".
  std::string command_line;

  std::vector<std::string> files;
  Format format = Format::Text;
  std::string target;
  std::vector<std::pair<std::string, int64_t>> parameters;
  int64_t effort = 0;
  std::string cex_folder;
  bool wants_fix = false;
  bool has_cache = true;

  std::string emit_to = "cuda";
  std::string output;

  std::string task;
  std::string on;
  std::optional<uint64_t> seed;
  std::string replay;
  std::vector<std::pair<std::string, int64_t>> sizes;

  std::string from;
  std::string author = "builtin";
  std::string language = "tile";
  std::string budget;
  std::string planner = "off";
  int beam = 1;
  std::vector<std::string> without_moves;
  bool is_dry_run = false;
  // Engaged: resume; empty: the newest unfinished run.
  std::optional<std::string> resume;
  std::string store;

  std::string tile;
  int64_t mutants = 0;
  std::string only;
  std::string step;
};

// Parses the command line. An exit code instead of options when help or the version was asked for, or the usage is
// wrong (which is said on stderr).
struct Parsed {
  std::optional<Options> options;
  ExitCode exit_code = ExitCode::Good;
  // Help or the version, for standard output.
  std::string text;
};
Parsed parse_options(int argc, char** argv);

}  // namespace tw::cli
