// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/ints.h"

// Decisions under assumptions. Cheap arguments first: linear combinations of the facts (a small Farkas search), case
// splits on minima and choices; what they leave open goes to an outside decision procedure, if there is one.
namespace tw::domain {

// A conjunction that grows and shrinks like a stack.
class Facts {
 public:
  [[nodiscard]] size_t mark() const { return conditions_.size(); }
  void rollback(size_t mark) { conditions_.resize(mark); }
  void assume(CondId condition) { conditions_.push_back(condition); }
  [[nodiscard]] const std::vector<CondId>& conditions() const { return conditions_; }

 private:
  std::vector<CondId> conditions_;
};

// Undoes what was assumed while it lived.
class FactScope {
 public:
  explicit FactScope(Facts& facts) : facts_(facts), mark_(facts.mark()) {}
  ~FactScope() { facts_.rollback(mark_); }
  FactScope(const FactScope&) = delete;
  FactScope& operator=(const FactScope&) = delete;

 private:
  Facts& facts_;
  size_t mark_;
};

enum class Decision : uint8_t { True, False, Unknown };

// The outside procedure: whether `facts` imply `goal`. It must say false unless it has a proof.
class Fallback {
 public:
  virtual ~Fallback() = default;
  virtual bool implies(Ints& ints, std::span<const CondId> facts, CondId goal) = 0;
};

// Soundness: `proves` and the answers True and False are right for all values of the variables that satisfy the facts
// (divisors positive); Unknown and `false` say nothing.
class Prover {
 public:
  explicit Prover(Ints& ints, Fallback* fallback = nullptr) : ints_(ints), fallback_(fallback) {}

  bool proves(const Facts& facts, CondId goal);
  Decision decide(const Facts& facts, CondId goal);
  // Without the outside procedure.
  bool proves_quickly(const Facts& facts, CondId goal);
  bool contradictory(const Facts& facts) { return proves(facts, ints_.truth(false)); }
  [[nodiscard]] Ints& ints() { return ints_; }

  struct Statistics {
    uint64_t quick = 0;
    uint64_t by_sample = 0;
    uint64_t fallback = 0;
  };
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

 private:
  bool quick(std::vector<CondId>& facts, CondId goal, int splits);
  bool quick_non_negative(std::vector<CondId>& facts, IntId value, int splits);
  // A value assignment that satisfies facts and not goal: then no proof exists.
  bool has_counterexample(std::span<const CondId> facts, CondId goal);

  Ints& ints_;
  Fallback* fallback_;
  Statistics statistics_;
  std::unordered_map<uint64_t, bool> cache_;
};

}  // namespace tw::domain
