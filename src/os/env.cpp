// SPDX-License-Identifier: Apache-2.0
#include "os/env.h"

#include <cstdlib>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "os/files.h"

namespace tw::os {
namespace {

constexpr std::string_view kMarker = "docs/diagnostics";

Result<std::string> home_folder() {
  if (auto home = get_env("HOME")) {
    return *home;
  }
  if (const passwd* entry = ::getpwuid(::getuid()); entry != nullptr && entry->pw_dir != nullptr) {
    return std::string(entry->pw_dir);
  }
  return fail("this user has no home folder ($HOME is not set)");
}

Result<std::string> user_folder(const std::string& variable, std::string_view below_home) {
  // The XDG rules say that a relative path is to be ignored.
  if (auto base = get_env(variable); base && base->starts_with('/')) {
    return join_path(*base, "tilewright");
  }
  TW_TRY(std::string home, home_folder());
  return join_path(join_path(home, below_home), "tilewright");
}

}  // namespace

std::optional<std::string> get_env(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') {
    return std::nullopt;
  }
  return std::string(value);
}

Result<std::string> executable_path() {
  return real_path("/proc/self/exe");
}
Result<std::string> state_folder() {
  return user_folder("XDG_STATE_HOME", ".local/state");
}
Result<std::string> cache_folder() {
  return user_folder("XDG_CACHE_HOME", ".cache");
}

Result<std::string> data_folder_of(const std::string& executable) {
  std::string folder = parent_path(executable);
  std::string installed = join_path(parent_path(folder), "share/tilewright");
  if (is_folder(join_path(installed, kMarker))) {
    return installed;
  }
  for (std::string above = folder; above != "/" && above != "."; above = parent_path(above)) {
    if (is_folder(join_path(above, kMarker))) {
      return above;
    }
  }
  return fail(Error{"cannot find tilewright's data folder (kernels, tasks, knowledge, docs/diagnostics)",
                    {fmt::format("neither `{}` nor a folder above `{}` holds `{}`; set TILEWRIGHT_DATA to it",
                                 installed, folder, kMarker)}});
}

Result<std::string> data_folder() {
  if (auto folder = get_env("TILEWRIGHT_DATA")) {
    if (!is_folder(*folder)) {
      return fail(Error{"cannot find tilewright's data folder",
                        {fmt::format("TILEWRIGHT_DATA is `{}`, which is not a folder", *folder)}});
    }
    return *folder;
  }
  TW_TRY(std::string executable, executable_path());
  return data_folder_of(executable);
}

}  // namespace tw::os
