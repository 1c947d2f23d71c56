// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "emulator/problem.h"
#include "emulator/report.h"
#include "ir/function.h"

namespace tw::emulator {

// Control flow of a block depends on sizes and loop variables alone, never on data: one block's run is a list of
// dynamic ops that both halves of the emulator execute. Making that list evaluates every scalar expression of the
// program.

constexpr int kMaxObjectRank = 6;
constexpr uint32_t kNoIndex = UINT32_MAX;

// A region with its numbers known.
struct DynamicRegion {
  const ir::Region* region = nullptr;
  int64_t version = -1;
  std::array<int64_t, kMaxObjectRank> lo{};
};

// One iteration of a loop, one tile of a TilesOp.
struct Frame {
  uint32_t parent = kNoIndex;
  bool is_tile = false;
  int64_t iteration = 0;
};

struct Move {
  ir::ValueId from;
  ir::ValueId to;
};

// One dynamic op. Control ops (for, if) appear as parallel moves of the values that they hand on.
struct Instance {
  const ir::Op* op = nullptr;
  uint32_t frame = kNoIndex;
  uint32_t regions[2] = {kNoIndex, kNoIndex};
  uint32_t moves_begin = 0;
  uint32_t moves_end = 0;
  // ExprOp: its value.
  int64_t scalar = 0;

  [[nodiscard]] bool is_move() const { return moves_end > moves_begin; }
};

struct Walk {
  int64_t block = 0;
  std::vector<Instance> instances;
  std::vector<DynamicRegion> regions;
  std::vector<Move> moves;
  std::vector<Frame> frames;

  [[nodiscard]] DynamicPoint point(uint32_t instance) const;
  // The first instance with this op, tile and iterations. A region-less search over the list.
  [[nodiscard]] std::optional<uint32_t> find(const DynamicPoint& point) const;
};

struct WalkLimits {
  size_t instances = 4'000'000;
  // `check`s are instances too. They do nothing.
  bool with_checks = false;
};

// Evaluates an expression; the error is an overflow, a division by zero or a symbol without a value.
Result<int64_t, ReadingError> evaluate(const ir::Function& function, ir::ExprId expr,
                                       const std::vector<std::optional<int64_t>>& symbols);

Result<Walk, ReadingError> walk_block(const BoundProblem& problem, int64_t block, const WalkLimits& limits = {});

// Blocks of the grid: one a point of the largest TilesOp (persistent ones: as the problem says), else one.
Result<int64_t, ReadingError> grid_size(const BoundProblem& bound, const Problem& problem);

}  // namespace tw::emulator
