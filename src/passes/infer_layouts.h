// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  register tiles without layouts (but pinned ones), copies without maps.
// Gives  every value a thread/value layout and every CopyOp a map.
//          Fixed by instructions: operands and results of mma, pinned values, rank-0 values (held by every thread).
//          Same layout: operands and result of element-wise ops and casts, what loops carry and branches yield.
//          Derived: the result of a reduction (drop_axis), the operand of a broadcast (project).
//          Free tiles take a layout that suits their memory accesses (coalesced, as wide as alignment proves) and keep
//          rows inside a warp where they are reduced.
// Never  moves elements between threads: two needs that differ are an error that names both and asks for `relayout`.
//        Constants, iotas, scalars and broadcasts are made again for each user instead.
// Why here  after atoms are chosen, before anything that needs to know who holds what.
// Example  y = acc * 2 with acc from mma.m16n8k16: y and the constant take the accumulator layout.
Status infer_layouts(ir::Function& function, PassContext& context);

// A tile spread over the threads: `vector` consecutive elements along the first axis of `order` a thread, then lanes
// along the axes in `order`, at most `lane_limit` of them along the first; warps along the axes in `warp_order`; the
// rest are further registers. Threads that are left over hold copies.
target::TvLayout spread_layout(const std::vector<int64_t>& shape, const std::vector<int>& order,
                               const std::vector<int>& warp_order, int vector, int threads, int lane_limit = 32);

}  // namespace tw::passes
