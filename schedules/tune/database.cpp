#include "schedules/tune/database.h"

#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "dsl/expr/diagnostics.h"

namespace mica::tuning {

Database::Database(std::filesystem::path path, std::string noun, Access access,
                   std::chrono::milliseconds wait)
    : path_(std::move(path)), noun_(std::move(noun)) {
  const int flags =
      access == Access::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  try {
    check(sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr), "open");
    check(sqlite3_busy_timeout(handle_, static_cast<int>(wait.count())), "open");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::run(const std::string& statements) {
  check(sqlite3_exec(handle_, statements.c_str(), nullptr, nullptr, nullptr), "read or write");
}

std::int64_t Database::pragma(const std::string& name) const {
  Statement row(*this, "PRAGMA " + name);
  return row.step() ? row.integer(0) : 0;
}

void Database::check(int status, const char* doing) const {
  if (status == SQLITE_OK) return;
  std::string what = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(status);
  // Which call of the system failed, say, of all that "disk I/O error" stands for.
  const int detail = handle_ != nullptr ? sqlite3_extended_errcode(handle_) : status;
  const int number = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
  if (detail != status) what += fmt::format(" (SQLite's code {}, errno {})", detail, number);
  throw DeviceError(fmt::format("{} {}: {}", noun_, path_.string(), doing), status, what);
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  database_.check(sqlite3_prepare_v2(database_.handle_, sql.c_str(), -1, &statement_, nullptr),
                  "prepare");
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(const std::string& text) {
  database_.check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                                    SQLITE_TRANSIENT),
                  "bind");
  return *this;
}

Statement& Statement::bind(double value) {
  database_.check(sqlite3_bind_double(statement_, ++bound_, value), "bind");
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  database_.check(sqlite3_bind_int64(statement_, ++bound_, value), "bind");
  return *this;
}

bool Statement::step() {
  const int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) database_.check(status, "read or write");
  return false;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes != nullptr ? std::string(bytes) : std::string();
}

double Statement::number(int column) const { return sqlite3_column_double(statement_, column); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

Transaction::Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Error&) {  // SQLite has done it, as on a full disk
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace mica::tuning
