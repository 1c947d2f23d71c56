// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "analysis/value_term.h"
#include "domain/facts.h"
#include "ir/function.h"

namespace tw::analysis {

struct Environment;

// A shared object of the block or a global tensor.
struct ObjectKey {
  bool is_global = false;
  uint32_t index = 0;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
ObjectKey object_key(const ir::Region& region);

// Write: the cells for which all of `guard` holds were written, and hold `value`; both over the environment's cell
// variables. Unknown: the cells may have been written with anything. Stale: what stands there is left from earlier
// tiles.
enum class PieceKind : uint8_t { Write, Unknown, Stale };

struct Piece {
  std::vector<CondId> guard;
  TermId value;
  PieceKind kind = PieceKind::Write;
};
bool same_pieces(const std::map<ObjectKey, std::vector<Piece>>& a, const std::map<ObjectKey, std::vector<Piece>>& b);

struct MemoryRead {
  TermId value;
  // Some cell may have no writer: when `open` holds on top of the facts (`open_condition` is their conjunction).
  bool is_incomplete = false;
  bool is_stale = false;
  // No single write is known.
  bool is_approximate = false;
  std::vector<CondId> open;
  CondId open_condition;
};

using MemoryMark = std::map<ObjectKey, size_t>;

// The writes so far, oldest first.
class Memory {
 public:
  explicit Memory(Environment& environment) : env_(&environment) {}

  void write(ObjectKey key, Piece piece) { pieces_[key].push_back(std::move(piece)); }
  // What the cell (version, coords) holds under the facts; `facts` is as before afterwards.
  MemoryRead read(ObjectKey key, IntId version, const std::vector<IntId>& coords, domain::Facts& facts,
                  ElementType type);

  [[nodiscard]] MemoryMark mark() const;
  [[nodiscard]] std::map<ObjectKey, std::vector<Piece>> since(const MemoryMark& mark) const;
  void guard_since(const MemoryMark& mark, CondId condition);

  // The writes of all iterations lo <= var < hi of a loop, of which `body` is what one iteration writes. A cell that
  // several iterations write holds the newest; where which one that is can't be told, the cells become Unknown.
  void append_closed(ObjectKey key, const std::vector<Piece>& body, VarId var, IntId lo, IntId hi,
                     domain::Facts& facts);

 private:
  struct Closed {
    Piece piece;
    // The iteration that wrote the cell.
    IntId iteration;
  };
  // Whether the terms are equal where `condition` holds, by putting in what its equations say of a variable.
  bool same_under(CondId condition, TermId a, TermId b);
  std::optional<Closed> close(const Piece& piece, VarId var, IntId lo, IntId hi);
  std::optional<IntId> solve(const std::vector<CondId>& guard, VarId var);

  Environment* env_;
  std::map<ObjectKey, std::vector<Piece>> pieces_;
};

}  // namespace tw::analysis
