// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/version.h"
#include "os/env.h"
#include "os/process.h"
#include "runner/cuda_driver.h"
#include "runner/gpu.h"
#include "toolchain/nvrtc.h"

namespace tw::cli {
namespace {

// One thing that a machine may or may not have, and what follows from it.
struct Finding {
  std::string name;
  bool is_present = false;
  std::string detail;
  std::string without_it;
};

Finding nvrtc() {
  Finding finding{"nvrtc", false, "", "kernels are emitted as source, not compiled"};
  auto library = toolchain::Nvrtc::find();
  finding.is_present = library.has_value();
  finding.detail = library ? library->version_text() + ", " + library->path() : library.error().message;
  return finding;
}

Finding program(const std::string& name, std::string without_it) {
  auto path = os::find_program(name);
  return {name, path.has_value(), path.value_or("not on PATH"), std::move(without_it)};
}

Finding gpu() {
  Finding finding{"gpu", false, "", "kernels run on the emulator; times are estimates"};
  auto driver = runner::cuda::Driver::find();
  if (!driver) {
    finding.detail = driver.error().message;
    return finding;
  }
  auto device = runner::Gpu::open(*driver);
  if (!device) {
    finding.detail = device.error().error.message;
    return finding;
  }
  const runner::DeviceInfo& info = (*device)->info();
  finding.is_present = true;
  finding.detail = fmt::format("{}, compute capability {}.{}, {} multiprocessors, driver for CUDA {}.{}", info.name,
                               info.compute_major, info.compute_minor, info.multiprocessors, info.driver_version / 1000,
                               info.driver_version % 1000 / 10);
  return finding;
}

Finding data() {
  auto folder = os::data_folder();
  return {"data", folder.has_value(), folder ? *folder : folder.error().message,
          "`explain`, the shipped kernels and tasks are not found"};
}

}  // namespace

ExitCode doctor_command(const Options& options) {
  const Finding findings[] = {data(), nvrtc(), program("nvcc", "NVRTC alone compiles"),
                              program("cuobjdump", "`emit --to=sass` is not possible"), gpu()};
  if (options.format == Format::Json) {
    json::Array list;
    for (const Finding& f : findings) {
      list.push_back(json::Object{
          {"name", f.name}, {"present", f.is_present}, {"detail", f.detail}, {"without_it", f.without_it}});
    }
    print_json(json::Object{{"schema", "tw.doctor/1"}, {"version", version_text()}, {"findings", std::move(list)}});
    return ExitCode::Good;
  }
  std::string text = version_text() + "\n";
  for (const Finding& f : findings) {
    text += fmt::format("{:<10} {:<4} {}\n", f.name, f.is_present ? "yes" : "no", f.detail);
    if (!f.is_present) {
      text += fmt::format("{:<10}      without it: {}\n", "", f.without_it);
    }
  }
  print_result(text);
  return ExitCode::Good;
}

}  // namespace tw::cli
