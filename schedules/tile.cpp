// tile/*: tiles in shared memory without threads that only load.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

std::vector<Parameter> tile_parameters() {
  return {{"tile_x", 32, 1, 1024, "points of a block in x"},
          {"tile_y", 8, 1, 1024, "points of a block in y"},
          {"tile_z", 1, 1, 64, "points of a block in z"}};
}

void two_step_load(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("tile_x"), p.at("tile_y"), p.at("tile_z")});
  for (const auto& input : inputs_of(f)) stage_source(f, input, LoadPolicy::TwoStep);
}

void read_only(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("tile_x"), p.at("tile_y"), p.at("tile_z")});
  std::int64_t staged = 0;
  for (const auto& input : inputs_of(f)) {
    if (staged++ < p.at("staged"))
      stage_source(f, input, LoadPolicy::TwoStep);
    else
      read_only_input(f, input);
  }
}

std::vector<Parameter> with_staged() {
  std::vector<Parameter> parameters = tile_parameters();
  parameters.push_back({"staged", 1, 0, 16, "inputs held in shared memory, the first ones read"});
  return parameters;
}

}  // namespace

std::vector<Recipe> tile_family() {
  return {
      {"tile/two-step-load", kDocumentStructuredGrids,
       "as many threads as output points: all load once, some load a second time", 1, 4, true,
       tile_parameters(), two_step_load},
      {"tile/read-only", kDocumentStructuredGrids,
       "some inputs in shared memory, the others through the read-only path", 1, 4, true, with_staged(),
       read_only},
  };
}

}  // namespace mica::schedules
