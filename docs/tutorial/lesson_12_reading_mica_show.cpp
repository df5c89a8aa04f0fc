// Lesson 12: what `mica show` prints is code, for pasting and changing.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

namespace {

struct Star {
  Var x{"x"}, y{"y"}, z{"z"};
  ImageParam u{Float(32), 3, "u"};
  Func next{"next"};

  Star() {
    next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
  }
};

}  // namespace

int main() {
  Star named;
  schedules::apply(named.next, "tile/two-step-load", {{"tile_y", 4}, {"tile_z", 2}});

  // As the tool printed it.
  Star pasted;
  auto& [x, y, z, u, next] = pasted;
  next.gpu_tile(x, y, z, 32, 4, 2).stage(u, MemoryType::Shared);

  std::printf("%s\n", next.schedule() == named.next.schedule() ? "the same schedule" : "another");
}
