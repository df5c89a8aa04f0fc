#include "fuzz/campaign_file.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <utility>

#include <sqlite3.h>
#include <unistd.h>

#include "codegen/llvm/backend.h"
#include "fuzz/campaign.h"
#include "fuzz/process_birth.h"
#include "runtime/cache/sha256.h"
#include "schedules/tune/store.h"

namespace mica::test {

using tuning::Database;
using tuning::Statement;
using tuning::Transaction;

namespace {

constexpr std::int64_t kFormat = 1;                // of the tables, PRAGMA user_version
constexpr std::int64_t kApplication = 0x4d696366;  // "Micf", PRAGMA application_id

constexpr const char* kTables = R"(
  CREATE TABLE campaign (target TEXT, illegal INTEGER, first INTEGER, generator TEXT, next INTEGER);
  CREATE TABLE runs (
    run INTEGER PRIMARY KEY, process INTEGER, birth TEXT, version TEXT, begun INTEGER, state INTEGER,
    pairs INTEGER DEFAULT 0, refused INTEGER DEFAULT 0, findings INTEGER DEFAULT 0, seconds REAL DEFAULT 0);
  CREATE TABLE ranges (first INTEGER PRIMARY KEY, count INTEGER, done INTEGER, run INTEGER);
  CREATE TABLE verdicts (verdict INTEGER PRIMARY KEY, count INTEGER);
  CREATE TABLE findings (
    seed INTEGER PRIMARY KEY, verdict INTEGER, message TEXT, program TEXT, seen_with TEXT, run_with TEXT,
    seen INTEGER, open INTEGER, run INTEGER);
)";

std::int64_t as_row(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::uint64_t from_row(const Statement& row, int column) {
  return static_cast<std::uint64_t>(row.integer(column));
}

/// What to do about what SQLite says.
std::string advice_for(int code) {
  switch (code) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return "it is no campaign, or damaged: name another file, or remove it";
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: return "is it a file in a folder that is there, and may you write to both?";
    case SQLITE_PERM:
    case SQLITE_READONLY: return "may you write to it and to its folder?";
    case SQLITE_FULL: return "make room on its disk";
    default: return "name another file if it stays so";
  }
}

/// What `work` gives; what SQLite finds wrong with the file is the user's to know.
template <typename Work>
auto reported(const Work& work) {
  try {
    return work();
  } catch (const DeviceError& e) {
    throw UserError(std::string(e.what()) + "; " + advice_for(e.code()));
  }
}

std::string kind_text(const CampaignKind& kind) {
  return (kind.illegal ? "illegal" : "legal") + std::string(" schedules on ") + kind.target +
         ", seeds from " + std::to_string(kind.first_seed);
}

/// Throws unless all pages of the file are what SQLite wrote.
void check_pages(const Database& database) {
  Statement row(database, "PRAGMA quick_check(1)");
  if (row.step() && row.text(0) == "ok") return;
  throw DeviceError("campaign " + database.path().string(), SQLITE_CORRUPT, row.text(0));
}

/// Throws unless the file is a campaign of a format that is known here.
void check_format(const Database& database) {
  const std::string name = database.path().string();
  if (database.pragma("application_id") != kApplication) {
    throw UserError(name +
                    " is a database, but no campaign of `mica fuzz`: name another file, which is made");
  }
  const std::int64_t format = database.pragma("user_version");
  if (format == kFormat) return;
  throw UserError("campaign " + name + " is of format " + std::to_string(format) +
                  ", and this Mica knows " + std::to_string(kFormat) + ": name another file");
}

bool is_new(const Database& database) {
  return database.pragma("application_id") == 0 && database.pragma("schema_version") == 0;
}

CampaignSummary read_summary(const Database& database) {
  CampaignSummary summary;
  Statement head(database, "SELECT target, illegal, first, generator, next FROM campaign");
  if (!head.step()) {
    throw DeviceError("campaign " + database.path().string(), SQLITE_CORRUPT, "it has no first row");
  }
  summary.kind = {head.text(0), head.integer(1) != 0, from_row(head, 2)};
  summary.generator = head.text(3);
  summary.finished_before = summary.next_seed = from_row(head, 4);
  Statement ranges(database, "SELECT min(first + done) FROM ranges WHERE done < count");
  if (ranges.step() && ranges.integer(0) > 0) summary.finished_before = from_row(ranges, 0);
  Statement verdicts(database, "SELECT verdict, count FROM verdicts");
  while (verdicts.step()) {
    summary.verdicts[static_cast<Verdict>(verdicts.integer(0))] = from_row(verdicts, 1);
  }
  Statement runs(
      database,
      "SELECT begun, version, state, pairs, refused, findings, seconds, process, birth FROM runs "
      "ORDER BY run");
  while (runs.step()) {
    CampaignRun run{
        runs.integer(0),   runs.text(1),      static_cast<CampaignRun::State>(runs.integer(2)),
        from_row(runs, 3), from_row(runs, 4), from_row(runs, 5),
        runs.number(6)};
    if (run.state == CampaignRun::State::AtWork && birth_of_process(runs.integer(7)) != runs.text(8)) {
      run.state = CampaignRun::State::Lost;
    }
    summary.runs.push_back(std::move(run));
  }
  Statement rows(database,
                 "SELECT seed, verdict, message, program, seen_with, run_with, seen, open FROM findings "
                 "ORDER BY seed");
  while (rows.step()) {
    summary.findings.push_back({from_row(rows, 0), static_cast<Verdict>(rows.integer(1)), rows.text(2),
                                rows.text(3), rows.text(4), rows.text(5), rows.integer(6),
                                rows.integer(7) != 0});
  }
  return summary;
}

std::optional<CampaignSummary> read_file(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return reported([&]() -> std::optional<CampaignSummary> {
    Database database(path, "campaign", Database::Access::Read, Database::kLongWait);
    if (is_new(database)) return std::nullopt;
    check_format(database);
    check_pages(database);
    return read_summary(database);
  });
}

}  // namespace

std::string target_kind(const Target& target) {
  switch (target.backend) {
    case Backend::Host: return "host";
    case Backend::HostChecked: return "host-checked";
    case Backend::GpuEmulator: return "emulator";
    case Backend::Cuda: return "cuda";
  }
  return "";
}

std::string generator_mark(const CampaignKind& kind) {
  constexpr std::uint64_t kSample = 64;
  constexpr std::size_t kDigits = 12;
  const Target target = kind.target == "host"           ? Target::host()
                        : kind.target == "host-checked" ? Target::host_checked()
                        : kind.target == "cuda"         ? Target{Backend::Cuda, 0}
                                                        : Target::gpu_emulator();
  Sha256 hash;
  for (std::uint64_t seed = 1; seed <= kSample; ++seed) {
    hash.update(to_string(random_case(seed, target, kind.illegal), Outcome{}));
  }
  return to_hex(hash.digest()).substr(0, kDigits);
}

std::string campaign_version() {
  constexpr std::size_t kDigits = 8;
  const std::string build = llvm_backend::version();
  return tuning::mica_version() + " (" + build.substr(build.rfind(' ') + 1).substr(0, kDigits) + ")";
}

// ---- a file that is worked on ------------------------------------------------------------------------

struct CampaignFile::Opened {
  explicit Opened(const std::filesystem::path& path)
      : database(path, "campaign", Database::Access::Write, Database::kLongWait) {}

  /// Is the process of the run whose number, process and birth are in these columns another one, and at
  /// work?
  [[nodiscard]] bool is_anothers(const Statement& row, int column) const {
    return row.integer(column) != run && !row.text(column + 2).empty() &&
           birth_of_process(row.integer(column + 1)) == row.text(column + 2);
  }

  Database database;
  std::string version = campaign_version();
  std::int64_t run = 0;  ///< of this process
};

std::optional<CampaignKind> CampaignFile::kind_of(const std::filesystem::path& path) {
  const auto summary = read_file(path);
  return summary ? std::optional(summary->kind) : std::nullopt;
}

CampaignSummary CampaignFile::summary(const std::filesystem::path& path) {
  if (auto summary = read_file(path)) return *summary;
  throw UserError("there is no campaign " + path.string() +
                  ": name its file, or leave out --report, which begins one");
}

CampaignFile::CampaignFile(const std::filesystem::path& path, const CampaignKind& kind) {
  const std::string generator = generator_mark(kind);
  reported([&] {
    opened_ = std::make_unique<Opened>(path);
    Database& database = opened_->database;
    Transaction all(database);
    if (is_new(database)) {
      database.run(std::string(kTables) + "PRAGMA application_id = " + std::to_string(kApplication) +
                   "; PRAGMA user_version = " + std::to_string(kFormat) + ";");
      Statement row(database, "INSERT INTO campaign VALUES (?,?,?,?,?)");
      row.bind(kind.target).bind(std::int64_t{kind.illegal ? 1 : 0}).bind(as_row(kind.first_seed));
      row.bind(generator).bind(as_row(kind.first_seed)).step();
    }
    check_format(database);
    check_pages(database);
    const CampaignSummary is = read_summary(database);
    if (kind_text(is.kind) != kind_text(kind)) {
      throw UserError("campaign " + path.string() + " searches " + kind_text(is.kind) +
                      "; this run is to search " + kind_text(kind) +
                      ": name another file, or leave out what says otherwise");
    }
    if (is.generator != generator) {
      throw UserError("the seeds of campaign " + path.string() + " draw pairs of the generator " +
                      is.generator + ", this Mica's those of " + generator +
                      ": begin another file (--report still shows this one)");
    }
    Statement row(database,
                  "INSERT INTO runs (process, birth, version, begun, state) VALUES (?,?,?,?,0)");
    row.bind(std::int64_t{getpid()}).bind(birth_of_process(getpid())).bind(opened_->version);
    row.bind(static_cast<std::int64_t>(std::time(nullptr))).step();
    Statement last(database, "SELECT last_insert_rowid()");
    if (last.step()) opened_->run = last.integer(0);
    all.commit();
  });
}

CampaignFile::~CampaignFile() {
  try {
    end(-1, true);
  } catch (const Error&) {  // who works on it next sees that this process is gone
  }
}

SeedRange CampaignFile::take() {
  return reported([&] {
    Transaction all(opened_->database);
    SeedRange range;
    {
      Statement left(
          opened_->database,
          "SELECT ranges.first, ranges.count, ranges.done, runs.run, runs.process, runs.birth FROM "
          "ranges LEFT JOIN runs ON ranges.run = runs.run ORDER BY ranges.first");
      while (range.count == 0 && left.step()) {
        const bool own = left.integer(3) == opened_->run;
        if (own || opened_->is_anothers(left, 3)) continue;
        range = {from_row(left, 0), from_row(left, 1), from_row(left, 2)};
      }
    }
    if (range.count == 0) {
      const std::uint64_t next = read_summary(opened_->database).next_seed;
      if (next > static_cast<std::uint64_t>(INT64_MAX) - kRange) {
        throw UserError("campaign " + opened_->database.path().string() + " is at its last seed, " +
                        std::to_string(next) + ": begin another with a smaller --seed");
      }
      range = {next, kRange, 0};
      Statement move(opened_->database, "UPDATE campaign SET next = ?");
      move.bind(as_row(next + kRange)).step();
    }
    Statement row(opened_->database, "INSERT OR REPLACE INTO ranges VALUES (?,?,?,?)");
    row.bind(as_row(range.first)).bind(as_row(range.count)).bind(as_row(range.done));
    row.bind(opened_->run).step();
    all.commit();
    return range;
  });
}

bool CampaignFile::record(SeedRange& range, const std::vector<Outcome>& outcomes,
                          const std::vector<std::string>& known) {
  return reported([&] {
    Transaction all(opened_->database);
    {
      Statement row(opened_->database, "SELECT done FROM ranges WHERE first = ? AND run = ?");
      row.bind(as_row(range.first)).bind(opened_->run);
      if (!row.step() || from_row(row, 0) != range.done) return false;
    }
    std::int64_t refused = 0, found = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto verdict = static_cast<std::int64_t>(outcomes[i].verdict);
      Statement count(opened_->database,
                      "INSERT INTO verdicts VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1");
      count.bind(verdict).step();
      refused += outcomes[i].verdict == Verdict::Refused ? 1 : 0;
      if (!is_failure(outcomes[i].verdict) || is_known(outcomes[i], known)) continue;
      ++found;
      Statement row(opened_->database,
                    "INSERT OR IGNORE INTO findings VALUES (?, ?, ?, '', ?, ?, ?, 1, ?)");
      row.bind(as_row(range.first + range.done + i)).bind(verdict).bind(outcomes[i].message);
      row.bind(opened_->version).bind(opened_->version);
      row.bind(static_cast<std::int64_t>(std::time(nullptr))).bind(opened_->run).step();
    }
    const std::uint64_t done = range.done + outcomes.size();
    Statement move(opened_->database, done < range.count
                                          ? "UPDATE ranges SET done = ? WHERE first = ?"
                                          : "DELETE FROM ranges WHERE done <= ? AND first = ?");
    move.bind(as_row(done)).bind(as_row(range.first)).step();
    Statement own(
        opened_->database,
        "UPDATE runs SET pairs = pairs + ?, refused = refused + ?, findings = findings + ? WHERE "
        "run = ?");
    own.bind(static_cast<std::int64_t>(outcomes.size())).bind(refused).bind(found);
    own.bind(opened_->run).step();
    all.commit();
    range.done = done;
    return true;
  });
}

void CampaignFile::keep(std::uint64_t seed, const Outcome& outcome, const std::string& program) {
  reported([&] {
    Transaction all(opened_->database);
    const bool fails = is_failure(outcome.verdict);
    Statement row(opened_->database,
                  "UPDATE findings SET open = ?, run_with = ?, run = ? WHERE seed = ?");
    row.bind(std::int64_t{fails ? 1 : 0}).bind(opened_->version).bind(opened_->run);
    row.bind(as_row(seed)).step();
    if (fails) {
      Statement what(opened_->database, "UPDATE findings SET verdict = ?, message = ? WHERE seed = ?");
      what.bind(static_cast<std::int64_t>(outcome.verdict)).bind(outcome.message);
      what.bind(as_row(seed)).step();
    }
    if (!program.empty()) {
      Statement text(opened_->database, "UPDATE findings SET program = ? WHERE seed = ?");
      text.bind(program).bind(as_row(seed)).step();
    }
    all.commit();
  });
}

std::vector<Finding> CampaignFile::to_run_again() {
  return reported([&] {
    std::vector<Finding> findings = read_summary(opened_->database).findings;
    Statement rows(opened_->database,
                   "SELECT findings.seed, runs.run, runs.process, runs.birth FROM findings JOIN runs ON "
                   "findings.run = runs.run WHERE runs.state = 0 AND runs.version = ?");
    rows.bind(opened_->version);
    while (rows.step()) {
      if (!opened_->is_anothers(rows, 1)) continue;
      std::erase_if(findings, [&](const Finding& f) { return f.seed == from_row(rows, 0); });
    }
    return findings;
  });
}

CampaignSummary CampaignFile::summary() const {
  return reported([&] { return read_summary(opened_->database); });
}

void CampaignFile::end(double seconds, bool stopped) {
  reported([&] {
    Transaction all(opened_->database);
    Statement free(opened_->database, "UPDATE ranges SET run = 0 WHERE run = ?");
    free.bind(opened_->run).step();
    Statement row(opened_->database,
                  "UPDATE runs SET state = ?, seconds = max(?, 0) WHERE run = ? AND state = 0");
    row.bind(
        static_cast<std::int64_t>(stopped ? CampaignRun::State::Stopped : CampaignRun::State::Ended));
    row.bind(seconds).bind(opened_->run).step();
    all.commit();
  });
}

}  // namespace mica::test
