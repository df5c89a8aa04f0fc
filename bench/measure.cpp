#include "bench/measure.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/algorithms.h"
#include "bench/streamed.h"
#include "bench/twin_run.h"
#include "runtime/run/gpu_module.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/occupancy.h"
#include "schedules/tune/trial_data.h"
#include "schedules/tune/trials.h"

namespace mica::bench {

using tuning::bytes_of;
using tuning::fill_random;
using tuning::median;
using tuning::occupancy;
using tuning::pointers;
using tuning::poison;
using tuning::same_bits;

namespace {

constexpr int kWarmUp = 3;  // rounds before the timed ones, unless fewer rounds are asked for

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::filesystem::path twins_folder(const Options& options) {
  if (!options.twins.empty()) return options.twins;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "twins";
}

// The arrays of one case: inputs set on the algorithm, and poisoned outputs. All contenders write the
// same ones, one after the other: where an array lies can be worth a percent.
struct Arrays {
  std::vector<AnyBuffer> inputs, expected, outputs;

  Arrays(Algorithm& algorithm, const std::vector<std::int64_t>& extents, bool dense) {
    const std::vector<std::int64_t> halo(algorithm.halo.begin(), algorithm.halo.end());
    for (ImageParam& input : algorithm.inputs) {
      inputs.push_back(dense ? dense_with_halo(input.type(), extents, halo)
                             : AnyBuffer::with_halo(input.type(), extents, halo));
      fill_random(inputs.back(), inputs.size());
      input.set(inputs.back());
    }
    for (const Type type : algorithm.output.types()) {
      for (auto* list : {&expected, &outputs}) {
        list->emplace_back(type, extents);
        poison(list->back());
      }
    }
    algorithm.output.realize(pointers(expected), Target::host());
  }
  static AnyBuffer dense_with_halo(Type type, std::vector<std::int64_t> extents,
                                   const std::vector<std::int64_t>& halo) {
    for (std::size_t d = 0; d < extents.size(); ++d) extents[d] += 2 * halo[d];
    AnyBuffer whole(type, extents);
    std::vector<std::int64_t> mins;
    for (const std::int64_t h : halo) mins.push_back(-h);
    return whole.translated(mins);
  }
  // Every input read and every output written once, without halos.
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t total = 0;
    for (const AnyBuffer& b : expected) total += bytes_of(b);
    for (const AnyBuffer& b : inputs) total += expected.front().elements() * b.type().bytes();
    return total;
  }
  [[nodiscard]] bool right() const {
    return std::equal(outputs.begin(), outputs.end(), expected.begin(), same_bits);
  }
};

// The outputs' extents and all arrays' strides, by their symbols.
CompileOptions baked(const Algorithm& algorithm, const Arrays& arrays) {
  CompileOptions options;
  const auto add = [&](const std::string& array, const AnyBuffer& b, bool with_extents) {
    for (int d = 0; d < b.dimensions(); ++d) {
      if (with_extents) options.bake[array + ".extent." + std::to_string(d)] = b.extent(d);
      if (d > 0) options.bake[array + ".stride." + std::to_string(d)] = b.dims()[d].stride;
    }
  };
  for (std::size_t i = 0; i < arrays.inputs.size(); ++i) {
    add(algorithm.inputs[i].name(), arrays.inputs[i], false);
  }
  for (std::size_t i = 0; i < arrays.outputs.size(); ++i) {
    const std::string element = arrays.outputs.size() > 1 ? "." + std::to_string(i) : "";
    add(algorithm.output.name() + element, arrays.outputs[i], true);
  }
  return options;
}

Resources resources_of(const std::vector<KernelInfo>& kernels, const Target& target) {
  Resources r;
  for (const KernelInfo& k : kernels) {
    r.registers = std::max(r.registers, k.registers);
    r.local_bytes = std::max(r.local_bytes, k.local_bytes);
    r.shared_bytes =
        std::max(r.shared_bytes, static_cast<int>(k.shape.shared_bytes) + k.static_shared_bytes);
    if (!target.is_gpu() || !k.on_device) continue;
    const double share = occupancy(k, gpu_facts(target));
    if (share >= 0) r.occupancy = r.occupancy < 0 ? share : std::min(r.occupancy, share);
  }
  return r;
}

// The case's twin, ready to run with its own best parameters; nothing where there is none, and `why`
// says so if that is a surprise.
std::optional<TwinRun> make_twin(const Case& c, const Options& options, const Arrays& arrays,
                                 std::string& why) {
  if (c.twin.kernels.empty() || options.target.backend != Backend::Cuda) return std::nullopt;
  const auto cubin = twins_folder(options) / (c.twin.cubin + ".cubin");
  if (!std::filesystem::exists(cubin)) {
    why = "no twin: " + c.twin.cubin + ".cubin is missing";
    return std::nullopt;
  }
  if (const auto m = c.twin.multiple_of_x; arrays.expected.front().extent(0) % m != 0) {
    why = "no twin: it needs a multiple of " + std::to_string(m) + " points in x";
    return std::nullopt;
  }
  const bool has_scratch =
      std::any_of(c.twin.kernels.begin(), c.twin.kernels.end(), [](const TwinKernel& kernel) {
        return std::any_of(kernel.arrays.begin(), kernel.arrays.end(),
                           [](const TwinArray& a) { return a.kind == TwinArray::Kind::Scratch; });
      });
  if (options.dense && has_scratch) {
    why = "no twin: its scratch array has rows with padding";
    return std::nullopt;
  }
  const std::string code = read_file(cubin);
  return std::optional<TwinRun>(
      std::in_place, c.twin, schedules::Parameters(), options.target, arrays.inputs, arrays.outputs,
      [&](const std::string&, const TwinKernel& kernel) {
        return load_cubin(options.target, code, kernel.name, static_cast<int>(kernel.shared_bytes));
      });
}

// `ahead` keeps the GPU busy while the host prepares the launch, as a loop over time steps would, and
// leaves the L2 alike to all contenders.
template <typename Ahead, typename Fn>
double timed(const Target& target, const Ahead& ahead, const Fn& work) {
  GpuTimer timer(target);
  ahead();
  timer.start();
  work();
  timer.stop();
  return timer.milliseconds();
}

// In place of a device copy: all of the copies between host and device, in the same streams.
Result measure_streamed(const Case& c, const Options& options, const Executable& executable,
                        const Algorithm& algorithm, Arrays& arrays, Result r) {
  StreamedRun streamed(executable, algorithm, arrays.inputs.front(), arrays.outputs.front(), c.slabs,
                       options.target);
  streamed.run(true);
  streamed.get(arrays.outputs.front());
  r.right = arrays.right();
  std::vector<double> mica_ms, copy_ms;
  const int warm_up = std::min(kWarmUp, options.runs);
  PipelineTimes last;
  for (int i = -warm_up; i < options.runs; ++i) {
    const double copy = streamed.run(false).wall * 1e3;
    last = streamed.run(true);
    if (i < 0) continue;
    copy_ms.push_back(copy);
    mica_ms.push_back(last.wall * 1e3);
  }
  r.ms = median(mica_ms);
  r.copy_ms = median(copy_ms);
  r.mica = resources_of(executable.kernels(), options.target);
  const auto share = [&](double part) { return fmt::format("{:.0f} %", 100 * part / last.sum()); };
  r.note = fmt::format(
      "host arrays in {} slabs, copy: both ways without kernels; {} in kernels, {} to the device, {} "
      "back, "
      "{:.2f} of 3 at once",
      c.slabs, share(last.work), share(last.in), share(last.out), last.overlap());
  return r;
}

}  // namespace

Result measure(const Case& c, const Options& options) {
  const Target& target = options.target;
  Algorithm algorithm = make_algorithm(c.algorithm);
  const std::int64_t n = options.size > 0 ? options.size : options.dense ? c.size - 1 : c.size;
  Executable executable;
  Result r;
  r.name = c.name;
  r.schedule = c.schedule;
  r.parameters = c.parameters;
  for (const auto& [name, value] : options.parameters) r.parameters[name] = value;
  if (!has_schedule(c)) r.note = "no schedule of this name yet";
  // A schedule that is refused costs no arrays. The host's values come from a copy without one.
  if (has_schedule(c)) apply_named(algorithm, c.schedule, r.parameters);
  Algorithm plain = make_algorithm(c.algorithm);
  Arrays arrays(plain, plain.extents(n), options.dense);
  for (std::size_t i = 0; i < arrays.inputs.size(); ++i) algorithm.inputs[i].set(arrays.inputs[i]);
  r.points = arrays.expected.front().elements();
  r.bytes = arrays.bytes();

  const auto outputs = pointers(arrays.outputs);
  if (has_schedule(c)) {
    const bool bake = c.bake || options.bake;
    executable = compile(algorithm.output, target, bake ? baked(algorithm, arrays) : CompileOptions{});
    if (c.slabs > 0) return measure_streamed(c, options, executable, algorithm, arrays, r);
    executable.run(outputs);
    r.right = arrays.right();
  }
  std::optional<TwinRun> twin = make_twin(c, options, arrays, r.note);
  if (twin) {
    for (AnyBuffer& b : arrays.outputs) {
      poison(b);
      static_cast<void>(b.device_data(target, /*for_write=*/true));
    }
    twin->launch();
    r.twin_right = arrays.right();
  }
  if (!executable.defined() && !twin) return r;

  const auto half = static_cast<std::size_t>(r.bytes / 2);
  const std::vector<std::int64_t> flat = {static_cast<std::int64_t>(half)};
  AnyBuffer from(UInt(8), flat), to(UInt(8), flat);
  poison(from);  // checkers of memory ask that what is copied was written
  const std::uint64_t a = from.device_data(target, false), b = to.device_data(target, true, true);
  constexpr std::size_t kAhead = std::size_t{128} << 20;
  const auto ahead = [&] { device_copy(target, b, a, std::min(half, kAhead)); };
  std::vector<double> mica_ms, copy_ms, twin_ms;
  const int warm_up = std::min(kWarmUp, options.runs);
  for (int i = -warm_up; i < options.runs; ++i) {
    const double copy = timed(target, ahead, [&] { device_copy(target, b, a, half); });
    const double mica =
        executable.defined() ? timed(target, ahead, [&] { executable.run(outputs); }) : -1;
    const double hand = twin ? timed(target, ahead, [&] { twin->launch(); }) : -1;
    if (i < 0) continue;
    copy_ms.push_back(copy);
    mica_ms.push_back(mica);
    twin_ms.push_back(hand);
  }
  r.ms = median(mica_ms);
  r.copy_ms = median(copy_ms);
  r.twin_ms = median(twin_ms);
  if (executable.defined()) r.mica = resources_of(executable.kernels(), target);
  if (twin) r.twin = resources_of(twin->kernels(), target);
  return r;
}

}  // namespace mica::bench
