#include "runtime/cache/kernel_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mica {

namespace {

// An entry's file is this header, integers in little-endian order, and the payload:
//   bytes  0 ...  7  magic
//          8 ... 11  version of the format
//         12 ... 43  key
//         44 ... 51  bytes of the payload
//         52 ... 83  SHA-256 of the payload
constexpr std::string_view kMagic = "MICACODE";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 84;
constexpr std::uint64_t kMostPayload = std::uint64_t{256} << 20;  // bytes; larger ones are not kept

constexpr std::string_view kEntrySuffix = ".bin";
constexpr std::string_view kPartialPrefix = ".partial-";
constexpr std::time_t kPartialLives = 3600;  // seconds
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

/// An open file or folder.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool valid() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool is_private(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & kOthersMayWrite) == 0;
}

/// The folder, if it is this user's and nobody else can write there; an invalid one otherwise.
int open_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return -1;
  Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!opened.valid() || fstat(opened.number(), &status) != 0 || !is_private(status)) return -1;
  return opened.release();
}

/// Makes the folder and those above it that are missing, readable by their owner alone.
void make_folder(const std::filesystem::path& folder) {
  std::filesystem::path made;
  for (const std::filesystem::path& part : folder) {
    made /= part;
    (void)mkdir(made.c_str(), S_IRWXU);  // most exist already; the last one is checked when opened
  }
}

template <typename Integer>
void append(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

void append(std::string& bytes, const Sha256Digest& digest) {
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::string header_of(const Sha256Digest& key, std::string_view payload) {
  std::string header(kMagic);
  append(header, kVersion);
  append(header, key);
  append(header, std::uint64_t{payload.size()});
  append(header, sha256(payload));
  return header;
}

std::string entry_name(const Sha256Digest& key) { return to_hex(key) + std::string(kEntrySuffix); }

/// All `size` bytes from the file's current position, or false.
bool read_all(int file, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = read(file, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// A name that no other writer uses.
std::string partial_name() {
  Sha256Digest random{};
  if (getrandom(random.data(), 16, GRND_NONBLOCK) != 16) {
    // Before the kernel has random numbers: the file is opened so that a name in use is refused.
    const std::string unique = std::to_string(getpid()) + " " + std::to_string(std::clock());
    random = sha256(unique);
  }
  return std::string(kPartialPrefix) + to_hex(random).substr(0, 32);
}

/// A file of the folder as trim sees it.
struct Entry {
  std::string name;
  std::uint64_t bytes = 0;
  struct timespec used {};
};

bool used_before(const Entry& a, const Entry& b) {
  if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
  if (a.used.tv_nsec != b.used.tv_nsec) return a.used.tv_nsec < b.used.tv_nsec;
  return a.name < b.name;
}

/// The entries of `folder`, after partial files that are older than kPartialLives were removed.
std::vector<Entry> list_entries(int folder) {
  std::vector<Entry> entries;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy >= 0 ? fdopendir(copy) : nullptr, closedir);
  if (listing == nullptr) {
    if (copy >= 0) close(copy);
    return entries;
  }
  const std::time_t now = std::time(nullptr);
  while (const dirent* item = readdir(listing.get())) {
    const std::string_view name = item->d_name;
    const bool partial = name.starts_with(kPartialPrefix);
    struct stat status {};
    if (!partial && !name.ends_with(kEntrySuffix)) continue;
    if (fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
      continue;
    }
    if (partial) {
      if (status.st_mtim.tv_sec + kPartialLives < now) (void)unlinkat(folder, item->d_name, 0);
    } else {
      entries.push_back({std::string(name), static_cast<std::uint64_t>(status.st_size), status.st_mtim});
    }
  }
  return entries;
}

}  // namespace

CacheKey& CacheKey::add(std::string_view name, std::string_view value) {
  // Lengths keep ("ab", "c") and ("a", "bc") apart.
  std::string lengths;
  append(lengths, std::uint64_t{name.size()});
  append(lengths, std::uint64_t{value.size()});
  hash_.update(lengths).update(name).update(value);
  return *this;
}

KernelCache::KernelCache(std::filesystem::path folder, std::uint64_t most_bytes,
                         std::size_t most_entries)
    : folder_(std::move(folder)), most_bytes_(most_bytes), most_entries_(most_entries) {}

KernelCache KernelCache::from_environment() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  if (const auto own = variable("MICA_CACHE_DIR"); !own.empty()) return KernelCache(own);
  if (const auto xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) return KernelCache(xdg / "mica");
  if (const auto home = variable("HOME"); home.is_absolute()) {
    return KernelCache(home / ".cache" / "mica");
  }
  return KernelCache({});
}

std::filesystem::path KernelCache::entry_path(const CacheKey& key) const {
  return folder_ / entry_name(key.digest());
}

std::optional<std::string> KernelCache::load(const CacheKey& key) const {
  const Descriptor folder(open_folder(folder_));
  if (!folder.valid()) return std::nullopt;
  const Sha256Digest digest = key.digest();
  // Without O_NONBLOCK the open of a pipe would wait for a writer.
  const Descriptor file(openat(folder.number(), entry_name(digest).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_private(status)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < kHeaderBytes || size - kHeaderBytes > kMostPayload) return std::nullopt;
  std::string header(kHeaderBytes, '\0');
  std::string payload(static_cast<std::size_t>(size) - kHeaderBytes, '\0');
  if (!read_all(file.number(), header.data(), header.size()) ||
      !read_all(file.number(), payload.data(), payload.size()) || header != header_of(digest, payload)) {
    return std::nullopt;
  }
  (void)futimens(file.number(), nullptr);  // used now: trim removes it later than others
  return payload;
}

void KernelCache::store(const CacheKey& key, std::string_view payload) const {
  if (folder_.empty() || payload.size() > std::min(kMostPayload, most_bytes_)) return;
  make_folder(folder_);
  const Descriptor folder(open_folder(folder_));
  if (!folder.valid()) return;
  const Sha256Digest digest = key.digest();
  const std::string partial = partial_name();
  bool written = false;
  {
    const Descriptor file(openat(folder.number(), partial.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 S_IRUSR | S_IWUSR));
    if (!file.valid()) return;
    written = write_all(file.number(), header_of(digest, payload)) && write_all(file.number(), payload);
  }
  const std::string name = entry_name(digest);
  if (!written || renameat(folder.number(), partial.c_str(), folder.number(), name.c_str()) != 0) {
    (void)unlinkat(folder.number(), partial.c_str(), 0);
    return;
  }
  // Keys are evenly spread, so this comes up in one store of 16.
  if (digest.back() % 16 == 0) trim();
}

void KernelCache::trim() const {
  const Descriptor folder(open_folder(folder_));
  if (!folder.valid()) return;
  std::vector<Entry> entries = list_entries(folder.number());
  std::ranges::sort(entries, used_before);
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  std::size_t left = entries.size();
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_ && left <= most_entries_) break;
    (void)unlinkat(folder.number(), entry.name.c_str(), 0);
    bytes -= entry.bytes;
    --left;
  }
}

}  // namespace mica
