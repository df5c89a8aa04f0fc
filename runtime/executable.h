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
/// Compiles a variant on demand (supplied by the compiler).
using VariantCompiler = std::function<std::shared_ptr<const CompiledVariant>(const Variant&)>;

struct RunOptions {
  /// A stream of the user's; the run is then only enqueued. Without one the run is complete, for
  /// host readers, when the output buffer is next read.
  Stream stream;
};

/// Copies share the compiled code. run() may be called from several threads with different outputs.
class Executable {
 public:
  Executable() = default;
  Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler);

  /// Reads the buffers and scalars that ImageParams and Params hold now, writes `output`'s box.
  /// UserErrors before anything is launched: wrong type or dimensions, an input that is not set or
  /// too small (consumer, tap, face and missing halo are named), output overlapping an input.
  void run(AnyBuffer& output, const RunOptions& options = {});
  /// Several outputs in the order given to compile, Tuple elements one after another.
  void run(const std::vector<AnyBuffer*>& outputs, const RunOptions& options = {});
  /// Waits for runs without a stream of the user's.
  void synchronize();

  [[nodiscard]] bool defined() const { return state_ != nullptr; }
  [[nodiscard]] const Target& target() const;
  /// The kernels of the variant run last (or of the default variant).
  [[nodiscard]] std::vector<KernelInfo> kernels() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mica
