// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tw::cli {

// "tilewright 0.1.0".
std::string version_text();

}  // namespace tw::cli
