#include "bench/streamed.h"

#include <algorithm>

#include "runtime/buffer/copy_async.h"

namespace mica::bench {
namespace {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

constexpr int kSlots = 3;

Ranges ranges_of(const AnyBuffer& buffer) {
  Ranges all;
  for (const BufferDim& dim : buffer.dims()) all.emplace_back(dim.min, dim.extent);
  return all;
}

/// The layers [first, first + count) of the slowest dimension.
AnyBuffer layers(const AnyBuffer& buffer, std::int64_t first, std::int64_t count) {
  Ranges ranges = ranges_of(buffer);
  ranges.back() = {first, count};
  return buffer.cropped(ranges);
}

/// The same memory, its first layer numbered `first`.
AnyBuffer from_layer(const AnyBuffer& buffer, std::int64_t first) {
  std::vector<std::int64_t> mins;
  for (const BufferDim& dim : buffer.dims()) mins.push_back(dim.min);
  mins.back() = first;
  return buffer.translated(mins);
}

}  // namespace

StreamedRun::StreamedRun(const Executable& executable, const Algorithm& algorithm,
                         const AnyBuffer& input, const AnyBuffer& output, int slabs,
                         const Target& target)
    : executable_(executable),
      param_(algorithm.inputs.front()),
      halo_(algorithm.halo.back()),
      target_(target),
      input_(AnyBuffer::pinned(input.type(), input.dims(), target)),
      output_(AnyBuffer::pinned(output.type(), output.dims(), target)) {
  const std::int64_t all = output.dims().back().extent;
  thickness_ = (all + slabs - 1) / slabs;
  slabs_ = (all + thickness_ - 1) / thickness_;
  copy_to_host(input, input_, Target::host(), {});
  const std::vector<std::int64_t> halo(algorithm.halo.begin(), algorithm.halo.end());
  std::vector<std::int64_t> extents;
  for (const BufferDim& dim : output.dims()) extents.push_back(dim.extent);
  extents.back() = thickness_;
  for (int s = 0; s < kSlots; ++s) {
    slots_.push_back({AnyBuffer::with_halo(input.type(), extents, halo), {output.type(), extents}});
  }
}

PipelineTimes StreamedRun::run(bool kernels) {
  CopyPipeline pipeline(target_, kSlots);
  const BufferDim all = output_.dims().back();
  for (std::int64_t k = 0; k < slabs_; ++k) {
    const std::int64_t first = all.min + k * thickness_;
    const std::int64_t count = std::min(thickness_, all.min + all.extent - first);
    const Slot& slot = slots_[static_cast<std::size_t>(pipeline.next_slot())];
    const AnyBuffer in = layers(from_layer(slot.in, first - halo_), first - halo_, count + 2 * halo_);
    AnyBuffer out = layers(from_layer(slot.out, first), first, count);
    pipeline.add(
        [&](Stream s) {
          copy_to_device(layers(input_, first - halo_, count + 2 * halo_), in, target_, s);
        },
        [&](Stream s) {
          if (kernels) executable_.run(out, {.inputs = {{param_, in}}, .stream = s});
        },
        [&](Stream s) { copy_to_host(out, layers(output_, first, count), target_, s); });
  }
  pipeline.synchronize();
  return times_of(pipeline.spans());
}

void StreamedRun::get(const AnyBuffer& output) const {
  copy_to_host(output_, output, Target::host(), {});
}

}  // namespace mica::bench
