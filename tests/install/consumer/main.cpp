// Compiles a 2-point sum with an installed Mica and checks its numbers.
#include <cstdio>

#include <mica/mica.h>

int main() {
  using namespace mica;
  constexpr int n = 100;

  Var x("x");
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(x - 1) + u(x + 1);

  Buffer<float> in(n), all(n);
  for (int i = 0; i < n; ++i) {
    in(i) = static_cast<float>(i * i);
    all(i) = -1.0f;
  }
  Buffer<float> interior = all.cropped({{1, n - 2}});
  u.set(in);
  f.realize(interior);

  for (int i = 0; i < n; ++i) {
    const bool inside = i > 0 && i < n - 1;
    const float expected = inside ? static_cast<float>((i - 1) * (i - 1) + (i + 1) * (i + 1)) : -1.0f;
    if (all(i) != expected) {
      std::printf("f(%d) = %g, expected %g\n", i, static_cast<double>(all(i)),
                  static_cast<double>(expected));
      return 1;
    }
  }
  std::puts("the installed library works");
  return 0;
}
