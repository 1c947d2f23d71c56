// SPDX-License-Identifier: Apache-2.0
#include "rewrite/moves.h"

#include <algorithm>

namespace tw::rewrite {
namespace {

constexpr Move kMoves[] = {
    {"enlarge_tiles", "larger block tiles: every element fetched is used more often", enlarge_tiles},
    {"stage_in_shared", "operands pass through shared memory, so that a block fetches each element once",
     stage_in_shared},
    {"pad_shared", "pad the rows of shared tiles against bank conflicts", pad_shared},
    {"swizzle_shared", "permute 16-byte chunks of shared rows against bank conflicts", swizzle_shared},
    {"use_tensor_cores", "mma.sync with operands by ldmatrix instead of fma", use_tensor_cores},
    {"align_rows", "assume row lengths that are multiples of 16 bytes, so that accesses are 16 bytes wide", align_rows},
    {"copy_async", "cp.async: copies to shared memory bypass registers", copy_async},
    {"pipeline_loop", "copies of later iterations run under the arithmetic of this one", pipeline_loop},
    {"group_raster", "neighbouring blocks share operands in L2", group_raster},
    {"stage_epilogue", "results leave through shared memory in whole 16-byte rows", stage_epilogue},
    {"resize_tiles", "other tile sizes", resize_tiles},
    {"change_threads", "more or fewer threads a block", change_threads},
};

}  // namespace

std::span<const Move> moves() {
  return kMoves;
}

const Move* find_move(std::string_view name) {
  const auto* found = std::ranges::find(kMoves, name, &Move::name);
  return found == std::end(kMoves) ? nullptr : found;
}

}  // namespace tw::rewrite
