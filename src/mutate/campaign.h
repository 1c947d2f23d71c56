// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "driver/driver.h"
#include "mutate/operators.h"
#include "verify/verify.h"

namespace tw::mutate {

// One kernel to be mutated, in one configuration.
struct Subject {
  std::string file;
  const driver::CompiledKernel* kernel = nullptr;
};

// Where one mistake goes.
struct Mutant {
  size_t subject = 0;
  const Operator* op = nullptr;
  int place = 0;
  // "drop-sync:2": the argument of --only.
  [[nodiscard]] std::string name() const;
};

enum class EmulatorSays : uint8_t { Right, Wrong, NotRun };

struct MutantResult {
  Mutant mutant;
  bool is_built = false;
  EmulatorSays emulator = EmulatorSays::NotRun;
  // What the emulator found, in a sentence.
  std::string finding;
  verify::Verdict verdict = verify::Verdict::Unknown;
  bool is_replayed = false;
  // Kind and reason of the first obligation with that verdict.
  std::string reason;
  uint32_t op_id = 0;
  diag::Span span;

  [[nodiscard]] bool is_missed() const {
    return emulator == EmulatorSays::Wrong && verdict != verify::Verdict::Refuted;
  }
  // Worse than missed.
  [[nodiscard]] bool is_unsound() const {
    return emulator == EmulatorSays::Wrong && verdict == verify::Verdict::Proved;
  }
};

struct CampaignOptions {
  uint64_t seed = 1;
  int count = 200;
  // "OPERATOR:PLACE" or "OPERATOR": this mutant alone, or all of an operator.
  std::string only;
  // Called after each mutant, for progress.
  std::function<void(const MutantResult&, size_t done, size_t all)> progress;
};

struct Campaign {
  uint64_t seed = 1;
  std::vector<MutantResult> results;
  // Originals that the verifier refutes.
  std::vector<std::string> false_alarms;
  // Originals that are wrong on the emulator: then nothing about their mutants means anything.
  std::vector<std::string> wrong_originals;

  [[nodiscard]] int missed() const;
};

// Operators take turns, so that none dominates; within one, kernels and places are drawn by the seed.
std::vector<Mutant> choose(const std::vector<Subject>& subjects, const CampaignOptions& options);

// `sources` holds the files of the subjects: counterexamples name places in them.
Campaign run_campaign(const std::vector<Subject>& subjects, const CampaignOptions& options,
                      const diag::SourceManager& sources);

// What `tilewright bench mutants --format=json` prints: docs/mutants.md.
json::Value to_json(const Campaign& campaign, const std::vector<Subject>& subjects, const diag::SourceManager& sources);

}  // namespace tw::mutate
