#include "fuzz/random_marches.h"

#include <algorithm>
#include <vector>

#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"
#include "fuzz/try_directives.h"

namespace mica::test {
namespace {

/// The accesses of `source` in all definitions of `func`.
std::vector<Access> taps_of(const Func& func, const std::string& source) {
  std::vector<Access> taps;
  for (const Definition& definition : func.function()->definitions) {
    for (const Expr& value : definition.values) {
      walk(value, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        if (access && !access->is_self && access->name == source) taps.push_back(*access);
      });
    }
  }
  return taps;
}

/// The dimension of the source that the march walks: -1 when the taps do not depend on the march,
/// nothing when they are at other places than march + constant in one dimension.
std::optional<int> plane_dimension(const std::vector<Access>& taps, const std::string& march) {
  std::optional<int> dimension;
  for (const Access& tap : taps) {
    int found = -1;
    for (std::size_t d = 0; d < tap.args.size(); ++d) {
      if (!uses_var(tap.args[d], march)) continue;
      if (found >= 0 || !offset_from(tap.args[d], march)) return std::nullopt;
      found = static_cast<int>(d);
    }
    if (dimension && *dimension != found) return std::nullopt;
    dimension = found;
  }
  return dimension;
}

struct Tile {
  std::vector<std::string> vars;
  std::vector<std::int64_t> points;
};

/// Blocks and threads over one or two dimensions beside `march`, the others block loops.
Tile random_tile(Func& func, const std::string& march, Random& random) {
  std::vector<std::string> others;
  for (const auto& arg : func.function()->args) {
    if (arg != march) others.push_back(arg);
  }
  // With a third dimension the first stays in the tile: block loops stand outside the threads.
  if (random.below(4) == 0 && others.size() < 3) std::swap(others.front(), others.back());
  Tile tile;
  const std::size_t count = std::min<std::size_t>(2, others.size());
  tile.vars.assign(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count));
  tile.points.push_back(random.pick(std::vector<std::int64_t>{4, 7, 8, 16, 32}));
  if (count == 2) tile.points.push_back(random.pick(std::vector<std::int64_t>{1, 2, 3, 4, 8}));
  const auto size = [&](std::size_t i) { return static_cast<int>(tile.points[i]); };
  if (count == 1) {
    func.gpu_tile(tile.vars[0], size(0));
  } else {
    func.gpu_tile(tile.vars[0], tile.vars[1], size(0), size(1));
  }
  if (random.below(3) == 0) {
    const int lanes = random.pick(std::vector<int>{2, 4});
    func.vectorize(tile.vars[0], lanes);
    tile.points[0] *= lanes;
  }
  if (count == 2 && random.below(3) == 0) {
    func.unroll(tile.vars[1], 2);
    tile.points[1] *= 2;
  }
  for (std::size_t i = count; i < others.size(); ++i) func.gpu_blocks(others[i]);
  return tile;
}

/// Does a plane of the tile with a halo of 4, the widest of pipeline_makers(), have a thread a point?
bool threads_suffice(const Func& func, const Tile& tile, const std::string& march) {
  const auto& args = func.function()->args;
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < tile.vars.size(); ++i) {
    if (args[i] != tile.vars[i]) return false;
    threads *= tile.points[i] + 8;
  }
  return march == args.back() && threads <= 1024;
}

void order_randomly(Func& func, const Tile& tile, bool chunked, const std::string& march,
                    Random& random) {
  std::vector<std::string> blocks;
  for (const auto& v : tile.vars) blocks.push_back(v + ".block");
  if (chunked) blocks.push_back(march + ".block");
  if (blocks.size() < 2) return;
  const auto first = random.pick(blocks);
  if (blocks.size() == 2 || random.coin()) {
    func.order_blocks(first);
    return;
  }
  std::string second = first;
  while (second == first) second = random.pick(blocks);
  func.order_blocks(first, second);
}

}  // namespace

bool is_read_by_planes(const TestPipeline& p, const Func& producer, const std::string& march) {
  return std::all_of(p.funcs.begin(), p.funcs.end(), [&](const Func& consumer) {
    const auto taps = taps_of(consumer, producer.name());
    if (taps.empty()) return true;
    const auto& args = producer.function()->args;
    const auto d = plane_dimension(taps, march);
    return d && *d >= 0 && args[static_cast<std::size_t>(*d)] == march;
  });
}

bool is_read_in_the_column(const TestPipeline& p, const Func& producer, const Func& consumer,
                           const std::string& march) {
  return std::all_of(p.funcs.begin(), p.funcs.end(), [&](const Func& reader) {
    const auto taps = taps_of(reader, producer.name());
    if (taps.empty()) return true;
    return reader.name() == consumer.name() &&
           std::all_of(taps.begin(), taps.end(), [&](const Access& tap) {
             return own_column(tap.args, reader.function()->args, march) == reader.function()->args;
           });
  });
}

std::optional<RandomMarch> march_randomly(const TestPipeline& p, Func& func, Random& random) {
  const auto& args = func.function()->args;
  if (args.size() < 2 || func.function()->definitions.size() > 1 || recurrence_of(*func.function())) {
    return std::nullopt;
  }
  const std::string march = random.below(4) == 0 ? random.pick(args) : args.back();
  const Tile tile = random_tile(func, march, random);
  // A grid has three axes: with a fourth dimension of block loops every block walks all planes.
  const bool chunked = args.size() < 4 && random.below(4) > 0;
  if (chunked && random.below(4) == 0) {
    const int shortest = static_cast<int>(random.between(1, 3));
    func.march(march, shortest << random.between(1, 3), shortest);
  } else {
    func.march(march, chunked ? static_cast<int>(random.between(1, 9)) : 0);
  }
  const RandomMarch walk{march, chunked ? march + ".march" : march};

  std::vector<LoadPolicy> policies{LoadPolicy::TwoStep, LoadPolicy::Strided};
  if (threads_suffice(func, tile, march)) policies.push_back(LoadPolicy::HaloThreads);
  bool windowed = false;
  for (const ImageParam& u : p.inputs) {
    const std::vector<Access> taps = taps_of(func, u.name());
    if (taps.empty() || !plane_dimension(taps, march)) continue;
    const auto in_column = [&](const Access& tap) { return !own_column(tap.args, args, march).empty(); };
    // One window a Func: the steps of a march are written out to the common period of all.
    const bool window = !windowed && std::any_of(taps.begin(), taps.end(), in_column) && random.coin();
    const bool all_in_column = std::all_of(taps.begin(), taps.end(), in_column);
    const bool stage = !(window && all_in_column) && random.coin();
    if (window) func.register_window(u, march);
    if (stage) func.stage(u, MemoryType::Shared, random.pick(policies));
    if ((window || stage) && random.below(3) == 0) {
      func.pipeline(u, static_cast<int>(random.between(0, 3)));
    }
    if (random.below(6) == 0) func.stream_loads(u);
    windowed = windowed || window;
  }
  if (random.below(3) == 0) {
    const Partials partials = random.coin() ? Partials::EveryPlane : Partials::Centre;
    try_directives(p, true, [&] { func.scatter(march, partials); });
  }
  if (random.below(3) == 0) order_randomly(func, tile, chunked, march, random);
  if (random.below(6) == 0) func.stream_stores();
  if (random.below(3) == 0) {
    const int warps = static_cast<int>(random.between(1, 4));
    try_directives(p, true, [&] { func.warp_split(warps); });
  }
  return walk;
}

}  // namespace mica::test
