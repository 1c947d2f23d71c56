// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/function.h"

namespace tw::passes {

// Constants, iotas, scalars and broadcasts cost nothing to make: each user gets its own, so that two users never have
// to agree on a layout because of them.
void clone_free_values(ir::Function& function);

}  // namespace tw::passes
