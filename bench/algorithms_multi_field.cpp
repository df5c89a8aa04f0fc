// Stencils over several inputs, and one with several outputs.
#include "bench/algorithm_families.h"
#include "bench/weights.h"

namespace mica::bench {
namespace {

Algorithm pair7() {
  Algorithm a{"pair7",         "seven taps of each of two inputs, f32", Func("next"), {}, {1, 1, 1},
              "tile/read-only"};
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u"), v(Float(32), 3, "v");
  Expr total;
  auto add = [&](const ImageParam& input, float (*weight)(int)) {
    const std::vector<Expr> taps = {input(x, y, z),     input(x - 1, y, z), input(x + 1, y, z),
                                    input(x, y - 1, z), input(x, y + 1, z), input(x, y, z - 1),
                                    input(x, y, z + 1)};
    for (int tap = 0; tap < 7; ++tap) {
      Expr term = weight(tap) * taps[static_cast<std::size_t>(tap)];
      total = total.defined() ? total + term : term;
    }
  };
  add(u, star7_weight<float>);
  add(v, second7_weight<float>);
  a.output(x, y, z) = total;
  a.inputs = {u, v};
  return a;
}

// Y1 = f1(A, B, C) + f2(D, E), Y2 = Y1 + f3(B, C, D), Y3 = Y1 + Y2 + f4(A, E).
Algorithm multi_output() {
  Algorithm a{"multi-output",
              "five inputs, four small stencils and three outputs that build on one another, f32",
              Func("outputs"),
              {},
              {1, 1, 1},
              "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam A(Float(32), 3, "A"), B(Float(32), 3, "B"), C(Float(32), 3, "C"), D(Float(32), 3, "D"),
      E(Float(32), 3, "E");
  Func f1("f1"), f2("f2"), f3("f3"), f4("f4"), y1("y1"), y2("y2");
  auto w = pipeline_weight<float>;
  f1(x, y, z) = w(0) * A(x, y, z) + w(1) * A(x - 1, y, z) + w(2) * A(x + 1, y, z) +
                w(3) * B(x, y - 1, z) + w(4) * B(x, y + 1, z) + w(5) * C(x, y, z - 1) +
                w(6) * C(x, y, z + 1);
  f2(x, y, z) =
      w(7) * D(x - 1, y, z) + w(8) * D(x + 1, y, z) + w(9) * E(x, y - 1, z) + w(10) * E(x, y + 1, z);
  f3(x, y, z) = w(11) * B(x - 1, y, z) + w(12) * B(x + 1, y, z) + w(13) * C(x, y - 1, z) +
                w(14) * C(x, y + 1, z) + w(15) * D(x, y, z - 1) + w(16) * D(x, y, z + 1);
  f4(x, y, z) = w(17) * A(x, y - 1, z) + w(18) * A(x, y + 1, z) + w(19) * E(x, y, z) +
                w(20) * E(x, y, z - 1) + w(21) * E(x, y, z + 1);
  y1(x, y, z) = f1(x, y, z) + f2(x, y, z);
  y2(x, y, z) = y1(x, y, z) + f3(x, y, z);
  a.output(x, y, z) = Tuple(y1(x, y, z), y2(x, y, z), y1(x, y, z) + y2(x, y, z) + f4(x, y, z));
  a.inputs = {A, B, C, D, E};
  return a;
}

// Two chemicals that react and diffuse (P. Gray, S. K. Scott, Chemical Engineering Science 39 (1984)
// 1087-1097), with the constants of J. E. Pearson, Science 261 (1993) 189-192.
Algorithm gray_scott() {
  Algorithm a{"gray-scott", "two fields that react and diffuse, 7 points of each, f32",
              Func("next"), {},
              {1, 1, 1},    "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u"), v(Float(32), 3, "v");
  const auto spread = [&](const ImageParam& f) {
    return f(x - 1, y, z) + f(x + 1, y, z) + f(x, y - 1, z) + f(x, y + 1, z) + f(x, y, z - 1) +
           f(x, y, z + 1) - 6.0F * f(x, y, z);
  };
  const Expr here = u(x, y, z), there = v(x, y, z), reacts = here * there * there;
  a.output(x, y, z) = Tuple(here + 0.16F * spread(u) - reacts + 0.035F * (1.0F - here),
                            there + 0.08F * spread(v) + reacts - 0.1F * there);
  a.inputs = {u, v};
  return a;
}

// Pressure at the middle of a cell and velocities at its faces (J. Virieux, Geophysics 51 (1986)
// 889-901): the new pressure is that of the new velocities.
Algorithm staggered() {
  Algorithm a{"staggered",  "pressure and velocity on a staggered grid, a whole step, f32",
              Func("next"), {},
              {1, 1, 1},    "pmpp/naive"};
  Var x("x"), y("y"), z("z");
  ImageParam p(Float(32), 3, "p"), vx(Float(32), 3, "vx"), vy(Float(32), 3, "vy"),
      vz(Float(32), 3, "vz");
  Func nx("nx"), ny("ny"), nz("nz");
  constexpr float kStep = 0.2F;
  nx(x, y, z) = vx(x, y, z) - kStep * (p(x + 1, y, z) - p(x, y, z));
  ny(x, y, z) = vy(x, y, z) - kStep * (p(x, y + 1, z) - p(x, y, z));
  nz(x, y, z) = vz(x, y, z) - kStep * (p(x, y, z + 1) - p(x, y, z));
  a.output(x, y, z) = Tuple(p(x, y, z) - kStep * (nx(x, y, z) - nx(x - 1, y, z) + ny(x, y, z) -
                                                  ny(x, y - 1, z) + nz(x, y, z) - nz(x, y, z - 1)),
                            nx(x, y, z), ny(x, y, z), nz(x, y, z));
  a.inputs = {p, vx, vy, vz};
  return a;
}

}  // namespace

AlgorithmMakers multi_field_stencils() {
  return {{"pair7", pair7},
          {"multi-output", multi_output},
          {"gray-scott", gray_scott},
          {"staggered", staggered}};
}

}  // namespace mica::bench
