// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diag/sink.h"
#include "verify/verify.h"

namespace tw::verify {

// The machine's half of the obligations of a lowered function: `race` (order, versions, overtaken slots), `layout`
// (maps, fragments, ldmatrix, vectors, storage) and `resource`. A suspicion becomes a refutation only when an execution
// that goes wrong was found on the emulator; otherwise its verdict is unknown, with the suspicion as the reason.
// Layouts and resources that are wrong by enumeration or by count need no execution where the emulator cannot start (a
// map with a hole, too much shared memory): the enumeration is the counterexample.
// `is_refuted`: the other half has found the program wrong already; executions are then looked for only shortly.
std::vector<Obligation> machine_obligations(const ir::Function& lowered, const Options& options, bool is_refuted,
                                            diag::Sink& sink);

// Runs a machine counterexample again; the error says that nothing goes wrong.
Result<std::string> replay_machine(const ir::Function& lowered, const Counterexample& counterexample);

}  // namespace tw::verify
