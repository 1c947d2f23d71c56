// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "diag/sink.h"
#include "ir/function.h"
#include "syntax/ast.h"
#include "target/machine.h"

// Names, types and shapes: from the tree of a file to the tile IR of one kernel in one configuration.
namespace tw::sema {

// Values for all `const` parameters of a kernel, in declaration order; a truth value is 0 or 1.
using Binding = std::vector<std::pair<std::string, int64_t>>;

struct ConstParameter {
  std::string name;
  bool is_bool = false;
  bool has_default = false;
  // Its value when nothing else is bound; absent when it has none or depends on one that has none.
  std::optional<int64_t> default_value;
  diag::Span span;
};

struct KernelDecl {
  std::string name;
  // As written in `target=`; empty when the kernel names none.
  std::string target;
  std::vector<ConstParameter> consts;
  // What `configs=` lists, completed by the defaults; without it, the one configuration of the defaults.
  std::vector<Binding> configurations;
  // Its name in the source.
  diag::Span span;
  // Points into the module.
  const syntax::FunctionDef* function = nullptr;
};

// The kernels of a file in its order. Also refuses what stands beside them: functions without a decorator, repeated
// names, statements at the top level, and a file without any kernel.
Checked<std::vector<KernelDecl>> kernels_of(const syntax::Module& module, diag::Sink& sink);

// The kernel's configurations with `overrides` (from --param=N=V) put in their place; equal ones are listed once.
Checked<std::vector<Binding>> configurations_with(const syntax::Module& module, const KernelDecl& kernel,
                                                  const Binding& overrides, diag::Sink& sink);

// The machine that the kernel names (`override_name`, from --target, comes first; sm_80 when neither says anything).
Checked<const target::Machine*> machine_of(const KernelDecl& kernel, std::string_view override_name, diag::Sink& sink);

// The kernel in Stage::Source. REQUIRES: `binding` is one of the kernel's configurations (complete).
Checked<ir::Function> lower_kernel(const syntax::Module& module, const KernelDecl& kernel, const Binding& binding,
                                   const target::Machine& machine, diag::Sink& sink);

// "BM=64, BN=128"; "default" for a kernel without const parameters.
std::string to_string(const Binding& binding);

}  // namespace tw::sema
