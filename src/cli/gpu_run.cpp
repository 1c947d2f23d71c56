// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_run.h"

#include <fmt/format.h>

#include "cli/compile_one.h"
#include "cli/output.h"
#include "eval/gpu_evaluation.h"
#include "targets/cuda/emit.h"

namespace tw::cli {
namespace {

json::Object timing_json(const runner::Timing& t) {
  return {{"ms", t.median_ms}, {"ms_low", t.low_ms}, {"ms_high", t.high_ms}, {"samples", t.samples}};
}

}  // namespace

ExitCode run_on_gpu(driver::Session& session, const driver::CompiledKernel& kernel, const task::Task& task,
                    const Options& options) {
  auto driver = runner::cuda::Driver::find();
  if (!driver) {
    print_error(diag::codes::EnvironmentMissing::kInfo, driver.error(), options);
    return ExitCode::Environment;
  }
  auto gpu = runner::Gpu::open(*driver);
  if (!gpu) {
    print_error(diag::codes::EnvironmentMissing::kInfo, gpu.error().error, options);
    return ExitCode::Environment;
  }
  auto source = targets::cuda::emit(kernel.lowered, {&session.sources, false});
  if (!source) {
    print_error(diag::codes::RunNotPossible::kInfo, source.error(), options);
    return ExitCode::Internal;
  }
  MachineCode machine = compile_cuda(session, kernel, *source, toolchain::Output::Cubin, options);
  if (!machine.code) {
    return machine.exit_code;
  }
  auto measured = eval::measure_on_gpu(**gpu, kernel.lowered, machine.code->image, task, options.seed.value_or(1));
  if (!measured) {
    print_error(diag::codes::RunNotPossible::kInfo, measured.error(), options);
    return ExitCode::NotGood;
  }
  const bool is_correct = measured->evaluation.is_correct();
  if (options.format == Format::Json) {
    json::Object out{{"schema", "tw.run/1"},
                     {"file", options.files.front()},
                     {"kernel", kernel.name},
                     {"ir_hash", kernel.ir_hash},
                     {"task", task.name},
                     {"on", "gpu"},
                     {"device", measured->device},
                     {"isolation", runner::kIsolation},
                     {"evaluation", measured->evaluation.to_json()}};
    if (measured->timing) {
      out.set("shape", measured->shape);
      out.set("timing", timing_json(*measured->timing));
      out.set("operations", measured->operations);
      out.set("least_bytes", measured->least_bytes);
    }
    if (measured->cublas) {
      out.set("cublas", timing_json(*measured->cublas));
      out.set("cublas_version", measured->cublas_version);
    }
    if (measured->copy) {
      out.set("copy", timing_json(*measured->copy));
    }
    print_json(std::move(out));
    return is_correct ? ExitCode::Good : ExitCode::NotGood;
  }
  std::string text =
      fmt::format("{} on {} (no isolation): {}\n", kernel.name, measured->device, measured->evaluation.describe());
  if (measured->timing) {
    const runner::Timing& t = *measured->timing;
    text += fmt::format("{}: {:.4f} ms [{:.4f}, {:.4f}], {:.1f} TFLOP/s, {:.2f} TB/s of necessary traffic\n",
                        measured->shape, t.median_ms, t.low_ms, t.high_ms, measured->operations / t.median_ms * 1e-9,
                        measured->least_bytes / t.median_ms * 1e-9);
  }
  if (measured->cublas) {
    text += fmt::format("cuBLAS {}: {:.4f} ms, so {:.2f} of its speed\n", measured->cublas_version,
                        measured->cublas->median_ms, measured->cublas->median_ms / measured->timing->median_ms);
  }
  if (measured->copy) {
    text += fmt::format("a device copy of as many bytes: {:.4f} ms\n", measured->copy->median_ms);
  }
  print_result(text);
  return is_correct ? ExitCode::Good : ExitCode::NotGood;
}

}  // namespace tw::cli
