#include "codegen/passes/emit/build_loop_nest.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "codegen/analysis/in_place.h"
#include "codegen/analysis/simplify.h"
#include "codegen/analysis/type_origin.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/emit/nest.h"
#include "codegen/passes/gpu/clamped_blocks.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

// Marks loads and stores that shall pass by the caches.
class Streams {
 public:
  Streams(const FunctionData& func, const FuncSchedule& schedule) : func_(func), schedule_(schedule) {}

  [[nodiscard]] ir::Stmt mark(const ir::Stmt& s) const {
    if (!schedule_.streamed_stores && schedule_.streamed_loads.empty()) return s;
    if (const auto* store = s.as<ir::Store>()) {
      ir::Store marked = *store;
      marked.value = mark(store->value);
      bool own = false;
      for (std::size_t i = 0; i < func_.types.size(); ++i) {
        own = own || store->buffer == storage_name(func_.name, static_cast<int>(i), func_.types.size());
      }
      marked.streamed = schedule_.streamed_stores && own;
      return ir::make_stmt(std::move(marked));
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return mark(child); },
        [this](const Expr& e) { return mark(e); });
  }

 private:
  [[nodiscard]] Expr mark(const Expr& e) const {
    return NodeRewriter([this](const Expr& r) {
      const auto* load = r.as<Load>();
      if (!load || !schedule_.streamed_loads.count(load->buffer)) return Expr();
      Load marked = *load;
      marked.streamed = true;
      return make_expr(r.type(), std::move(marked));
    })(e);
  }

  const FunctionData& func_;
  const FuncSchedule& schedule_;
};

void add_output(Program& program, const FunctionData& func) {
  for (std::size_t i = 0; i < func.types.size(); ++i) {
    PlanBuffer buffer;
    buffer.name = storage_name(func.name, static_cast<int>(i), func.types.size());
    buffer.type = func.types[i];
    buffer.dimensions = func.dimensions();
    buffer.is_output = true;
    buffer.where = func.where;
    if (func.traces.realizations) buffer.traced = func.name;
    buffer.why_type = analysis::type_origin(program.pipeline, func, i);
    program.plan.buffers.push_back(buffer);
    if (i == 0) continue;
    // The loops run over the first buffer's box.
    const std::string first = storage_name(func.name, 0, func.types.size());
    for (std::size_t d = 0; d < static_cast<std::size_t>(func.dimensions()); ++d) {
      PlanCheck check;
      check.holds = min_symbol(first, d) == min_symbol(buffer.name, d) &&
                    extent_symbol(first, d) == extent_symbol(buffer.name, d);
      check.values = {min_symbol(first, d), extent_symbol(first, d), min_symbol(buffer.name, d),
                      extent_symbol(buffer.name, d)};
      check.message = "the outputs of " + func.name + " differ in dimension " + std::to_string(d) +
                      ": value 0 has min {0} and extent {1}, value " + std::to_string(i) +
                      " has min {2} and extent {3}; give all values of a Tuple buffers of one shape";
      check.where = func.where;
      program.plan.checks.push_back(check);
    }
  }
}

// Rows of temporaries start on 128 bytes where nothing else is asked for (32 elements of 4 bytes).
constexpr int kRowElements = 32;

void add_temporary(Program& program, const FunctionData& func) {
  const auto& box = program.required.at(func.name);
  for (std::size_t i = 0; i < func.types.size(); ++i) {
    PlanTemporary temporary;
    temporary.name = storage_name(func.name, static_cast<int>(i), func.types.size());
    temporary.type = func.types[i];
    temporary.where = func.where;
    if (func.traces.realizations) temporary.traced = func.name;
    for (std::size_t d = 0; d < box.size(); ++d) {
      temporary.mins.push_back(box[d].min);
      temporary.extents.push_back(analysis::extent_of(box[d]));
      temporary.align.push_back(storage_alignment(program, func, d, d == 0 ? kRowElements : 1));
    }
    program.plan.temporaries.push_back(temporary);
  }
}

}  // namespace

namespace {

using Boxes = std::map<std::string, analysis::Box>;

std::vector<Nest> nests_of(const Program& program, const FunctionData& func, nest::NestFindings& found,
                           const Boxes& needed) {
  std::vector<Nest> nests;
  for (std::size_t i = 0; i < func.definitions.size(); ++i) {
    if (analysis::copies_onto_itself(program, func, i)) continue;
    Nest nest;
    nest.func = func.name;
    nest.definition = i;
    bool on_gpu = false;
    nest.body = nest::build_root({program, found, needed}, func, i, on_gpu);
    nest.body = Streams(func, schedule_of(program, func)).mark(nest.body);
    nest.textures = schedule_of(program, func).textures;
    nest.on_device = on_gpu && program.options.target.is_gpu();
    nest.kernel.name = func.name + (i ? ".update" + std::to_string(i) : "");
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace

void build_loop_nest(Program& program) {
  for (const auto& input : program.pipeline.inputs) {
    PlanBuffer buffer;
    buffer.name = input.name;
    buffer.type = input.image->type;
    buffer.dimensions = input.image->dimensions;
    buffer.image = input.image;
    program.plan.buffers.push_back(buffer);
  }
  for (const auto& scalar : program.pipeline.params) {
    program.plan.scalars.push_back({scalar.name, scalar.param});
  }
  for (const auto& conditions : program.pipeline.choices) program.plan.choices.push_back({conditions});
  for (const auto& name : program.pipeline.outputs) add_output(program, *program.pipeline.find(name));
  program.plan.sharing = analysis::find_sharing(program);

  const bool clamps = std::ranges::any_of(program.kernels, [](const auto& kernel) {
    return kernel.inside.edge == planning::Inside::Edge::ClampedLoads;
  });
  const Boxes needed = clamps ? needed_boxes(program) : Boxes();
  std::set<std::string> in_nests,
      in_arrays;  // as NestFindings::kept_in_nests and kept_in_arrays, of all
  for (const auto& func : program.pipeline.funcs) {
    if (!program.required.count(func->name) || !program.is_root(func->name)) continue;
    if (!program.pipeline.is_output(func->name)) add_temporary(program, *func);
    nest::NestFindings found;
    std::vector<Nest> nests = nests_of(program, *func, found, needed);
    if (func->definitions.size() > 1 && !found.kept_in_arrays.empty()) {
      // What one definition keeps in an array, all of them do: again, now that it is known.
      nest::NestFindings known;
      known.kept_in_arrays = std::move(found.kept_in_arrays);
      found = std::move(known);
      nests = nests_of(program, *func, found, needed);
    }
    std::move(nests.begin(), nests.end(), std::back_inserter(program.nests));
    std::move(found.checks.begin(), found.checks.end(), std::back_inserter(program.plan.checks));
    std::move(found.notes.begin(), found.notes.end(), std::back_inserter(program.notes));
    in_nests.merge(found.kept_in_nests);
    in_arrays.merge(found.kept_in_arrays);
  }
  for (const auto& func : program.pipeline.funcs) {
    const bool at_root = program.placement.at(func->name).store_root && in_nests.count(func->name) == 0;
    const bool has_array = at_root || in_arrays.count(func->name) > 0;
    if (has_array && program.required.count(func->name) > 0) add_temporary(program, *func);
  }
}

}  // namespace mica::passes
