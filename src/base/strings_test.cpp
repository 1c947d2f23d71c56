// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace tw {
namespace {

using Views = std::vector<std::string_view>;

TEST(Strings, split_keeps_empty_parts) {
  EXPECT_EQ(split("a,,b", ','), (Views{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (Views{""}));
  EXPECT_EQ(split_lines("a\r\n\nb\n"), (Views{"a", "", "b"}));
  EXPECT_EQ(split_lines(""), Views{});
}

TEST(Strings, trim_and_replace) {
  EXPECT_EQ(trim(" \ta b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(replace_all("aXbXX", "X", "yy"), "ayybyyyy");
  EXPECT_EQ(indent_lines("a\n\nb\n", "  "), "  a\n\n  b\n");
}

TEST(Strings, numbers_are_read_whole_or_not_at_all) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_int("12a"), std::nullopt);
  EXPECT_EQ(parse_int(" 12"), std::nullopt);
  EXPECT_EQ(parse_int("+1"), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
  EXPECT_EQ(parse_uint("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_uint("-1"), std::nullopt);
  EXPECT_EQ(parse_double("2.5e3"), 2500.0);
  EXPECT_EQ(parse_double("2.5x"), std::nullopt);
}

TEST(Strings, utf8_is_checked_strictly) {
  EXPECT_TRUE(is_utf8("aé€😀"));
  for (const char* bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x82", "\xff"}) {
    EXPECT_FALSE(is_utf8(bad));
    EXPECT_TRUE(is_utf8(sanitize_utf8(bad)));
  }
  EXPECT_EQ(display_width("é€"), 2U);
}

TEST(Strings, shell_words_survive_a_shell) {
  EXPECT_EQ(shell_quote("--param=N=4"), "--param=N=4");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
}

TEST(Strings, nearest_finds_a_typing_mistake_and_nothing_else) {
  std::vector<std::string> names = {"barrier", "cp_async_wait", "copy"};
  EXPECT_EQ(nearest("barier", names), "barrier");
  EXPECT_EQ(nearest("cpoy", names), "copy");
  EXPECT_EQ(nearest("contract", names), std::nullopt);
  EXPECT_EQ(nearest("x", names), std::nullopt);
  EXPECT_EQ(edit_distance("abc", "acb"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
}

TEST(Sha256, agrees_with_the_published_vectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, pieces_and_whole_agree) {
  std::string text;
  for (int length = 0; length < 200; ++length) {
    Sha256 pieces;
    for (char c : text) {
      pieces.update(std::string_view(&c, 1));
    }
    EXPECT_EQ(to_hex(pieces.finish()), sha256_hex(text));
    text += static_cast<char>(length);
  }
}

TEST(ContentKey, fields_are_framed) {
  EXPECT_NE(ContentKey().add("ab").add("c").finish(), ContentKey().add("a").add("bc").finish());
  EXPECT_EQ(ContentKey().add("ab").add("c").finish(), ContentKey().add("ab").add("c").finish());
}

}  // namespace
}  // namespace tw
