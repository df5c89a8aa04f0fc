// A run with all decided: it only launches.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"
#include "runtime/run/device.h"
#include "runtime/run/run_options.h"

namespace mica {

struct BoundArguments;
struct PreparedPlan;
struct ShapedRun;

/// One run of an Executable, made by Executable::prepare: arguments are checked, code is loaded, memory
/// is made, and run() launches kernels and no more. So it may be called while a stream of the user's is
/// captured into a CUDA graph:
///
///   PreparedRun step = executable.prepare({&out}, {.inputs = {{u, in}}, .stream = {stream}});
///   cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
///   step.run();
///   cudaStreamEndCapture(stream, &graph);
///
/// It works on the buffers and values that it was prepared with, whatever ImageParam::set and Param::set
/// say later, and keeps the buffers, and the temporaries of the pipeline, as long as it or a copy of it
/// lives: so must it as long as a captured graph is launched. A stream of the user's outlives it. Mica
/// knows of the runs that it launches, not of a graph's: read a buffer that a graph wrote through its
/// device pointer, or run once more. Copies are the same run. Used by one thread at a time.
class PreparedRun {
 public:
  PreparedRun() = default;

  /// Launches. Buffers that were used on the host, or in another stream, since the last run are copied
  /// or waited for, as Executable::run does: not while a stream is captured. DeviceErrors as
  /// Executable::run; UserError for a PreparedRun that was never made, or a Param whose new value breaks
  /// a check.
  void run(CallSite at = CallSite::current());

  /// Another value of a Param from the next run on: `step.set({dt, 0.1F})`. Where sizes or bounds depend
  /// on it, the next run decides anew and may make memory. UserError for a Param that the pipeline does
  /// not use.
  void set(const RunParam& value);

  [[nodiscard]] bool defined() const { return state_ != nullptr; }

  /// Does the pipeline read this Param?
  [[nodiscard]] bool uses(const ParamData& param) const;
  /// What keeps its launches from being part of a LaunchGraph while the values of `changing` change: a
  /// launch on the host, a texture, lines that the host prints, a shape that depends on one of these
  /// Params. Empty: nothing.
  [[nodiscard]] std::string why_no_graph(const std::vector<const ParamData*>& changing) const;
  /// The number of its launches.
  [[nodiscard]] std::size_t launches() const;
  /// Adds them, with the arguments that they have now, after the last launch that was added, or after
  /// those of the numbers `after`. Memory is brought up to date. From then on the run uses code that is
  /// made for graphs, where that differs.
  void add_to(LaunchGraph& graph);
  void add_to(LaunchGraph& graph, const std::vector<std::size_t>& after);
  /// Gives the launches that were added, from number `first` on, the arguments that Params have given
  /// them since.
  void change_in(LaunchGraph& graph, std::size_t first);
  /// Before a graph with its launches is launched: brings memory up to date and marks what is written.
  /// False: memory has moved since they were added, and the graph must be made anew.
  [[nodiscard]] bool use_in_graph();

 private:
  friend class Executable;
  struct State;
  explicit PreparedRun(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace mica
