// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/arithmetic.h"
#include "emulator/elements.h"
#include "ir/function.h"

namespace tw::emulator {

// What the reading knows of an element beside its value.
//   Real: comes from inputs and constants alone.
//   Pad: a constant that stands for an element outside a tensor; its value does not depend on any real element.
//   Tainted: mixes a pad with real elements in a way that changes them.
// Neither of the last two may be written inside an output.
enum class Status : uint8_t { Real, Pad, Tainted };

// A register tile of the reading: whole, row-major, in the exact element type.
struct Tile {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  Buffer data;
  // Empty: all Real.
  std::vector<Status> status;
  // How far the machine may be from `data` because it adds in another order; empty: not at all.
  std::vector<float> slack;
  // Made of constants, indices and scalar arguments only (they are no elements of a tensor).
  bool is_constant = false;

  [[nodiscard]] size_t count() const { return size_of(data); }
  [[nodiscard]] Status status_of(size_t i) const { return status.empty() ? Status::Real : status[i]; }
  [[nodiscard]] float slack_of(size_t i) const { return slack.empty() ? 0.0F : slack[i]; }
};
using TilePtr = std::shared_ptr<const Tile>;

size_t element_count(std::span<const int64_t> shape);
Tile make_tile(ElementType type, const std::vector<int64_t>& shape);
void set_all(Tile& tile, double value);

// Element-wise operations on whole tiles. Pads: an operation on pads and constants is a pad; a pad that the operation
// ignores (0 added, -inf in a maximum, the side that `where` does not take) leaves the real operand; a pad that decides
// alone (0 times a finite number, -inf minus a finite number) is a pad; anything else is tainted.
struct TileFault {
  ArithmeticFault fault;
  size_t index;
};
std::optional<TileFault> elementwise(ir::ElementwiseKind kind, std::span<const TilePtr> operands, Tile& result);
void broadcast(const Tile& operand, const std::vector<int>& axis_map, Tile& result);
// `keep`, `group_stride`: as in ir::ReduceOp. A pad that is neutral for the operation contributes nothing.
std::optional<TileFault> reduce(const Tile& operand, int axis, ir::ReduceKind kind, int64_t keep, int64_t group_stride,
                                Tile& result);
// result = c + a * b^T with a (m, k), b (n, k); `c` may be null. Pads equal to 0 contribute nothing, provided that what
// they meet is finite. `in_any_order`: the slack admits every order of the additions, and bits cut off.
void contract(const Tile& a, const Tile& b, const Tile* c, bool in_any_order, Tile& result);

}  // namespace tw::emulator
