// SPDX-License-Identifier: Apache-2.0
// The only file that sees CLI11: it is slow to compile.
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

#include "cli/version.h"

namespace tw::cli {
namespace {

// NAME=INTEGER.
std::pair<std::string, int64_t> parse_assignment(const std::string& text) {
  const size_t equals = text.find('=');
  int64_t value = 0;
  if (equals == std::string::npos || equals == 0) {
    throw CLI::ValidationError("expected NAME=VALUE, found `" + text + "`");
  }
  const char* begin = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) {
    throw CLI::ValidationError("the value in `" + text + "` is not a 64-bit integer");
  }
  return {text.substr(0, equals), value};
}

std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == std::string::npos;
  if (is_plain) {
    return word;
  }
  std::string out = "'";
  for (char c : word) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

class Grammar {
 public:
  Grammar() : app_("Writes GPU kernels that are fast and proved to move their data correctly.", "tilewright") {
    app_.set_version_flag("--version", version_text());
    app_.require_subcommand(1);
    app_.option_defaults()->always_capture_default();
    check();
    emit();
    run();
    optimize();
    runs();
    bench();
    small_commands();
  }

  CLI::App& app() { return app_; }
  Options& options() { return options_; }

  // CLI callbacks hold text; integers are read here, after parsing.
  void finish() {
    if (run_option_ != nullptr && run_option_->count() > 0) {
      options_.files.push_back(run_text_);
    }
    for (const std::string& text : parameter_texts_) {
      options_.parameters.push_back(parse_assignment(text));
    }
    for (const std::string& text : size_texts_) {
      options_.sizes.push_back(parse_assignment(text));
    }
    options_.format = format_ == "json" ? Format::Json : Format::Text;
    options_.command = app_.get_subcommands().front()->get_name();
    for (CLI::App* sub = app_.get_subcommands().front(); !sub->get_subcommands().empty();) {
      sub = sub->get_subcommands().front();
      options_.command += " " + sub->get_name();
    }
    if (resume_option_ != nullptr && resume_option_->count() > 0) {
      options_.resume = resume_text_;
    }
  }

 private:
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& text) {
    CLI::App* sub = parent.add_subcommand(name, text);
    sub->add_option("--format", format_, "text or json")->check(CLI::IsMember({"text", "json"}));
    return sub;
  }
  void files(CLI::App* sub, const std::string& what, bool several) {
    CLI::Option* option = sub->add_option(several ? "FILES" : "FILE", options_.files, what)->required();
    if (!several) {
      option->expected(1);
    }
  }
  void target_and_parameters(CLI::App* sub) {
    sub->add_option("--target", options_.target, "machine to lower for (sm_80, sm_90a); default: the kernel's own");
    sub->add_option("--param", parameter_texts_, "NAME=VALUE: bind a const parameter")->expected(1)->take_all();
  }
  void store(CLI::App* sub) { sub->add_option("--store", options_.store, "folder of the run store"); }

  void check() {
    CLI::App* sub = command(app_, "check", "prove or refute kernels");
    files(sub, "tile programs", true);
    target_and_parameters(sub);
    sub->add_option("--task", options_.task, "task that the kernel is to compute: one more obligation");
    sub->add_option("--effort", options_.effort, "solver budget a query, in deterministic steps; 0: the default");
    sub->add_option("--cex", options_.cex_folder, "folder to write counterexamples to");
    sub->add_flag("--fix", options_.wants_fix, "apply fix-its that were re-checked");
    sub->add_flag("--no-cache{false}", options_.has_cache, "do not use or write the verdict cache");
  }
  void emit() {
    CLI::App* sub = command(app_, "emit", "write a kernel as CUDA source, PTX, a cubin or SASS");
    files(sub, "tile program", false);
    target_and_parameters(sub);
    sub->add_option("--to", options_.emit_to, "cuda, ptx, cubin or sass")
        ->check(CLI::IsMember({"cuda", "ptx", "cubin", "sass"}));
    sub->add_option("-o,--output", options_.output, "file to write; default: standard output");
  }
  void run() {
    CLI::App* sub = command(app_, "run", "execute a kernel and compare it with its meaning or a task");
    files(sub, "tile program", false);
    target_and_parameters(sub);
    sub->add_option("--task", options_.task, "task whose reference judges the output");
    sub->add_option("--on", options_.on, "emulator (default) or gpu");
    sub->add_option("--seed", options_.seed, "seed of inputs and schedules");
    sub->add_option("--replay", options_.replay, "counterexample to replay");
    sub->add_option("--size", size_texts_, "NAME=VALUE: size of a dimension")->expected(1)->take_all();
  }
  void optimize() {
    CLI::App* sub = command(app_, "optimize", "draft, prove, test and improve a kernel for a task");
    files(sub, "task", false);
    sub->get_option("FILE")->required(false);
    sub->add_option("--target", options_.target, "machine to optimize for; default: the task's");
    sub->add_option("--from", options_.from, "start from this tile program");
    sub->add_option("--author", options_.author, "builtin")->check(CLI::IsMember({"builtin"}));
    sub->add_option("--language", options_.language, "tile")->check(CLI::IsMember({"tile"}));
    sub->add_option("--on", options_.on, "emulator (default) or gpu");
    sub->add_option("--budget", options_.budget, "time=10m,steps=60");
    sub->add_option("--without", options_.without_moves, "leave a move out of the menu")->expected(1)->take_all();
    sub->add_option("--seed", options_.seed, "seed of test inputs and schedules");
    resume_option_ =
        sub->add_option("--resume", resume_text_, "go on with a run; without a value the newest unfinished one");
    resume_option_->expected(0, 1);
    sub->add_flag("--dry-run", options_.is_dry_run, "print the plan and stop");
    sub->add_option("-o,--output", options_.output, "folder for the results");
    store(sub);
  }
  void runs() {
    CLI::App* sub = command(app_, "runs", "list the runs of the store");
    store(sub);
    sub->require_subcommand(0, 1);
    CLI::App* diff = command(*sub, "diff", "compare two runs");
    diff->add_option("RUNS", options_.files, "two runs")->required()->expected(2);
    store(diff);
    for (const char* name : {"status", "report", "export"}) {
      CLI::App* one = command(app_, name, std::string(name) + " of a run");
      files(one, "run", false);
      store(one);
      one->add_option("-o,--output", options_.output, "where to write");
    }
    CLI::App* show = command(app_, "show", "one step of a run");
    // Not files(): of two positional options the first, a list, would take both.
    run_option_ = show->add_option("RUN", run_text_, "run")->required();
    show->add_option("STEP", options_.step, "number of the step; default: all");
    store(show);
  }
  void bench() {
    CLI::App* sub = command(app_, "bench", "measure: mutants");
    files(sub, "suite, then kernel files (default: those shipped)", true);
    sub->add_option("--only", options_.only, "OPERATOR or OPERATOR:PLACE: these mutants alone");
    sub->add_option("--seed", options_.seed, "seed of the choice");
    sub->add_option("--count", options_.mutants, "how many mutants; 0: the suite's default");
    sub->add_option("--on", options_.on, "emulator or gpu");
    sub->add_option("-o,--output", options_.output, "file to write the record to");
  }
  void small_commands() {
    CLI::App* layout = command(app_, "layout", "print the layout of a tile");
    files(layout, "tile program", false);
    layout->add_option("--tile", options_.tile, "name of a shared or register tile")->required();
    target_and_parameters(layout);
    CLI::App* show_cex = command(app_, "show-cex", "print a counterexample");
    files(show_cex, "counterexample", false);
    CLI::App* explain = command(app_, "explain", "print the page of a diagnostic code");
    explain->add_option("CODE", options_.files, "TWnnnn")->required()->expected(1);
    command(app_, "doctor", "say what this machine can do");
  }

  CLI::App app_;
  Options options_;
  std::string format_ = "text";
  std::vector<std::string> parameter_texts_;
  std::string run_text_;
  CLI::Option* run_option_ = nullptr;
  std::vector<std::string> size_texts_;
  CLI::Option* resume_option_ = nullptr;
  std::string resume_text_;
};

}  // namespace

Parsed parse_options(int argc, char** argv) {
  Grammar grammar;
  try {
    grammar.app().parse(argc, argv);
    grammar.finish();
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, ExitCode::Good, grammar.app().help()};
  } catch (const CLI::CallForAllHelp&) {
    return {std::nullopt, ExitCode::Good, grammar.app().help("", CLI::AppFormatMode::All)};
  } catch (const CLI::CallForVersion&) {
    return {std::nullopt, ExitCode::Good, version_text() + "\n"};
  } catch (const CLI::Error& error) {
    std::cerr << "tilewright: error[TW8001]: the command line is not understood: " << error.what()
              << "\n  see `tilewright --help`, or `tilewright COMMAND --help`\n";
    return {std::nullopt, ExitCode::Usage, {}};
  }
  Options options = std::move(grammar.options());
  options.command_line = "tilewright";
  for (int i = 1; i < argc; ++i) {
    options.command_line += " " + quoted(argv[i]);
  }
  return {std::move(options), ExitCode::Good, {}};
}

}  // namespace tw::cli
