// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/value_term.h"
#include "base/result.h"
#include "domain/facts.h"
#include "ir/function.h"

// The reading of a kernel (docs/verifier.md), evaluated on symbols: for every store the term that it
// writes, for every contraction and check the terms they look at, valid for all sizes, tiles and iterations. Order,
// layouts and storage are ignored: a cell of a shared object is (object, version, element).
//
// Memory is a list of guarded writes, newest last; a read takes the newest write whose cell it is. Writes of all
// iterations of a loop become one *piece* in closed form: "version v, element c was written in iteration v - 3, if 0 <=
// v - 3 < n". Example:
//
//   for k in range(n):  copy(A[.., (k+3)*32:+32], s[k+3])      piece: v -> A[.., v*32:+32], if 3 <= v < n + 3
//   ... load(s[k])                                             A[.., k*32:+32], where k >= 3
//
// Registers carried by loops: a value that does not depend on the last iteration is "the yield, one iteration earlier";
// a sum or maximum that grows by a term becomes a reduction over the iterations; anything else stays a Loop term, which
// compares equal to itself only.
namespace tw::analysis {

// What several evaluations share so that their terms can be compared: sizes and tile coordinates of the same name are
// one variable.
struct Environment {
  explicit Environment(domain::Fallback* fallback = nullptr) : values(ints), prover(ints, fallback) {
    cell_version = ints.add_var("version");
    for (int i = 0; i < 4; ++i) {
      cell_coords[i] = ints.add_var("cell" + std::to_string(i));
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  VarId named(const std::string& name);

  domain::Ints ints;
  Values values;
  domain::Prover prover;
  std::map<std::string, VarId> by_name;
  // The cell that a piece of memory speaks about.
  VarId cell_version;
  std::array<VarId, 4> cell_coords;
};

struct LoopVar {
  VarId var;
  // lo <= var < hi
  IntId lo, hi;
  bool is_tile = false;
  uint32_t op_id = 0;
  std::string name;
};

// Where something happens, and under which conditions (assumptions, loop ranges, branches).
struct Place {
  const ir::Op* op = nullptr;
  std::vector<CondId> path;
  std::vector<LoopVar> loops;
};

// One side of a memory op. Coordinates are those of the object, over the tile's axis variables.
struct AccessRecord {
  Place place;
  const ir::Region* region = nullptr;
  bool is_write = false;
  IntId version;
  std::vector<IntId> coords;
  std::vector<int64_t> shape;
  // Global side of a memory op; nullptr: none.
  const ir::Access* access = nullptr;
};

struct StoreRecord {
  AccessRecord access;
  ir::TensorId tensor;
  TermId value;
  bool is_red = false;
  ir::ReduceKind red = ir::ReduceKind::Add;
};

struct MmaRecord {
  Place place;
  // a over (m, k), b over (n, k), c and result over (m, n).
  TermId a, b, c, result;
  int64_t m = 0, n = 0, k = 0;
};

struct CheckRecord {
  Place place;
  TermId value;
  std::vector<int64_t> shape;
  std::vector<IntId> expected;
  std::vector<std::pair<IntId, IntId>> over;
  CondId where;
};

// A read of cells that no earlier write is known to cover: under `path` and `open`, the cell has no writer.
struct UnwrittenRead {
  AccessRecord access;
  std::vector<CondId> open;
  // The cell may hold what an earlier tile of the same block left there.
  bool is_stale = false;
};

// A scalar expression (and each of its parts) as the program computes it at a place.
struct ScalarRecord {
  std::shared_ptr<const Place> place;
  ir::ExprId expr;
  IntId value;
};

// A register tile of integers that are known as functions of sizes, loops and coordinates: taken as integers without
// bounds, so that each element has to fit the tile's type is an obligation.
struct IntegerRecord {
  Place place;
  IntId value;
  ElementType type = ElementType::I32;
  std::vector<int64_t> shape;
  std::string name;
};

// Where the evaluator says less than the program: every verdict that touches one becomes unknown.
struct Approximation {
  std::string what;
  diag::Span span;
};

struct Reading {
  // What holds from the start: sizes, arguments, assumptions.
  std::vector<CondId> premises;
  // Numbers of the points that blocks work on (TilesOp::linear): never negative, otherwise any.
  std::vector<VarId> choices;
  std::vector<AccessRecord> accesses;
  std::vector<StoreRecord> stores;
  std::vector<MmaRecord> mmas;
  std::vector<CheckRecord> checks;
  std::vector<UnwrittenRead> unwritten;
  std::vector<Approximation> approximations;
  // Trip counts, extents of tile spaces and divisors that must be positive, with the place where they occur.
  std::vector<std::pair<Place, IntId>> divisors;
  // Lowered functions only.
  std::vector<ScalarRecord> scalars;
  std::vector<IntegerRecord> integers;
  // Tensors whose elements are assumed finite.
  std::vector<bool> finite;
};

// Fails when the function uses something that the evaluator cannot read at all.
// REQUIRES: `function` has passed ir::check_structure and outlives the result.
Result<Reading> evaluate_reading(Environment& environment, const ir::Function& function);

// An expression of `function` over sizes and arguments only.
IntId to_int(Environment& environment, const ir::Function& function, ir::ExprId expr);
// As above, with `axes[i]` standing for axis variable i.
IntId to_int(Environment& environment, const ir::Function& function, ir::ExprId expr,
             const std::vector<ir::SymbolId>& axes, const std::vector<IntId>& coords);

}  // namespace tw::analysis
