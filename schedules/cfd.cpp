// cfd/*: relaxation sweeps.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

// Every sweep reads old values alone.
void jacobi(Func& f, const Parameters& p) {
  kernel_a_stage(f, {p.at("tile_x"), p.at("tile_y")}, p.at("vec"));
}

// A kernel for what stands before the updates, and one for every color of each. On the memory of its own
// input the first does nothing.
void red_black(Func& f, const Parameters& p) {
  kernel_a_stage(f, {p.at("tile_x"), p.at("tile_y")}, 1);
  const std::vector<Var> v = f.args();
  const int tx = static_cast<int>(p.at("tile_x")), ty = static_cast<int>(p.at("tile_y"));
  for (std::size_t u = 1; u < f.function()->definitions.size(); ++u) {
    Stage update = f.update(static_cast<int>(u) - 1);
    if (v.size() == 2) update.gpu_tile(v[0], v[1], tx, ty);
    if (v.size() == 3) update.gpu_tile(v[0], v[1], v[2], tx, ty, 1);
  }
}

}  // namespace

std::vector<Recipe> cfd_family() {
  const Parameter tile_x{"tile_x", 32, 1, 1024, "threads in x"};
  const Parameter tile_y{"tile_y", 8, 1, 1024, "threads in y"};
  return {
      {"cfd/jacobi",
       kDocumentStructuredGrids,
       "Jacobi sweeps of a relaxation: a kernel a sweep, every tap from global memory",
       2,
       3,
       true,
       {tile_x, tile_y, {"vec", 2, 1, 16, "points of x a thread, in one vector; a power of two"}},
       jacobi},
      {"cfd/red-black",
       kDocumentStructuredGrids,
       "Gauss-Seidel in red-black order: a kernel a color, in place where the run is given one array",
       2,
       3,
       true,
       {tile_x, tile_y},
       red_black},
  };
}

}  // namespace mica::schedules
