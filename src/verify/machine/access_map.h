// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "ir/function.h"

namespace tw::verify {

// Which threads touch which bytes of shared memory in one execution of one memory op, for slot 0 of the object.
// Kept as an array over granules (the smallest element size in the kernel), so that two maps compare in one linear
// pass.
struct AccessMap {
  static constexpr int16_t kNobody = -1;
  // Two or more threads, or a warp-collective read (any lane may be the one that reads).
  static constexpr int16_t kSeveral = -2;

  const ir::Op* op = nullptr;
  ir::SharedId object;
  bool is_write = false;
  bool is_async = false;
  int64_t first_granule = 0;
  std::vector<int16_t> owner;
  // The slice of the object that the op names, for comparisons of contents: [lo, hi) an axis.
  std::vector<int64_t> lo, hi;

  [[nodiscard]] int64_t end_granule() const { return first_granule + static_cast<int64_t>(owner.size()); }
};

// One side of an op that touches shared memory.
struct SharedSide {
  const ir::Region* region = nullptr;
  bool is_write = false;
  bool is_async = false;
  // Layout that says which thread holds which tile element.
  const target::TvLayout* layout = nullptr;
  // Only the first owner of a replicated element writes.
  bool first_owner_only = false;
  bool is_collective = false;
};
std::vector<SharedSide> shared_sides(const ir::Function& function, const ir::Op& op);

// `starts[i]`: concrete start of the region along object axis i. Fails when an element lies outside the object.
Result<AccessMap> make_access_map(const ir::Function& function, const ir::Op& op, const SharedSide& side,
                                  const std::vector<int64_t>& starts, int64_t granule_bytes);

// A granule that a thread of `a` and another thread of `b` both touch, at byte offsets `shift_a`, `shift_b` (multiples
// of the granule) added to the maps. `same_thread_too`: the two conflict even inside one thread.
struct Conflict {
  int64_t byte = 0;
  int16_t thread_a = 0;
  int16_t thread_b = 0;
};
std::optional<Conflict> find_conflict(const AccessMap& a, int64_t shift_a, const AccessMap& b, int64_t shift_b,
                                      int64_t granule_bytes, bool same_thread_too, bool same_warp_ordered);

}  // namespace tw::verify
