// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  tile spaces with a raster (`tiles(n0, n1, order=...)`).
// Gives  TilesOp::decode: each variable as an expression of the linear number of a point.
//          row-major: the last variable runs fastest;
//          grouped(g): over the first two variables, g rows of the first at a time, the first running fastest inside
//          the group; further variables run faster than both.
// Never  changes which points exist, or the body.
// Why here  first: everything later may look at coordinates as bounded symbols, nothing needs the decoding but emission
// and
//           the proof that it is a bijection.
// Example  tiles(n0, n1): decode = (linear div n1, linear mod n1).
Status lower_tiles(ir::Function& function, PassContext& context);

}  // namespace tw::passes
