#include "codegen/passes/funcs/default_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "codegen/analysis/bent_offset.h"
#include "codegen/analysis/equal_nodes.h"
#include "codegen/analysis/linear.h"
#include "codegen/passes/funcs/repeated_work.h"
#include "codegen/passes/loops/keep_sums.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/schedule/loop_dims.h"

namespace mica::passes {
namespace {

constexpr int kVectorBytes = 64;
// Of a recurrence on a GPU, whose loads are then under way together: a multiprocessor hides its memory's
// latency behind some 30 KB, and 1,400 threads that load 8 bytes a step ask for a third of that.
constexpr int kSteps = 4;

// Iterations that one GPU thread makes in about a second; more of a constant domain stay on the host.
constexpr std::int64_t kMostInOneThread = std::int64_t{1} << 20;

bool uses_gpu(const Definition& definition) {
  return std::any_of(definition.directives.begin(), definition.directives.end(), [](const Directive& d) {
    const auto* mark = std::get_if<directive::MarkLoop>(&d.op);
    return std::holds_alternative<directive::GpuTile>(d.op) ||
           std::holds_alternative<directive::GpuSingleThread>(d.op) ||
           (mark && (mark->kind == LoopKind::GpuBlock || mark->kind == LoopKind::GpuThread));
  });
}

bool is_spread(const Definition& definition) {
  return uses_gpu(definition) ||
         std::any_of(definition.directives.begin(), definition.directives.end(), [](const Directive& d) {
           const auto* mark = std::get_if<directive::MarkLoop>(&d.op);
           return mark && mark->kind == LoopKind::Parallel;
         });
}

void add(Definition& definition, auto op) { definition.directives.push_back({std::move(op), {}}); }

std::vector<std::string> domain_of(const Definition& definition) {
  std::vector<std::string> names;
  if (!definition.domain) return names;
  for (const auto& dim : definition.domain->dims) names.push_back(dim.name);
  return names;
}

/// `name`, or that with a tail which no loop of the definition has.
std::string free_name(std::string name, const Definition& definition) {
  std::vector<std::string> taken = domain_of(definition);
  taken.insert(taken.end(), definition.pure_vars.begin(), definition.pure_vars.end());
  while (std::find(taken.begin(), taken.end(), name) != taken.end()) name += ".part";
  return name;
}

/// Loops of a definition whose rows lie in the dense dimension `row`, with `ordered` loops directly
/// around a row: they go through memory row by row, and the innermost comes back to points that are
/// near.
///
///   one other Var   row in vectors; rows of a group of kFewRows; ordered; parallel over the groups
///   no other Var    a strip of the row in vectors; ordered; parallel over the strips
void schedule_rows(Definition& definition, const std::string& row,
                   const std::vector<std::string>& ordered, int lanes, bool parallel) {
  constexpr int kFewRows = 8;
  constexpr int kStripVectors = 16;
  std::vector<std::string> others;
  for (const auto& var : definition.pure_vars) {
    if (var != row && std::find(ordered.begin(), ordered.end(), var) == ordered.end()) {
      others.push_back(var);
    }
  }
  const std::string& cut = others.empty() ? row : others.back();
  const std::string part = free_name(cut + ".part", definition);
  add(definition,
      directive::Split{cut, cut, part, others.empty() ? kStripVectors * lanes : kFewRows, {}});
  std::vector<std::string> order{others.empty() ? part : row};
  if (!others.empty()) order.push_back(part);
  order.insert(order.end(), ordered.begin(), ordered.end());
  order.insert(order.end(), others.begin(), others.end());
  if (others.empty()) order.push_back(row);
  add(definition, directive::Reorder{order});
  if (lanes > 1) add(definition, directive::Vectorize{order.front(), lanes, {}});
  if (parallel) add(definition, directive::MarkLoop{cut, LoopKind::Parallel});
}

struct NearTaps {
  std::size_t count = 0;
  bool bent_rows = false;         ///< along dimension 0 some keep to a box
  std::set<std::int64_t> planes;  ///< distances along the last dimension
};
/// What the definition reads, if it does nothing but combine points at constant distances from its own,
/// within a box or not; nothing where an index is another.
std::optional<NearTaps> near_taps(const Definition& definition, const FunctionData& func) {
  NearTaps taps;
  bool near = true;
  visit_nodes(definition.values, [&](const Expr& e) {
    const auto* access = e.as<Access>();
    if (access == nullptr || !near) return;
    near = access->args.size() == func.args.size();
    for (std::size_t d = 0; near && d < access->args.size(); ++d) {
      const std::optional<std::int64_t> plain = offset_from(access->args[d], func.args[d]);
      const bool bent = !plain;
      const auto offset = bent ? analysis::bent_offset(access->args[d], func.args[d]) : plain;
      near = offset.has_value();
      taps.bent_rows = taps.bent_rows || (d == 0 && bent);
      if (near && d + 1 == access->args.size()) taps.planes.insert(*offset);
    }
    ++taps.count;
  });
  return near ? std::optional(taps) : std::nullopt;
}

/// Is it a stencil of few taps in three dimensions that reads planes beside its own? Not where boundary
/// conditions make it so long that partition_loops makes no copy without the tests of planes.
bool shares_planes(const Definition& definition, const FunctionData& func) {
  constexpr std::size_t kMostTaps = 32, kMostNodes = 800;
  if (func.args.size() != 3 || definition.recurrence || definition.domain || definition.coloring) {
    return false;
  }
  const std::optional<NearTaps> taps = near_taps(definition, func);
  // As the loops will have them: coordinates of taps once each.
  analysis::EqualNodes equal_nodes;
  std::size_t nodes = 0;
  visit_nodes(equal_nodes.whole(definition.values), [&](const Expr&) { ++nodes; });
  return taps && taps->count <= kMostTaps && taps->planes.size() > 1 && nodes <= kMostNodes;
}

/// Planes at once share what they read of each other's: with four, 7 to 27 points of f32 take 0.69 to
/// 0.92 of the time of one after the other (256^3 and 96^3; bench/results/2026-11-25-cpu-halide.txt).
/// Strips of rows are tasks of their own, so that few planes keep many threads busy.
void schedule_planes(Definition& definition, int lanes) {
  constexpr int kPlanes = 4, kRows = 32;
  const std::string& x = definition.pure_vars[0];
  const std::string& y = definition.pure_vars[1];
  const std::string& z = definition.pure_vars[2];
  const auto named = [&](const std::string& name) { return free_name(name, definition); };
  const std::string plane = named(z + ".plane"), row = named(y + ".row"), task = named(z + ".task");
  add(definition, directive::Split{z, z, plane, kPlanes, {}});
  add(definition, directive::Split{y, y, row, kRows, {}});
  add(definition, directive::Vectorize{x, lanes, {}});
  add(definition, directive::Reorder{{plane, x, row, y, z}});
  add(definition, directive::Unroll{plane, 0, {}});
  add(definition, directive::Fuse{y, z, task});
  add(definition, directive::MarkLoop{task, LoopKind::Parallel});
}

/// Does the domain, and no row of the Func, run along the rows of what an update reads in the domain and
/// for each point of a row? Vectors of points would then stride through memory: f(y) += u(r, y) * v(y).
bool sums_rows(const Definition& definition, const std::string& row) {
  bool along = false, across = false;
  const std::vector<std::string> domain = domain_of(definition);
  const auto in_domain = [&](const Expr& index) {
    return std::any_of(domain.begin(), domain.end(),
                       [&](const std::string& r) { return uses_var(index, r); });
  };
  analysis::for_each_access(definition, [&](const Access& access) {
    if (access.is_self || access.args.empty()) return;
    if (!uses_var(access.args.front(), row)) {
      const bool strides = std::any_of(access.args.begin() + 1, access.args.end(),
                                       [&](const Expr& index) { return uses_var(index, row); });
      along = along || (strides && in_domain(access.args.front()));
    } else {
      across = across || std::any_of(access.args.begin(), access.args.end(), in_domain);
    }
  });
  return along && !across;
}

/// Does an update of a larger domain read an element for each point and each of the domain's? It then
/// waits for memory, which is fastest row by row. (2048 x 512 x 64 points in f32, summed along the last,
/// two threads: 6.2 ms; 31 where the sums of a few points walk along it at a time.)
bool streams(const Definition& definition) {
  constexpr std::int64_t kFewPoints = 16;
  std::int64_t points = 1;
  for (const auto& dim : definition.domain->dims) {
    const std::int64_t extent = dim.constant_extent();
    points = extent > 0 && points <= kFewPoints ? points * extent : kFewPoints + 1;
  }
  if (points <= kFewPoints) return false;
  const std::vector<std::string> domain = domain_of(definition);
  const auto count_in = [](const Expr& index, const std::vector<std::string>& vars) {
    return std::count_if(vars.begin(), vars.end(),
                         [&](const std::string& var) { return uses_var(index, var); });
  };
  bool found = false;
  analysis::for_each_access(definition, [&](const Access& access) {
    if (access.is_self) return;
    std::size_t of_points = 0, of_domain = 0;
    bool apart = true;
    for (const Expr& index : access.args) {
      const auto pure = count_in(index, definition.pure_vars), reduced = count_in(index, domain);
      apart = apart && pure + reduced <= 1;
      of_points += static_cast<std::size_t>(pure);
      of_domain += static_cast<std::size_t>(reduced);
    }
    found = found || (apart && of_points == definition.pure_vars.size() && of_domain == domain.size());
  });
  return found;
}

/// The domain's loops inside of those over points: each row by itself, one point after the other.
void schedule_domain_inside(Definition& definition, bool parallel) {
  std::vector<std::string> order = domain_of(definition);
  order.insert(order.end(), definition.pure_vars.begin(), definition.pure_vars.end());
  add(definition, directive::Reorder{order});
  if (parallel) add(definition, directive::MarkLoop{definition.pure_vars.back(), LoopKind::Parallel});
}

/// How many rows of sums are kept at a time; 0 where not even one row of all values fits. Of what
/// boundary conditions hold, whose vectors at the ends of rows are written out, there are fewer, fewer
/// yet of many lanes, and one where accesses are `checked`, which is much code: of a box of 5 x 5 points
/// 8 rows took twice as long to compile as 4, and no less to run.
int kept_rows(const Definition& definition, const FunctionData& func, int lanes, bool checked) {
  constexpr std::size_t kFewNodes = 128, kManyNodes = 512;
  constexpr int kManyRows = 8, kFewRows = 4;
  std::size_t nodes = 0;
  std::vector<Expr> indices;
  visit_nodes(definition.values, [&](const Expr& e) {
    ++nodes;
    if (const auto* access = e.as<Access>()) {
      indices.insert(indices.end(), access->args.begin(), access->args.end());
    }
  });
  bool bent = false;
  visit_nodes(indices, [&](const Expr& e) {
    const auto* op = e.as<Binary>();
    bent = bent || e.as<Select>() ||
           (op && (op->op == BinaryOp::Min || op->op == BinaryOp::Max || op->op == BinaryOp::Mod));
  });
  constexpr int kUsualLanes = 16;
  int rows = nodes > kFewNodes ? kFewRows : kManyRows;
  if (bent) rows = std::max(kFewRows * kUsualLanes / std::max(lanes, kUsualLanes), 1);
  if (nodes > kManyNodes || (bent && checked)) rows = 1;
  std::int64_t bytes = 0;  // of a row
  for (const Type type : func.types) bytes += std::int64_t{lanes} * type.bytes();
  while (rows * bytes > kMostKeptBytes) rows /= 2;
  return rows;
}

/// The domain's loops inside of those over vectors of points in some rows, whose sums stay in registers
/// (keep_sums): with fewer of them each addition would wait for the one before. (Two threads; 8 rows,
/// and rows that are loaded and stored in each iteration of the domain: boxes of 15 x 15 points 0.47
/// and 1.04 ms of 512 x 512, products of matrices 512 x 512 x 1,000 2.0 and 3.9, means of 64 rows 0.63
/// and 1.45 of 1,024 x 1,024, of 64 points of a row 0.54 and 0.73.)
void schedule_kept_sums(Definition& definition, int rows, int lanes, bool parallel) {
  const std::vector<std::string> vars = definition.pure_vars;
  const std::string part = free_name(vars[1] + ".part", definition);
  std::vector<std::string> order = domain_of(definition);
  if (rows > 1) {
    add(definition, directive::Split{vars[1], vars[1], part, rows, {}});
    order.insert(order.begin(), part);
  }
  order.insert(order.end(), vars.begin(), vars.end());
  add(definition, directive::Reorder{order});
  if (lanes > 1) add(definition, directive::Vectorize{vars.front(), lanes, {}});
  if (rows > 1) add(definition, directive::Unroll{part, 0, {}});
  if (parallel) add(definition, directive::MarkLoop{vars.back(), LoopKind::Parallel});
}

/// Of a vector of 64 bytes; fewer of narrow values that take much work, which is done in wider ones: the
/// code grows with the lanes and no point gets faster. (A bilateral filter of 9 x 9 points of bytes took
/// 4.6 s to compile and 4.1 ms to run in 64 lanes, 1.7 s and 3.4 ms in 16.)
int host_lanes(const Definition& definition, const FunctionData& func) {
  constexpr double kMostEffort = 16384;
  constexpr int kFewest = kVectorBytes / 4;
  int lanes = kVectorBytes / widest_bytes(func.types);
  if (lanes <= kFewest) return lanes;
  const double effort = effort_of_point(definition);
  while (lanes > kFewest && effort * lanes > kMostEffort) lanes /= 2;
  return lanes;
}

// `whole`: other Funcs are computed at loops of this one, which keep the order that their users know.
// `checked`: each access is checked.
void schedule_host(Definition& definition, const FunctionData& func, bool parallel, bool whole,
                   bool checked) {
  const auto& vars = definition.pure_vars;
  if (vars.empty()) return;
  const int lanes = host_lanes(definition, func);
  const bool has_rows = vars.front() == func.args.front() && !whole;
  if (has_rows && definition.recurrence && definition.recurrence->dim > 0) {
    schedule_rows(definition, vars.front(), {func.args[definition.recurrence->dim]}, lanes, parallel);
    return;
  }
  if (definition.domain && has_rows && sums_rows(definition, vars.front())) {
    schedule_domain_inside(definition, parallel);
    return;
  }
  if (definition.domain && has_rows && vars.size() > 1 && !streams(definition)) {
    if (const int rows = kept_rows(definition, func, lanes, checked); rows > 0) {
      schedule_kept_sums(definition, rows, lanes, parallel);
      return;
    }
  }
  if (definition.domain && has_rows) {
    schedule_rows(definition, vars.front(), domain_of(definition), lanes, parallel);
    return;
  }
  const bool is_first = &definition == &func.definitions.front();
  if (is_first && has_rows && parallel && shares_planes(definition, func)) {
    schedule_planes(definition, lanes);
    return;
  }
  const bool in_vectors = (has_rows || is_first) && !definition.recurrence && !definition.coloring;
  if (in_vectors) add(definition, directive::Vectorize{vars.front(), lanes, {}});
  const bool ordered = definition.recurrence && func.args[definition.recurrence->dim] == vars.back();
  if (parallel && vars.size() > 1 && !ordered) {
    add(definition, directive::MarkLoop{vars.back(), LoopKind::Parallel});
  }
}

/// The domain's dimensions over which an update may run in any order, up to 3; where it has none, but
/// combines integers, the first of all, and the update becomes atomic.
std::vector<std::string> free_domain(Definition& definition, const FunctionData& func) {
  constexpr std::size_t kMostAxes = 3;
  const std::vector<std::string> obstacles = order_obstacles(func, definition);
  std::string why;
  const bool combines = !atomic_values(func, definition, why).empty();
  const bool any = is_atomic(definition) ||
                   (combines && std::none_of(obstacles.begin(), obstacles.end(),
                                             [](const std::string& o) { return o.empty(); }));
  if (any && !is_atomic(definition)) add(definition, directive::Atomic{});
  std::vector<std::string> names;
  for (std::size_t d = 0; d < obstacles.size() && names.size() < kMostAxes; ++d) {
    if (any || obstacles[d].empty()) names.push_back(definition.domain->dims[d].name);
  }
  return names;
}

/// A thread of a stencil takes a vector of up to 16 bytes and, in three dimensions, four planes, in two,
/// two rows: what it reads once serves several points. Of many taps the assembler would like to keep
/// everything in registers, with which few blocks are resident: it gets a limit. Points of much
/// work, many of them written out, take the assembler long, and more registers than the limit: fewer are
/// a thread's, without one. (Two kernels of 16 points a thread of 67 additions' time, which bend their
/// rows: 61 s, 5 KB spilled; of 4 points 6 s, nothing.) True if it is a stencil.
/// (bench/results/2026-11-23-h200-defaults.txt has the times of other choices: 7 points in f32 take 94 %
/// of a copy's rate with the planes, 82 without, 55 point by point; 27 points 80 %, 48 without planes.
/// 2026-11-24-h200-boundaries.txt: where rows wrap around, vectors of 8 bytes take 0.097 ms of 256^3
/// points, of 16 bytes 0.151; of 512^3 points 0.66 and 0.73. 2026-11-25-h100-mirrors.txt: mirrors
/// take 1.0 to 1.1 of a halo's time so, 2.7 to 2.8 point by point; 27 points 1.2 to 1.6, 3.0 to 3.2.)
bool widen_threads(Definition& definition, const FunctionData& func) {
  constexpr int kLoadBytes = 16, kBentBytes = 8, kMostLanes = 8, kPlanes = 4, kRows = 2;
  constexpr std::size_t kMostTaps = 32, kFewTaps = 8;
  constexpr double kMostEffort = 96;  // a byte that a thread loads together; 27 points in f32 take 53
  if (definition.recurrence || definition.domain || definition.coloring) return false;
  const std::optional<NearTaps> taps = near_taps(definition, func);
  if (!taps || taps->count > kMostTaps) return false;
  const int load_bytes = taps->bent_rows ? kBentBytes : kLoadBytes;
  const std::size_t rank = func.args.size();
  const int bytes = widest_bytes(func.types);
  int lanes = std::min(load_bytes / bytes, kMostLanes);
  int rows = rank == 3 ? kPlanes : rank == 2 ? kRows : 1;
  const double effort = effort_of_point(definition);
  // Rows with ends of their own, of which less is loaded together, are written out several times.
  const auto is_much = [&] { return effort * lanes * rows > kMostEffort * load_bytes; };
  const bool is_limited = rank == 3 && taps->count > kFewTaps && !is_much();
  if (is_much()) rows = 1;
  while (lanes > 1 && is_much()) lanes /= 2;
  if (lanes > 1) add(definition, directive::Vectorize{func.args.front(), lanes, {}});
  if (rows > 1) add(definition, directive::Unroll{func.args.back(), rows, {}});
  // 80 and 64 registers of a thread, of 256 in a block.
  if (is_limited) add(definition, directive::LaunchBounds{bytes > 4 ? 4 : 3});
  return true;
}

/// False where one thread would have to do all of it.
bool schedule_gpu(Definition& definition, const FunctionData& func) {
  std::vector<std::string> vars = definition.pure_vars;
  if (definition.recurrence) std::erase(vars, func.args[definition.recurrence->dim]);
  if (vars.empty()) vars = free_domain(definition, func);
  if (vars.empty()) return false;
  while (vars.size() > 3) {
    std::string fused = vars[2] + "." + vars[3];
    const auto is_taken = [&](const auto& dim) { return dim.name == fused; };
    while (definition.domain &&
           std::any_of(definition.domain->dims.begin(), definition.domain->dims.end(), is_taken)) {
      fused += ".fused";
    }
    add(definition, directive::Fuse{vars[2], vars[3], fused});
    vars[2] = fused;
    vars.erase(vars.begin() + 3);
  }
  static const std::vector<int> kTiles[] = {{256}, {32, 8}, {32, 8, 1}};
  // Columns are fewer than points: smaller blocks reach more multiprocessors.
  static const std::vector<int> kColumnTiles[] = {{64}, {32, 4}, {32, 4, 1}};
  const auto& tile = (definition.recurrence ? kColumnTiles : kTiles)[vars.size() - 1];
  add(definition, directive::GpuTile{vars, tile, {}});
  if (definition.recurrence) {
    add(definition, directive::Unroll{func.args[definition.recurrence->dim], kSteps, {}});
  }
  if (&definition == &func.definitions.front()) widen_threads(definition, func);
  return true;
}

/// Is it known to be too long for one thread?
bool is_long(const Definition& definition) {
  if (!definition.domain) return false;
  std::int64_t iterations = 1;
  for (const auto& dim : definition.domain->dims) {
    iterations *= std::max<std::int64_t>(dim.constant_extent(), 1);
    if (iterations > kMostInOneThread) return true;
  }
  return false;
}

/// Does another Func name a loop of this one, or `loop` in particular?
bool holds_others(const Program& program, const std::string& func, const std::string& loop = {}) {
  const auto names = [&](const LoopLevel& level) {
    return level.func == func && (loop.empty() || level.var == loop);
  };
  return std::any_of(program.placement.begin(), program.placement.end(), [&](const auto& entry) {
    const Placement& place = entry.second;
    return place.level == Placement::Level::At &&
           (names(place.compute) || (place.store && names(*place.store)));
  });
}

/// Tiling would rename the loops that the user knows.
bool may_be_tiled(const Program& program, const std::string& func, const Definition& definition) {
  std::vector<std::string> loops = definition.pure_vars;
  if (loops.empty()) loops = domain_of(definition);
  return std::none_of(loops.begin(), loops.end(),
                      [&](const auto& loop) { return holds_others(program, func, loop); });
}

// The places of definitions by their Func's name.
using Definitions = std::map<std::string, std::vector<std::size_t>>;

/// Definitions that one thread of a GPU carries out, so that no GPU waits for the host, where anything
/// runs in threads at all.
void schedule_single(Program& program, const Definitions& ordered) {
  bool gpu = false;
  for (const auto& func : program.pipeline.funcs) {
    gpu = gpu || (program.is_root(func->name) &&
                  std::any_of(func->definitions.begin(), func->definitions.end(), uses_gpu));
  }
  if (!gpu || !program.options.target.is_gpu()) return;
  for (auto& func : program.pipeline.funcs) {
    const auto found = ordered.find(func->name);
    if (found == ordered.end()) continue;
    auto copy = std::make_shared<FunctionData>(*func);
    for (const std::size_t i : found->second) add(copy->definitions[i], directive::GpuSingleThread{});
    func = copy;
  }
}

}  // namespace

void default_schedule(Program& program) {
  // Iterations that run at once would share what is computed inside them and stored outside all loops.
  const bool parallel = std::none_of(program.placement.begin(), program.placement.end(),
                                     [](const auto& entry) { return entry.second.store_root; });
  Definitions ordered;  // what one thread would have to do
  for (auto& func : program.pipeline.funcs) {
    if (!program.is_root(func->name)) continue;
    auto copy = std::make_shared<FunctionData>(*func);
    bool scheduled = false;
    for (const auto& definition : copy->definitions)
      scheduled = scheduled || has_loop_directives(definition);
    if (program.options.target.is_gpu()) scheduled = scheduled || holds_others(program, copy->name);
    // A Func that the user scheduled for one of them has its updates there, too, on any target.
    const bool gpu = scheduled
                         ? std::any_of(copy->definitions.begin(), copy->definitions.end(), uses_gpu)
                         : program.options.target.is_gpu();
    for (std::size_t i = 0; i < copy->definitions.size(); ++i) {
      auto& definition = copy->definitions[i];
      if (has_loop_directives(definition)) {
        // Loops in the user's order that are given to nobody.
        const bool left = gpu && i > 0 && definition.pure_vars.empty() && !is_spread(definition);
        if (left && !is_long(definition) && may_be_tiled(program, copy->name, definition)) {
          ordered[copy->name].push_back(i);
        }
        continue;
      }
      if (!gpu) {
        schedule_host(definition, *copy, parallel, holds_others(program, copy->name),
                      program.options.target.backend == Backend::HostChecked);
      } else if (may_be_tiled(program, copy->name, definition) && !schedule_gpu(definition, *copy) &&
                 !is_long(definition)) {
        ordered[copy->name].push_back(i);
      }
    }
    func = copy;
  }
  schedule_single(program, ordered);
}

}  // namespace mica::passes
