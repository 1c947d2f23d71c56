// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"

// How the threads of a block walk a tile in memory: what every emitter needs to know of one access, free of any
// language.
namespace tw::codegen {

// ((thread / divisor) % modulus) * stride.
struct ThreadTerm {
  int64_t divisor = 1;
  int64_t modulus = 1;
  int64_t stride = 1;
  friend bool operator==(const ThreadTerm&, const ThreadTerm&) = default;
};
using ThreadTerms = std::vector<ThreadTerm>;

int64_t evaluate(const ThreadTerms& terms, int64_t thread);
// C text over the variable `thread`; "0" when there are none.
std::string to_text(const ThreadTerms& terms, const std::string& thread);

// A thread makes one access for each setting of the loop variables; variable i moves by `stride` along `axis` (-1:
// nowhere) and by `register_stride` registers.
struct AccessLoop {
  int64_t extent = 1;
  int axis = -1;
  int64_t stride = 0;
  int64_t register_stride = 0;
};

struct AccessPlan {
  // Where a thread's part starts, per tile axis.
  std::vector<ThreadTerms> start;
  // Innermost first.
  std::vector<AccessLoop> loops;
  int vector_elems = 1;
  // Each must be 0 in the thread that writes: the others hold copies.
  ThreadTerms owner;
};

// Plain accesses: `vector_elems` consecutive registers at a time. Writes leave out registers that hold copies.
AccessPlan plan_access(const target::TvLayout& layout, size_t rank, int vector_elems, bool is_write);

// ldmatrix: `start` is where a lane's row of 16 bytes lies (lane l gives row l % 8 of matrix l / 8, modulo `matrices`),
// a loop's `register_stride` counts elements. nullopt: the layout is no fragment.
std::optional<AccessPlan> plan_ldmatrix(const target::TvLayout& layout, size_t rank, int matrices, bool transposed);

// The linear offset of an axis of a shared object: sum of ((coordinate / divisor) % modulus) * stride, in elements.
std::vector<ThreadTerm> axis_terms(const layout::Layout& elements, size_t axis);
// Every axis is one stride.
bool is_affine(const layout::Layout& elements);

// The affine map from registers of one layout to registers of another that holds the same elements, digit by digit:
// register i of `to` is made of register sum ((i / divisor) % modulus) * stride of `from`. Tile axis d of `from` is
// axis axis_map[d] of `to` (axes of `from` that stretch: kMaxTileRank). nullopt when it is not affine in the digits.
std::optional<ThreadTerms> register_map(const target::TvLayout& to, const target::TvLayout& from,
                                        const std::vector<int>& axis_map);

}  // namespace tw::codegen
