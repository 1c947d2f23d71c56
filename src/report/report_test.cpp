// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"

namespace tw::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

json::Value object(std::initializer_list<json::Member> members) {
  return json::Value(json::Object(members));
}

// A run as the loop records it: a draft that is refuted, its fix, a move that is slower, one that is faster.
class ReportTest : public ::testing::Test {
 protected:
  ReportTest() : temp_(*os::TempFolder::make("tw-report-test-")), store_(*store::Store::open(temp_.path())) {
    auto lock = *store_.create_run("gemm_bf16", object({{"author", "builtin"}}));
    id_ = lock.run_id();
    first_ = *store_.put_blob("@kernel\ndef f(): # <script>alert(1)</script>\n  a\n  b\n");
    second_ = *store_.put_blob("@kernel\ndef f(): # <script>alert(1)</script>\n  a\n  c\n");
    third_ = *store_.put_blob("third\n");
    fourth_ = *store_.put_blob("fourth\n");
    add(lock, "draft", {{"candidate", first_}, {"move", "draft"}});
    add(lock, "check",
        {{"candidate", first_},
         {"verdict", "refuted"},
         {"diagnostics", "error[TW3501]: a race on `sA`"},
         {"counterexample", *store_.put_blob("{\"rule\": \"race\"}")},
         {"obligations", json::Array{object({{"kind", "race"}, {"verdict", "refuted"}}),
                                     object({{"kind", "bounds"}, {"verdict", "proved"}, {"count", 4}})}}});
    add(lock, "debug", {{"candidate", second_}, {"parent", first_}, {"move", "fix"}});
    judge(lock, second_, 900, true, "first proved candidate");
    add(lock, "draft", {{"candidate", third_}, {"parent", second_}, {"move", "vector | loads"}});
    judge(lock, third_, 1000, false, "slower than the best");
    add(lock, "draft", {{"candidate", fourth_}, {"parent", second_}, {"move", "stages"}});
    judge(lock, fourth_, 100, true, "faster");
    EXPECT_TRUE(store_.set_state(lock, store::RunState::Done, object({{"best", fourth_}})).has_value());
  }

  void add(const store::RunLock& lock, std::string kind, std::initializer_list<json::Member> output) {
    store::Step step;
    step.kind = std::move(kind);
    step.input = object({});
    step.output = object(output);
    step.time_ms = 10;
    ASSERT_TRUE(store_.append_step(lock, std::move(step)).has_value());
  }

  void judge(const store::RunLock& lock, const std::string& candidate, double us, bool is_accepted,
             const char* reason) {
    add(lock, "check", {{"candidate", candidate}, {"verdict", "proved"}, {"scope", "full"}});
    add(lock, "build", {{"candidate", candidate}, {"ok", true}, {"registers", 96}});
    add(lock, "test", {{"candidate", candidate}, {"ok", true}, {"summary", "8 shapes, 5 distributions"}});
    add(lock, "estimate", {{"candidate", candidate}, {"estimate", object({{"us", us}, {"label", "estimate"}})}});
    add(lock, "decide", {{"candidate", candidate}, {"accepted", is_accepted}, {"reason", reason}});
  }

  Report make() {
    auto report = collect(store_, id_);
    EXPECT_TRUE(report.has_value());
    return *std::move(report);
  }

  os::TempFolder temp_;
  store::Store store_;
  std::string id_;
  std::string first_;
  std::string second_;
  std::string third_;
  std::string fourth_;
};

TEST_F(ReportTest, steps_are_gathered_by_candidate) {
  Report report = make();
  ASSERT_EQ(report.candidates.size(), 4U);
  EXPECT_EQ(report.best, 3);
  const Candidate& refuted = report.candidates[0];
  EXPECT_EQ(outcome_of(refuted), "refuted");
  EXPECT_EQ(refuted.counterexample, "{\"rule\": \"race\"}");
  EXPECT_EQ(refuted.obligations[1].count, 4);
  EXPECT_EQ(print_time(refuted), "-");
  const Candidate& fix = report.candidates[1];
  EXPECT_EQ(fix.parent, 0);
  EXPECT_THAT(fix.diff, HasSubstr("-  b\n+  c\n"));
  EXPECT_EQ(outcome_of(fix), "accepted");
  EXPECT_EQ(outcome_of(report.candidates[2]), "rejected");
  EXPECT_EQ(print_time(report.candidates[3]), "100 us (estimate)");
  EXPECT_EQ(report.time_total_ms(), 10.0 * static_cast<double>(report.steps.size()));
}

TEST_F(ReportTest, estimates_are_labelled_in_every_form) {
  Report report = make();
  EXPECT_THAT(to_terminal(report), HasSubstr("100 us (estimate)"));
  EXPECT_THAT(to_markdown(report), HasSubstr("100 us (estimate)"));
  EXPECT_THAT(to_html(report), HasSubstr("100 us (estimate)"));
  json::Value value = to_json(report);
  const json::Value& last = value.find("candidates")->as_array()[3];
  EXPECT_EQ(*last.find("estimate")->get_string("label"), "estimate");
  EXPECT_TRUE(last.find("measurement")->is_null());
}

TEST_F(ReportTest, html_is_one_file_that_loads_nothing_and_runs_nothing) {
  std::string html = to_html(make());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  for (const char* outside : {"http://", "https://", "src=", "<link", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(html, HasSubstr("Counterexample"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST_F(ReportTest, the_plot_has_a_point_for_each_time_and_a_cross_for_each_candidate_without) {
  std::string svg = trajectory_svg(make());
  size_t circles = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) {
    ++circles;
  }
  EXPECT_EQ(circles, 3U);
  EXPECT_THAT(svg, HasSubstr("&#10005;"));
}

TEST_F(ReportTest, markdown_keeps_its_table_whatever_a_move_is_called) {
  EXPECT_THAT(to_markdown(make()), HasSubstr("| vector \\| loads |"));
}

TEST_F(ReportTest, terminal_lines_fit_and_colour_is_optional) {
  std::string plain = to_terminal(make(), {false, 60});
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain, HasSubstr("error[TW3501]"));
  EXPECT_THAT(to_terminal(make(), {true, 60}), HasSubstr("\x1b[32maccepted"));
}

TEST_F(ReportTest, a_run_without_steps_or_with_odd_ones_is_still_shown) {
  auto lock = *store_.create_run("empty", object({}));
  Report empty = *collect(store_, lock.run_id());
  EXPECT_THAT(to_html(empty), HasSubstr("empty"));
  EXPECT_EQ(trajectory_svg(empty), "");
  add(lock, "decide", {{"accepted", "yes"}});
  add(lock, "estimate", {{"candidate", 7}, {"estimate", "fast"}});
  add(lock, "check", {{"candidate", "sha256:0"}, {"obligations", 3}, {"verdict", nullptr}});
  Report odd = *collect(store_, lock.run_id());
  EXPECT_THAT(to_html(odd), HasSubstr("Candidate 0"));
  EXPECT_THAT(to_markdown(odd), HasSubstr("Candidate 1"));
  EXPECT_FALSE(to_terminal(odd).empty());
}

}  // namespace
}  // namespace tw::report
