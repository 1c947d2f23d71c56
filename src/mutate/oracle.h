// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/machine.h"
#include "ir/function.h"

namespace tw::mutate {

// The emulator's opinion of lowered programs that claim to be one source program: launches that meet tiles and trip
// counts in different ways, the source's outputs for each, and schedules that put the mildest first. It uses no verdict
// of the verifier.
class Oracle {
 public:
  // REQUIRES: both outlive the oracle.
  Oracle(const ir::Function& source, const ir::Function& lowered);

  // What goes wrong, in a sentence; nothing: all launches under all schedules leave the source's outputs.
  [[nodiscard]] std::optional<std::string> find_wrong(const ir::Function& mutant) const;
  [[nodiscard]] size_t launch_count() const { return launches_.size(); }

 private:
  struct Launch {
    emulator::Problem problem;
    emulator::Reading expected;
  };
  std::vector<Launch> launches_;
  std::vector<emulator::Schedule> schedules_;
};

}  // namespace tw::mutate
