// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.h"

#include "base/sha256.h"
#include "ir/print.h"
#include "passes/pass.h"
#include "syntax/parser.h"

namespace tw::driver {

Checked<std::vector<CompiledKernel>> compile(Session& session, const CompileRequest& request) {
  const PhaseScope phase("compiling " + request.name);
  const diag::FileId file = session.sources.add(request.name, request.text);
  TW_TRY(const syntax::Module module, syntax::parse(session.sources, file, session.sink));
  TW_TRY(const std::vector<sema::KernelDecl> kernels, sema::kernels_of(module, session.sink));
  std::vector<CompiledKernel> out;
  for (const sema::KernelDecl& kernel : kernels) {
    TW_TRY(const target::Machine* machine, sema::machine_of(kernel, request.target, session.sink));
    TW_TRY(const std::vector<sema::Binding> configurations,
           sema::configurations_with(module, kernel, request.parameters, session.sink));
    for (const sema::Binding& binding : configurations) {
      const diag::ContextScope context(
          session.sink, "in the configuration " + sema::to_string(binding) + " of `" + kernel.name + "`");
      TW_TRY(ir::Function source, sema::lower_kernel(module, kernel, binding, *machine, session.sink));
      TW_TRY(ir::Function lowered, passes::lower(source, session.sink));
      std::string hash = ir::ir_hash(lowered);
      out.push_back({kernel.name, binding, std::move(source), std::move(lowered), std::move(hash)});
      if (request.only_first) {
        return out;
      }
    }
  }
  return out;
}

std::string combined_hash(const std::vector<CompiledKernel>& kernels) {
  if (kernels.size() == 1) {
    return kernels.front().ir_hash;
  }
  ContentKey hash;
  for (const CompiledKernel& kernel : kernels) {
    hash.add(kernel.ir_hash);
  }
  return hash.finish();
}

}  // namespace tw::driver
