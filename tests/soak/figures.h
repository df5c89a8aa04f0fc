// What the processes of a soak share: its folder, counts that outlive a killed process, and files of
// lines.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mica::soak {

inline constexpr int kMostProcesses = 32, kMostThreads = 64;

/// What is counted.
enum class Count {
  Rounds,  ///< results compared with what is known
  Compiles,
  Realized,
  Shared,    ///< runs of what several threads hold
  Replaced,  ///< Executables, Iterations and Buffers dropped while others may use them
  Iterations,
  Tiled,
  InPlace,
  Emulated,
  Searches,     ///< by tune()
  Checkpoints,  ///< runs that write them
  Resumed,      ///< runs that went on from one that a killed process had left
  Kinds
};
const char* name_of(Count count);

/// In memory that all processes map.
struct Figures {
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Count::Kinds)> counts;
  /// Rounds of the present process of each place: one that stands still hangs.
  std::array<std::atomic<std::uint64_t>, kMostProcesses> alive;
  std::atomic<int> stop;

  void add(Count count) { counts[static_cast<std::size_t>(count)].fetch_add(1); }
  [[nodiscard]] std::uint64_t of(Count count) const {
    return counts[static_cast<std::size_t>(count)].load();
  }
};

/// The files of a soak.
class Folder {
 public:
  explicit Folder(std::filesystem::path root) : root_(std::move(root)) {}
  [[nodiscard]] std::filesystem::path cache() const { return root_ / "cache"; }
  [[nodiscard]] std::filesystem::path store() const { return root_ / "tuned.db"; }
  [[nodiscard]] std::filesystem::path references() const { return root_ / "references"; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
  [[nodiscard]] std::filesystem::path figures() const { return root_ / "figures"; }
  /// Lines of what went wrong, of what tune() said it kept ("mark extents candidate"), of what is in the
  /// cache ("problem schedule" of Blurs), and of "seconds bytes" of the process that lives.
  [[nodiscard]] std::filesystem::path failures() const { return root_ / "failures.txt"; }
  [[nodiscard]] std::filesystem::path kept() const { return root_ / "kept.txt"; }
  [[nodiscard]] std::filesystem::path compiled() const { return root_ / "compiled.txt"; }
  [[nodiscard]] std::filesystem::path memory() const { return root_ / "memory.txt"; }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

/// Maps the file, which is made, with zeros, if it is not there. std::runtime_error with the call that
/// failed. The mapping stays to the process's end.
Figures& map_figures(const Folder& folder);

/// One line behind the others, whole or not at all whoever is killed.
void append_line(const std::filesystem::path& file, const std::string& line);
std::vector<std::string> read_lines(const std::filesystem::path& file);

}  // namespace mica::soak
