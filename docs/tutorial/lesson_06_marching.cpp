// Lesson 6: a block walks a dimension and keeps the planes that it will read again.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

int main() {
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                              u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));

  next.gpu_tile(x, y, 32, 8)         // a block covers 32 x 8 points of a plane,
      .march(z, 16)                  // walks 16 planes,
      .stage(u, MemoryType::Shared)  // keeps the plane of now with its halo in shared memory
      .register_window(u, z);        // and the points before and behind it in registers
  std::printf("%s\n", next.print_plan(Target::gpu_emulator()).c_str());

  auto in = Buffer<float>::with_halo({40, 20, 33}, {1, 1, 1});
  in.fill(1.0F);
  in(5, 5, 15) = 11.0F;
  Buffer<float> out(40, 20, 33);
  u.set(in);
  next.realize(out);
  const Buffer<float>& result = out;
  for (int k = 13; k < 18; ++k) std::printf("next(5, 5, %d) = %g\n", k, result(5, 5, k));
}
