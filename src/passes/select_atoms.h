// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  contractions that name no instruction, no grid, or operands in memory.
// Gives  each MmaOp an atom of the target, a grid of warps (threads for fma) and operands in registers. Operands that
// were
//          both in memory are loaded in slices of the atom's k, one MmaOp a slice; from shared memory 16-bit operands
//          come by ldmatrix where the target has it. A grid that is not stated makes the operand traffic from shared
//          memory, m/gm + n/gn, smallest.
// Never  changes layouts in memory, or an atom or grid that the program states.
// Why here  before layouts: the atoms are what layouts follow from.
// Example  mma(sA[k], sB[k], acc) on 128x128x32 with 8 warps: two slices of k = 16, grid (2, 4).
Status select_atoms(ir::Function& function, PassContext& context);

}  // namespace tw::passes
