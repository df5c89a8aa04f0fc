// Lesson 5: a block keeps the part of an input that its threads read several times.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

int main() {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func star("star");
  star(x, y) = u(x - 2, y) + u(x - 1, y) + u(x + 1, y) + u(x + 2, y) + u(x, y - 2) + u(x, y - 1) +
               u(x, y + 1) + u(x, y + 2) - 8.0F * u(x, y);

  // 32 x 8 threads read 36 x 12 points of u: the tile with a halo of two.
  star.gpu_tile(x, y, 32, 8).stage(u, MemoryType::Shared);
  std::printf("%s\n", star.print_loop_nest(Target::gpu_emulator()).c_str());
  std::printf("%s\n", star.print_plan(Target::gpu_emulator()).c_str());

  // The copy engines of newer GPUs fill the tile without passing values through registers.
  star.clear_schedule();
  star.gpu_tile(x, y, 32, 8).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  std::printf("%s\n", star.print_plan(Target::gpu_emulator()).c_str());

  auto in = Buffer<float>::with_halo({70, 20}, {2, 2});
  in.for_each([](float& value, const Coordinates& at) { value = static_cast<float>(at[0] * at[0]); });
  Buffer<float> out(70, 20);
  u.set(in);
  star.realize(out);
  std::printf("star(0, 0) = %g, star(69, 19) = %g\n", out(0, 0), out(69, 19));
}
