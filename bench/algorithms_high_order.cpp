// Stencils of radius 4: the 25-point star and 8th-order derivatives.
#include "bench/algorithm_families.h"
#include "bench/weights.h"

namespace mica::bench {
namespace {

constexpr int kRadius = 4;

Expr star_weight(Type type, int axis, int offset) {
  const int tap = star25_tap(axis, offset);
  return type.bits == 32 ? Expr(star25_weight<float>(tap)) : Expr(star25_weight<double>(tap));
}

// The 25 taps by distance from the centre, every one with a coefficient of its own.
Algorithm star25(Type type) {
  Algorithm a{type.bits == 32 ? "star25" : "star25-f64",
              "25-point star of radius 4 with 25 coefficients, f" + std::to_string(type.bits),
              Func("next"),
              {},
              {kRadius, kRadius, kRadius},
              "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(type, 3, "u");
  Expr total = star_weight(type, 0, 0) * u(x, y, z);
  for (int k = 1; k <= kRadius; ++k) {
    for (const int d : {-k, k}) total += star_weight(type, 0, d) * u(x + d, y, z);
    for (const int d : {-k, k}) total += star_weight(type, 1, d) * u(x, y + d, z);
    for (const int d : {-k, k}) total += star_weight(type, 2, d) * u(x, y, z + d);
  }
  a.output(x, y, z) = total;
  a.inputs = {u};
  return a;
}

// The same taps in two stages: those of x and y, and what z adds to them.
Algorithm star25_two_pass() {
  Algorithm a{"star25-two-pass",
              "25-point star in two stages: the plane's 17 taps, then 8 along z added to them, f32",
              Func("next"),
              {},
              {kRadius, kRadius, kRadius},
              "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Func plane("plane");
  Expr in_plane = star_weight(Float(32), 0, 0) * u(x, y, z);
  for (int k = 1; k <= kRadius; ++k) {
    for (const int d : {-k, k}) in_plane += star_weight(Float(32), 0, d) * u(x + d, y, z);
    for (const int d : {-k, k}) in_plane += star_weight(Float(32), 1, d) * u(x, y + d, z);
  }
  plane(x, y, z) = in_plane;
  Expr total = plane(x, y, z);
  for (int k = 1; k <= kRadius; ++k) {
    for (const int d : {-k, k}) total += star_weight(Float(32), 2, d) * u(x, y, z + d);
  }
  a.output(x, y, z) = total;
  a.inputs = {u};
  return a;
}

// The sum of the derivatives along `axes`, one after another, each with a centre tap of its own.
Algorithm derivative(const std::string& name, const std::vector<int>& axes) {
  Algorithm a{name, "8th-order second derivative, f32", Func("derivative"), {}, {0, 0, 0}, "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Expr total;
  for (const int axis : axes) {
    a.halo[static_cast<std::size_t>(axis)] = kRadius;
    for (int tap = 0; tap <= 2 * kRadius; ++tap) {
      std::vector<Expr> at{x, y, z};
      Expr& moved = at[static_cast<std::size_t>(axis)];
      moved = moved + (tap - kRadius);
      Expr term = derivative_weight<float>(axis, tap) * u(at);
      total = total.defined() ? total + term : term;
    }
  }
  a.output(x, y, z) = total;
  a.inputs = {u};
  return a;
}

}  // namespace

AlgorithmMakers high_order_stencils() {
  return {
      {"star25", [] { return star25(Float(32)); }},
      {"star25-f64", [] { return star25(Float(64)); }},
      {"star25-two-pass", star25_two_pass},
      {"derivative-x", [] { return derivative("derivative-x", {0}); }},
      {"derivative-y", [] { return derivative("derivative-y", {1}); }},
      {"derivative-z", [] { return derivative("derivative-z", {2}); }},
      {"derivative-xy",
       [] {
         return derivative("derivative-xy", {0, 1});
       }},
      {"derivative-xyz",
       [] {
         return derivative("derivative-xyz", {0, 1, 2});
       }},
  };
}

}  // namespace mica::bench
