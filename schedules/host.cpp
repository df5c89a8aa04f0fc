// host/*: loops of the CPU.
#include <algorithm>
#include <memory>
#include <set>

#include "codegen/lower.h"
#include "codegen/passes/funcs/repeated_work.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/node_visit.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/graph_names.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/pipeline.h"
#include "schedules/families.h"

namespace mica::schedules {
namespace {

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

/// In each task `chunk` iterations of the slowest dimension, in strips of tile_y x tile_x points. The
/// `channels` of a point, along the last dimension, are computed one after the other; 0: it is one as
/// others.
Loops rows_of(Func& f, const Parameters& p, std::int64_t channels = 0) {
  std::vector<Var> v = f.args();
  const Var channel = v.back();
  if (channels > 0) v.pop_back();
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
  const int planes = v.size() > 2 ? size("planes") : 1;
  f.split(slow, task, step, (size("chunk") + planes - 1) / planes * planes);
  if (v.size() == 2) y = step;
  if (planes > 1) {
    const std::string plane = part(v.back(), ".plane");
    f.split(step, step, plane, planes).unroll(plane);
    order.push_back(plane);
  }
  if (channels > 0) {
    f.bound(channel, 0, channels).unroll(channel);
    order.push_back(channel.name());
  }
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

/// What `reader` reads elsewhere than at the point, moved by constants.
std::set<const FunctionData*> read_far_by(const FunctionData& reader) {
  std::set<const FunctionData*> far;
  for (const Definition& definition : reader.definitions) {
    visit_nodes(definition.values, [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access == nullptr || !access->function) return;
      const bool near = reader.definitions.size() == 1 && offsets_from(access->args, reader.args);
      if (!near) far.insert(access->function.get());
    });
  }
  return far;
}

/// Those of `producers` that `f`'s strips may have, readers first: nothing reads them but `f`, others of
/// them and what is part of these. One of those that are to be computed `ahead` is among them where it
/// is read near the point alone. A Func that only moves values is not worth a place.
std::vector<Func> for_strips(const Func& f, const std::vector<Func>& producers,
                             const std::set<const FunctionData*>& ahead) {
  std::vector<Func> found;
  std::set<const FunctionData*> elsewhere;  // read by a Func that is computed ahead
  std::set<const FunctionData*> far;        // not in place
  const auto read = [&](const Func& reader, bool inside) {
    for (const Source& source : sources_of(*reader.function(), reader.function()->wrappers)) {
      if (!source.function) continue;
      if (!inside) elsewhere.insert(source.function.get());
    }
    far.merge(read_far_by(*reader.function()));
  };
  read(f, true);
  for (auto producer = producers.rbegin(); producer != producers.rend(); ++producer) {
    const FunctionData* const func = producer->function().get();
    const bool updated = func->definitions.size() > 1;
    const bool is_ahead = updated || ahead.count(func) > 0;
    const bool inside = elsewhere.count(func) == 0 && !updated && !(is_ahead && far.count(func) > 0) &&
                        producer->dimensions() == f.dimensions();
    read(*producer, inside || (!is_ahead && elsewhere.count(func) == 0));
    if (inside && !passes::only_moves(*func)) found.push_back(*producer);
  }
  return found;
}

void rows(Func& f, const Parameters& p) {
  const std::int64_t place = p.at("place");
  const std::vector<Func> producers = producers_of(f);
  const std::set<const FunctionData*> ahead =
      producers.empty() ? std::set<const FunctionData*>() : computed_ahead_of({f});
  const std::vector<Func> strips =
      place >= kStrip ? for_strips(f, producers, ahead) : std::vector<Func>();
  const Loops loops = rows_of(f, p, f.dimensions() > 2 ? p.at("channels") : 0);
  if (p.at("stream") != 0) f.stream_stores();
  for (Func producer : producers) {
    const FunctionData& func = *producer.function();
    const bool in_strips = std::ranges::any_of(
        strips, [&](const Func& other) { return other.function() == producer.function(); });
    const bool root = place == kRoot && !passes::only_moves(func);
    if (in_strips) {
      if (place == kSlid) {
        producer.store_at(f, loops.strip).compute_at(f, loops.row);
      } else {
        producer.compute_at(f, place == kRow ? loops.row : loops.strip);
      }
      producer.vectorize(producer.args()[0], lanes(producer, p));
    } else if (root || ahead.count(&func) > 0) {
      producer.compute_root();
      if (root && producer.dimensions() > 0 && func.definitions.size() == 1) rows_of(producer, p);
    }
  }
}

}  // namespace

std::set<const FunctionData*> computed_ahead_of(const std::vector<Func>& outputs) {
  const DefaultFloatMode mode;
  const std::vector<std::shared_ptr<FunctionData>> functions = functions_of(outputs);
  const FuncGraph graph = collect_graph(functions);
  const GraphTexts texts(graph);
  const VarWords words(graph);
  const GraphNames names(graph, words, texts);
  std::set<const FunctionData*> ahead;
  try {
    const Program program =
        lower(make_pipeline(functions), {Target::host(), Variant{}, {}, DeviceLimits{}}, "place_funcs");
    for (const auto& func : graph.funcs) {
      const auto placed = program.placement.find(names.of(func.get()));
      const bool root = placed != program.placement.end() &&
                        placed->second.level == Placement::Level::Root && !graph.is_output(func.get());
      if (root) ahead.insert(func.get());
    }
  } catch (const UserError&) {
    return {};
  }
  return ahead;
}

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
        {"tile_x", 0, 0, 1 << 20, "points of x in a strip; 0: all, in one dimension 16384"},
        {"tile_y", 0, 0, 1 << 20, "points of y in a strip; 0: all"},
        {"planes", 1, 1, 16, "planes (in 3-D and more) computed together"},
        {"stream", 0, 0, 1, "1: stores pass by the caches"},
        {"chunk", 4, 1, 1 << 20, "of the slowest dimension, points a task takes"},
        {"channels", 0, 0, 16,
         "points of the last of three dimensions or more, where they lie beside each other in memory; "
         "0: it is the slowest"},
        {"place", 0, 0, 4,
         "the Funcs before, but for those that only move values: 0 where they are by themselves, 1 "
         "ahead of it, 2 in each strip, 3 along the rows of a strip, each row once, 4 for each row"}},
       rows}};
}

}  // namespace mica::schedules
