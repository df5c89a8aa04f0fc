// Lesson 7: steps in time.
#include <cmath>
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

int main() {
  // One step of the heat equation. c is a number of the run, not of the compiled code.
  Var x("x"), y("y");
  ImageParam u(Float(64), 2, "u");
  Param<double> c("c");
  Func next("next");
  next(x, y) = u(x, y) + c * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1) - 4 * u(x, y));

  // After a step, u holds what next computed.
  Iteration heat({{u, next}});
  heat.stable_if(c <= 0.25);
  heat.every(200, [&](const RunningIteration& run) {
    const Buffer<double> now(run.field(u));
    std::printf("after %4lld steps the middle has %.6f\n", static_cast<long long>(run.steps_done()),
                now(32, 32));
  });

  // A hill whose exact decay is known; the edge stays 0, as no step computes it.
  const int n = 65;
  const double pi = std::acos(-1.0);
  Buffer<double> field(n, n);
  field.for_each([&](double& value, const Coordinates& at) {
    const bool edge = at[0] == 0 || at[1] == 0 || at[0] == n - 1 || at[1] == n - 1;
    value = edge ? 0.0
                 : std::sin(pi * static_cast<double>(at[0]) / (n - 1)) *
                       std::sin(pi * static_cast<double>(at[1]) / (n - 1));
  });
  Buffer<double> again = field.copy();

  heat.run({{u, field}}, 600, {.params = {{c, 0.2}}});
  const double shrink = 1 - 8 * 0.2 * std::pow(std::sin(pi / (2 * (n - 1))), 2);
  std::printf("it should have                 %.6f\n", std::pow(shrink, 600));

  // Four steps for one reading and one writing of the field: the same bits.
  Iteration tiled({{u, next}});
  tiled.time_tile(4).run({{u, again}}, 600, {.params = {{c, 0.2}}});
  bool same = true;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) same = same && again(i, j) == field(i, j);
  }
  std::printf("four steps at once: %s bits\n", same ? "the same" : "other");
}
