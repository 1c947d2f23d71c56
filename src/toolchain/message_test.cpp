// SPDX-License-Identifier: Apache-2.0
#include "toolchain/message.h"

#include <gtest/gtest.h>

namespace tw::toolchain {
namespace {

// The logs are what NVRTC 13.0.88 printed.

TEST(CompilerLog, FrontEndMessagesHaveLineAndColumn) {
  const auto messages = parse_compiler_log(
      "kernel.cu(3): error: identifier \"undefined_name\" is undefined\n"
      "    a[0] = undefined_name;\n"
      "           ^\n"
      "\n"
      "kernel.cu(5): error: expected a \";\"\n"
      "  }\n"
      "  ^\n"
      "\n"
      "kernel.cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n"
      "    int unused;\n"
      "        ^\n"
      "\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
      "\n"
      "2 errors detected in the compilation of \"kernel.cu\".\n");
  ASSERT_EQ(messages.size(), 3U);
  const CompilerMessage undefined{
      MessageSeverity::Error, "frontend", 3, 10, 0, "", "identifier \"undefined_name\" is undefined"};
  EXPECT_EQ(messages[0], undefined);
  EXPECT_EQ(messages[1].line, 5);
  EXPECT_EQ(messages[1].column, 1);
  EXPECT_EQ(messages[1].text, "expected a \";\"");
  EXPECT_EQ(messages[2].severity, MessageSeverity::Warning);
  EXPECT_EQ(messages[2].number, "177-D");
  EXPECT_EQ(messages[2].column, 7);
}

TEST(CompilerLog, CatastrophicErrorIsAnError) {
  const auto messages = parse_compiler_log(
      "kernel.cu(4): catastrophic error: #error directive: \"hello\"\n"
      "  #error \"hello\"\n"
      "   ^\n"
      "\n"
      " and 1 catastrophic error detected in the compilation of \"kernel.cu\".\n"
      "Compilation terminated.\n");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].severity, MessageSeverity::Error);
  EXPECT_EQ(messages[0].text, "#error directive: \"hello\"");
  EXPECT_EQ(messages[0].line, 4);
  EXPECT_EQ(messages[0].column, 2);
}

TEST(CompilerLog, TextMayTakeSeveralLines) {
  const auto messages = parse_compiler_log(
      "/tmp/x/k.cu(7): error: no instance of function template \"f\" matches the argument list\n"
      "            argument types are: (int *)\n"
      "    f(p);\n"
      "    ^\n");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].text,
            "no instance of function template \"f\" matches the argument list argument types are: (int *)");
  EXPECT_EQ(messages[0].column, 3);
}

TEST(CompilerLog, ToolMessages) {
  const auto messages = parse_compiler_log(
      "nvrtc: error: unrecognized option --bogus found\n"
      "ptxas application ptx input, line 30; error   : Feature 'x' requires .target sm_90 or higher\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n"
      "ptxas warning : Registers are spilled to local memory in function 'f', 8 bytes spill stores, 8 bytes spill "
      "loads\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
      "nvcc fatal   : Unsupported gpu architecture 'sm_999'\n");
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages[0].stage, "driver");
  EXPECT_EQ(messages[0].text, "unrecognized option --bogus found");
  EXPECT_EQ(messages[1].stage, "ptxas");
  EXPECT_EQ(messages[1].ptx_line, 30);
  EXPECT_EQ(messages[1].line, 0);
  EXPECT_EQ(messages[1].text, "Feature 'x' requires .target sm_90 or higher");
  EXPECT_EQ(messages[2].severity, MessageSeverity::Error);
  EXPECT_EQ(messages[3].severity, MessageSeverity::Warning);
  EXPECT_EQ(messages[4].severity, MessageSeverity::Info);
  EXPECT_EQ(messages[4].number, "C7510");
  EXPECT_EQ(messages[4].text, "Potential Performance Loss: wgmma.mma_async instructions are serialized");
  EXPECT_EQ(messages[5].severity, MessageSeverity::Error);
  EXPECT_EQ(messages[5].stage, "driver");
}

TEST(CompilerLog, ResourceLinesAreNoMessages) {
  EXPECT_TRUE(parse_compiler_log("ptxas info    : 0 bytes gmem\n"
                                 "ptxas info    : Compiling entry function 'add' for 'sm_80'\n"
                                 "ptxas info    : Function properties for add\n"
                                 "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                 "ptxas info    : Used 10 registers, used 1 barriers, 372 bytes cmem[0]\n")
                  .empty());
  EXPECT_TRUE(parse_compiler_log("").empty());
}

TEST(CompilerLog, OddInputGivesNoMessages) {
  for (const char* text : {"(", "a(1): ", "(1): error: x", "a(x): error: y", "ptxas ", "ptxas a, line 3", "\n\n\n",
                           "a(99999999999): error: z", "ptxas info : (C75"}) {
    EXPECT_TRUE(parse_compiler_log(text).empty()) << text;
  }
}

TEST(PtxPlaces, NearestLocDirectiveBefore) {
  const char* ptx =
      "// header\n"
      ".visible .entry f(\n"
      "\t.param .u64 f_param_0\n"
      ")\n"
      "{\n"
      "\t.loc\t1 4 3\n"
      "\tmov.u32 %r1, 1;\n"
      "\t.loc\t1 9 12, function_name $L, inlined_at 1 4 3\n"
      "\tbad.u32 %r1;\n"
      "}\n";
  std::vector<CompilerMessage> messages(3);
  messages[0].ptx_line = 9;
  messages[1].ptx_line = 7;
  messages[2].ptx_line = 3;
  locate_ptxas_messages(messages, ptx);
  EXPECT_EQ(messages[0].line, 9);
  EXPECT_EQ(messages[0].column, 12);
  EXPECT_EQ(messages[1].line, 4);
  EXPECT_EQ(messages[2].line, 0);
}

}  // namespace
}  // namespace tw::toolchain
