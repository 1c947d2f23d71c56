// SPDX-License-Identifier: Apache-2.0
#include "codegen/address.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"

namespace tw::codegen {
namespace {

using target::TvLayout;
using target::TvMode;

constexpr int64_t kLanes = 32;
constexpr int64_t kMatrixRows = 8;

bool is_replicated(const TvMode& mode) {
  return mode.axis == TvMode::kReplicated || mode.stride == 0;
}

void add_term(ThreadTerms& terms, ThreadTerm term) {
  if (term.modulus <= 1) {
    return;
  }
  // (t/a % m)*s and (t/(a*m) % n)*(s*m) are one digit.
  if (!terms.empty() && terms.back().divisor * terms.back().modulus == term.divisor &&
      terms.back().stride * terms.back().modulus == term.stride) {
    terms.back().modulus *= term.modulus;
  } else {
    terms.push_back(term);
  }
}

}  // namespace

int64_t evaluate(const ThreadTerms& terms, int64_t thread) {
  int64_t sum = 0;
  for (const ThreadTerm& term : terms) {
    sum += thread / term.divisor % term.modulus * term.stride;
  }
  return sum;
}

std::string to_text(const ThreadTerms& terms, const std::string& thread) {
  std::string out;
  for (const ThreadTerm& term : terms) {
    std::string text = term.divisor == 1 ? thread : fmt::format("{} / {}", thread, term.divisor);
    text += fmt::format(" % {}", term.modulus);
    if (term.stride != 1) {
      text += fmt::format(" * {}", term.stride);
    }
    out += out.empty() ? text : " + " + text;
  }
  return out.empty() ? "0" : out;
}

AccessPlan plan_access(const TvLayout& layout, size_t rank, int vector_elems, bool is_write) {
  AccessPlan plan;
  plan.start.resize(rank);
  plan.vector_elems = vector_elems;
  int64_t divisor = 1;
  for (const TvMode& mode : layout.threads) {
    if (is_replicated(mode)) {
      add_term(plan.owner, {divisor, mode.extent, 1});
    } else {
      add_term(plan.start[mode.axis], {divisor, mode.extent, mode.stride});
    }
    divisor *= mode.extent;
  }
  int64_t position = 1;
  int64_t in_vector = vector_elems;
  for (const TvMode& mode : layout.values) {
    int64_t extent = mode.extent;
    int64_t stride = mode.stride;
    int64_t at = position;
    position *= mode.extent;
    if (in_vector > 1) {
      const int64_t taken = std::min<int64_t>(extent, in_vector);
      TW_CHECK(extent % taken == 0 && in_vector % taken == 0);
      in_vector /= taken;
      extent /= taken;
      stride *= taken;
      at *= taken;
    }
    if (extent > 1 && !(is_write && is_replicated(mode))) {
      plan.loops.push_back({extent, is_replicated(mode) ? -1 : mode.axis, stride, at});
    }
  }
  TW_CHECK(in_vector == 1);
  return plan;
}

std::optional<AccessPlan> plan_ldmatrix(const TvLayout& layout, size_t rank, int matrices, bool transposed) {
  AccessPlan plan;
  plan.start.resize(rank);
  plan.vector_elems = 2 * matrices;
  if (layout.values.empty() || layout.values[0].axis < 0 || layout.values[0].extent % 2 != 0 || rank != 2) {
    return std::nullopt;
  }
  const int pair_axis = layout.values[0].axis;
  const int lane_axis = 1 - pair_axis;
  // Rows of a matrix as they lie in memory.
  plan.start[transposed ? pair_axis : lane_axis].push_back({1, kMatrixRows, 1});
  int64_t divisor = 1;
  for (const TvMode& mode : layout.threads) {
    const int64_t end = divisor * mode.extent;
    if (end > kLanes && mode.axis != TvMode::kReplicated) {
      const int64_t inner = divisor >= kLanes ? 1 : kLanes / divisor;
      add_term(plan.start[mode.axis], {divisor * inner, mode.extent / inner, mode.stride * inner});
    }
    divisor = end;
  }
  int64_t position = 1;
  // Registers of one instruction after the pair choose the matrix.
  int64_t choose = matrices;
  int64_t lane_divisor = kMatrixRows;
  bool is_first = true;
  for (const TvMode& mode : layout.values) {
    int64_t extent = mode.extent;
    int64_t stride = mode.stride;
    int64_t at = position;
    position *= mode.extent;
    if (is_first) {
      extent /= 2;
      stride *= 2;
      at = 2;
      is_first = false;
    }
    if (choose > 1 && extent > 1) {
      const int64_t taken = std::min(extent, choose);
      if (extent % taken != 0 || choose % taken != 0) {
        return std::nullopt;
      }
      if (mode.axis != TvMode::kReplicated) {
        plan.start[mode.axis].push_back({lane_divisor, taken, stride});
      }
      lane_divisor *= taken;
      choose /= taken;
      extent /= taken;
      stride *= taken;
      at *= taken;
    }
    if (extent > 1) {
      plan.loops.push_back({extent, mode.axis, stride, at});
    }
  }
  if (choose > 1) {
    return std::nullopt;
  }
  return plan;
}

std::vector<ThreadTerm> axis_terms(const layout::Layout& elements, size_t axis) {
  std::vector<ThreadTerm> out;
  int64_t divisor = 1;
  for (const layout::FlatMode& mode : layout::flat_modes(elements.mode(axis))) {
    out.push_back({divisor, mode.extent, mode.stride});
    divisor *= mode.extent;
  }
  return out;
}

bool is_affine(const layout::Layout& elements) {
  for (size_t axis = 0; axis < elements.rank(); ++axis) {
    int used = 0;
    for (const layout::FlatMode& mode : layout::flat_modes(elements.mode(axis))) {
      used += mode.extent > 1 ? 1 : 0;
    }
    if (used > 1) {
      return false;
    }
  }
  return true;
}

std::optional<ThreadTerms> register_map(const TvLayout& to, const TvLayout& from, const std::vector<int>& axis_map) {
  const int64_t from_count = from.value_count();
  auto find = [&](const target::TileCoord& wanted) -> int64_t {
    for (int64_t value = 0; value < from_count; ++value) {
      target::TileCoord have = from.value_offset(value);
      bool same = true;
      for (size_t d = 0; d < axis_map.size(); ++d) {
        const int32_t want = axis_map[d] < target::kMaxTileRank ? wanted[axis_map[d]] : 0;
        same &= have[d] == want;
      }
      if (same) {
        return value;
      }
    }
    return -1;
  };
  ThreadTerms terms;
  int64_t position = 1;
  for (const TvMode& mode : to.values) {
    const int64_t stride = mode.extent > 1 ? find(to.value_offset(position)) : 0;
    if (stride < 0) {
      return std::nullopt;
    }
    if (stride > 0) {
      add_term(terms, {position, mode.extent, stride});
    }
    position *= mode.extent;
  }
  for (int64_t value = 0; value < to.value_count(); ++value) {
    if (find(to.value_offset(value)) != evaluate(terms, value)) {
      return std::nullopt;
    }
  }
  return terms;
}

}  // namespace tw::codegen
