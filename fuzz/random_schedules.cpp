#include "fuzz/random_schedules.h"

#include <algorithm>
#include <map>
#include <set>

#include "dsl/check/update_order.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/recurrence.h"
#include "fuzz/random_marches.h"

namespace mica::test {
namespace {

/// A place to compute a producer: inlined, a loop of the output (0 the innermost), or root.
constexpr int kInline = -1;
constexpr int kRoot = 1 << 20;

/// The loops of one definition while directives are chosen, innermost first.
struct Loops {
  std::vector<std::string> order;
  /// Loops before this one are vectorized or unrolled, or lie inside such a loop.
  std::size_t first_level = 0;
};

std::size_t random_index(std::size_t n, Random& random) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
}

/// Exchanges the loops at places i and j.
void exchange(Stage& stage, Loops& loops, std::size_t i, std::size_t j) {
  if (i == j) return;
  if (i > j) std::swap(i, j);
  stage.reorder(loops.order[j], loops.order[i]);
  std::swap(loops.order[i], loops.order[j]);
}

void shuffle(Stage& stage, Loops& loops, Random& random) {
  for (std::size_t i = loops.order.size(); i-- > 1;) {
    exchange(stage, loops, i, random_index(i + 1, random));
  }
}

/// Splits, an order, vectors and unrolling for a pure definition or the pure loops of an update.
Loops random_loops(Stage stage, const std::vector<std::string>& vars, bool is_update, Random& random) {
  Loops loops{vars, 0};
  if (vars.empty()) return loops;
  const auto tail = [&] {
    // Moving a tile inwards repeats points, which an update must not.
    if (is_update) return TailStrategy::GuardWithIf;
    return random.pick(std::vector<TailStrategy>{TailStrategy::Auto, TailStrategy::GuardWithIf,
                                                 TailStrategy::ShiftInwards});
  };
  for (std::int64_t n = random.below(3); n > 0; --n) {
    const std::size_t i = random_index(loops.order.size(), random);
    const std::string v = loops.order[i];
    stage.split(v, v + "o", v + "i", random.pick(std::vector<int>{1, 2, 3, 4, 5, 8, 16}), tail());
    loops.order[i] = v + "i";
    loops.order.insert(loops.order.begin() + static_cast<std::ptrdiff_t>(i) + 1, v + "o");
  }
  if (random.coin()) shuffle(stage, loops, random);
  if (random.coin()) {
    const std::size_t i = random_index(std::min<std::size_t>(2, loops.order.size()), random);
    stage.vectorize(loops.order[i], random.pick(std::vector<int>{2, 4, 8}), tail());
    loops.first_level = i;
  }
  if (random.below(4) == 0) {
    const std::size_t i = loops.first_level;
    stage.unroll(loops.order[i], random.pick(std::vector<int>{2, 3}), tail());
  }
  return loops;
}

/// Names of the Funcs that `func` reads.
std::set<std::string> callees(const Func& func) {
  std::set<std::string> names;
  for (const Definition& definition : func.function()->definitions) {
    for (const Expr& value : definition.values) {
      walk(value, [&](const Expr& e) {
        if (const auto* access = e.as<Access>()) names.insert(access->name);
      });
    }
  }
  return names;
}

/// Is it never computed inline?
bool is_kept(const Func& func) {
  return func.function()->definitions.size() > 1 || recurrence_of(*func.function());
}

/// The dimensions along which the first definition's points may come in any order.
std::vector<std::string> free_dimensions(const Func& func) {
  std::vector<std::string> vars = func.function()->args;
  if (const Recurrence* recurrence = recurrence_of(*func.function())) {
    vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(recurrence->dim));
  }
  return vars;
}

/// The loops of update `u` (from 1) that may come in any order: those of its Vars and, now and then, of
/// its domain, where one at the root may be made atomic for that.
std::vector<std::string> free_loops(Func& func, std::size_t u, bool at_root, Random& random) {
  const Definition& update = func.function()->definitions[u];
  std::vector<std::string> loops = update.pure_vars;
  if (!update.domain || random.coin()) return loops;
  std::string why;
  const bool atomic = at_root && !atomic_values(*func.function(), update, why).empty() && random.coin();
  const std::vector<std::string> obstacles = order_obstacles(*func.function(), update);
  for (std::size_t d = obstacles.size(); d-- > 0;) {
    if (atomic || obstacles[d].empty()) loops.insert(loops.begin(), update.domain->dims[d].name);
  }
  if (atomic) func.update(static_cast<int>(u) - 1).atomic();
  return loops;
}

/// The innermost place at which `producer` can be computed for all its consumers, given theirs.
int innermost_place(const TestPipeline& p, const Func& producer,
                    const std::map<std::string, int>& places) {
  int place = 0;
  for (const Func& consumer : p.funcs) {
    if (consumer.name() == producer.name() || callees(consumer).count(producer.name()) == 0) {
      continue;
    }
    if (consumer.name() == p.outputs.front().name()) continue;
    const auto found = places.find(consumer.name());
    const int at = found == places.end() ? kRoot : found->second;  // another output
    place = std::max(place, at == kInline ? innermost_place(p, consumer, places) : at);
  }
  return place;
}

/// The directives of a Func that fills memory of its own, updates included.
void random_own_loops(Func& func, Random& random) {
  random_loops(func, free_dimensions(func), false, random);
  for (std::size_t u = 1; u < func.function()->definitions.size(); ++u) {
    random_loops(func.update(static_cast<int>(u) - 1), free_loops(func, u, false, random), true, random);
  }
}

/// What one block of a random grid computes.
struct Grid {
  std::vector<std::string> vars;     ///< tiled ones, the first along threadIdx.x
  std::vector<std::int64_t> points;  ///< of each, a block
  bool is_whole = false;             ///< every dimension is tiled: the block's box has a constant size
};

/// Blocks and threads over the outermost one to three loops of a definition, the rest serial in the
/// threads.
Grid random_grid(Stage stage, const std::vector<std::string>& vars, bool is_update, Random& random) {
  if (vars.empty()) return {};
  const auto most = std::min<std::int64_t>(3, static_cast<std::int64_t>(vars.size()));
  const auto count = static_cast<std::size_t>(random.coin() ? most : random.between(1, most));
  Loops loops{vars, 0};
  if (random.coin()) shuffle(stage, loops, random);
  Grid grid;
  grid.vars.assign(loops.order.end() - static_cast<std::ptrdiff_t>(count), loops.order.end());
  grid.is_whole = count == vars.size();
  const auto size = [&] { return random.pick(std::vector<int>{1, 2, 3, 4, 8}); };
  const int wide = random.pick(std::vector<int>{4, 7, 8, 16, 32});
  const int high = size();
  const int deep = wide * high > 128 ? 1 : size();
  // Moving a tile inwards repeats points, which an update must not.
  const TailStrategy tail = is_update || random.coin() ? TailStrategy::Auto : TailStrategy::ShiftInwards;
  const auto& v = grid.vars;
  switch (count) {
    case 1: stage.gpu_tile(v[0], wide, tail); break;
    case 2: stage.gpu_tile(v[0], v[1], wide, high, tail); break;
    default: stage.gpu_tile(v[0], v[1], v[2], wide, high, deep, tail); break;
  }
  grid.points = {wide, high, deep};
  grid.points.resize(count);
  if (random.below(3) == 0) {
    const int lanes = random.pick(std::vector<int>{2, 4});
    stage.vectorize(v[0], lanes);
    grid.points[0] *= lanes;
  }
  if (count > 1 && random.below(3) == 0) {
    stage.unroll(v[1], 2);
    grid.points[1] *= 2;
  }
  if (random.below(4) == 0) stage.launch_bounds(static_cast<int>(random.between(1, 2)));
  return grid;
}

Grid random_grids(Func& func, Random& random) {
  Grid grid = random_grid(func, free_dimensions(func), false, random);
  for (std::size_t u = 1; u < func.function()->definitions.size(); ++u) {
    random_grid(func.update(static_cast<int>(u) - 1), free_loops(func, u, true, random), true, random);
  }
  if (recurrence_of(*func.function())) grid.is_whole = false;
  return grid;
}

/// Can the block's box, grown by a halo of `halo` on each side, have a thread for every point? The
/// box's dimensions take the thread axes in order, whichever loops of the grid do.
bool threads_suffice(const Grid& grid, std::int64_t halo) {
  const std::int64_t largest = *std::max_element(grid.points.begin(), grid.points.end());
  const bool in_order = std::is_sorted(grid.vars.begin(), grid.vars.end()) && grid.is_whole;
  std::int64_t threads = 1;
  for (const std::int64_t n : grid.points) threads *= (in_order ? n : largest) + 2 * halo;
  return threads <= 1024;
}

void stage_randomly(TestPipeline& p, Func& func, const Grid& grid, Random& random) {
  if (!grid.is_whole || is_kept(func)) return;
  const std::set<std::string> read = callees(func);
  // The radius of the widest of pipeline_makers().
  std::vector<LoadPolicy> policies{LoadPolicy::TwoStep, LoadPolicy::Strided};
  if (threads_suffice(grid, 4)) policies.push_back(LoadPolicy::HaloThreads);
  for (const ImageParam& u : p.inputs) {
    if (read.count(u.name()) == 0 || random.coin()) continue;
    func.stage(u, MemoryType::Shared, random.pick(policies));
  }
}

void thread_all(Stage stage, const std::vector<std::string>& vars) {
  switch (vars.size()) {
    case 0: return;
    case 1: stage.gpu_threads(vars[0]); return;
    case 2: stage.gpu_threads(vars[0], vars[1]); return;
    default: stage.gpu_threads(vars[0], vars[1], vars[2]); return;
  }
}

/// Storage of `f`, computed at loop `place` of `out`, at a loop around or around all.
void store_around(Func& f, const Func& out, const Loops& loops, std::size_t place,
                  std::vector<bool>& shared, Random& random) {
  const std::size_t at = place + 1 + random_index(loops.order.size() - place, random);
  for (std::size_t i = place; i < at && i < shared.size(); ++i) shared[i] = true;
  if (at < loops.order.size()) {
    f.store_at(out, loops.order[at]);
  } else {
    f.store_root();
  }
}

void order_randomly(Func& f, Random& random) {
  const auto& args = f.function()->args;
  if (args.size() < 2) return;
  const std::size_t i = random_index(args.size(), random);
  const std::size_t j = (i + 1 + random_index(args.size() - 1, random)) % args.size();
  f.reorder_storage(args[i], args[j]);
}

bool is_output(const TestPipeline& p, const Func& func) {
  return std::any_of(p.outputs.begin(), p.outputs.end(),
                     [&](const Func& o) { return o.name() == func.name(); });
}

}  // namespace

void schedule_randomly_for_host(TestPipeline& p, Random& random) {
  if (p.outputs.size() > 1) {
    for (Func& f : p.outputs) random_own_loops(f, random);
    return;
  }
  Func& out = p.output();
  const Loops loops = random_loops(out, free_dimensions(out), false, random);
  const auto levels = static_cast<int>(loops.order.size());
  std::map<std::string, int> places;
  // Loops whose iterations share what is stored around them.
  std::vector<bool> shared(loops.order.size());
  for (std::size_t i = p.funcs.size(); i-- > 0;) {
    Func& f = p.funcs[i];
    if (is_output(p, f)) continue;
    const int innermost = std::max(innermost_place(p, f, places), static_cast<int>(loops.first_level));
    int place = static_cast<int>(random.between(kInline, levels));
    if (place == kInline && is_kept(f)) place = levels;
    if (place != kInline) place = std::max(place, innermost);
    if (place >= levels) place = kRoot;
    places[f.name()] = place;
    if (place == kInline) continue;
    if (place == kRoot) {
      f.compute_root();
    } else {
      f.compute_at(out, loops.order[static_cast<std::size_t>(place)]);
      if (random.below(3) > 0)
        store_around(f, out, loops, static_cast<std::size_t>(place), shared, random);
    }
    if (random.below(6) == 0) order_randomly(f, random);
    random_own_loops(f, random);
  }
  std::vector<std::string> free;
  for (std::size_t i = loops.first_level; i < loops.order.size(); ++i) {
    if (!shared[i]) free.push_back(loops.order[i]);
  }
  if (!free.empty() && random.coin()) out.parallel(random.pick(free));
}

namespace {

/// Computes `f` plane by plane along the march of `out`.
void keep_along(const TestPipeline& p, const RandomMarch& march, Func& f, Random& random) {
  f.compute_at(p.outputs.front(), march.loop);
  if (is_read_in_the_column(p, f, p.outputs.front(), march.var) && random.coin()) {
    f.store_in(MemoryType::Register);
  }
}

/// Do the columns of the output's recurrence alone read those of `f`, another one of the same dimension?
bool is_walked_with(const TestPipeline& p, const Func& f) {
  const Func& out = p.outputs.front();
  const Recurrence* own = recurrence_of(*f.function());
  const Recurrence* reader = recurrence_of(*out.function());
  if (own == nullptr || reader == nullptr || own->dim != reader->dim || p.outputs.size() > 1)
    return false;
  bool in_column = true;
  for (const Func& other : p.funcs) {
    const auto& definitions = other.function()->definitions;
    for (std::size_t d = 0; d < definitions.size(); ++d) {
      for (const Expr& value : definitions[d].values) {
        walk(value, [&](const Expr& e) {
          const auto* access = e.as<Access>();
          if (access == nullptr || access->is_self || access->name != f.name()) return;
          in_column = in_column && other.name() == out.name() && d == 0 &&
                      access->args.size() == out.function()->args.size();
          for (std::size_t i = 0; in_column && i < access->args.size(); ++i) {
            const auto* var = access->args[i].as<VarRef>();
            in_column = i == own->dim || (var != nullptr && var->name == out.function()->args[i]);
          }
        });
      }
    }
  }
  return in_column;
}

}  // namespace

void schedule_randomly_for_gpu(TestPipeline& p, Random& random) {
  Grid grid;
  std::optional<RandomMarch> march;
  const auto random_blocks = [&](Func& f) {
    if (random.below(3) == 0) {
      if (auto walk = march_randomly(p, f, random)) return walk;
    }
    grid = random_grids(f, random);
    stage_randomly(p, f, grid, random);
    return std::optional<RandomMarch>();
  };
  // The first output last: producers are computed in its blocks.
  for (std::size_t i = p.outputs.size(); i-- > 0;) march = random_blocks(p.outputs[i]);
  // Halos of intermediate Funcs in pipeline_makers() are at most 3 wide.
  const bool holds_producers = march || (grid.is_whole && threads_suffice(grid, 3));
  const Grid outer = grid;
  std::map<std::string, int> places;
  for (std::size_t i = p.funcs.size(); i-- > 0;) {
    Func& f = p.funcs[i];
    if (is_output(p, f)) continue;
    int place = random.pick(std::vector<int>{kInline, holds_producers ? 0 : kRoot, kRoot});
    if (place == kInline && is_kept(f)) place = kRoot;
    if (!march && !outer.vars.empty() && is_walked_with(p, f) && random.below(3) > 0) {
      places[f.name()] = 0;
      f.compute_at(p.output(), outer.vars.front() + ".thread");
      if (random.below(3) == 0) f.store_root();
      if (random.coin()) random_loops(f, free_dimensions(f), false, random);
      continue;
    }
    if (recurrence_of(*f.function())) place = kRoot;
    if (march && place == 0 && (is_kept(f) || !is_read_by_planes(p, f, march->var))) place = kRoot;
    if (place != kInline) place = std::max(place, innermost_place(p, f, places));
    places[f.name()] = place;
    if (place == kInline) continue;
    if (place == kRoot) {
      f.compute_root();
      random_blocks(f);
      continue;
    }
    if (march) {
      keep_along(p, *march, f, random);
      continue;
    }
    f.compute_at(p.output(), outer.vars.front() + ".block");
    thread_all(f, f.function()->args);
    for (std::size_t u = 1; u < f.function()->definitions.size(); ++u) {
      thread_all(f.update(static_cast<int>(u) - 1), f.function()->definitions[u].pure_vars);
    }
  }
}

Box random_box(int dimensions, Random& random) {
  const std::vector<std::int64_t> largest{70, 40, 13, 6};
  Box box;
  for (int d = 0; d < dimensions; ++d) {
    const std::int64_t limit = d == 0 && dimensions > 1 ? 41 : largest[static_cast<std::size_t>(d)];
    box.emplace_back(random.between(-40, 40), random.between(1, limit));
  }
  return box;
}

}  // namespace mica::test
