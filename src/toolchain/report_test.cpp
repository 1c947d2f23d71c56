// SPDX-License-Identifier: Apache-2.0
#include "toolchain/report.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/files.h"
#include "toolchain/sass.h"

namespace tw::toolchain {
namespace {

TEST(Resources, LimitsOfTheMachine) {
  const target::Machine* machine = target::find_machine("sm_80");
  ASSERT_NE(machine, nullptr);
  ResourceReport report;
  report.kernel = "k";
  report.registers = 168;
  EXPECT_TRUE(check_resources(report, *machine, 256, 64 * 1024).empty());
  // 168 registers * 32 threads = 21 * 256 a warp; 16 warps need 86016 of 65536.
  const auto registers = check_resources(report, *machine, 512, 0);
  ASSERT_EQ(registers.size(), 1U);
  EXPECT_EQ(registers[0].resource, "registers a block");
  EXPECT_EQ(registers[0].needed, 86016);
  EXPECT_EQ(registers[0].available, machine->registers_per_sm);
  report.shared_static_bytes = 1024;
  const auto shared = check_resources(report, *machine, 256, machine->max_shared_bytes_per_block);
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared[0].needed, machine->max_shared_bytes_per_block + 1024);
  report.registers = 16;
  report.shared_static_bytes = 0;
  EXPECT_EQ(check_resources(report, *machine, 2048, 0).at(0).resource, "threads a block");
}

TEST(Reports, FailureKindsHaveTheirCodes) {
  const auto code_of = [](CompileFailureKind kind) {
    diag::Sink sink;
    CompileFailure failure;
    failure.kind = kind;
    failure.error = {"it failed", {"a cause"}};
    failure.messages.push_back({MessageSeverity::Error, "frontend", 3, 10, 0, "", "something is undefined"});
    static_cast<void>(report_compile_failure(sink, {}, "gemm", failure));
    EXPECT_EQ(sink.error_count(), 1);
    const diag::Diagnostic& diagnostic = sink.diagnostics().front();
    EXPECT_NE(diagnostic.message().find("`gemm`"), std::string::npos);
    EXPECT_EQ(diagnostic.notes.size(), 2U);
    EXPECT_EQ(diagnostic.notes.front().text, "line 3, column 10 of the CUDA source: something is undefined");
    return diagnostic.code->number;
  };
  EXPECT_EQ(code_of(CompileFailureKind::Environment), diag::codes::CompilerUnusable::kInfo.number);
  EXPECT_EQ(code_of(CompileFailureKind::Rejected), diag::codes::SourceRejected::kInfo.number);
  EXPECT_EQ(code_of(CompileFailureKind::Internal), diag::codes::CompilerBroken::kInfo.number);
}

TEST(Reports, SpillsAreAWarningUnlessForbidden) {
  diag::Sink sink;
  ResourceReport report;
  report.kernel = "k";
  report.registers = 32;
  EXPECT_TRUE(report_spills(sink, {}, "sm_80", report, true));
  EXPECT_TRUE(sink.diagnostics().empty());
  report.spill_store_bytes = 8;
  report.spill_load_bytes = 16;
  EXPECT_TRUE(report_spills(sink, {}, "sm_80", report, false));
  ASSERT_EQ(sink.diagnostics().size(), 1U);
  EXPECT_EQ(sink.error_count(), 0);
  EXPECT_EQ(sink.diagnostics()[0].code, &diag::codes::KernelSpills::kInfo);
  EXPECT_EQ(sink.diagnostics()[0].message(),
            "`k` spills for sm_80: 8 bytes stored and 16 bytes loaded a thread, with 32 registers");
  EXPECT_FALSE(report_spills(sink, {}, "sm_80", report, true));
  EXPECT_EQ(sink.error_count(), 1);
  EXPECT_EQ(sink.diagnostics()[1].code, &diag::codes::SpillsForbidden::kInfo);
}

TEST(Reports, WhatTheMachineLacks) {
  diag::Sink sink;
  static_cast<void>(report_no_compiler(sink, {"no CUDA compiler on this machine", {"a", "b"}}));
  static_cast<void>(report_no_disassembler(sink, {"no disassembler for GPU code on this machine", {}}));
  report_cache_error(sink, "/cache", {"cannot write `/cache/ab/x.kernel`", {"no space left"}});
  const target::Machine& machine = *target::find_machine("sm_80");
  static_cast<void>(report_resource_violation(sink, {}, "k", machine, {"registers a block", 86016, 65536}));
  ASSERT_EQ(sink.diagnostics().size(), 4U);
  EXPECT_EQ(sink.error_count(), 3);
  EXPECT_EQ(sink.diagnostics()[0].code, &diag::codes::CompilerMissing::kInfo);
  EXPECT_EQ(sink.diagnostics()[0].notes.size(), 3U);
  EXPECT_EQ(sink.diagnostics()[1].code, &diag::codes::DisassemblerMissing::kInfo);
  EXPECT_EQ(sink.diagnostics()[2].code, &diag::codes::CacheUnusable::kInfo);
  EXPECT_EQ(sink.diagnostics()[3].code, &diag::codes::ResourceLimit::kInfo);
  EXPECT_EQ(sink.diagnostics()[3].message(), "`k` needs 86016 registers a block; sm_80 has 65536");
}

TEST(Reports, ManyMessagesAreFolded) {
  diag::Sink sink;
  CompileFailure failure;
  failure.kind = CompileFailureKind::Rejected;
  failure.messages.resize(20);
  static_cast<void>(report_compile_failure(sink, {}, "k", failure));
  EXPECT_EQ(sink.diagnostics().front().notes.size(), 9U);
  EXPECT_EQ(sink.diagnostics().front().notes.back().text, "and 12 more messages");
}

class Disassembler : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TILEWRIGHT_DISASSEMBLER"); }
  std::string script(const std::string& name, const std::string& body) {
    const std::string path = os::join_path(folder_.path(), name);
    EXPECT_TRUE(os::write_file_atomic(path, "#!/bin/sh\n" + body));
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    setenv("TILEWRIGHT_DISASSEMBLER", path.c_str(), 1);
    return path;
  }
  os::TempFolder folder_ = *os::TempFolder::make("tw-sass-test-");
};

TEST_F(Disassembler, OutputOfTheChosenProgram) {
  script("nvdisasm", "echo \"$1\"; cat \"$2\"\n");
  const auto nvdisasm = disassemble("bytes of a cubin");
  ASSERT_TRUE(nvdisasm);
  EXPECT_EQ(nvdisasm->text, "-c\nbytes of a cubin");
  script("cuobjdump", "echo \"$1\"\n");
  const auto cuobjdump = disassemble("x");
  ASSERT_TRUE(cuobjdump);
  EXPECT_EQ(cuobjdump->text, "-sass\n");
}

TEST_F(Disassembler, FailureCarriesWhatTheProgramSaid) {
  script("nvdisasm", "echo 'not a cubin' >&2; exit 3\n");
  const auto result = disassemble("x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().causes.at(0), "not a cubin");
}

TEST_F(Disassembler, MissingProgramIsAnError) {
  setenv("TILEWRIGHT_DISASSEMBLER", "/no/such/nvdisasm", 1);
  EXPECT_FALSE(disassemble("x"));
}

}  // namespace
}  // namespace tw::toolchain
