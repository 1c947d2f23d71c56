// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace tw::os {

// What the operating system's error number means, in words a user can act on.
std::string describe_errno(int error_number);

// "`doing`" with the reason as its cause: Error{"cannot write `out/kernel.cu`", {"no space left on the device"}}.
Error system_error(std::string doing, int error_number);

}  // namespace tw::os
