// multigrid/*: cycles over grids.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

void vcycle(Func& f, const Parameters& p) {
  kernel_a_stage(f, {p.at("tile_x"), p.at("tile_y"), p.at("tile_z")}, 1);
}

}  // namespace

std::vector<Recipe> multigrid_family() {
  return {{"multigrid/vcycle",
           kDocumentStructuredGrids,
           "smooth, restrict, interpolate: a kernel for each of them on each grid",
           2,
           4,
           true,
           {{"tile_x", 32, 1, 1024, "threads in x"},
            {"tile_y", 4, 1, 1024, "threads in y"},
            {"tile_z", 2, 1, 64, "threads in z"}},
           vcycle}};
}

}  // namespace mica::schedules
