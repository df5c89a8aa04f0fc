#include "schedules/registry.h"

#include <algorithm>
#include <set>

#include "codegen/iterate/iteration_state.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/pipeline.h"
#include "schedules/families.h"

namespace mica::schedules {

const std::vector<Recipe>& registry() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> list;
    for (auto family : {pmpp_family, blur_family, tile_family, march_family, pipeline_family,
                        jacobi2d_family, seismic_family, fields_family, cfd_family, multigrid_family,
                        image_family, host_family, time_family}) {
      for (auto& recipe : family()) list.push_back(std::move(recipe));
    }
    return list;
  }();
  return all;
}

namespace {

const Recipe& recipe_named(const std::string& name, const SourceLocation& where) {
  for (const auto& recipe : registry()) {
    if (recipe.name == name) return recipe;
  }
  std::vector<std::string> names;
  for (const auto& recipe : registry()) names.push_back(recipe.name);
  throw UserError("there is no schedule named " + name + did_you_mean(name, names) +
                      "; the schedules are " + joined(names),
                  where);
}

}  // namespace

const Recipe& find(const std::string& name) { return recipe_named(name, {}); }

void apply(Func& func, const std::string& name, const Parameters& parameters, CallSite at) {
  const Recipe& recipe = recipe_named(name, at);
  const int dims = func.dimensions();
  if (dims < recipe.min_dimensions || dims > recipe.max_dimensions) {
    throw UserError("schedule " + name + " is for Funcs of " + std::to_string(recipe.min_dimensions) +
                        " to " + std::to_string(recipe.max_dimensions) + " dimensions, and " +
                        func.name() + " has " + std::to_string(dims),
                    at);
  }
  Parameters values;
  std::vector<std::string> legal;
  for (const auto& p : recipe.parameters) {
    values[p.name] = p.value;
    legal.push_back(p.name);
  }
  for (const auto& [key, value] : parameters) {
    auto p = std::find_if(recipe.parameters.begin(), recipe.parameters.end(),
                          [&](const Parameter& q) { return q.name == key; });
    if (p == recipe.parameters.end()) {
      throw UserError("schedule " + name + " has no parameter " + key + did_you_mean(key, legal) +
                          "; it has " + joined(legal),
                      at);
    }
    if (value < p->min || value > p->max) {
      throw UserError("parameter " + key + " of schedule " + name + " is " + std::to_string(value) +
                          ", and must be " + std::to_string(p->min) + " to " + std::to_string(p->max),
                      at);
    }
    values[key] = value;
  }
  func.clear_schedule();
  placed_at(at, [&] { recipe.schedule(func, values); });
  for (const auto& data : collect_graph({func.function()}).funcs) {
    for (auto& definition : data->definitions) {
      for (Directive& directive : definition.directives) directive.where = at;
    }
  }
}

void apply(Iteration& iteration, const std::string& name, const Parameters& parameters, CallSite at) {
  const std::vector<Func> funcs = iteration.state()->funcs();
  if (funcs.size() > 1) {
    throw UserError("schedule " + name + " is for a step of one Func, but " + funcs[0].name() + " and " +
                        funcs[1].name() + " replace fields: put a schedule on each of them",
                    at);
  }
  const Recipe& recipe = recipe_named(name, at);
  Func step = funcs.front();
  apply(step, name, parameters, at);
  std::int64_t steps = 1;
  for (const Parameter& p : recipe.parameters) {
    if (p.name != kStepsAtOnce) continue;
    const auto given = parameters.find(p.name);
    steps = given == parameters.end() ? p.value : given->second;
  }
  iteration.time_tile(static_cast<int>(steps), at);
}

// ---- what recipes are made of ----------------------------------------------------------------------

std::vector<Func> producers_of(const Func& func) {
  std::vector<Func> result;
  for (const auto& data : collect_graph({func.function()}).funcs) {
    if (data != func.function()) result.emplace_back(data);
  }
  return result;
}

std::vector<std::string> inputs_of(const Func& func) {
  std::vector<std::string> names;
  for (const auto& source : sources_of(*func.function(), func.function()->wrappers)) {
    if (source.image) names.push_back(source.name());
  }
  return names;
}

std::vector<std::string> funcs_read_by(const Func& func) {
  std::vector<std::string> names;
  for (const auto& source : sources_of(*func.function(), func.function()->wrappers)) {
    if (source.function) names.push_back(source.name());
  }
  return names;
}

void stage_source(Func& func, const std::string& source, LoadPolicy load) {
  func.function()->definitions.front().directives.push_back(
      {directive::StagedSource{source, MemoryType::Shared, load}, {}});
}

void read_only_input(Func& func, const std::string& input) {
  func.function()->definitions.front().directives.push_back({directive::ReadOnly{input}, {}});
}

Var marched_var(const Func& func) {
  const std::vector<Var> v = func.args();
  return v[std::min<std::size_t>(v.size() - 1, 2)];
}

namespace {

// The input's taps as offsets from the point, where they are constants.
struct Taps {
  bool beside = false;            // off the point in a dimension that is not marched
  std::set<std::int64_t> own;     // planes read at the point's own column
  std::set<std::int64_t> planes;  // all planes read
};

Taps taps_of(const Func& func, const std::string& input) {
  const std::string march = marched_var(func).name();
  const std::vector<std::string>& args = func.function()->args;
  Taps taps;
  for (const auto& value : func.function()->definitions.front().values) {
    walk(value, [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access == nullptr || !access->image || access->image->name != input) return;
      std::int64_t plane = 0;
      for (const auto& arg : access->args) {
        if (const auto offset = offset_from(arg, march)) plane = *offset;
      }
      taps.planes.insert(plane);
      if (own_column(access->args, args, march).empty()) {
        taps.beside = true;
      } else {
        taps.own.insert(plane);
      }
    });
  }
  return taps;
}

}  // namespace

std::vector<std::string> marched_inputs_of(const Func& func, bool windows) {
  std::vector<std::string> names;
  for (const auto& input : inputs_of(func)) {
    const Taps taps = taps_of(func, input);
    if (taps.beside || (taps.planes.size() > 1 && !windows)) names.push_back(input);
  }
  return names;
}

std::vector<std::string> windowed_inputs_of(const Func& func) {
  std::vector<std::string> names;
  for (const auto& input : inputs_of(func)) {
    if (taps_of(func, input).own.size() > 1) names.push_back(input);
  }
  return names;
}

namespace {
void add(Func& func, decltype(Directive::op) op) {
  func.function()->definitions.front().directives.push_back({std::move(op), {}});
}
}  // namespace

void window_source(Func& func, const std::string& source) {
  add(func, directive::RegisterWindow{source, marched_var(func).name()});
}

void prefetch_source(Func& func, const std::string& source, std::int64_t depth) {
  add(func, directive::PipelineDepth{source, static_cast<int>(depth)});
}

void scatter_sum_of(Func& func, Partials partials) {
  const Pipeline pipeline = make_pipeline({func.function()});
  FunctionData trial = *pipeline.find(pipeline.outputs.front());
  const std::string march = trial.args[std::min<std::size_t>(trial.args.size() - 1, 2)];
  if (!scatter_sum(trial, march, partials).refused.empty()) return;
  add(func, directive::Scatter{marched_var(func).name(), partials});
}

void march_gpu(Func& func, const MarchTile& tile) {
  const std::vector<Var> v = func.args();
  const int tx = static_cast<int>(tile.threads_x), ty = static_cast<int>(tile.threads_y);
  if (v.size() == 2) {
    func.gpu_tile(v[0], tx);
  } else {
    func.gpu_tile(v[0], v[1], tx, ty);
  }
  if (tile.vec > 1) func.vectorize(v[0], static_cast<int>(tile.vec));
  if (tile.rows > 1 && v.size() > 2) func.unroll(v[1], static_cast<int>(tile.rows));
  if (v.size() == 4) func.gpu_blocks(v[3]);
  int chunk = v.size() == 4 ? 0 : static_cast<int>(tile.chunk), shortest = 0;
  if (chunk > 0 && tile.halves > 0) {
    shortest = std::max(chunk >> tile.halves, 1);
    chunk = shortest << tile.halves;
  }
  func.march(marched_var(func), chunk, shortest);
}

std::string new_loop(const Func& func, const std::string& wanted) {
  UniqueNames names;
  for (const Var& v : func.args()) names.reserve(v.name());
  return names.claim(wanted);
}

void tile_gpu(Func& func, const std::vector<std::int64_t>& sizes, std::int64_t vec) {
  std::vector<Var> v = func.args();
  if (v.size() == 4) {
    const std::string fused = new_loop(func, v[2].name() + "." + v[3].name());
    func.fuse(v[2], v[3], fused);
    v = {v[0], v[1], Var(fused)};
  }
  auto size = [&](std::size_t i) { return static_cast<int>(i < sizes.size() ? sizes[i] : 1); };
  if (v.size() == 1) func.gpu_tile(v[0], size(0));
  if (v.size() == 2) func.gpu_tile(v[0], v[1], size(0), size(1));
  if (v.size() == 3) func.gpu_tile(v[0], v[1], v[2], size(0), size(1), size(2));
  if (vec > 1) func.vectorize(v[0], static_cast<int>(vec));
}

void kernel_a_stage(Func& func, const std::vector<std::int64_t>& sizes, std::int64_t vec) {
  for (auto& producer : producers_of(func)) {
    producer.compute_root();
    tile_gpu(producer, sizes, vec);
  }
  tile_gpu(func, sizes, vec);
}

}  // namespace mica::schedules
