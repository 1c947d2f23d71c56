// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <thread>

#include "os/files.h"
#include "os/signals.h"

namespace tw::os {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Command shell(std::string script) {
  Command command;
  command.argv = {"sh", "-c", std::move(script)};
  return command;
}

TEST(Process, output_and_exit_code_are_kept_apart) {
  ProcessOutcome outcome = *run_process(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.stdout_text, "out\n");
  EXPECT_EQ(outcome.stderr_text, "err\n");
  EXPECT_EQ(outcome.describe(), "exit code 3");
  EXPECT_GT(outcome.peak_memory_bytes, 0);
}

TEST(Process, large_input_and_output_do_not_deadlock) {
  Command command;
  command.argv = {"cat"};
  command.stdin_text = std::string(3'000'000, 'x');
  ProcessOutcome outcome = *run_process(command);
  EXPECT_TRUE(outcome.is_success());
  EXPECT_EQ(outcome.stdout_text, command.stdin_text);
  EXPECT_FALSE(outcome.is_stdout_cut);
}

TEST(Process, a_child_that_does_not_read_its_input_is_no_error) {
  Command command = shell("exit 0");
  command.stdin_text = std::string(3'000'000, 'x');
  EXPECT_TRUE(run_process(command)->is_success());
}

TEST(Process, output_beyond_the_limit_is_dropped) {
  Command command = shell("head -c 500000 /dev/zero; echo end >&2");
  command.max_stdout_bytes = 1000;
  ProcessOutcome outcome = *run_process(command);
  EXPECT_EQ(outcome.stdout_text.size(), 1000U);
  EXPECT_TRUE(outcome.is_stdout_cut);
  EXPECT_EQ(outcome.stderr_text, "end\n");
}

TEST(Process, the_time_limit_ends_the_whole_group) {
  TempFolder folder = *TempFolder::make("tilewright-test");
  Command command = shell("(sleep 1; touch " + folder.path() + "/late) & sleep 100");
  command.timeout = std::chrono::milliseconds(100);
  ProcessOutcome outcome = *run_process(command);
  EXPECT_TRUE(outcome.is_timed_out);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_LT(outcome.wall_ms, 5000);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  EXPECT_FALSE(exists(folder.path() + "/late"));
}

TEST(Process, a_grandchild_that_holds_the_pipe_does_not_hang_us) {
  ProcessOutcome outcome = *run_process(shell("sleep 100 & echo started"));
  EXPECT_TRUE(outcome.is_success());
  EXPECT_EQ(outcome.stdout_text, "started\n");
  EXPECT_LT(outcome.wall_ms, 5000);
}

TEST(Process, the_child_sees_only_allowed_variables) {
  ::setenv("SECRET_API_KEY", "hidden", 1);
  ::setenv("TW_A_ONE", "kept", 1);
  Command command;
  command.argv = {"env"};
  command.kept_variables = {"PATH", "TW_A_*"};
  command.set_variables = {{"EXTRA", "a b"}};
  std::string output = run_process(command)->stdout_text;
  EXPECT_THAT(output, Not(HasSubstr("hidden")));
  EXPECT_THAT(output, HasSubstr("TW_A_ONE=kept\n"));
  EXPECT_THAT(output, HasSubstr("EXTRA=a b\n"));
}

TEST(Process, the_working_folder_is_the_childs_alone) {
  Command command;
  command.argv = {"pwd"};
  command.working_folder = "/";
  EXPECT_EQ(run_process(command)->stdout_text, "/\n");
  command.working_folder = "/no/such";
  EXPECT_THAT(run_process(command).error().causes, ElementsAre("no such file or folder"));
}

TEST(Process, a_missing_program_is_an_error_with_its_name) {
  Command command;
  command.argv = {"tilewright-no-such-program"};
  Result<ProcessOutcome> result = run_process(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "cannot start `tilewright-no-such-program`");
  EXPECT_FALSE(find_program("/dev/null"));
  EXPECT_TRUE(find_program("sh"));
}

TEST(Process, a_signal_is_told_from_an_exit_code) {
  ProcessOutcome outcome = *run_process(shell("kill -SEGV $$"));
  EXPECT_EQ(outcome.signal, SIGSEGV);
  EXPECT_EQ(outcome.exit_code, -1);
  EXPECT_THAT(outcome.describe(), HasSubstr("signal 11"));
}

TEST(Process, the_file_size_limit_holds) {
  TempFolder folder = *TempFolder::make("tilewright-test");
  Command command;
  command.argv = {"dd", "if=/dev/zero", "of=" + folder.path() + "/big", "bs=1000", "count=100"};
  command.max_file_bytes = 5000;
  EXPECT_FALSE(run_process(command)->is_success());
  EXPECT_LE(*file_size_bytes(folder.path() + "/big"), 5000U);
}

TEST(Process, an_interrupt_ends_the_child) {
  catch_interrupts();
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::raise(SIGINT);
  });
  ProcessOutcome outcome = *run_process(shell("sleep 100"));
  later.join();
  EXPECT_TRUE(outcome.is_interrupted);
  EXPECT_LT(outcome.wall_ms, 5000);
  clear_interrupt();
}

}  // namespace
}  // namespace tw::os
