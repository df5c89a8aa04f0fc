#include "examples/multigrid/chain.h"

#include <utility>

namespace mica::examples {

void Chain::add(PreparedRun run, double doubles) {
  graph_ = nullptr;
  bytes_ += doubles * sizeof(double);
  runs_.push_back(std::move(run));
}

void Chain::make_graph() {
  graph_ = device_for(target_)->make_graph();
  if (graph_ == nullptr) return;
  for (PreparedRun& run : runs_) run.add_to(*graph_);
}

void Chain::run() {
  if (graph_ == nullptr) make_graph();
  if (graph_ == nullptr) {
    for (PreparedRun& run : runs_) run.run();
    return;
  }
  bool whole = true;
  for (PreparedRun& run : runs_) whole = run.use_in_graph() && whole;
  if (!whole) make_graph();  // memory has moved
  graph_->launch({});
}

}  // namespace mica::examples
