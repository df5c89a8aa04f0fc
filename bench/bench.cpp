#include "bench/bench.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <optional>
#include <ostream>

#include <nlohmann/json.hpp>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "runtime/gpu_module.h"
#include "runtime/gpu_timer.h"

namespace mica::bench {
namespace {

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A 64-bit mix (D. Lemire's and S. Vigna's splitmix64 constants), so that data has no pattern.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <typename T>
void fill_random(void* data, std::size_t count) {
  auto* values = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix(i + 1);
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
    } else {
      values[i] = static_cast<T>(bits & 0x3fff);  // room for sums of three
    }
  }
}

// Elements from the first to the last of a buffer's box, padding between rows included.
std::size_t span(const AnyBuffer& b) {
  std::int64_t last = 0;
  for (const auto& d : b.dims()) last += (d.extent - 1) * d.stride;
  return static_cast<std::size_t>(last + 1);
}

void fill_random(AnyBuffer& buffer) {
  void* data = buffer.host_data_for_write();
  const std::size_t n = span(buffer);
  if (buffer.type() == Float(32))
    fill_random<float>(data, n);
  else if (buffer.type() == Float(64))
    fill_random<double>(data, n);
  else if (buffer.type() == UInt(16))
    fill_random<std::uint16_t>(data, n);
  else
    throw InternalError("a benchmark of an element type without random data");
}

void poison(AnyBuffer& buffer) {
  std::memset(buffer.host_data_for_write(), 0xCD,
              span(buffer) * static_cast<std::size_t>(buffer.type().bytes()));
}

bool same_bits(const AnyBuffer& a, const AnyBuffer& b) {
  const auto* x = static_cast<const char*>(a.host_data());
  const auto* y = static_cast<const char*>(b.host_data());
  return std::memcmp(x, y, span(a) * static_cast<std::size_t>(a.type().bytes())) == 0;
}

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

// A twin with its arguments bound.
class TwinRun {
 public:
  TwinRun(const Twin& twin, const std::string& cubin, const Target& target, const AnyBuffer& in,
          AnyBuffer& out, const std::vector<std::int64_t>& origin)
      : kernel_(load_cubin(target, cubin, twin.kernel, 0)) {
    std::int64_t offset = 0;
    for (int d = 0; d < in.dimensions(); ++d) {
      offset += (origin[static_cast<std::size_t>(d)] - in.min(d)) * in.stride(d);
    }
    in_ = in.device_data(target, false) + static_cast<std::uint64_t>(offset * in.type().bytes());
    out_ = out.device_data(target, true);
    for (int d = 0; d < 3; ++d) {
      n_[d] = d < out.dimensions() ? static_cast<int>(out.extent(d)) : 1;
      shape_.grid[d] = static_cast<std::uint32_t>((n_[d] + twin.tile[d] - 1) / twin.tile[d]);
      shape_.block[d] = twin.block[d];
    }
    for (int d = 1; d < 3; ++d) {
      stride_[d - 1] = d < in.dimensions() ? in.stride(d) : 0;
      stride_[d + 1] = d < out.dimensions() ? out.stride(d) : 0;
    }
  }
  void launch() {
    void* arguments[] = {&in_,        &out_,       &n_[0],      &n_[1],     &n_[2],
                         &stride_[0], &stride_[1], &stride_[2], &stride_[3]};
    kernel_->launch(shape_, arguments, std::size(arguments), {});
  }

 private:
  std::shared_ptr<LoadedKernel> kernel_;
  std::uint64_t in_ = 0, out_ = 0;
  int n_[3] = {1, 1, 1};
  std::int64_t stride_[4] = {0, 0, 0, 0};
  LaunchShape shape_;
};

template <typename Fn>
double timed(const Target& target, const Fn& work) {
  GpuTimer timer(target);
  timer.start();
  work();
  timer.stop();
  return timer.milliseconds();
}

Result run_case(const Case& c, const Options& options) {
  Algorithm algorithm = make_algorithm(c.algorithm);
  const std::int64_t n = options.size > 0 ? options.size : c.size;
  const std::vector<std::int64_t> extents(algorithm.halo.size(), n), origin(algorithm.halo.size(), 0);
  const std::vector<std::int64_t> halo(algorithm.halo.begin(), algorithm.halo.end());
  ImageParam& input = algorithm.inputs.front();
  AnyBuffer in = AnyBuffer::with_halo(input.type(), extents, halo);
  fill_random(in);
  input.set(in);
  const Type type = algorithm.output.types().front();
  AnyBuffer expected(type, extents), out(type, extents), twin_out(type, extents);
  poison(expected);
  poison(out);
  poison(twin_out);
  algorithm.output.realize(expected, Target::host());

  Func scheduled = algorithm.output;
  schedules::apply(scheduled, c.schedule, c.parameters);
  Executable executable = compile(scheduled, options.target);
  executable.run(out);

  std::optional<TwinRun> twin;
  const auto cubin = twins_folder(options) / (c.twin.cubin + ".cubin");
  if (options.target.backend == Backend::Cuda && !c.twin.kernel.empty() &&
      std::filesystem::exists(cubin)) {
    twin.emplace(c.twin, read_file(cubin), options.target, in, twin_out, origin);
    twin->launch();
  }
  Result r;
  r.name = c.name;
  r.schedule = c.schedule;
  r.points = out.elements();
  r.right = same_bits(out, expected);
  r.twin_right = twin && same_bits(twin_out, expected);

  const std::size_t bytes = static_cast<std::size_t>(r.points) * static_cast<std::size_t>(type.bytes());
  const std::vector<std::int64_t> flat = {static_cast<std::int64_t>(bytes)};
  AnyBuffer from(UInt(8), flat), to(UInt(8), flat);
  const std::uint64_t a = from.device_data(options.target, true, true),
                      b = to.device_data(options.target, true, true);
  std::vector<double> mica_ms, copy_ms, twin_ms;
  for (int i = 0; i < options.runs + 3; ++i) {
    const double copy = timed(options.target, [&] { device_copy(options.target, b, a, bytes); });
    const double mica = timed(options.target, [&] { executable.run(out); });
    const double hand = twin ? timed(options.target, [&] { twin->launch(); }) : -1;
    if (i < 3) continue;  // warm up
    copy_ms.push_back(copy);
    mica_ms.push_back(mica);
    twin_ms.push_back(hand);
  }
  r.ms = median(mica_ms);
  r.copy_ms = median(copy_ms);
  r.twin_ms = median(twin_ms);
  for (const auto& k : executable.kernels()) {
    r.registers = std::max(r.registers, k.registers);
    r.local_bytes = std::max(r.local_bytes, k.local_bytes);
    r.shared_bytes = std::max(r.shared_bytes, static_cast<int>(k.shape.shared_bytes));
  }
  return r;
}

void print(const Result& r, std::ostream& out) {
  out << std::left << std::setw(24) << r.name << std::right << std::fixed << std::setprecision(4)
      << std::setw(10) << r.ms << std::setw(10) << r.copy_ms << std::setprecision(1) << std::setw(8)
      << 100 * r.copy_ms / r.ms << "%";
  if (r.twin_ms > 0) {
    out << std::setprecision(4) << std::setw(10) << r.twin_ms << std::setprecision(3) << std::setw(8)
        << r.ms / r.twin_ms;
  } else {
    out << std::setw(10) << "-" << std::setw(8) << "-";
  }
  out << std::setw(6) << r.registers << std::setw(8) << r.shared_bytes << std::setw(7) << r.local_bytes
      << "  " << (r.right ? "right" : "WRONG")
      << (r.twin_ms > 0 ? (r.twin_right ? ", twin equal" : ", twin differs") : "") << std::endl;
}

void write_json(const std::string& path, const Options& options, const std::vector<Result>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& r : results) {
    list.push_back({{"name", r.name},
                    {"schedule", r.schedule},
                    {"points", r.points},
                    {"ms", r.ms},
                    {"copy_ms", r.copy_ms},
                    {"twin_ms", r.twin_ms},
                    {"registers", r.registers},
                    {"shared_bytes", r.shared_bytes},
                    {"local_bytes", r.local_bytes},
                    {"right", r.right},
                    {"twin_right", r.twin_right}});
  }
  std::ofstream out(path);
  out << nlohmann::json{{"target", to_string(options.target)},
                        {"device", device_for(options.target)->name()},
                        {"runs", options.runs},
                        {"results", list}}
             .dump(2)
      << "\n";
  if (!out) throw UserError("cannot write " + path);
}

}  // namespace

std::vector<Result> run(const Options& options, std::ostream& out) {
  out << device_for(options.target)->name() << ", median of " << options.runs << " interleaved runs\n";
  out << std::left << std::setw(24) << "case" << std::right << std::setw(10) << "ms" << std::setw(10)
      << "copy ms" << std::setw(9) << "of copy" << std::setw(10) << "twin ms" << std::setw(8) << "ratio"
      << std::setw(6) << "regs" << std::setw(8) << "shared" << std::setw(7) << "local"
      << "  bits\n";
  std::vector<Result> results;
  for (const auto& c : cases()) {
    if (c.name.find(options.filter) == std::string::npos) continue;
    results.push_back(run_case(c, options));
    print(results.back(), out);
  }
  if (results.empty()) throw UserError("no benchmark's name contains " + options.filter);
  if (!options.json.empty()) write_json(options.json, options, results);
  for (const auto& r : results) {
    if (!r.right) throw InternalError("the bits of " + r.name + " differ from the host's");
  }
  return results;
}

}  // namespace mica::bench
