#include "codegen/export/system_tools.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dsl/expr/diagnostics.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/cuda/huge_ptx.h"
#include "runtime/cuda/plain_loads.h"

namespace mica::exported {

namespace {

namespace fs = std::filesystem;

/// A folder of its own for files on the way; it goes with its end.
class WorkFolder {
 public:
  WorkFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "mica-export-XXXXXX").string();
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }  ///< empty: there is none

 private:
  fs::path path_;
};

/// Writes `path`, which errors call `name`.
void write_file(const std::string& path, const std::string& bytes, const std::string& name) {
  const auto refuse = [&](int why) {
    throw UserError("cannot write " + name + ": " + std::strerror(why));
  };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) refuse(errno);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int why = errno;
  if (std::fclose(file) != 0) refuse(errno);
  if (!written) refuse(why);
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The program's path, as a shell finds it, or else in `folders`; empty: there is none.
std::string find_program(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> all;
  const char* path = std::getenv("PATH");
  for (std::string rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = rest.find(':');
    all.push_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  all.insert(all.end(), folders.begin(), folders.end());
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  for (const std::string& folder : all) {
    std::string program = folder + "/" + name;
    if (!folder.empty() && access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

/// Runs a program, in `folder` where one is given, with its output in `log`. Its exit status; -1 if it
/// could not be run.
int run_program(const std::vector<std::string>& words, const fs::path& log,
                const fs::path& folder = {}) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  constexpr int kMode = 0600;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   kMode);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = -1;
  const int failed =
      posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The entries of which ptxas -v says that they spill:
///   ptxas info    : Compiling entry function 'f' for 'sm_90'
///       264 bytes stack frame, 536 bytes spill stores, 456 bytes spill loads
std::vector<std::string> spilling_entries(const std::string& log) {
  constexpr std::string_view kEntry = "Compiling entry function '", kNone = " 0 bytes spill stores";
  std::vector<std::string> entries;
  for (std::size_t at = log.find(kEntry); at != std::string::npos;) {
    const std::size_t name = at + kEntry.size(), next = log.find(kEntry, name);
    const std::string about = log.substr(name, std::min(next, log.size()) - name);
    if (about.find(kNone) == std::string::npos) entries.push_back(about.substr(0, about.find('\'')));
    at = next;
  }
  return entries;
}

}  // namespace

void write_files(const std::vector<OutputFile>& files) {
  const std::string tail = ".part" + std::to_string(getpid());
  std::size_t written = 0;
  try {
    for (; written < files.size(); ++written) {
      write_file(files[written].path + tail, files[written].bytes, files[written].path);
    }
    for (const OutputFile& file : files) {
      if (std::rename((file.path + tail).c_str(), file.path.c_str()) != 0) {
        throw UserError("cannot write " + file.path + ": " + std::strerror(errno));
      }
    }
  } catch (...) {
    for (const OutputFile& file : files) (void)std::remove((file.path + tail).c_str());
    throw;
  }
}

std::string assemble(const std::string& ptx, int sm) {
  const char* home = std::getenv("CUDA_HOME");
  const std::string ptxas =
      find_program("ptxas", {home == nullptr ? "" : std::string(home) + "/bin", "/usr/local/cuda/bin"});
  const WorkFolder folder;
  if (ptxas.empty() || folder.path().empty()) return "";
  // It runs in the folder: the names that it is given are in its code, and are the same in every export.
  const fs::path source = folder.path() / "kernels.ptx", code = folder.path() / "kernels.cubin";
  const fs::path log = folder.path() / "log";
  const auto assembled = [&](const std::string& text) {
    write_file(source.string(), text, source.string());
    // Lines that the PTX does not have cost nothing.
    const int status = run_program(
        {fs::absolute(ptxas).string(), "-v", "-lineinfo", is_huge_ptx(text) ? "-O1" : "-O3",
         "-arch=sm_" + std::to_string(sm), source.filename().string(), "-o", code.filename().string()},
        log, folder.path());
    return status == 0 ? read_file(code).value_or("") : "";
  };
  const std::string cubin = assembled(ptx);
  const std::vector<std::string> spilling = spilling_entries(read_file(log).value_or(""));
  const std::string plain = with_plain_loads(ptx, spilling);
  return plain == ptx ? cubin : assembled(plain);
}

std::string link_shared(const std::string& stem, const std::string& name, bool cuda) {
  const char* set = std::getenv("CC");
  const std::string wanted = set != nullptr && *set != '\0' ? set : "cc";
  const std::string compiler = find_program(wanted, {});
  if (compiler.empty()) {
    throw UserError("a shared library is linked by the system's C compiler, and there is no program " +
                    wanted +
                    ": install gcc or clang, name one in the environment variable CC, or link " + stem +
                    ".a yourself");
  }
  const WorkFolder folder;
  if (folder.path().empty()) throw UserError("there is no folder for files on the way: set TMPDIR");
  const std::string exports = (folder.path() / "exports.map").string();
  const fs::path log = folder.path() / "log";
  write_file(exports,
             "{ global: " + name + "; " + name + "_call; " + name + "_describe; " + name + "_error; " +
                 (cuda ? "" : name + "_set_parallel_for; ") + "local: *; };\n",
             exports);
  std::string library = stem + ".so";
  const std::string part = library + ".part" + std::to_string(getpid());
  const int status = run_program(
      {compiler, "-shared", "-o", part, "-Wl,-u," + name, stem + ".a", "-Wl,--version-script=" + exports,
       "-Wl,-z,nodelete", "-Wl,--no-undefined", "-lm", "-lpthread", "-ldl"},
      log);
  if (status == 0 && std::rename(part.c_str(), library.c_str()) == 0) return library;
  (void)std::remove(part.c_str());
  throw UserError(compiler + " could not link " + library + ": " +
                  read_file(log).value_or(std::strerror(errno)));
}

}  // namespace mica::exported
