// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace tw::json {
namespace {

TEST(Json, members_keep_their_order_and_are_replaced_in_place) {
  Value value;
  value.set("b", 1).set("a", Array{1, "x", nullptr, true}).set("b", 2);
  EXPECT_EQ(write(value), R"({"b":2,"a":[1,"x",null,true]})");
}

TEST(Json, integers_keep_all_bits) {
  EXPECT_EQ(write(Value(UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(parse("18446744073709551615")->as_uint(), UINT64_MAX);
  EXPECT_EQ(parse("-9223372036854775808")->as_int(), INT64_MIN);
  EXPECT_TRUE(parse("9223372036854775807")->is_int());
  EXPECT_FALSE(parse("9223372036854775808")->is_int());
}

TEST(Json, doubles_read_back_as_the_same_double) {
  EXPECT_EQ(write(Value(2.0)), "2.0");
  EXPECT_EQ(write(Value(1e300)), "1e+300");
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) {
      continue;
    }
    Result<Value> back = parse(write(Value(value)));
    ASSERT_TRUE(back) << value;
    EXPECT_EQ(back->kind(), Kind::Double);
    EXPECT_EQ(back->as_double(), value);
  }
}

TEST(Json, numbers_that_json_lacks_become_strings) {
  EXPECT_EQ(write(Array{NAN, INFINITY, -INFINITY}), R"(["nan","inf","-inf"])");
}

TEST(Json, strings_are_escaped_and_repaired) {
  EXPECT_EQ(quote("a\"\\\n\x01"), R"("a\"\\\n\u0001")");
  EXPECT_EQ(quote("\xff"
                  "ok\xC3\xA9"),
            "\"\xEF\xBF\xBDok\xC3\xA9\"");
}

TEST(Json, indented_lists_of_plain_values_stay_on_one_line) {
  Value value(Object{{"at", Array{4, 8}}, {"empty", Array{}}, {"none", Object{}}, {"rows", Array{Array{1}, Array{2}}}});
  EXPECT_EQ(write(value, 2),
            "{\n  \"at\": [4, 8],\n  \"empty\": [],\n  \"none\": {},\n  \"rows\": [\n    [1],\n    [2]\n  ]\n}");
}

TEST(Json, parse_refuses_what_the_standard_refuses) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "nul", "01", "1 2", "\"\\x\"", "'a'", "// no\n1", "NaN",
                           "\"\xff\"", "\"a\nb\"", "{\"a\":1,\"a\":2}", "[1}", "1e999"}) {
    Result<Value> result = parse(text);
    EXPECT_FALSE(result) << text;
    if (!result) {
      EXPECT_EQ(result.error().causes.size(), 1U);
    }
  }
}

TEST(Json, depth_is_limited) {
  std::string deep(100, '[');
  deep += std::string(100, ']');
  EXPECT_FALSE(parse(deep, {.depth = 99}));
  EXPECT_TRUE(parse(deep, {.depth = 100}));
  EXPECT_FALSE(parse(std::string(10'000'000, '[')));
  EXPECT_FALSE(parse("[1,2,3]", {.size_bytes = 3}));
}

TEST(Json, getters_say_which_key_is_wrong) {
  Value value(Object{{"n", 3}, {"s", "x"}, {"l", Array{1}}});
  EXPECT_EQ(*value.get_int("n"), 3);
  EXPECT_EQ(*value.get_double("n"), 3.0);
  EXPECT_EQ((*value.get_array("l"))->size(), 1U);
  EXPECT_EQ(value.get_int("s").error().message, "`s` is a string, expected an integer");
  EXPECT_EQ(value.get_bool("x").error().message, "`x` is missing");
  EXPECT_EQ(Value(1).get_bool("x").error().message, "expected an object with `x`, found an integer");
}

Value random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<int64_t>(random());
    case 3:
      return uint64_t{random()};
    case 4:
      return static_cast<double>(random()) / 7.0;
    case 5: {
      std::string text;
      for (uint64_t i = random() % 8; i > 0; --i) {
        text += static_cast<char>(random() % 128);
      }
      return text;
    }
    case 6: {
      Array array;
      for (uint64_t i = random() % 4; i > 0; --i) {
        array.push_back(random_value(random, depth - 1));
      }
      return array;
    }
    default: {
      Object object;
      for (uint64_t i = random() % 4; i > 0; --i) {
        object.set(std::to_string(random() % 9), random_value(random, depth - 1));
      }
      return object;
    }
  }
}

TEST(Json, what_is_written_reads_back_equal) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    Value value = random_value(random, 4);
    for (int indent : {0, 2}) {
      Result<Value> back = parse(write(value, indent));
      ASSERT_TRUE(back) << write(value);
      EXPECT_TRUE(*back == value) << write(value);
    }
  }
}

TEST(Json, damaged_text_never_does_worse_than_fail) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text = write(random_value(random, 4));
    for (uint64_t n = 1 + random() % 3; n > 0 && !text.empty(); --n) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    static_cast<void>(parse(text));
  }
}

}  // namespace
}  // namespace tw::json
