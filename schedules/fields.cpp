// fields/*: pipelines of many fields, whose taps stand in helper Funcs, in one launch or several.
#include <algorithm>

#include "schedules/families.h"
#include "schedules/input_taps.h"

namespace mica::schedules {
namespace {

void stream_input(Func& f, const std::string& input) {
  f.function()->definitions.front().directives.push_back({directive::StreamLoads{input}, {}});
}

void launch(Func& f, const Parameters& p) {
  if (p.at("chunk") > 0) {
    march_gpu(f, {p.at("block_x"), p.at("block_y"), p.at("chunk"), p.at("vec"), p.at("rows")});
  } else {
    tile_gpu(f, {p.at("block_x"), p.at("block_y"), p.at("block_z")}, p.at("vec"));
    if (p.at("rows") > 1) f.unroll(f.args()[1], static_cast<int>(p.at("rows")));
  }
  constexpr std::int64_t kFewest = 16;
  if (const std::int64_t most = p.at("registers"); most > 0) {
    f.max_registers(static_cast<int>(std::max(most, kFewest)));
  }
  if (p.at("min_blocks") > 0) f.launch_bounds(static_cast<int>(p.at("min_blocks")));
  std::int64_t staged = 0, windows = 0;
  if (p.at("stream") != 0) f.stream_stores();
  const std::vector<std::string> reads = inputs_of(f);
  for (const InputTaps& input : input_taps_of(f)) {
    if (input.offsets.size() < 2) {
      const bool own = std::count(reads.begin(), reads.end(), input.name) > 0;
      if (p.at("stream") != 0 && own) stream_input(f, input.name);
    } else if (staged++ < p.at("staged")) {
      stage_source(f, input.name, static_cast<LoadPolicy>(p.at("load")));
      if (p.at("chunk") > 0 && p.at("ahead") > 0) prefetch_source(f, input.name, p.at("ahead"));
    } else if (p.at("chunk") > 0 && input.in_column && windows++ < p.at("windows")) {
      window_source(f, input.name);
    }
  }
}

void fields(Func& f, const Parameters& p) {
  std::vector<Func> behind = producers_of(f);
  const auto first = static_cast<std::size_t>(p.at("first"));
  if (first > 0 && first <= behind.size()) {
    Func& before = behind[first - 1];
    before.compute_root();
    launch(before, p);
  }
  launch(f, p);
}

}  // namespace

std::vector<Recipe> fields_family() {
  return {
      {"mhd/substep",
       "a pipeline of many fields: sixth-order derivatives, several hundred taps a point",
       "many fields and outputs, their taps in helper Funcs: from memory or from staged planes, in one "
       "launch or two",
       3,
       3,
       true,
       {{"block_x", 32, 1, 1024, "threads in x"},
        {"block_y", 8, 1, 1024, "threads in y"},
        {"block_z", 1, 1, 64, "threads in z, where no planes are walked"},
        {"chunk", 0, 0, 4096, "planes a block walks; 0: none, a thread has one plane"},
        {"vec", 1, 1, 16, "points of x a thread, in one vector; a power of two"},
        {"rows", 1, 1, 16, "points of y a thread"},
        {"staged", 0, 0, 64, "inputs in shared memory, those of most taps first"},
        {"load", 3, 0, 4, "LoadPolicy: 0 HaloThreads, 1 TwoStep, 2 Strided, 3 AsyncCopy, 4 Bulk"},
        {"ahead", 1, 0, 8, "steps between asking for a staged plane and reading it"},
        {"windows", 0, 0, 64, "further inputs whose own column is kept in registers along a walk"},
        {"registers", 0, 0, 255, "registers a thread may have, 16 at least; 0: no limit"},
        {"min_blocks", 0, 0, 32, "blocks that shall fit on a multiprocessor; 0: no promise"},
        {"first", 0, 0, 256,
         "which Func behind the output (counted from 1, inputs' side first) is computed by a launch "
         "before; 0: none"},
        {"stream", 0, 0, 1,
         "1: stores, and loads of inputs read at the point alone, pass by the caches"}},
       fields}};
}

}  // namespace mica::schedules
