// Sums of a whole field on the GPU, against a copy of it in the same run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {
namespace {

constexpr int kRounds = 25, kRepeats = 20;

/// The median time of one run, of `kRepeats` that wait for each other on the device only.
double milliseconds(Executable& executable, AnyBuffer& output) {
  std::vector<double> times;
  for (int round = -2; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRepeats; ++i) executable.run(output);
    executable.synchronize();
    const auto end = std::chrono::steady_clock::now();
    if (round >= 0) {
      times.push_back(std::chrono::duration<double, std::milli>(end - start).count() / kRepeats);
    }
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

TEST(Reductions, OfAFieldReadAtTheRateOfACopy) {
  const Target target = Target::best();
  if (target.backend != Backend::Cuda) GTEST_SKIP() << "needs a GPU";
  constexpr std::int64_t n = 512;
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u"), v(Float(32), 3, "v");
  const auto first = bind_random(u, {{0, n}, {0, n}, {0, n}}, 1, Contents::Ordinary, Layout::Dense);
  const auto second = bind_random(v, {{0, n}, {0, n}, {0, n}}, 2, Contents::Ordinary, Layout::Dense);
  Func copy("copy");
  copy(x, y, z) = u(x, y, z);
  copy.gpu_tile(x, y, z, 128, 2, 1).vectorize(x, 4);
  Buffer<float> copied(n, n, n), value(1), on_host(1);
  Executable copying = compile(copy, target);
  const double copy_ms = milliseconds(copying, copied);
  const double bytes = static_cast<double>(n) * n * n * 4;
  std::printf("copy               %.4f ms, %.0f GB/s\n", copy_ms, 2 * bytes / copy_ms * 1e-6);

  const RDom r(u);
  const Expr a = u(r.x, r.y, r.z), b = v(r.x, r.y, r.z);
  const std::vector<std::pair<const char*, Expr>> reductions{{"sum", sum(r, a)},
                                                             {"norm", sqrt(sum(r, a * a))},
                                                             {"largest", maximum(r, abs(a))},
                                                             {"dot product", sum(r, a * b)}};
  for (const auto& [name, e] : reductions) {
    Func f("f");
    f() = e;
    Executable reduction = compile(f, target);
    const double ms = milliseconds(reduction, value);
    f.realize(on_host, Target::host());
    EXPECT_EQ(value(0), on_host(0)) << name;
    const double read = (name[0] == 'd' ? 2 : 1) * bytes;
    std::printf("%-18s %.4f ms, %.0f GB/s, %.2f of the copy's rate\n", name, ms, read / ms * 1e-6,
                read / ms / (2 * bytes / copy_ms));
  }
}

}  // namespace
}  // namespace mica::test
