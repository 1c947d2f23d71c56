// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/strings.h"
#include "os/clock.h"
#include "os/env.h"
#include "os/errors.h"
#include "os/file_descriptor.h"
#include "os/files.h"
#include "os/signals.h"

extern char** environ;

namespace tw::os {
namespace {

constexpr int kPollMs = 20;

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(system_error("cannot make a pipe", errno));
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool is_kept(std::string_view name, const std::vector<std::string>& kept) {
  return std::ranges::any_of(kept, [&](std::string_view pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  });
}

std::vector<std::string> child_environment(const Command& command) {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    bool is_replaced = std::ranges::any_of(command.set_variables, [&](const auto& set) { return set.first == name; });
    if (is_kept(name, command.kept_variables) && !is_replaced) {
      variables.emplace_back(text);
    }
  }
  for (const auto& [name, value] : command.set_variables) {
    variables.push_back(name + "=" + value);
  }
  return variables;
}

std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Writing to a child that no longer reads must give EPIPE instead of ending us, without touching the handlers of other
// threads: the signal goes to the writing thread, so blocking it here and eating it is enough.
class BrokenPipeGuard {
 public:
  BrokenPipeGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BrokenPipeGuard() {
    timespec none{};
    while (sigtimedwait(&pipe_, nullptr, &none) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  [[nodiscard]] const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

struct ChildPlan {
  char* const* argv;
  char* const* envp;
  const char* program;
  const char* working_folder;
  int in_fd;
  int out_fd;
  int err_fd;
  int report_fd;
  pid_t parent;
  uint64_t max_memory_bytes;
  uint64_t max_file_bytes;
  sigset_t mask;
};

// Between fork and exec of a process with threads: system calls only, no allocation.
[[noreturn]] void become_child(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) {
    _exit(127);
  }
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  sigprocmask(SIG_SETMASK, &plan.mask, nullptr);
  auto limit = [](__rlimit_resource resource, uint64_t value) {
    rlimit both{value, value};
    return value == 0 || setrlimit(resource, &both) == 0;
  };
  bool is_ready = dup2(plan.in_fd, 0) >= 0 && dup2(plan.out_fd, 1) >= 0 && dup2(plan.err_fd, 2) >= 0 &&
                  (plan.working_folder == nullptr || chdir(plan.working_folder) == 0) &&
                  limit(RLIMIT_AS, plan.max_memory_bytes) && limit(RLIMIT_FSIZE, plan.max_file_bytes);
  if (is_ready) {
    execve(plan.program, plan.argv, plan.envp);
  }
  int error = errno;
  ssize_t ignored = write(plan.report_fd, &error, sizeof error);
  static_cast<void>(ignored);
  _exit(127);
}

// Reads what is there; false at the end of the stream.
bool drain(FileDescriptor& fd, std::string& text, size_t max_bytes, bool& is_cut) {
  char buffer[1 << 16];
  ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
  if (count < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  size_t room = max_bytes - std::min(max_bytes, text.size());
  text.append(buffer, std::min(room, static_cast<size_t>(count)));
  is_cut = is_cut || static_cast<size_t>(count) > room;
  return count > 0;
}

void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

class Supervisor {
 public:
  Supervisor(const Command& command, pid_t child, FileDescriptor in, FileDescriptor out, FileDescriptor err)
      : command_(command),
        child_(child),
        in_(std::move(in)),
        out_(std::move(out)),
        err_(std::move(err)),
        unsent_(command.stdin_text) {
    set_non_blocking(in_.get());
    set_non_blocking(out_.get());
    set_non_blocking(err_.get());
  }

  ProcessOutcome run() {
    bool is_killed = false;
    while (!has_ended_ || out_.is_open() || err_.is_open()) {
      exchange();
      reap();
      if (has_ended_) {
        // A grandchild may hold the pipes open for ever; what it already wrote is still read.
        ::kill(-child_, SIGKILL);
        while (exchange_once(0)) {
        }
        break;
      }
      bool is_late =
          command_.timeout.count() > 0 && stopwatch_.elapsed_ms() >= static_cast<double>(command_.timeout.count());
      if (!is_killed && (is_late || interrupt_requested())) {
        outcome_.is_timed_out = is_late;
        outcome_.is_interrupted = !is_late;
        is_killed = true;
        ::kill(-child_, SIGKILL);
      }
    }
    outcome_.wall_ms = stopwatch_.elapsed_ms();
    return std::move(outcome_);
  }

 private:
  void exchange() {
    if (!exchange_once(kPollMs) && !out_.is_open() && !err_.is_open()) {
      // Nothing left to wait on: the process closed its output and is ending, or runs on silently.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // One round of input and output; true when bytes moved.
  bool exchange_once(int wait_ms) {
    if (unsent_.empty()) {
      static_cast<void>(in_.close());
    }
    pollfd polled[3] = {{in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    if (!in_.is_open() && !out_.is_open() && !err_.is_open()) {
      return false;
    }
    if (::poll(polled, 3, wait_ms) <= 0) {
      return false;
    }
    size_t before = outcome_.stdout_text.size() + outcome_.stderr_text.size() + unsent_.size();
    bool was_cut = false;
    if (polled[0].revents != 0) {
      ssize_t count = ::write(in_.get(), unsent_.data(), unsent_.size());
      if (count >= 0) {
        unsent_.remove_prefix(static_cast<size_t>(count));
      } else if (errno != EINTR && errno != EAGAIN) {
        unsent_ = {};
        static_cast<void>(in_.close());
      }
    }
    if (polled[1].revents != 0 &&
        !drain(out_, outcome_.stdout_text, command_.max_stdout_bytes, outcome_.is_stdout_cut)) {
      static_cast<void>(out_.close());
    }
    if (polled[2].revents != 0 &&
        !drain(err_, outcome_.stderr_text, command_.max_stderr_bytes, outcome_.is_stderr_cut)) {
      static_cast<void>(err_.close());
    }
    was_cut = outcome_.is_stdout_cut || outcome_.is_stderr_cut;
    return was_cut || before != outcome_.stdout_text.size() + outcome_.stderr_text.size() + unsent_.size();
  }

  void reap() {
    int status = 0;
    rusage usage{};
    if (has_ended_ || ::wait4(child_, &status, WNOHANG, &usage) != child_) {
      return;
    }
    has_ended_ = true;
    outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome_.peak_memory_bytes = int64_t{usage.ru_maxrss} * 1024;
  }

  const Command& command_;
  pid_t child_;
  FileDescriptor in_;
  FileDescriptor out_;
  FileDescriptor err_;
  std::string_view unsent_;
  Stopwatch stopwatch_;
  ProcessOutcome outcome_;
  bool has_ended_ = false;
};

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return ::access(name.c_str(), X_OK) == 0 && is_regular_file(name) ? std::optional(name) : std::nullopt;
  }
  std::string path = get_env("PATH").value_or("/usr/bin:/bin");
  for (std::string_view folder : split(path, ':')) {
    std::string candidate = join_path(folder.empty() ? "." : folder, name);
    if (!name.empty() && ::access(candidate.c_str(), X_OK) == 0 && is_regular_file(candidate)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::string ProcessOutcome::describe() const {
  if (is_timed_out) {
    return "stopped after its time limit";
  }
  if (is_interrupted) {
    return "stopped by an interrupt";
  }
  if (signal != 0) {
    return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exit code {}", exit_code);
}

Result<ProcessOutcome> run_process(const Command& command) {
  TW_CHECK(!command.argv.empty());
  std::string doing = fmt::format("cannot start `{}`", command.argv[0]);
  std::optional<std::string> program = find_program(command.argv[0]);
  if (!program) {
    return fail(Error{doing, {"no such program, or it may not be executed"}});
  }
  if (!command.working_folder.empty() && !program->starts_with('/')) {
    TW_TRY(program, real_path(*program));
  }
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = child_environment(command);
  std::vector<char*> argv = c_strings(arguments);
  std::vector<char*> envp = c_strings(variables);
  TW_TRY(Pipe in, make_pipe());
  TW_TRY(Pipe out, make_pipe());
  TW_TRY(Pipe err, make_pipe());
  TW_TRY(Pipe report, make_pipe());
  BrokenPipeGuard guard;
  ChildPlan plan{argv.data(),
                 envp.data(),
                 program->c_str(),
                 command.working_folder.empty() ? nullptr : command.working_folder.c_str(),
                 in.read_end.get(),
                 out.write_end.get(),
                 err.write_end.get(),
                 report.write_end.get(),
                 ::getpid(),
                 command.max_memory_bytes,
                 command.max_file_bytes,
                 guard.mask_before()};
  pid_t child = ::fork();
  if (child < 0) {
    return fail(system_error(doing, errno));
  }
  if (child == 0) {
    become_child(plan);
  }
  // In both processes, so that the group exists whichever runs first.
  ::setpgid(child, child);
  static_cast<void>(in.read_end.close());
  static_cast<void>(out.write_end.close());
  static_cast<void>(err.write_end.close());
  static_cast<void>(report.write_end.close());
  // Ends without a byte when exec succeeds, for exec closes it.
  int child_error = 0;
  ssize_t reported = 0;
  do {
    reported = ::read(report.read_end.get(), &child_error, sizeof child_error);
  } while (reported < 0 && errno == EINTR);
  if (reported == sizeof child_error) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return fail(system_error(doing, child_error));
  }
  return Supervisor(command, child, std::move(in.write_end), std::move(out.read_end), std::move(err.read_end)).run();
}

}  // namespace tw::os
