// Lesson 9: arrays of the program's own, code compiled once, runs that only launch.
#include <cstdio>
#include <vector>

#include <mica/mica.h>

using namespace mica;

int main() {
  Var x("x"), y("y");
  ImageParam u(Float(64), 2, "u");
  Param<double> c("c", 0.25);
  Func next("next");
  next(x, y) = u(x, y) + c * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1) - 4.0 * u(x, y));

  // The program's own arrays: rows of 10 points lie 12 apart. Nothing is copied.
  const int nx = 10, ny = 6, pitch = 12;
  std::vector<double> mine(static_cast<std::size_t>(pitch) * ny, 0.0);
  std::vector<double> result(static_cast<std::size_t>(pitch) * ny, -1.0);
  mine[2 * pitch + 4] = 16.0;
  Buffer<double> in(mine.data(), {{0, nx, 1}, {0, ny, pitch}});
  Buffer<double> out(result.data(), {{0, nx, 1}, {0, ny, pitch}});
  Buffer<double> inside = out.cropped({{1, nx - 2}, {1, ny - 2}});

  // Compiled once, for any extents; each run may have inputs and numbers of its own.
  Executable step = compile(next, Target::best());
  step.run(inside, {.inputs = {{u, in}}, .params = {{c, 0.125}}});
  out.copy_to_host();  // after a run on a GPU, before `result` is read
  std::printf("%g %g %g\n", result[2 * pitch + 3], result[2 * pitch + 4], result[2 * pitch + 5]);

  // All decided now: run() checks nothing and launches.
  PreparedRun prepared = step.prepare(inside, {.inputs = {{u, in}}});
  for (int k = 0; k < 3; ++k) {
    prepared.set({c, 0.0625 * (k + 1)});
    prepared.run();
    out.copy_to_host();
    std::printf("c = %-6g middle %g\n", 0.0625 * (k + 1), result[2 * pitch + 4]);
  }
  std::printf("beside the crop: %g, behind a row: %g\n", result[0], result[pitch - 1]);
}
