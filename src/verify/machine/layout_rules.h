// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tw::verify {

// A layout that does not do what its op needs (obligation 7), or a resource over its limit (obligation 8).
struct LayoutFinding {
  enum class Kind : uint8_t {
    // A register tile or copy map with an overlap, a hole, or an element outside (D4).
    Map,
    // Operands of an mma, a broadcast or a reduction in another layout than the instruction's (D2).
    Fragment,
    // ldmatrix: rows that are not 16 contiguous bytes on a 16-byte boundary, or a wrong transpose.
    Ldmatrix,
    // A vector whose elements are not contiguous or not aligned in shared memory.
    SharedVector,
    // Two objects over the same bytes that are not declared aliases; a slot too small; an address map that is not
    // injective.
    Storage,
    // Shared memory, threads, registers.
    Resource,
  } kind = Kind::Map;
  const ir::Op* op = nullptr;
  ir::SharedId object;
  std::string claim;
  std::vector<std::string> facts;
};

struct LayoutResult {
  int64_t compared_layouts = 0;
  int64_t compared_resources = 0;
  std::vector<LayoutFinding> findings;
};

// Takes: a lowered function. Gives: exact answers by enumeration over threads, registers and elements (tiles are
// constant). Never does: global addresses (bounds and alignment of symbolic sizes are the reading half's), order.
LayoutResult check_layouts(const ir::Function& function);

}  // namespace tw::verify
