// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "os/files.h"
#include "task/compare.h"
#include "task/inputs.h"

namespace tw::task {
namespace {

constexpr const char* kGood = R"(schema = "tw.task/1"
name = "scaled_copy"

[sizes]
N = { min = 1, max = 4096 }
M = { min = 2, multiple_of = 2 }
C = 3

[[tensor]]
name = "X"
type = "bf16"
dims = ["M", "N"]
strides = ["2*N", 1]

[[tensor]]
name = "Y"
type = "f32"
dims = ["M", "N"]
direction = "out"

[reference]
text = '''
Y[m, n] = X[m, n] * C
'''

[shapes]
headline = { M = 4096, N = 4096 }
test = [ { M = 2, N = 1 }, { M = 4, N = 33 } ]
)";

struct Outcome {
  diag::SourceManager sources;
  diag::Sink sink;
  std::optional<Task> task;
  std::vector<std::string> codes;

  explicit Outcome(std::string text) {
    auto parsed = parse("t.toml", std::move(text), sources, sink);
    if (parsed) {
      task = *parsed;
    }
    for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
      codes.push_back("TW" + std::to_string(diagnostic.code->number));
    }
    EXPECT_EQ(task.has_value(), codes.empty());
  }
  [[nodiscard]] std::string_view place(size_t i = 0) const { return sources.text(sink.diagnostics()[i].primary); }
};

TEST(TaskFile, reads_what_it_says) {
  Outcome outcome(kGood);
  ASSERT_TRUE(outcome.task.has_value()) << outcome.sink.diagnostics()[0].message();
  const Task& task = *outcome.task;
  EXPECT_EQ(task.computation.dims[0].name, "N");
  EXPECT_EQ(task.computation.dims[2].fixed, 3);
  EXPECT_EQ(task.domain.ranges[1], (spec::SizeRange{2, INT32_MAX, 2}));
  EXPECT_EQ(task.operand_count, 2U);
  EXPECT_EQ(task.headline_shape, (Shape{4096, 4096, 3}));
  EXPECT_EQ(task.strides_elems(0, {33, 4, 3}), (std::vector<int64_t>{66, 1}));
  EXPECT_EQ(task.span_elems(0, {33, 4, 3}), 3 * 66 + 33);
  EXPECT_EQ(task.strides_elems(1, {33, 4, 3}), (std::vector<int64_t>{33, 1}));
  EXPECT_EQ(task.least_bytes({33, 4, 3}), 33.0 * 4 * (2 + 4));
  EXPECT_EQ(task.workload(), spec::WorkloadClass::ElementWise);
  EXPECT_EQ(print_shape(task, {33, 4, 3}), "N=33 M=4 C=3");
}

TEST(TaskFile, each_mistake_has_its_code_and_place) {
  struct Case {
    const char* from;
    const char* to;
    const char* code;
    const char* place;
  };
  const Case cases[] = {
      {"N = {", "N = { min 1", "TW8101", nullptr},
      {"tw.task/1", "tw.task/9", "TW8102", "\"tw.task/9\""},
      {"name = \"scaled_copy\"\n", "", "TW8103", nullptr},
      {"[sizes]", "colour = 1\n[sizes]", "TW8104", "colour"},
      {"min = 1, max", "least = 1, max", "TW8104", "least"},
      {"min = 1, max", "min = 1.5, max", "TW8105", "1.5"},
      {"headline = { M = 4096, N = 4096 }", "headline = 7", "TW8105", "7"},
      {"min = 1, max", "min = 0, max", "TW8106", "0"},
      {"max = 4096", "max = 99999999999", "TW8106", "99999999999"},
      {"min = 2, multiple_of = 2", "min = 3, max = 4, multiple_of = 5", "TW8106", nullptr},
      {"type = \"bf16\"", "type = \"bf17\"", "TW8106", "\"bf17\""},
      {"direction = \"out\"", "direction = \"back\"", "TW8106", "\"back\""},
      {"\"scaled_copy\"", "\"scaled copy\"", "TW8106", "\"scaled copy\""},
      {"[\"2*N\", 1]", "[1]", "TW8106", "[1]"},
      {"[\"2*N\", 1]", "[\"2*Q\", 1]", "TW8107", "\"2*Q\""},
      {"dims = [\"M\", \"N\"]\nstrides", "dims = [\"M\", \"Q\"]\nstrides", "TW8107", "\"Q\""},
      {"{ M = 2, N = 1 }", "{ M = 2, N = 1, Q = 1 }", "TW8107", "Q"},
      {"name = \"Y\"", "name = \"X\"", "TW8108", "\"X\""},
      {"{ M = 2, N = 1 }", "{ M = 3, N = 1 }", "TW8109", "3"},
      {"{ M = 2, N = 1 }", "{ M = 2 }", "TW8103", "{ M = 2 }"},
      {"direction = \"out\"", "direction = \"in\"", "TW8103", nullptr},
      {"X[m, n] * C", "X[m, n] * Q", "TW8121", "Q"},
      {"X[m, n] * C", "X[n, m] * C", "TW8123", "n"},
      {"'''\nY[m, n] = X[m, n] * C\n'''", "\"Y[m, n] = \\u0058[m, q] * C\"", "TW8121",
       "\"Y[m, n] = \\u0058[m, q] * C\""},
      {"[shapes]", "[goal]\nkind = \"fast\"\n[shapes]", "TW8106", "\"fast\""},
      {"[shapes]", "[tolerance]\nscale = -1\n[shapes]", "TW8106", "-1"},
      {"[shapes]", "[inputs]\ndistributions = [\"odd\"]\n[shapes]", "TW8106", "\"odd\""},
  };
  for (const Case& c : cases) {
    std::string text = replace_all(kGood, c.from, c.to);
    ASSERT_NE(text, kGood) << c.from;
    Outcome outcome(text);
    ASSERT_FALSE(outcome.codes.empty()) << c.to;
    EXPECT_EQ(outcome.codes[0], c.code) << c.to << ": " << outcome.sink.diagnostics()[0].message();
    if (c.place != nullptr) {
      EXPECT_EQ(outcome.place(), c.place) << outcome.sink.diagnostics()[0].message();
    }
  }
}

TEST(TaskFile, garbage_is_refused_with_one_clear_error) {
  EXPECT_EQ(Outcome("").codes, (std::vector<std::string>{"TW8103"}));
  EXPECT_EQ(Outcome(std::string("\0\x01\xff\xfe", 4)).codes, (std::vector<std::string>{"TW8101"}));
  EXPECT_EQ(Outcome(std::string(1 << 20, 'a')).codes, (std::vector<std::string>{"TW8101"}));
  EXPECT_EQ(Outcome("a = " + std::string(100000, '[')).codes, (std::vector<std::string>{"TW8101"}));
  for (const char* part : {"a.", " a .", "\"+\".", "'=' ."}) {
    std::string key;
    for (int i = 0; i < 100000; ++i) {
      key += part;
    }
    EXPECT_EQ(Outcome(key + "a = 1").codes, (std::vector<std::string>{"TW8101"})) << part;
  }
  EXPECT_EQ(Outcome("a.b" + std::string(100, '.')).codes, (std::vector<std::string>{"TW8101"}));
}

// Characters beyond ASCII: errors outside strings, plain text inside.
TEST(TaskFile, letters_of_all_scripts_are_read_or_refused) {
  for (const char* letter : {"\u00e9", "\u2028", "\u3000", "\ufeff", "\U0001f600"}) {
    EXPECT_EQ(Outcome(std::string(kGood) + letter).codes, (std::vector<std::string>{"TW8101"})) << letter;
    std::string titled = replace_all(kGood, "[sizes]", std::string("title = \"\"\"\\\n ") + letter + "\"\"\"\n[sizes]");
    EXPECT_TRUE(Outcome(titled).task.has_value()) << letter;
  }
}

TEST(TaskFile, missing_file_and_folder_are_told_apart) {
  diag::SourceManager sources;
  diag::Sink sink;
  EXPECT_FALSE(load("no/such/task.toml", sources, sink).has_value());
  EXPECT_FALSE(load("/", sources, sink).has_value());
  ASSERT_EQ(sink.diagnostics().size(), 2U);
  EXPECT_EQ("TW" + std::to_string(sink.diagnostics()[0].code->number), "TW8100");
  EXPECT_NE(sink.diagnostics()[0].message(), sink.diagnostics()[1].message());
}

// The example of the documentation is a task.
TEST(TaskFile, the_example_of_the_documentation_loads) {
  auto page = os::read_file(std::string(TW_SOURCE_DIR) + "/docs/tasks.md");
  ASSERT_TRUE(page.has_value());
  size_t begin = page->find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  begin += 8;
  Outcome outcome(page->substr(begin, page->find("```\n", begin) - begin));
  ASSERT_TRUE(outcome.task.has_value());
  EXPECT_EQ(outcome.task->workload(), spec::WorkloadClass::Contraction);
}

// Every shipped task loads, and its reference agrees with itself when rounded to the output type: so a correct kernel
// passes.
TEST(ShippedTasks, load_and_accept_the_rounded_reference) {
  std::string folder = std::string(TW_SOURCE_DIR) + "/tasks";
  auto files = os::list_folder(folder);
  ASSERT_TRUE(files.has_value());
  ASSERT_GE(files->size(), 24U);
  for (const std::string& file : *files) {
    diag::SourceManager sources;
    diag::Sink sink;
    auto task = load(folder + "/" + file, sources, sink);
    ASSERT_TRUE(task.has_value()) << file << ": " << sink.diagnostics()[0].message();
    EXPECT_EQ(task->name + ".toml", file);
    for (Distribution distribution : task->distributions) {
      Inputs inputs = generate_all(*task, task->test_shapes[2], distribution, 17);
      auto want = reference(*task, inputs);
      ASSERT_TRUE(want.has_value()) << want.error().message;
      for (size_t i = 0; i < task->operand_count; ++i) {
        if (task->computation.tensors[i].direction != spec::Direction::Out) {
          continue;
        }
        spec::Array got = (*want)[i];
        for (double& value : got.values) {
          value = representable(value, task->computation.tensors[i].type);
        }
        EXPECT_TRUE(compare(*task, i, got, (*want)[i]).is_ok) << file << " " << name_of(distribution);
        got.values.back() = got.values.back() * 1.5 + 1;
        EXPECT_FALSE(compare(*task, i, got, (*want)[i]).is_ok) << file << " " << name_of(distribution);
      }
    }
  }
}

}  // namespace
}  // namespace tw::task
