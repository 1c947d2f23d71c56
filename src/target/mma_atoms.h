// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "target/machine.h"

namespace tw::target {

// mma.sync of the Ampere class and SIMT fma. Rates are multiply-adds per SM and cycle, given per machine.
std::vector<MmaAtom> ampere_mma_atoms(double half_rate, double tf32_rate, double fma_rate);

}  // namespace tw::target
