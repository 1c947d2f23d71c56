// SPDX-License-Identifier: Apache-2.0

// Rule        output-coverage, contraction-coverage, raster-bijection (defect D20; obligation 2)
// Scope       every `Out` tensor; every sum of products that reaches one; the decoding of every tile space
// Invariant   every element is written exactly once over all tiles and iterations; every value of a contracted
// dimension is
//             added exactly once; every point of a tile space is some block's, once
// Criterion   each axis of the written coordinates is a mixed-radix number: its digits (axes, tiles, loops) have
// strides 1, n1,
//             n1*n2, ...; no digit serves two axes, none is left over; the number runs from at most 0 to at least the
//             extent. Statements that write the same coordinates have conditions of which exactly one holds.
// Valid near  a last tile that is cut off by the tensor's edge
// Diagnostic  TW3040, TW3041, TW3042
#include <algorithm>
#include <map>
#include <set>

#include "verify/context.h"

namespace tw::verify {

namespace {

using analysis::StoreRecord;
using emulator::ReadingErrorKind;

struct Digit {
  VarId var;
  IntId lo, hi;
  int64_t coefficient = 0;
};

// The variables that a written element depends on, with their ranges.
std::vector<Digit> digits_of(Context& context, const StoreRecord& store) {
  std::vector<Digit> digits;
  for (const analysis::LoopVar& loop : store.access.place.loops) {
    digits.push_back({loop.var, loop.lo, loop.hi, 0});
  }
  for (size_t i = 0; i < store.access.shape.size(); ++i) {
    digits.push_back({context.values().axis_var(static_cast<int>(i)), context.ints().constant(0),
                      context.ints().constant(store.access.shape[i]), 0});
  }
  return digits;
}

// nullopt: every point of `axis` is reached exactly once by its digits. `used` collects them.
std::optional<std::string> check_axis(Context& context, Facts& facts, IntId coord, IntId extent,
                                      const std::vector<Digit>& all, std::set<VarId>& used) {
  domain::Ints& ints = context.ints();
  std::vector<Digit> digits;
  IntId offset = coord;
  for (Digit d : all) {
    if (!ints.uses(coord, d.var)) {
      continue;
    }
    auto linear = ints.linear_in(coord, d.var);
    if (!linear || linear->coefficient <= 0) {
      return "the index " + ints.to_string(coord) + " is not a sum of digits";
    }
    if (!used.insert(d.var).second) {
      return "`" + ints.name(d.var) + "` moves along two axes";
    }
    d.coefficient = linear->coefficient;
    offset = ints.substitute(offset, {{d.var, d.lo}});
    // A digit of one value (a tile of one row) counts nothing.
    if (ints.sub(d.hi, d.lo) != ints.constant(1)) {
      digits.push_back(d);
    }
  }
  std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.coefficient < b.coefficient; });
  IntId expected = ints.constant(1);
  for (const Digit& d : digits) {
    if (!context.env.prover.proves(facts, ints.eq(ints.constant(d.coefficient), expected))) {
      return "`" + ints.name(d.var) + "` has stride " + std::to_string(d.coefficient) +
             ", a mixed-radix number needs " + ints.to_string(expected);
    }
    for (const Digit& other : all) {
      if (ints.uses(d.lo, other.var) || ints.uses(d.hi, other.var)) {
        return "the range of `" + ints.name(d.var) + "` depends on `" + ints.name(other.var) + "`";
      }
    }
    if (!context.env.prover.proves(facts, ints.lt(d.lo, d.hi))) {
      return "the range of `" + ints.name(d.var) + "` may be empty";
    }
    expected = ints.mul(expected, ints.sub(d.hi, d.lo));
  }
  if (!context.env.prover.proves(facts, ints.le(offset, ints.constant(0)))) {
    return "the first index " + ints.to_string(offset) + " is not proved to be 0";
  }
  if (!context.env.prover.proves(facts, ints.le(extent, ints.add(offset, expected)))) {
    return "the last index " + ints.to_string(ints.add(offset, expected)) + " - 1 is not proved to reach the extent " +
           ints.to_string(extent);
  }
  return std::nullopt;
}

// Conditions of a statement beyond premises, loop ranges and tile ranges.
CondId guard_of(Context& context, const StoreRecord& store, const Facts& base) {
  std::set<CondId> known(base.conditions().begin(), base.conditions().end());
  std::vector<CondId> guard;
  for (CondId c : store.access.place.path) {
    if (!known.contains(c)) {
      guard.push_back(c);
    }
  }
  return context.ints().conjunction(std::move(guard));
}

std::optional<std::string> check_stores(Context& context, const ir::Tensor& tensor, uint32_t index,
                                        const std::vector<const StoreRecord*>& stores) {
  domain::Ints& ints = context.ints();
  const StoreRecord& first = *stores[0];
  std::vector<Digit> digits = digits_of(context, first);
  Facts facts;
  for (CondId c : context.reading.premises) {
    facts.assume(c);
  }
  // A tensor without elements needs no writes; then loops and tile spaces may be empty, so elements may be taken to
  // exist.
  const std::vector<IntId>& extents = context.settler->extents()[index];
  for (IntId extent : extents) {
    facts.assume(ints.lt(ints.constant(0), extent));
  }
  Facts ranges = facts;
  for (const Digit& d : digits) {
    ranges.assume(ints.le(d.lo, ints.var(d.var)));
    ranges.assume(ints.lt(ints.var(d.var), d.hi));
  }
  // Statements with the same coordinates share the work by their conditions; others by a constant distance.
  std::vector<std::vector<const StoreRecord*>> groups;
  for (const StoreRecord* store : stores) {
    if (store->access.shape != first.access.shape ||
        store->access.place.loops.size() != first.access.place.loops.size()) {
      return "statements of different shape write `" + tensor.name + "`";
    }
    for (size_t i = 0; i < first.access.place.loops.size(); ++i) {
      if (store->access.place.loops[i].var != first.access.place.loops[i].var) {
        return "statements in different loops write `" + tensor.name + "`";
      }
    }
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const auto& g) { return g[0]->access.coords == store->access.coords; });
    if (same == groups.end()) {
      groups.push_back({store});
    } else {
      same->push_back(store);
    }
  }
  for (const auto& group : groups) {
    Facts inside = ranges;
    for (size_t i = 0; i < extents.size(); ++i) {
      inside.assume(ints.non_negative(group[0]->access.coords[i]));
      inside.assume(ints.lt(group[0]->access.coords[i], extents[i]));
    }
    std::vector<CondId> guards;
    for (const StoreRecord* store : group) {
      guards.push_back(guard_of(context, *store, ranges));
    }
    if (!context.env.prover.proves(inside, ints.disjunction(guards))) {
      return "the conditions of the statements that write `" + tensor.name + "` are not proved to cover all cases";
    }
    for (size_t i = 0; i < guards.size(); ++i) {
      for (size_t j = i + 1; j < guards.size(); ++j) {
        domain::FactScope scope(inside);
        inside.assume(guards[i]);
        if (!context.env.prover.proves(inside, ints.negate(guards[j]))) {
          return "two statements may write one element of `" + tensor.name + "`";
        }
      }
    }
  }
  std::vector<IntId> coords = groups[0][0]->access.coords;
  if (groups.size() > 1) {
    // coordinate + distance * s, s = 0, 1, ...: one more digit.
    VarId s = ints.add_var("statement");
    std::vector<int64_t> distances;
    int moved = -1;
    for (const auto& group : groups) {
      for (size_t i = 0; i < coords.size(); ++i) {
        auto distance = ints.constant_value(ints.sub(group[0]->access.coords[i], coords[i]));
        if (!distance || (*distance != 0 && moved >= 0 && moved != static_cast<int>(i))) {
          return "the slices of `" + tensor.name + "` that several statements write are not in one row";
        }
        if (*distance != 0) {
          moved = static_cast<int>(i);
          distances.push_back(*distance);
        }
      }
    }
    distances.push_back(0);
    std::sort(distances.begin(), distances.end());
    int64_t step = distances.size() > 1 ? distances[1] - distances[0] : 0;
    for (size_t i = 1; i < distances.size(); ++i) {
      if (step <= 0 || distances[i] - distances[i - 1] != step) {
        return "the slices of `" + tensor.name + "` that several statements write are not at equal distances";
      }
    }
    coords[moved] = ints.add(ints.add(coords[moved], ints.constant(distances[0])), ints.scale(ints.var(s), step));
    digits.push_back({s, ints.constant(0), ints.constant(static_cast<int64_t>(distances.size())), 0});
  }
  std::set<VarId> used;
  for (size_t i = 0; i < coords.size(); ++i) {
    if (auto problem = check_axis(context, facts, coords[i], extents[i], digits, used)) {
      return "axis " + std::to_string(i) + " of `" + tensor.name + "`: " + *problem;
    }
  }
  for (const Digit& d : digits) {
    if (!used.contains(d.var) && !context.env.prover.proves(facts, ints.eq(ints.sub(d.hi, d.lo), ints.constant(1)))) {
      return "an element of `" + tensor.name + "` is written once for each value of `" + ints.name(d.var) + "`";
    }
  }
  return std::nullopt;
}

bool is_packed(Context& context, uint32_t index) {
  const ir::Tensor& tensor = context.lowered.tensors[index];
  IntId packed = context.ints().constant(1);
  for (size_t d = tensor.strides.size(); d-- > 0;) {
    if (analysis::to_int(context.env, context.lowered, tensor.strides[d]) != packed) {
      return false;
    }
    packed = context.ints().mul(packed, context.settler->extents()[index][d]);
  }
  return true;
}

// A statement outside the tile loops is executed by every block: nullopt only if there is exactly one.
std::optional<std::string> check_block_count(Context& context, const std::vector<const StoreRecord*>& stores) {
  domain::Ints& ints = context.ints();
  const bool all_in_tiles = std::ranges::all_of(stores, [](const StoreRecord* store) {
    return std::ranges::any_of(store->access.place.loops, &analysis::LoopVar::is_tile);
  });
  if (all_in_tiles) {
    return std::nullopt;
  }
  Facts facts;
  for (CondId c : context.reading.premises) {
    facts.assume(c);
  }
  bool is_one = true;
  int spaces = 0;
  ir::for_each_op(context.lowered.body, [&](const ir::Op& op) {
    if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      ++spaces;
      IntId points = ints.constant(1);
      for (ir::ExprId extent : tiles->extents) {
        points = ints.mul(points, analysis::to_int(context.env, context.lowered, extent));
      }
      is_one = is_one && context.env.prover.proves(facts, ints.eq(points, ints.constant(1)));
    }
  });
  return spaces == 0 || is_one
             ? std::nullopt
             : std::optional<std::string>("a statement outside the tile loops is executed by every block");
}

void check_output(Context& context, uint32_t index) {
  const ir::Tensor& tensor = context.lowered.tensors[index];
  std::vector<const StoreRecord*> stores;
  for (const StoreRecord& store : context.reading.stores) {
    if (store.tensor.index == index) {
      stores.push_back(&store);
    }
  }
  Obligation& obligation = context.add("coverage", "every element of `" + tensor.name + "` is written exactly once",
                                       stores.empty() ? tensor.span : stores[0]->access.place.op->span);
  Timer timer(obligation);
  obligation.compared = static_cast<int64_t>(tensor.extents.size() * std::max<size_t>(stores.size(), 1));
  std::optional<std::string> problem;
  if (stores.empty()) {
    problem = "no statement writes `" + tensor.name + "`";
  } else {
    problem = check_block_count(context, stores);
    if (!problem) {
      problem = check_stores(context, tensor, index, stores);
    }
    // With strides of its own an array may have one address for two elements: an assumption, unless it is seen to fail.
    if (!problem && !is_packed(context, index) && context.options.replay) {
      if (auto cex = hunt_reading(context, {ReadingErrorKind::DoubleWrite, ReadingErrorKind::Discipline}, {})) {
        problem = "two elements of `" + tensor.name + "` have one address";
      }
    }
  }
  if (!problem) {
    return;
  }
  if (context.options.replay) {
    if (auto cex = hunt_reading(
            context, {ReadingErrorKind::DoubleWrite, ReadingErrorKind::NotWritten, ReadingErrorKind::Discipline}, {})) {
      cex->rule = "output-coverage";
      cex->why = *problem;
      cex->points.push_back({obligation.span, 0, "writes"});
      conclude(context, obligation, std::move(*cex));
      return;
    }
  }
  give_up(obligation, *problem);
}

// The raster that the program asks for, written down again: docs/verifier.md proves that it is a bijection, and a test
// enumerates it.
std::vector<IntId> expected_decode(domain::Ints& ints, const ir::TilesOp& tiles, IntId linear,
                                   const std::vector<IntId>& extents) {
  std::vector<IntId> result(extents.size());
  IntId rest = linear;
  const size_t leading = tiles.raster == ir::RasterKind::Grouped && extents.size() >= 2 ? 2 : 1;
  for (size_t i = extents.size(); i-- > leading;) {
    result[i] = ints.mod(rest, extents[i]);
    rest = ints.floor_div(rest, extents[i]);
  }
  if (leading == 1) {
    if (!extents.empty()) {
      result[0] = rest;
    }
    return result;
  }
  // Groups of g rows; inside a group rows run fastest.
  IntId group = ints.constant(tiles.raster_group);
  IntId points = ints.mul(group, extents[1]);
  IntId first = ints.mul(ints.floor_div(rest, points), group);
  IntId rows = ints.min(ints.sub(extents[0], first), group);
  IntId inside = ints.mod(rest, points);
  result[0] = ints.add(first, ints.mod(inside, rows));
  result[1] = ints.floor_div(inside, rows);
  return result;
}

void check_raster(Context& context, const ir::Op& op, const ir::TilesOp& tiles) {
  domain::Ints& ints = context.ints();
  if (tiles.decode.empty()) {
    return;
  }
  Obligation& obligation = context.add("coverage", "every tile belongs to exactly one block", op.span);
  Timer timer(obligation);
  std::vector<IntId> extents, decode;
  VarId linear = ints.add_var("linear");
  for (ir::ExprId extent : tiles.extents) {
    extents.push_back(analysis::to_int(context.env, context.lowered, extent));
  }
  for (ir::ExprId expr : tiles.decode) {
    decode.push_back(analysis::to_int(context.env, context.lowered, expr, {tiles.linear}, {ints.var(linear)}));
    ++obligation.compared;
  }
  if (decode == expected_decode(ints, tiles, ints.var(linear), extents)) {
    return;
  }
  if (context.options.replay) {
    if (auto cex = hunt_reading(context, {ReadingErrorKind::DoubleWrite, ReadingErrorKind::NotWritten}, {})) {
      cex->rule = "raster-bijection";
      cex->points.push_back({op.span, op.id, "decodes"});
      conclude(context, obligation, std::move(*cex));
      return;
    }
  }
  give_up(obligation, "the decoding of the tile number is not one of the known rasters");
}

// Sums of products in an output: each contracted dimension in full, each value once.
void check_contracted(Context& context, const StoreRecord& store) {
  domain::Ints& ints = context.ints();
  analysis::Values& values = context.values();
  Facts facts;
  context.assume(facts, store.access.place, store.access.shape);
  const std::vector<IntId>& extents = context.settler->extents()[store.tensor.index];
  for (size_t i = 0; i < extents.size(); ++i) {
    facts.assume(ints.non_negative(store.access.coords[i]));
    facts.assume(ints.lt(store.access.coords[i], extents[i]));
  }
  TermId value = context.settler->settle(store.value, facts);
  // Maximal accumulations that contain a sum of products.
  std::vector<TermId> sums;
  std::set<TermId> seen;
  std::vector<TermId> open{value};
  bool has_loop = false;
  auto is_product_sum = [&](TermId t) {
    const analysis::TermNode& n = values.node(t);
    return n.kind == analysis::TermKind::Reduce && n.reduce == ir::ReduceKind::Add &&
           values.node(n.operands[0]).kind == analysis::TermKind::Product;
  };
  while (!open.empty()) {
    TermId t = open.back();
    open.pop_back();
    if (!seen.insert(t).second) {
      continue;
    }
    const analysis::TermNode& n = values.node(t);
    bool has_sum = is_product_sum(t);
    if (n.kind == analysis::TermKind::Accumulate && n.reduce == ir::ReduceKind::Add) {
      has_sum = std::any_of(n.operands.begin(), n.operands.end(), is_product_sum);
    }
    has_loop = has_loop || n.kind == analysis::TermKind::Loop;
    if (has_sum) {
      sums.push_back(t);
    } else if (n.kind != analysis::TermKind::Reduce && n.kind != analysis::TermKind::Loop) {
      open.insert(open.end(), n.operands.begin(), n.operands.end());
    }
  }
  // Names for which the author states a range of this very sum (elsewhere the dimension is what has to be covered).
  std::map<TermId, std::set<std::string>> stated;
  bool states_any = false;
  for (const analysis::CheckRecord& record : context.checks()) {
    const auto& check = std::get<ir::CheckOp>(record.place.op->body);
    if (check.over.empty()) {
      continue;
    }
    states_any = true;
    const TermId checked = context.settler->settle(record.value, facts);
    for (const ir::CoverageRange& range : check.over) {
      stated[checked].insert(range.name);
    }
  }
  const bool is_hidden = has_loop && !states_any && !context.reading.mmas.empty();
  if (sums.empty() && !is_hidden) {
    return;
  }
  Obligation& obligation = context.add("coverage", "every value of a contracted dimension is added exactly once",
                                       store.access.place.op->span);
  Timer timer(obligation);
  if (is_hidden) {
    give_up(obligation,
            "a loop without a closed form carries the written value: what its products cover is not followed; state it "
            "with `check(..., over=)`");
  }
  for (TermId sum : sums) {
    analysis::Tag tag = context.tagger->tag(sum, facts);
    if (!tag.doubt.empty()) {
      give_up(obligation, tag.doubt);
      continue;
    }
    for (const auto& [name, covered] : tag.covered) {
      IntId extent;
      for (uint32_t t = 0; t < context.lowered.tensors.size(); ++t) {
        const ir::Tensor& tensor = context.lowered.tensors[t];
        for (size_t d = 0; d < tensor.dims.size(); ++d) {
          if (tensor.dims[d] == name) {
            extent = context.settler->extents()[t][d];
          }
        }
      }
      if (!extent.is_valid() || (stated.contains(sum) && stated.at(sum).contains(name))) {
        continue;
      }
      ++obligation.compared;
      std::string problem = covered.doubt;
      std::vector<analysis::Segment> left = covered.segments;
      IntId at = ints.constant(0);
      while (problem.empty() && !left.empty()) {
        auto next = std::find_if(left.begin(), left.end(), [&](const analysis::Segment& s) {
          return context.env.prover.proves(facts, ints.eq(s.lo, at)) &&
                 context.env.prover.proves(facts, ints.le(s.lo, s.hi));
        });
        if (next == left.end()) {
          problem = "the values of `" + name + "` that are added leave a gap or overlap";
          break;
        }
        at = next->hi;
        left.erase(next);
      }
      if (problem.empty() && !context.env.prover.proves(facts, ints.eq(at, extent))) {
        problem = "the values of `" + name + "` that are added end at " + ints.to_string(at) + ", the dimension at " +
                  ints.to_string(extent);
      }
      if (problem.empty()) {
        continue;
      }
      // A missing value: the element behind it changes nothing.
      std::vector<CondId> broken;
      if (covered.segments.size() == 1) {
        broken.push_back(ints.lt(covered.segments[0].hi, extent));
      }
      std::optional<domain::Assignment> values_found;
      if (!broken.empty()) {
        values_found = find_witness(context, facts, broken);
      }
      if (!values_found) {
        give_up(obligation, problem);
        continue;
      }
      Counterexample cex;
      cex.rule = "contraction-coverage";
      describe(context, store.access.place, *values_found, cex);
      cex.object = context.lowered.tensor(store.tensor).name;
      for (IntId c : store.access.coords) {
        cex.element.push_back(ints.evaluate(c, *values_found).value_or(-1));
      }
      int64_t missing = ints.evaluate(covered.segments[0].hi, *values_found).value_or(0);
      cex.expected =
          name + " in [0, " + std::to_string(ints.evaluate(extent, *values_found).value_or(0)) + "), each once";
      cex.got = name + " = " + std::to_string(missing) + " is not added";
      cex.claim = problem;
      cex.points.push_back({store.access.place.op->span, store.access.place.op->id, "writes"});
      cex.replay = ReplayKind::Tags;
      add_elements(context, sum, *values_found, cex);
      for (TouchedElement& element : cex.elements) {
        element.reaches = false;
        for (const ir::Tensor& tensor : context.lowered.tensors) {
          for (size_t d = 0; tensor.name == element.tensor && d < tensor.dims.size(); ++d) {
            if (tensor.dims[d] == name) {
              element.coords[d] = missing;
            }
          }
        }
      }
      conclude(context, obligation, std::move(cex));
    }
  }
}

}  // namespace

void check_coverage(Context& context) {
  for (uint32_t i = 0; i < context.lowered.tensors.size(); ++i) {
    const ir::Direction direction = context.lowered.tensors[i].direction;
    const bool is_written = std::ranges::any_of(
        context.reading.stores, [&](const StoreRecord& store) { return store.tensor.index == i && !store.is_red; });
    // An InOut tensor may keep elements; that they are all written, once, is the only way followed here to see that no
    // two blocks write one.
    if (direction == ir::Direction::Out || (direction == ir::Direction::InOut && is_written)) {
      check_output(context, i);
    }
  }
  // That every part of a sum reaches its element once, over all blocks, is not followed yet: then it is not proved.
  for (const StoreRecord& store : context.reading.stores) {
    if (store.is_red) {
      Obligation& obligation =
          context.add("coverage", "every contribution by `red` is made exactly once", store.access.place.op->span);
      obligation.compared = 1;
      give_up(obligation, "that `" + context.lowered.tensor(store.tensor).name +
                              "` gets every contribution exactly once is not followed");
    }
  }
  ir::for_each_op(context.lowered.body, [&](const ir::Op& op) {
    if (const auto* tiles = std::get_if<ir::TilesOp>(&op.body)) {
      check_raster(context, op, *tiles);
    }
  });
  for (const StoreRecord& store : context.reading.stores) {
    if (context.lowered.tensor(store.tensor).direction == ir::Direction::Out) {
      check_contracted(context, store);
    }
  }
}

}  // namespace tw::verify
