// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <utility>

#include "os/errors.h"

namespace tw::store {
namespace {

constexpr int kBusyTimeoutMs = 20000;

Error error_of(sqlite3* db, std::string_view doing) {
  int code = db == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(db);
  int system = db == nullptr ? 0 : sqlite3_system_errno(db);
  std::string why = sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_FULL:
      why = "the disk is full";
      break;
    case SQLITE_READONLY:
      why = "it cannot be written (read-only file or file system)";
      break;
    case SQLITE_CANTOPEN:
      why = system != 0 ? os::describe_errno(system) : "it cannot be opened";
      break;
    case SQLITE_NOTADB:
      why = "it is not a SQLite database";
      break;
    case SQLITE_BUSY:
      why = fmt::format("another process kept it locked for {} s", kBusyTimeoutMs / 1000);
      break;
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_WRITE) {
        why = "a write failed; the disk may be full, or a limit on file sizes reached";
      }
      why = system != 0 ? os::describe_errno(system) : why;
      break;
    default:
      if (db != nullptr) {
        why = sqlite3_errmsg(db);
      }
  }
  return Error{std::string(doing), {why}};
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), handle_(std::exchange(other.handle_, nullptr)), next_parameter_(other.next_parameter_) {}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text64(handle_, next_parameter_++, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int64_t value) {
  sqlite3_bind_int64(handle_, next_parameter_++, value);
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(handle_, next_parameter_++, value);
  return *this;
}

Result<bool> Statement::step() {
  int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  return fail(error_of(db_, "the run store refused a query"));
}

Status Statement::run() {
  while (true) {
    TW_TRY(bool has_row, step());
    if (!has_row) {
      return {};
    }
  }
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return bytes == nullptr ? std::string()
                          : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(handle_, column)));
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}
double Statement::number(int column) const {
  return sqlite3_column_double(handle_, column);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  sqlite3* db = nullptr;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  flags |= mode == Mode::Create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  std::string uri = "file:";
  for (char c : path) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                    c == '.' || c == '-' || c == '_';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  uri += mode == Mode::Immutable ? "?immutable=1" : "";
  int code = sqlite3_open_v2(uri.c_str(), &db, flags, nullptr);
  Database database(db);
  if (code != SQLITE_OK) {
    return fail(error_of(db, fmt::format("cannot open `{}`", path)));
  }
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  return database;
}

Database::Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}

Database::~Database() {
  sqlite3_close_v2(db_);
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &handle, nullptr) != SQLITE_OK) {
    return fail(error_of(db_, "the run store refused a query"));
  }
  return Statement(db_, handle);
}

Status Database::execute(std::string_view sql) {
  if (sqlite3_exec(db_, std::string(sql).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return fail(error_of(db_, "the run store refused a command"));
  }
  return {};
}

Result<int64_t> Database::integer(std::string_view sql) {
  TW_TRY(Statement statement, prepare(sql));
  TW_TRY(bool has_row, statement.step());
  return has_row ? statement.integer(0) : 0;
}

Result<std::string> Database::text(std::string_view sql) {
  TW_TRY(Statement statement, prepare(sql));
  TW_TRY(bool has_row, statement.step());
  return has_row ? statement.text(0) : std::string();
}

Result<Transaction> Transaction::begin(Database& database) {
  TW_TRY_STATUS(database.execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ != nullptr) {
    // After some errors SQLite has rolled back already; then this one fails, and nothing is left to do.
    static_cast<void>(database_->execute("ROLLBACK"));
  }
}

Status Transaction::commit() {
  TW_TRY_STATUS(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace tw::store
