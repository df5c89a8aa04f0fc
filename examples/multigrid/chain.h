// Launches that are always made together.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "schedules/mica.h"

namespace mica::examples {

/// Prepared runs, one after the other: as one CUDA graph on a GPU, so that the host has hardly any work
/// however small a grid is.
class Chain {
 public:
  explicit Chain(const Target& target) : target_(target) {}
  /// `doubles`: how many numbers it must read and write.
  void add(PreparedRun run, double doubles);
  void run();

  [[nodiscard]] std::size_t runs() const { return runs_.size(); }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  Target target_;
  std::vector<PreparedRun> runs_;
  std::unique_ptr<LaunchGraph> graph_;
  double bytes_ = 0;

  void make_graph();
};

}  // namespace mica::examples
