// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "diag/sink.h"
#include "ir/function.h"
#include "spec/term.h"

// Proof or refutation of a kernel: the obligations of docs/verifier.md.
namespace tw::verify {

// Vacuous: nothing was compared, which is no pass.
enum class Verdict : uint8_t { Proved, Refuted, Unknown, Vacuous };
std::string_view name_of(Verdict verdict);

// Full: everything is proved and each output has a non-vacuous check or agrees with the task. Order: proved without
// that: the machine does what the text says, whatever that is.
enum class Scope : uint8_t { Full, Order };
std::string_view name_of(Scope scope);

struct ProgramPoint {
  diag::Span span;
  uint32_t op_id = 0;
  // "reads", "writes", "this check", ...
  std::string role;
};

// How a counterexample is shown again. Reading: the source's reading, executed concretely, shows the finding.
// Difference: the readings of source and lowered program differ at these sizes. Machine: the machine half of the
// emulator does. Tags: the elements read by the statement, computed concretely, disagree. Task: the reading's outputs
// differ from the task's equations. Layout: enumeration of the lowered program's layouts and resources finds it again.
enum class ReplayKind : uint8_t { None, Reading, Difference, Machine, Tags, Task, Layout };
std::string_view name_of(ReplayKind kind);

// An element of an input that meets others at the place of the failure. `reaches`: it takes part (else: it should and
// does not).
struct TouchedElement {
  std::string tensor;
  std::vector<int64_t> coords;
  bool reaches = true;
  // Of a product: belongs to its second factor.
  bool is_second = false;
};

// The value that tags are about: what an op of one of the two programs checks or gives.
struct WatchedValue {
  uint32_t op_id = 0;
  bool in_source = false;
};

// Everything needed to see a failure: concrete sizes, the place in the iteration space, the element, both statements.
struct Counterexample {
  // Name of the rule, as in docs/verifier.md ("k-slice-mismatch").
  std::string rule;
  std::string obligation;
  // One line.
  std::string claim;
  std::vector<std::pair<std::string, int64_t>> sizes;
  // Coordinates of the tile, then of the loops, outermost first.
  std::vector<std::pair<std::string, int64_t>> tile;
  std::vector<std::pair<std::string, int64_t>> iterations;
  std::optional<int64_t> block, thread, warp, lane, byte;
  std::string object;
  std::optional<int64_t> version, slot, phase;
  std::vector<int64_t> element;
  std::string expected, got;
  std::vector<ProgramPoint> points;
  // Machine: at most a dozen events, in order.
  std::vector<std::string> interleaving;
  // Why the order that is there does not help, or what the rule asks for.
  std::string why;
  uint64_t seed = 1;
  // Machine: the emulator's schedule (emulator::to_json), which makes the execution repeatable.
  json::Value schedule;
  ReplayKind replay = ReplayKind::None;
  bool is_replayed = false;
  // What the emulator said.
  std::string replay_finding;
  // Tags: elements that meet. `is_product`: those of the first factor are multiplied by those of the second.
  std::vector<TouchedElement> elements;
  bool is_product = false;
  // Tags: the elements are the factors of one summand, which is added more than once.
  bool is_summand = false;
  std::optional<WatchedValue> watched;
  // Further facts, a sentence each.
  std::vector<std::string> facts;
};
// Schema `tw.counterexample/1`.
json::Value to_json(const Counterexample& counterexample, const diag::SourceManager& sources);
// What a replay needs of it; places in the program are not read back. The error names the member that is missing or
// wrong.
Result<Counterexample> counterexample_from_json(const json::Value& value);

struct Obligation {
  // "contraction:3": kind and a number that is stable while the program's statements stay.
  std::string id;
  // reading, contraction, coverage, bounds, init, check, task; race, layout, resource.
  std::string kind;
  Verdict verdict = Verdict::Unknown;
  // How many things were compared.
  int64_t compared = 0;
  double time_ms = 0;
  // Unknown: why, and the queries' budget.
  std::string reason;
  // What is proved, in words.
  std::string claim;
  diag::Span span;
  std::optional<Counterexample> counterexample;
};

struct Options {
  // Scales every budget; verdicts depend on it and on nothing else about the machine.
  int effort = 1;
  // Stated computation, for obligation 9; operands are matched by name.
  const spec::Computation* task = nullptr;
  // Without replay no refutation is reported: they become unknown with the candidate attached.
  bool replay = true;
};

struct Report {
  std::vector<Obligation> obligations;
  // `assume`s, memory preconditions, profile facts that the proof leans on.
  std::vector<std::string> assumptions;
  Scope scope = Scope::Order;
  Verdict verdict = Verdict::Unknown;
  // What is not covered, for the proof's text.
  std::vector<std::string> not_covered;
};

// REQUIRES: both have passed ir::check_structure; `lowered` comes from `source`. Findings go to `sink`, causes first.
Report check(const ir::Function& source, const ir::Function& lowered, const Options& options, diag::Sink& sink);

// Runs a counterexample again: what the emulator finds at its sizes, or an error when it finds nothing.
// `task`: for counterexamples of kind Task.
Result<std::string> replay(const ir::Function& source, const ir::Function& lowered,
                           const Counterexample& counterexample, const spec::Computation* task = nullptr);

json::Value to_json(const Obligation& obligation, const diag::SourceManager& sources);

}  // namespace tw::verify
