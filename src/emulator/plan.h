// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/problem.h"
#include "ir/function.h"
#include "target/machine.h"

namespace tw::emulator {

// What the machine half works out once a launch for each op: tables indexed by thread and register, so that executing a
// dynamic op is additions and look-ups.

// Who must arrive before an op runs.
enum class StepKind : uint8_t { Thread, Warp, Block };

// Tile coordinates of a thread/value layout and where they lie in one object.
struct SideTable {
  bool is_global = false;
  uint32_t object = 0;
  int element_bytes = 1;
  // Object element (relative to the region's corner) = by_thread[t] + by_value[v].
  std::vector<int64_t> by_thread;
  std::vector<int64_t> by_value;
};

struct AccessTable {
  int64_t threads = 0;
  int64_t values = 0;
  int vector = 1;
  // Row-major number in the tile = by_thread[t] + by_value[v].
  std::vector<int32_t> tile_by_thread;
  std::vector<int32_t> tile_by_value;
  // Tile coordinates, for guards.
  std::vector<target::TileCoord> coord_by_thread;
  std::vector<target::TileCoord> coord_by_value;
  // Threads and vectors that act (stores and copies: the first owner of each element).
  std::vector<uint8_t> is_active_thread;
  std::vector<uint8_t> is_active_vector;
  // Tile axes whose coordinate is compared with the tensor's extent.
  std::vector<int> guarded_tile_axes;
  // Object axes that are points and guarded.
  bool guards_points = false;
};

struct LdmatrixTable {
  // Elements a register group (one instruction) holds in a lane.
  int group_values = 0;
  // Per (lane, value in group): matrix * 8 + row, and the byte within the 16-byte row.
  std::vector<uint8_t> row_of;
  std::vector<uint8_t> byte_of;
  // Per matrix * 8 + row: the lane and the value in the group whose element starts that row.
  std::vector<uint8_t> first_lane;
  std::vector<uint8_t> first_value;
};

struct MmaTable {
  bool is_per_thread = false;
  bool exact_products = true;
  // k of one instruction.
  size_t instruction_depth = 1;
  size_t rows = 0;
  size_t columns = 0;
  size_t depth = 0;
  int64_t a_values = 0;
  int64_t b_values = 0;
  int64_t c_values = 0;
  // Place of register (thread, value) in the compact operands of its warp (or thread): a (rows, depth), b (depth,
  // columns), c (rows, columns).
  std::vector<int32_t> a;
  std::vector<int32_t> b;
  std::vector<int32_t> c;
};

// For each (thread, result register): contributing registers as thread * operand values + value, grouped by lane.
struct ReduceTable {
  std::vector<uint32_t> begin;
  std::vector<uint32_t> source;
};

// For each (thread, result register): the source register, thread * operand values + value.
struct GatherTable {
  std::vector<int32_t> source;
};

struct OpPlan {
  StepKind step = StepKind::Thread;
  // Why the machine cannot execute the op as it stands; empty: it can.
  std::string mismatch;
  AccessTable access;
  SideTable sides[2];
  LdmatrixTable ldmatrix;
  MmaTable mma;
  ReduceTable reduce;
  GatherTable gather;
};

// Byte addresses inside a slot of a shared object, by row-major element number.
struct SharedPlan {
  int element_bytes = 1;
  int64_t offset_bytes = 0;
  int64_t slot_bytes = 0;
  int ring = 0;
  std::vector<int32_t> address;
};

struct LaunchPlan {
  int threads = 0;
  int warp_threads = 32;
  // Indexed by op id.
  std::vector<OpPlan> ops;
  std::vector<SharedPlan> shared;
  // Registers of one thread, by value.
  std::vector<int64_t> values;
  // Bytes that share one stamp.
  int granule = 1;
  int64_t shared_bytes = 0;
  // Why the function cannot be executed at all; empty: it can.
  std::string problem;
};

LaunchPlan make_plan(const ir::Function& function, const BoundProblem& bound);

}  // namespace tw::emulator
