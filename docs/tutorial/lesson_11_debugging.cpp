// Lesson 11: kernels on the CPU, checked, and the values inside them.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <mica/mica.h>

using namespace mica;

int main() {
  // A blur in two stages. Blocks of 8 threads compute what they need of the first stage themselves.
  Var x("x");
  ImageParam u(Float(32), 1, "u");
  Func pairs("pairs"), blur("blur");
  pairs(x) = u(x) + u(x + 1);
  blur(x) = print_when(x == 5, pairs(x - 1) + pairs(x), "is blur at", x, "of", u(x - 1), u(x), u(x + 1));
  blur.gpu_tile(x, 8);
  pairs.compute_at(blur, "x.block").gpu_threads(x);
  pairs.trace_stores();

  auto in = Buffer<float>::with_halo({16}, {1});
  for (int i = -1; i < 17; ++i) in(i) = static_cast<float>(i * i);
  Buffer<float> out(16);

  // The emulator runs the kernel of the GPU on the CPU: threads, barriers, shared memory. It stops at
  // a race, at shared memory that nobody wrote, and at an index outside of its array.
  std::vector<std::string> lines;
  RunOptions options;
  options.inputs = {{u, in}};
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  compile(blur, Target::gpu_emulator()).run(out, options);

  // Threads print in any order.
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());

  // What cannot be right is refused before anything runs.
  try {
    Func wrong("wrong");
    wrong(x) = u(cast<std::int32_t>(u(x)));
    wrong.realize(out, Target::gpu_emulator(), options);
  } catch (const UserError& error) {
    std::printf("%s\n", error.what());
  }
}
