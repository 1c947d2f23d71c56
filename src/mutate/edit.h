// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "mutate/operators.h"

// Ways to change one place of a function, which the operators are made of.
namespace tw::mutate {

using ir::Block;
using ir::ExprId;
using ir::Function;
using ir::Op;
using ir::Region;

using OpTest = std::function<bool(const Op&)>;
using RegionsOf = std::vector<Region*> (*)(Op&);

template <class T>
T* as(Op& op) {
  return std::get_if<T>(&op.body);
}
template <class T>
bool is(const Op& op) {
  return std::holds_alternative<T>(op.body);
}

// Visits blocks, outermost first, until `visit` says that it changed something.
bool in_blocks(Block& block, const std::function<bool(Block&)>& visit);
bool in_ops(Function& f, const std::function<bool(Op&)>& change);
bool drop(Function& f, Place& place, const OpTest& test);
// Ops without results only: a value has one definition.
bool duplicate(Function& f, Place& place, const OpTest& test);
// Changes places with its neighbour, `step` = -1: with the one before.
bool move(Function& f, Place& place, const OpTest& test, int step);
// To the end of its block: later than all that it was to order.
bool move_to_end(Function& f, Place& place, const OpTest& test);
bool is_block_sync(const Op& op);
bool is_async_copy(const Op& op);
std::vector<Region*> regions_read(Op& op);
std::vector<Region*> regions_written(Op& op);
std::vector<Region*> regions_of(Op& op);
bool shift_version(Function& f, Place& place, RegionsOf regions, int64_t by);
// How far axis `axis` of a region can be moved so that what it names still exists; a shared slice has to stay inside.
std::optional<int64_t> shift_of(const Function& f, const Region& region, size_t axis, bool small);
bool shift_slice(Function& f, Place& place, RegionsOf regions, bool wants_global, bool small);
bool change_loop(Function& f, Place& place, const std::function<bool(ir::ForOp&)>& applies,
                 const std::function<void(ir::ForOp&)>& change);
bool any_loop(ir::ForOp& /*loop*/);
void replace_in_block(Function& f, Block& block, const std::unordered_map<ir::SymbolId, ExprId>& replacements);

}  // namespace tw::mutate
