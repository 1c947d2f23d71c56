// SPDX-License-Identifier: Apache-2.0
#include "diag/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diag/fixit.h"
#include "diag/sink.h"
#include "diag/snippet.h"

namespace tw::diag {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr CodeInfo kRace{3900, "TestRace", Severity::Error, "verify", "`{}` is read before {} writes are done", "0.1"};

constexpr std::string_view kProgram =
    "@kernel\n"
    "def gemm(A, B):\n"
    "\tsA = tile(128, 32)\n"
    "    copy(A, sA)\n"
    "    other(B)\n"
    "    mma(sA, B)\n";

// One diagnostic with everything in it, in all renderers: they cannot drift apart unseen.
struct Example {
  SourceManager sources;
  Diagnostic diagnostic;

  Example() {
    FileId file = sources.add("/work/kernels/gemm.tw.py", std::string(kProgram));
    auto span = [&](std::string_view words) {
      auto begin = static_cast<uint32_t>(kProgram.find(words));
      return Span{file, begin, begin + static_cast<uint32_t>(words.size())};
    };
    diagnostic.code = &kRace;
    diagnostic.arguments = {std::string("sA"), int64_t{4}};
    diagnostic.primary = span("mma(sA, B)");
    diagnostic.labels = {{span("mma(sA, B)"), false, "read here by warp 1"},
                         {span("copy(A, sA)"), false, "written here by warp 0"},
                         {span("sA = tile"), false, "the tile"}};
    diagnostic.contexts = {{"while checking `gemm` for sm_80", std::nullopt}};
    diagnostic.notes = {{"nothing orders the two warps", std::nullopt},
                        {"`B` is not written at all", span("other(B)")}};
    auto at = span("    mma").begin;
    diagnostic.fixits = {{"wait for the block", {{Span{file, at, at}, "    barrier()\n"}}, Applicability::Safe}};
    Evidence evidence;
    evidence.verdict = "refuted";
    evidence.obligation = "race.sA";
    evidence.counterexample_json = R"({"thread":33})";
    evidence.facts = {"thread 33 reads sA[0, 8]", "thread 1 writes sA[0, 8] later"};
    evidence.assumptions = {"K % 32 == 0"};
    evidence.replay_command = "tilewright run gemm.tw.py --replay=cex.json";
    diagnostic.evidence = std::move(evidence);
  }

  [[nodiscard]] std::span<const Diagnostic> all() const { return {&diagnostic, 1}; }
};

TEST(RenderTerminal, frame) {
  Example example;
  EXPECT_EQ(render_terminal(example.all(), example.sources, {.width = 90}),
            R"(error[TW3900]: `sA` is read before 4 writes are done
 --> /work/kernels/gemm.tw.py:6:5
  |
3 |     sA = tile(128, 32)
  |     --------- the tile
4 |     copy(A, sA)
  |     ----------- written here by warp 0
5 |     other(B)
6 |     mma(sA, B)
  |     ^^^^^^^^^^ read here by warp 1
  = while checking `gemm` for sm_80
  = note: nothing orders the two warps
  = note: `B` is not written at all (/work/kernels/gemm.tw.py:5:5)
  = race.sA refuted
  =   thread 33 reads sA[0, 8]
  =   thread 1 writes sA[0, 8] later
  = assuming K % 32 == 0
  = replay: tilewright run gemm.tw.py --replay=cex.json
  = help: wait for the block
      +    barrier()
)");
}

TEST(RenderTerminal, without_line_numbers_nothing_depends_on_the_lines_above) {
  Example example;
  std::string text = render_terminal(example.all(), example.sources, {.has_line_numbers = false});
  EXPECT_THAT(text, HasSubstr(" --> /work/kernels/gemm.tw.py\n"));
  EXPECT_THAT(text, HasSubstr("  |     copy(A, sA)\n"));
  EXPECT_THAT(text, Not(HasSubstr("6")));
}

TEST(RenderTerminal, compact_when_asked_or_narrow) {
  Example example;
  std::string text = render_terminal(example.all(), example.sources, {.is_compact = true});
  EXPECT_EQ(text, R"(/work/kernels/gemm.tw.py:6:5-14: error[TW3900]: `sA` is read before 4 writes are done
/work/kernels/gemm.tw.py:6:5-14: note: read here by warp 1
/work/kernels/gemm.tw.py:4:5-15: note: written here by warp 0
/work/kernels/gemm.tw.py:3:2-10: note: the tile
/work/kernels/gemm.tw.py:6:5-14: note: while checking `gemm` for sm_80
/work/kernels/gemm.tw.py:6:5-14: note: nothing orders the two warps
/work/kernels/gemm.tw.py:5:5-12: note: `B` is not written at all
/work/kernels/gemm.tw.py:6:5-14: note: race.sA refuted
/work/kernels/gemm.tw.py:6:5-14: note: thread 33 reads sA[0, 8]
/work/kernels/gemm.tw.py:6:5-14: note: thread 1 writes sA[0, 8] later
/work/kernels/gemm.tw.py:6:5-14: note: assuming K % 32 == 0
/work/kernels/gemm.tw.py:6:5-14: replay: tilewright run gemm.tw.py --replay=cex.json
/work/kernels/gemm.tw.py:6:1: help: wait for the block
)");
  EXPECT_EQ(render_terminal(example.all(), example.sources, {.width = 59}), text);
}

TEST(RenderTerminal, color_adds_nothing_but_color) {
  Example example;
  std::string text = render_terminal(example.all(), example.sources, {.is_color = true});
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  EXPECT_NE(text, plain);
  EXPECT_EQ(plain, render_terminal(example.all(), example.sources, {}));
}

TEST(RenderTerminal, no_line_of_a_frame_is_wider_than_asked) {
  Example example;
  example.diagnostic.labels[1].text = std::string("written by every thread of the warp that copies this row ") +
                                      "while the others are still waiting for the block to arrive";
  example.diagnostic.notes[0].text = example.diagnostic.labels[1].text;
  for (int width = 60; width <= 140; ++width) {
    std::string text = render_terminal(example.all(), example.sources, {.width = width});
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
      EXPECT_LE(static_cast<int>(end - begin), width) << text.substr(begin, end - begin);
    }
  }
}

TEST(RenderTerminal, further_diagnostics_are_counted) {
  Example example;
  std::vector<Diagnostic> many(5, example.diagnostic);
  EXPECT_THAT(render_terminal(many, example.sources, {.max_diagnostics = 2}), HasSubstr("(3 more not shown)\n"));
}

TEST(RenderTerminal, a_diagnostic_without_a_place_is_one_sentence) {
  Example example;
  Diagnostic bare;
  bare.code = &kRace;
  bare.arguments = {std::string("x"), int64_t{1}};
  EXPECT_EQ(render_terminal(std::span(&bare, 1), example.sources, {}),
            "error[TW3900]: `x` is read before 1 writes are done\n");
}

TEST(RenderJson, one_object_a_line_with_all_parts) {
  Example example;
  std::string line = render_json(example.all(), example.sources);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  json::Value value = *json::parse(line);
  json::Value rendered = *value.find("rendered");
  EXPECT_EQ(rendered.as_string(), render_terminal(example.all(), example.sources, {}));
  EXPECT_EQ(value.get_string("fingerprint")->size(), 16U);
  value.set("rendered", "").set("fingerprint", "");
  EXPECT_EQ(json::write(value, 1), R"({
 "schema": "tw.diagnostic/1",
 "code": "TW3900",
 "name": "TestRace",
 "area": "verify",
 "severity": "error",
 "message": "`sA` is read before 4 writes are done",
 "arguments": ["sA", 4],
 "primary": {
  "file": "/work/kernels/gemm.tw.py",
  "begin": 77,
  "end": 87,
  "line": 6,
  "column": 5,
  "end_line": 6,
  "end_column": 15
 },
 "labels": [
  {
   "span": {
    "file": "/work/kernels/gemm.tw.py",
    "begin": 77,
    "end": 87,
    "line": 6,
    "column": 5,
    "end_line": 6,
    "end_column": 15
   },
   "primary": true,
   "text": "read here by warp 1"
  },
  {
   "span": {
    "file": "/work/kernels/gemm.tw.py",
    "begin": 48,
    "end": 59,
    "line": 4,
    "column": 5,
    "end_line": 4,
    "end_column": 16
   },
   "primary": false,
   "text": "written here by warp 0"
  },
  {
   "span": {
    "file": "/work/kernels/gemm.tw.py",
    "begin": 25,
    "end": 34,
    "line": 3,
    "column": 2,
    "end_line": 3,
    "end_column": 11
   },
   "primary": false,
   "text": "the tile"
  }
 ],
 "notes": [
  {
   "text": "nothing orders the two warps",
   "span": null
  },
  {
   "text": "`B` is not written at all",
   "span": {
    "file": "/work/kernels/gemm.tw.py",
    "begin": 64,
    "end": 72,
    "line": 5,
    "column": 5,
    "end_line": 5,
    "end_column": 13
   }
  }
 ],
 "contexts": [
  {
   "text": "while checking `gemm` for sm_80",
   "span": null
  }
 ],
 "fixits": [
  {
   "title": "wait for the block",
   "applicability": "safe",
   "edits": [
    {
     "span": {
      "file": "/work/kernels/gemm.tw.py",
      "begin": 73,
      "end": 73,
      "line": 6,
      "column": 1,
      "end_line": 6,
      "end_column": 1
     },
     "replacement": "    barrier()\n"
    }
   ]
  }
 ],
 "evidence": {
  "verdict": "refuted",
  "obligation": "race.sA",
  "facts": ["thread 33 reads sA[0, 8]", "thread 1 writes sA[0, 8] later"],
  "assumptions": ["K % 32 == 0"],
  "replay": "tilewright run gemm.tw.py --replay=cex.json",
  "counterexample": {
   "thread": 33
  }
 },
 "fingerprint": "",
 "rendered": ""
})");
}

TEST(RenderLlm, whole) {
  Example example;
  std::vector<Diagnostic> twice(2, example.diagnostic);
  LlmOptions options;
  options.root_folder = "/work/";
  options.context_lines = 1;
  options.must_keep = {"the signature of `gemm`"};
  EXPECT_EQ(render_llm(twice, example.sources, options),
            R"(1 problem
1. error TW3900 TestRace (2 times): `sA` is read before 4 writes are done (kernels/gemm.tw.py:6:5)
while checking `gemm` for sm_80
kernels/gemm.tw.py:
    2 | def gemm(A, B):
    3 |     sA = tile(128, 32)
      |     --------- the tile
    4 |     copy(A, sA)
      |     ----------- written here by warp 0
    5 |     other(B)
    6 |     mma(sA, B)
      |     ^^^^^^^^^^ read here by warp 1
    7 | 
note: nothing orders the two warps
note: `B` is not written at all (kernels/gemm.tw.py:5:5)
verdict: race.sA refuted
- thread 33 reads sA[0, 8]
- thread 1 writes sA[0, 8] later
assuming: K % 32 == 0
suggested edit (safe): wait for the block
--- kernels/gemm.tw.py
+++ kernels/gemm.tw.py
@@ -5,2 +5,3 @@
     other(B)
+    barrier()
     mma(sA, B)
keep: the signature of `gemm`
not checked: (nothing was named)
)");
}

TEST(RenderLlm, undecided_obligations_are_listed_at_the_end_whatever_the_budget) {
  Example example;
  std::vector<Diagnostic> many(9, example.diagnostic);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].arguments[1] = static_cast<int64_t>(i);
  }
  many[7].evidence->verdict = "unknown (time limit)";
  many[7].evidence->obligation = "bounds.C";
  for (size_t budget = kMinLlmBudgetBytes; budget < 6000; budget += 97) {
    LlmOptions options;
    options.budget_bytes = budget;
    std::string text = render_llm(many, example.sources, options);
    EXPECT_LE(text.size(), budget);
    EXPECT_THAT(text, HasSubstr("not checked: bounds.C\n"));
    EXPECT_THAT(text, HasSubstr("9 problems\n"));
    EXPECT_THAT(text, Not(HasSubstr("/work")));
  }
}

TEST(FixIt, is_applied_whole_or_not_at_all) {
  SourceManager sources;
  FileId file = sources.add("a", "abcdef");
  FixIt fixit{"", {{Span{file, 4, 5}, "E"}, {Span{file, 0, 2}, ""}, {Span{file, 2, 2}, "+"}}, Applicability::Safe};
  EXPECT_EQ(*apply_fixit(fixit, file, sources), "+cdEf");
  fixit.edits.push_back({Span{file, 4, 6}, ""});
  EXPECT_FALSE(apply_fixit(fixit, file, sources));
  EXPECT_FALSE(apply_fixit({"", {{Span{file, 5, 9}, ""}}, Applicability::Safe}, file, sources));
}

TEST(Snippet, a_long_line_shows_the_part_around_its_mark) {
  SourceManager sources;
  std::string line(10'000'000, 'a');
  line[5'000'000] = 'X';
  FileId file = sources.add("a", line);
  std::vector<SnippetRow> rows =
      make_snippet(sources, file, {{Span{file, 5'000'000, 5'000'001}, true, {}}}, {.width = 60});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_LE(rows[0].text.size(), 70U);
  EXPECT_EQ(rows[0].text[static_cast<size_t>(rows[1].mark_begin)], 'X');
}

TEST(Snippet, a_range_over_lines_marks_its_first_and_last) {
  SourceManager sources;
  FileId file = sources.add("a", "one(\n  two,\n  three,\n  four)\nfive\n");
  std::vector<SnippetRow> rows = make_snippet(sources, file, {{Span{file, 0, 29}, true, "call"}}, {});
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1].text, "call");
  EXPECT_EQ(rows[2].kind, SnippetRow::Kind::Gap);
  EXPECT_EQ(rows[3].text, "  four)");
  EXPECT_EQ(rows[4].mark_begin, 2);
  EXPECT_EQ(rows[4].mark_columns, 5);
}

TEST(Snippet, what_a_terminal_would_obey_is_replaced) {
  EXPECT_EQ(printable("a\x1b[31m\xE2\x80\xAE"
                      "b\xff\n"),
            "a?[31m?b? ");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace tw::diag
