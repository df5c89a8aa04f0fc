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

}  // namespace

AlgorithmMakers multi_field_stencils() { return {{"pair7", pair7}, {"multi-output", multi_output}}; }

}  // namespace mica::bench
