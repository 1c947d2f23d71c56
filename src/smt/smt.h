// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

// Questions about integers for an SMT solver (Z3), which this room hides: no exception and no Z3 type leaves it.
namespace tw::smt {

using TermId = Id<struct SmtTermTag>;

// Terms are built once and used in many queries. Integers are mathematical; `div` and `mod` by constants round down.
enum class TermKind : uint8_t { Constant, Variable, Boolean, Add, Mul, Div, Mod, Le, Eq, And, Or, Not, Ite };

struct TermNode {
  TermKind kind = TermKind::Constant;
  int64_t value = 0;
  std::string name;
  std::vector<TermId> operands;
};

class Terms {
 public:
  TermId constant(int64_t value);
  TermId variable(std::string name);
  TermId boolean(bool value);
  TermId add(std::vector<TermId> operands);
  TermId mul(TermId a, TermId b);
  // REQUIRES: divisor > 0.
  TermId div(TermId a, int64_t divisor);
  TermId mod(TermId a, int64_t divisor);
  TermId le(TermId a, TermId b);
  TermId eq(TermId a, TermId b);
  TermId conjunction(std::vector<TermId> operands);
  TermId disjunction(std::vector<TermId> operands);
  TermId negation(TermId a);
  TermId ite(TermId condition, TermId if_true, TermId if_false);

  [[nodiscard]] const TermNode& node(TermId id) const { return nodes_[id.index]; }
  [[nodiscard]] size_t size() const { return nodes_.size(); }

 private:
  TermId push(TermNode node);
  std::vector<TermNode> nodes_;
};

// Do the assumptions imply the goal? `name` says in reports which question it was.
struct Query {
  std::string name;
  std::vector<TermId> assumptions;
  TermId goal;
};

enum class Verdict : uint8_t { Proved, Refuted, Unknown };

struct Answer {
  Verdict verdict = Verdict::Unknown;
  // Refuted: values of the variables that occur (others are arbitrary).
  std::unordered_map<TermId, int64_t> model;
  // Unknown: why.
  std::string reason;
  uint64_t resource_units = 0;
};

struct Budget {
  // Z3's resource units for one query: a count of its own steps, so that no answer depends on the machine's speed.
  uint32_t resource_units = 400'000;
};

struct Statistics {
  uint64_t queries = 0;
  uint64_t proved = 0;
  uint64_t refuted = 0;
  uint64_t unknown = 0;
  uint64_t resource_units = 0;
};

// Starts Z3 at the first query.
class Solver {
 public:
  explicit Solver(const Terms& terms, Budget budget = {});
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  Answer prove(const Query& query);
  [[nodiscard]] const Statistics& statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "4.13.4"
std::string solver_version();

}  // namespace tw::smt
