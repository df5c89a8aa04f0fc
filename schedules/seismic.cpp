// seismic/*: derivatives of high order along one axis, then fused.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

std::vector<Parameter> block(std::int64_t x, std::int64_t y) {
  return {{"block_x", x, 1, 1024, "threads in x"},
          {"block_y", y, 1, 1024, "threads in y"},
          {"min_blocks", 0, 0, 32, "blocks that shall fit on a multiprocessor; 0: no promise"}};
}

std::vector<Parameter> block_and_window(std::int64_t x, std::int64_t y) {
  std::vector<Parameter> parameters = block(x, y);
  parameters.push_back({"nw", 64, 0, 4096, "planes a block walks; 0: all"});
  return parameters;
}

void promise_blocks(Func& f, const Parameters& p) {
  if (p.at("min_blocks") > 0) f.launch_bounds(static_cast<int>(p.at("min_blocks")));
}

template <int vec>
void plain(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("block_x"), p.at("block_y")}, vec);
  promise_blocks(f, p);
}

void shared(Func& f, const Parameters& p) {
  tile_gpu(f, {p.at("block_x"), p.at("block_y")}, 4);
  promise_blocks(f, p);
  for (const auto& input : inputs_of(f)) {
    stage_source(f, input, static_cast<LoadPolicy>(p.at("load")));
  }
}

void shared_streaming(Func& f, const Parameters& p) {
  shared(f, p);
  if (p.at("stream") != 0) f.stream_stores();
}

void z_window(Func& f, const Parameters& p) {
  march_gpu(f, {p.at("block_x"), p.at("block_y"), p.at("nw"), p.at("vec"), 1});
  promise_blocks(f, p);
  for (const auto& input : windowed_inputs_of(f)) window_source(f, input);
}

// x and y of a plane when it arrives, carried in registers until the planes after it have arrived.
void fused(Func& f, const Parameters& p) {
  march_gpu(f, {p.at("block_x"), p.at("block_y"), p.at("nw"), 4, p.at("rows")});
  const bool windows = p.at("window") != 0;
  for (const auto& input : marched_inputs_of(f, windows)) {
    stage_source(f, input, static_cast<LoadPolicy>(p.at("load")));
    if (p.at("ahead") > 0) prefetch_source(f, input, p.at("ahead"));
  }
  if (windows) {
    for (const auto& input : windowed_inputs_of(f)) window_source(f, input);
  }
  promise_blocks(f, p);
  scatter_sum_of(f, p.at("every_plane") != 0 ? Partials::EveryPlane : Partials::Centre);
  if (p.at("stream") != 0) f.stream_stores();
}

Recipe plain_row(const std::string& name, const std::string& description, std::int64_t x, std::int64_t y,
                 void (*schedule)(Func&, const Parameters&)) {
  return {name, kDocumentSeismic, description, 1, 4, true, block(x, y), schedule};
}

}  // namespace

std::vector<Recipe> seismic_family() {
  const Parameter stream{"stream", 0, 0, 1, "1: stores that pass by the caches"};
  std::vector<Parameter> xy = block(64, 4), z = block_and_window(256, 1), xyz = block_and_window(32, 16);
  const Parameter load{"load", 2, 0, 2, "LoadPolicy: 0 HaloThreads, 1 TwoStep, 2 Strided"};
  std::vector<Parameter> y_shared = block(64, 4);
  y_shared.push_back(load);
  xy.push_back(load);
  xy.push_back(stream);
  z.push_back({"vec", 1, 1, 16, "points of x a thread, in one vector; a power of two"});
  xyz.push_back({"rows", 2, 1, 16, "points of y a thread"});
  xyz.push_back({"every_plane", 1, 0, 1, "1: partial sums of every plane; 0: of the planes up to z"});
  xyz.push_back(
      {"load", 3, 0, 4, "LoadPolicy: 0 HaloThreads, 1 TwoStep, 2 Strided, 3 AsyncCopy, 4 Bulk"});
  xyz.push_back({"ahead", 2, 0, 8, "steps between asking for a plane and reading it"});
  xyz.push_back({"window", 0, 0, 1, "1: the point's column in registers; 0: in the staged planes"});
  xyz.push_back(stream);
  return {
      plain_row("seismic/x", "one thread per point, all taps along x from global memory", 256, 1,
                plain<1>),
      plain_row("seismic/x-vec1", "blocks of several rows, one point a thread", 64, 4, plain<1>),
      plain_row("seismic/x-vec2", "two points of x a thread, x taps from aligned vectors", 64, 4,
                plain<2>),
      plain_row("seismic/x-vec4", "four points of x a thread, x taps from aligned vectors", 64, 4,
                plain<4>),
      plain_row("seismic/y", "one thread per point, all taps along y from global memory", 256, 1,
                plain<1>),
      plain_row("seismic/y-vec1", "blocks of several rows, one point a thread", 64, 4, plain<1>),
      plain_row("seismic/y-vec2", "two points of x a thread, y taps from vectors", 64, 4, plain<2>),
      plain_row("seismic/y-vec4", "four points of x a thread, y taps from vectors", 64, 4, plain<4>),
      {"seismic/y-shared", kDocumentSeismic,
       "four points of x a thread, y taps from a tile in shared memory", 1, 4, true, y_shared, shared},
      {"seismic/z-window", kDocumentSeismic, "a window of z in registers, nw planes a block", 2, 4, true,
       z, z_window},
      {"seismic/xy", kDocumentSeismic, "x and y fused: vectors, a tile in shared memory", 2, 4, true, xy,
       shared_streaming},
      {"seismic/xyz", kDocumentSeismic,
       "one pass: a plane's x and y terms when it arrives, z from a window in registers", 2, 4, true,
       xyz, fused},
  };
}

std::vector<Recipe> pipeline_family() {
  auto one_launch = [](Func& f, const Parameters& p) {
    for (auto& producer : producers_of(f)) producer.compute_inline();
    tile_gpu(f, {p.at("tile_x"), p.at("tile_y")}, p.at("vec"));
    std::int64_t staged = 0;
    for (const auto& input : inputs_of(f)) {
      if (staged++ < p.at("staged")) stage_source(f, input, LoadPolicy::TwoStep);
    }
  };
  return {
      {"pipeline/multi-output",
       kDocumentStructuredGrids,
       "several outputs that read one another and many inputs, in one launch",
       2,
       4,
       true,
       {{"tile_x", 32, 1, 1024, "threads in x"},
        {"tile_y", 8, 1, 1024, "threads in y"},
        {"vec", 4, 1, 16, "points of x a thread, in one vector; a power of two"},
        {"staged", 0, 0, 16, "inputs held in shared memory, the first ones read"}},
       one_launch},
  };
}

}  // namespace mica::schedules
