// host/*: loops of the CPU.
#include "schedules/families.h"

namespace mica::schedules {
namespace {

/// Where the Funcs behind the output are computed.
enum Place : std::int64_t { kUsual = 0, kRoot = 1, kStrip = 2, kSlid = 3 };

int lanes(const Func& f, const Parameters& p) {
  constexpr int kVectorBytes = 64;
  const auto wanted = static_cast<int>(p.at("vec"));
  return wanted > 0 ? wanted : kVectorBytes / widest_bytes(f.types());
}

/// Loops of a Func after `rows_of`: one iteration of `strip` has all points of a strip in a task, one of
/// `row` those of a row or plane of it.
struct Loops {
  std::string strip, row;
};

/// In each task `chunk` iterations of the slowest dimension, in strips of tile_y x tile_x points.
Loops rows_of(Func& f, const Parameters& p) {
  const std::vector<Var> v = f.args();
  const int vec = lanes(f, p);
  const auto part = [&](const Var& var, const char* end) { return new_loop(f, var.name() + end); };
  const auto size = [&](const char* name) { return static_cast<int>(p.at(name)); };
  if (v.size() == 1) {
    // A task is a strip of the one dimension.
    const std::string task = part(v[0], ".task"), inner = part(v[0], ".i");
    constexpr int kPoints = 1 << 14;
    f.split(v[0], task, inner, size("tile_x") > 0 ? size("tile_x") : kPoints).parallel(task);
    if (vec > 1) f.vectorize(inner, vec);
    return {task, task};
  }
  std::string x = v.front().name(), y = v[1].name(), slow = v.back().name();
  std::vector<std::string> order, outer;
  if (size("tile_x") > 0) {
    const std::string block = part(v[0], ".o"), inner = part(v[0], ".i");
    f.split(v[0], block, inner, size("tile_x"));
    x = inner;
    outer.push_back(block);
  }
  if (v.size() > 2 && size("tile_y") > 0) {
    const std::string block = part(v[1], ".o"), inner = part(v[1], ".i");
    f.split(v[1], block, inner, size("tile_y"));
    y = inner;
    outer.push_back(block);
  }
  const std::string task = part(v.back(), ".task"), step = part(v.back(), ".step");
  f.split(slow, task, step, size("chunk"));
  if (v.size() == 2) y = step;
  order.push_back(x);
  order.push_back(y);
  for (std::size_t d = 2; d + 1 < v.size(); ++d) order.push_back(v[d].name());
  if (v.size() > 2) order.push_back(step);
  order.insert(order.end(), outer.begin(), outer.end());
  order.push_back(task);
  f.function()->definitions.front().directives.push_back({directive::Reorder{order}, {}});
  if (vec > 1) f.vectorize(x, vec);
  if (size("rows") > 1) f.unroll(y, size("rows"));
  const std::string strip = outer.empty() ? task : outer.front();
  if (!outer.empty() && p.at("place") < kStrip) {
    // Strips are tasks of their own, so that few planes keep many threads busy.
    const std::string fused = part(v.back(), ".tasks");
    f.fuse(outer.back(), task, fused).parallel(fused);
  } else {
    f.parallel(task);
  }
  return {strip, v.size() == 2 ? y : step};
}

void rows(Func& f, const Parameters& p) {
  const Loops loops = rows_of(f, p);
  const std::int64_t place = p.at("place");
  for (auto& producer : producers_of(f)) {
    if (place == kUsual) continue;
    if (place == kRoot || producer.dimensions() != f.dimensions()) {
      producer.compute_root();
      if (producer.dimensions() > 0 && producer.function()->definitions.size() == 1)
        rows_of(producer, p);
      continue;
    }
    if (place == kSlid) {
      producer.store_at(f, loops.strip).compute_at(f, loops.row);
    } else {
      producer.compute_at(f, loops.strip);
    }
    producer.vectorize(producer.args()[0], lanes(producer, p));
  }
}

}  // namespace

std::vector<Recipe> host_family() {
  return {
      {"host/rows",
       "vectors along the rows, tasks of several planes (rows of an image) over the threads",
       "the CPU schedule of a sweep: vectors, rows written out together, strips that stay in a cache, "
       "planes over the threads",
       1,
       6,
       false,
       {{"vec", 0, 0, 64, "points of x in one vector, a power of two; 0: 64 bytes"},
        {"rows", 1, 1, 16, "rows (of planes, in 3-D) computed together"},
        {"tile_x", 0, 0, 1 << 20, "points of x in a strip; 0: all"},
        {"tile_y", 0, 0, 1 << 20, "points of y in a strip; 0: all"},
        {"chunk", 4, 1, 1 << 20, "of the slowest dimension, points a task takes"},
        {"place", 0, 0, 3,
         "the Funcs before: 0 where they are by themselves, 1 ahead of it, 2 in each strip, 3 along "
         "the rows of a strip, each row once"}},
       rows}};
}

}  // namespace mica::schedules
