// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  reductions and relayouts under known layouts.
// Gives  reductions that stay inside a warp (registers, then lanes), and relayouts only where no element changes
// threads
//          (as copies); what crosses warps goes through a scratch object of its own: the partial result a warp (keep,
//          group_stride), a store, a load by every thread, a reduction in registers. A relayout is a store and a load.
//          Under sync="manual" the barriers around the exchange are placed here; else place_barriers sees it.
// Never  shares a scratch object between two exchanges.
// Why here  after layouts, before storage is assigned and barriers are placed: its scratch and its barriers are then
//           treated, proved and emulated like everybody else's.
// Example  row sums of a tile whose rows lie across 4 warps: partials (rows, 4) in shared memory.
Status lower_reductions(ir::Function& function, PassContext& context);

}  // namespace tw::passes
