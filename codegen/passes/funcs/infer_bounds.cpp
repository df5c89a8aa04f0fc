#include "codegen/passes/funcs/infer_bounds.h"

#include "codegen/analysis/recurrences.h"
#include "codegen/analysis/simplify.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::passes {
namespace {

using analysis::Box;
using analysis::Interval;

Box buffer_box(const std::string& buffer, int dimensions) {
  Box box;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
    Expr min = min_symbol(buffer, d);
    box.push_back({min, simplify(min + extent_symbol(buffer, d) - 1)});
  }
  return box;
}

void check_bounded(const FunctionData& consumer, const Access& access, std::size_t d,
                   const Interval& interval) {
  if (interval.bounded()) return;
  throw UserError("the index " + brief(access.args[d]) + " in dimension " + std::to_string(d) + " of " +
                      access.name + ", read by " + call_text(consumer) +
                      ", depends on data, or leaves 32 bits, and nothing bounds it; clamp it: "
                      "clamp(index, low, high)",
                  access.where);
}

// One side of one dimension of one access against the array's own box.
struct Face {
  const FunctionData* consumer;
  const Access* access;
  Expr reach;  // the lowest or highest index read
};

void add_face(std::vector<Face>& faces, const Face& face, bool low) {
  for (auto& f : faces) {
    if (f.consumer != face.consumer) continue;
    if (auto d = analysis::constant_difference(face.reach, f.reach)) {
      if (low ? *d < 0 : *d > 0) f = face;
      return;
    }
  }
  faces.push_back(face);
}

// Does the box that is realized decide `e`? Not where `bound` or a domain of constants does.
bool follows_outputs(const Program& program, const Expr& e) {
  bool found = false;
  for (const auto& name : program.pipeline.outputs) {
    const FunctionData& output = *program.pipeline.find(name);
    const std::string array = storage_name(name, 0, output.types.size());
    for (std::size_t d = 0; d < output.args.size(); ++d) {
      for (const Expr& symbol : {min_symbol(array, d), extent_symbol(array, d)}) {
        found = found || uses_var(e, symbol.as<VarRef>()->name);
      }
    }
  }
  return found;
}

// What a user can do about an input, which is all that a halo can be asked for.
std::string advice_for_input(const Program& program, const std::string& input, const Expr& reach) {
  const std::string crop =
      follows_outputs(program, reach) ? "Realize onto an interior crop, give " : "Give ";
  return crop + input + " a wider halo, or read it through a boundary condition";
}

void emit_checks(Program& program, const std::string& array, bool is_input, std::size_t d,
                 const std::vector<Face>& faces, bool low) {
  Expr min = min_symbol(array, d), max = simplify(min + extent_symbol(array, d) - 1);
  for (const auto& face : faces) {
    PlanCheck check;
    check.holds = low ? face.reach >= min : face.reach <= max;
    Expr missing = low ? min - face.reach : face.reach - max;
    check.values = {face.reach, low ? min : max, missing};
    check.where = face.access->where;
    check.message = call_text(*face.consumer) + " reads " + tap_text(*face.access) +
                    " as far as index {0} in dimension " + std::to_string(d) + ", but " +
                    (is_input ? "input " : "output ") + array +
                    (low ? " starts at {1}" : " ends at {1}") + ": on its " + (low ? "low" : "high") +
                    " side it is short by {2}. " +
                    (is_input ? advice_for_input(program, array, face.reach)
                              : "Realize " + array + " over a box that is larger by that");
    program.plan.checks.push_back(std::move(check));
  }
}

// A copy of an input, point by point, that keeps to the input's box whatever it is read at: frames see
// to it.
bool is_held(const FunctionData& consumer, const Access& access) {
  return access.image != nullptr && access.image == consumer.held_of &&
         std::all_of(access.args.begin(), access.args.end(),
                     [](const Expr& arg) { return arg.as<VarRef>() != nullptr; });
}

// `name` is the Func or input as accesses call it, `array` its (first) buffer.
void check_array(Program& program, const std::string& name, const std::string& array, bool is_input,
                 std::size_t dims) {
  std::vector<std::vector<Face>> low(dims), high(dims);
  for (const auto& consumer : program.pipeline.funcs) {
    auto box = program.required.find(consumer->name);
    if (box == program.required.end()) continue;
    for (const auto& definition : consumer->definitions) {
      auto scope = analysis::definition_scope(*consumer, definition, box->second);
      analysis::for_each_access(definition, [&](const Access& access) {
        if (access.name != name || (access.is_self && definition.recurrence)) return;
        if (is_held(*consumer, access)) return;
        for (std::size_t d = 0; d < dims; ++d) {
          Interval i = analysis::index_interval(definition, access.args[d], scope);
          check_bounded(*consumer, access, d, i);
          add_face(low[d], {consumer.get(), &access, i.min}, true);
          add_face(high[d], {consumer.get(), &access, i.max}, false);
        }
      });
    }
  }
  for (std::size_t d = 0; d < dims; ++d) {
    emit_checks(program, array, is_input, d, low[d], true);
    emit_checks(program, array, is_input, d, high[d], false);
  }
}

// A Func at the root with `bound` is computed over that range, which must hold what is read.
void apply_bounds(Program& program, const FunctionData& func, Box& box) {
  for (const auto& directive : func.definitions.front().directives) {
    const auto* bound = std::get_if<directive::Bound>(&directive.op);
    if (!bound) continue;
    const auto d = static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), bound->var) -
                                            func.args.begin());
    const Interval range{make_const(Int(32), bound->min),
                         make_const(Int(32), bound->min + bound->extent - 1)};
    PlanCheck check;
    check.holds = simplify(box[d].min >= range.min && box[d].max <= range.max);
    check.values = {box[d].min, box[d].max};
    check.message = "bound(" + bound->var + ", " + std::to_string(bound->min) + ", " +
                    std::to_string(bound->extent) + ") of " + func.name +
                    ", but its consumers need indices {0} to {1} there; bound a range that holds them";
    check.where = directive.where;
    if (!is_const(check.holds, 1)) program.plan.checks.push_back(std::move(check));
    box[d] = range;
  }
}

// Updates of an output may write only inside the caller's buffer.
void check_writes(Program& program, const FunctionData& func, const std::string& array) {
  Box box = buffer_box(array, func.dimensions());
  for (std::size_t i = 1; i < func.definitions.size(); ++i) {
    const auto& definition = func.definitions[i];
    auto scope = analysis::definition_scope(func, definition, box);
    std::vector<std::string> args;
    for (const Expr& arg : definition.args) args.push_back(brief(arg));
    const std::string place = func.name + "(" + joined(args) + ")";
    for (std::size_t d = 0; d < box.size(); ++d) {
      Interval written = analysis::index_interval(definition, definition.args[d], scope);
      if (!written.bounded()) {
        throw UserError("update " + std::to_string(i) + " of " + func.name + " writes at index " +
                            brief(definition.args[d]) + ", which nothing bounds; clamp it",
                        definition.where);
      }
      PlanCheck check;
      check.holds = simplify(written.min >= box[d].min && written.max <= box[d].max);
      if (is_const(check.holds, 1)) continue;
      check.values = {written.min, written.max, box[d].min, box[d].max};
      check.message = "update " + std::to_string(i) + " of " + func.name + " writes " + place +
                      " at indices {0} to {1} of dimension " + std::to_string(d) +
                      ", but the output holds {2} to {3}; realize a buffer that holds them all";
      check.where = definition.where;
      program.plan.checks.push_back(std::move(check));
    }
  }
}

// Domains of bounds that the run knows stay within the limits of constant ones.
void check_domains(Program& program, const FunctionData& func) {
  for (const auto& definition : func.definitions) {
    if (!definition.domain) continue;
    for (std::size_t d = 0; d < definition.domain->dims.size(); ++d) {
      const auto& dim = definition.domain->dims[d];
      if (as_int(dim.min) && as_int(dim.extent)) continue;
      const Expr largest_min = make_const(Int(32), kLargestMin);
      const Expr largest_extent = make_const(Int(32), kLargestExtent);
      PlanCheck check;
      check.holds = simplify(dim.extent < 1 || (dim.min <= largest_min && dim.min >= 0 - largest_min &&
                                                dim.extent <= largest_extent));
      check.values = {dim.min, dim.extent};
      check.message = "dimension " + std::to_string(d) + " of RDom " + definition.domain->name +
                      " is {0}, {1}, that is min, extent: the min must lie in -2^28..2^28, the extent "
                      "be at most 2^30 - 1; move the domain to 0 and add the offset to the "
                      "coordinates, or cut it into several";
      check.where = definition.where;
      program.plan.checks.push_back(std::move(check));
    }
  }
}

// The box of an output must hold the points from which a recurrence comes to it.
void check_start(Program& program, const FunctionData& func, const std::string& array) {
  const Recurrence* recurrence = recurrence_of(func);
  if (recurrence == nullptr || !recurrence->start.defined()) return;
  const Expr start = analysis::recurrence_start(program.pipeline, func);
  const Interval along = buffer_box(array, func.dimensions())[recurrence->dim];
  PlanCheck check;
  check.holds = recurrence->ahead ? start <= along.max : start >= along.min;
  check.values = {start, recurrence->ahead ? along.max : along.min};
  check.where = func.definitions.front().where;
  check.message = call_text(func) + " starts at " + func.args[recurrence->dim] +
                  " = {0} and goes on from there point by point, but output " + array +
                  (recurrence->ahead ? " ends at {1}" : " starts at {1}") + " in dimension " +
                  std::to_string(recurrence->dim) + ": realize a box that holds {0}";
  program.plan.checks.push_back(std::move(check));
}

}  // namespace

Box with_updates(const FunctionData& func, const Box& box) {
  Box result = box;
  for (std::size_t i = func.definitions.size(); i-- > 1;) {
    const auto& definition = func.definitions[i];
    if (definition.coloring) result = analysis::around_reads(func, definition, result);
  }
  for (std::size_t i = 1; i < func.definitions.size(); ++i) {
    const auto& definition = func.definitions[i];
    if (definition.coloring) continue;
    auto scope = analysis::definition_scope(func, definition, box);
    Box written;
    for (const auto& arg : definition.args) {
      written.push_back(analysis::index_interval(definition, arg, scope));
    }
    for (std::size_t d = 0; d < written.size(); ++d) {
      if (!written[d].bounded()) {
        throw UserError("update " + std::to_string(i) + " of " + func.name + " writes at " +
                            brief(definition.args[d]) + ", which nothing bounds; clamp it",
                        definition.where);
      }
    }
    unite(result, written);
    unite(result, analysis::accessed_box(definition, func.name, scope));
  }
  return result;
}

void infer_bounds(Program& program) {
  const auto& funcs = program.pipeline.funcs;
  for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {
    const FunctionData& func = **it;
    Box box;
    if (program.pipeline.is_output(func.name)) {
      box = buffer_box(storage_name(func.name, 0, func.types.size()), func.dimensions());
    } else {
      for (const auto& consumer : funcs) {
        if (consumer->name == func.name) continue;
        auto need = program.required.find(consumer->name);
        if (need == program.required.end()) continue;
        for (const auto& definition : consumer->definitions) {
          auto scope = analysis::definition_scope(*consumer, definition, need->second);
          analysis::for_each_access(definition, [&](const Access& access) {
            if (access.name != func.name) return;
            Box one;
            for (std::size_t d = 0; d < access.args.size(); ++d) {
              one.push_back(analysis::index_interval(definition, access.args[d], scope));
              check_bounded(*consumer, access, d, one.back());
            }
            unite(box, one);
          });
        }
      }
      if (box.empty()) continue;  // nothing reads it
      box = with_updates(func, analysis::with_start(program.pipeline, func, box));
      if (program.is_root(func.name)) apply_bounds(program, func, box);
    }
    program.required[func.name] = box;
    check_domains(program, func);
  }
  for (const auto& func : funcs) {
    if (!program.pipeline.is_output(func->name)) continue;
    const std::string array = storage_name(func->name, 0, func->types.size());
    // First, so that f(i) += v beyond the buffer is called what it is, a write.
    check_writes(program, *func, array);
    check_array(program, func->name, array, false, static_cast<std::size_t>(func->dimensions()));
    check_start(program, *func, array);
  }
  for (const auto& input : program.pipeline.inputs) {
    check_array(program, input.name, input.name, true,
                static_cast<std::size_t>(input.image->dimensions));
  }
}

}  // namespace mica::passes
