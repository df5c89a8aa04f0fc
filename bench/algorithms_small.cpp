// Stencils of radius 1 and 2 over one input.
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

// "name" in f32, "name-f64" in f64; a constant of the type.
std::string named(const char* name, Type type) {
  return type.bits == 32 ? name : std::string(name) + "-f64";
}
std::string described(const char* what, Type type) {
  return std::string(what) + ", f" + std::to_string(type.bits);
}
Expr constant(Type type, double value) {
  return type.bits == 32 ? Expr(static_cast<float>(value)) : Expr(value);
}
void add_to(Expr& total, const Expr& term) { total = total.defined() ? total + term : term; }

Algorithm box27(Type type) {
  Algorithm a{named("box27", type), described("27-point box", type), Func("next"), {}, {1, 1, 1},
              "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(type, 3, "u");
  Expr total;
  for (int i = 0; i < 27; ++i) {
    const double w = (0.3 + 0.02 * i) / 20 * (i % 2 ? 1.0 : -0.7);
    add_to(total, constant(type, w) * u(x + i % 3 - 1, y + i / 3 % 3 - 1, z + i / 9 - 1));
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

// Of the documents in f64.
Algorithm jacobi2d(Type type) {
  Algorithm a{type.bits == 64 ? "jacobi2d" : "jacobi2d-f32",
              described("4-point Jacobi with a division", type),
              Func("next"),
              {},
              {1, 1},
              "jacobi2d/strided-load"};
  Var x("x"), y("y");
  ImageParam u(type, 2, "u");
  a.output(x, y) = (u(x, y - 1) + u(x, y + 1) + u(x - 1, y) + u(x + 1, y)) / constant(type, 5.5);
  a.inputs = {u};
  return a;
}

// A point and its neighbours up to `radius` away along each axis.
Algorithm star(const std::string& name, const std::string& description, Type type, int dimensions,
               int radius) {
  Algorithm a{name,
              description,
              Func("next"),
              {},
              std::vector<int>(static_cast<std::size_t>(dimensions), radius),
              "pmpp/naive"};
  const std::vector<Var> vars{Var("x"), Var("y"), Var("z")};
  const auto rank = static_cast<std::size_t>(dimensions);
  const std::vector<Expr> point(vars.begin(), vars.begin() + dimensions);
  ImageParam u(type, dimensions, "u");
  const auto tap = [&](std::size_t along, int offset) {
    std::vector<Expr> at = point;
    at[along] = at[along] + offset;
    return u(at);
  };
  Expr total = constant(type, 0.31) * tap(0, 0);
  int term = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    for (int r = 1; r <= radius; ++r) {
      for (const int sign : {-1, 1}) {
        add_to(total, constant(type, (0.11 - 0.003 * ++term) / r) * tap(d, sign * r));
      }
    }
  }
  a.output(point) = total;
  a.inputs = {u};
  return a;
}

Algorithm stencil5(Type type) {
  return star(named("stencil5", type), described("5-point star in two dimensions", type), type, 2, 1);
}
Algorithm stencil13(Type type) {
  return star(named("stencil13", type), described("13-point star of radius 2 in three dimensions", type),
              type, 3, 2);
}

}  // namespace

AlgorithmMakers small_stencils() {
  return {
      {"copy3d", copy3d},
      {"stencil7", [] { return stencil7(Float(32)); }},
      {"stencil7-f64", [] { return stencil7(Float(64)); }},
      {"stencil5", [] { return stencil5(Float(32)); }},
      {"stencil5-f64", [] { return stencil5(Float(64)); }},
      {"stencil13", [] { return stencil13(Float(32)); }},
      {"stencil13-f64", [] { return stencil13(Float(64)); }},
      {"box27", [] { return box27(Float(32)); }},
      {"box27-f64", [] { return box27(Float(64)); }},
      {"blur-u16", [] { return blur(UInt(16)); }},
      {"blur-f32", [] { return blur(Float(32)); }},
      {"box9-u16", box9},
      {"jacobi2d", [] { return jacobi2d(Float(64)); }},
      {"jacobi2d-f32", [] { return jacobi2d(Float(32)); }},
  };
}

}  // namespace mica::bench
