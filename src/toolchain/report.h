// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "diag/source.h"
#include "target/machine.h"
#include "toolchain/compile.h"

namespace tw::toolchain {

// One limit of the machine that a kernel goes beyond.
struct ResourceViolation {
  // "registers a block", "shared memory bytes a block", ...
  std::string resource;
  int64_t needed = 0;
  int64_t available = 0;
};

// What a launch with `threads` threads a block and `shared_dynamic_bytes` would need beyond the machine.
std::vector<ResourceViolation> check_resources(const ResourceReport& report, const target::Machine& machine,
                                               int64_t threads, int64_t shared_dynamic_bytes);

// What went wrong as a diagnostic at the place of the program that the kernel comes from. The compiler's own messages
// become notes.
diag::Reported report_compile_failure(diag::Sink& sink, diag::Span span, std::string_view kernel,
                                      const CompileFailure& failure);
diag::Reported report_no_compiler(diag::Sink& sink, const Error& error);
diag::Reported report_no_disassembler(diag::Sink& sink, const Error& error);
diag::Reported report_resource_violation(diag::Sink& sink, diag::Span span, std::string_view kernel,
                                         const target::Machine& machine, const ResourceViolation& violation);
// Reports nothing for a kernel without spills; a warning for one with spills, or an error where the program forbids
// them (`no_spills=True`). False in the last case only.
bool report_spills(diag::Sink& sink, diag::Span span, std::string_view arch, const ResourceReport& report,
                   bool is_forbidden);
void report_cache_error(diag::Sink& sink, std::string_view folder, const Error& error);

}  // namespace tw::toolchain
