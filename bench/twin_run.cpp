#include "bench/twin_run.h"

#include <utility>

#include "dsl/expr/diagnostics.h"

namespace mica::bench {
namespace {

// All buffers have one type and layout.
void require_alike(const std::vector<AnyBuffer>& buffers, const char* which) {
  for (const AnyBuffer& b : buffers) {
    if (b.type() != buffers.front().type() || b.dims() != buffers.front().dims() || b.stride(0) != 1) {
      throw InternalError(std::string("a twin's ") + which + " differ in type or layout");
    }
  }
}

}  // namespace

std::int64_t twin_chunk(const Twin& twin, const schedules::Parameters& parameters) {
  const auto given = parameters.find(twin.chunk_parameter);
  return given != parameters.end() ? given->second : twin.chunk;
}

TwinRun::TwinRun(const Twin& twin, const schedules::Parameters& parameters, const Target& target,
                 const std::vector<AnyBuffer>& inputs, const std::vector<AnyBuffer>& outputs,
                 const KernelLoader& loader)
    : inputs_(inputs), outputs_(outputs), chunk_(static_cast<int>(twin_chunk(twin, parameters))) {
  require_alike(inputs_, "inputs");
  require_alike(outputs_, "outputs");
  const AnyBuffer &in = inputs_.front(), &out = outputs_.front();
  for (int d = 0; d < out.dimensions(); ++d) extents_[d] = static_cast<int>(out.extent(d));
  for (int d = 1; d < out.dimensions(); ++d) {
    strides_[d - 1] = in.stride(d);
    strides_[d + 1] = out.stride(d);
  }
  for (const TwinKernel& kernel : twin.kernels) bind(kernel, target, loader(twin.cubin, kernel));
}

void TwinRun::bind(const TwinKernel& kernel, const Target& target,
                   std::shared_ptr<LoadedKernel> loaded) {
  Launch launch{kernel.name, std::move(loaded), {}, {}};
  for (int d = 0; d < 3; ++d) {
    const std::int64_t tile = kernel.tile[d] == kChunk ? chunk_ : kernel.tile[d];
    if (tile < 1) throw InternalError("kernel " + kernel.name + " walks an unknown number of planes");
    launch.shape.grid[d] = static_cast<std::uint32_t>((extents_[d] + kernel.extra[d] + tile - 1) / tile);
    launch.shape.block[d] = kernel.block[d];
  }
  launch.shape.shared_bytes = kernel.shared_bytes;
  std::vector<TwinArray> arrays = kernel.arrays;
  if (arrays.empty()) {
    for (int i = 0; i < static_cast<int>(inputs_.size()); ++i) {
      arrays.push_back({TwinArray::Kind::Input, i});
    }
    for (int i = 0; i < static_cast<int>(outputs_.size()); ++i) {
      arrays.push_back({TwinArray::Kind::Output, i});
    }
  }
  for (const TwinArray& array : arrays) launch.pointers.push_back(address(array, target));
  launches_.push_back(std::move(launch));
}

void TwinRun::make_scratch() {
  const AnyBuffer &in = inputs_.front(), &out = outputs_.front();
  std::vector<std::int64_t> extents, halo, mins;
  for (int d = 0; d < out.dimensions(); ++d) {
    extents.push_back(out.extent(d));
    halo.push_back(out.min(d) - in.min(d));
    mins.push_back(in.min(d));
  }
  scratch_ = AnyBuffer::with_halo(in.type(), extents, halo).translated(mins);
  require_alike({in, scratch_}, "scratch array and input");
}

std::uint64_t TwinRun::address(const TwinArray& array, const Target& target) {
  const auto index = static_cast<std::size_t>(array.index);
  if (array.kind == TwinArray::Kind::Output) return outputs_.at(index).device_data(target, true);
  const bool scratch = array.kind == TwinArray::Kind::Scratch;
  if (scratch && !scratch_.defined()) make_scratch();
  const AnyBuffer& buffer = scratch ? scratch_ : inputs_.at(index);
  std::int64_t offset = 0;
  for (int d = 0; d < buffer.dimensions(); ++d) {
    offset += (outputs_.front().min(d) - buffer.min(d)) * buffer.stride(d);
  }
  return buffer.device_data(target, scratch, scratch) +
         static_cast<std::uint64_t>(offset * buffer.type().bytes());
}

void TwinRun::launch() {
  for (Launch& launch : launches_) {
    std::vector<void*> arguments;
    for (std::uint64_t& pointer : launch.pointers) arguments.push_back(&pointer);
    for (int& extent : extents_) arguments.push_back(&extent);
    arguments.push_back(&chunk_);
    for (std::int64_t& stride : strides_) arguments.push_back(&stride);
    launch.kernel->launch(launch.shape, arguments.data(), arguments.size(), {});
  }
}

std::vector<KernelInfo> TwinRun::kernels() const {
  std::vector<KernelInfo> list;
  for (const Launch& launch : launches_) {
    KernelInfo info;
    info.name = launch.name;
    info.on_device = true;
    info.shape = launch.shape;
    launch.kernel->describe(info);
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace mica::bench
