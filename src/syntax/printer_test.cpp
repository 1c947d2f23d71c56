// SPDX-License-Identifier: Apache-2.0
#include "syntax/printer.h"

#include <gtest/gtest.h>

#include "diag/sink.h"
#include "syntax/parser.h"

namespace tw::syntax {
namespace {

std::string reprint(std::string text) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto module = parse(sources, sources.add("a.tw.py", std::move(text)), sink);
  EXPECT_TRUE(module) << sink.diagnostics()[0].message();
  return module ? print(*module) : "";
}

TEST(Printer, comments_stay_with_their_statements) {
  const std::string text =
      "# file\n\n@kernel\n# about f\ndef f(a):  # head\n    # first\n    x = 1  # one\n\n    if x:\n        y = 2\n"
      "        # end of then\n    # before else\n    else:  # else\n        pass\n    # end of f\n# end of file\n";
  const std::string expected =
      "# file\n\n# about f\n@kernel\ndef f(a):  # head\n    # first\n    x = 1  # one\n\n    if x:\n        y = 2\n"
      "        # end of then\n    # before else\n    else:  # else\n        pass\n    # end of f\n# end of file\n";
  EXPECT_EQ(reprint(text), expected);
  EXPECT_EQ(reprint(expected), expected);
}

TEST(Printer, parentheses_stand_only_where_needed) {
  EXPECT_EQ(reprint("x = ((a + b)) * (c * d) - (e - f)\n"), "x = (a + b) * (c * d) - (e - f)\n");
  EXPECT_EQ(reprint("x = (not a) == b\n"), "x = (not a) == b\n");
  EXPECT_EQ(reprint("x = (-a) ** b ** c\n"), "x = (-a)**b**c\n");
  EXPECT_EQ(reprint("x = (a if b else c) + (lambda: d)\n"), "x = (a if b else c) + (lambda: d)\n");
  EXPECT_EQ(reprint("(a, (b,)) = ((1, 2), (3,))\n"), "a, (b,) = (1, 2), (3,)\n");
}

TEST(Printer, products_in_an_index_are_tight) {
  EXPECT_EQ(reprint("x = A[bm * BM :+ BM, (k+1) * BK:+BK] * 2\n"), "x = A[bm*BM:+BM, (k + 1)*BK:+BK] * 2\n");
}

TEST(Printer, long_lines_break_after_commas) {
  const std::string text =
      "def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)], BM: const = 128, BN: const = 128, BK: "
      "const = 32, "
      "S: const = 4):\n    pass\n";
  const std::string printed = reprint(text);
  EXPECT_EQ(
      printed,
      "def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)], BM: const = 128, BN: const = 128,\n"
      "         BK: const = 32, S: const = 4):\n    pass\n");
  EXPECT_EQ(reprint(printed), printed);
}

TEST(Printer, made_literals_print_as_python) {
  EXPECT_EQ(print(*make_float(0.5)), "0.5");
  EXPECT_EQ(print(*make_float(2)), "2.0");
  EXPECT_EQ(print(*make_int(-3)), "-3");
  EXPECT_EQ(print(*make_string("a\"b\n")), "\"a\\\"b\\n\"");
  EXPECT_EQ(print(*make_attribute(make_int(3), "T")), "(3).T");
}

}  // namespace
}  // namespace tw::syntax
