// jacobi2d/*: the fp64 4-point kernels.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

// A row of threads walks the rows of a shared tile and strides along x.
void strided_load(Func& f, const Parameters& p) {
  const std::vector<Var> v = f.args();
  const std::string x = v[0].name(), y = v[1].name();
  f.split(v[0], x + ".block", x + ".tile", static_cast<int>(p.at("tile_x")))
      .split(x + ".tile", x + ".step", x + ".thread", static_cast<int>(p.at("threads")))
      .split(v[1], y + ".block", y + ".row", static_cast<int>(p.at("tile_y")))
      .reorder({x + ".step", y + ".row", x + ".thread", x + ".block", y + ".block"})
      .gpu_blocks(x + ".block", y + ".block")
      .gpu_threads(x + ".thread");
  for (const auto& input : inputs_of(f)) stage_source(f, input, LoadPolicy::Strided);
}

}  // namespace

std::vector<Recipe> jacobi2d_family() {
  return {
      {"jacobi2d/strided-load",
       kDocumentWhatYouMean,
       "a row of threads fills a shared tile row by row, striding along x, and computes it likewise",
       2,
       2,
       true,
       {{"tile_x", 128, 1, 4096, "points of a block in x"},
        {"tile_y", 16, 1, 4096, "points of a block in y"},
        {"threads", 128, 1, 1024, "threads of a block, all in x"}},
       strided_load},
  };
}

}  // namespace mica::schedules
