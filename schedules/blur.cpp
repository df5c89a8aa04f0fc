// blur/*: where a two-stage pipeline computes its first stage.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

std::vector<Parameter> tile_parameters() {
  return {{"tile_x", 32, 1, 1024, "threads in x"},
          {"tile_y", 8, 1, 1024, "threads in y"},
          {"vec", 4, 1, 16, "points of x a thread, in one vector; a power of two"}};
}

void inline_all(Func& f) {
  for (auto& producer : producers_of(f)) producer.compute_inline();
}

void inlined(Func& f, const Parameters& p) {
  inline_all(f);
  tile_gpu(f, {p.at("tile_x"), p.at("tile_y")}, p.at("vec"));
}

void breadth_first(Func& f, const Parameters& p) {
  kernel_a_stage(f, {p.at("tile_x"), p.at("tile_y")}, p.at("vec"));
}

// Producers that `f` reads are computed per tile with their halo; what stands behind them is inlined.
void shared_tile(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("tile_x"), p.at("tile_y")});
  for (auto& producer : producers_of(f)) producer.compute_inline();
  for (const auto& name : funcs_read_by(f)) stage_source(f, name, LoadPolicy::TwoStep);
}

void cpu_tile(Func& f, const Parameters& p) {
  const std::vector<Var> v = f.args();
  const int vec = static_cast<int>(p.at("vec"));
  const auto loop = [&](std::size_t i, const char* part) { return new_loop(f, v[i].name() + part); };
  const std::string xo = loop(0, ".o"), yo = loop(1, ".o"), xi = loop(0, ".i"), yi = loop(1, ".i");
  f.tile(v[0], v[1], xo, yo, xi, yi, static_cast<int>(p.at("tile_x")), static_cast<int>(p.at("tile_y")))
      .vectorize(xi, vec)
      .parallel(yo);
  for (auto& producer : producers_of(f)) {
    producer.compute_at(f, xo);
    producer.vectorize(producer.args()[0], vec);
  }
}

}  // namespace

std::vector<Recipe> blur_family() {
  return {
      {"blur/box3x3", kDocumentStructuredGrids,
       "all stages in one pass, every tap from global memory (nine for a 3x3 box)", 2, 4, true,
       tile_parameters(), inlined},
      {"blur/breadth-first", kDocumentStructuredGrids,
       "one kernel a stage: the x blur of the whole image, then the y blur", 2, 4, true,
       tile_parameters(), breadth_first},
      {"blur/inline", kDocumentStructuredGrids, "the first stage recomputed at every use", 2, 4, true,
       tile_parameters(), inlined},
      {"blur/shared-tile",
       kDocumentStructuredGrids,
       "the first stage of a tile and its halo in shared memory, then the second (overlapped tiles)",
       2,
       4,
       true,
       {{"tile_x", 32, 1, 1024, "points of a block in x"},
        {"tile_y", 8, 1, 1024, "points of a block in y"}},
       shared_tile},
      {"blur/cpu-tile",
       kDocumentStructuredGrids,
       "the CPU schedule: tiles, vectors, rows of tiles in parallel, the first stage per tile",
       2,
       4,
       false,
       {{"tile_x", 256, 8, 65536, "points of a tile in x"},
        {"tile_y", 8, 1, 65536, "points of a tile in y"},
        {"vec", 32, 1, 64, "points in one vector; a power of two"}},
       cpu_tile},
  };
}

}  // namespace mica::schedules
