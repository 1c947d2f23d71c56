// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/order_walk.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "verify/machine/access_map.h"
#include "verify/machine/conditions.h"
#include "verify/machine/order_state.h"

namespace tw::verify {
namespace {

constexpr int64_t kMaxStates = 60000;
// Once something is wrong, the number of states often explodes (accesses that nothing ever orders pile up), while more
// findings say little.
constexpr int64_t kStatesAfterFinding = 1500;
constexpr int kMaxAge = 64;
// An offset further back than this cannot be told from any other old version.
constexpr int64_t kStaleOffset = 4096;

using States = std::vector<OrderState>;

class OrderWalk {
 public:
  OrderWalk(const ir::Function& function, Bounds bounds) : f_(function), conditions_(function, bounds) {
    granule_ = 8;
    for (const ir::SharedObject& object : function.shared) {
      granule_ = std::min<int64_t>(granule_, size_bytes(object.element));
    }
  }

  OrderResult run() {
    walk(f_.body, {OrderState{}});
    result_.compared = compared_;
    return std::move(result_);
  }

 private:
  // --- findings

  void report(OrderFinding finding) {
    const uint32_t first = finding.first != nullptr ? finding.first->id : 0;
    const uint32_t second = finding.second != nullptr ? finding.second->id : 0;
    if (reported_.insert({static_cast<int>(finding.kind), first, second}).second) {
      states_at_finding_ = result_.findings.empty() ? result_.states : states_at_finding_;
      result_.findings.push_back(std::move(finding));
    }
  }

  void not_followed(const ir::Op& op, std::string why) {
    report({.kind = OrderFinding::Kind::NotFollowed, .first = &op, .second = nullptr, .claim = std::move(why)});
  }

  // --- control flow

  static void dedupe(States& states) {
    std::unordered_set<std::string> seen;
    std::erase_if(states, [&](const OrderState& s) { return !seen.insert(s.key()).second; });
  }

  States walk(const ir::Block& block, States states) {
    for (const ir::Op& op : block) {
      if (states.empty() || gave_up_) {
        return {};
      }
      result_.states += static_cast<int64_t>(states.size());
      if (!result_.findings.empty() && result_.states > states_at_finding_ + kStatesAfterFinding) {
        gave_up_ = true;
        return {};
      }
      if (result_.states > kMaxStates) {
        gave_up_ = true;
        not_followed(op, fmt::format("more than {} order states", kMaxStates));
        return {};
      }
      states = step(op, std::move(states));
    }
    return states;
  }

  States step(const ir::Op& op, States states) {
    return std::visit(
        ir::Overloaded{
            [&](const ir::ForOp& loop) { return walk_loop(op, loop, std::move(states)); },
            [&](const ir::TilesOp& tiles) { return walk_tiles(tiles, std::move(states)); },
            [&](const ir::IfOp& branch) { return walk_if(branch, std::move(states)); },
            [&](const ir::SyncOp& sync) { return map(std::move(states), [&](OrderState& s) { barrier(s, sync); }); },
            [&](const ir::CommitOp&) { return map(std::move(states), commit); },
            [&](const ir::DrainOp& d) { return map(std::move(states), [&](OrderState& s) { drain(s, d.pending); }); },
            [&](const auto&) { return access(op, std::move(states)); },
        },
        op.body);
  }

  template <class Fn>
  static States map(States states, Fn fn) {
    for (OrderState& state : states) {
      fn(state);
    }
    dedupe(states);
    return states;
  }

  // Splits a state by the class of `atom`.
  void split(const OrderState& state, ir::ExprId atom, States& out) const {
    for (AtomClass& atom_class : conditions_.classes(atom)) {
      OrderState next = state;
      next.atoms.push_back(atom_class);
      std::ranges::sort(next.atoms, {}, &AtomClass::atom);
      out.push_back(std::move(next));
    }
  }

  States walk_if(const ir::IfOp& branch, States states) {
    States then_states;
    States else_states;
    while (!states.empty()) {
      OrderState state = std::move(states.back());
      states.pop_back();
      if (auto truth = conditions_.truth(state, branch.condition)) {
        (*truth ? then_states : else_states).push_back(std::move(state));
      } else if (auto atom = conditions_.undecided_atom(state, branch.condition)) {
        split(state, *atom, states);
      } else {
        // Both ways; a condition that cannot change is remembered.
        const bool keep = conditions_.is_invariant(branch.condition);
        OrderState other = state;
        if (keep) {
          state.facts.emplace_back(branch.condition, true);
          other.facts.emplace_back(branch.condition, false);
        }
        then_states.push_back(std::move(state));
        else_states.push_back(std::move(other));
      }
    }
    States out = walk(branch.then_body, std::move(then_states));
    for (OrderState& state : walk(branch.else_body, std::move(else_states))) {
      out.push_back(std::move(state));
    }
    dedupe(out);
    return out;
  }

  // A block that works on one point after another may do so any number of times; what it knew of a point's coordinates
  // ends.
  States walk_tiles(const ir::TilesOp& tiles, States states) {
    if (!tiles.persistent) {
      return walk(tiles.body, std::move(states));
    }
    States exits = states;
    std::unordered_set<std::string> seen;
    for (const OrderState& s : states) {
      seen.insert(s.key());
    }
    while (!states.empty() && !gave_up_) {
      States next = walk(tiles.body, std::move(states));
      states.clear();
      for (OrderState& state : next) {
        forget_point(state);
        if (seen.insert(state.key()).second) {
          exits.push_back(state);
          states.push_back(std::move(state));
        }
      }
    }
    return exits;
  }

  void forget_point(OrderState& state) const {
    auto depends_on_point = [&](ir::ExprId expr) {
      std::vector<ir::SymbolId> symbols;
      f_.exprs.collect_symbols(expr, symbols);
      return std::ranges::any_of(symbols, [&](ir::SymbolId id) {
        const ir::SymbolKind kind = f_.exprs.symbol(id).kind;
        return kind == ir::SymbolKind::TileCoord || kind == ir::SymbolKind::TileIndex;
      });
    };
    std::erase_if(state.atoms, [&](const AtomClass& a) { return depends_on_point(a.atom); });
    std::erase_if(state.facts, [&](const auto& fact) { return depends_on_point(fact.first); });
    for (Content& content : state.contents) {
      if (content.version.base == Version::Base::Atom && depends_on_point(ir::ExprId(content.version.of))) {
        content.version = {Version::Base::Stale, 0, 0};
      }
    }
  }

  // Enters the loop in every class of trip count, then explores iterations until nothing new appears.
  States walk_loop(const ir::Op& op, const ir::ForOp& loop, States states) {
    States heads;
    States exits;
    std::unordered_set<std::string> seen;
    auto push_head = [&](OrderState state) {
      if (seen.insert(state.key()).second) {
        heads.push_back(std::move(state));
      }
    };
    const Linear trip = difference(linear_of(f_.exprs, loop.end), linear_of(f_.exprs, loop.begin));
    while (!states.empty()) {
      OrderState state = std::move(states.back());
      states.pop_back();
      const Conditions::Range range = conditions_.range(state, trip);
      if (range.hi <= 0) {
        exits.push_back(std::move(state));
        continue;
      }
      if (range.is_single()) {
        state.loops.push_back({&loop, {0}, 0, {(range.lo + loop.step - 1) / loop.step}});
        push_head(std::move(state));
        continue;
      }
      if (auto atom = conditions_.undecided_atom(state, trip)) {
        split(state, *atom, states);
        continue;
      }
      enter_with_unknown_count(state, loop, range, push_head, exits);
    }
    while (!heads.empty() && !gave_up_) {
      OrderState head = std::move(heads.back());
      heads.pop_back();
      for (OrderState& state : walk(loop.body, {std::move(head)})) {
        advance(std::move(state), push_head, exits);
      }
    }
    if (!gave_up_) {
      dedupe(exits);
    }
    static_cast<void>(op);
    return exits;
  }

  template <class Push>
  void enter_with_unknown_count(const OrderState& state, const ir::ForOp& loop, Conditions::Range range, Push push_head,
                                States& exits) const {
    const int64_t big = conditions_.bounds().big();
    if (range.lo <= 0) {
      exits.push_back(state);
    }
    // `left` counts iterations; with a step the bounds on the distance are divided.
    const int64_t least = std::max<int64_t>(1, range.lo == INT64_MIN ? 1 : (range.lo + loop.step - 1) / loop.step);
    for (int64_t count = least; count < big; ++count) {
      OrderState next = state;
      next.loops.push_back({&loop, {0}, 0, {count}});
      push_head(std::move(next));
    }
    OrderState next = state;
    next.loops.push_back({&loop, {0}, 0, {Count::kBig}});
    push_head(std::move(next));
  }

  // The end of one iteration: on to the next, or out of the loop, or both when the count is only known to be large.
  template <class Push>
  void advance(OrderState state, Push push_head, States& exits) {
    const int64_t big = conditions_.bounds().big();
    LoopState& now = state.loops.back();
    const auto depth = static_cast<uint32_t>(state.loops.size() - 1);
    const bool was_big = now.iteration.is_big();
    const bool count_is_known = !now.left.is_big() && !was_big;
    now.residue = (now.residue + 1) % conditions_.bounds().modulus;
    if (!now.left.is_big() && now.left.value == 1) {
      leave_loop(state, depth, was_big);
      exits.push_back(std::move(state));
      return;
    }
    // A loop of known count stays exact, so that small constant loops are followed one by one.
    const bool stays_exact = count_is_known && now.iteration.value + now.left.value <= 4 * big;
    if (!was_big && !stays_exact && now.iteration.value + 1 >= big) {
      now.iteration = {Count::kBig};
      // Constant versions become relative to the iteration `big`, where the loop has just arrived.
      rebase_to_loop(state, depth, big);
    } else if (was_big) {
      shift_loop_versions(state, depth);
    } else {
      ++now.iteration.value;
    }
    if (now.left.is_big()) {
      OrderState near = state;
      near.loops.back().left = {big - 1};
      if (near.loops.back().left.value >= 1) {
        push_head(std::move(near));
      }
      push_head(std::move(state));
    } else {
      --now.left.value;
      push_head(std::move(state));
    }
  }

  void rebase_to_loop(OrderState& state, uint32_t depth, int64_t iteration) const {
    for (Content& content : state.contents) {
      const bool is_ring = f_.shared_object(content.object).ring > 0;
      if (is_ring && content.version.base == Version::Base::Constant) {
        content.version = relative(depth, content.version.offset - iteration);
      }
    }
  }

  static void shift_loop_versions(OrderState& state, uint32_t depth) {
    for (Content& content : state.contents) {
      if (content.version.base == Version::Base::Loop && content.version.of == depth) {
        content.version = relative(depth, content.version.offset - 1);
      }
    }
  }

  static Version relative(uint32_t depth, int64_t offset) {
    return offset < -kStaleOffset ? Version{Version::Base::Stale, 0, 0} : Version{Version::Base::Loop, depth, offset};
  }

  // After the loop its variable equals `end`: versions relative to it become relative to the atom in `end`.
  void leave_loop(OrderState& state, uint32_t depth, bool was_big) const {
    const LoopState left = state.loops.back();
    state.loops.pop_back();
    const Linear end = linear_of(f_.exprs, left.loop->end);
    auto atom = end.single_atom();
    const bool has_atom = atom && atom->is_valid() && end.coefficient(*atom) == 1 && conditions_.is_invariant(*atom);
    const int64_t modulus = conditions_.bounds().modulus;
    auto begin = f_.exprs.constant_value(left.loop->begin);
    if (has_atom && begin && left.loop->step == 1) {
      for (AtomClass& a : state.atoms) {
        if (a.atom != *atom) {
          continue;
        }
        if (was_big) {
          a.residue = (((*begin + left.residue - end.constant) % modulus) + modulus) % modulus;
        } else {
          // The loop was counted to its end: now the atom's value is known, however large.
          a.count = {*begin + left.iteration.value + 1 - end.constant};
          a.residue = ((a.count.value % modulus) + modulus) % modulus;
        }
      }
    }
    for (Content& content : state.contents) {
      if (content.version.base != Version::Base::Loop || content.version.of != depth) {
        continue;
      }
      // `offset` was counted from the last iteration, the variable is one further now.
      content.version =
          has_atom && was_big && begin && left.loop->step == 1
              ? Version{Version::Base::Atom, atom->index, content.version.offset - 1 - *begin + end.constant}
              : Version{Version::Base::Stale, 0, 0};
    }
  }

  // --- order

  static void barrier(OrderState& state, const ir::SyncOp& sync) {
    if (sync.scope == ir::SyncScope::Warp) {
      for (Pending& p : state.pending) {
        p.warp_synced = p.warp_synced || p.phase == Pending::Phase::Done;
      }
      return;
    }
    std::erase_if(state.pending, [](const Pending& p) { return p.phase == Pending::Phase::Done; });
  }

  static void commit(OrderState& state) {
    for (Pending& p : state.pending) {
      if (p.phase == Pending::Phase::InGroup) {
        p.age = std::min(p.age + 1, kMaxAge);
      } else if (p.phase == Pending::Phase::Open) {
        p.phase = Pending::Phase::InGroup;
        p.age = 0;
      }
    }
  }

  static void drain(OrderState& state, int pending) {
    for (Pending& p : state.pending) {
      if (p.phase == Pending::Phase::InGroup && p.age >= pending) {
        p.phase = Pending::Phase::Done;
        p.age = 0;
        p.warp_synced = false;
      }
    }
    drop_duplicates(state);
  }

  static void drop_duplicates(OrderState& state) {
    std::vector<Pending> kept;
    for (const Pending& p : state.pending) {
      if (std::ranges::find(kept, p) == kept.end()) {
        kept.push_back(p);
      }
    }
    state.pending = std::move(kept);
  }

  // --- accesses

  States access(const ir::Op& op, States states) {
    for (const SharedSide& side : shared_sides(f_, op)) {
      States next;
      while (!states.empty()) {
        OrderState state = std::move(states.back());
        states.pop_back();
        if (auto slot = slot_of(op, side, state, states)) {
          if (*slot >= 0) {
            touch(op, side, *slot, state);
          }
          next.push_back(std::move(state));
        }
      }
      states = std::move(next);
    }
    dedupe(states);
    return states;
  }

  // nullopt: the state was split and its parts are in `pending_states`. -1: not followed, reported.
  std::optional<int64_t> slot_of(const ir::Op& op, const SharedSide& side, const OrderState& state,
                                 States& pending_states) {
    const ir::SharedObject& object = f_.shared_object(side.region->shared());
    if (object.ring == 0) {
      return 0;
    }
    const ir::ExprId version = side.region->version;
    if (auto residue = conditions_.residue(state, version)) {
      return *residue % object.ring;
    }
    if (auto known = conditions_.version(state, version); known && known->base == Version::Base::Constant) {
      return ((known->offset % object.ring) + object.ring) % object.ring;
    }
    if (auto atom = unknown_residue(state, version)) {
      for (int64_t r = 0; r < conditions_.bounds().modulus; ++r) {
        OrderState next = state;
        auto found = std::ranges::find(next.atoms, *atom, &AtomClass::atom);
        if (found == next.atoms.end()) {
          split(state, *atom, pending_states);
          return std::nullopt;
        }
        found->residue = r;
        pending_states.push_back(std::move(next));
      }
      return std::nullopt;
    }
    not_followed(
        op, fmt::format("the slot of `{}` at version {} cannot be told", object.name, f_.exprs.to_string(version)));
    return -1;
  }

  [[nodiscard]] std::optional<ir::ExprId> unknown_residue(const OrderState& state, ir::ExprId version) const {
    for (const auto& [atom, coefficient] : linear_of(f_.exprs, version).terms) {
      if (!atom.is_valid() || !conditions_.is_invariant(atom) || !conditions_.is_non_negative(atom)) {
        continue;
      }
      auto found = std::ranges::find(state.atoms, atom, &AtomClass::atom);
      if (found == state.atoms.end() || found->residue < 0) {
        return atom;
      }
    }
    return std::nullopt;
  }

  void touch(const ir::Op& op, const SharedSide& side, int64_t slot, OrderState& state) {
    const ir::SharedObject& object = f_.shared_object(side.region->shared());
    std::vector<int64_t> starts;
    for (const ir::AxisIndex& axis : side.region->axes) {
      const Conditions::Range range = conditions_.range(state, axis.lo);
      if (!range.is_single()) {
        not_followed(
            op, fmt::format("index {} of `{}` has no constant value here", f_.exprs.to_string(axis.lo), object.name));
        return;
      }
      starts.push_back(range.lo);
    }
    auto map = map_of(op, side, starts);
    if (!map) {
      return;
    }
    const Pending now{*map, slot, side.is_async ? Pending::Phase::Open : Pending::Phase::Done, 0, false};
    for (const Pending& before : state.pending) {
      compare(before, now);
    }
    Version version{};
    if (object.ring > 0) {
      auto known = conditions_.version(state, side.region->version);
      if (!known) {
        not_followed(op, fmt::format("version {} of `{}` cannot be followed", f_.exprs.to_string(side.region->version),
                                     object.name));
        return;
      }
      version = *known;
    }
    if (side.is_write) {
      write_content(op, maps_[*map], slot, version, state);
    } else {
      read_content(op, maps_[*map], slot, version, state);
    }
    if (std::ranges::find(state.pending, now) == state.pending.end()) {
      state.pending.push_back(now);
    }
  }

  std::optional<int> map_of(const ir::Op& op, const SharedSide& side, const std::vector<int64_t>& starts) {
    std::vector<int64_t> key = starts;
    key.push_back(op.id);
    key.push_back(side.is_write ? 1 : 0);
    auto [entry, is_new] = map_index_.try_emplace(std::move(key), -1);
    if (is_new) {
      auto map = make_access_map(f_, op, side, starts, granule_);
      if (!map) {
        report(
            {.kind = OrderFinding::Kind::OutOfObject, .first = &op, .second = nullptr, .claim = map.error().message});
      } else {
        maps_.push_back(*std::move(map));
        entry->second = static_cast<int>(maps_.size()) - 1;
      }
    }
    return entry->second < 0 ? std::nullopt : std::optional(entry->second);
  }

  [[nodiscard]] int64_t slot_shift(const AccessMap& map, int64_t slot) const {
    return slot * f_.shared_object(map.object).layout->slot_bytes;
  }

  void compare(const Pending& before, const Pending& now) {
    const AccessMap& a = maps_[before.map];
    const AccessMap& b = maps_[now.map];
    if (!a.is_write && !b.is_write) {
      return;
    }
    // An asynchronous write that is not waited for may happen after what its own thread does next.
    const bool in_flight = before.phase != Pending::Phase::Done;
    const auto key = std::tuple(before.map, before.slot, now.map, now.slot, in_flight, before.warp_synced);
    auto [entry, is_new] = conflicts_.try_emplace(key);
    if (is_new) {
      ++compared_;
      entry->second = find_conflict(a, slot_shift(a, before.slot), b, slot_shift(b, now.slot), granule_, in_flight,
                                    before.warp_synced);
    }
    if (entry->second) {
      report_race(a, b, before, *entry->second);
    }
  }

  void report_race(const AccessMap& a, const AccessMap& b, const Pending& before, const Conflict& conflict) {
    const ir::SharedObject& object = f_.shared_object(b.object);
    std::string missing;
    if (before.phase == Pending::Phase::Open) {
      missing = "the asynchronous copy is in no group yet, so no drain waits for it";
    } else if (before.phase == Pending::Phase::InGroup) {
      missing = fmt::format("the copy's group has {} newer groups, and no drain so far waits for it", before.age);
    } else {
      missing = "no barrier stands between them";
    }
    auto who = [](int16_t thread) {
      return thread >= 0 ? fmt::format("thread {}", thread) : std::string("several threads");
    };
    OrderFinding finding;
    finding.kind = OrderFinding::Kind::Race;
    finding.first = a.op;
    finding.second = b.op;
    finding.claim =
        fmt::format("{} `{}` and {} `{}` are not ordered: {}", a.is_write ? "a write of" : "a read of",
                    f_.shared_object(a.object).name, b.is_write ? "a write of" : "a read of", object.name, missing);
    finding.facts = {fmt::format("byte {} of shared memory", conflict.byte),
                     fmt::format("{} in the first, {} in the second", who(conflict.thread_a), who(conflict.thread_b))};
    finding.thread_first = conflict.thread_a;
    finding.thread_second = conflict.thread_b;
    report(std::move(finding));
  }

  // --- which version a slot holds

  static bool overlaps(const Content& content, const AccessMap& map) {
    for (size_t axis = 0; axis < content.lo.size(); ++axis) {
      if (content.lo[axis] >= map.hi[axis] || map.lo[axis] >= content.hi[axis]) {
        return false;
      }
    }
    return true;
  }
  static bool covers(const AccessMap& map, const Content& content) {
    for (size_t axis = 0; axis < content.lo.size(); ++axis) {
      if (map.lo[axis] > content.lo[axis] || map.hi[axis] < content.hi[axis]) {
        return false;
      }
    }
    return true;
  }

  void write_content(const ir::Op& op, const AccessMap& map, int64_t slot, const Version& version, OrderState& state) {
    std::erase_if(state.contents,
                  [&](const Content& c) { return c.object == map.object && c.slot == slot && covers(map, c); });
    // Other objects or slots over the same bytes lose what they held.
    for (Content& c : state.contents) {
      const bool is_same_place = c.object == map.object && c.slot == slot;
      if (!is_same_place && bytes_meet(map, slot, c)) {
        c.version = {Version::Base::Stale, 0, 0};
        c.writer_op = op.id;
      }
    }
    state.contents.push_back({map.object, slot, map.lo, map.hi, version, op.id});
  }

  // Exact: is a byte written by `map` one that the content's whole slice occupies?
  bool bytes_meet(const AccessMap& map, int64_t slot, const Content& content) {
    const ir::SharedObject& object = f_.shared_object(content.object);
    const ir::SharedLayout& layout = *object.layout;
    const int64_t begin = layout.offset_bytes + content.slot * layout.slot_bytes;
    const int64_t shift = slot_shift(map, slot);
    const int64_t first = map.first_granule * granule_ + shift;
    const int64_t last = map.end_granule() * granule_ + shift;
    return first < begin + layout.slot_bytes && begin < last;
  }

  void read_content(const ir::Op& op, const AccessMap& map, int64_t slot, const Version& version, OrderState& state) {
    const ir::SharedObject& object = f_.shared_object(map.object);
    bool found = false;
    for (const Content& c : state.contents) {
      if (c.object != map.object || c.slot != slot || !overlaps(c, map)) {
        continue;
      }
      found = true;
      ++compared_;
      if (c.version == version) {
        continue;
      }
      if (c.version.base != Version::Base::Stale && c.version.base != version.base) {
        not_followed(
            op, fmt::format("the version that slot {} of `{}` holds cannot be compared with the one that is read", slot,
                            object.name));
        continue;
      }
      OrderFinding finding;
      finding.kind = OrderFinding::Kind::WrongVersion;
      finding.first = op_by_id(c.writer_op);
      finding.second = &op;
      finding.claim =
          c.version.base == Version::Base::Stale
              ? fmt::format("`{}` is read after its bytes were given to something else", object.name)
              : fmt::format("slot {} of `{}` holds another version than the one that is read", slot, object.name);
      report(std::move(finding));
    }
    if (!found) {
      OrderFinding finding;
      finding.kind = OrderFinding::Kind::WrongVersion;
      finding.second = &op;
      finding.claim = fmt::format("`{}` is read before anything was written to slot {}", object.name, slot);
      report(std::move(finding));
    }
  }

  const ir::Op* op_by_id(uint32_t id) {
    if (ops_.empty()) {
      ir::for_each_op(f_.body, [&](const ir::Op& op) { ops_[op.id] = &op; });
    }
    return ops_[id];
  }

  const ir::Function& f_;
  Conditions conditions_;
  int64_t granule_ = 8;
  OrderResult result_;
  bool gave_up_ = false;
  int64_t states_at_finding_ = 0;
  int64_t compared_ = 0;
  std::vector<AccessMap> maps_;
  std::map<std::vector<int64_t>, int> map_index_;
  std::map<std::tuple<int, int64_t, int, int64_t, bool, bool>, std::optional<Conflict>> conflicts_;
  std::set<std::tuple<int, uint32_t, uint32_t>> reported_;
  std::unordered_map<uint32_t, const ir::Op*> ops_;
};

}  // namespace

OrderResult check_order(const ir::Function& function) {
  if (function.shared.empty()) {
    return {};
  }
  auto bounds = bounds_of(function);
  if (!bounds) {
    OrderResult result;
    result.findings.push_back({.kind = OrderFinding::Kind::NotFollowed,
                               .claim = "the ring sizes and constant divisors have no common multiple up to 256"});
    return result;
  }
  return OrderWalk(function, *bounds).run();
}

}  // namespace tw::verify
