// Stencils of radius 1 over one input.
#include "bench/algorithm_families.h"
#include "bench/weights.h"

namespace mica::bench {
namespace {

Algorithm copy3d() {
  Algorithm a{"copy3d", "next(x, y, z) = u(x, y, z), f32", Func("next"), {}, {0, 0, 0}, "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  a.output(x, y, z) = u(x, y, z);
  a.inputs = {u};
  return a;
}

// The seven-point stencil of the notes: seven coefficients.
Algorithm stencil7(Type type) {
  const std::string bits = std::to_string(type.bits);
  Algorithm a{type.bits == 32 ? "stencil7" : "stencil7-f64",
              "7-point star with seven coefficients, f" + bits,
              Func("next"),
              {},
              {1, 1, 1},
              "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(type, 3, "u");
  auto c = [&](int tap) {
    return type.bits == 32 ? Expr(star7_weight<float>(tap)) : Expr(star7_weight<double>(tap));
  };
  a.output(x, y, z) = c(0) * u(x, y, z) + c(1) * u(x - 1, y, z) + c(2) * u(x + 1, y, z) +
                      c(3) * u(x, y - 1, z) + c(4) * u(x, y + 1, z) + c(5) * u(x, y, z - 1) +
                      c(6) * u(x, y, z + 1);
  a.inputs = {u};
  return a;
}

Algorithm box27() {
  Algorithm a{"box27", "27-point box, f32", Func("next"), {}, {1, 1, 1}, "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Expr total;
  for (int i = 0; i < 27; ++i) {
    const float w = static_cast<float>((0.3 + 0.02 * i) / 20 * (i % 2 ? 1.0 : -0.7));
    Expr term = w * u(x + i % 3 - 1, y + i / 3 % 3 - 1, z + i / 9 - 1);
    total = total.defined() ? total + term : term;
  }
  a.output(x, y, z) = total;
  a.inputs = {u};
  return a;
}

Algorithm blur(Type type) {
  Algorithm a{type.is_float() ? "blur-f32" : "blur-u16",
              "separable 3x3 box blur in two stages",
              Func("blur_y"),
              {},
              {1, 1},
              "blur/inline"};
  Var x("x"), y("y");
  ImageParam in(type, 2, "in");
  Func blur_x("blur_x");
  blur_x(x, y) = (in(x - 1, y) + in(x, y) + in(x + 1, y)) / 3;
  a.output(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;
  a.inputs = {in};
  return a;
}

Algorithm box9() {
  Algorithm a{"box9-u16",   "3x3 box blur as one sum of nine, u16", Func("blurred"), {}, {1, 1},
              "blur/box3x3"};
  Var x("x"), y("y");
  ImageParam in(UInt(16), 2, "in");
  RDom r({{-1, 3}, {-1, 3}});
  a.output(x, y) = sum(r, in(x + r.x, y + r.y)) / 9;
  a.inputs = {in};
  return a;
}

Algorithm jacobi2d() {
  Algorithm a{"jacobi2d",   "4-point Jacobi with a division, f64",
              Func("next"), {},
              {1, 1},       "jacobi2d/strided-load"};
  Var x("x"), y("y");
  ImageParam u(Float(64), 2, "u");
  a.output(x, y) = (u(x, y - 1) + u(x, y + 1) + u(x - 1, y) + u(x + 1, y)) / 5.5;
  a.inputs = {u};
  return a;
}

}  // namespace

AlgorithmMakers small_stencils() {
  return {
      {"copy3d", copy3d},
      {"stencil7", [] { return stencil7(Float(32)); }},
      {"stencil7-f64", [] { return stencil7(Float(64)); }},
      {"box27", box27},
      {"blur-u16", [] { return blur(UInt(16)); }},
      {"blur-f32", [] { return blur(Float(32)); }},
      {"box9-u16", box9},
      {"jacobi2d", jacobi2d},
  };
}

}  // namespace mica::bench
