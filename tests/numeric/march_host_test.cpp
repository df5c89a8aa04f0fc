// Marches on the host: a plane that a block keeps is computed once, into a ring.
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "fuzz/random_data.h"
#include "runtime/run/run_options.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");
constexpr int kWidth = 8, kHeight = 4, kDepth = 9;

/// f reads g at its six neighbours and marches along z, one block for all; g is computed by the step.
struct March {
  ImageParam u{Float(32), 3, "u"};
  Func g{"g"}, f{"f"};
  explicit March(int lanes, int chunk = 0) {
    g(x, y, z) = u(x, y, z) * 0.5F + u(x, y, z + 1) * 0.3F;
    f(x, y, z) = g(x, y, z) + (g(x - 1, y, z) + g(x + 1, y, z) + g(x, y - 1, z) + g(x, y + 1, z) +
                               g(x, y, z - 1) + g(x, y, z + 1)) *
                                  0.1F;
    f.gpu_tile(x, y, kWidth / lanes, kHeight).march(z, chunk);
    if (lanes > 1) f.vectorize(x, lanes);
    g.compute_at(f, chunk == 0 ? "z" : "z.march");
  }
};

/// How often each line that begins with `what` is printed.
std::map<std::string, int> lines_of(March& march, const std::string& what) {
  std::map<std::string, int> counts;
  const Box box{{0, kWidth}, {0, kHeight}, {0, kDepth}};
  const auto memory = bind_random(march.u, {{-1, kWidth + 2}, {-1, kHeight + 2}, {-1, kDepth + 3}}, 3);
  Buffer<float> out(kWidth, kHeight, kDepth);
  const auto note = [&](std::string_view line) {
    if (line.starts_with(what)) ++counts[std::string(line.substr(0, line.find(" = ")))];
  };
  compile(march.f, Target::host()).run(out, {.print = note});
  return counts;
}

TEST(MarchOnTheHost, ComputesEachPointOfAPlaneOnce) {
  for (const int lanes : {1, 4}) {
    March march(lanes);
    march.g.trace_stores();
    const auto stores = lines_of(march, "store g(");
    // The points of all planes that the star reads, corners too.
    EXPECT_EQ(stores.size(), std::size_t{(kWidth + 2) * (kHeight + 2) * (kDepth + 2)}) << lanes;
    for (const auto& [point, times] : stores) EXPECT_EQ(times, 1) << point << " of " << lanes;
  }
}

TEST(MarchOnTheHost, EachChunkBeginsAnew) {
  March march(1, 3);
  march.g.trace_stores();
  int stores = 0;
  for (const auto& [point, times] : lines_of(march, "store g(")) stores += times;
  EXPECT_EQ(stores, (kWidth + 2) * (kHeight + 2) * 3 * (3 + 2));
}

TEST(MarchOnTheHost, KeepsARingOfPlanes) {
  March march(4);
  march.g.trace_realizations();
  const auto realizations = lines_of(march, "begin realization g");
  ASSERT_EQ(realizations.size(), 1U);
  EXPECT_EQ(realizations.begin()->first, "begin realization g {{-1, 10}, {-1, 6}, {-1, 3}}");
}

TEST(MarchOnTheHost, HasTheBitsOfTheAlgorithm) {
  const Box box{{-2, 19}, {1, 11}, {3, 8}}, around{{-4, 24}, {-2, 17}, {1, 13}};
  for (const int lanes : {1, 4}) {
    for (const int chunk : {0, 3}) {
      March march(lanes, chunk);
      const auto memory = bind_random(march.u, around, 7);
      const auto expected = expected_values({march.f}, box);
      EXPECT_TRUE(run_matches(expected, {march.f}, box, Target::host())) << lanes << " " << chunk;
    }
  }
}

}  // namespace
}  // namespace mica::test
