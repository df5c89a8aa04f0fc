#include "schedules/tune/trials.h"

#include <algorithm>
#include <utility>

#include "codegen/analysis/usual_symbols.h"
#include "codegen/compile.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/trial_data.h"

namespace mica::tuning {
namespace {

/// Does `buffer` hold all points of the box?
bool holds(const AnyBuffer& buffer, const InputBox& box) {
  for (int d = 0; d < buffer.dimensions(); ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    if (buffer.min(d) > box.mins[i]) return false;
    if (buffer.min(d) + buffer.extent(d) < box.mins[i] + box.extents[i]) return false;
  }
  return true;
}

/// An array over the box, whose rows are aligned at the output's first point where the box reaches
/// around the output as a halo does.
AnyBuffer array_over(const InputBox& box, const std::vector<std::int64_t>& extents) {
  const std::size_t rank = box.mins.size();
  std::vector<std::int64_t> halo(rank, 0), inner = box.extents, mins = box.mins;
  for (std::size_t d = 0; rank == extents.size() && d < rank; ++d) {
    const std::int64_t end = box.mins[d] + box.extents[d];
    if (box.mins[d] > 0 || end < extents[d]) continue;
    halo[d] = std::max(-box.mins[d], end - extents[d]);
    inner[d] = extents[d];
    mins[d] = -halo[d];
  }
  return AnyBuffer::with_halo(box.image->type, inner, halo).translated(mins);
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<AnyBuffer*> pointers(std::vector<AnyBuffer>& buffers) {
  std::vector<AnyBuffer*> result;
  for (AnyBuffer& b : buffers) result.push_back(&b);
  return result;
}

Trials::Trials(const Subject& subject, const TuneOptions& options) : subject_(subject) {
  options_.inputs = options.inputs;
  options_.params = options.params;
  options_.print = [](std::string_view) {};
  const Func plain = subject.scheduled({});
  std::uint64_t seed = 0;
  for (const InputBox& box : input_boxes({plain}, subject.extents(), subject.target())) {
    ++seed;
    const bool given = std::any_of(options.inputs.begin(), options.inputs.end(),
                                   [&](const RunInput& in) { return in.image == box.image; });
    if (given || box.image->is_buffer) continue;
    const std::shared_ptr<AnyBuffer> bound = std::atomic_load(&box.image->bound);
    if (bound != nullptr && holds(*bound, box)) {
      options_.inputs.emplace_back(ImageParam(box.image), *bound);
      continue;
    }
    AnyBuffer array = array_over(box, subject.extents());
    fill_random(array, seed);
    options_.inputs.emplace_back(ImageParam(box.image), array);
  }
  types_ = plain.types();
  outputs_ = poisoned_outputs();
}

std::vector<AnyBuffer> Trials::poisoned_outputs() const {
  std::vector<AnyBuffer> outputs;
  for (const Type type : types_) {
    outputs.push_back(AnyBuffer::with_halo(type, subject_.extents(),
                                           std::vector<std::int64_t>(subject_.extents().size(), 0)));
    poison(outputs.back());
  }
  return outputs;
}

Executable Trials::compiled(const TuneCandidate& candidate) const {
  Executable executable = compile(subject_.scheduled(candidate), subject_.target());
  std::vector<AnyBuffer> outputs = outputs_;
  executable.load(pointers(outputs), options_);
  return executable;
}

void Trials::run(Executable& executable) { executable.run(pointers(outputs_), options_); }

double Trials::timed(Executable& executable, int runs) {
  GpuTimer timer(subject_.target());
  timer.start();
  for (int i = 0; i < runs; ++i) run(executable);
  timer.stop();
  return timer.milliseconds() * 1e-3 / runs;
}

double Trials::seconds(Executable& executable, double best) {
  run(executable);
  executable.synchronize();
  const double first = timed(executable, 1);
  if (best > 0 && first > 2 * best) return std::min(first, timed(executable, 1));
  // Short runs are timed several at once: a launch takes microseconds, a clock a part of one.
  constexpr double kAtOnce = 2e-3;
  constexpr int kMostAtOnce = 50, kSamples = 7;
  const int runs = std::clamp(static_cast<int>(kAtOnce / std::max(first, 1e-7)), 1, kMostAtOnce);
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) samples.push_back(timed(executable, runs));
  return median(std::move(samples));
}

void Trials::expect(Executable& executable) {
  run(executable);
  expected_ = std::exchange(outputs_, poisoned_outputs());
}

bool Trials::right(Executable& executable) {
  for (AnyBuffer& b : outputs_) poison(b);
  run(executable);
  return std::equal(outputs_.begin(), outputs_.end(), expected_.begin(), same_bits);
}

}  // namespace mica::tuning
