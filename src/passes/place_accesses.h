// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  memory ops whose values have layouts and whose shared objects have addresses.
// Gives  each its Access: how many elements one instruction moves (consecutive registers that are consecutive in
// memory, as
//          far as alignment proves), and which axes of a tensor are compared with its extents. A guard is left out
//          where the slice is proved inside (loop bounds, `assume`d divisibility, the branch around it); a vector's
//          first element stands for all of it, since extents are then multiples of the vector.
//        Loads by ldmatrix: how many 8x8 matrices an instruction fetches, and `trans` when memory runs along the axis
//        that
//          the fragment spreads over lanes.
// Never  changes a layout; guards shared memory (its accesses are proved in bounds).
// Why here  the first point where layouts and addresses are both known.
// Example  A[bm*128:+128, k*32:+32] with K % 8 == 0: guards on both axes, 8 elements of bf16 an access.
Status place_accesses(ir::Function& function, PassContext& context);

}  // namespace tw::passes
