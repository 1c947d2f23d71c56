// SPDX-License-Identifier: Apache-2.0
#include "analysis/pieces.h"

#include <algorithm>

#include "analysis/reading.h"

namespace tw::analysis {

using domain::Condition;
using domain::CondKind;
using domain::Decision;
using domain::FactScope;
using domain::Ints;

ObjectKey object_key(const ir::Region& region) {
  return region.is_global() ? ObjectKey{true, region.tensor().index} : ObjectKey{false, region.shared().index};
}

bool same_pieces(const std::map<ObjectKey, std::vector<Piece>>& a, const std::map<ObjectKey, std::vector<Piece>>& b) {
  auto same_list = [](const std::vector<Piece>& x, const std::vector<Piece>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Piece& p, const Piece& q) {
      return p.guard == q.guard && p.value == q.value && p.kind == q.kind;
    });
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const auto& x, const auto& y) { return x.first == y.first && same_list(x.second, y.second); });
}

MemoryRead Memory::read(ObjectKey key, IntId version, const std::vector<IntId>& coords, domain::Facts& facts,
                        ElementType type) {
  Ints& ints = env_->ints;
  Values& values = env_->values;
  domain::Substitution at;
  if (version.is_valid()) {
    at.emplace(env_->cell_version, version);
  }
  for (size_t i = 0; i < coords.size(); ++i) {
    at.emplace(env_->cell_coords[i], coords[i]);
  }
  MemoryRead result;
  std::vector<std::pair<CondId, TermId>> candidates;
  FactScope scope(facts);
  // Set when a piece serves every cell that is left.
  std::optional<TermId> last;
  const std::vector<Piece>& pieces = pieces_[key];
  auto is_exhausted = [&] { return !candidates.empty() && env_->prover.contradictory(facts); };
  for (size_t i = pieces.size(); i-- > 0 && !last;) {
    const Piece& piece = pieces[i];
    if (piece.kind != PieceKind::Write) {
      if (is_exhausted()) {
        break;
      }
      result.is_incomplete = piece.kind == PieceKind::Stale;
      result.is_stale = piece.kind == PieceKind::Stale;
      result.is_approximate = piece.kind == PieceKind::Unknown;
      last = piece.kind == PieceKind::Stale ? values.uninitialized(type) : values.opaque(type);
      break;
    }
    CondId condition = ints.substitute(ints.conjunction(piece.guard), at);
    Decision decision = env_->prover.decide(facts, condition);
    if (decision == Decision::False) {
      continue;
    }
    TermId value = values.substitute(piece.value, at);
    if (decision == Decision::True) {
      last = value;
    } else {
      candidates.emplace_back(condition, value);
      facts.assume(ints.negate(condition));
    }
  }
  // A write of version 1 and one of version k hold the same where k == 1: the general one stands for both.
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (same_under(candidates[i].first, candidates[0].second, candidates[i].second)) {
      candidates[i].second = candidates[0].second;
    }
  }
  if (!last) {
    if (is_exhausted()) {
      last = candidates.back().second;
      candidates.pop_back();
    } else {
      result.is_incomplete = true;
      last = values.uninitialized(type);
    }
  }
  std::vector<CondId> open;
  for (const auto& [condition, value] : candidates) {
    open.push_back(ints.negate(condition));
  }
  result.open = open;
  result.open_condition = ints.conjunction(std::move(open));
  result.value = *last;
  for (size_t i = candidates.size(); i-- > 0;) {
    result.value = values.select(candidates[i].first, candidates[i].second, result.value);
  }
  return result;
}

bool Memory::same_under(CondId condition, TermId a, TermId b) {
  if (a == b) {
    return true;
  }
  Ints& ints = env_->ints;
  const Condition whole = ints.condition(condition);
  std::vector<CondId> parts = whole.kind == CondKind::And ? whole.parts : std::vector<CondId>{condition};
  for (CondId part : parts) {
    const Condition c = ints.condition(part);
    if (c.kind != CondKind::Zero) {
      continue;
    }
    for (VarId v : ints.vars(part)) {
      auto linear = ints.linear_in(c.value, v);
      if (!linear || (linear->coefficient != 1 && linear->coefficient != -1)) {
        continue;
      }
      domain::Substitution at{{v, ints.scale(linear->rest, -linear->coefficient)}};
      if (env_->values.substitute(a, at) == env_->values.substitute(b, at)) {
        return true;
      }
    }
  }
  return false;
}

MemoryMark Memory::mark() const {
  MemoryMark mark;
  for (const auto& [key, list] : pieces_) {
    mark[key] = list.size();
  }
  return mark;
}

std::map<ObjectKey, std::vector<Piece>> Memory::since(const MemoryMark& mark) const {
  std::map<ObjectKey, std::vector<Piece>> result;
  for (const auto& [key, list] : pieces_) {
    auto it = mark.find(key);
    size_t first = it == mark.end() ? 0 : it->second;
    if (first < list.size()) {
      result[key].assign(list.begin() + static_cast<std::ptrdiff_t>(first), list.end());
    }
  }
  return result;
}

void Memory::guard_since(const MemoryMark& mark, CondId condition) {
  for (auto& [key, list] : pieces_) {
    auto it = mark.find(key);
    for (size_t i = it == mark.end() ? 0 : it->second; i < list.size(); ++i) {
      // Unknown and Stale pieces stay unguarded: that only says less.
      if (list[i].kind == PieceKind::Write) {
        list[i].guard.push_back(condition);
      }
    }
  }
}

// The value of `var` that the guard leaves, if it leaves at most one: from an equation, or from a window
// 0 <= x - (a*var + b) < n with n <= a.
std::optional<IntId> Memory::solve(const std::vector<CondId>& guard, VarId var) {
  Ints& ints = env_->ints;
  std::vector<CondId> flat;
  for (CondId c : guard) {
    const Condition& condition = ints.condition(c);
    if (condition.kind == CondKind::And) {
      flat.insert(flat.end(), condition.parts.begin(), condition.parts.end());
    } else {
      flat.push_back(c);
    }
  }
  for (CondId c : flat) {
    const Condition condition = ints.condition(c);
    if (condition.kind != CondKind::Zero || !ints.uses(c, var)) {
      continue;
    }
    auto linear = ints.linear_in(condition.value, var);
    if (linear && linear->coefficient != 0) {
      int64_t a = linear->coefficient;
      // a*var + rest == 0; when a does not divide rest the guard, with this value put in, is false.
      return a > 0 ? ints.floor_div(ints.scale(linear->rest, -1), ints.constant(a))
                   : ints.floor_div(linear->rest, ints.constant(-a));
    }
  }
  for (CondId low : flat) {
    const Condition first = ints.condition(low);
    if (first.kind != CondKind::NonNegative || !ints.uses(low, var)) {
      continue;
    }
    auto below = ints.linear_in(first.value, var);
    if (!below || below->coefficient >= 0) {
      continue;
    }
    for (CondId high : flat) {
      const Condition second = ints.condition(high);
      if (second.kind != CondKind::NonNegative || !ints.uses(high, var)) {
        continue;
      }
      // (x - a*var - b) + (a*var + b + n-1 - x) = n-1.
      auto width = ints.constant_value(ints.add(first.value, second.value));
      if (width && *width >= 0 && *width + 1 <= -below->coefficient) {
        return ints.floor_div(below->rest, ints.constant(-below->coefficient));
      }
    }
  }
  return std::nullopt;
}

std::optional<Memory::Closed> Memory::close(const Piece& piece, VarId var, IntId lo, IntId hi) {
  Ints& ints = env_->ints;
  bool guard_uses = std::any_of(piece.guard.begin(), piece.guard.end(), [&](CondId c) { return ints.uses(c, var); });
  IntId iteration;
  if (guard_uses) {
    auto solved = solve(piece.guard, var);
    if (!solved || ints.uses(*solved, var)) {
      return std::nullopt;
    }
    iteration = *solved;
  } else {
    // The same cells in every iteration: the last one counts.
    iteration = ints.add(hi, ints.constant(-1));
  }
  domain::Substitution at{{var, iteration}};
  Closed closed;
  closed.iteration = iteration;
  closed.piece.value = env_->values.substitute(piece.value, at);
  for (CondId c : piece.guard) {
    closed.piece.guard.push_back(ints.substitute(c, at));
  }
  closed.piece.guard.push_back(ints.le(lo, iteration));
  closed.piece.guard.push_back(ints.lt(iteration, hi));
  return closed;
}

void Memory::append_closed(ObjectKey key, const std::vector<Piece>& body, VarId var, IntId lo, IntId hi,
                           domain::Facts& facts) {
  std::vector<Closed> closed;
  bool is_known = true;
  for (const Piece& piece : body) {
    if (piece.kind != PieceKind::Write) {
      // Whatever came before in this loop is covered by the marker.
      closed.push_back({piece, {}});
      is_known = false;
      continue;
    }
    auto one = close(piece, var, lo, hi);
    if (!one) {
      is_known = false;
      break;
    }
    closed.push_back(std::move(*one));
  }
  Ints& ints = env_->ints;
  // An earlier statement must not have written the cell in a later iteration than a later statement.
  for (size_t i = 0; is_known && i < closed.size(); ++i) {
    for (size_t j = i + 1; is_known && j < closed.size(); ++j) {
      if (closed[i].iteration == closed[j].iteration) {
        continue;
      }
      FactScope scope(facts);
      for (const Closed* side : {&closed[i], &closed[j]}) {
        for (CondId c : side->piece.guard) {
          facts.assume(c);
        }
      }
      is_known = env_->prover.proves(facts, ints.le(closed[i].iteration, closed[j].iteration));
    }
  }
  std::vector<Piece>& list = pieces_[key];
  if (!is_known) {
    list.push_back(Piece{{}, {}, PieceKind::Unknown});
    return;
  }
  for (Closed& one : closed) {
    list.push_back(std::move(one.piece));
  }
}

}  // namespace tw::analysis
