// A compiled pipeline that can be run again and again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"
#include "runtime/run/device.h"
#include "runtime/run/plan.h"
#include "runtime/run/prepared_run.h"
#include "runtime/run/run_options.h"

namespace mica {

/// One compiled variant: its plan and the loaded kernels that the plan's launches name.
struct CompiledVariant {
  using Kernels = std::vector<std::pair<std::string, std::shared_ptr<LoadedKernel>>>;
  Plan plan;
  Kernels kernels;
  /// Where set, makes the kernels in place of `kernels` when the variant is first to be launched: many
  /// a plan only says that another variant serves a run's shapes. Again after an error.
  std::function<Kernels()> load = {};
  std::string key;  ///< hash of the code, for the caches
};
/// Compiles a variant on demand (supplied by the compiler). All variants of a pipeline have the same
/// buffers and scalars. Called from several threads, never twice at once for one variant.
using VariantCompiler = std::function<std::shared_ptr<const CompiledVariant>(const Variant&)>;

/// Copies share the compiled code. run() may be called from several threads with different outputs; each
/// run works on the buffers and values that its options name and, for the rest, on those that
/// ImageParams and Params hold when it begins.
class Executable {
 public:
  Executable() = default;
  /// `outputs` names the plans' output buffers in the order in which run() takes them. The device is
  /// opened and the default variant compiled by the first run.
  Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler);
  /// Runs on a device other than the process's own for the target.
  Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler,
             std::shared_ptr<Device> device);

  /// Reads the buffers and scalars of `options`, else those that ImageParams and Params hold now, and
  /// writes `output`'s box. With an output of no elements nothing is launched.
  /// UserErrors before anything is launched: wrong type or dimensions, an input that is not set or
  /// too small (consumer, tap, face and missing halo are named), an output overlapping another or an
  /// input. An output may be an input's own memory, f(x, y) where u(x, y) lies, if f alone reads u, and
  /// at u(x, y) only, which f's value then replaces (codegen/analysis/in_place.h has the rule); on a GPU
  /// both are then views of one buffer. The message names the tap or directive that stands in the way.
  /// DeviceErrors: memory runs out, on the host too; the outputs' elements are unspecified after it.
  /// The caller's floating-point mode (fesetround, flushed subnormals, traps) changes nothing.
  /// Errors about outputs stand at the line of the call.
  void run(AnyBuffer& output, const RunOptions& options = {}, CallSite at = CallSite::current());
  /// Several outputs in the order given to compile, Tuple elements one after another.
  void run(const std::vector<AnyBuffer*>& outputs, const RunOptions& options = {},
           CallSite at = CallSite::current());
  /// The same run with all decided now, so that PreparedRun::run only launches, and may be captured into
  /// a CUDA graph of the user's. UserErrors and DeviceErrors as run().
  [[nodiscard]] PreparedRun prepare(const std::vector<AnyBuffer*>& outputs,
                                    const RunOptions& options = {}, CallSite at = CallSite::current());
  [[nodiscard]] PreparedRun prepare(AnyBuffer& output, const RunOptions& options = {},
                                    CallSite at = CallSite::current());
  /// Compiles and loads the code that such a run launches, and launches nothing: on another thread,
  /// say, while something else runs. Only the layout of the outputs is looked at. Errors as run().
  void load(const std::vector<AnyBuffer*>& outputs, const RunOptions& options = {},
            CallSite at = CallSite::current());
  /// Waits for runs without a stream of the user's.
  void synchronize();

  [[nodiscard]] bool defined() const { return state_ != nullptr; }
  [[nodiscard]] const Target& target() const;
  /// The kernels of the variant run last (or of the default variant, compiled for the purpose).
  [[nodiscard]] std::vector<KernelInfo> kernels() const;
  /// The plan of the default variant: which arrays and scalars runs work on, and which outputs may be
  /// the memory of which inputs. It lives as long as a copy of this Executable does.
  [[nodiscard]] const Plan& plan() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mica
