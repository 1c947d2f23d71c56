// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

namespace tw::cli {

std::string version_text() {
  return "tilewright " TW_VERSION;
}

}  // namespace tw::cli
