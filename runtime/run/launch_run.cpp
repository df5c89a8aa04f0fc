#include "runtime/run/launch_run.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace mica {

namespace {

/// One array of a run.
struct RunArray {
  BufferStorage* storage = nullptr;
  std::int64_t offset = 0;  // elements from the storage's start to the element at the mins
  std::int64_t element_bytes = 1;
  bool covers_storage = false;  // and holds nothing that the run reads
  bool written = false;         // by an earlier launch of this run
};

class Launcher {
 public:
  Launcher(const ShapedRun& run, const BoundArguments& bound, const Target& target,
           const std::shared_ptr<Device>& device, Stream stream, LineSink& lines)
      : run_(run),
        bound_(bound),
        device_(device),
        stream_(stream),
        lines_(lines),
        cuda_(target.backend == Backend::Cuda) {
    arrays_.reserve(bound.buffers.size() + run.temporaries.size());
    for (const AnyBuffer* buffer : bound.buffers) {
      arrays_.push_back({buffer->storage().get(), buffer->offset(), buffer->type().bytes(),
                         buffer->covers_storage() && !bound.in_place, false});
    }
    for (const StorageLayout& layout : run.temporaries) {
      temporaries_.push_back(
          std::make_unique<BufferStorage>(layout, BufferStorage::Lifetime::Temporary, stream));
      arrays_.push_back({temporaries_.back().get(), layout.offset, layout.element_bytes, true, false});
    }
  }

  void launch_all() {
    if (cuda_ && stream_.handle != nullptr) wait_for_own_stream();
    const std::vector<Realization> realizations = traced();
    for (std::size_t l = 0; l < run_.launches.size(); ++l) {
      for (const Realization& r : realizations) {
        if (r.first == l) lines_.line("begin realization " + r.text);
      }
      launch_one(run_.launches[l]);
      for (auto r = realizations.rbegin(); r != realizations.rend(); ++r) {
        if (r->last == l) lines_.line("end realization " + r->text);
      }
    }
  }

 private:
  /// The storage of a traced Func: the first and the last launch that use it. In the order in which they
  /// begin; of those that end together, the last begun ends first.
  struct Realization {
    std::string text;
    std::size_t first = 0, last = 0;
  };
  [[nodiscard]] std::vector<Realization> traced() const {
    std::vector<Realization> all;
    for (const PreparedPlan::Traced& func : run_.plan->traced) {
      const auto used = [&](const ShapedLaunch& launch) {
        return std::any_of(launch.pointers.begin(), launch.pointers.end(), [&](const auto& pointer) {
          return std::count(func.arrays.begin(), func.arrays.end(), pointer.array) > 0;
        });
      };
      const auto& launches = run_.launches;
      const auto first = std::find_if(launches.begin(), launches.end(), used);
      if (first == launches.end()) continue;
      const auto last = std::find_if(launches.rbegin(), launches.rend(), used);
      all.push_back({func.func + " " + box_text(func.arrays.front()),
                     static_cast<std::size_t>(first - launches.begin()),
                     static_cast<std::size_t>(launches.rend() - last) - 1});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return all;
  }
  /// "{{0, 8}, {-1, 10}}": min and extent of each dimension.
  [[nodiscard]] std::string box_text(int array) const {
    const std::vector<int>& slots = run_.plan->first_slot;
    const auto number = static_cast<std::size_t>(array);
    const int end = number + 1 < slots.size() ? slots[number + 1] : run_.plan->first_scalar_slot;
    std::string text;
    for (int slot = slots[number]; slot < end; slot += 3) {  // min, extent, stride
      const HostValue* symbol = run_.symbols.data() + slot;
      text += (text.empty() ? "{" : ", {") + std::to_string(symbol[0].i) + ", " +
              std::to_string(symbol[1].i) + "}";
    }
    return "{" + text + "}";
  }

  /// Work on these arrays in the device's own stream is not ordered with the user's stream.
  void wait_for_own_stream() {
    bool waited = false;
    for (const RunArray& array : arrays_) {
      if (!array.storage->queued()) continue;
      if (!waited) device_->synchronize({});
      waited = true;
      array.storage->clear_queued();
    }
  }

  void launch_one(const ShapedLaunch& launch) {
    const bool on_device = cuda_ && launch.on_device;
    if (cuda_ && !on_device && stream_.handle != nullptr) device_->synchronize(stream_);
    values_ = launch.values;
    for (const ShapedLaunch::Pointer& pointer : launch.pointers) {
      if (pointer.texture && on_device) {
        set_texture(launch, pointer);
      } else {
        values_[pointer.argument] = address_of(pointer, on_device);
      }
    }
    for (const std::size_t argument : launch.each_run) {
      values_[argument] = scalar_argument(*run_.plan, launch.launch, argument, bound_, symbols());
    }
    for (const std::size_t argument : launch.lines) {
      values_[argument] = std::bit_cast<std::uintptr_t>(&lines_);
    }
    arguments_.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) arguments_[i] = &values_[i];
    launch.kernel->launch(launch.shape, arguments_.data(), arguments_.size(), stream_);
    textures_.clear();
  }

  /// Address of the element at KernelArgument::at; 0 for an array of no bytes.
  std::uint64_t address_of(const ShapedLaunch::Pointer& pointer, bool on_device) {
    RunArray& array = arrays_[static_cast<std::size_t>(pointer.array)];
    MemoryUse use = MemoryUse::Read;
    if (pointer.written) {
      use = array.covers_storage && !array.written ? MemoryUse::Overwrite : MemoryUse::Write;
      array.written = true;
    }
    const std::uint64_t start = on_device ? array.storage->device(device_, use, stream_)
                                          : std::bit_cast<std::uintptr_t>(array.storage->host(use));
    if (start == 0) return 0;
    return start + static_cast<std::uint64_t>((array.offset + pointer.origin) * array.element_bytes);
  }

  /// A texture over the whole storage and, in the next argument, its element at KernelArgument::at.
  void set_texture(const ShapedLaunch& launch, const ShapedLaunch::Pointer& pointer) {
    const RunArray& array = arrays_[static_cast<std::size_t>(pointer.array)];
    const KernelArgument& argument =
        run_.plan->plan().launches[launch.launch].arguments[pointer.argument];
    const std::uint64_t start = array.storage->device(device_, MemoryUse::Read, stream_);
    if (start == 0) return;
    TextureView view =
        device_->texture(start, array.storage->layout().bytes(), argument.type, argument.buffer);
    values_[pointer.argument] = view.object;
    values_[pointer.argument + 1] =
        static_cast<std::uint64_t>(view.origin + array.offset + pointer.origin);
    textures_.push_back(std::move(view));
  }

  /// The run's symbols with the Params' values.
  const HostValue* symbols() {
    if (!symbols_.has_value()) {
      symbols_ = run_.symbols;
      read_scalars(*run_.plan, bound_, symbols_->data());
    }
    return symbols_->data();
  }

  const ShapedRun& run_;
  const BoundArguments& bound_;
  const std::shared_ptr<Device>& device_;
  const Stream stream_;
  LineSink& lines_;
  const bool cuda_;
  std::vector<std::unique_ptr<BufferStorage>> temporaries_;
  std::vector<RunArray> arrays_;
  std::optional<std::vector<HostValue>> symbols_;
  std::vector<std::uint64_t> values_;
  std::vector<TextureView> textures_;  // of the launch being made
  std::vector<void*> arguments_;
};

}  // namespace

void launch_run(const ShapedRun& run, const BoundArguments& bound, const Target& target,
                const std::shared_ptr<Device>& device, Stream stream, LineSink& lines) {
  Launcher(run, bound, target, device, stream, lines).launch_all();
}

}  // namespace mica
