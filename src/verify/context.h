// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/reading.h"
#include "analysis/settle.h"
#include "analysis/tags.h"
#include "domain/sampler.h"
#include "emulator/report.h"
#include "verify/smt_fallback.h"
#include "verify/verify.h"

namespace tw::verify {

using analysis::IntId;
using analysis::Place;
using analysis::TermId;
using analysis::VarId;
using domain::CondId;
using domain::Facts;

// What the rules about the reading share: both readings over one set of variables.
struct Context {
  Context(const ir::Function& source_function, const ir::Function& lowered_function, const Options& check_options)
      : source(source_function),
        lowered(lowered_function),
        options(check_options),
        fallback(check_options.effort),
        env(&fallback) {}

  const ir::Function& source;
  const ir::Function& lowered;
  const Options& options;
  SmtFallback fallback;
  analysis::Environment env;
  analysis::Reading source_reading;
  analysis::Reading reading;
  std::unique_ptr<analysis::Settler> settler;
  std::unique_ptr<analysis::Tagger> tagger;
  std::vector<Obligation> obligations;
  std::map<std::string, int> numbers;

  // The lowering may drop checks; those of the source are then the ones that count (the readings agree: `reading`).
  [[nodiscard]] const std::vector<analysis::CheckRecord>& checks() const {
    return reading.checks.size() >= source_reading.checks.size() ? reading.checks : source_reading.checks;
  }
  [[nodiscard]] bool checks_are_of_source() const { return &checks() == &source_reading.checks; }
  domain::Ints& ints() { return env.ints; }
  analysis::Values& values() { return env.values; }
  // A new obligation with the next number of its kind; valid until the next one is added.
  Obligation& add(std::string kind, std::string claim, diag::Span span);
  // The path's conditions, and the axis ranges of a tile of this shape.
  void assume(Facts& facts, const Place& place, const std::vector<int64_t>& shape);
};

// Measures one obligation.
class Timer {
 public:
  explicit Timer(Obligation& obligation) : obligation_(obligation), start_(std::chrono::steady_clock::now()) {}
  ~Timer() {
    std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start_;
    obligation_.time_ms += spent.count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Obligation& obligation_;
  std::chrono::steady_clock::time_point start_;
};

// Concrete values that satisfy the facts and `broken`, small ones first.
std::optional<domain::Assignment> find_witness(Context& context, const Facts& facts, const std::vector<CondId>& broken);

// Sizes, tile and iterations of `place` under `values`.
void describe(Context& context, const Place& place, const domain::Assignment& values, Counterexample& counterexample);
// The leaves of `term` outside reductions (else the first ones inside), at `values`.
void add_elements(Context& context, TermId term, const domain::Assignment& values, Counterexample& counterexample);
std::string format_coords(const domain::Ints& ints, const std::vector<IntId>& coords, const domain::Assignment& values);

// Sets the verdict of a proof that failed: `candidate` becomes a refutation when it replays, else the reason for
// Unknown.
void conclude(Context& context, Obligation& obligation, Counterexample candidate);
// Runs the reading of the lowered program on small problems (of the given sizes first) until the emulator reports one
// of the kinds; fills a counterexample from what it reports.
std::optional<Counterexample> hunt_reading(Context& context, const std::vector<emulator::ReadingErrorKind>& kinds,
                                           const std::vector<std::pair<std::string, int64_t>>& sizes_first);
// Small problems at which source and lowered program give different outputs.
std::optional<Counterexample> hunt_difference(Context& context);
// Small problems at which the lowered program's outputs are not the task's.
std::optional<Counterexample> hunt_task(Context& context);
// Unknown, unless the obligation is already worse.
void give_up(Obligation& obligation, std::string reason);

// Rules; each adds its obligations.
void check_reading_kept(Context& context);
void check_contractions(Context& context);
void check_tags(Context& context);
void check_initialized(Context& context);
void check_bounds(Context& context);
void check_coverage(Context& context);
void check_task(Context& context);

}  // namespace tw::verify
