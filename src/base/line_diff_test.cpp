// SPDX-License-Identifier: Apache-2.0
#include "base/line_diff.h"

#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <vector>

namespace tw {
namespace {

TEST(LineDiff, equal_texts_have_none) {
  EXPECT_EQ(unified_diff("a", "b", "x\n", "x\n"), "");
}

TEST(LineDiff, an_inserted_line_with_its_context) {
  EXPECT_EQ(unified_diff("a", "b", "1\n2\n3\n4\n5\n", "1\n2\n3\nnew\n4\n5\n", 1),
            "--- a\n+++ b\n@@ -3,2 +3,3 @@\n 3\n+new\n 4\n");
}

TEST(LineDiff, near_changes_share_a_hunk_and_far_ones_do_not) {
  std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  EXPECT_EQ(unified_diff("a", "b", before, "1\nX\n3\nY\n5\n6\n7\n8\nZ\n", 1),
            "--- a\n+++ b\n@@ -1,5 +1,5 @@\n 1\n-2\n+X\n 3\n-4\n+Y\n 5\n@@ -8,2 +8,2 @@\n 8\n-9\n+Z\n");
}

TEST(LineDiff, a_missing_last_line_end_is_a_difference) {
  EXPECT_EQ(unified_diff("a", "b", "x\n", "x"), "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff("a", "b", "", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
}

// Applies the hunks to `before`; the independent reading of the format.
std::string patched(const std::string& before, const std::string& diff) {
  std::vector<std::string> lines;
  std::istringstream in(before);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line + "\n");
  }
  std::string out;
  size_t next = 0;
  std::istringstream hunks(diff);
  for (std::string line; std::getline(hunks, line);) {
    if (line.starts_with("---") || line.starts_with("+++")) {
      continue;
    }
    if (line.starts_with("@@")) {
      size_t start = std::stoul(line.substr(4));
      bool is_empty_range = line.substr(4, line.find(" +") - 4).ends_with(",0");
      size_t target = is_empty_range ? start : start - 1;
      while (next < target) {
        out += lines[next++];
      }
    } else if (line[0] == '+') {
      out += line.substr(1) + "\n";
    } else {
      EXPECT_LT(next, lines.size());
      EXPECT_EQ(lines[next], line.substr(1) + "\n");
      if (line[0] == ' ') {
        out += lines[next];
      }
      ++next;
    }
  }
  while (next < lines.size()) {
    out += lines[next++];
  }
  return out;
}

TEST(LineDiff, applying_the_diff_gives_the_second_text) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    auto text = [&] {
      std::string out;
      for (unsigned lines = random() % 20; lines > 0; --lines) {
        out += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
      }
      return out;
    };
    std::string before = text();
    std::string after = text();
    int context = static_cast<int>(random() % 4);
    EXPECT_EQ(patched(before, unified_diff("a", "b", before, after, context)), after) << before << "---\n" << after;
  }
}

}  // namespace
}  // namespace tw
