// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/file_lock.h"

// The record of every run: an append-only SQLite file plus files named by the SHA-256 of their content.
//
//   FOLDER/runs.sqlite        runs, their steps, their changes of state; nothing is ever updated or deleted
//   FOLDER/blobs/ab/abcd...   kernels, counterexamples, logs
//   FOLDER/locks/RUN.lock     held (flock) by the one process that advances the run
//
// A step is on disk when `append_step` returns, also after a power cut; a process killed at any instant loses at most
// the step that it had not appended yet. The kernel drops a dead process's lock, so its run reads as interrupted at
// once.
namespace tw::store {

constexpr int kSchemaVersion = 1;

enum class ErrorKind : uint8_t {
  // The folder or file cannot be used: permissions, full disk, no such folder.
  Unavailable,
  // Written by another version of the schema.
  Version,
  // Not a store, or its content contradicts itself.
  Damaged,
  NotFound,
  // Another process advances the run.
  Busy,
};

struct StoreError {
  ErrorKind kind = ErrorKind::Unavailable;
  Error error;
};

template <class T>
using Outcome = Result<T, StoreError>;

enum class RunState : uint8_t { Running, Waiting, Interrupted, Done, Failed };
std::string_view name_of(RunState state);
std::optional<RunState> run_state_of(std::string_view name);
constexpr bool is_finished(RunState state) {
  return state == RunState::Done || state == RunState::Failed;
}

struct Run {
  std::string id;
  std::string task;
  // As it is now: a run recorded as running whose process is gone is Interrupted.
  RunState state = RunState::Running;
  // What was asked for (`tw.run/1`, docs/store.md).
  json::Value config;
  // What the last change of state said: best candidate, reason, ...
  json::Value summary;
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
  int64_t step_count = 0;
  // Of the process that recorded the last change of state.
  int64_t process_id = 0;
};

struct Step {
  int64_t index = 0;
  // draft, check, build, test, measure, estimate, decide, debug
  std::string kind;
  json::Value input;
  json::Value output;
  double time_ms = 0;
  // usd, tokens, ... ; null when the step cost nothing.
  json::Value cost;
  int64_t created_ms = 0;
};

// The right to advance one run, for as long as it lives.
class RunLock {
 public:
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

 private:
  friend class Store;
  RunLock(std::string run_id, os::FileLock lock) : run_id_(std::move(run_id)), lock_(std::move(lock)) {}
  std::string run_id_;
  os::FileLock lock_;
};

enum class Access : uint8_t { ReadWrite, ReadOnly };

class Store {
 public:
  // ReadWrite makes the folder and file when they are missing; ReadOnly also reads a store on a read-only file system.
  static Outcome<Store> open(const std::string& folder, Access access = Access::ReadWrite);
  // `flag` (the value of --store) when it is not empty, else $XDG_STATE_HOME/tilewright, else
  // ~/.local/state/tilewright.
  static Outcome<std::string> default_folder(const std::string& flag);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  [[nodiscard]] const std::string& folder() const;

  // A new run, locked, in state Running.
  Outcome<RunLock> create_run(std::string_view task, const json::Value& config);
  // Busy when another process holds it.
  Outcome<RunLock> lock_run(const std::string& run_id);

  // Oldest first.
  Outcome<std::vector<Run>> runs();
  Outcome<Run> run(const std::string& run_id);
  // Full id, or a prefix or suffix that only one run has.
  Outcome<std::string> resolve(std::string_view name);
  // The newest run that is neither done nor failed.
  Outcome<std::optional<std::string>> newest_unfinished();

  // Appends the next step and returns its index; `step.index` and `step.created_ms` are set here.
  Outcome<int64_t> append_step(const RunLock& lock, Step step);
  Outcome<void> set_state(const RunLock& lock, RunState state, const json::Value& summary);
  Outcome<std::vector<Step>> steps(const std::string& run_id);
  Outcome<Step> step(const std::string& run_id, int64_t index);

  // Returns "sha256:" and 64 hexadecimal digits: what records hold in place of the content.
  Outcome<std::string> put_blob(std::string_view content);
  Outcome<std::string> blob(std::string_view reference);

  // What is wrong with the store, one sentence each; empty when nothing is. Checks the file's own structure, the hash
  // chain of each run, that every blob named by a step is there, and that every blob has the content it is named by.
  Outcome<std::vector<std::string>> check();

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tw::store
