// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tw::os {

// Nothing when it is not set or is empty.
std::optional<std::string> get_env(const std::string& name);

// The file of the running program, links resolved.
Result<std::string> executable_path();

// $XDG_STATE_HOME/tilewright, else ~/.local/state/tilewright.
Result<std::string> state_folder();
// $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright.
Result<std::string> cache_folder();

// Where kernels/, knowledge/, tasks/ and docs/diagnostics/ are: $TILEWRIGHT_DATA; else ../share/tilewright beside the
// program's folder (an installed program); else the nearest folder above the program that holds docs/diagnostics (a
// program in the build tree of the sources).
Result<std::string> data_folder();
// The same for a program at `executable`, without looking at $TILEWRIGHT_DATA.
Result<std::string> data_folder_of(const std::string& executable);

}  // namespace tw::os
