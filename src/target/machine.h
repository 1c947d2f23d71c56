// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element_type.h"
#include "base/result.h"
#include "target/tv_layout.h"

namespace tw::target {

// How data moves in one instruction; further kinds (tma, stmatrix, bulk copies) join with their target.
enum class CopyKind : uint8_t {
  Plain,     // generic loads and stores, as wide as alignment proves
  Vector,    // generic, exactly `bytes` wide
  CpAsync,   // cp.async (global to shared), 4, 8 or 16 bytes; completes at a drain
  Ldmatrix,  // ldmatrix.x1/x2/x4 [.trans] of 8x8 matrices of 16-bit elements (PTX ISA 9.7.14.5.15)
};

struct CopyAtom {
  CopyKind kind = CopyKind::Plain;
  // Vector, CpAsync: width of one access in bytes; 0 = chosen by layout inference.
  int bytes = 0;
  friend bool operator==(const CopyAtom&, const CopyAtom&) = default;
};
std::string to_string(CopyAtom atom);

enum class MmaKind : uint8_t { Fma, Mma };

// d[m,n] = c[m,n] + sum_k a[m,k] * b[n,k] on one warp (Mma) or one thread (Fma).
struct MmaAtom {
  std::string_view name;
  MmaKind kind;
  int m, n, k;
  ElementType a, b, c;
  // Fragment maps over the tiles a (m, k), b (n, k), c (m, n). For Mma 32 threads (PTX ISA, matrix fragments); for Fma
  // one.
  TvLayout a_map, b_map, c_map;
  // The PTX instruction, for the emitter; empty for Fma.
  std::string_view ptx;
  // Arithmetic throughput relative to fp32 fma, for the analytic model: multiply-adds per SM and cycle.
  double fma_per_sm_cycle;
};

// A machine model as data. Sizes in bytes; source of each number beside the entry in the .cpp file.
struct Machine {
  std::string_view name;
  // --gpu-architecture for compilers.
  std::string_view arch;
  int warp_threads;
  int max_threads_per_block;
  int64_t max_shared_bytes_per_block;
  int64_t shared_bytes_per_sm;
  int64_t registers_per_sm;
  int max_registers_per_thread;
  int max_threads_per_sm;
  int max_blocks_per_sm;
  int sm_count;
  double clock_ghz;
  double dram_gb_per_s;
  double l2_gb_per_s;
  int shared_banks;
  std::vector<CopyKind> copy_kinds;
  std::vector<MmaAtom> mma_atoms;

  [[nodiscard]] bool has(CopyKind kind) const;
  // `name` as written in programs ("mma_m16n8k16", "fma"); several entries differ in element types.
  [[nodiscard]] const MmaAtom* find_mma(std::string_view name, ElementType a, ElementType b, ElementType c) const;
};

// sm_80, sm_90a.
std::span<const Machine> machines();
const Machine* find_machine(std::string_view name);

// The layout of a whole operand or result tile when an atom is repeated over it by a grid of warps (Mma) or threads
// (Fma). Warps are numbered m fastest: warp w sits at (w % warps_m, w / warps_m); each holds a contiguous block of the
// tile, inside which the atom repeats. Fails when the tile is not a multiple of the grid times the atom.
struct MmaTiling {
  TvLayout a, b, c;
};
Result<MmaTiling> tile_mma(const MmaAtom& atom, int64_t tile_m, int64_t tile_n, int64_t tile_k, int64_t threads,
                           int warps_m, int warps_n);

// ldmatrix: matrix i of 8x8 16-bit elements; lanes 8i .. 8i+7 supply the addresses of its 8 rows (16 bytes each).
// Lane l receives elements (row l / 4, columns 2 * (l % 4) + {0, 1}) of every matrix; with trans (row and column
// swapped).
struct LdmatrixElement {
  int matrix, row, column;
};
LdmatrixElement ldmatrix_element(int lane, int value, bool transposed);

}  // namespace tw::target
