// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "target/machine.h"

namespace tw::target {
namespace {

TEST(TvLayout, accumulator_example_of_the_header) {
  const MmaAtom* atom =
      find_machine("sm_80")->find_mma("mma_m16n8k16", ElementType::Bf16, ElementType::Bf16, ElementType::F32);
  ASSERT_NE(atom, nullptr);
  TileCoord coord = atom->c_map.coord(5, 3);
  EXPECT_EQ(coord[0], 9);
  EXPECT_EQ(coord[1], 3);
}

TEST(TvLayout, every_atom_map_covers_its_tile_exactly_once) {
  for (const Machine& machine : machines()) {
    for (const MmaAtom& atom : machine.mma_atoms) {
      if (atom.kind != MmaKind::Mma) {
        continue;
      }
      EXPECT_EQ(find_fault(atom.a_map, {atom.m, atom.k}), std::nullopt) << atom.ptx;
      EXPECT_EQ(find_fault(atom.b_map, {atom.n, atom.k}), std::nullopt) << atom.ptx;
      EXPECT_EQ(find_fault(atom.c_map, {atom.m, atom.n}), std::nullopt) << atom.ptx;
    }
  }
}

TEST(TileMma, every_operand_of_a_tiling_covers_its_tile) {
  for (const MmaAtom& atom : find_machine("sm_90a")->mma_atoms) {
    const bool is_fma = atom.kind == MmaKind::Fma;
    auto tiling = tile_mma(atom, 128, 64, 32, 256, is_fma ? 16 : 4, is_fma ? 16 : 2);
    ASSERT_TRUE(tiling) << tiling.error().message;
    EXPECT_EQ(find_fault(tiling->a, {128, 32}), std::nullopt);
    EXPECT_EQ(find_fault(tiling->b, {64, 32}), std::nullopt);
    EXPECT_EQ(find_fault(tiling->c, {128, 64}), std::nullopt);
    EXPECT_EQ(tiling->a.thread_count(), 256);
    EXPECT_EQ(tiling->b.thread_count(), 256);
    EXPECT_EQ(tiling->c.thread_count(), 256);
  }
}

TEST(TileMma, refuses_a_tile_that_does_not_divide) {
  const MmaAtom& atom = find_machine("sm_80")->mma_atoms[0];
  EXPECT_FALSE(tile_mma(atom, 24, 64, 32, 128, 2, 2));
  EXPECT_FALSE(tile_mma(atom, 64, 64, 24, 128, 2, 2));
  EXPECT_FALSE(tile_mma(atom, 64, 64, 32, 256, 2, 2));
}

TEST(FindFault, names_overlap_hole_and_outside) {
  TvLayout overlap{{{4, 0, 1}}, {{4, 0, 2}}};
  EXPECT_EQ(find_fault(overlap, {10})->kind, TvFault::Kind::Overlap);
  TvLayout hole{{{4, 0, 2}}, {}};
  EXPECT_EQ(find_fault(hole, {8})->kind, TvFault::Kind::Hole);
  TvLayout outside{{{4, 0, 4}}, {}};
  EXPECT_EQ(find_fault(outside, {8})->kind, TvFault::Kind::Outside);
}

TEST(DropAxis, keeps_one_register_for_a_reduced_row) {
  const MmaAtom& atom = find_machine("sm_80")->mma_atoms[0];
  TvLayout rows = drop_axis(atom.c_map, 1);
  EXPECT_EQ(rows.value_count(), 2);
  EXPECT_EQ(rows.thread_count(), 32);
  EXPECT_EQ(find_fault(rows, {16}), std::nullopt);
  EXPECT_FALSE(rows.is_first_owner(1));
  EXPECT_TRUE(rows.is_first_owner(4));
}

TEST(Project, gives_a_row_vector_the_columns_of_its_tile) {
  const MmaAtom& atom = find_machine("sm_80")->mma_atoms[0];
  TvLayout columns = project(atom.c_map, {1});
  EXPECT_EQ(columns.value_count(), 2);
  EXPECT_EQ(find_fault(columns, {8}), std::nullopt);
}

TEST(Ldmatrix, four_matrices_are_the_a_fragment) {
  // Matrices at (0,0), (8,0), (0,8), (8,8) of a 16x16 tile give mma's A operand, register by register.
  const MmaAtom& atom = find_machine("sm_80")->mma_atoms[0];
  for (int lane = 0; lane < 32; ++lane) {
    for (int value = 0; value < 8; ++value) {
      LdmatrixElement element = ldmatrix_element(lane, value, false);
      TileCoord expected = atom.a_map.coord(lane, value);
      EXPECT_EQ(expected[0], element.row + 8 * (element.matrix % 2));
      EXPECT_EQ(expected[1], element.column + 8 * (element.matrix / 2));
    }
  }
}

}  // namespace
}  // namespace tw::target
