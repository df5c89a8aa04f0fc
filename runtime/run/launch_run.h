// Carries out a run whose shapes are known: makes temporaries, passes arguments, launches in order.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/float_mode.h"
#include "runtime/buffer/buffer_storage.h"
#include "runtime/run/device.h"
#include "runtime/run/print_line.h"
#include "runtime/run/run_plan.h"

namespace mica {

/// Does `work` in the host's default floating-point mode, whatever the caller's. DeviceError where the
/// host has no memory for it.
template <typename Work>
void in_a_run(const Work& work) {
  const DefaultFloatMode mode;
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw DeviceError("operator new", ENOMEM, "no memory on the host for what a run needs");
  }
}

/// Launches one run, once or again and again on the same buffers; its temporaries live as long as it
/// does. Kernels on a CUDA device get device addresses, all others host addresses; copies between the
/// two follow from what each launch reads and writes. An output that covers its storage is not copied
/// before it is written. Used by one thread at a time.
class RunLauncher {
 public:
  /// `run` was made for the shapes of `bound`; both outlive the launcher. `bound`'s scalars may change
  /// between launches as long as the shapes stay as they are.
  RunLauncher(const ShapedRun& run, const BoundArguments& bound, const Target& target,
              std::shared_ptr<Device> device, Stream stream);

  /// What is printed goes to `lines`; a run on a GPU may be under way still when this returns, but
  /// prints nothing there any more.
  void launch(LineSink& lines);

  /// Makes the arrays' memory where the launches use it, and brings it up to date. Until an array is
  /// used elsewhere, launches then make no memory, copy nothing and wait for nothing.
  void make_ready();

  /// What keeps launches from being part of a LaunchGraph: one on the host, a texture, lines that the
  /// host prints. Empty: nothing.
  [[nodiscard]] std::string why_no_graph() const;
  /// Adds the launches, with the arguments that they have now, one after the other, the first after
  /// those of the numbers `after`.
  void add_to(LaunchGraph& graph, const std::vector<std::size_t>& after);
  /// Does a launch have arguments that follow from Params?
  [[nodiscard]] bool has_changing_arguments() const;
  /// Gives the launches that were added, from number `first` on, the arguments that they have now.
  void change_in(LaunchGraph& graph, std::size_t first);
  /// Before a graph with the launches runs: brings arrays up to date and marks those that are written.
  /// False: an array has moved since the launches were added, and the graph must be made anew.
  [[nodiscard]] bool use_in_graph();

 private:
  /// One array of a run.
  struct Array {
    BufferStorage* storage = nullptr;
    std::int64_t offset = 0;  // elements from the storage's start to the element at the mins
    std::int64_t element_bytes = 1;
    bool covers_storage = false;              // and holds nothing that the run reads
    bool written = false;                     // by an earlier launch of the run under way
    std::uint64_t in_graph = 0;               // the storage's address when it was added to a graph
    bool used = false, ever_written = false;  // by any launch
  };
  /// The storage of a traced Func: the first and the last launch that use it.
  struct Realization {
    std::string text;
    std::size_t first = 0, last = 0;
  };

  [[nodiscard]] std::vector<Realization> traced() const;
  [[nodiscard]] std::string box_text(int array) const;
  void wait_for_own_stream();
  void begin();
  void set_arguments(const ShapedLaunch& launch, bool on_device, LineSink* lines);
  std::uint64_t address_of(const ShapedLaunch::Pointer& pointer, bool on_device);
  void set_texture(const ShapedLaunch& launch, const ShapedLaunch::Pointer& pointer);
  const HostValue* symbols();

  const ShapedRun& run_;
  const BoundArguments& bound_;
  const std::shared_ptr<Device> device_;
  const Stream stream_;
  const bool cuda_;
  std::vector<std::unique_ptr<BufferStorage>> temporaries_;
  std::vector<Array> arrays_;
  std::optional<std::vector<HostValue>> symbols_;  // with the Params' values
  // Of the launch being made:
  std::vector<std::uint64_t> values_;
  std::vector<TextureView> textures_;
  std::vector<void*> arguments_;
};

}  // namespace mica
