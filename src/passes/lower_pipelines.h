// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  loops with `pipeline(range, stages=S)` whose bodies fill shared tiles by cp.async and then read them.
// Gives  plain loops; the tiles are rings of S slots versioned by the iteration number; S-1 copies in flight:
//          prologue: for p < S-1: if p < trips: copies(version p); commit
//          loop k:   drain(pending=S-2); sync; if k+S-1 < trips: copies(version k+S-1); commit; the rest on version k
//          after:    drain(0) (and a barrier when the loop runs again).
//        Version k is group k; S-1+k groups were committed before iteration k, so all but the newest S-2 include it.
//        The barrier makes all threads' copies visible and ends the reads of version k-1, whose slot k+S-1 overwrites.
// Never  moves anything but cp.async copies; changes what is computed.
// Why here  before layouts: rings and versions are part of the program that layouts are inferred for.
// Example  stages=1 keeps one slot: sync; copies; commit; drain(0); sync; the rest.
Status lower_pipelines(ir::Function& function, PassContext& context);

}  // namespace tw::passes
