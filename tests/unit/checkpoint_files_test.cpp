// Checkpoints of processes that are killed while they write: what is left beside them.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/iterate/checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace mica::iterate {
namespace {

namespace fs = std::filesystem;

class CheckpointFiles : public ::testing::Test {
 protected:
  CheckpointFiles() { field_.fill(1.5F); }
  void write() const { write_checkpoint(path_, "algorithm", 3, {{"u", field_}}); }
  /// In a process that is ended when its file has 4,000 bytes.
  void write_and_die() const {
    const pid_t child = fork();
    if (child == 0) {
      const struct rlimit none { 0, 0 }, few{4000, 4000};
      std::signal(SIGXFSZ, SIG_DFL);
      setrlimit(RLIMIT_CORE, &none);
      setrlimit(RLIMIT_FSIZE, &few);
      write();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_.path()))
      names.push_back(file.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "run.mica";
  Buffer<float> field_{100, 100};
};

TEST_F(CheckpointFiles, WhatAKilledProcessLeftGoesWithTheNextWrite) {
  write();
  write_and_die();
  write_and_die();
  const std::vector<std::string> left = files();
  ASSERT_EQ(left.size(), 2U) << "the second took away what the first had left";
  EXPECT_EQ(left.front(), "run.mica");
  EXPECT_TRUE(left.back().starts_with("run.mica.partial-")) << left.back();
  std::vector<SavedField> fields{{"u", Buffer<float>(100, 100)}};
  EXPECT_EQ(read_checkpoint(path_, "algorithm", fields, CallSite::current()), 3)
      << "the one before is whole";
  write();
  EXPECT_EQ(files(), std::vector<std::string>{"run.mica"});
}

TEST_F(CheckpointFiles, WhatIsOthersStays) {
  const std::vector<std::string> others{"other.mica.partial-abcdef", "run.mica.backup",
                                        "run.mica.partial-abcdefg", "run.mica.partial-"};
  for (const std::string& name : others) std::ofstream(folder_.path() / name) << "mine";
  // That of a process which is still writing.
  const std::string busy = folder_.path() / "run.mica.partial-writes";
  const int writer = open(busy.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  write();
  EXPECT_EQ(files().size(), others.size() + 2) << "theirs, the writer's and the checkpoint";
  close(writer);
  write();
  EXPECT_EQ(files().size(), others.size() + 1);
  EXPECT_FALSE(fs::exists(busy));
}

}  // namespace
}  // namespace mica::iterate
