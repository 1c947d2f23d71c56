// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verify/verify.h"

namespace tw::verify {

// Diagnostics of the reading half's obligations (codes 3000-3499): refutations first, then what is undecided or
// vacuous. One cause is told once: an undecided obligation at the place of a refuted one is left out.
void report_findings(const std::vector<Obligation>& obligations, diag::Sink& sink);

}  // namespace tw::verify
