// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/emit.h"

#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/compile_one.h"
#include "cli/output.h"
#include "codegen/launch.h"
#include "os/files.h"
#include "toolchain/sass.h"

namespace tw::cli {
namespace {

// How to launch: what a program needs that loads the cubin itself (docs/launch_abi.md). Expressions use `cdiv`, `min`,
// `max`.
json::Object launch_json(const driver::CompiledKernel& kernel, const codegen::LaunchPlan& plan) {
  const ir::ExprPool& exprs = kernel.lowered.exprs;
  json::Array parameters;
  for (const codegen::LaunchParameter& p : plan.parameters) {
    constexpr std::string_view kKinds[] = {"pointer", "size", "scalar"};
    json::Object entry{{"name", p.name}, {"kind", kKinds[static_cast<int>(p.kind)]}, {"type", name_of(p.element)}};
    if (p.kind == codegen::LaunchParameter::Kind::Pointer) {
      entry.set("const", p.is_const);
      json::Array extents;
      json::Array strides;
      for (ir::ExprId e : kernel.lowered.tensor(p.tensor).extents) {
        extents.push_back(exprs.to_string(e));
      }
      for (ir::ExprId e : kernel.lowered.tensor(p.tensor).strides) {
        strides.push_back(exprs.to_string(e));
      }
      entry.set("extents", std::move(extents));
      entry.set("strides", std::move(strides));
    }
    parameters.push_back(std::move(entry));
  }
  json::Array spaces;
  for (const auto& space : plan.spaces) {
    json::Array extents;
    for (ir::ExprId e : space.extents) {
      extents.push_back(exprs.to_string(e));
    }
    spaces.push_back(json::Object{{"extents", std::move(extents)}, {"persistent", space.is_persistent}});
  }
  json::Array preconditions;
  for (const codegen::Precondition& p : plan.preconditions) {
    preconditions.push_back(p.text);
  }
  json::Object constants;
  for (const auto& [name, value] : kernel.constants) {
    constants.set(name, value);
  }
  return {{"kernel", plan.kernel_name},
          {"constants", std::move(constants)},
          {"threads", plan.threads},
          {"shared_bytes", plan.shared_bytes},
          {"persistent_blocks", plan.persistent_blocks},
          {"parameters", std::move(parameters)},
          {"tile_spaces", std::move(spaces)},
          {"preconditions", std::move(preconditions)}};
}

json::Array resources_json(const toolchain::CompiledKernel& code) {
  json::Array out;
  for (const toolchain::ResourceReport& r : code.resources) {
    out.push_back(json::Object{{"kernel", r.kernel},
                               {"registers", r.registers},
                               {"spill_store_bytes", r.spill_store_bytes},
                               {"spill_load_bytes", r.spill_load_bytes}});
  }
  return out;
}

}  // namespace

ExitCode emit_command(const Options& options) {
  driver::Session session;
  OneKernel one = compile_one(session, options.files.front(), options);
  if (!one.kernel) {
    return one.exit_code;
  }
  const driver::CompiledKernel& kernel = *one.kernel;
  auto source = targets::cuda::emit(kernel.lowered, {&session.sources, true});
  if (!source) {
    print_error(diag::codes::RunNotPossible::kInfo, source.error(), options);
    return ExitCode::NotGood;
  }
  std::string text = *source;
  json::Array resources;
  if (options.emit_to != "cuda") {
    const auto output = options.emit_to == "ptx" ? toolchain::Output::Ptx : toolchain::Output::Cubin;
    MachineCode machine = compile_cuda(session, kernel, *source, output, options);
    if (!machine.code) {
      return machine.exit_code;
    }
    resources = resources_json(*machine.code);
    text = machine.code->image;
    if (options.emit_to == "sass") {
      auto sass = toolchain::disassemble(machine.code->image);
      if (!sass) {
        print_error(diag::codes::EnvironmentMissing::kInfo, sass.error(), options);
        return ExitCode::Environment;
      }
      text = sass->text;
    }
  }
  const bool is_json = options.format == Format::Json;
  // A program that its own translation replaced would be lost.
  if (auto input = os::real_path(options.files.front()), output = os::real_path(options.output);
      !options.output.empty() && input && output && *input == *output) {
    print_error(diag::codes::OutputNotWritten::kInfo, {fmt::format("`{}` is the program itself", options.output), {}},
                options);
    return ExitCode::Usage;
  }
  // With --format=json the description goes to stdout and the code to the file; without a file, into the description.
  if (!is_json || !options.output.empty()) {
    if (auto written = write_output(options.output, text); !written) {
      print_error(diag::codes::OutputNotWritten::kInfo, written.error(), options);
      return ExitCode::Usage;
    }
  }
  if (is_json) {
    json::Object out{{"schema", "tw.emit/1"},
                     {"file", options.files.front()},
                     {"target", kernel.lowered.machine->name},
                     {"to", options.emit_to},
                     {"ir_hash", kernel.ir_hash},
                     {"launch", launch_json(kernel, codegen::plan_launch(kernel.lowered))},
                     {"resources", std::move(resources)}};
    if (options.output.empty() && options.emit_to != "cubin") {
      out.set("text", text);
    }
    print_json(std::move(out));
  }
  return ExitCode::Good;
}

}  // namespace tw::cli
