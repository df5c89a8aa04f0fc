// A SQLite file: statements whose values are bound in order, and errors that name the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace mica::tuning {

/// Several threads and processes may each open one file. DeviceErrors of all members, whose code is
/// SQLite's: "tune store a.db: open ..." where `noun` is "tune store".
class Database {
 public:
  enum class Access : std::uint8_t { Read, Write };
  /// What nobody notices much, and what those wait who would lose minutes of work: others that write one
  /// after the other, on a busy machine or a slow disk, take seconds.
  static constexpr std::chrono::milliseconds kShortWait{5000}, kLongWait{60000};
  /// For Write the file is made if it is not there. Statements wait so long for other writers.
  Database(std::filesystem::path path, std::string noun, Access access = Access::Write,
           std::chrono::milliseconds wait = kShortWait);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Statements that give no rows.
  void run(const std::string& statements);
  /// The number that one of SQLite's pragmas has, such as "user_version".
  [[nodiscard]] std::int64_t pragma(const std::string& name) const;
  /// Throws unless `status` is SQLite's OK; `doing` is a word for what was tried.
  void check(int status, const char* doing) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  friend class Statement;
  std::filesystem::path path_;
  std::string noun_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement of a database, which must outlive it.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// The value of the next question mark.
  Statement& bind(const std::string& text);
  Statement& bind(double value);
  Statement& bind(std::int64_t value);
  /// Is there another row? Its columns are read then, counted from 0.
  bool step();
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// What is written until commit() is there as a whole or, without it, not at all. Other writers wait.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace mica::tuning
