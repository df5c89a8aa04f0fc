#include "codegen/iterate/checkpoint.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dsl/expr/names.h"
#include "dsl/schedule/json_depth.h"
#include "runtime/cache/sha256.h"

namespace mica::iterate {
namespace {

constexpr std::string_view kFirstLine = "mica checkpoint 1\n";
constexpr std::size_t kDigits = 64;

/// Calls visit(address, bytes) for each row of dimension 0, in order. Rows of stride 1 come whole.
template <typename Visit>
void for_each_row(const AnyBuffer& buffer, char* first, const Visit& visit) {
  const auto size = static_cast<std::int64_t>(buffer.type().bytes());
  if (buffer.elements() == 0) return;
  std::vector<std::int64_t> at(static_cast<std::size_t>(buffer.dimensions()), 0);
  while (true) {
    std::int64_t offset = 0;
    for (int d = 1; d < buffer.dimensions(); ++d) {
      offset += at[static_cast<std::size_t>(d)] * buffer.stride(d);
    }
    if (buffer.stride(0) == 1) {
      visit(first + offset * size, static_cast<std::size_t>(buffer.extent(0) * size));
    } else {
      for (std::int64_t i = 0; i < buffer.extent(0); ++i) {
        visit(first + (offset + i * buffer.stride(0)) * size, static_cast<std::size_t>(size));
      }
    }
    std::size_t d = 1;
    while (d < at.size() && ++at[d] == buffer.extent(static_cast<int>(d))) at[d++] = 0;
    if (d >= at.size()) return;
  }
}

nlohmann::json header_of(const std::string& algorithm, std::int64_t steps_done,
                         const std::vector<SavedField>& fields) {
  nlohmann::json list = nlohmann::json::array();
  for (const SavedField& field : fields) {
    nlohmann::json dims = nlohmann::json::array();
    for (const BufferDim& dim : field.buffer.dims()) dims.push_back({dim.min, dim.extent});
    list.push_back(
        {{"name", as_utf8(field.name)}, {"type", to_string(field.buffer.type())}, {"box", dims}});
  }
  return {{"algorithm", algorithm}, {"steps", steps_done}, {"fields", list}};
}

constexpr std::string_view kPartial = ".partial-", kUnique = "XXXXXX";

/// Removes what processes that were killed while they wrote a checkpoint to `path` have left beside it:
/// files whose writers hold no lock any more. What cannot be removed stays.
void remove_abandoned(const std::filesystem::path& path) {
  const std::string start = path.filename().string() + std::string(kPartial);
  std::error_code ignored;
  std::filesystem::directory_iterator files(path.has_parent_path() ? path.parent_path() : ".", ignored);
  for (; !ignored && files != std::filesystem::directory_iterator(); files.increment(ignored)) {
    const std::string name = files->path().filename();
    if (name.size() != start.size() + kUnique.size() || !name.starts_with(start)) continue;
    const int file = open(files->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(files->path().c_str());
    close(file);
  }
}

/// A file that is gone again unless keep() was called, or, if the process is killed before, with the
/// next one for the same path. It is locked as long as it is written.
class PartialFile {
 public:
  explicit PartialFile(const std::string& path) {
    remove_abandoned(path);
    // Another writer may take the new file for an abandoned one before it is locked.
    constexpr int kTries = 100;
    for (int i = 0; i < kTries && !has_a_name(); ++i) {
      if (number_ >= 0) close(number_);
      path_ = path + std::string(kPartial) + std::string(kUnique);
      number_ = mkostemp(path_.data(), O_CLOEXEC);
      if (number_ < 0) fail("mkostemp");
      (void)flock(number_, LOCK_EX | LOCK_NB);  // where there are no locks, nobody removes anything
    }
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    if (number_ >= 0) close(number_);
    if (!kept_) unlink(path_.c_str());
  }
  void write(const char* bytes, std::size_t count) {
    hash_.update({bytes, count});
    write_plainly(bytes, count);
  }
  /// On disk, under `path`.
  void keep(const std::string& path) {
    const std::string digest = to_hex(hash_.digest());
    write_plainly(digest.data(), digest.size());
    flush();
    if (fsync(number_) != 0) fail("fsync");
    if (rename(path_.c_str(), path.c_str()) != 0) fail("rename");
    kept_ = true;  // before it is closed, which gives up the lock
    if (close(std::exchange(number_, -1)) != 0) fail("close");
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 20;  // bytes written at once

  [[noreturn]] void fail(const char* call) const {
    throw DeviceError(call, errno, std::string(std::strerror(errno)) + " (checkpoint " + path_ + ")");
  }
  [[nodiscard]] bool has_a_name() const {
    struct stat status {};
    return number_ >= 0 && fstat(number_, &status) == 0 && status.st_nlink > 0;
  }
  void write_plainly(const char* bytes, std::size_t count) {
    buffer_.append(bytes, count);
    if (buffer_.size() >= kBuffer) flush();
  }
  void flush() {
    for (std::size_t done = 0; done < buffer_.size();) {
      const ssize_t wrote = ::write(number_, buffer_.data() + done, buffer_.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) fail("write");
      done += static_cast<std::size_t>(wrote);
    }
    buffer_.clear();
  }

  std::string path_, buffer_;
  int number_ = -1;
  bool kept_ = false;
  Sha256 hash_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why, const CallSite& at) {
  throw UserError("checkpoint " + path + " " + why, at);
}

std::string read_file(const std::string& path, const CallSite& at) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, std::string("cannot be read: ") + std::strerror(errno), at);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

std::string describe(const nlohmann::json& field) {
  return field.at("name").get<std::string>() + ", " + field.at("type").get<std::string>() + " over " +
         field.at("box").dump();
}

void compare(const std::string& path, const nlohmann::json& found, const nlohmann::json& wanted,
             const CallSite& at) {
  if (found.at("algorithm") != wanted.at("algorithm")) {
    refuse(path,
           "belongs to another algorithm: its mark is " + found.at("algorithm").dump() +
               ", this one's is " + wanted.at("algorithm").dump(),
           at);
  }
  const auto& theirs = found.at("fields");
  const auto& ours = wanted.at("fields");
  if (theirs.size() != ours.size()) {
    refuse(path,
           "has " + std::to_string(theirs.size()) + " fields, but the Iteration has " +
               std::to_string(ours.size()),
           at);
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (theirs[i] == ours[i]) continue;
    refuse(path, "holds " + describe(theirs[i]) + ", but the field is " + describe(ours[i]), at);
  }
}

}  // namespace

void write_checkpoint(const std::string& path, const std::string& algorithm, std::int64_t steps_done,
                      const std::vector<SavedField>& fields) {
  PartialFile file(path);
  file.write(kFirstLine.data(), kFirstLine.size());
  const std::string header = header_of(algorithm, steps_done, fields).dump() + "\n";
  file.write(header.data(), header.size());
  for (const SavedField& field : fields) {
    auto* first = static_cast<char*>(field.buffer.host_data());
    for_each_row(field.buffer, first, [&](char* row, std::size_t bytes) { file.write(row, bytes); });
  }
  file.keep(path);
}

std::int64_t read_checkpoint(const std::string& path, const std::string& algorithm,
                             std::vector<SavedField>& fields, const CallSite& at) {
  const std::string bytes = read_file(path, at);
  if (bytes.compare(0, kFirstLine.size(), kFirstLine) != 0) refuse(path, "is no checkpoint", at);
  const std::string_view all(bytes);
  if (bytes.size() < kFirstLine.size() + kDigits ||
      to_hex(sha256(all.substr(0, bytes.size() - kDigits))) != all.substr(bytes.size() - kDigits)) {
    refuse(path,
           "is damaged: its checksum does not match its " + std::to_string(bytes.size()) + " bytes", at);
  }
  const std::size_t end = bytes.find('\n', kFirstLine.size());
  if (end == std::string::npos) refuse(path, "is damaged: it has no header", at);
  const std::string_view words = all.substr(kFirstLine.size(), end - kFirstLine.size());
  if (nests_deeper(words)) refuse(path, "is damaged: its header nests too deep", at);
  std::int64_t steps = 0;
  try {
    const auto header = nlohmann::json::parse(words);
    compare(path, header, header_of(algorithm, 0, fields), at);
    const auto& done = header.at("steps");
    if (!done.is_number_unsigned() || done.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      refuse(path, "is damaged: its number of steps is no number from 0 on", at);
    }
    steps = done.get<std::int64_t>();
  } catch (const nlohmann::json::exception& error) {
    refuse(path, std::string("is damaged: ") + error.what(), at);
  }
  std::size_t expected = end + 1 + kDigits;
  for (const SavedField& field : fields) {
    expected += static_cast<std::size_t>(field.buffer.elements() * field.buffer.type().bytes());
  }
  if (expected != bytes.size()) {
    refuse(path,
           "is damaged: it has " + std::to_string(bytes.size()) + " bytes, its fields ask for " +
               std::to_string(expected),
           at);
  }
  const char* from = bytes.data() + end + 1;
  for (SavedField& field : fields) {
    auto* first = static_cast<char*>(field.buffer.host_data_for_write());
    for_each_row(field.buffer, first, [&](char* row, std::size_t count) {
      std::memcpy(row, from, count);
      from += count;
    });
  }
  return steps;
}

}  // namespace mica::iterate
