#include "runtime/launch_run.h"

#include <bit>
#include <cstdint>
#include <optional>
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
           const std::shared_ptr<Device>& device, Stream stream)
      : run_(run),
        bound_(bound),
        device_(device),
        stream_(stream),
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
    for (const ShapedLaunch& launch : run_.launches) launch_one(launch);
  }

 private:
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
                const std::shared_ptr<Device>& device, Stream stream) {
  Launcher(run, bound, target, device, stream).launch_all();
}

}  // namespace mica
