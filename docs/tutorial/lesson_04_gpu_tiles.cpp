// Lesson 4: loops become the blocks and threads of a kernel.
#include <cstdio>
#include <cstring>

#include <mica/mica.h>

using namespace mica;

int main() {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = u(x, y) + 0.1F * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1) - 4.0F * u(x, y));

  // The numbers, from the CPU, before anything is said about a GPU.
  auto in = Buffer<float>::with_halo({511, 63}, {1, 1});
  in.for_each([](float& value, const Coordinates& at) {
    value = static_cast<float>((at[0] * at[0] + 3 * at[1]) % 17);
  });
  Buffer<float> expected(511, 63), out(511, 63);
  u.set(in);
  next.realize(expected, Target::host());

  // Blocks of 32 x 4 threads; each thread computes four neighbours in x as one vector, and two rows.
  next.gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 2);
  std::printf("%s", next.print_loop_nest(Target::gpu_emulator()).c_str());

  // On the GPU, where there is one; MICA_TARGET=emulator runs the kernel on the CPU, checked.
  next.realize(out);
  const std::size_t bytes = static_cast<std::size_t>(out.elements()) * sizeof(float);
  const Buffer<float>& computed = out;
  const Buffer<float>& wanted = expected;
  std::printf("next(0, 0) = %g, next(510, 62) = %g, %s bits\n", computed(0, 0), computed(510, 62),
              std::memcmp(computed.data(), wanted.data(), bytes) == 0 ? "the same" : "other");
}
