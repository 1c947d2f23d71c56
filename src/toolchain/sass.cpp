// SPDX-License-Identifier: Apache-2.0
#include "toolchain/sass.h"

#include <chrono>
#include <fmt/format.h>

#include "base/strings.h"
#include "os/env.h"
#include "os/files.h"
#include "os/process.h"

namespace tw::toolchain {

std::vector<std::string> disassembler_candidates() {
  if (const auto chosen = os::get_env("TILEWRIGHT_DISASSEMBLER")) {
    return {*chosen};
  }
  std::vector<std::string> candidates;
  const auto add_toolkit = [&](const std::string& root) {
    for (const char* program : {"bin/nvdisasm", "bin/cuobjdump"}) {
      candidates.push_back(os::join_path(root, program));
    }
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = os::get_env(variable)) {
      add_toolkit(*root);
    }
  }
  add_toolkit("/usr/local/cuda");
  candidates.emplace_back("nvdisasm");
  candidates.emplace_back("cuobjdump");
  return candidates;
}

Result<Disassembly> disassemble(std::string_view cubin) {
  std::string tool;
  for (const std::string& candidate : disassembler_candidates()) {
    if (const auto program = os::find_program(candidate)) {
      tool = *program;
      break;
    }
  }
  if (tool.empty()) {
    return fail(Error{"no disassembler for GPU code on this machine",
                      {"neither `nvdisasm` nor `cuobjdump` is in a CUDA toolkit or in PATH"}});
  }
  TW_TRY(const os::TempFolder folder, os::TempFolder::make("tilewright-sass-"));
  const std::string image_path = os::join_path(folder.path(), "kernel.cubin");
  TW_TRY_STATUS(os::write_file_atomic(image_path, cubin));
  os::Command command;
  constexpr std::chrono::minutes kTimeout{2};
  command.timeout = kTimeout;
  const bool is_cuobjdump = os::base_name(tool).find("cuobjdump") != std::string::npos;
  command.argv = {tool, is_cuobjdump ? "-sass" : "-c", image_path};
  TW_TRY(os::ProcessOutcome outcome, os::run_process(command));
  if (!outcome.is_success()) {
    return fail(
        Error{fmt::format("`{}` failed: {}", tool, outcome.describe()), {std::string(trim(outcome.stderr_text))}});
  }
  if (outcome.is_stdout_cut) {
    return fail(fmt::format("the output of `{}` is longer than {} bytes", tool, command.max_stdout_bytes));
  }
  return Disassembly{std::move(outcome.stdout_text), std::move(tool)};
}

}  // namespace tw::toolchain
