// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>

#include "agent/candidate.h"
#include "agent/draft.h"
#include "base/line_diff.h"
#include "base/sha256.h"
#include "os/signals.h"
#include "profile/model.h"
#include "rewrite/moves.h"
#include "syntax/parser.h"
#include "syntax/printer.h"

namespace tw::agent {
namespace {

// A kernel must be this much faster, by the model, to replace the best: what the model cannot tell apart is a tie.
constexpr double kGain = 0.99;
// Moves that make others possible are followed when they cost no more than this.
constexpr double kSteppingStone = 1.02;
constexpr size_t kMostRepairs = 120;
constexpr int kMostRounds = 6;

bool is_stepping_stone(std::string_view move) {
  return move == "stage_in_shared" || move == "copy_async" || move == "align_rows" || move == "swizzle_shared" ||
         move == "use_tensor_cores";
}

struct Verified {
  CheckOutcome check;
  bool is_good = false;
  double us = 0;
  std::string bound;
  std::string why_not;
};

struct Candidate {
  std::string text;
  std::string reference;
  std::vector<std::string> moves;
};

class Loop {
 public:
  Loop(const task::Task& task, const Request& request, Recorder& recorder, toolchain::CudaCompiler* compiler,
       const Progress& progress)
      : task_(task),
        request_(request),
        recorder_(recorder),
        compiler_(compiler),
        progress_(progress),
        start_(std::chrono::steady_clock::now()) {}

  Result<RunResult> run() {
    TW_TRY(const std::vector<Draft> starts, first_programs());
    const std::string move = request_.from_text.empty() ? "draft" : "from";
    // One that is right as it stands before any that must be mended first.
    std::vector<std::pair<Candidate, Verified>> failed;
    for (const Draft& start : starts) {
      TW_TRY(Candidate candidate, record_draft(start.text, move, {}, start.origin));
      TW_TRY(Verified verified, evaluate(candidate));
      TW_TRY_STATUS(decide(candidate, verified, true));
      if (verified.is_good || is_over()) {
        break;
      }
      failed.emplace_back(std::move(candidate), std::move(verified));
    }
    for (const auto& [candidate, verified] : failed) {
      if (result_.best || is_over()) {
        break;
      }
      if (verified.check.is_proved()) {
        continue;
      }
      TW_TRY(const std::optional<Candidate> mended, mend(candidate, verified));
      if (mended) {
        TW_TRY(const Verified again, evaluate(*mended));
        TW_TRY_STATUS(decide(*mended, again, true));
      }
    }
    if (result_.best && !is_over()) {
      TW_TRY_STATUS(climb());
    }
    finish();
    return std::move(result_);
  }

 private:
  // --- steps

  Result<std::vector<Draft>> first_programs() {
    if (!request_.from_text.empty()) {
      return std::vector<Draft>{{request_.from_text, ""}};
    }
    TW_TRY(std::vector<Draft> drafts, drafts_for(task_, request_.target));
    if (drafts.empty()) {
      return fail(fmt::format(
          "no program family in kernels/ fits the task `{}`; start from a program of yours with --from", task_.name));
    }
    return drafts;
  }

  // Puts a candidate on record with the diff to its parent.
  Result<Candidate> record_draft(const std::string& text, const std::string& move, const Candidate& parent,
                                 const std::string& title, std::string_view kind = "draft") {
    TW_TRY(const std::string reference, recorder_.put(text));
    const std::string diff = parent.text.empty() ? "" : unified_diff("parent.tw.py", "kernel.tw.py", parent.text, text);
    json::Object input{{"move", move}, {"title", title}, {"parent", parent.reference}, {"candidate", reference}};
    TW_TRY(const json::Value output, recorder_.step(kind, input, [&] {
      json::Object out{{"candidate", reference}, {"parent", parent.reference}, {"move", move}, {"title", title},
                       {"diff", diff},           {"language", "tile"}};
      return Recorder::Produced{std::move(out), nullptr};
    }));
    static_cast<void>(output);
    Candidate candidate{text, reference, parent.moves};
    candidate.moves.push_back(title.empty() ? move : move + ": " + title);
    return candidate;
  }

  // check, build, test, estimate: stops at the first that fails. A recorded step is not executed again, but what later
  // steps need of it (the lowered kernel) is made again: it follows from the text.
  Result<Verified> evaluate(const Candidate& candidate) {
    Verified out;
    out.check.verdict = "";
    const json::Object input{{"candidate", candidate.reference}};
    bool is_fresh = false;
    TW_TRY(const json::Value checked, recorder_.step("check", input, [&] {
      out.check = check_candidate(candidate.text, task_, request_.target);
      is_fresh = true;
      json::Value output = out.check.to_json(candidate.reference);
      if (!out.check.counterexample.empty()) {
        if (auto blob = recorder_.put(out.check.counterexample)) {
          output.set("counterexample", *blob);
        }
      }
      return Recorder::Produced{std::move(output), nullptr};
    }));
    if (!is_fresh) {
      out.check = check_candidate(candidate.text, task_, request_.target);
    }
    say(fmt::format("check    {:<9} {}", out.check.verdict, summary(candidate)));
    if (!out.check.is_proved()) {
      if (const std::string cause = first_cause(out.check.diagnostics); !cause.empty()) {
        say("         " + cause);
      }
      out.why_not = fmt::format("{}{}", out.check.verdict, out.check.verdict == "proved" ? " without scope full" : "");
      return out;
    }
    TW_TRY(const bool built, build(candidate, out, input));
    if (!built) {
      return out;
    }
    TW_TRY(const bool tested, test(candidate, out, input));
    if (!tested) {
      return out;
    }
    TW_TRY_STATUS(estimate(out, input));
    return out;
  }

  Result<bool> build(const Candidate& candidate, Verified& out, const json::Object& input) {
    TW_TRY(const json::Value built, recorder_.step("build", input, [&] {
      const BuildOutcome outcome = build_candidate(*out.check.kernel, compiler_);
      return Recorder::Produced{outcome.to_json(candidate.reference, out.check.kernel->lowered.shared_bytes), nullptr};
    }));
    const bool is_ok = built.get_bool("ok") && *built.get_bool("ok");
    if (!is_ok) {
      out.why_not =
          "not built: " + (built.get_string("error") ? *built.get_string("error") : std::string("no reason given"));
      say("build    failed    " + out.why_not);
    }
    return is_ok;
  }

  Result<bool> test(const Candidate& candidate, Verified& out, const json::Object& input) {
    TW_TRY(const json::Value tested, recorder_.step("test", input, [&] {
      eval::EmulatorOptions options;
      options.seed = request_.seed;
      options.schedules = 3;
      options.distributions = 1;
      const eval::Evaluation evaluation = eval::evaluate_on_emulator(out.check.kernel->lowered, task_, options);
      json::Object output{{"candidate", candidate.reference},
                          {"ok", evaluation.is_correct()},
                          {"summary", evaluation.describe()},
                          {"evaluation", evaluation.to_json()}};
      return Recorder::Produced{std::move(output), nullptr};
    }));
    const bool is_ok = tested.get_bool("ok") && *tested.get_bool("ok");
    if (!is_ok) {
      out.why_not = tested.get_string("summary") ? *tested.get_string("summary") : "the test failed";
      say("test     failed    " + out.why_not);
    }
    return is_ok;
  }

  Status estimate(Verified& out, const json::Object& input) {
    TW_TRY(const json::Value estimated, recorder_.step("estimate", input, [&] {
      const auto e = profile::estimate(out.check.kernel->lowered, eval::sizes_of(task_, task_.headline_shape));
      json::Object output{{"candidate", input.find("candidate")->as_string()}};
      if (e) {
        output.set("estimate", json::Object{{"us", e->us},
                                            {"label", "estimate"},
                                            {"bound", profile::name_of(e->bound)},
                                            {"waves", e->waves},
                                            {"resident_blocks", e->resident_blocks}});
      } else {
        output.set("error", e.error().message);
      }
      return Recorder::Produced{std::move(output), nullptr};
    }));
    const json::Value* e = estimated.find("estimate");
    if (e == nullptr) {
      out.why_not = "no estimate";
      return {};
    }
    out.us = e->get_double("us") ? *e->get_double("us") : 0;
    out.bound = e->get_string("bound") ? *e->get_string("bound") : "";
    out.is_good = out.us > 0;
    say(fmt::format("estimate {:>8.1f} us at {} (estimate, bound by {})", out.us,
                    task::print_shape(task_, task_.headline_shape), out.bound));
    return {};
  }

  // Keep the best; say why.
  Status decide(const Candidate& candidate, const Verified& verified, bool is_first, bool is_stone = false) {
    const double best_us = result_.best ? result_.best->estimate_us : 0;
    bool accepted = false;
    std::string reason;
    if (!verified.is_good) {
      reason = verified.why_not;
    } else if (!result_.best) {
      accepted = true;
      reason = is_first ? "the first proved kernel" : "proved";
    } else if (verified.us <= best_us * kGain) {
      accepted = true;
      reason = fmt::format("{:.2f}x by estimate", best_us / verified.us);
    } else if (is_stone && verified.us <= best_us * kSteppingStone) {
      accepted = true;
      reason = "as fast by estimate, and other moves build on it";
    } else {
      reason = fmt::format("not faster by estimate ({:.1f} us against {:.1f} us)", verified.us, best_us);
    }
    const json::Object input{{"candidate", candidate.reference}, {"us", verified.us}, {"best_us", best_us}};
    TW_TRY(const json::Value decided, recorder_.step("decide", input, [&] {
      json::Object output{{"candidate", candidate.reference}, {"accepted", accepted}, {"reason", reason}};
      return Recorder::Produced{std::move(output), nullptr};
    }));
    static_cast<void>(decided);
    say(fmt::format("decide   {:<9} {}", accepted ? "accepted" : "rejected", reason));
    if (accepted) {
      BestKernel kernel{candidate.text, candidate.reference,      verified.us,
                        verified.bound, verified.check.narrowing, candidate.moves};
      if (kernel.narrowing.empty() && (!result_.general || kernel.estimate_us <= result_.general->estimate_us)) {
        result_.general = kernel;
      }
      result_.best = std::move(kernel);
    } else if (verified.is_good && verified.check.narrowing.empty() &&
               (!result_.general || verified.us < result_.general->estimate_us)) {
      // Slower than the best, but valid where the best is not.
      result_.general =
          BestKernel{candidate.text, candidate.reference, verified.us, verified.bound, {}, candidate.moves};
    }
    return {};
  }

  // --- moves

  Result<syntax::Module> parse(const std::string& text) {
    diag::SourceManager sources;
    diag::Sink sink;
    auto module = syntax::parse(sources, sources.add("kernel.tw.py", text), sink);
    if (!module) {
      return fail("the program does not parse");
    }
    return *std::move(module);
  }

  [[nodiscard]] bool is_on_menu(std::string_view move) const {
    return std::ranges::find(request_.without_moves, move) == request_.without_moves.end();
  }

  // Rounds over the menu. In each, every move that applies to the best is tried in its ways until one is accepted.
  Status climb() {
    for (int round = 0; round < kMostRounds; ++round) {
      bool improved = false;
      for (const rewrite::Move& move : rewrite::moves()) {
        if (!is_on_menu(move.name)) {
          continue;
        }
        TW_TRY(const bool accepted, try_move(move));
        improved = improved || accepted;
        if (is_over()) {
          return {};
        }
      }
      if (!improved) {
        result_.reason = "no move helps any more";
        return {};
      }
    }
    result_.reason = fmt::format("{} rounds over the menu", kMostRounds);
    return {};
  }

  Result<bool> try_move(const rewrite::Move& move) {
    TW_TRY(const syntax::Module module, parse(result_.best->text));
    const Candidate parent{result_.best->text, result_.best->reference, result_.best->moves};
    for (rewrite::Rewritten& way : move.apply(module)) {
      const std::string text = syntax::print(way.module);
      // The same text is never looked at twice.
      if (!seen_.insert(sha256_hex(text)).second) {
        continue;
      }
      TW_TRY(Candidate candidate, record_draft(text, way.move, parent, way.title));
      say(fmt::format("move     {}: {}", way.move, way.title));
      TW_TRY(const Verified verified, evaluate(candidate));
      const std::string before = result_.best->reference;
      TW_TRY_STATUS(decide(candidate, verified, false, is_stepping_stone(move.name)));
      if (is_over()) {
        return false;
      }
      if (result_.best->reference != before) {
        return true;
      }
    }
    return false;
  }

  // A wrong program: single edits near the counterexample, each checked, until one is proved. When none is, the one
  // that fails fewest obligations is tried once more.
  Result<std::optional<Candidate>> mend(const Candidate& wrong, const Verified& verified) {
    TW_TRY(
        const json::Value mended,
        recorder_.step("debug", json::Object{{"candidate", wrong.reference}, {"failure", verified.check.diagnostics}},
                       [&] { return search_repair(wrong, verified); }));
    auto reference = mended.get_string("candidate");
    if (!reference || *reference == wrong.reference) {
      say("debug    no edit of the menu proves it");
      return std::optional<Candidate>();
    }
    TW_TRY(const std::string text, recorder_.get(*reference));
    Candidate out{text, *reference, wrong.moves};
    const std::string title = mended.get_string("title") ? *mended.get_string("title") : "";
    out.moves.push_back("repair: " + title);
    say("debug    mended: " + title);
    return std::optional(std::move(out));
  }

  static size_t failures(const CheckOutcome& check) {
    if (!check.report) {
      return 1000;
    }
    return static_cast<size_t>(std::ranges::count_if(
        check.report->obligations, [](const verify::Obligation& o) { return o.verdict != verify::Verdict::Proved; }));
  }

  Recorder::Produced search_repair(const Candidate& wrong, const Verified& verified) {
    std::string base = wrong.text;
    std::vector<diag::Span> places = verified.check.places;
    size_t least = failures(verified.check);
    std::string titles;
    json::Array tried;
    for (int depth = 0; depth < 2; ++depth) {
      auto module = parse(base);
      if (!module) {
        break;
      }
      std::string closest;
      std::string closest_title;
      std::vector<diag::Span> closest_places;
      size_t count = 0;
      for (rewrite::Rewritten& edit : rewrite::repairs(*module, places)) {
        if (++count > kMostRepairs) {
          break;
        }
        const std::string text = syntax::print(edit.module);
        CheckOutcome check = check_candidate(text, task_, request_.target, Evidence::ProofOnly);
        tried.push_back(json::Object{{"title", edit.title}, {"verdict", check.verdict}});
        if (check.is_proved()) {
          titles += (titles.empty() ? "" : "; ") + edit.title;
          return mended(wrong, text, titles, std::move(tried));
        }
        if (failures(check) < least) {
          least = failures(check);
          closest = text;
          closest_title = edit.title;
          closest_places = check.places;
        }
      }
      if (closest.empty()) {
        break;
      }
      base = closest;
      places = closest_places;
      titles += (titles.empty() ? "" : "; ") + closest_title;
    }
    return {
        json::Object{
            {"candidate", wrong.reference}, {"parent", wrong.reference}, {"move", "fix"}, {"tried", std::move(tried)}},
        nullptr};
  }

  Recorder::Produced mended(const Candidate& wrong, const std::string& text, const std::string& title,
                            json::Array tried) {
    auto reference = recorder_.put(text);
    json::Object output{{"candidate", reference ? *reference : wrong.reference},
                        {"parent", wrong.reference},
                        {"move", "fix"},
                        {"title", title},
                        {"diff", unified_diff("parent.tw.py", "kernel.tw.py", wrong.text, text)},
                        {"language", "tile"},
                        {"tried", std::move(tried)}};
    return {std::move(output), nullptr};
  }

  // --- budget and talk

  [[nodiscard]] bool is_over() {
    if (os::interrupt_requested()) {
      result_.is_interrupted = true;
      return true;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (request_.max_steps > 0 && recorder_.step_count() >= request_.max_steps) {
      result_.reason = "the budget of steps is used up";
      return true;
    }
    if (request_.max_seconds > 0 && seconds > request_.max_seconds) {
      result_.reason = "the budget of time is used up";
      return true;
    }
    return false;
  }

  void finish() {
    if (!result_.best) {
      result_.reason = result_.reason.empty() ? "no candidate was proved" : result_.reason;
    }
  }

  void say(const std::string& line) const {
    if (progress_.say) {
      progress_.say(line);
    }
  }

  // The first line of rendered diagnostics that has a code.
  [[nodiscard]] static std::string first_cause(const std::string& diagnostics) {
    const size_t code = diagnostics.find(" TW");
    if (code == std::string::npos) {
      return "";
    }
    return diagnostics.substr(code + 1, diagnostics.find('\n', code) - code - 1);
  }

  [[nodiscard]] static std::string summary(const Candidate& candidate) {
    return candidate.moves.empty() ? std::string() : candidate.moves.back();
  }

  const task::Task& task_;
  const Request& request_;
  Recorder& recorder_;
  toolchain::CudaCompiler* compiler_;
  const Progress& progress_;
  std::chrono::steady_clock::time_point start_;
  RunResult result_;
  std::set<std::string> seen_;
};

}  // namespace

json::Value to_json(const Request& request, const task::Task& task) {
  json::Array without;
  for (const std::string& move : request.without_moves) {
    without.push_back(move);
  }
  return json::Object{{"task", json::Object{{"path", task.path}, {"hash", task.content_hash}, {"text", task.text}}},
                      {"author", "builtin"},
                      {"language", "tile"},
                      {"target", request.target},
                      {"on", "emulator"},
                      {"seed", request.seed},
                      {"budget", json::Object{{"steps", request.max_steps}, {"seconds", request.max_seconds}}},
                      {"from", request.from_text},
                      {"without", std::move(without)},
                      {"planner", "off"}};
}

Result<Request> request_from_json(const json::Value& config) {
  Request out;
  TW_TRY(out.target, config.get_string("target"));
  TW_TRY(out.from_text, config.get_string("from"));
  TW_TRY(const int64_t seed, config.get_int("seed"));
  out.seed = static_cast<uint64_t>(seed);
  TW_TRY(const json::Object* budget, config.get_object("budget"));
  const json::Value budget_value(*budget);
  TW_TRY(out.max_steps, budget_value.get_int("steps"));
  TW_TRY(out.max_seconds, budget_value.get_double("seconds"));
  TW_TRY(const json::Array* without, config.get_array("without"));
  for (const json::Value& move : *without) {
    if (move.is_string()) {
      out.without_moves.push_back(move.as_string());
    }
  }
  return out;
}

Result<RunResult> run_loop(const task::Task& task, const Request& request, Recorder& recorder,
                           toolchain::CudaCompiler* compiler, const Progress& progress) {
  return Loop(task, request, recorder, compiler, progress).run();
}

}  // namespace tw::agent
