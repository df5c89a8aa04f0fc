// Lesson 8: schedules by name, as data, and in files.
#include <cstdio>

#include <mica/mica.h>

using namespace mica;

namespace {

// Any algorithm that suits: here a box of 27 points.
struct Smoother {
  Var x{"x"}, y{"y"}, z{"z"};
  ImageParam u{Float(32), 3, "u"};
  Func smooth{"smooth"};

  Smoother() {
    Expr total = 0.0F;
    for (int k = -1; k <= 1; ++k) {
      for (int j = -1; j <= 1; ++j) {
        for (int i = -1; i <= 1; ++i) total += u(x + i, y + j, z + k);
      }
    }
    smooth(x, y, z) = total / 27.0F;
  }
};

}  // namespace

int main() {
  // A schedule by name, with the parameters that differ from the usual ones.
  Smoother one;
  schedules::apply(one.smooth, "pmpp/three-plane-march", {{"tile_y", 4}, {"chunk", 32}, {"vec", 1}});

  // A schedule is data: it can be printed as the code that makes it, compared and kept.
  const Schedule schedule = one.smooth.schedule();
  std::printf("%s\n", to_string(schedule).c_str());
  save_schedule(schedule, "smooth.json");

  Smoother another;
  another.smooth.apply(load_schedule("smooth.json"));
  std::printf("read back: %s\n", another.smooth.schedule() == schedule ? "equal" : "another one");

  // The fastest of all for a grid and a machine; for a GPU that is not there, what a model expects to
  // be.
  const TuneResult best =
      tune(one.smooth, {.extents = {512, 512, 512}, .target = Target::gpu_emulator(), .keep = false});
  std::printf("tuned: %s\n", best.best.recipe.c_str());  // best.best.text() has its parameters, too

  // What does not exist is refused.
  try {
    schedules::apply(another.smooth, "pmpp/three-plane-march", {{"chunks", 32}});
  } catch (const UserError& error) {
    std::printf("%s\n", error.what());
  }
}
