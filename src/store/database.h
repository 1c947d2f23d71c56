// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

// The part of SQLite that the store uses, with errors as values.
namespace tw::store {

class Statement {
 public:
  Statement(sqlite3* db, sqlite3_stmt* handle) : db_(db), handle_(handle) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Parameters are bound in order.
  Statement& bind(std::string_view text);
  Statement& bind(int64_t value);
  Statement& bind(double value);

  // True when there is a row.
  Result<bool> step();
  // To the end, rows ignored.
  Status run();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* handle_;
  int next_parameter_ = 1;
};

class Database {
 public:
  enum class Mode : uint8_t { Create, ReadOnly, Immutable };
  static Result<Database> open(const std::string& path, Mode mode);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  Result<Statement> prepare(std::string_view sql);
  // One or more statements without results.
  Status execute(std::string_view sql);
  // The first column of the first row.
  Result<int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_ = nullptr;
};

// Ends in `commit` or is rolled back.
class Transaction {
 public:
  // Takes the write lock at once, so that nothing read inside can be outdated at the commit.
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

}  // namespace tw::store
