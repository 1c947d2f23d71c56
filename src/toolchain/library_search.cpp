// SPDX-License-Identifier: Apache-2.0
#include "toolchain/library_search.h"

#include <fmt/format.h>

#include "os/env.h"
#include "os/files.h"

namespace tw::toolchain {

std::vector<std::string> library_candidates(const LibraryRequest& request) {
  std::vector<std::string> candidates;
  const auto add_folder = [&](const std::string& folder) {
    for (const std::string& name : request.names) {
      candidates.push_back(os::join_path(folder, name));
    }
  };
  if (const auto chosen = os::get_env(request.variable)) {
    if (os::is_folder(*chosen)) {
      add_folder(*chosen);
    } else {
      candidates.push_back(*chosen);
    }
    return candidates;
  }
  // An installed program has the package beside it or one folder up; a built one, in build/PRESET/..., has it in
  // build/deps.
  if (const auto program = os::executable_path()) {
    constexpr int kMaxLevels = 6;
    std::string folder = os::parent_path(*program);
    for (int level = 0; level < kMaxLevels && folder != "/"; ++level) {
      for (const char* place : {"nvidia/cu13/lib", "lib/nvidia/cu13/lib", "deps/nvidia/cu13/lib"}) {
        add_folder(os::join_path(folder, place));
      }
      folder = os::parent_path(folder);
    }
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = os::get_env(variable)) {
      add_folder(os::join_path(*root, "lib64"));
    }
  }
  add_folder("/usr/local/cuda/lib64");
  candidates.insert(candidates.end(), request.names.begin(), request.names.end());
  return candidates;
}

std::optional<std::string> explain_missing(const LibraryRequest& request, const std::string& candidate) {
  const bool is_path = candidate.find('/') != std::string::npos;
  if (!is_path || os::exists(candidate)) {
    return std::nullopt;
  }
  if (os::get_env(request.variable)) {
    return fmt::format("{} names `{}`, which does not exist", request.variable, candidate);
  }
  return std::string();
}

}  // namespace tw::toolchain
