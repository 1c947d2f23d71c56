// SPDX-License-Identifier: Apache-2.0
// What happens to the store when processes are killed, run side by side, or find the disk full.
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/files.h"
#include "store/store.h"

namespace tw::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Step step_number(int64_t number, size_t padding = 300) {
  Step step;
  step.kind = "test";
  step.input = json::Value(json::Object{{"number", number}});
  step.output = json::Value(json::Object{{"text", std::string(padding, 'x')}});
  return step;
}

// A child process that runs `body` and ends with what it returns; REQUIRES: no store is open in this process.
pid_t start(const std::function<int()>& body) {
  pid_t child = fork();
  if (child == 0) {
    _exit(body());
  }
  return child;
}

int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Appends steps for ever and says on `fd` how many are stored.
int append_forever(const std::string& folder, const std::string& resume, int fd) {
  auto store = Store::open(folder);
  if (!store) {
    return 1;
  }
  auto lock = resume.empty() ? store->create_run("crash", json::Value(json::Object{})) : store->lock_run(resume);
  if (!lock) {
    return 2;
  }
  while (true) {
    auto reference = store->put_blob("candidate " + std::to_string(std::random_device{}()));
    if (!reference) {
      return 3;
    }
    Step step = step_number(0);
    step.output.set("candidate", *reference);
    auto index = store->append_step(*lock, step);
    if (!index) {
      return 4;
    }
    char byte = 1;
    if (write(fd, &byte, 1) != 1) {
      return 5;
    }
  }
}

TEST(StoreCrash, a_process_killed_at_any_instant_loses_at_most_the_step_in_flight) {
  auto temp = *os::TempFolder::make("tw-store-crash-");
  std::mt19937 random(static_cast<uint32_t>(getpid()));
  std::string run_id;
  int64_t stored = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe_fds[2];
    ASSERT_EQ(pipe(pipe_fds), 0);
    pid_t child = start([&] {
      close(pipe_fds[0]);
      return append_forever(temp.path(), run_id, pipe_fds[1]);
    });
    close(pipe_fds[1]);
    // Some rounds die while the store is being opened, most in the middle of a transaction or a blob.
    usleep(static_cast<useconds_t>(random() % 60000));
    kill(child, SIGKILL);
    ASSERT_EQ(exit_code(child), 128 + SIGKILL);
    char byte = 0;
    while (read(pipe_fds[0], &byte, 1) == 1) {
      ++stored;
    }
    close(pipe_fds[0]);
    auto store = Store::open(temp.path());
    ASSERT_TRUE(store.has_value()) << store.error().error.message;
    EXPECT_THAT(*store->check(), IsEmpty());
    auto runs = store->runs();
    ASSERT_TRUE(runs.has_value());
    if (runs->empty()) {
      ASSERT_EQ(stored, 0);
      continue;
    }
    ASSERT_EQ(runs->size(), 1U);
    run_id = (*runs)[0].id;
    EXPECT_EQ((*runs)[0].state, RunState::Interrupted);
    EXPECT_EQ(**store->newest_unfinished(), run_id);
    int64_t found = static_cast<int64_t>(store->steps(run_id)->size());
    // The last one may be on disk although the process died before it could say so.
    ASSERT_GE(found, stored);
    ASSERT_LE(found, stored + 1);
    stored = found;
  }
  EXPECT_GT(stored, 0);
}

TEST(StoreCrash, only_one_process_advances_a_run_and_a_dead_one_lets_go) {
  auto temp = *os::TempFolder::make("tw-store-lock-");
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  pid_t child = start([&] { return append_forever(temp.path(), "", pipe_fds[1]); });
  close(pipe_fds[1]);
  char byte = 0;
  ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1);
  {
    auto store = Store::open(temp.path());
    ASSERT_TRUE(store.has_value());
    auto runs = store->runs();
    ASSERT_EQ(runs->size(), 1U);
    EXPECT_EQ((*runs)[0].state, RunState::Running);
    auto lock = store->lock_run((*runs)[0].id);
    ASSERT_FALSE(lock.has_value());
    EXPECT_EQ(lock.error().kind, ErrorKind::Busy);
    EXPECT_THAT(lock.error().error.message, HasSubstr(std::to_string(child)));
    kill(child, SIGKILL);
    EXPECT_EQ(exit_code(child), 128 + SIGKILL);
    EXPECT_EQ(store->run((*runs)[0].id)->state, RunState::Interrupted);
    EXPECT_TRUE(store->lock_run((*runs)[0].id).has_value());
  }
  close(pipe_fds[0]);
}

TEST(StoreCrash, processes_side_by_side_lose_nothing) {
  auto temp = *os::TempFolder::make("tw-store-many-");
  constexpr int kProcesses = 4;
  constexpr int kSteps = 15;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start([&] {
      auto store = Store::open(temp.path());
      if (!store) {
        return 1;
      }
      auto lock = store->create_run("many", json::Value(json::Object{}));
      for (int n = 0; lock && n < kSteps; ++n) {
        if (!store->append_step(*lock, step_number(n))) {
          return 2;
        }
      }
      return lock && store->set_state(*lock, RunState::Done, json::Value(json::Object{})) ? 0 : 3;
    }));
  }
  for (pid_t child : children) {
    EXPECT_EQ(exit_code(child), 0);
  }
  auto store = Store::open(temp.path());
  auto runs = store->runs();
  ASSERT_EQ(runs->size(), static_cast<size_t>(kProcesses));
  for (const store::Run& run : *runs) {
    EXPECT_EQ(run.state, RunState::Done);
    EXPECT_EQ(run.step_count, kSteps);
  }
  EXPECT_THAT(*store->check(), IsEmpty());
}

// A limit on file size stands in for the end of the disk: the write fails in the same place.
TEST(StoreCrash, a_full_disk_is_an_error_and_what_was_stored_stays) {
  auto temp = *os::TempFolder::make("tw-store-full-");
  pid_t child = start([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = Store::open(temp.path());
    auto lock = store->create_run("full", json::Value(json::Object{}));
    if (!lock || !store->append_step(*lock, step_number(0))) {
      return 1;
    }
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    rlimit small{200000, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    int64_t stored = 1;
    while (stored < 1000) {
      auto index = store->append_step(*lock, step_number(stored, 20000));
      if (!index) {
        const Error& error = index.error().error;
        if (error.causes.empty() || error.causes[0].find("full") == std::string::npos) {
          return 2;
        }
        break;
      }
      ++stored;
    }
    if (stored < 2 || stored == 1000 || store->put_blob(std::string(300000, 'b')).has_value()) {
      return 3;
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    // With room again the run goes on where it stood.
    auto index = store->append_step(*lock, step_number(stored));
    return index && *index == stored && store->check()->empty() ? 0 : 4;
  });
  EXPECT_EQ(exit_code(child), 0);
}

}  // namespace
}  // namespace tw::store
