// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/sink.h"

namespace tw::diag {
namespace {

TEST(SourceManager, position_counts_lines_and_bytes_from_one) {
  SourceManager sources;
  FileId file = sources.add("a.tw.py", "ab\ncd\n");
  EXPECT_EQ(sources.position(file, 0).line, 1U);
  EXPECT_EQ(sources.position(file, 4).line, 2U);
  EXPECT_EQ(sources.position(file, 4).column, 2U);
  EXPECT_EQ(sources.line_text(file, 2), "cd");
}

TEST(Codes, numbers_are_unique) {
  for (size_t i = 1; i < all_codes().size(); ++i) {
    EXPECT_NE(all_codes()[i - 1].number, all_codes()[i].number);
  }
}

TEST(Sink, report_fills_the_template_and_counts_errors) {
  Sink sink;
  {
    auto builder = sink.report(codes::BrokenInvariant{}, Span{}, "x > 0");
  }
  ASSERT_EQ(sink.diagnostics().size(), 1U);
  EXPECT_EQ(sink.diagnostics()[0].message(), "a broken invariant of tilewright: x > 0");
  EXPECT_EQ(sink.error_count(), 1);
}

}  // namespace
}  // namespace tw::diag
