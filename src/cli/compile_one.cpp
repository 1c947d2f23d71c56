// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_one.h"

#include "cli/output.h"
#include "cli/version.h"
#include "os/env.h"
#include "os/files.h"
#include "toolchain/compiler.h"
#include "toolchain/report.h"

namespace tw::cli {
OneKernel compile_one(driver::Session& session, const std::string& path, const Options& options) {
  auto text = read_input(path);
  if (!text) {
    print_error(diag::codes::InputUnreadable::kInfo, text.error(), options);
    return {std::nullopt, ExitCode::Usage};
  }
  auto kernels = driver::compile(session, {path, *text, options.target, options.parameters, true});
  print_diagnostics(session, options.format);
  if (!kernels) {
    return {std::nullopt, is_unreadable(session) ? ExitCode::Usage : ExitCode::NotGood};
  }
  return {std::move(kernels->front()), ExitCode::Good};
}

MachineCode compile_cuda(driver::Session& session, const driver::CompiledKernel& kernel, const std::string& source,
                         toolchain::Output output, const Options& options) {
  const ir::Function& f = kernel.lowered;
  toolchain::CompilerConfig config;
  config.build_id = version_text();
  if (auto cache = os::cache_folder(); cache && options.has_cache) {
    config.cache_folder = os::join_path(*cache, "cuda");
  }
  auto failed = [&](ExitCode code) {
    print_diagnostics(session, options.format);
    return MachineCode{std::nullopt, code};
  };
  auto compiler = toolchain::CudaCompiler::find(config);
  if (!compiler) {
    toolchain::report_no_compiler(session.sink, compiler.error());
    return failed(ExitCode::Environment);
  }
  toolchain::CompileOptions compile_options;
  compile_options.arch = f.machine->arch;
  compile_options.output = output;
  auto compiled = compiler->compile(source, compile_options);
  if (!compiled) {
    toolchain::report_compile_failure(session.sink, f.span, f.name, compiled.error());
    return failed(compiled.error().kind == toolchain::CompileFailureKind::Environment ? ExitCode::Environment
                                                                                      : ExitCode::Internal);
  }
  const toolchain::ResourceReport* resources = compiled->find_resources(f.name);
  if (resources != nullptr) {
    bool is_good = toolchain::report_spills(session.sink, f.span, f.machine->arch, *resources, f.no_spills);
    for (const auto& violation : toolchain::check_resources(*resources, *f.machine, f.threads, f.shared_bytes)) {
      toolchain::report_resource_violation(session.sink, f.span, f.name, *f.machine, violation);
      is_good = false;
    }
    if (!is_good) {
      return failed(ExitCode::NotGood);
    }
  }
  return {*std::move(compiled), ExitCode::Good};
}

}  // namespace tw::cli
