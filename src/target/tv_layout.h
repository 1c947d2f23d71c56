// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tw::target {

constexpr int kMaxTileRank = 4;
using TileCoord = std::array<int32_t, kMaxTileRank>;

// One digit of a thread or value index: digit d in [0, extent) moves the element by d * stride along `axis`.
// axis == kReplicated: the digit does not move it (several threads or registers hold the same element).
struct TvMode {
  static constexpr int kReplicated = -1;
  int32_t extent = 1;
  int32_t axis = kReplicated;
  int32_t stride = 0;
  friend bool operator==(const TvMode&, const TvMode&) = default;
};

// Which element of a logical tile each register of each thread holds: a thread/value layout in the sense of CuTe, kept
// as mixed-radix digits that each move along one axis, so that per-axis coordinates need no division of a linear index.
//
// Example: the C fragment of mma.m16n8k16 (tile 16 x 8, 32 threads, 4 values):
//   threads = {4: axis 1, stride 2} {8: axis 0, stride 1}
//   values  = {2: axis 1, stride 1} {2: axis 0, stride 8}
// Thread 5 = 1 + 4*1, value 3 = 1 + 2*1 holds element (1*1 + 1*8, 1*2 + 1*1) = (9, 3).
//
// The first mode is the fastest digit. Thread 0, value 0 holds element (0, ..., 0).
// Laws: coordinates are sums of digit contributions; layouts that fit a tile stay inside its shape.
// Not represented: digits that move along two axes at once, offsets, xor patterns.
struct TvLayout {
  std::vector<TvMode> threads;
  std::vector<TvMode> values;

  [[nodiscard]] int64_t thread_count() const;
  [[nodiscard]] int64_t value_count() const;
  // REQUIRES: thread in [0, thread_count()), value in [0, value_count()).
  [[nodiscard]] TileCoord coord(int64_t thread, int64_t value) const;
  [[nodiscard]] TileCoord thread_offset(int64_t thread) const;
  [[nodiscard]] TileCoord value_offset(int64_t value) const;
  // True for the thread that holds element copies first: all its replicated digits are 0.
  [[nodiscard]] bool is_first_owner(int64_t thread) const;
  [[nodiscard]] bool has_replicated_values() const;
  [[nodiscard]] bool has_replicated_threads() const;

  // Modes of extent 1 removed, neighbouring modes that continue each other merged: equal maps get equal forms (as far
  // as merging shows).
  [[nodiscard]] TvLayout normalized() const;
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const TvLayout&, const TvLayout&) = default;
};

using TileShape = std::vector<int64_t>;

// Why a layout does not fit a tile: an element outside, an element nobody holds, or one element in two registers of
// two threads without a replicated mode that says so.
struct TvFault {
  enum class Kind : uint8_t { Outside, Hole, Overlap } kind;
  TileCoord element{};
  int64_t thread = 0;
  int64_t value = 0;
  int64_t other_thread = 0;
  int64_t other_value = 0;
  [[nodiscard]] std::string to_string() const;
};

// nullopt when every element of `shape` is held exactly once (up to replicated modes). Exact enumeration.
std::optional<TvFault> find_fault(const TvLayout& layout, const TileShape& shape);

// Same element for every (thread, value): compared by enumeration.
bool same_map(const TvLayout& a, const TvLayout& b);

// The layout of a tile without `axis` (a reduction's result): digits along it become replicated.
// Replicated value digits are removed, since one register suffices.
TvLayout drop_axis(const TvLayout& layout, int axis);

// The layout of an operand that broadcasts into a tile laid out as `layout`: operand axis d is result axis axis_map[d];
// digits along other result axes become replicated (value digits: removed).
TvLayout project(const TvLayout& layout, const std::vector<int>& axis_map);

}  // namespace tw::target
