// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/emit.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>

#include "passes/pass.h"
#include "passes/test_programs.h"

namespace tw::targets::cuda {
namespace {

using passes::testing::GemmOptions;

std::string emit_lowered(const ir::Function& source) {
  diag::Sink sink;
  auto lowered = passes::lower(source, sink);
  for (const diag::Diagnostic& d : sink.diagnostics()) {
    ADD_FAILURE() << d.message();
  }
  if (!lowered) {
    return {};
  }
  auto text = emit(*lowered);
  EXPECT_TRUE(text) << (text ? "" : text.error().message);
  return text ? *text : std::string();
}

struct Compiled {
  bool is_skipped = false;
  int exit_code = -1;
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
  std::string log;
};

// Runs nvcc where there is one; these tests say so when there is none.
Compiled compile(const std::string& name, const std::string& text, const std::string& arch, bool with_host = false) {
  Compiled out;
  const char* nvcc =
      std::filesystem::exists("/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda/bin/nvcc" : std::getenv("TW_NVCC");
  if (nvcc == nullptr) {
    out.is_skipped = true;
    return out;
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tw_emit_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string source = (folder / (name + "_" + arch + ".cu")).string();
  const std::string log = source + ".log";
  std::ofstream(source) << text;
  const std::string command = std::string(nvcc) + " -arch=" + arch + (with_host ? " -c" : " -cubin") +
                              " -Xptxas -v -o " + source + ".out " + source + " > " + log + " 2>&1";
  out.exit_code = std::system(command.c_str());
  std::ifstream in(log);
  out.log.assign(std::istreambuf_iterator<char>(in), {});
  std::smatch match;
  if (std::regex_search(out.log, match, std::regex("Used ([0-9]+) registers"))) {
    out.registers = std::stoi(match[1]);
  }
  if (std::regex_search(out.log, match, std::regex("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores"))) {
    out.stack_bytes = std::stoi(match[1]);
    out.spill_bytes = std::stoi(match[2]);
  }
  if (std::getenv("TW_KEEP") == nullptr) {
    std::filesystem::remove_all(folder);
  }
  return out;
}

void expect_compiles(const std::string& name, const ir::Function& source, int64_t max_spill_bytes = 0) {
  const std::string text = emit_lowered(source);
  ASSERT_FALSE(text.empty());
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const Compiled compiled = compile(name, text, arch);
    if (compiled.is_skipped) {
      GTEST_SKIP() << "no nvcc on this machine";
    }
    EXPECT_EQ(compiled.exit_code, 0) << compiled.log << text;
    EXPECT_LE(compiled.spill_bytes, max_spill_bytes) << compiled.log;
    if (max_spill_bytes == 0) {
      EXPECT_EQ(compiled.stack_bytes, 0) << compiled.log;
    }
  }
}

TEST(Emit, gemm_straight_from_global_memory) {
  GemmOptions o;
  o.stages = 0;
  o.bm = 64;
  o.bn = 64;
  o.bk = 16;
  o.has_assumption = false;
  expect_compiles("gemm_global", passes::testing::gemm(o));
}

TEST(Emit, gemm_with_fma) {
  GemmOptions o;
  o.stages = 1;
  o.bm = 64;
  o.bn = 64;
  o.bk = 16;
  o.element = ElementType::F32;
  o.swizzle_bytes = 0;
  o.pad = 4;
  o.atom = "fma";
  // ptxas prefers more warps an SM to the last 32 bytes in registers here.
  expect_compiles("gemm_fma", passes::testing::gemm(o), 64);
}

TEST(Emit, gemm_pipelined) {
  expect_compiles("gemm_pipelined", passes::testing::gemm({}));
}

TEST(Emit, gemm_with_transposed_operand) {
  GemmOptions o;
  o.is_b_k_major = true;
  o.swizzle_bytes = 0;
  o.pad = 8;
  expect_compiles("gemm_nn", passes::testing::gemm(o));
}

TEST(Emit, gemm_tf32_persistent_grouped) {
  GemmOptions o;
  o.element = ElementType::Tf32;
  o.atom = "mma_m16n8k8";
  o.swizzle_bytes = 128;
  o.is_persistent = true;
  o.raster_group = 4;
  expect_compiles("gemm_tf32", passes::testing::gemm(o));
}

TEST(Emit, softmax_in_one_warp_a_row) {
  expect_compiles("softmax_warp", passes::testing::softmax(4, 1024, 128));
}

TEST(Emit, softmax_across_warps) {
  expect_compiles("softmax_block", passes::testing::softmax(1, 4096, 256));
}

TEST(Emit, element_wise_aligned_and_not) {
  expect_compiles("add_one", passes::testing::add_one(4096, 256, true));
  expect_compiles("add_one_any", passes::testing::add_one(1024, 256, false));
}

TEST(Emit, launcher_compiles_with_the_run_time_header) {
  const Compiled compiled = compile("launcher", emit_lowered(passes::testing::gemm({})), "sm_80", true);
  if (compiled.is_skipped) {
    GTEST_SKIP() << "no nvcc on this machine";
  }
  EXPECT_EQ(compiled.exit_code, 0) << compiled.log;
}

TEST(Emit, parameters_may_have_the_names_of_our_own_variables) {
  ir::Function source = passes::testing::add_one(1024, 256, false);
  source.tensors[0].name = "q";
  source.tensors[1].name = "a";
  const std::string text = emit_lowered(source);
  const Compiled compiled = compile("names", text, "sm_80", true);
  if (compiled.is_skipped) {
    GTEST_SKIP() << "no nvcc on this machine";
  }
  EXPECT_EQ(compiled.exit_code, 0) << compiled.log << text;
}

TEST(Emit, fills_are_literal_bits) {
  const std::string text = emit_lowered(passes::testing::add_one(1024, 256, true));
  EXPECT_NE(text.find("uint4 q = {0, 0, 0, 0};"), std::string::npos) << text;
}

TEST(Emit, device_part_includes_nothing) {
  const std::string text = emit_lowered(passes::testing::gemm({}));
  EXPECT_EQ(text.substr(0, text.find("#ifndef __CUDACC_RTC__")).find("#include"), std::string::npos);
}

TEST(Emit, refuses_what_is_not_lowered) {
  auto text = emit(passes::testing::gemm({}));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "the function is not lowered");
}

}  // namespace
}  // namespace tw::targets::cuda
