#include "runtime/run/launch_run.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mica {

RunLauncher::RunLauncher(const ShapedRun& run, const BoundArguments& bound, const Target& target,
                         std::shared_ptr<Device> device, Stream stream)
    : run_(run),
      bound_(bound),
      device_(std::move(device)),
      stream_(stream),
      cuda_(target.backend == Backend::Cuda) {
  arrays_.reserve(bound.buffers.size() + run.temporaries.size());
  for (const AnyBuffer* buffer : bound.buffers) {
    arrays_.push_back({buffer->storage().get(), buffer->offset(), buffer->type().bytes(),
                       buffer->covers_storage() && !bound.in_place});
  }
  for (const StorageLayout& layout : run.temporaries) {
    temporaries_.push_back(
        std::make_unique<BufferStorage>(layout, BufferStorage::Lifetime::Temporary, stream));
    arrays_.push_back({temporaries_.back().get(), layout.offset, layout.element_bytes, true});
  }
  for (const ShapedLaunch& launch : run.launches) {
    for (const ShapedLaunch::Pointer& pointer : launch.pointers) {
      Array& array = arrays_[static_cast<std::size_t>(pointer.array)];
      array.used = true;
      array.ever_written = array.ever_written || pointer.written;
    }
  }
}

void RunLauncher::launch(LineSink& lines) {
  begin();
  const std::vector<Realization> realizations = traced();
  for (std::size_t l = 0; l < run_.launches.size(); ++l) {
    for (const Realization& r : realizations) {
      if (r.first == l) lines.line("begin realization " + r.text);
    }
    const ShapedLaunch& launch = run_.launches[l];
    const bool on_device = cuda_ && launch.on_device;
    if (cuda_ && !on_device && stream_.handle != nullptr) device_->synchronize(stream_);
    set_arguments(launch, on_device, &lines);
    launch.kernel->launch(launch.shape, arguments_.data(), arguments_.size(), stream_);
    textures_.clear();
    for (auto r = realizations.rbegin(); r != realizations.rend(); ++r) {
      if (r->last == l) lines.line("end realization " + r->text);
    }
  }
}

void RunLauncher::make_ready() {
  for (const ShapedLaunch& launch : run_.launches) {
    for (const ShapedLaunch::Pointer& pointer : launch.pointers) {
      BufferStorage& storage = *arrays_[static_cast<std::size_t>(pointer.array)].storage;
      if (cuda_ && launch.on_device) {
        (void)storage.device(device_, MemoryUse::Read, stream_);
      } else {
        (void)storage.host(MemoryUse::Read);
      }
    }
  }
  if (cuda_ && stream_.handle != nullptr) wait_for_own_stream();
}

std::string RunLauncher::why_no_graph() const {
  if (!run_.plan->traced.empty()) return "it prints when realizations begin and end";
  for (const ShapedLaunch& launch : run_.launches) {
    const PlanLaunch& planned = run_.plan->plan().launches[launch.launch];
    if (!cuda_ || !launch.on_device) return planned.kernel + " runs on the host";
    for (const ShapedLaunch::Pointer& pointer : launch.pointers) {
      if (pointer.texture) {
        return planned.kernel + " reads " + planned.arguments[pointer.argument].buffer + " as a texture";
      }
    }
    if (!launch.lines.empty()) return planned.kernel + " prints on the host";
  }
  return "";
}

void RunLauncher::add_to(LaunchGraph& graph, const std::vector<std::size_t>& after) {
  begin();
  std::vector<std::size_t> before = after;
  for (const ShapedLaunch& launch : run_.launches) {
    set_arguments(launch, true, nullptr);
    graph.add(*launch.kernel, launch.shape, arguments_.data(), arguments_.size(), before);
    before = {graph.size() - 1};
  }
  for (Array& array : arrays_) array.in_graph = array.storage->device_address();
}

bool RunLauncher::has_changing_arguments() const {
  return std::any_of(run_.launches.begin(), run_.launches.end(),
                     [](const ShapedLaunch& launch) { return !launch.each_run.empty(); });
}

void RunLauncher::change_in(LaunchGraph& graph, std::size_t first) {
  begin();
  for (std::size_t l = 0; l < run_.launches.size(); ++l) {
    if (run_.launches[l].each_run.empty()) continue;
    set_arguments(run_.launches[l], true, nullptr);
    graph.change(first + l, arguments_.data(), arguments_.size());
  }
}

bool RunLauncher::use_in_graph() {
  bool same = true;
  for (Array& array : arrays_) {
    if (!array.used) continue;
    const MemoryUse use = array.ever_written ? MemoryUse::Write : MemoryUse::Read;
    same = array.storage->device(device_, use, stream_) == array.in_graph && same;
  }
  return same;
}

// In the order in which they begin; of those that end together, the last begun ends first.
std::vector<RunLauncher::Realization> RunLauncher::traced() const {
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

// "{{0, 8}, {-1, 10}}": min and extent of each dimension.
std::string RunLauncher::box_text(int array) const {
  const std::vector<int>& slots = run_.plan->first_slot;
  const auto number = static_cast<std::size_t>(array);
  const int end = number + 1 < slots.size() ? slots[number + 1] : run_.plan->first_value_slot;
  std::string text;
  for (int slot = slots[number]; slot < end; slot += 3) {  // min, extent, stride
    const HostValue* symbol = run_.symbols.data() + slot;
    text += (text.empty() ? "{" : ", {") + std::to_string(symbol[0].i) + ", " +
            std::to_string(symbol[1].i) + "}";
  }
  return "{" + text + "}";
}

// Work on these arrays in the device's own stream is not ordered with the user's stream.
void RunLauncher::wait_for_own_stream() {
  bool waited = false;
  for (const Array& array : arrays_) {
    if (!array.storage->queued()) continue;
    if (!waited) device_->synchronize({});
    waited = true;
    array.storage->clear_queued();
  }
}

void RunLauncher::begin() {
  for (Array& array : arrays_) array.written = false;
  symbols_.reset();
  if (cuda_ && stream_.handle != nullptr) wait_for_own_stream();
}

void RunLauncher::set_arguments(const ShapedLaunch& launch, bool on_device, LineSink* lines) {
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
    values_[argument] = std::bit_cast<std::uintptr_t>(lines);
  }
  arguments_.resize(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) arguments_[i] = &values_[i];
}

// Address of the element at KernelArgument::at; 0 for an array of no bytes.
std::uint64_t RunLauncher::address_of(const ShapedLaunch::Pointer& pointer, bool on_device) {
  Array& array = arrays_[static_cast<std::size_t>(pointer.array)];
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

// A texture over the whole storage and, in the next argument, its element at KernelArgument::at.
void RunLauncher::set_texture(const ShapedLaunch& launch, const ShapedLaunch::Pointer& pointer) {
  const Array& array = arrays_[static_cast<std::size_t>(pointer.array)];
  const KernelArgument& argument = run_.plan->plan().launches[launch.launch].arguments[pointer.argument];
  const std::uint64_t start = array.storage->device(device_, MemoryUse::Read, stream_);
  if (start == 0) return;
  TextureView view =
      device_->texture(start, array.storage->layout().bytes(), argument.type, argument.buffer);
  values_[pointer.argument] = view.object;
  values_[pointer.argument + 1] =
      static_cast<std::uint64_t>(view.origin + array.offset + pointer.origin);
  textures_.push_back(std::move(view));
}

// The run's symbols with the Params' values.
const HostValue* RunLauncher::symbols() {
  if (!symbols_.has_value()) {
    symbols_ = run_.symbols;
    read_scalars(*run_.plan, bound_, symbols_->data());
  }
  return symbols_->data();
}

}  // namespace mica
