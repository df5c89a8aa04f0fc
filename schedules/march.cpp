// march/*, fd3d/* and the marched pmpp/*: blocks that walk the slowest of three dimensions.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

std::vector<Parameter> march_parameters() {
  return {{"tile_x", 32, 1, 1024, "threads in x"},
          {"tile_y", 8, 1, 1024, "threads in y"},
          {"chunk", 64, 0, 4096, "planes a block walks; 0: all"},
          {"vec", 4, 1, 16, "points of x a thread, in one vector; a power of two"},
          {"rows", 1, 1, 16, "points of y a thread"},
          {"ahead", 0, 0, 8, "steps between asking for a plane and reading it"},
          {"min_blocks", 0, 0, 32, "blocks that shall fit on a multiprocessor; 0: no promise"},
          {"load", 1, 0, 4, "LoadPolicy: 0 HaloThreads, 1 TwoStep, 2 Strided, 3 AsyncCopy, 4 Bulk"},
          {"warps", 0, 0, 8, "further warps that fill planes; 0: the tile's threads fill them"},
          {"scatter", 0, 0, 2, "0: gather, 1: partial sums of every plane, 2: of the planes up to z"}};
}

// `parameters` with other defaults.
std::vector<Parameter> with(std::vector<Parameter> parameters, const Parameters& defaults) {
  for (Parameter& parameter : parameters) {
    const auto value = defaults.find(parameter.name);
    if (value != defaults.end()) parameter.value = value->second;
  }
  return parameters;
}

std::vector<Parameter> queue_parameters() {
  std::vector<Parameter> parameters = march_parameters();
  parameters.push_back(
      {"window", 1, 0, 1, "1: the point's column in registers; 0: in the staged planes"});
  return parameters;
}

void walk(Func& f, const Parameters& p) {
  march_gpu(f, {p.at("tile_x"), p.at("tile_y"), p.at("chunk"), p.at("vec"), p.at("rows")});
  if (p.at("scatter") > 0) {
    scatter_sum_of(f, p.at("scatter") == 1 ? Partials::EveryPlane : Partials::Centre);
  }
  if (p.at("min_blocks") > 0) f.launch_bounds(static_cast<int>(p.at("min_blocks")));
}

void stage_inputs(Func& f, const Parameters& p, bool windows) {
  const auto load = static_cast<LoadPolicy>(p.at("load"));
  for (const auto& input : marched_inputs_of(f, windows)) {
    stage_source(f, input, load);
    if (p.at("ahead") > 0) prefetch_source(f, input, p.at("ahead"));
  }
  if (p.at("warps") > 0) f.warp_split(static_cast<int>(p.at("warps")));
}

// All planes that a point reads, in shared memory.
void planes(Func& f, const Parameters& p) {
  walk(f, p);
  stage_inputs(f, p, false);
}

// The current plane in shared memory, the others in registers.
void queue(Func& f, const Parameters& p) {
  walk(f, p);
  const bool windows = p.at("window") != 0;
  stage_inputs(f, p, windows);
  if (!windows) return;
  for (const auto& input : windowed_inputs_of(f)) window_source(f, input);
}

// Two kernels: every Func before the last with its inputs' tiles in shared memory, the last with a
// register queue along its slowest dimension.
void two_pass(Func& f, const Parameters& p) {
  for (auto& producer : producers_of(f)) {
    producer.compute_root();
    tile_gpu(producer, {p.at("tile_x"), p.at("tile_y") / p.at("rows")}, p.at("vec"));
    if (p.at("rows") > 1 && producer.dimensions() > 1) {
      producer.unroll(producer.args()[1], static_cast<int>(p.at("rows")));
    }
    for (const auto& input : inputs_of(producer)) stage_source(producer, input, LoadPolicy::TwoStep);
  }
  march_gpu(f, {p.at("tile_x"), 8, p.at("chunk"), p.at("vec"), 1});
  for (const auto& input : windowed_inputs_of(f)) window_source(f, input);
}

}  // namespace

std::vector<Recipe> march_family() {
  // Asynchronous copies of planes two steps ahead.
  const Parameters copied = {{"load", 3}, {"ahead", 2}};
  return {
      {"pmpp/three-plane-march", kDocumentStencil,
       "each block walks z with the previous, the current and the next plane in shared memory", 2, 4,
       true, with(march_parameters(), copied), planes},
      {"pmpp/register-march", kDocumentStencil,
       "each block walks z with the current plane in shared memory, its z neighbours in registers", 2, 4,
       true, with(queue_parameters(), {{"ahead", 1}}), queue},
      {"march/plane", kDocumentStructuredGrids,
       "plane by plane through the domain, all planes that a point reads in shared memory", 2, 4, true,
       with(march_parameters(), copied), planes},
      {"march/high-order", kDocumentStructuredGrids,
       "high order: one plane shared, the other planes that a point reads in its thread's registers", 2,
       4, true, with(queue_parameters(), copied), queue},
      {"fd3d/two-pass", kDocumentFiniteDifference,
       "a pass over xy planes with tiles in shared memory, then a pass along z that adds to its output",
       3, 3, true, with(march_parameters(), {{"tile_y", 32}, {"rows", 4}, {"vec", 1}}), two_pass},
      {"fd3d/one-pass", kDocumentFiniteDifference,
       "the xy plane in shared memory, the point's column in a queue of registers", 2, 4, true,
       with(queue_parameters(), copied), queue},
  };
}

}  // namespace mica::schedules
