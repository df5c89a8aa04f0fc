// quickstart: one heat step in three dimensions, scheduled for a GPU, printed and run.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

int main() try {
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Param<float> c0("c0", 0.4F), c1("c1", 0.1F);

  // The algorithm: what is computed.
  Func next("next");
  next(x, y, z) = c0 * u(x, y, z) + c1 * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                          u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));

  // The schedule: how. Each block has 32x8 threads and a box of u with its halo in shared memory.
  next.gpu_tile(x, y, z, 32, 8, 1).unroll(z, 4).stage(u, MemoryType::Shared);
  std::printf("%s", next.print_loop_nest().c_str());

  // A run: 100^3 points inside a halo of one point.
  auto a = Buffer<float>::with_halo({100, 100, 100}, {1, 1, 1});
  Buffer<float> b(100, 100, 100);
  a.fill(0.0F);
  a(50, 50, 50) = 1000.0F;
  u.set(a);
  next.realize(b);
  std::printf("\non %s: next(50, 50, 50) = %g, next(51, 50, 50) = %g\n",
              to_string(Target::best()).c_str(), b(50, 50, 50), b(51, 50, 50));
  return std::fflush(stdout) == 0 ? 0 : 1;
} catch (const Error& e) {
  std::fprintf(stderr, "quickstart: %s\n", e.what());
  return 1;
}
