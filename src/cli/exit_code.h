// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tw::cli {

// Part of the stable interface: scripts rely on these numbers.
enum class ExitCode : int {
  Good = 0,
  // Refuted, wrong, rejected.
  NotGood = 1,
  // Usage, or input that cannot be read.
  Usage = 2,
  // Unknown or vacuous.
  Undecided = 3,
  // No compiler, GPU or network.
  Environment = 4,
  Internal = 70,
  // Can be resumed.
  Interrupted = 130,
};

// The one that a user must hear of first: an environment that is missing, then bad input, then refuted, then undecided.
constexpr ExitCode worse(ExitCode a, ExitCode b) {
  constexpr auto kRank = [](ExitCode code) {
    switch (code) {
      case ExitCode::Good:
        return 0;
      case ExitCode::Undecided:
        return 1;
      case ExitCode::NotGood:
        return 2;
      case ExitCode::Usage:
        return 3;
      case ExitCode::Environment:
        return 4;
      case ExitCode::Interrupted:
        return 5;
      case ExitCode::Internal:
        return 6;
    }
    return 6;
  };
  return kRank(a) >= kRank(b) ? a : b;
}

}  // namespace tw::cli
