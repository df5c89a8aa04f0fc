#include "schedules/tune/trials.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "codegen/analysis/traffic/usual_symbols.h"
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

double sampled(const std::function<double()>& sample, int samples) {
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) all.push_back(sample());
  return median(std::move(all));
}

namespace {

/// Arrays that the runs of one search share.
struct Arrays {
  Target target;
  RunOptions options;
  std::vector<AnyBuffer> outputs;
};

class FuncTrial final : public Trial {
 public:
  FuncTrial(Executable executable, const Arrays& arrays)
      : executable_(std::move(executable)), arrays_(arrays), outputs_(arrays.outputs) {
    executable_.load(pointers(outputs_), arrays_.options);
  }
  [[nodiscard]] std::vector<KernelInfo> kernels() const override { return executable_.kernels(); }
  [[nodiscard]] double seconds(double best) override {
    run();
    executable_.synchronize();
    const double first = timed(1);
    if (best > 0 && first > 2 * best) return std::min(first, timed(1));
    constexpr int kMostAtOnce = 50;
    const int runs =
        std::clamp(static_cast<int>(kSecondsAtOnce / std::max(first, 1e-7)), 1, kMostAtOnce);
    return sampled([&] { return timed(runs); });
  }
  [[nodiscard]] std::vector<AnyBuffer> results(int) override {
    for (AnyBuffer& b : outputs_) poison(b);
    run();
    std::vector<AnyBuffer> copies;
    for (const AnyBuffer& b : outputs_) copies.push_back(b.copy());
    return copies;
  }

 private:
  void run() { executable_.run(pointers(outputs_), arrays_.options); }
  double timed(int runs) {
    GpuTimer timer(arrays_.target);
    timer.start();
    for (int i = 0; i < runs; ++i) run();
    timer.stop();
    return timer.milliseconds() * 1e-3 / runs;
  }

  Executable executable_;
  const Arrays& arrays_;
  std::vector<AnyBuffer> outputs_;
};

class FuncTrials final : public Trials {
 public:
  FuncTrials(const Subject& subject, const TuneOptions& options);
  [[nodiscard]] std::unique_ptr<Trial> compiled(const TuneCandidate& candidate) const override {
    return std::make_unique<FuncTrial>(compile(subject_.scheduled(candidate), subject_.target()),
                                       arrays_);
  }

 private:
  const Subject& subject_;
  Arrays arrays_;
};

FuncTrials::FuncTrials(const Subject& subject, const TuneOptions& options) : subject_(subject) {
  arrays_.target = subject.target();
  RunOptions& own = arrays_.options;
  own.inputs = options.inputs;
  own.params = options.params;
  own.print = [](std::string_view) {};
  const std::vector<Func> plain = subject.scheduled({});
  std::uint64_t seed = 0;
  for (const InputBox& box : input_boxes(plain, subject.extents(), subject.target())) {
    ++seed;
    const bool given = std::any_of(options.inputs.begin(), options.inputs.end(),
                                   [&](const RunInput& in) { return in.image == box.image; });
    if (given || box.image->is_buffer) continue;
    const std::shared_ptr<AnyBuffer> bound = std::atomic_load(&box.image->bound);
    if (bound != nullptr && holds(*bound, box)) {
      own.inputs.emplace_back(ImageParam(box.image), *bound);
      continue;
    }
    AnyBuffer array = array_over(box, subject.extents());
    fill_random(array, seed);
    own.inputs.emplace_back(ImageParam(box.image), array);
  }
  for (const AnyBuffer& like : options.outputs) {
    std::vector<BufferDim> dims = like.dims();
    for (BufferDim& dim : dims) dim.min = 0;
    arrays_.outputs.emplace_back(like.type(), dims);
    poison(arrays_.outputs.back());
  }
  if (!options.outputs.empty()) return;
  for (const Func& output : plain) {
    for (const Type type : output.types()) {
      arrays_.outputs.push_back(AnyBuffer::with_halo(
          type, subject.extents(), std::vector<std::int64_t>(subject.extents().size(), 0)));
      poison(arrays_.outputs.back());
    }
  }
}

}  // namespace

std::unique_ptr<Trials> trials_of_funcs(const Subject& subject, const TuneOptions& options) {
  return std::make_unique<FuncTrials>(subject, options);
}

}  // namespace mica::tuning
