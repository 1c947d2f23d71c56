// SPDX-License-Identifier: Apache-2.0
// Fragment maps: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" (.f16/.bf16) and
// "... mma.m16n8k8 ..." (.tf32). groupID = lane / 4, threadID_in_group = lane % 4.
#include "target/mma_atoms.h"

namespace tw::target {
namespace {

constexpr int kRow = 0;
constexpr int kColumn = 1;

// C and D of m16n8: row = groupID + 8 * (i / 2), column = 2 * threadID_in_group + i % 2.
TvLayout accumulator_m16n8() {
  return {{{4, kColumn, 2}, {8, kRow, 1}}, {{2, kColumn, 1}, {2, kRow, 8}}};
}

// 16-bit A of m16n8k16 (m, k): values run along k pair, then m + 8, then k + 8.
TvLayout a_m16k16() {
  return {{{4, kColumn, 2}, {8, kRow, 1}}, {{2, kColumn, 1}, {2, kRow, 8}, {2, kColumn, 8}}};
}
// 16-bit B of m16n8k16 as (n, k).
TvLayout b_n8k16() {
  return {{{4, kColumn, 2}, {8, kRow, 1}}, {{2, kColumn, 1}, {2, kColumn, 8}}};
}

// tf32 A of m16n8k8 (m, k): a0 (g, t), a1 (g + 8, t), a2 (g, t + 4), a3 (g + 8, t + 4).
TvLayout a_m16k8() {
  return {{{4, kColumn, 1}, {8, kRow, 1}}, {{2, kRow, 8}, {2, kColumn, 4}}};
}
// tf32 B of m16n8k8 as (n, k): b0 (g, t), b1 (g, t + 4).
TvLayout b_n8k8() {
  return {{{4, kColumn, 1}, {8, kRow, 1}}, {{2, kColumn, 4}}};
}

MmaAtom fma_atom(ElementType operand, double rate) {
  return {"fma", MmaKind::Fma, 1, 1, 1, operand, operand, ElementType::F32, {}, {}, {}, "", rate};
}

}  // namespace

std::vector<MmaAtom> ampere_mma_atoms(double half_rate, double tf32_rate, double fma_rate) {
  using enum ElementType;
  return {
      {"mma_m16n8k16", MmaKind::Mma, 16, 8, 16, Bf16, Bf16, F32, a_m16k16(), b_n8k16(), accumulator_m16n8(),
       "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", half_rate},
      {"mma_m16n8k16", MmaKind::Mma, 16, 8, 16, F16, F16, F32, a_m16k16(), b_n8k16(), accumulator_m16n8(),
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", half_rate},
      {"mma_m16n8k8", MmaKind::Mma, 16, 8, 8, Tf32, Tf32, F32, a_m16k8(), b_n8k8(), accumulator_m16n8(),
       "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", tf32_rate},
      fma_atom(F32, fma_rate),
      fma_atom(Bf16, fma_rate),
      fma_atom(F16, fma_rate),
      fma_atom(Tf32, fma_rate),
  };
}

}  // namespace tw::target
