// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tw::toolchain {

// The GPU machine code of a cubin as text.
struct Disassembly {
  std::string text;
  // The program that made it.
  std::string tool;
};

// nvdisasm or cuobjdump of a CUDA toolkit; $TILEWRIGHT_DISASSEMBLER names one of them. Fails where there is none.
Result<Disassembly> disassemble(std::string_view cubin);

// Where `disassemble` looks, in order: programs by path, then by name.
std::vector<std::string> disassembler_candidates();

}  // namespace tw::toolchain
