// SPDX-License-Identifier: Apache-2.0
#include "toolchain/report.h"

#include <fmt/format.h>

namespace tw::toolchain {

namespace {

// ptxas hands out registers to warps in units of 256.
int64_t registers_per_block(int64_t registers_per_thread, int64_t threads, int64_t warp_threads) {
  constexpr int64_t kUnit = 256;
  const int64_t warps = (threads + warp_threads - 1) / warp_threads;
  const int64_t per_warp = (registers_per_thread * warp_threads + kUnit - 1) / kUnit * kUnit;
  return warps * per_warp;
}

std::string describe(const CompilerMessage& message) {
  std::string place;
  if (message.line > 0) {
    place = message.column > 0 ? fmt::format("line {}, column {} of the CUDA source: ", message.line, message.column)
                               : fmt::format("line {} of the CUDA source: ", message.line);
  } else if (message.ptx_line > 0) {
    place = fmt::format("line {} of the PTX: ", message.ptx_line);
  }
  return place + message.text;
}

}  // namespace

std::vector<ResourceViolation> check_resources(const ResourceReport& report, const target::Machine& machine,
                                               int64_t threads, int64_t shared_dynamic_bytes) {
  std::vector<ResourceViolation> violations;
  const auto require = [&](const char* resource, int64_t needed, int64_t available) {
    if (needed > available) {
      violations.push_back({resource, needed, available});
    }
  };
  require("threads a block", threads, machine.max_threads_per_block);
  require("registers a thread", report.registers, machine.max_registers_per_thread);
  require("registers a block", registers_per_block(report.registers, threads, machine.warp_threads),
          machine.registers_per_sm);
  require("shared memory bytes a block", report.shared_static_bytes + shared_dynamic_bytes,
          machine.max_shared_bytes_per_block);
  return violations;
}

diag::Reported report_compile_failure(diag::Sink& sink, diag::Span span, std::string_view kernel,
                                      const CompileFailure& failure) {
  const auto add_notes = [&](diag::Builder& builder) {
    constexpr size_t kMaxMessages = 8;
    for (size_t i = 0; i < failure.messages.size() && i < kMaxMessages; ++i) {
      builder.note(describe(failure.messages[i]));
    }
    if (failure.messages.size() > kMaxMessages) {
      builder.note(fmt::format("and {} more messages", failure.messages.size() - kMaxMessages));
    }
    for (const std::string& cause : failure.error.causes) {
      builder.note(cause);
    }
  };
  if (failure.kind == CompileFailureKind::Environment) {
    auto builder = sink.report(diag::codes::CompilerUnusable{}, span, kernel, failure.error.message);
    add_notes(builder);
    return builder.emit();
  }
  if (failure.kind == CompileFailureKind::Rejected) {
    auto builder = sink.report(diag::codes::SourceRejected{}, span, kernel, failure.error.message);
    add_notes(builder);
    return builder.emit();
  }
  auto builder = sink.report(diag::codes::CompilerBroken{}, span, kernel, failure.error.message);
  add_notes(builder);
  return builder.emit();
}

diag::Reported report_no_compiler(diag::Sink& sink, const Error& error) {
  auto builder = sink.report(diag::codes::CompilerMissing{}, diag::Span{}, error.message);
  for (const std::string& cause : error.causes) {
    builder.note(cause);
  }
  builder.note(
      "`scripts/setup.sh` installs NVRTC from a package; `TILEWRIGHT_NVRTC` names a library or the folder that holds "
      "it");
  return builder.emit();
}

diag::Reported report_no_disassembler(diag::Sink& sink, const Error& error) {
  auto builder = sink.report(diag::codes::DisassemblerMissing{}, diag::Span{}, error.message);
  for (const std::string& cause : error.causes) {
    builder.note(cause);
  }
  builder.note("`TILEWRIGHT_DISASSEMBLER` names `nvdisasm` or `cuobjdump`; `--to=ptx` and `--to=cubin` need neither");
  return builder.emit();
}

diag::Reported report_resource_violation(diag::Sink& sink, diag::Span span, std::string_view kernel,
                                         const target::Machine& machine, const ResourceViolation& violation) {
  return sink
      .report(diag::codes::ResourceLimit{}, span, kernel, violation.needed, violation.resource, machine.name,
              violation.available)
      .emit();
}

bool report_spills(diag::Sink& sink, diag::Span span, std::string_view arch, const ResourceReport& report,
                   bool is_forbidden) {
  if (!report.has_spills()) {
    return true;
  }
  const auto report_as = [&](auto code) {
    static_cast<void>(sink.report(code, span, report.kernel, arch, report.spill_store_bytes, report.spill_load_bytes,
                                  report.registers));
  };
  if (is_forbidden) {
    report_as(diag::codes::SpillsForbidden{});
    return false;
  }
  report_as(diag::codes::KernelSpills{});
  return true;
}

void report_cache_error(diag::Sink& sink, std::string_view folder, const Error& error) {
  auto builder = sink.report(diag::codes::CacheUnusable{}, diag::Span{}, folder, error.message);
  for (const std::string& cause : error.causes) {
    builder.note(cause);
  }
}

}  // namespace tw::toolchain
