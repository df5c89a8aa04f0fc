// How compiling grows with an algorithm: time and memory for each operation or Func, over sizes; and the
// bits of functions so large that their blocks are cut.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/compile.h"
#include "codegen/pipeline_variants.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/boundary.h"
#include "fuzz/random_data.h"
#include "schedules/tune/graph_mark.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

struct Cost {
  double seconds = 0;    ///< of the processor, on all threads
  double megabytes = 0;  ///< the most memory, beyond that held before
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Gives back what earlier work has freed, and counts the peak from here: it would hide a part of ours.
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

/// In a process of its own, whose memory no other work has been in.
Cost cost_of(const std::function<void()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    forget_peak();
    const double start = cpu_seconds(), held = peak_megabytes();
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    const Cost cost{cpu_seconds() - start, peak_megabytes() - held};
    _exit(write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  close(ends[1]);
  Cost cost;
  const bool whole = read(ends[0], &cost, sizeof cost) == sizeof cost;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(whole && WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it broke off";
  return cost;
}

using Work = std::function<void(int size)>;

/// `work` on 20 times as much takes at most 100 times as long, and at most 40 times the memory. In
/// proportion to n log n it is 27 times as long, and up to three times that where caches no longer hold
/// it; in proportion to its square, 400 times.
void expect_steady(const char* name, int size, const Work& work) {
  constexpr int kTimes = 20;
  constexpr double kSlower = 100, kLarger = 40, kLeastSeconds = 0.01, kLeastMegabytes = 4;
  const Cost few = cost_of([&] { work(size); });
  const Cost many = cost_of([&] { work(kTimes * size); });
  std::printf("%-14s %6d: %7.3f s %6.1f MB   %6d: %7.3f s %6.1f MB\n", name, size, few.seconds,
              few.megabytes, kTimes * size, many.seconds, many.megabytes);
  EXPECT_LE(many.seconds, kSlower * std::max(few.seconds, kLeastSeconds)) << name;
  EXPECT_LE(many.megabytes, kLarger * std::max(few.megabytes, kLeastMegabytes)) << name;
}

/// Each size takes at most 30 times the time of the tenth of it, and 20 times the memory, on top of what
/// any size takes. In proportion to n log n it is 12 to 15 times the time, and up to twice that where
/// caches no longer hold it; in proportion to its square, 100 times.
void expect_steady_from_100_to_100000(const char* name, const Work& work) {
  constexpr double kSlower = 30, kLarger = 20, kLeastSeconds = 0.05, kLeastMegabytes = 10;
  constexpr int kFirst = 100, kLast = 100'000, kOften = 1000;
  Cost tenth;
  for (int size = kFirst; size <= kLast; size *= 10) {
    Cost cost = cost_of([&] { work(size); });
    const auto is_slow = [&] { return cost.seconds > kSlower * std::max(tenth.seconds, kLeastSeconds); };
    // Another process in the caches, or for small ones in the processor's other thread.
    if (size <= kOften || is_slow()) {
      cost.seconds = std::min(cost.seconds, cost_of([&] { work(size); }).seconds);
    }
    std::printf("%-14s %6d: %7.3f s %6.1f MB\n", name, size, cost.seconds, cost.megabytes);
    if (size > kFirst) {
      EXPECT_FALSE(is_slow()) << name << " of " << size;
      EXPECT_LE(cost.megabytes, kLarger * std::max(tenth.megabytes, kLeastMegabytes)) << name;
    }
    tenth = cost;
  }
}

struct Shape {
  const char* name;
  std::function<Expr(const ImageParam& u, int n)> value;
};

Expr chain(const Expr& first, int n, const std::function<Expr(const Expr&, int)>& next) {
  Expr e = first;
  for (int i = 1; i < n; ++i) e = next(e, i);
  return e;
}

std::vector<Shape> shapes() {
  using Image = const ImageParam&;
  return {
      {"sum",
       [](Image u, int n) {
         return chain(u(x), n,
                      [&](const Expr& e, int i) { return e + u(x + (i % 3 - 1)) * (0.01F * i); });
       }},
      {"sum, inwards",
       [](Image u, int n) {
         return chain(u(x), n,
                      [&](const Expr& e, int i) { return u(x + (i % 3 - 1)) * (0.01F * i) + e; });
       }},
      {"product",
       [](Image u, int n) { return chain(u(x), n, [&](const Expr& e, int) { return e * u(x + 1); }); }},
      {"strict",
       [](Image u, int n) {
         return chain(u(x), n, [&](const Expr& e, int) { return strict(e + u(x + 1)); });
       }},
      {"selects",
       [](Image u, int n) {
         return chain(u(x), n,
                      [&](const Expr& e, int i) { return select(u(x + 1) > 0.01F * i, u(x), e); });
       }},
      {"conditions",
       [](Image u, int n) {
         const Expr all =
             chain(u(x) > 0.0F, n, [&](const Expr& e, int i) { return e && u(x + i % 3) > 0.1F * i; });
         return select(all, u(x), 2.0F);
       }},
      {"casts",
       [](Image u, int n) {
         return chain(u(x), n, [](const Expr& e, int) { return cast<float>(cast<int>(e)); });
       }},
      {"shared",
       [](Image u, int n) {
         return chain(u(x), n, [](const Expr& e, int) { return max(e * e, 0.1F * e); });
       }},
      {"integers",
       [](Image u, int n) {
         return u(x) +
                cast<float>(chain(x, n, [](const Expr& e, int) { return (e ^ (e >> 3)) * 5 + x; }));
       }},
      {"index",
       [](Image u, int n) {
         return u(clamp(chain(x, n, [](const Expr& e, int i) { return (e * 3 + i) % 20; }), 0, 19));
       }},
  };
}

bool is_one_of(const Shape& shape, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), shape.name) != names.end();
}

TEST(Growth, OfLoweringIsSteadyInOperations) {
  const ImageParam u(Float(32), 1, "u");
  for (const Shape& shape : shapes()) {
    expect_steady(shape.name, 200, [&](int n) {
      Func f("f");
      f(x) = shape.value(u, n);
      (void)compile(f, Target::host());
    });
  }
}

TEST(Growth, OfLoweringIsSteadyInFuncsComputedInline) {
  const ImageParam u(Float(32), 1, "u");
  expect_steady("inline", 100, [&](int n) {
    Func f("f");
    f(x) = u(x);
    for (int i = 0; i < n; ++i) {
      Func next("f");
      next(x) = 0.5F * f(x) + 1.0F;
      f = next;
    }
    (void)compile(f, Target::host());
  });
}

/// Lowers a chain of n Funcs at the root, each `value` of the one before.
void lower_chain(int n, const std::function<Expr(const Func& before)>& value) {
  const ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(x);
  for (int i = 0; i < n; ++i) {
    f.compute_root();
    Func next("f");
    next(x) = value(f);
    f = next;
  }
  (void)compile(f, Target::host());
}

TEST(Growth, OfLoweringIsSteadyInFuncsAtTheRoot) {
  expect_steady("at the root", 25, [&](int n) {
    lower_chain(n, [](const Func& before) { return 0.5F * before(x) + 1.0F; });
  });
}

// The box of each is a larger expression of the Param than that of the Func that reads it.
TEST(Growth, OfLoweringIsSteadyInFuncsThatAreReadAtClampedPoints) {
  const Param<std::int32_t> width("width");
  expect_steady("clamped", 50, [&](int n) {
    lower_chain(n, [&](const Func& before) {
      return before(clamp(x - 1, 0, width - 1)) + before(clamp(x + 1, 0, Expr(width)));
    });
  });
}

// Ends of intervals are expressions of the Params, and those of one level are parts of the next one's.
TEST(Growth, OfLoweringIsSteadyInTheDepthOfIndices) {
  const Param<std::int32_t> p("p"), width("width");
  const Expr size = width;
  using Next = std::function<Expr(const Expr&, int)>;
  const std::vector<std::pair<const char*, Next>> all = {
      {"clamped", [&](const Expr& e, int i) { return clamp(e + p + i, 0, size); }},
      {"least", [&](const Expr& e, int i) { return min(e, p + i); }},
      {"scaled", [&](const Expr& e, int i) { return max(min(e * p, size), i - 3); }},
      {"used twice", [&](const Expr& e, int i) { return max(min(e + p, size), min(e - 1, p + i)); }},
      {"both follow", [&](const Expr& e, int i) { return min(max(e + p, i), max(e - 1, p)); }},
      {"halved", [&](const Expr& e, int i) { return clamp(e / 2 + e, -5, size + i); }},
      {"chosen", [&](const Expr& e, int i) { return select(e > p + i, e - 1, min(e + 1, size)); }},
      {"of Params", [&](const Expr& e, int i) { return i == 1 ? size : min(max(e, p * i), size); }},
  };
  for (const auto& [name, next] : all) {
    const ImageParam u(Float(32), 1, "u");
    expect_steady(name, 100, [&](int n) {
      Func f("f");
      f(x) = u(clamp(chain(x, n, next), 0, size)) + u(clamp(chain(x, n, next) + 1, 0, size));
      (void)compile(f, Target::host());
    });
  }
}

// A first run makes the machine code.
TEST(Growth, OfMachineCodeIsSteadyInOperations) {
  for (const Shape& shape : shapes()) {
    if (!is_one_of(shape, {"integers", "sum"})) continue;
    expect_steady(shape.name, 200, [&](int n) {
      ImageParam u(Float(32), 1, "u");
      Buffer<float> in({32}), out({16});
      in.fill(0.5F);
      u.set(in.translated({-8}));
      Func f("f");
      f(x) = shape.value(u, n);
      f.realize(out);
    });
  }
}

// Each read through a texture has a place of its own, and they are all sums of the same ones.
TEST(Growth, OfPtxIsSteadyInReadsThroughATexture) {
  expect_steady("texture", 100, [&](int n) {
    const ImageParam u(Float(32), 2, "u");
    Func f("f");
    f(x, y) = chain(u(x, y), n, [&](const Expr& e, int i) { return e + u(x + i % 5, y + i / 5); });
    f.gpu_tile(x, y, 32, 4).texture(u);
    EXPECT_FALSE(compile_to_ptx(f).empty());
  });
}

// The bounds of each level are made of those of the level behind it: in proportion to their square,
// eight times as many steps would take 64 times as long.
TEST(Growth, OfTimeTilesBetweenEdgesIsSteady) {
  const auto cost_of_steps = [](int steps) {
    return cost_of([&] {
      const ImageParam u(Float(64), 2, "u");
      const Func edge = BoundaryConditions::repeat_edge(u);
      Func next("next");
      next(x, y) = u(x, y) + 0.1 * (edge(x - 1, y) + edge(x + 1, y) + edge(x, y - 1) + edge(x, y + 1));
      Iteration heat({{u, next}});
      Buffer<double> field(100, 100);
      field.fill(1.0);
      heat.time_tile(steps).run({{u, field}}, 24, {.target = Target::host()});
      EXPECT_LT(heat.print_loop_nest(Target::host()).size(), 200'000U);
    });
  };
  constexpr int kFew = 3, kMany = 24;
  constexpr double kSlower = 20, kLeastSeconds = 0.25;
  (void)cost_of_steps(kFew);  // LLVM's pages come from the disk
  const Cost few = cost_of_steps(kFew), many = cost_of_steps(kMany);
  std::printf("steps at once  %6d: %7.3f s   %6d: %7.3f s\n", kFew, few.seconds, kMany, many.seconds);
  EXPECT_LE(many.seconds, kSlower * std::max(few.seconds, kLeastSeconds));
}

// What stands before lowering, up to nearly as many nodes as are compiled.
TEST(Growth, OfBuildingPrintingMarkingAndFreeingIsSteady) {
  const ImageParam u(Float(32), 1, "u");
  for (const Shape& shape : shapes()) {
    if (!is_one_of(shape, {"sum", "shared"})) continue;
    expect_steady(shape.name, 4000, [&](int n) {
      Func f("f");
      f(x) = shape.value(u, n);
      EXPECT_FALSE(brief(f.function()->definitions.front().values.front()).empty());
      EXPECT_NE(tuning::graph_mark(f), 0U);
      EXPECT_EQ(pipeline_of({f}).funcs.size(), 1U);
    });
  }
}

// Sums of three operations a term, of which the largest are the largest that are compiled.
Expr sum_of(const ImageParam& u, int operations) { return shapes().front().value(u, operations / 3); }

TEST(Growth, OfMachineCodeIsSteadyToAHundredThousandOperations) {
  expect_steady_from_100_to_100000("sum, host", [&](int n) {
    ImageParam u(Float(32), 1, "u");
    Buffer<float> in({32}), out({16});
    in.fill(0.5F);
    u.set(in.translated({-8}));
    Func f("f");
    f(x) = sum_of(u, n);
    compile(f, Target::host(), {.bake = {}, .use_cache = false}).run(out);
  });
}

TEST(Growth, OfPtxIsSteadyToAHundredThousandOperations) {
  expect_steady_from_100_to_100000("sum, PTX", [&](int n) {
    const ImageParam u(Float(32), 1, "u");
    Func f("f");
    f(x) = sum_of(u, n);
    f.gpu_tile(x, 32);
    EXPECT_FALSE(compile_to_ptx(f).empty());
  });
}

// A million nodes are refused before anything is made of them.
TEST(Growth, AMillionNodesAreRefusedAtOnce) {
  const ImageParam u(Float(32), 1, "u");
  for (const Shape& shape : shapes()) {
    if (!is_one_of(shape, {"sum", "selects", "integers"})) continue;
    Func f("f");
    f(x) = shape.value(u, 170'000);
    const double start = cpu_seconds();
    EXPECT_TRUE(fails_with([&] { compile(f, Target::host()); },
                           {"f is defined by an expression of 1", "at most 524288", "compute_root()"}))
        << shape.name;
    EXPECT_LE(cpu_seconds() - start, 10) << shape.name;
  }
}

// Each Func of a chain reads the one before at points that its consumers do not share.
TEST(Growth, FuncsInlineAtTooManyPointsAreRefusedAtOnce) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  for (int i = 0; i < 100; ++i) {
    Func next("next");
    next(x, y) = f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1);
    f.compute_inline();
    f = next;
  }
  const double start = cpu_seconds();
  EXPECT_TRUE(fails_with(
      [&] { compile(f, Target::host()); },
      {"more than 262144 operations a point", "next", " points);", "at most 131072", "compute_root()"}));
  EXPECT_LE(cpu_seconds() - start, 20);
}

/// Terms that each need the one before, and one of many pieces of a block ago.
Expr far_apart(const ImageParam& u, int n) {
  std::vector<Expr> terms{u(x)};
  for (int i = 1; i < n; ++i) {
    const Expr& old = terms[static_cast<std::size_t>(std::max(0, i - 700 - i % 900))];
    terms.push_back(max(terms.back() * 0.75F, old - u(x + i % 3)));
  }
  return terms.back();
}

// Values go from piece to piece of a block through memory, whose places serve again.
TEST(Growth, FunctionsWhoseBlocksAreCutKeepTheirBits) {
  std::vector<Shape> all = shapes();
  all.push_back({"far apart", far_apart});
  for (const Shape& shape : all) {
    if (!is_one_of(shape, {"sum", "shared", "integers", "far apart"})) continue;
    const ImageParam u(Float(32), 1, "u");
    Func f("f");
    f(x) = shape.value(u, 10'000);
    const auto memory = bind_random(u, {{-8, 60}}, 7);
    std::vector<AnyBuffer> expected;  // the oracle recurses
    with_stack_for(60'000, [&] { expected = expected_values({f}, {{0, 24}}); });
    EXPECT_TRUE(run_matches(expected, {f}, {{0, 24}}, Target::host())) << shape.name;
  }
}

}  // namespace
}  // namespace mica::test
