// Lesson 1: an algorithm, an input, an output, a run.
#include <cstdio>

#include <mica/mica.h>

int main() {
  using namespace mica;

  // The algorithm: every point of `average` is the mean of four neighbours of u.
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func average("average");
  average(x, y) = 0.25F * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));

  // The data: 8 x 6 points of u, with one warm point.
  Buffer<float> in(8, 6);
  in.fill(0.0F);
  in(3, 2) = 100.0F;

  // The run: the points that have all four neighbours, x in [1, 7) and y in [1, 5).
  Buffer<float> out(8, 6);
  out.fill(0.0F);
  Buffer<float> inside = out.cropped({{1, 6}, {1, 4}});
  u.set(in);
  average.realize(inside);

  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < 8; ++i) std::printf("%4g", out(i, j));
    std::printf("\n");
  }
}
