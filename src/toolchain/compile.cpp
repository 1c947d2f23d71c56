// SPDX-License-Identifier: Apache-2.0
#include "toolchain/compile.h"

#include <algorithm>

namespace tw::toolchain {

const ResourceReport* CompiledKernel::find_resources(std::string_view kernel) const {
  const auto it = std::find_if(resources.begin(), resources.end(),
                               [&](const ResourceReport& report) { return report.kernel == kernel; });
  return it == resources.end() ? nullptr : &*it;
}

std::string virtual_arch(std::string_view arch) {
  constexpr std::string_view kReal = "sm_";
  return "compute_" + std::string(arch.starts_with(kReal) ? arch.substr(kReal.size()) : arch);
}

}  // namespace tw::toolchain
