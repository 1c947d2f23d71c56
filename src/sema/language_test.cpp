// SPDX-License-Identifier: Apache-2.0
// The table of names, the stub for editors and the reference speak of the same language.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>

#include "base/strings.h"
#include "sema/builtins.h"
#include "sema/testing.h"

namespace tw::sema {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// `def name(`, `class name`, `name: ...` at the top level; names that start with an underscore are the stub's own.
std::set<std::string> names_in_stub() {
  std::set<std::string> out;
  const std::string text = read_file(std::string(TW_SOURCE_DIR) + "/python/tilewright/language.pyi");
  for (std::string_view line : split_lines(text)) {
    for (std::string_view prefix : {"def ", "class "}) {
      if (line.starts_with(prefix)) {
        line.remove_prefix(prefix.size());
        out.insert(std::string(line.substr(0, line.find_first_of("(:[ "))));
        line = "";
      }
    }
    const size_t colon = line.find(": ");
    if (colon != std::string_view::npos && is_word(line.substr(0, colon))) {
      out.insert(std::string(line.substr(0, colon)));
    }
  }
  std::erase_if(out, [](const std::string& name) { return name.starts_with('_'); });
  return out;
}

// Names in backquotes in the tables of the reference's appendix: `| `name` | lowered |`.
std::set<std::string> names_in_reference(bool lowered) {
  std::set<std::string> out;
  const std::string text = read_file(std::string(TW_SOURCE_DIR) + "/docs/language.md");
  for (std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> cells = split(line, '|');
    if (cells.size() < 4 || trim(cells[2]) != (lowered ? "lowered" : "later")) {
      continue;
    }
    const std::vector<std::string_view> parts = split(cells[1], '`');
    for (size_t i = 1; i < parts.size(); i += 2) {
      out.insert(std::string(parts[i]));
    }
  }
  return out;
}

std::set<std::string> names_in_table(bool lowered, bool all = false) {
  std::set<std::string> out;
  for (const Builtin& builtin : builtins()) {
    if (all || builtin.is_lowered == lowered) {
      out.insert(std::string(builtin.name));
    }
  }
  return out;
}

TEST(Language, the_stub_names_exactly_the_builtins) {
  std::set<std::string> expected = names_in_table(true, true);
  // Python's own names need no stub; `const` and `dict` are used as they are.
  for (const char* own : {"bool", "range", "enumerate", "dict", "abs", "max", "min", "any"}) {
    expected.erase(own);
  }
  EXPECT_EQ(names_in_stub(), expected);
}

TEST(Language, the_reference_lists_exactly_the_builtins) {
  EXPECT_EQ(names_in_reference(true), names_in_table(true));
  EXPECT_EQ(names_in_reference(false), names_in_table(false));
}

TEST(Language, every_program_of_the_reference_lowers) {
  const std::string text = read_file(std::string(TW_SOURCE_DIR) + "/docs/language.md");
  std::vector<std::string> programs = fenced_blocks(text, "python ok");
  // What the proof does not decide is a program all the same.
  std::ranges::move(fenced_blocks(text, "python fail TW3090"), std::back_inserter(programs));
  EXPECT_GE(programs.size(), 10U);
  for (const std::string& program : programs) {
    auto lowered = lower_text(program);
    EXPECT_THAT(lowered->codes(), testing::IsEmpty()) << lowered->messages() << program;
  }
}

TEST(Builtins, signatures_say_what_must_be_given) {
  const Builtin* copy = find_builtin("copy");
  ASSERT_NE(copy, nullptr);
  EXPECT_TRUE(copy->parameters[0].is_required);
  EXPECT_FALSE(copy->parameters[0].is_keyword_only);
  EXPECT_TRUE(copy->parameters[2].is_keyword_only);
  EXPECT_TRUE(std::ranges::any_of(copy->parameters, &BuiltinParameter::is_later));
  EXPECT_EQ(find_builtin("no_such_name"), nullptr);
}

}  // namespace
}  // namespace tw::sema
