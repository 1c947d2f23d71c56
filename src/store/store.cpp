// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <set>
#include <unistd.h>

#include "base/sha256.h"
#include "os/clock.h"
#include "os/env.h"
#include "os/errors.h"
#include "os/files.h"
#include "store/database.h"

namespace tw::store {
namespace {

// "twrn": tells our file from somebody else's.
constexpr int64_t kApplicationId = 0x7477726e;
constexpr std::chrono::milliseconds kOpenTimeout{20000};
// Longer than another process needs to look whether a run is alive.
constexpr std::chrono::milliseconds kLockTimeout{1500};
constexpr std::string_view kBlobPrefix = "sha256:";

constexpr std::string_view kSchema = R"sql(
CREATE TABLE runs(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  task TEXT NOT NULL,
  config TEXT NOT NULL,
  created_ms INTEGER NOT NULL);
CREATE TABLE events(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES runs(id),
  state TEXT NOT NULL,
  summary TEXT NOT NULL,
  process_id INTEGER NOT NULL,
  created_ms INTEGER NOT NULL);
CREATE INDEX events_by_run ON events(run_id, seq);
CREATE TABLE steps(
  run_id TEXT NOT NULL REFERENCES runs(id),
  idx INTEGER NOT NULL,
  kind TEXT NOT NULL,
  input TEXT NOT NULL,
  output TEXT NOT NULL,
  time_ms REAL NOT NULL,
  cost TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY(run_id, idx)) WITHOUT ROWID;
CREATE TRIGGER runs_keep BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'runs are append-only'); END;
CREATE TRIGGER runs_stay BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'runs are append-only'); END;
CREATE TRIGGER events_keep BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER steps_keep BEFORE UPDATE ON steps BEGIN SELECT RAISE(ABORT, 'steps are append-only'); END;
CREATE TRIGGER steps_stay BEFORE DELETE ON steps BEGIN SELECT RAISE(ABORT, 'steps are append-only'); END;
)sql";

constexpr std::string_view kSelectRuns =
    "SELECT r.id, r.task, r.config, r.created_ms, e.state, e.summary, e.process_id, e.created_ms,"
    " (SELECT COUNT(*) FROM steps s WHERE s.run_id = r.id),"
    " (SELECT COALESCE(MAX(s.created_ms), 0) FROM steps s WHERE s.run_id = r.id)"
    " FROM runs r JOIN events e ON e.seq = (SELECT MAX(seq) FROM events WHERE run_id = r.id)";

constexpr std::string_view kSelectSteps = "SELECT idx, kind, input, output, time_ms, cost, created_ms, hash FROM steps";

Failure<StoreError> failed(ErrorKind kind, Error error) {
  return fail(StoreError{kind, std::move(error)});
}
Failure<StoreError> failed(ErrorKind kind, std::string message) {
  return failed(kind, Error{std::move(message), {}});
}

template <class T>
Outcome<T> lifted(Result<T> result, ErrorKind kind = ErrorKind::Unavailable) {
  if (!result) {
    return failed(kind, std::move(result).error());
  }
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

// Each step's hash covers the one before: a step changed, lost or added later breaks the chain from there on.
std::string chain_hash(const std::string& before, const std::string& run_id, int64_t index, std::string_view kind,
                       std::string_view input, std::string_view output) {
  ContentKey key;
  key.add(before).add(run_id).add(static_cast<uint64_t>(index)).add(kind).add(input).add(output);
  return key.finish();
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// 64 hexadecimal digits of a reference, or nothing.
std::optional<std::string> digest_of(std::string_view reference) {
  if (!reference.starts_with(kBlobPrefix) || reference.size() != kBlobPrefix.size() + 64 ||
      !is_hex(reference.substr(kBlobPrefix.size()))) {
    return std::nullopt;
  }
  return std::string(reference.substr(kBlobPrefix.size()));
}

void collect_references(const json::Value& value, std::set<std::string>& references) {
  if (value.is_string()) {
    if (std::optional<std::string> digest = digest_of(value.as_string())) {
      references.insert(*digest);
    }
  } else if (value.is_array()) {
    for (const json::Value& item : value.as_array()) {
      collect_references(item, references);
    }
  } else if (value.is_object()) {
    for (const json::Member& member : value.as_object().members()) {
      collect_references(member.second, references);
    }
  }
}

// "20260131-081500-gemm_bf16-3f2a9c": sorts by time, says the task, unique.
std::string new_run_id(std::string_view task, int64_t now_ms) {
  std::string id;
  for (char c : os::format_utc(now_ms).substr(0, 19)) {
    if (c >= '0' && c <= '9') {
      id += c;
    } else if (c == 'T') {
      id += '-';
    }
  }
  id += '-';
  for (char c : task.substr(0, 40)) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    id += is_plain ? c : '_';
  }
  return id + fmt::format("-{:06x}", std::random_device{}() & 0xffffffU);
}

}  // namespace

std::string_view name_of(RunState state) {
  constexpr std::string_view kNames[] = {"running", "waiting", "interrupted", "done", "failed"};
  return kNames[static_cast<int>(state)];
}

std::optional<RunState> run_state_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(RunState::Failed); ++i) {
    if (name_of(static_cast<RunState>(i)) == name) {
      return static_cast<RunState>(i);
    }
  }
  return std::nullopt;
}

struct Store::State {
  std::string folder;
  Access access;
  Database database;

  [[nodiscard]] std::string lock_path(const std::string& run_id) const {
    return os::join_path(folder, "locks/" + run_id + ".lock");
  }
  [[nodiscard]] std::string blob_path(const std::string& digest) const {
    return os::join_path(folder, "blobs/" + digest.substr(0, 2) + "/" + digest);
  }

  // Whether some process holds the run. On a file system where no lock can be made, nobody can.
  [[nodiscard]] bool is_alive(const std::string& run_id) const {
    if (!os::exists(lock_path(run_id))) {
      return false;
    }
    auto lock = os::FileLock::try_lock(lock_path(run_id));
    return lock.has_value() && !lock->has_value();
  }

  Outcome<Run> read_run(const Statement& row) const {
    Run run;
    run.id = row.text(0);
    run.task = row.text(1);
    run.created_ms = row.integer(3);
    run.updated_ms = std::max(row.integer(7), row.integer(9));
    run.process_id = row.integer(6);
    run.step_count = row.integer(8);
    std::optional<RunState> state = run_state_of(row.text(4));
    auto config = json::parse(row.text(2));
    auto summary = json::parse(row.text(5));
    if (!state.has_value() || !config || !summary) {
      return failed(ErrorKind::Damaged, fmt::format("the record of run `{}` cannot be read", run.id));
    }
    run.config = *std::move(config);
    run.summary = *std::move(summary);
    run.state = *state == RunState::Running && !is_alive(run.id) ? RunState::Interrupted : *state;
    return run;
  }

  static Outcome<Step> read_step(const Statement& row, const std::string& run_id) {
    Step step;
    step.index = row.integer(0);
    step.kind = row.text(1);
    auto input = json::parse(row.text(2));
    auto output = json::parse(row.text(3));
    auto cost = json::parse(row.text(5));
    if (!input || !output || !cost) {
      return failed(ErrorKind::Damaged, fmt::format("step {} of run `{}` cannot be read", step.index, run_id));
    }
    step.input = *std::move(input);
    step.output = *std::move(output);
    step.cost = *std::move(cost);
    step.time_ms = row.number(4);
    step.created_ms = row.integer(6);
    return step;
  }

  Status add_event(const std::string& run_id, RunState state, const json::Value& summary) {
    TW_TRY(
        Statement insert,
        database.prepare("INSERT INTO events(run_id, state, summary, process_id, created_ms) VALUES(?, ?, ?, ?, ?)"));
    insert.bind(run_id)
        .bind(name_of(state))
        .bind(json::write(summary))
        .bind(int64_t{getpid()})
        .bind(os::wall_time_ms());
    return insert.run();
  }

  Status insert_run(const std::string& id, std::string_view task, const json::Value& config) {
    TW_TRY(Transaction transaction, Transaction::begin(database));
    {
      TW_TRY(Statement insert, database.prepare("INSERT INTO runs(id, task, config, created_ms) VALUES(?, ?, ?, ?)"));
      insert.bind(id).bind(task).bind(json::write(config)).bind(os::wall_time_ms());
      TW_TRY_STATUS(insert.run());
    }
    TW_TRY_STATUS(add_event(id, RunState::Running, json::Value(json::Object{})));
    return transaction.commit();
  }

  Result<int64_t> insert_step(const std::string& run_id, const Step& step) {
    TW_TRY(Transaction transaction, Transaction::begin(database));
    int64_t index = 0;
    std::string before;
    {
      TW_TRY(Statement last,
             database.prepare("SELECT idx, hash FROM steps WHERE run_id = ? ORDER BY idx DESC LIMIT 1"));
      last.bind(run_id);
      TW_TRY(bool has_row, last.step());
      if (has_row) {
        index = last.integer(0) + 1;
        before = last.text(1);
      }
    }
    std::string input = json::write(step.input);
    std::string output = json::write(step.output);
    {
      TW_TRY(Statement insert,
             database.prepare("INSERT INTO steps(run_id, idx, kind, input, output, time_ms, cost, created_ms, hash)"
                              " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"));
      insert.bind(run_id).bind(index).bind(step.kind).bind(input).bind(output).bind(step.time_ms);
      insert.bind(json::write(step.cost)).bind(os::wall_time_ms());
      insert.bind(chain_hash(before, run_id, index, step.kind, input, output));
      TW_TRY_STATUS(insert.run());
    }
    TW_TRY_STATUS(transaction.commit());
    return index;
  }

  Status set_up() {
    // NORMAL would lose the last steps in a power cut.
    TW_TRY_STATUS(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON"));
    TW_TRY(int64_t version, database.integer("PRAGMA user_version"));
    TW_TRY(int64_t tables, database.integer("SELECT COUNT(*) FROM sqlite_master"));
    if (version != 0 || tables != 0) {
      return {};
    }
    TW_TRY(Transaction transaction, Transaction::begin(database));
    TW_TRY_STATUS(database.execute(kSchema));
    TW_TRY_STATUS(database.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion)));
    return transaction.commit();
  }

  Outcome<void> check_version() {
    auto application = database.integer("PRAGMA application_id");
    auto version = database.integer("PRAGMA user_version");
    if (!application || !version) {
      return failed(ErrorKind::Damaged, application ? version.error() : application.error());
    }
    if (*application != kApplicationId) {
      return failed(ErrorKind::Damaged, fmt::format("`{}/runs.sqlite` is not a run store", folder));
    }
    if (*version != kSchemaVersion) {
      return failed(
          ErrorKind::Version,
          Error{fmt::format("it has schema version {}, this version of tilewright reads {}", *version, kSchemaVersion),
                {"it was left as it is; use the version that wrote it, or another folder with --store"}});
    }
    return {};
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::string& Store::folder() const {
  return state_->folder;
}

Outcome<std::string> Store::default_folder(const std::string& flag) {
  if (!flag.empty()) {
    return flag;
  }
  return lifted(os::state_folder());
}

Outcome<Store> Store::open(const std::string& folder, Access access) {
  std::string path = os::join_path(folder, "runs.sqlite");
  if (access == Access::ReadOnly) {
    if (!os::is_regular_file(path)) {
      return failed(ErrorKind::NotFound, fmt::format("there is no run store in `{}`", folder));
    }
    TW_TRY(Database database, lifted(Database::open(path, Database::Mode::ReadOnly)));
    auto state = std::make_unique<State>(State{folder, access, std::move(database)});
    auto first = state->check_version();
    // A reader keeps an index beside the file. Where it cannot be made nobody can be writing, so the file may be read
    // as it is, unless its newest part is still in the log, which cannot be read without the index.
    auto log_bytes = os::file_size_bytes(path + "-wal");
    if (!first && first.error().kind == ErrorKind::Damaged && log_bytes.value_or(0) == 0) {
      TW_TRY(Database plain, lifted(Database::open(path, Database::Mode::Immutable)));
      state = std::make_unique<State>(State{folder, access, std::move(plain)});
      first = state->check_version();
    }
    TW_TRY_STATUS(std::move(first));
    return Store(std::move(state));
  }
  for (const char* part : {"blobs", "locks"}) {
    TW_TRY_STATUS(lifted(os::make_folders(os::join_path(folder, part))));
  }
  // Two first users at once would both find no tables.
  TW_TRY([[maybe_unused]] os::FileLock lock,
         lifted(os::FileLock::lock(os::join_path(folder, "locks/open"), kOpenTimeout)));
  TW_TRY(Database database, lifted(Database::open(path, Database::Mode::Create)));
  auto state = std::make_unique<State>(State{folder, access, std::move(database)});
  if (Status ready = state->set_up(); !ready) {
    bool is_foreign =
        !ready.error().causes.empty() && ready.error().causes[0].find("not a SQLite") != std::string::npos;
    return failed(is_foreign ? ErrorKind::Damaged : ErrorKind::Unavailable, std::move(ready).error());
  }
  TW_TRY_STATUS(state->check_version());
  return Store(std::move(state));
}

Outcome<RunLock> Store::create_run(std::string_view task, const json::Value& config) {
  std::string id = new_run_id(task, os::wall_time_ms());
  // Locked before it is visible: nobody can see it as interrupted.
  TW_TRY(os::FileLock lock, lifted(os::FileLock::lock(state_->lock_path(id), kLockTimeout)));
  TW_TRY_STATUS(lifted(state_->insert_run(id, task, config)));
  return RunLock(std::move(id), std::move(lock));
}

Outcome<RunLock> Store::lock_run(const std::string& run_id) {
  TW_TRY(Run run, this->run(run_id));
  auto lock = os::FileLock::lock(state_->lock_path(run.id), kLockTimeout);
  if (!lock) {
    if (state_->is_alive(run.id)) {
      return failed(ErrorKind::Busy, fmt::format("run `{}` is being advanced by process {}", run.id, run.process_id));
    }
    return failed(ErrorKind::Unavailable, std::move(lock).error());
  }
  return RunLock(run.id, *std::move(lock));
}

Outcome<std::vector<Run>> Store::runs() {
  TW_TRY(Statement select, lifted(state_->database.prepare(std::string(kSelectRuns) + " ORDER BY r.seq")));
  std::vector<Run> result;
  while (true) {
    TW_TRY(bool has_row, lifted(select.step()));
    if (!has_row) {
      return result;
    }
    TW_TRY(Run run, state_->read_run(select));
    result.push_back(std::move(run));
  }
}

Outcome<Run> Store::run(const std::string& run_id) {
  TW_TRY(Statement select, lifted(state_->database.prepare(std::string(kSelectRuns) + " WHERE r.id = ?")));
  select.bind(run_id);
  TW_TRY(bool has_row, lifted(select.step()));
  if (!has_row) {
    return failed(ErrorKind::NotFound, fmt::format("no run is named `{}`", run_id));
  }
  return state_->read_run(select);
}

Outcome<std::string> Store::resolve(std::string_view name) {
  TW_TRY(Statement select, lifted(state_->database.prepare("SELECT id FROM runs ORDER BY seq")));
  std::vector<std::string> matches;
  while (true) {
    TW_TRY(bool has_row, lifted(select.step()));
    if (!has_row) {
      break;
    }
    std::string id = select.text(0);
    if (id == name) {
      return id;
    }
    if (!name.empty() && (id.starts_with(name) || id.ends_with(name))) {
      matches.push_back(std::move(id));
    }
  }
  if (matches.size() == 1) {
    return matches[0];
  }
  if (matches.empty()) {
    return failed(ErrorKind::NotFound, fmt::format("no run is named `{}`", name));
  }
  return failed(ErrorKind::NotFound,
                Error{fmt::format("`{}` names {} runs", name, matches.size()), {matches[0], matches[1]}});
}

Outcome<std::optional<std::string>> Store::newest_unfinished() {
  TW_TRY(std::vector<Run> all, runs());
  for (size_t i = all.size(); i-- > 0;) {
    if (!is_finished(all[i].state)) {
      return std::optional<std::string>(all[i].id);
    }
  }
  return std::optional<std::string>();
}

Outcome<int64_t> Store::append_step(const RunLock& lock, Step step) {
  return lifted(state_->insert_step(lock.run_id(), step));
}

Outcome<void> Store::set_state(const RunLock& lock, RunState state, const json::Value& summary) {
  return lifted(state_->add_event(lock.run_id(), state, summary));
}

Outcome<std::vector<Step>> Store::steps(const std::string& run_id) {
  TW_TRY([[maybe_unused]] Run run, this->run(run_id));
  TW_TRY(Statement select,
         lifted(state_->database.prepare(std::string(kSelectSteps) + " WHERE run_id = ? ORDER BY idx")));
  select.bind(run_id);
  std::vector<Step> result;
  while (true) {
    TW_TRY(bool has_row, lifted(select.step()));
    if (!has_row) {
      return result;
    }
    TW_TRY(Step step, State::read_step(select, run_id));
    result.push_back(std::move(step));
  }
}

Outcome<Step> Store::step(const std::string& run_id, int64_t index) {
  TW_TRY([[maybe_unused]] Run run, this->run(run_id));
  TW_TRY(Statement select,
         lifted(state_->database.prepare(std::string(kSelectSteps) + " WHERE run_id = ? AND idx = ?")));
  select.bind(run_id).bind(index);
  TW_TRY(bool has_row, lifted(select.step()));
  if (!has_row) {
    return failed(ErrorKind::NotFound, fmt::format("run `{}` has no step {}", run_id, index));
  }
  return State::read_step(select, run_id);
}

Outcome<std::string> Store::put_blob(std::string_view content) {
  std::string digest = sha256_hex(content);
  std::string path = state_->blob_path(digest);
  // A file that is there but wrong (a disk fault) is written again.
  bool is_there = false;
  if (os::is_regular_file(path)) {
    auto existing = os::read_file(path);
    is_there = existing.has_value() && *existing == content;
  }
  if (!is_there) {
    TW_TRY_STATUS(lifted(os::make_folders(os::parent_path(path))));
    TW_TRY_STATUS(lifted(os::write_file_atomic(path, content)));
  }
  return std::string(kBlobPrefix) + digest;
}

Outcome<std::string> Store::blob(std::string_view reference) {
  std::optional<std::string> digest = digest_of(reference);
  if (!digest.has_value()) {
    return failed(ErrorKind::NotFound, fmt::format("`{}` does not name stored content", reference));
  }
  std::string path = state_->blob_path(*digest);
  if (!os::is_regular_file(path)) {
    return failed(ErrorKind::NotFound, fmt::format("the content `{}` is not in the store", reference));
  }
  TW_TRY(std::string content, lifted(os::read_file(path)));
  if (sha256_hex(content) != *digest) {
    return failed(ErrorKind::Damaged, fmt::format("the content of `{}` is not what it was when it was stored", path));
  }
  return content;
}

Outcome<std::vector<std::string>> Store::check() {
  std::vector<std::string> problems;
  TW_TRY(std::string integrity, lifted(state_->database.text("PRAGMA integrity_check"), ErrorKind::Damaged));
  if (integrity != "ok") {
    problems.push_back(fmt::format("the database: {}", integrity));
  }
  std::set<std::string> references;
  {
    TW_TRY(Statement select, lifted(state_->database.prepare("SELECT idx, kind, input, output, hash, run_id FROM steps"
                                                             " ORDER BY run_id, idx")));
    std::string run_id;
    std::string before;
    int64_t expected = 0;
    while (true) {
      TW_TRY(bool has_row, lifted(select.step(), ErrorKind::Damaged));
      if (!has_row) {
        break;
      }
      if (select.text(5) != run_id) {
        run_id = select.text(5);
        before.clear();
        expected = 0;
      }
      int64_t index = select.integer(0);
      if (index != expected) {
        problems.push_back(fmt::format("run `{}`: step {} follows step {}", run_id, index, expected - 1));
      }
      expected = index + 1;
      if (chain_hash(before, run_id, index, select.text(1), select.text(2), select.text(3)) != select.text(4)) {
        problems.push_back(fmt::format("run `{}`: step {} is not what was recorded", run_id, index));
      }
      before = select.text(4);
      for (int column : {2, 3}) {
        if (auto value = json::parse(select.text(column))) {
          collect_references(*value, references);
        } else {
          problems.push_back(fmt::format("run `{}`: step {} holds no JSON", run_id, index));
        }
      }
    }
  }
  for (const std::string& digest : references) {
    if (!os::is_regular_file(state_->blob_path(digest))) {
      problems.push_back(fmt::format("the content sha256:{} is missing", digest));
    }
  }
  std::string blobs = os::join_path(state_->folder, "blobs");
  TW_TRY(std::vector<std::string> folders, lifted(os::list_folder(blobs)));
  for (const std::string& folder : folders) {
    TW_TRY(std::vector<std::string> files, lifted(os::list_folder(os::join_path(blobs, folder))));
    for (const std::string& file : files) {
      // Others are unfinished temporary files of a process that was killed: harmless.
      bool is_blob = file.size() == 64 && is_hex(file);
      auto content =
          is_blob ? os::read_file(os::join_path(blobs, folder + "/" + file)) : Result<std::string>(std::string());
      if (is_blob && (!content || sha256_hex(*content) != file)) {
        problems.push_back(fmt::format("the content sha256:{} is damaged", file));
      }
    }
  }
  return problems;
}

}  // namespace tw::store
