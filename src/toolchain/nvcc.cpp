// SPDX-License-Identifier: Apache-2.0
#include "toolchain/nvcc.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "base/strings.h"
#include "os/env.h"
#include "os/files.h"
#include "os/process.h"

namespace tw::toolchain {

namespace {

constexpr std::chrono::minutes kTimeout{10};

// nvcc finds the host compiler by PATH and its own parts beside itself.
os::Command make_command(std::vector<std::string> argv) {
  os::Command command;
  command.argv = std::move(argv);
  command.timeout = kTimeout;
  return command;
}

CompileFailure environment_failure(std::string message, Error cause) {
  return {CompileFailureKind::Environment, std::move(cause).within(std::move(message)), {}, {}};
}

}  // namespace

Result<Nvcc> Nvcc::find() {
  if (const auto chosen = os::get_env("TILEWRIGHT_NVCC")) {
    return open(*chosen);
  }
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = os::get_env(variable)) {
      roots.push_back(*root);
    }
  }
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots) {
    const std::string program = os::join_path(root, "bin/nvcc");
    if (os::is_regular_file(program)) {
      return open(program);
    }
  }
  if (const auto program = os::find_program("nvcc")) {
    return open(*program);
  }
  return fail("nvcc, the compiler of the CUDA toolkit, was not found");
}

Result<Nvcc> Nvcc::open(const std::string& program) {
  Nvcc nvcc;
  nvcc.path_ = program;
  TW_TRY(const os::ProcessOutcome outcome, os::run_process(make_command({program, "--version"})));
  if (!outcome.is_success()) {
    return fail(Error{fmt::format("`{} --version` failed: {}", program, outcome.describe()),
                      {std::string(trim(outcome.stderr_text))}});
  }
  nvcc.identity_ = outcome.stdout_text;
  // "Cuda compilation tools, release 13.0, V13.0.88"
  const size_t place = nvcc.identity_.find(", V");
  if (place == std::string::npos) {
    return fail(fmt::format("`{} --version` does not name a CUDA release", program));
  }
  const std::string_view rest = std::string_view(nvcc.identity_).substr(place + 3);
  nvcc.version_text_ = fmt::format("nvcc {}", rest.substr(0, rest.find_first_of(" \n")));
  return nvcc;
}

std::vector<std::string> Nvcc::arguments(const CompileOptions& options) {
  std::vector<std::string> arguments;
  const bool is_cubin = options.output == Output::Cubin;
  arguments.emplace_back(is_cubin ? "-cubin" : "-ptx");
  arguments.push_back("-arch=" + (is_cubin ? options.arch : virtual_arch(options.arch)));
  arguments.emplace_back("-std=c++17");
  if (is_cubin) {
    for (const char* text : {"-Xptxas", "-v", "-Xptxas", "--warn-on-spills"}) {
      arguments.emplace_back(text);
    }
  }
  if (options.max_registers > 0) {
    arguments.push_back(fmt::format("-maxrregcount={}", options.max_registers));
  }
  if (options.has_line_info) {
    arguments.emplace_back("-lineinfo");
  }
  for (const std::string& define : options.defines) {
    arguments.push_back("-D" + define);
  }
  for (const std::string& folder : options.include_dirs) {
    arguments.push_back("-I" + folder);
  }
  arguments.insert(arguments.end(), options.extra_options.begin(), options.extra_options.end());
  return arguments;
}

CompileResult Nvcc::compile(std::string_view source, const CompileOptions& options) const {
  auto folder = os::TempFolder::make("tilewright-nvcc-");
  if (!folder) {
    return fail(environment_failure("no place for nvcc's files", std::move(folder).error()));
  }
  const std::string source_name = os::base_name(options.file_name);
  const std::string source_path = os::join_path(folder->path(), source_name);
  const std::string image_path = os::join_path(folder->path(), "image.out");
  if (auto written = os::write_file_atomic(source_path, source); !written) {
    return fail(environment_failure("no place for nvcc's files", std::move(written).error()));
  }
  std::vector<std::string> argv = {path_};
  const std::vector<std::string> texts = arguments(options);
  argv.insert(argv.end(), texts.begin(), texts.end());
  argv.insert(argv.end(), {"-o", image_path, source_name});
  os::Command command = make_command(std::move(argv));
  command.working_folder = folder->path();
  auto outcome = os::run_process(command);
  if (!outcome) {
    return fail(environment_failure("cannot run nvcc", std::move(outcome).error()));
  }
  std::string log = outcome->stderr_text + outcome->stdout_text;
  if (!outcome->is_success()) {
    CompileFailure failure;
    failure.messages = errors_first(parse_compiler_log(log));
    const bool has_error = !failure.messages.empty() && failure.messages.front().severity == MessageSeverity::Error;
    if (log.find("Unsupported gpu architecture") != std::string::npos ||
        log.find("not defined for option 'gpu-architecture'") != std::string::npos) {
      failure.kind = CompileFailureKind::Environment;
      failure.error.message = fmt::format("{} cannot compile for `{}`", version_text_, options.arch);
    } else if (has_error && failure.messages.front().stage != "driver") {
      failure.kind = CompileFailureKind::Rejected;
      failure.error.message = fmt::format("{}: {}", version_text_, failure.messages.front().text);
    } else {
      // A killed process, a missing host compiler, an option that nvcc does not know.
      failure.kind = outcome->exit_code < 0 ? CompileFailureKind::Environment : CompileFailureKind::Internal;
      failure.error.message = fmt::format("{}: {}", version_text_, outcome->describe());
      failure.error.causes.emplace_back(trim(log));
    }
    failure.log = std::move(log);
    return fail(std::move(failure));
  }
  auto image = os::read_file(image_path);
  if (!image) {
    return fail(environment_failure("nvcc wrote no image", std::move(image).error()));
  }
  CompiledKernel kernel;
  kernel.image = *std::move(image);
  kernel.output = options.output;
  kernel.arch = options.arch;
  kernel.compiler = version_text_;
  if (options.output == Output::Cubin) {
    auto resources = read_resources(log, kernel.image);
    if (!resources) {
      return fail(CompileFailure{CompileFailureKind::Internal,
                                 std::move(resources).error().within(version_text_ + ": no resource report"),
                                 {},
                                 std::move(log)});
    }
    kernel.resources = *std::move(resources);
  }
  kernel.messages = parse_compiler_log(log);
  kernel.log = std::move(log);
  kernel.time_ms = outcome->wall_ms;
  return kernel;
}

}  // namespace tw::toolchain
