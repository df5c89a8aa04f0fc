// The rules of the source tree: which folder may include which, where LLVM and CUDA may be named,
// and how long a file may be. The tree is read from MICA_SOURCE_DIR.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/source_root.h"

namespace {

using mica::test::source_root;
namespace fs = std::filesystem;

constexpr std::size_t max_lines = 500;
constexpr int max_headers_of_a_room = 20;

/// The folders that a file of a folder may include from.
const std::map<std::string, std::vector<std::string>>& may_include() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"dsl", {"dsl"}},
      {"runtime", {"dsl", "runtime"}},
      {"codegen", {"dsl", "runtime", "codegen"}},
      {"schedules", {"dsl", "runtime", "codegen", "schedules"}},
      {"fuzz", {"dsl", "runtime", "codegen", "schedules", "fuzz"}},
      {"examples", {"dsl", "runtime", "codegen", "schedules", "tools/pictures", "examples"}},
      {"docs", {}},  // its programs include what users include
      // Of examples their algorithms alone: bench_reads().
      {"bench", {"dsl", "runtime", "codegen", "schedules", "tools/pictures", "examples", "bench"}},
      {"tools", {"dsl", "runtime", "codegen", "schedules", "bench", "fuzz", "tools/pictures", "tools"}},
      {"tools/pictures", {"dsl", "runtime", "tools/pictures"}},
      {"tests", {"dsl", "runtime", "codegen", "schedules", "bench", "fuzz", "tools/pictures", "tests"}},
  };
  return table;
}

/// The first part of a path from the root; of what examples, benchmarks and the tool draw with, two.
std::string folder_of(const std::string& path) {
  const std::string pictures = "tools/pictures";
  return path.starts_with(pictures + "/") ? pictures : path.substr(0, path.find('/'));
}

/// The headers of examples whose algorithms the benchmarks time.
const std::vector<std::string>& bench_reads() {
  static const std::vector<std::string> headers = {"examples/cavity/relaxation.h",
                                                   "examples/local_laplacian/filter.h",
                                                   "examples/multigrid/equation.h"};
  return headers;
}

struct Include {
  std::size_t line;
  bool quoted;
  std::string path;
};

struct SourceFile {
  std::string path;    // from the root, as "dsl/expr/expr.h"
  std::string folder;  // folder_of(path)
  std::vector<std::string> lines;
  std::vector<Include> includes;

  [[nodiscard]] bool under(const std::string& prefix) const { return path.starts_with(prefix); }
  [[nodiscard]] std::string at(std::size_t line) const { return path + ":" + std::to_string(line); }
};

SourceFile read_source(const fs::path& root, const fs::path& file) {
  static const std::regex include_line(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  SourceFile source;
  source.path = fs::relative(file, root).generic_string();
  source.folder = folder_of(source.path);
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    source.lines.push_back(line);
    std::smatch match;
    if (std::regex_search(line, match, include_line)) {
      source.includes.push_back({source.lines.size(), match[1] == "\"", match[2]});
    }
  }
  return source;
}

/// Files below `folder` whose names end in one of `extensions`.
std::vector<SourceFile> read_folder(const fs::path& root, const std::string& folder,
                                    const std::vector<std::string>& extensions) {
  std::vector<SourceFile> files;
  if (!fs::is_directory(root / folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() && std::ranges::find(extensions, extension) != extensions.end()) {
      files.push_back(read_source(root, entry.path()));
    }
  }
  return files;
}

class SourceTree : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const auto& [folder, allowed] : may_include()) {
      if (folder.find('/') != std::string::npos) continue;  // within another
      for (SourceFile& file : read_folder(source_root(), folder, {".h", ".cpp", ".cu", ".cuh"})) {
        // The consumer project stands outside the tree: it uses the installed library.
        if (!file.under("tests/install/")) sources().push_back(std::move(file));
      }
    }
  }
  void SetUp() override {
    if (sources().empty()) GTEST_SKIP() << "no source tree at " << source_root();
  }
  static std::vector<SourceFile>& sources() {
    static std::vector<SourceFile> files;
    return files;
  }
};

TEST_F(SourceTree, FilesIncludeTheirOwnFolderOrAnEarlierOneOnly) {
  for (const SourceFile& file : sources()) {
    const auto& allowed = may_include().at(file.folder);
    for (const Include& include : file.includes) {
      const std::string target = folder_of(include.path);
      if (!may_include().contains(target)) continue;
      // The harnesses read what the examples' readers read.
      if (file.under("tests/harness/") && include.path.starts_with("examples/common/")) continue;
      EXPECT_TRUE(std::ranges::find(allowed, target) != allowed.end())
          << file.at(include.line) << ": " << file.folder << "/ may not include " << include.path;
    }
  }
}

TEST_F(SourceTree, BenchReadsAlgorithmsAloneOfExamples) {
  for (const SourceFile& file : sources()) {
    if (file.folder != "bench") continue;
    for (const Include& include : file.includes) {
      if (!include.path.starts_with("examples/")) continue;
      EXPECT_TRUE(std::ranges::find(bench_reads(), include.path) != bench_reads().end())
          << file.at(include.line) << ": " << include.path << " is more than an algorithm";
    }
  }
}

TEST_F(SourceTree, QuotedIncludesAreWrittenFromTheRoot) {
  for (const SourceFile& file : sources()) {
    if (file.under("bench/twins/") || file.under("bench/halide/")) continue;
    for (const Include& include : file.includes) {
      if (!include.quoted) continue;
      EXPECT_TRUE(fs::exists(source_root() / include.path))
          << file.at(include.line) << ": there is no " << include.path << " in the root";
    }
  }
}

TEST_F(SourceTree, OnlyTheBackEndsSeeLlvm) {
  for (const SourceFile& file : sources()) {
    if (file.under("codegen/llvm/")) continue;
    for (const Include& include : file.includes) {
      EXPECT_FALSE(include.path.starts_with("llvm/") || include.path.starts_with("llvm-c/"))
          << file.at(include.line) << ": " << include.path << " belongs in codegen/llvm/";
    }
  }
}

TEST_F(SourceTree, OnlyTheRuntimeAndItsTestsSeeTheCudaDriver) {
  const std::regex toolkit_header(R"(^(cuda|nvrtc|nvml|cuda_runtime|cuda_fp16)(_api)?\.h$)");
  for (const SourceFile& file : sources()) {
    if (file.under("bench/twins/")) continue;
    for (const Include& include : file.includes) {
      EXPECT_FALSE(std::regex_search(include.path, toolkit_header) && file.folder != "tests")
          << file.at(include.line) << ": Mica is built without the CUDA toolkit";
      EXPECT_FALSE(include.path.starts_with("runtime/cuda/cuda_") && file.folder != "runtime" &&
                   file.folder != "tests")
          << file.at(include.line) << ": " << include.path << " stays inside runtime/";
    }
  }
}

TEST_F(SourceTree, FilesStayWithinFiveHundredLines) {
  for (const SourceFile& file : sources()) {
    EXPECT_LE(file.lines.size(), max_lines) << file.path << ": split it by family";
  }
}

TEST_F(SourceTree, RoomsOfTheLibraryCanBeTakenInAtAGlance) {
  std::map<std::string, int> headers;
  for (const SourceFile& file : sources()) {
    const bool library = file.folder == "dsl" || file.folder == "runtime" || file.folder == "codegen";
    if (!library) continue;
    const std::string room = file.path.substr(0, file.path.rfind('/'));
    EXPECT_TRUE(room != "dsl" && room != "runtime" && room != "codegen/passes")
        << file.path << " stands outside of the rooms that docs/architecture.md lists";
    headers[room] += file.path.ends_with(".h") ? 1 : 0;
  }
  for (const auto& [room, count] : headers) {
    EXPECT_LE(count, max_headers_of_a_room) << room << "/: split it by what its files are for";
  }
}

TEST_F(SourceTree, HeadersAreIncludedOnce) {
  for (const SourceFile& file : sources()) {
    if (!file.path.ends_with(".h")) continue;
    EXPECT_TRUE(std::ranges::find(file.lines, "#pragma once") != file.lines.end())
        << file.path << " lacks #pragma once";
  }
}

TEST_F(SourceTree, NoFileNamesAPathOfOneMachine) {
  const std::regex machine_path(R"((^|[^A-Za-z0-9_.*-])/(root|work|home/[a-z]+|Users/[A-Za-z]+)/)");
  std::vector<SourceFile> texts = sources();
  const std::vector<std::string> text_extensions = {".cmake", ".in",   ".txt",  ".sh",  ".md", ".py",
                                                    ".pyi",   ".json", ".yaml", ".ptx", ".ll", ".map"};
  for (const std::string folder : {"cmake", "scripts", "docs", ".ci", "include", "codegen", "schedules",
                                   "fuzz", "tests", "examples", "bench", "tools"}) {
    std::ranges::move(read_folder(source_root(), folder, text_extensions), std::back_inserter(texts));
  }
  for (const char* file : {"CMakeLists.txt", "CMakePresets.json", "README.md", "CHANGELOG.md",
                           "CONTRIBUTING.md", ".ci/run"}) {
    if (fs::exists(source_root() / file))
      texts.push_back(read_source(source_root(), source_root() / file));
  }
  for (const SourceFile& file : texts) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], machine_path))
          << file.at(i + 1) << ": " << file.lines[i];
    }
  }
}

}  // namespace
