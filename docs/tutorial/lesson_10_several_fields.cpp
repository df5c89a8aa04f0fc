// Lesson 10: several fields that depend on each other.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

int main() {
  // Sound on a staggered grid: the velocity (vx, vy) and the pressure p.
  Var x("x"), y("y");
  ImageParam p(Float(64), 2, "p"), vx(Float(64), 2, "vx"), vy(Float(64), 2, "vy");
  Param<double> c("c", 0.5);

  // Two values of one Func: a Tuple.
  Func v("v");
  v(x, y) = Tuple(vx(x, y) - c * (p(x + 1, y) - p(x, y)), vy(x, y) - c * (p(x, y + 1) - p(x, y)));
  // The pressure reads the velocity of this step: stages of one pipeline.
  Func next("next");
  next(x, y) = p(x, y) - c * (v(x, y)[0] - v(x - 1, y)[0] + v(x, y)[1] - v(x, y - 1)[1]);

  // After a step each field holds what was computed for it.
  Iteration sound({{vx, v, 0}, {vy, v, 1}, {p, next}});

  const int n = 64;
  Buffer<double> pressure(n, n), along_x(n, n), along_y(n, n);
  for (Buffer<double>* field : {&pressure, &along_x, &along_y}) field->fill(0.0);
  pressure(32, 32) = 1.0;
  sound.run({{p, pressure}, {vx, along_x}, {vy, along_y}}, 24);

  double total = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) total += pressure(i, j);
  }
  std::printf("all the pressure there is: %.12f\n", total);
  std::printf("symmetric: p(20, 32) = %.6f, p(44, 32) = %.6f, p(32, 20) = %.6f\n", pressure(20, 32),
              pressure(44, 32), pressure(32, 20));

  // Several results of one pass over the inputs, each in memory of its own.
  ImageParam q(Float(64), 2, "q");
  Func slope("slope"), bend("bend");
  slope(x, y) = (q(x + 1, y) - q(x - 1, y)) / 2;
  bend(x, y) = q(x + 1, y) - 2 * q(x, y) + q(x - 1, y);
  Buffer<double> slopes(n - 2, n), bends(n - 2, n);
  Buffer<double> s = slopes.translated({1, 0}), b = bends.translated({1, 0});
  q.set(pressure);
  compile({slope, bend}, Target::best()).run({&s, &b});
  std::printf("bend = %.6f where the slope is %.6f\n", b(32, 32), s(32, 32));
}
