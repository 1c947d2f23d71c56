// SPDX-License-Identifier: Apache-2.0
#include "toolchain/resources.h"

#include <gtest/gtest.h>

namespace tw::toolchain {
namespace {

TEST(ResourceLog, ReadsEveryKernel) {
  const auto reports = parse_resource_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'spill' for 'sm_80'\n"
      "ptxas info    : Function properties for spill\n"
      "ptxas         .     1424 bytes stack frame, 1784 bytes spill stores, 3492 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 1424 bytes cumulative stack size, 372 bytes cmem[0]\n"
      "ptxas info    : Compile time = 126.583 ms\n"
      "ptxas info    : Compiling entry function 'add' for 'sm_80'\n"
      "ptxas info    : Function properties for add\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem, 372 bytes cmem[0]\n");
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].kernel, "spill");
  EXPECT_EQ(reports[0].registers, 32);
  EXPECT_EQ(reports[0].stack_bytes, 1424);
  EXPECT_EQ(reports[0].spill_store_bytes, 1784);
  EXPECT_EQ(reports[0].spill_load_bytes, 3492);
  EXPECT_EQ(reports[0].shared_static_bytes, 0);
  EXPECT_EQ(reports[0].const_bytes, 372);
  EXPECT_TRUE(reports[0].has_spills());
  EXPECT_EQ(reports[1].kernel, "add");
  EXPECT_EQ(reports[1].registers, 10);
  EXPECT_EQ(reports[1].shared_static_bytes, 1024);
  EXPECT_FALSE(reports[1].has_spills());
}

TEST(ResourceReport, AsJson) {
  ResourceReport report;
  report.kernel = "k";
  report.registers = 32;
  report.spill_load_bytes = 8;
  EXPECT_EQ(json::write(to_json(report)),
            R"({"kernel":"k","registers":32,"spill_store_bytes":0,"spill_load_bytes":8,"stack_bytes":0,)"
            R"("shared_static_bytes":0,"const_bytes":0})");
}

TEST(ResourceLog, SpillsOfCalledFunctionsCount) {
  const auto reports = parse_resource_log(
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Function properties for helper\n"
      "    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 24 registers, 24 bytes cumulative stack size\n");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].spill_store_bytes, 4);
  EXPECT_EQ(reports[0].spill_load_bytes, 12);
  EXPECT_EQ(reports[0].stack_bytes, 24);
}

TEST(Cubin, AnythingElseIsRefused) {
  EXPECT_FALSE(inspect_cubin(""));
  EXPECT_FALSE(
      inspect_cubin("\x7f"
                    "ELF"));
  EXPECT_FALSE(inspect_cubin(std::string(4096, '\0')));
  // An ELF file of another machine: the header of an x86 program.
  std::string header(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  header.resize(64, '\0');
  header[18] = 62;
  EXPECT_FALSE(inspect_cubin(header));
}

}  // namespace
}  // namespace tw::toolchain
