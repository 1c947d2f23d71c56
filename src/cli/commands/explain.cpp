// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/output.h"
#include "diag/codes.h"
#include "os/env.h"
#include "os/files.h"

namespace tw::cli {
namespace {

// `TW9001`, `tw9001` and `9001`.
const diag::CodeInfo* find_code(std::string_view text) {
  if (text.size() > 2 && (text[0] == 'T' || text[0] == 't') && (text[1] == 'W' || text[1] == 'w')) {
    text.remove_prefix(2);
  }
  uint16_t number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() ? diag::find_code(number) : nullptr;
}

}  // namespace

ExitCode explain_command(const Options& options) {
  const diag::CodeInfo* code = find_code(options.files.front());
  if (code == nullptr) {
    print_error(diag::codes::UnknownCode::kInfo,
                {fmt::format("`{}`; codes look like TW3001", options.files.front()), {}}, options);
    return ExitCode::Usage;
  }
  auto folder = os::data_folder();
  if (!folder) {
    print_error(diag::codes::DataMissing::kInfo, folder.error(), options);
    return ExitCode::Environment;
  }
  auto page = os::read_file(fmt::format("{}/docs/diagnostics/TW{:04}.md", *folder, code->number));
  if (!page) {
    print_error(diag::codes::DataMissing::kInfo, page.error(), options);
    return ExitCode::Environment;
  }
  if (options.format == Format::Json) {
    print_json(json::Object{{"schema", "tw.explain/1"},
                            {"code", fmt::format("TW{:04}", code->number)},
                            {"name", code->name},
                            {"area", code->area},
                            {"message", code->message},
                            {"page", *page}});
  } else {
    print_result(*page);
  }
  return ExitCode::Good;
}

}  // namespace tw::cli
