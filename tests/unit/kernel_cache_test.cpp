// The disk cache of machine code: what it returns is what was stored, whatever happens to its files.
#include "runtime/cache/kernel_cache.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

namespace fs = std::filesystem;

CacheKey key_of(const std::string& text) { return CacheKey().add("ir", text); }

std::string file_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Bytes of all values.
std::string payload_of(std::size_t size, unsigned seed) {
  std::string payload(size, '\0');
  for (char& byte : payload) {
    seed = seed * 1664525U + 1013904223U;
    byte = static_cast<char>(seed >> 24);
  }
  return payload;
}

/// Runs `body` in a process of its own; its exit status, or minus the signal that ended it.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

class Cache : public testing::Test {
 protected:
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
  }
  [[nodiscard]] KernelCache cache() const { return KernelCache(folder_); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  test::TemporaryFolder temporary_;
  fs::path root_ = temporary_.path(), folder_ = root_ / "cache";
};

TEST_F(Cache, ReturnsWhatWasStored) {
  for (const std::size_t size : {0, 1, 1000, 1'000'000}) {
    const CacheKey key = key_of(std::to_string(size));
    const std::string payload = payload_of(size, 1);
    EXPECT_EQ(cache().load(key), std::nullopt);
    cache().store(key, payload);
    EXPECT_EQ(cache().load(key), payload);
  }
}

TEST_F(Cache, KeepsTheLastOfTwoPayloadsUnderOneKey) {
  cache().store(key_of("a"), "first");
  cache().store(key_of("a"), "second");
  EXPECT_EQ(cache().load(key_of("a")), "second");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Cache, TellsKeysApartByEveryPartNameAndOrder) {
  const auto digest = [](auto... parts) {
    CacheKey key;
    const std::string list[] = {parts...};
    for (std::size_t i = 0; i < std::size(list); i += 2) key.add(list[i], list[i + 1]);
    return key.digest();
  };
  EXPECT_EQ(digest("ir", "x", "sm", "90"), digest("ir", "x", "sm", "90"));
  EXPECT_NE(digest("ir", "x", "sm", "90"), digest("sm", "90", "ir", "x"));
  EXPECT_NE(digest("ir", "x", "sm", "90"), digest("ir", "x", "sm", "80"));
  EXPECT_NE(digest("ir", "x"), digest("ir", "x", "sm", ""));
  EXPECT_NE(digest("ab", "c"), digest("a", "bc"));
}

TEST_F(Cache, MakesItsFolderForItsOwnerAlone) {
  const KernelCache deep(root_ / "a" / "b" / "c");
  deep.store(key_of("x"), "code");
  EXPECT_EQ(fs::status(root_ / "a" / "b" / "c").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(deep.entry_path(key_of("x"))).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Cache, MissesAnEntryWithAnyByteFlippedAndReplacesIt) {
  const CacheKey key = key_of("flip");
  const std::string payload = payload_of(200, 2);
  cache().store(key, payload);
  const fs::path path = cache().entry_path(key);
  const std::string entry = file_bytes(path);
  ASSERT_GT(entry.size(), payload.size());
  for (std::size_t at = 0; at < entry.size(); ++at) {
    for (const int flip : {0x01, 0x80}) {
      std::string damaged = entry;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      write_file(path, damaged);
      ASSERT_EQ(cache().load(key), std::nullopt) << "byte " << at << " flipped by " << flip;
    }
  }
  cache().store(key, payload);
  EXPECT_EQ(cache().load(key), payload);
}

TEST_F(Cache, MissesAnEntryCutShortAtAnyLengthOrMadeLonger) {
  const CacheKey key = key_of("cut");
  cache().store(key, payload_of(200, 3));
  const fs::path path = cache().entry_path(key);
  const std::string entry = file_bytes(path);
  for (std::size_t length = 0; length < entry.size(); ++length) {
    write_file(path, entry.substr(0, length));
    ASSERT_EQ(cache().load(key), std::nullopt) << "cut to " << length << " bytes";
  }
  write_file(path, entry + '\0');
  EXPECT_EQ(cache().load(key), std::nullopt);
  write_file(path, entry);
  EXPECT_EQ(cache().load(key), payload_of(200, 3)) << "the undamaged entry must be found again";
}

TEST_F(Cache, MissesAnotherKeysEntryUnderItsName) {
  cache().store(key_of("a"), "code of a");
  fs::copy_file(cache().entry_path(key_of("a")), cache().entry_path(key_of("b")));
  EXPECT_EQ(cache().load(key_of("b")), std::nullopt);
}

TEST_F(Cache, MissesAnEntryThatOthersMayWriteAndReplacesIt) {
  cache().store(key_of("a"), "code");
  const fs::path path = cache().entry_path(key_of("a"));
  fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(cache().load(key_of("a")), std::nullopt);
  cache().store(key_of("a"), "code");
  EXPECT_EQ(cache().load(key_of("a")), "code");
}

TEST_F(Cache, MissesAnotherUsersEntry) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  cache().store(key_of("a"), "code");
  ASSERT_EQ(chown(cache().entry_path(key_of("a")).c_str(), 12345, 12345), 0);
  EXPECT_EQ(cache().load(key_of("a")), std::nullopt);
  cache().store(key_of("a"), "code");
  EXPECT_EQ(cache().load(key_of("a")), "code");
}

TEST_F(Cache, MissesLinksPipesAndFoldersInAnEntrysPlace) {
  const CacheKey key = key_of("a");
  cache().store(key, "code");
  const fs::path path = cache().entry_path(key);
  fs::rename(path, root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", path);
  EXPECT_EQ(cache().load(key), std::nullopt);
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cache().load(key), std::nullopt);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(cache().load(key), std::nullopt);
  cache().store(key, "code");
  EXPECT_EQ(cache().load(key), std::nullopt) << "a folder cannot be replaced by a file";
  EXPECT_EQ(files(), 1U) << "a store that failed leaves nothing behind";
}

TEST_F(Cache, IsEmptyWhereOthersMayWriteTheFolder) {
  cache().store(key_of("a"), "code");
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache().load(key_of("a")), std::nullopt);
  cache().store(key_of("b"), "code");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Cache, IsEmptyWithoutAFolder) {
  const KernelCache none({});
  none.store(key_of("a"), "code");
  EXPECT_EQ(none.load(key_of("a")), std::nullopt);
  none.trim();
}

TEST_F(Cache, IsEmptyWhereAFileStandsInTheFoldersPlace) {
  write_file(folder_, "not a folder");
  cache().store(key_of("a"), "code");
  EXPECT_EQ(cache().load(key_of("a")), std::nullopt);
  EXPECT_EQ(KernelCache(folder_ / "below").load(key_of("a")), std::nullopt);
  KernelCache(folder_ / "below").store(key_of("a"), "code");
}

TEST_F(Cache, OfAReadOnlyFolderIsReadAndNotWritten) {
  cache().store(key_of("a"), "code");
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  // Root may write anywhere, so the process gives its rights up first.
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(root_.c_str(), 12345, 12345), 0);
    ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
    ASSERT_EQ(chown(cache().entry_path(key_of("a")).c_str(), 12345, 12345), 0);
  }
  EXPECT_EQ(in_child([&] {
              if (is_root && setuid(12345) != 0) return 1;
              if (cache().load(key_of("a")) != "code") return 2;
              cache().store(key_of("b"), "more");
              return cache().load(key_of("b")).has_value() ? 3 : 0;
            }),
            0);
}

TEST_F(Cache, OnAFullDiskStoresNothingAndLeavesNothingBehind) {
  cache().store(key_of("a"), "code");
  EXPECT_EQ(in_child([&] {
              // Writes beyond the limit fail as they do on a full disk.
              const rlimit limit{4096, 4096};
              (void)std::signal(SIGXFSZ, SIG_IGN);
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              cache().store(key_of("big"), payload_of(100'000, 4));
              return 0;
            }),
            0);
  EXPECT_EQ(cache().load(key_of("big")), std::nullopt);
  EXPECT_EQ(cache().load(key_of("a")), "code");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Cache, OfAProcessKilledInMidWriteHoldsNoEntry) {
  const CacheKey key = key_of("killed");
  const std::string payload = payload_of(100'000, 5);
  EXPECT_EQ(in_child([&] {
              // The system kills the process at the first byte beyond the limit.
              const rlimit limit{50'000, 50'000}, no_core{0, 0};
              if (setrlimit(RLIMIT_CORE, &no_core) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
                return 1;
              cache().store(key, payload);
              return 0;
            }),
            -SIGXFSZ);
  EXPECT_EQ(files(), 1U) << "what had been written";
  EXPECT_EQ(cache().load(key), std::nullopt);
  cache().store(key, payload);
  EXPECT_EQ(cache().load(key), payload);
}

TEST_F(Cache, SurvivesWritersKilledAtAnyMoment) {
  const CacheKey key = key_of("kill -9");
  const std::string payload = payload_of(2'000'000, 6);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) cache().store(key, payload);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 1700 * round));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    waitpid(child, nullptr, 0);
    const std::optional<std::string> found = cache().load(key);
    ASSERT_TRUE(!found.has_value() || *found == payload) << "round " << round;
  }
  cache().store(key, payload);
  EXPECT_EQ(cache().load(key), payload);
}

TEST_F(Cache, IsFilledByTwoProcessesAtOnce) {
  // Both store different code of different length under the same keys; each load returns one of the two
  // whole.
  constexpr int kKeys = 8, kRounds = 60;
  const auto code = [](int writer, int key) {
    return payload_of(20'000 + 5000 * static_cast<std::size_t>(writer) + static_cast<std::size_t>(key),
                      static_cast<unsigned>(100 * writer + key));
  };
  const auto fill = [&](int writer) {
    for (int round = 0; round < kRounds; ++round) {
      for (int k = 0; k < kKeys; ++k) {
        const CacheKey key = key_of(std::to_string(k));
        cache().store(key, code(writer, k));
        const std::optional<std::string> found = cache().load(key);
        if (!found.has_value() || (*found != code(0, k) && *found != code(1, k))) return 1;
      }
    }
    return 0;
  };
  const pid_t child = fork();
  if (child == 0) _exit(fill(1));
  EXPECT_EQ(fill(0), 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(files(), static_cast<std::size_t>(kKeys)) << "no partial file is left";
}

TEST_F(Cache, TrimRemovesTheEntriesUsedLongestAgo) {
  const KernelCache small(folder_, 3200);
  const auto set_used = [&](const std::string& name, time_t when) {
    const timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, small.entry_path(key_of(name)).c_str(), times, 0), 0);
  };
  for (const char* name : {"a", "b", "c", "d"}) {
    cache().store(key_of(name), payload_of(916, 7));  // 1000 bytes with the header
  }
  set_used("a", 1000);
  set_used("b", 2000);
  set_used("c", 3000);
  set_used("d", 4000);
  EXPECT_TRUE(cache().load(key_of("a")).has_value());  // used now
  small.trim();
  EXPECT_TRUE(cache().load(key_of("a")).has_value());
  EXPECT_FALSE(cache().load(key_of("b")).has_value());
  EXPECT_TRUE(cache().load(key_of("c")).has_value());
  EXPECT_TRUE(cache().load(key_of("d")).has_value());
}

TEST_F(Cache, StaysBoundedByItself) {
  const KernelCache small(folder_, KernelCache::kMostBytes, 10);
  for (int i = 0; i < 400; ++i) small.store(key_of(std::to_string(i)), "code");
  EXPECT_LT(files(), 200U);
  small.trim();
  EXPECT_EQ(files(), 10U);
}

TEST_F(Cache, TrimRemovesWhatKilledWritersLeftAfterAnHour) {
  cache().store(key_of("a"), "code");
  write_file(folder_ / ".partial-old", "half");
  write_file(folder_ / ".partial-new", "half");
  write_file(folder_ / "notes.txt", "a file of someone else's");
  const time_t two_hours_ago = time(nullptr) - 7200;
  const timespec times[2] = {{two_hours_ago, 0}, {two_hours_ago, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder_ / ".partial-old").c_str(), times, 0), 0);
  KernelCache(folder_, 0).trim();
  EXPECT_FALSE(fs::exists(folder_ / ".partial-old"));
  EXPECT_TRUE(fs::exists(folder_ / ".partial-new"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
  EXPECT_EQ(cache().load(key_of("a")), std::nullopt);
}

TEST_F(Cache, KeepsNoPayloadLargerThanItself) {
  const KernelCache small(folder_, 100);
  small.store(key_of("a"), payload_of(101, 8));
  EXPECT_EQ(small.load(key_of("a")), std::nullopt);
}

TEST_F(Cache, FolderComesFromTheEnvironment) {
  const auto folder = [](const char* own, const char* xdg, const char* home) {
    std::string answer(256, '\0');
    int ends[2];
    if (pipe(ends) != 0) return std::string("no pipe");
    const int status = in_child([&] {
      const auto set = [](const char* name, const char* value) {
        return value != nullptr ? setenv(name, value, 1) : unsetenv(name);
      };
      set("MICA_CACHE_DIR", own);
      set("XDG_CACHE_HOME", xdg);
      set("HOME", home);
      const std::string path = KernelCache::from_environment().folder().string();
      return write(ends[1], path.data(), path.size()) < 0 ? 1 : 0;
    });
    close(ends[1]);
    const ssize_t got = read(ends[0], answer.data(), answer.size());
    close(ends[0]);
    return status == 0 && got >= 0 ? answer.substr(0, static_cast<std::size_t>(got)) : "failed";
  };
  EXPECT_EQ(folder("/a", "/b", "/c"), "/a");
  EXPECT_EQ(folder(nullptr, "/b", "/c"), "/b/mica");
  EXPECT_EQ(folder("", "/b", "/c"), "/b/mica");
  EXPECT_EQ(folder(nullptr, nullptr, "/c"), "/c/.cache/mica");
  EXPECT_EQ(folder(nullptr, "relative", "/c"), "/c/.cache/mica");
  EXPECT_EQ(folder(nullptr, nullptr, nullptr), "");
}

}  // namespace
}  // namespace mica
