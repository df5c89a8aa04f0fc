// A compiled pipeline that can be run again and again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/device.h"
#include "runtime/plan.h"

namespace mica {

/// One compiled variant: its plan and the loaded kernels that the plan's launches name.
struct CompiledVariant {
  Plan plan;
  std::vector<std::pair<std::string, std::shared_ptr<LoadedKernel>>> kernels;
  std::string key;  ///< hash of the code, for the caches
};
/// Compiles a variant on demand (supplied by the compiler). All variants of a pipeline have the same
/// buffers and scalars. Called from several threads, never twice at once for one variant.
using VariantCompiler = std::function<std::shared_ptr<const CompiledVariant>(const Variant&)>;

/// How one run is carried out.
struct RunOptions {
  /// A stream of the user's; the run is then only enqueued (pipelines with host launches wait for
  /// the device between them). Synchronise the stream before the buffers are read on the host, used
  /// in a run on another stream, or freed. Work that Mica enqueued earlier on a stream of its own is
  /// waited for. Without a stream the run is complete, for host readers, when the output buffer is
  /// next read.
  Stream stream;
};

/// Copies share the compiled code. run() may be called from several threads with different outputs.
class Executable {
 public:
  Executable() = default;
  /// `outputs` names the plans' output buffers in the order in which run() takes them. The device is
  /// opened and the default variant compiled by the first run.
  Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler);
  /// Runs on a device other than the process's own for the target.
  Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler,
             std::shared_ptr<Device> device);

  /// Reads the buffers and scalars that ImageParams and Params hold now, writes `output`'s box. With
  /// an output of no elements nothing is launched.
  /// UserErrors before anything is launched: wrong type or dimensions, an input that is not set or
  /// too small (consumer, tap, face and missing halo are named), output overlapping an input.
  /// DeviceErrors: memory runs out, on the host too; the outputs' elements are unspecified after it.
  /// The caller's floating-point mode (fesetround, flushed subnormals, traps) changes nothing.
  void run(AnyBuffer& output, const RunOptions& options = {});
  /// Several outputs in the order given to compile, Tuple elements one after another.
  void run(const std::vector<AnyBuffer*>& outputs, const RunOptions& options = {});
  /// Waits for runs without a stream of the user's.
  void synchronize();

  [[nodiscard]] bool defined() const { return state_ != nullptr; }
  [[nodiscard]] const Target& target() const;
  /// The kernels of the variant run last (or of the default variant, compiled for the purpose).
  [[nodiscard]] std::vector<KernelInfo> kernels() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mica
