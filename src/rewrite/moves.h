// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/source.h"
#include "syntax/ast.h"

// Moves are transformations of tile programs, on the text's tree: what a move makes is again a program that a person
// can read, and it is proved, tested and measured like any other. A move may be wrong; nothing here is trusted.
namespace tw::rewrite {

struct Rewritten {
  // The move that made it and what it did: "stage_in_shared: A and B through shared tiles of 64 x 32".
  std::string move;
  std::string title;
  syntax::Module module;
};

// A technique: when it applies and what it changes.
struct Move {
  std::string_view name;
  std::string_view summary;
  // All ways to apply it to the first kernel of a program, the most promising first; empty: it does not apply.
  std::vector<Rewritten> (*apply)(const syntax::Module& module);
};

// In the order in which a person would try them.
std::span<const Move> moves();
const Move* find_move(std::string_view name);

// Single small edits near the places of a counterexample, the likeliest first: a barrier, a wait count, a rounding of a
// trip count, an index copied from the other operand, a pad value, an assumption. Each is a guess that must be checked.
std::vector<Rewritten> repairs(const syntax::Module& module, std::span<const diag::Span> places);

// One file each.
std::vector<Rewritten> stage_in_shared(const syntax::Module& module);
std::vector<Rewritten> align_rows(const syntax::Module& module);
std::vector<Rewritten> pad_shared(const syntax::Module& module);
std::vector<Rewritten> swizzle_shared(const syntax::Module& module);
std::vector<Rewritten> use_tensor_cores(const syntax::Module& module);
std::vector<Rewritten> copy_async(const syntax::Module& module);
std::vector<Rewritten> pipeline_loop(const syntax::Module& module);
std::vector<Rewritten> stage_epilogue(const syntax::Module& module);
std::vector<Rewritten> group_raster(const syntax::Module& module);
std::vector<Rewritten> enlarge_tiles(const syntax::Module& module);
std::vector<Rewritten> resize_tiles(const syntax::Module& module);
std::vector<Rewritten> change_threads(const syntax::Module& module);

}  // namespace tw::rewrite
