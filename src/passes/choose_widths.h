// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/facts.h"
#include "passes/pass.h"

namespace tw::passes {

// Takes  the finished text.
// Gives  Function::wide_exprs: the scalar expressions that emitters compute in 64 bits; all others are 32-bit. An
// expression
//          is narrow only when interval analysis keeps it and all its operands inside i32, with sizes up to 2^31 - 1.
//          Linear offsets into global memory are always 64-bit; offsets inside a tile are small constants.
// Never  relies on `bm * BM + i` staying in range: guards compare i with the extent minus bm * BM.
// Why here  last: it looks at every expression that will be emitted.
// Example  (k + 3) * 32 with k < cdiv(K, 32) exceeds i32 for K near 2^31: wide; bm * 128 with bm < cdiv(M, 128):
// narrow.
Status choose_widths(ir::Function& function, PassContext& context);

}  // namespace tw::passes
