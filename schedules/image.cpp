// image/*: pyramids.
#include <algorithm>
#include <map>
#include <set>

#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "schedules/families.h"

namespace mica::schedules {
namespace {

/// How a Func reads another.
struct Reading {
  std::set<std::size_t>
      rescaled;           ///< dimensions, of the first two, read at other than constant distances
  bool aside = false;     ///< at other points than its own
  bool of_fewer = false;  ///< of fewer dimensions
};

using Readings = std::map<const FunctionData*, Reading>;

/// What the first definition of `reader` reads.
Readings readings_of(const Func& reader) {
  const FunctionData& data = *reader.function();
  Readings all;
  for (const auto& value : data.definitions.front().values) {
    walk(value, [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access == nullptr || access->function == nullptr) return;
      Reading& reading = all[access->function.get()];
      reading.of_fewer = access->args.size() < data.args.size();
      for (std::size_t d = 0; d < std::min<std::size_t>(2, access->args.size()); ++d) {
        const auto offset =
            d < data.args.size() ? offset_from(access->args[d], data.args[d]) : std::nullopt;
        if (!offset) reading.rescaled.insert(d);
        reading.aside = reading.aside || !offset || *offset != 0;
      }
    });
  }
  return all;
}

// A level of a pyramid is a kernel: what is read at another scale in both of the first two dimensions,
// passes in one direction between taken together. What is computed of one point alone is computed again
// where it is read, and the pass that reads it is a kernel instead.
void pyramid(Func& f, const Parameters& p) {
  std::vector<Func> funcs = producers_of(f);
  funcs.push_back(f);
  const auto id = [](const Func& func) -> const FunctionData* { return func.function().get(); };
  std::map<const FunctionData*, Readings> readings;
  for (const Func& func : funcs) readings[id(func)] = readings_of(func);
  std::map<const FunctionData*, std::set<std::size_t>> rescaled;  // since the last kernel
  std::set<const FunctionData*> kernels = {id(f)};
  for (auto func = funcs.rbegin(); func != funcs.rend(); ++func) {
    std::set<std::size_t> own;
    std::vector<const FunctionData*> rescaling;  // readers
    bool of_more = false;
    for (const auto& [reader, sources] : readings) {
      const auto found = sources.find(id(*func));
      if (found == sources.end()) continue;
      const Reading& reading = found->second;
      of_more = of_more || reading.of_fewer;
      own.insert(reading.rescaled.begin(), reading.rescaled.end());
      if (!reading.rescaled.empty()) rescaling.push_back(reader);
      if (kernels.count(reader) == 0) own.insert(rescaled[reader].begin(), rescaled[reader].end());
    }
    rescaled[id(*func)] = own;
    if (own.size() < 2 && !of_more) continue;
    const Readings& reads = readings[id(*func)];
    const bool pointwise =
        std::none_of(reads.begin(), reads.end(), [](const auto& read) { return read.second.aside; });
    if (pointwise) {
      kernels.insert(rescaling.begin(), rescaling.end());
    } else {
      kernels.insert(id(*func));
    }
  }
  for (Func& func : funcs) {
    if (kernels.count(id(func)) == 0) {
      func.compute_inline();
      continue;
    }
    if (id(func) != id(f)) func.compute_root();
    tile_gpu(func, {p.at("tile_x"), p.at("tile_y")}, p.at("vec"));
  }
}

}  // namespace

std::vector<Recipe> image_family() {
  return {{"image/local-laplacian",
           kDocumentStructuredGrids,
           "pyramids: a kernel a level, with both directions of each halving and doubling in it",
           2,
           3,
           true,
           {{"tile_x", 32, 1, 1024, "threads in x"},
            {"tile_y", 8, 1, 1024, "threads in y"},
            {"vec", 1, 1, 16, "points of x a thread, in one vector; a power of two"}},
           pyramid}};
}

}  // namespace mica::schedules
