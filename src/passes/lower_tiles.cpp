// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_tiles.h"

namespace tw::passes {
namespace {

using ir::ExprId;

void decode(ir::Function& function, ir::TilesOp& tiles) {
  ir::ExprPool& exprs = function.exprs;
  const size_t rank = tiles.extents.size();
  if (!tiles.linear.is_valid()) {
    tiles.linear = exprs.add_symbol("tile", ir::SymbolKind::TileIndex);
  }
  tiles.decode.assign(rank, ExprId{});
  ExprId rest = exprs.symbol_ref(tiles.linear);
  const size_t leading = tiles.raster == ir::RasterKind::Grouped && rank >= 2 ? 2 : 1;
  for (size_t i = rank; i-- > leading;) {
    tiles.decode[i] = exprs.mod(rest, tiles.extents[i]);
    rest = exprs.floor_div(rest, tiles.extents[i]);
  }
  if (leading == 1) {
    if (rank > 0) {
      tiles.decode[0] = rest;
    }
    return;
  }
  ExprId group = exprs.constant(tiles.raster_group);
  ExprId points = exprs.mul(group, tiles.extents[1]);
  ExprId first = exprs.mul(exprs.floor_div(rest, points), group);
  ExprId rows = exprs.min(exprs.sub(tiles.extents[0], first), group);
  ExprId inside = exprs.mod(rest, points);
  tiles.decode[0] = exprs.add(first, exprs.mod(inside, rows));
  tiles.decode[1] = exprs.floor_div(inside, rows);
}

}  // namespace

Status lower_tiles(ir::Function& function, PassContext&) {
  ir::for_each_op(function.body, [&](ir::Op& op) {
    if (auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      decode(function, *tiles);
    }
  });
  return {};
}

}  // namespace tw::passes
