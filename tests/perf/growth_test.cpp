// How compiling grows with an algorithm: time and memory for each operation or Func, over sizes.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/compile.h"
#include "codegen/pipeline_variants.h"
#include "dsl/expr/traverse.h"
#include "schedules/tune/graph_mark.h"

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

/// In a process of its own, whose memory no other work has been in.
Cost cost_of(const std::function<void()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const double start = cpu_seconds(), held = peak_megabytes();
    work();
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

TEST(Growth, OfLoweringIsSteadyInFuncsAtTheRoot) {
  const ImageParam u(Float(32), 1, "u");
  expect_steady("at the root", 25, [&](int n) {
    Func f("f");
    f(x) = u(x);
    for (int i = 0; i < n; ++i) {
      f.compute_root();
      Func next("f");
      next(x) = 0.5F * f(x) + 1.0F;
      f = next;
    }
    (void)compile(f, Target::host());
  });
}

// A first run makes the machine code.
TEST(Growth, OfMachineCodeIsSteadyInOperations) {
  for (const Shape& shape : shapes()) {
    if (shape.name != std::string("integers") && shape.name != std::string("sum")) continue;
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

// What stands before lowering, up to 100,000 operations.
TEST(Growth, OfBuildingPrintingMarkingAndFreeingIsSteady) {
  const ImageParam u(Float(32), 1, "u");
  for (const Shape& shape : shapes()) {
    if (shape.name != std::string("sum") && shape.name != std::string("shared")) continue;
    expect_steady(shape.name, 5000, [&](int n) {
      Func f("f");
      f(x) = shape.value(u, n);
      EXPECT_FALSE(brief(f.function()->definitions.front().values.front()).empty());
      EXPECT_NE(tuning::graph_mark(f), 0U);
      EXPECT_EQ(pipeline_of({f}).funcs.size(), 1U);
    });
  }
}

}  // namespace
}  // namespace mica::test
