// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/output.h"

namespace tw::cli {
namespace {

std::string text_of(const json::Value& value) {
  if (value.is_string()) {
    return value.as_string();
  }
  return json::write(value);
}

// Members in the order in which a reader needs them; what is empty is left out.
constexpr std::string_view kOrder[] = {"claim",    "rule",   "obligation", "file",          "kernel", "constants",
                                       "sizes",    "block",  "tile",       "iterations",    "thread", "warp",
                                       "lane",     "object", "version",    "slot",          "byte",   "element",
                                       "expected", "got",    "why",        "replay_finding"};

bool is_empty(const json::Value& value) {
  return value.is_null() || (value.is_string() && value.as_string().empty()) ||
         (value.is_array() && value.as_array().empty()) || (value.is_object() && value.as_object().is_empty());
}

}  // namespace

ExitCode show_cex_command(const Options& options) {
  auto text = read_input(options.files.front());
  if (!text) {
    print_error(diag::codes::InputUnreadable::kInfo, text.error(), options);
    return ExitCode::Usage;
  }
  auto value = json::parse(*text);
  if (!value) {
    print_error(diag::codes::NotACounterexample::kInfo, value.error(), options);
    return ExitCode::Usage;
  }
  auto schema = value->get_string("schema");
  if (!schema || *schema != "tw.counterexample/1") {
    print_error(diag::codes::NotACounterexample::kInfo, {"its schema is not `tw.counterexample/1`", {}}, options);
    return ExitCode::Usage;
  }
  if (options.format == Format::Json) {
    print_json(*value);
    return ExitCode::Good;
  }
  std::string out;
  for (std::string_view key : kOrder) {
    const json::Value* member = value->find(key);
    if (member != nullptr && !is_empty(*member)) {
      out += fmt::format("{:<15} {}\n", key, text_of(*member));
    }
  }
  for (std::string_view key : {"points", "interleaving", "facts"}) {
    const json::Value* list = value->find(key);
    if (list == nullptr || !list->is_array() || list->as_array().empty()) {
      continue;
    }
    out += fmt::format("{}\n", key);
    for (const json::Value& item : list->as_array()) {
      out += fmt::format("  - {}\n", text_of(item));
    }
  }
  print_result(out);
  return ExitCode::Good;
}

}  // namespace tw::cli
