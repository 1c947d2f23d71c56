// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  a function with sync="auto" whose accesses and addresses are known.
// Gives  a block barrier before each access that another thread's earlier access could conflict with (read after write,
//          write after read, write after write; also around the back edge of loops and through aliases), unless one
//          stands between already; and, where the program waits for no cp.async itself, the commit and drain that a
//          plain cp.async copy needs before its data is used.
// Never  removes order; touches sync="manual"; second-guesses the rings of lower_pipelines.
// Why here  after everything that adds accesses.
// Example  store(x, s); y = load(s): a barrier before the load, and in a loop one before the store.
// Two accesses do not conflict when their slots, or their slices of one axis, differ by a constant that keeps them
// apart, or when both visit the same elements with the same threads.
Status place_barriers(ir::Function& function, PassContext& context);

}  // namespace tw::passes
