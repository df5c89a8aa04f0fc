// Items that come to a device, are worked on and go back, each stage beside those of other items.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/run/gpu_stream.h"
#include "runtime/run/target.h"

namespace mica {

/// Three streams, one a stage:
///
///   In     | 0 | 1 | 2 | 3 |                  item 3 comes in
///   Work       | 0 | 1 | 2 | 3 |              while 2 is worked on
///   Out            | 0 | 1 | 2 | 3 |          and 1 goes out
///
/// Items take turns in `slots` places of device memory, of which three keep all stages busy; an item
/// comes in when the one before it in its slot is out.
///
///   CopyPipeline pipeline(gpu);
///   for (std::int64_t k = 0; k < slabs; ++k) {
///     auto& slot = slots[pipeline.next_slot()];
///     pipeline.add([&](Stream s) { copy_to_device(field.cropped(with_halo(k)), slot.in, gpu, s); },
///                  [&](Stream s) { step.run(slot.out, {.inputs = {{u, slot.in}}, .stream = s}); },
///                  [&](Stream s) { copy_to_host(slot.out, result.cropped(own(k)), gpu, s); });
///   }
///   pipeline.synchronize();
///
/// On the host and the emulator each stage is done when it is put in: nothing overlaps. Used by one
/// thread at a time. DeviceErrors name the driver's call.
class CopyPipeline {
 public:
  enum class Stage : std::uint8_t { In, Work, Out };
  static constexpr int kStages = 3;
  /// What puts a stage of an item into a stream, and nothing elsewhere.
  using Put = std::function<void(Stream)>;
  /// When a stage of an item began and ended: seconds since the first stage of the first item began.
  struct Span {
    std::int64_t item = 0;
    Stage stage = Stage::In;
    double begin = 0, end = 0;
  };

  /// UserError for less than one slot.
  explicit CopyPipeline(const Target& target, int slots = 3);

  /// The stream of a stage, for Executable::prepare: what is prepared for it may be launched by add.
  [[nodiscard]] Stream stream(Stage stage) const { return streams_[static_cast<std::size_t>(stage)]; }
  /// How many items have been added: the number of the next.
  [[nodiscard]] std::int64_t items() const { return static_cast<std::int64_t>(items_.size()); }
  /// Where it is to be.
  [[nodiscard]] int next_slot() const { return static_cast<int>(items() % slots_); }
  /// Puts the stages of the next item into their streams and returns. It comes in after item `after`,
  /// and with it all before that one, have gone out: for what reads what they bring (-1: none).
  /// UserError for an item that has not been added. What the functions throw is passed on, and the
  /// pipeline is of no more use.
  void add(const Put& in, const Put& work, const Put& out, std::int64_t after = -1);
  /// Returns when all is done; DeviceError if any of it failed.
  void synchronize() const;
  /// The spans of all items, in their order, each with its stages in order. Waits for them. A pipeline
  /// keeps six events an item.
  [[nodiscard]] std::vector<Span> spans() const;

 private:
  struct Item {
    std::vector<GpuEvent> begins, ends;  ///< by stage
  };
  Target target_;
  std::int64_t slots_;
  std::vector<GpuStream> streams_;  ///< by stage
  std::vector<Item> items_;
};

/// Where the time of a pipeline goes, in seconds.
struct PipelineTimes {
  double in = 0, work = 0, out = 0;  ///< sums over all items
  double wall = 0;                   ///< from the first begin to the last end
  [[nodiscard]] double sum() const { return in + work + out; }
  /// How many stages were under way at once, on average: 1 where they take turns, 3 at most.
  [[nodiscard]] double overlap() const { return wall > 0 ? sum() / wall : 0; }
};
PipelineTimes times_of(const std::vector<CopyPipeline::Span>& spans);

}  // namespace mica
