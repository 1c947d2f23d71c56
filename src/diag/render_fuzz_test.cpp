// SPDX-License-Identifier: Apache-2.0
// Renders arbitrary diagnostics over arbitrary bytes: no renderer may end the process or break the promises that its
// readers rely on.
#include <gtest/gtest.h>
#include <random>

#include "base/strings.h"
#include "diag/render.h"

namespace tw::diag {
namespace {

using Random = std::mt19937_64;

constexpr CodeInfo kCodes[] = {{1, "A", Severity::Error, "x", "plain", "0.1"},
                               {3999, "B", Severity::Warning, "x", "{} and {}", "0.1"},
                               {9998, "C", Severity::Remark, "x", "`{}`", "0.1"}};

std::string random_text(Random& random, size_t max_length) {
  std::string text;
  for (size_t length = random() % (max_length + 1); length > 0; --length) {
    switch (random() % 6) {
      case 0:
        text += '\n';
        break;
      case 1:
        text += static_cast<char>(random());
        break;
      case 2:
        text += "\xC3\xA9";
        break;
      case 3:
        text += '\t';
        break;
      default:
        text += static_cast<char>(' ' + random() % 95);
    }
  }
  return text;
}

Span random_span(Random& random) {
  Span span;
  // Also files that are not there.
  span.file = random() % 8 == 0 ? FileId() : FileId(static_cast<uint32_t>(random() % 4));
  span.begin = static_cast<uint32_t>(random() % 400);
  span.end = random() % 5 == 0 ? static_cast<uint32_t>(random()) : span.begin + static_cast<uint32_t>(random() % 60);
  return span;
}

std::optional<Span> maybe_span(Random& random) {
  return random() % 2 == 0 ? std::optional(random_span(random)) : std::nullopt;
}

Diagnostic random_diagnostic(Random& random) {
  Diagnostic d;
  d.code = &kCodes[random() % 3];
  d.severity = static_cast<Severity>(random() % 3);
  // Too few and too many arguments as well.
  for (uint64_t i = random() % 4; i > 0; --i) {
    switch (random() % 3) {
      case 0:
        d.arguments.emplace_back(static_cast<int64_t>(random()));
        break;
      case 1:
        d.arguments.emplace_back(static_cast<double>(random()) / 3);
        break;
      default:
        d.arguments.emplace_back(random_text(random, 50));
    }
  }
  d.primary = random_span(random);
  for (uint64_t i = random() % 5; i > 0; --i) {
    d.labels.push_back(
        {random() % 4 == 0 ? d.primary : random_span(random), random() % 2 == 0, random_text(random, 90)});
  }
  for (uint64_t i = random() % 3; i > 0; --i) {
    d.notes.push_back({random_text(random, 200), maybe_span(random)});
    d.contexts.push_back({random_text(random, 40), maybe_span(random)});
  }
  for (uint64_t i = random() % 3; i > 0; --i) {
    FixIt fixit{random_text(random, 30), {}, static_cast<Applicability>(random() % 3)};
    for (uint64_t j = random() % 3; j > 0; --j) {
      fixit.edits.push_back({random_span(random), random_text(random, 30)});
    }
    d.fixits.push_back(std::move(fixit));
  }
  if (random() % 2 == 0) {
    d.evidence = Evidence{random_text(random, 12),
                          random_text(random, 12),
                          random() % 2 == 0 ? random_text(random, 20) : "{\"a\":1}",
                          {random_text(random, 60), random_text(random, 60)},
                          {random_text(random, 60)},
                          random_text(random, 60)};
  }
  return d;
}

TEST(RenderFuzz, any_diagnostic_can_be_rendered) {
  constexpr int kRounds = 4000;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SourceManager sources;
    for (uint64_t i = random() % 4; i > 0; --i) {
      sources.add(random_text(random, 20), random_text(random, 300));
    }
    std::vector<Diagnostic> diagnostics;
    for (uint64_t i = 1 + random() % 3; i > 0; --i) {
      diagnostics.push_back(random_diagnostic(random));
    }
    TerminalOptions terminal;
    terminal.width = static_cast<int>(random() % 160);
    terminal.is_compact = random() % 4 == 0;
    terminal.is_color = random() % 4 == 0;
    terminal.has_line_numbers = random() % 4 != 0;
    std::string frame = render_terminal(diagnostics, sources, terminal);
    EXPECT_TRUE(is_utf8(frame));
    EXPECT_TRUE(terminal.is_color || frame.find('\x1b') == std::string::npos);
    EXPECT_TRUE(frame.ends_with('\n'));

    std::string lines = render_json(diagnostics, sources);
    std::vector<std::string_view> objects = split_lines(lines);
    EXPECT_EQ(objects.size(), diagnostics.size());
    for (std::string_view object : objects) {
      Result<json::Value> value = json::parse(object);
      ASSERT_TRUE(value) << object;
      EXPECT_EQ(*value->get_string("schema"), "tw.diagnostic/1");
    }

    LlmOptions llm;
    llm.budget_bytes = random() % 4000;
    std::string told = render_llm(diagnostics, sources, llm);
    EXPECT_TRUE(is_utf8(told));
    EXPECT_LE(told.size(), std::max(llm.budget_bytes, kMinLlmBudgetBytes));
    EXPECT_NE(told.find("not checked: "), std::string::npos) << told;
    EXPECT_EQ(told, render_llm(diagnostics, sources, llm));
  }
}

}  // namespace
}  // namespace tw::diag
