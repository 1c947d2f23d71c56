// SPDX-License-Identifier: Apache-2.0
// The pages of this room's codes and of the parser's: the failing program reports exactly its code, the neighbour
// nothing. (tests/docs runs the same blocks through the built program.)
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "diag/codes.h"
#include "sema/testing.h"

namespace tw::sema {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Page : public testing::TestWithParam<int> {};

TEST_P(Page, shows_its_code_and_an_accepted_neighbour) {
  const int number = GetParam();
  const std::string page = read_file(fmt::format("{}/docs/diagnostics/TW{:04d}.md", TW_SOURCE_DIR, number));
  const std::vector<std::string> failing = fenced_blocks(page, "python fail");
  const std::vector<std::string> accepted = fenced_blocks(page, "python ok");
  if (failing.empty()) {
    EXPECT_EQ(fenced_blocks(page, "console").size(), 1U);
    return;
  }
  ASSERT_EQ(accepted.size(), 1U);
  auto failed = lower_text(failing[0]);
  if (number == 19) {
    EXPECT_EQ(failed->codes().back(), 19);
  } else {
    EXPECT_THAT(failed->codes(), testing::ElementsAre(number)) << failed->messages();
  }
  auto good = lower_text(accepted[0]);
  EXPECT_THAT(good->codes(), testing::IsEmpty()) << good->messages() << accepted[0];
  EXPECT_FALSE(good->functions.empty());
  if (failed->fixed() != failing[0]) {
    auto fixed = lower_text(failed->fixed());
    EXPECT_THAT(fixed->codes(), testing::Not(testing::Contains(number))) << failed->fixed();
  }
}

std::vector<int> own_codes() {
  std::vector<int> out;
  for (const diag::CodeInfo& code : diag::all_codes()) {
    if (code.number < 2000) {
      out.push_back(code.number);
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Codes, Page, testing::ValuesIn(own_codes()),
                         [](const auto& info) { return fmt::format("TW{:04d}", info.param); });

}  // namespace
}  // namespace tw::sema
