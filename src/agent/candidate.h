// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "driver/driver.h"
#include "eval/evaluation.h"
#include "profile/model.h"
#include "task/task.h"
#include "toolchain/compiler.h"
#include "verify/verify.h"

// What the loop does with one candidate text: each function is one step, its result the step's output (docs/store.md).
namespace tw::agent {

// The proof.
struct CheckOutcome {
  // proved, refuted, unknown, vacuous, rejected (by the front end).
  std::string verdict;
  verify::Scope scope = verify::Scope::Order;
  std::string ir_hash;
  // The first findings in words.
  std::string diagnostics;
  // Of the first refuted obligation, as JSON text; empty: none.
  std::string counterexample;
  std::vector<diag::Span> places;
  // Conditions on sizes that the kernel assumes beyond the task's domain.
  std::vector<std::string> narrowing;
  std::optional<verify::Report> report;
  std::optional<driver::CompiledKernel> kernel;

  [[nodiscard]] bool is_proved() const { return verdict == "proved" && scope == verify::Scope::Full; }
  [[nodiscard]] json::Value to_json(const std::string& candidate) const;
};
// Witness: what is not proved is executed until it is seen to be wrong, or the budget ends. ProofOnly: whether it is
// proved is all that counts.
enum class Evidence : uint8_t { Witness, ProofOnly };
CheckOutcome check_candidate(const std::string& text, const task::Task& task, const std::string& target,
                             Evidence evidence = Evidence::Witness);

// Emission and compilation; without a compiler on this machine the source alone.
struct BuildOutcome {
  bool is_ok = false;
  std::string source;
  std::string error;
  std::optional<toolchain::ResourceReport> resources;
  std::string compiler;
  [[nodiscard]] json::Value to_json(const std::string& candidate, int64_t shared_bytes) const;
};
BuildOutcome build_candidate(const driver::CompiledKernel& kernel, toolchain::CudaCompiler* compiler);

// Which assumptions of the kernel does the task's domain not give? Texts of the conditions.
std::vector<std::string> assumptions_beyond(const ir::Function& kernel, const task::Task& task);

}  // namespace tw::agent
