#include "tests/soak/checks.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <sqlite3.h>

#include "codegen/compile.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/cache/sha256.h"
#include "schedules/tune/store.h"
#include "tests/soak/problems.h"

namespace mica::soak {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEntry = ".bin";

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& file : fs::directory_iterator(folder)) files.push_back(file.path());
  return files;
}

std::vector<fs::path> entries_in(const fs::path& folder) {
  std::vector<fs::path> files = files_in(folder);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != kEntry; });
  return files;
}

/// Does the cache hold so much that each store may cost it an entry?
bool is_full(const Folder& folder) {
  constexpr std::size_t kNearly = 64;  // of what several processes remove at once
  return entries_in(folder.cache()).size() + kNearly >= KernelCache::kMostEntries;
}

/// What is wrong with an entry's file (runtime/cache/kernel_cache.cpp has the format); empty: nothing.
std::string fault_of(const fs::path& file) {
  constexpr std::size_t kKey = 12, kSize = 44, kHash = 52, kHeader = 84;
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.size() < kHeader) return fmt::format("has {} bytes", bytes.size());
  const auto digest_at = [&](std::size_t at) {
    Sha256Digest digest{};
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), digest.size(), digest.begin());
    return digest;
  };
  std::uint64_t size = 0;
  for (std::size_t i = 8; i-- > 0;) size = size << 8 | static_cast<unsigned char>(bytes[kSize + i]);
  if (!bytes.starts_with("MICACODE")) return "does not begin as one";
  if (to_hex(digest_at(kKey)) != file.stem()) return "is of another key";
  if (size != bytes.size() - kHeader) {
    return fmt::format("says {} bytes and has {}", size, bytes.size() - kHeader);
  }
  if (sha256(std::string_view(bytes).substr(kHeader)) != digest_at(kHash)) return "has another hash";
  return {};
}

struct Database {
  explicit Database(const fs::path& path) {
    if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK)
      throw std::runtime_error("cannot open the store");
  }
  ~Database() { sqlite3_close(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  /// The first column of the last row.
  std::string run(const char* sql) {
    std::string text;
    const auto take = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    if (sqlite3_exec(handle, sql, take, &text, nullptr) != SQLITE_OK) return sqlite3_errmsg(handle);
    return text;
  }
  sqlite3* handle = nullptr;
};

}  // namespace

std::vector<std::string> CacheWatch::look(bool all) {
  std::vector<std::string> faults;
  for (auto& [name, there] : seen_) there = false;
  for (const fs::path& file : entries_in(folder_.cache())) {
    const auto [entry, is_new] = seen_.insert_or_assign(file.filename(), true);
    if (!is_new && !all) continue;
    const std::string fault = fault_of(file);
    if (!fault.empty()) faults.push_back("cache entry " + file.filename().string() + " " + fault);
  }
  if (is_full(folder_)) {
    std::erase_if(seen_, [](const auto& entry) { return !entry.second; });
  }
  for (const auto& [name, there] : seen_) {
    if (!there) faults.push_back("cache entry " + name + " is gone");
  }
  return faults;
}

std::vector<std::string> check_store(const Folder& folder) {
  std::vector<std::string> faults;
  const std::string integrity = Database(folder.store()).run("PRAGMA integrity_check");
  if (integrity != "ok") faults.push_back("tune store: " + integrity);
  const tuning::TuneStore store(folder.store());
  std::map<std::string, std::set<std::string>> kept;  // candidates by "mark extents"
  for (const std::string& line : read_lines(folder.kept())) {
    const std::size_t second = line.find(' ', line.find(' ') + 1);
    kept[line.substr(0, second)].insert(line.substr(second + 1));
  }
  for (const auto& [where, candidates] : kept) {
    tuning::TunedKey key;
    key.device = tuning::device_name(Target::host());
    std::istringstream words(where);
    words >> std::hex >> key.algorithm >> std::dec;
    for (std::int64_t extent = 0; words >> extent; words.ignore(1)) key.extents.push_back(extent);
    std::set<std::string> found;
    for (const TuneCandidate& candidate : store.trials(key)) found.insert(candidate.text());
    for (const std::string& candidate : candidates) {
      if (!found.contains(candidate)) {
        faults.push_back(
            fmt::format("tune store: {}: no trial of {}, which was kept", where, candidate));
      }
    }
    if (!store.find(key)) faults.push_back("tune store: " + where + ": no best schedule");
  }
  return faults;
}

std::vector<std::string> check_compiled(const Folder& folder) {
  std::vector<std::string> faults;
  const References references = read_references(folder.references());
  const std::vector<std::string> lines = read_lines(folder.compiled());
  const std::set<std::string> compiled(lines.begin(), lines.end());
  const std::size_t before = entries_in(folder.cache()).size();
  for (const std::string& line : compiled) {
    std::istringstream words(line);
    int number = 0, which = 0;
    words >> number >> which;
    Blur problem(number);
    problem.schedule(which);
    Buffer<float> out = Blur::output();
    compile(problem.blur, Target::host()).run(out);
    const std::string wrong = difference(references.at(name_of("blur", number)), bits_of({out}));
    if (!wrong.empty()) faults.push_back("from the cache: blur " + line + ": " + wrong);
  }
  const std::size_t after = entries_in(folder.cache()).size();
  if (after != before && !is_full(folder)) {
    faults.push_back(fmt::format("{} of {} pipelines that were in the cache are compiled anew",
                                 after - before, compiled.size()));
  }
  return faults;
}

std::size_t partial_files(const Folder& folder) {
  std::size_t count = 0;
  for (const fs::path& file : files_in(folder.cache())) count += file.extension() != kEntry ? 1U : 0U;
  for (const fs::path& file : files_in(folder.checkpoints())) {
    const std::string name = file.filename();  // "place.thread.problem", and six characters more
    count += std::count(name.begin(), name.end(), '.') > 2 ? 1U : 0U;
  }
  return count;
}

void damage_entry(const Folder& folder) {
  std::fstream file(entries_in(folder.cache()).at(0), std::ios::in | std::ios::out | std::ios::binary);
  constexpr int kPlace = 100;
  file.seekg(kPlace);
  const int byte = file.get();
  file.seekp(kPlace);
  file.put(static_cast<char>(byte ^ 1));
}

void lose_entry(const Folder& folder) { fs::remove(entries_in(folder.cache()).at(0)); }

void lose_row(const Folder& folder) {
  (void)Database(folder.store())
      .run("DELETE FROM trials WHERE rowid = (SELECT max(rowid) FROM trials WHERE measured > 0)");
}

}  // namespace mica::soak
