// SPDX-License-Identifier: Apache-2.0
#include "target/machine.h"

#include <algorithm>
#include <fmt/format.h>

#include "target/mma_atoms.h"

namespace tw::target {
namespace {

// A100 SXM4 80 GB. Limits: CUDA C++ Programming Guide, table of technical specifications per compute capability (8.0).
// Rates and bandwidths: NVIDIA A100 datasheet (312 dense bf16 TFLOP/s at 1.41 GHz on 108 SMs = 1024 multiply-adds an SM
// and cycle).
Machine sm_80() {
  return {.name = "sm_80",
          .arch = "sm_80",
          .warp_threads = 32,
          .max_threads_per_block = 1024,
          .max_shared_bytes_per_block = 163 * 1024,
          .shared_bytes_per_sm = 164 * 1024,
          .registers_per_sm = 65536,
          .max_registers_per_thread = 255,
          .max_threads_per_sm = 2048,
          .max_blocks_per_sm = 32,
          .sm_count = 108,
          .clock_ghz = 1.41,
          .dram_gb_per_s = 2039,
          .l2_gb_per_s = 5120,
          .shared_banks = 32,
          .copy_kinds = {CopyKind::Plain, CopyKind::Vector, CopyKind::CpAsync, CopyKind::Ldmatrix},
          .mma_atoms = ampere_mma_atoms(1024, 512, 64)};
}

// H200 SXM. Limits: the same table (9.0). Datasheet: 989 dense bf16 TFLOP/s by wgmma; mma.sync reaches about 62 % of
// that rate (Luo et al. 2024, "Benchmarking and Dissecting the NVIDIA Hopper GPU Architecture via Microbenchmarking",
// tensor core tables).
Machine sm_90a() {
  return {.name = "sm_90a",
          .arch = "sm_90a",
          .warp_threads = 32,
          .max_threads_per_block = 1024,
          .max_shared_bytes_per_block = 227 * 1024,
          .shared_bytes_per_sm = 228 * 1024,
          .registers_per_sm = 65536,
          .max_registers_per_thread = 255,
          .max_threads_per_sm = 2048,
          .max_blocks_per_sm = 32,
          .sm_count = 132,
          .clock_ghz = 1.755,
          .dram_gb_per_s = 4800,
          .l2_gb_per_s = 7000,
          .shared_banks = 32,
          .copy_kinds = {CopyKind::Plain, CopyKind::Vector, CopyKind::CpAsync, CopyKind::Ldmatrix},
          .mma_atoms = ampere_mma_atoms(1270, 635, 128)};
}

const std::vector<Machine>& registry() {
  static const std::vector<Machine> all{sm_80(), sm_90a()};
  return all;
}

constexpr int kRowAxis = 0;
constexpr int kColumnAxis = 1;

// One operand or the result of an Mma atom, repeated over a tile of (rows, columns). `grid` gives the warp digits.
TvLayout repeat_atom(const TvLayout& atom, int64_t atom_rows, int64_t atom_columns, int64_t warp_rows,
                     int64_t warp_columns, std::vector<TvMode> grid) {
  TvLayout out = atom;
  out.threads.insert(out.threads.end(), grid.begin(), grid.end());
  // Columns first: for the k-contiguous operands this keeps one instruction's registers together.
  out.values.push_back(
      {static_cast<int32_t>(warp_columns / atom_columns), kColumnAxis, static_cast<int32_t>(atom_columns)});
  out.values.push_back({static_cast<int32_t>(warp_rows / atom_rows), kRowAxis, static_cast<int32_t>(atom_rows)});
  return out;
}

TvMode grid_digit(int64_t count, int axis, int64_t stride) {
  return {static_cast<int32_t>(count), axis, axis == TvMode::kReplicated ? 0 : static_cast<int32_t>(stride)};
}

Result<MmaTiling> tile_warp_mma(const MmaAtom& atom, int64_t tile_m, int64_t tile_n, int64_t tile_k, int64_t threads,
                                int warps_m, int warps_n) {
  if (int64_t{warps_m} * warps_n * 32 != threads) {
    return fail(fmt::format("a grid of {} x {} warps needs {} threads, the unit has {}", warps_m, warps_n,
                            int64_t{warps_m} * warps_n * 32, threads));
  }
  const int64_t warp_m = tile_m / warps_m;
  const int64_t warp_n = tile_n / warps_n;
  if (tile_m % warps_m != 0 || warp_m % atom.m != 0) {
    return fail(
        fmt::format("m = {} is not a multiple of {} warps x {} rows of `{}`", tile_m, warps_m, atom.m, atom.name));
  }
  if (tile_n % warps_n != 0 || warp_n % atom.n != 0) {
    return fail(
        fmt::format("n = {} is not a multiple of {} warps x {} columns of `{}`", tile_n, warps_n, atom.n, atom.name));
  }
  if (tile_k % atom.k != 0) {
    return fail(fmt::format("k = {} is not a multiple of the {} of `{}`", tile_k, atom.k, atom.name));
  }
  const int none = TvMode::kReplicated;
  return MmaTiling{repeat_atom(atom.a_map, atom.m, atom.k, warp_m, tile_k,
                               {grid_digit(warps_m, kRowAxis, warp_m), grid_digit(warps_n, none, 0)}),
                   repeat_atom(atom.b_map, atom.n, atom.k, warp_n, tile_k,
                               {grid_digit(warps_m, none, 0), grid_digit(warps_n, kRowAxis, warp_n)}),
                   repeat_atom(atom.c_map, atom.m, atom.n, warp_m, warp_n,
                               {grid_digit(warps_m, kRowAxis, warp_m), grid_digit(warps_n, kColumnAxis, warp_n)})};
}

// Threads n fastest, so that neighbouring threads hold neighbouring columns; each thread's micro-tile is strided by the
// grid in units of up to four columns (one 16-byte access of f32).
Result<MmaTiling> tile_fma(int64_t tile_m, int64_t tile_n, int64_t tile_k, int64_t threads, int threads_m,
                           int threads_n) {
  if (int64_t{threads_m} * threads_n != threads) {
    return fail(
        fmt::format("a grid of {} x {} threads does not have the unit's {} threads", threads_m, threads_n, threads));
  }
  if (tile_m % threads_m != 0 || tile_n % threads_n != 0) {
    return fail(
        fmt::format("a tile of {} x {} does not divide among {} x {} threads", tile_m, tile_n, threads_m, threads_n));
  }
  const int64_t per_m = tile_m / threads_m;
  const int64_t per_n = tile_n / threads_n;
  const int64_t unit = per_n % 4 == 0 ? 4 : (per_n % 2 == 0 ? 2 : 1);
  const int none = TvMode::kReplicated;
  const TvMode run = grid_digit(unit, kColumnAxis, 1);
  const TvMode repeat_n = grid_digit(per_n / unit, kColumnAxis, unit * threads_n);
  const TvMode repeat_m = grid_digit(per_m, kRowAxis, threads_m);
  TvLayout c{{grid_digit(threads_n, kColumnAxis, unit), grid_digit(threads_m, kRowAxis, 1)}, {run, repeat_n, repeat_m}};
  TvLayout a{{grid_digit(threads_n, none, 0), grid_digit(threads_m, kRowAxis, 1)},
             {grid_digit(tile_k, kColumnAxis, 1), grid_digit(per_m, kRowAxis, threads_m)}};
  TvLayout b{{grid_digit(threads_n, kRowAxis, unit), grid_digit(threads_m, none, 0)},
             {grid_digit(tile_k, kColumnAxis, 1), grid_digit(unit, kRowAxis, 1),
              grid_digit(per_n / unit, kRowAxis, unit * threads_n)}};
  return MmaTiling{a, b, c};
}

}  // namespace

std::string to_string(CopyAtom atom) {
  switch (atom.kind) {
    case CopyKind::Plain:
      return "plain";
    case CopyKind::Vector:
      return fmt::format("vector({})", atom.bytes);
    case CopyKind::CpAsync:
      return atom.bytes == 0 ? "cp_async" : fmt::format("cp_async({})", atom.bytes);
    case CopyKind::Ldmatrix:
      return "ldmatrix";
  }
  return {};
}

bool Machine::has(CopyKind kind) const {
  return std::ranges::find(copy_kinds, kind) != copy_kinds.end();
}

const MmaAtom* Machine::find_mma(std::string_view name, ElementType a, ElementType b, ElementType c) const {
  for (const MmaAtom& atom : mma_atoms) {
    if (atom.name == name && atom.a == a && atom.b == b && atom.c == c) {
      return &atom;
    }
  }
  return nullptr;
}

std::span<const Machine> machines() {
  return registry();
}

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : registry()) {
    if (machine.name == name) {
      return &machine;
    }
  }
  return nullptr;
}

Result<MmaTiling> tile_mma(const MmaAtom& atom, int64_t tile_m, int64_t tile_n, int64_t tile_k, int64_t threads,
                           int warps_m, int warps_n) {
  if (warps_m <= 0 || warps_n <= 0) {
    return fail(fmt::format("a grid of {} x {} is empty", warps_m, warps_n));
  }
  return atom.kind == MmaKind::Fma ? tile_fma(tile_m, tile_n, tile_k, threads, warps_m, warps_n)
                                   : tile_warp_mma(atom, tile_m, tile_n, tile_k, threads, warps_m, warps_n);
}

LdmatrixElement ldmatrix_element(int lane, int value, bool transposed) {
  const int matrix = value / 2;
  const int row = lane / 4;
  const int column = 2 * (lane % 4) + value % 2;
  return transposed ? LdmatrixElement{matrix, column, row} : LdmatrixElement{matrix, row, column};
}

}  // namespace tw::target
