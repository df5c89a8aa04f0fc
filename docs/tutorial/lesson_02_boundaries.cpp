// Lesson 2: what a stencil reads beside its array.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

namespace {

void print(const char* what, const Buffer<float>& b) {
  std::printf("%-18s", what);
  for (int i = 0; i < 5; ++i) std::printf("%6g", b(i));
  std::printf("\n");
}

}  // namespace

int main() {
  Var x("x");
  ImageParam u(Float(32), 1, "u");
  Buffer<float> in(5), out(5);
  for (int i = 0; i < 5; ++i) in(i) = static_cast<float>(i + 1);
  print("u", in);
  u.set(in);

  // No rule for points outside: the run is refused, and the message says what is missing.
  Func sum("sum");
  sum(x) = u(x - 1) + u(x) + u(x + 1);
  try {
    sum.realize(out);
  } catch (const UserError& error) {
    std::printf("%s\n", error.what());
  }

  // A rule for points outside.
  Func edge = BoundaryConditions::repeat_edge(u);
  Func held("held");
  held(x) = edge(x - 1) + edge(x) + edge(x + 1);
  held.realize(out);
  print("repeat_edge", out);

  Func around = BoundaryConditions::repeat_image(u);
  Func periodic("periodic");
  periodic(x) = around(x - 1) + around(x) + around(x + 1);
  periodic.realize(out);
  print("repeat_image", out);

  Func zero = BoundaryConditions::constant_exterior(u, 0.0F);
  Func cold("cold");
  cold(x) = zero(x - 1) + zero(x) + zero(x + 1);
  cold.realize(out);
  print("constant_exterior", out);

  // Or room for them: five points and one more on each side, which are the program's to fill.
  auto wide = Buffer<float>::with_halo({5}, {1});
  for (int i = -1; i < 6; ++i) wide(i) = static_cast<float>(i + 1);
  u.set(wide);
  sum.realize(out);
  print("halo of one", out);
}
