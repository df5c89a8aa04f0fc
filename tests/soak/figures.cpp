#include "tests/soak/figures.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mica::soak {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

const char* name_of(Count count) {
  switch (count) {
    case Count::Rounds: return "results compared";
    case Count::Compiles: return "compiles";
    case Count::Realized: return "realized";
    case Count::Shared: return "runs of shared objects";
    case Count::Replaced: return "objects dropped elsewhere";
    case Count::Iterations: return "iterations";
    case Count::Tiled: return "time-tiled iterations";
    case Count::InPlace: return "iterations in place";
    case Count::Emulated: return "emulated runs";
    case Count::Searches: return "tunes";
    case Count::Checkpoints: return "runs with checkpoints";
    case Count::Resumed: return "resumed after a kill";
    case Count::Kinds: break;
  }
  return "";
}

Figures& map_figures(const Folder& folder) {
  const std::string path = folder.figures();
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0 || ftruncate(file, sizeof(Figures)) != 0) fail("cannot make " + path);
  void* const memory = mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("cannot map " + path);
  close(file);
  return *std::launder(static_cast<Figures*>(memory));
}

void append_line(const std::filesystem::path& file, const std::string& line) {
  const int number = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const std::string whole = line + "\n";
  const bool written =
      number >= 0 && write(number, whole.data(), whole.size()) == static_cast<ssize_t>(whole.size());
  if (!written) fail("cannot write to " + file.string());
  close(number);
}

std::vector<std::string> read_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace mica::soak
