#include "codegen/passes/funcs/infer_bounds.h"

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "codegen/analysis/recurrences.h"
#include "codegen/analysis/simplify.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/mix.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_map.h"
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

// The farthest of each consumer's reads, on one side, among those that lie apart by constants.
class Faces {
 public:
  explicit Faces(bool low) : low_(low) {}

  void add(const Face& face) {
    auto& alike = places_[key(face)];
    for (const std::size_t place : alike) {
      Face& known = faces_[place];
      if (known.consumer != face.consumer) continue;
      if (auto d = analysis::constant_difference(face.reach, known.reach)) {
        if (low_ ? *d < 0 : *d > 0) known = face;
        return;
      }
    }
    alike.push_back(faces_.size());
    faces_.push_back(face);
  }
  [[nodiscard]] bool low() const { return low_; }
  [[nodiscard]] const std::vector<Face>& list() const { return faces_; }

 private:
  // The same for all that lie apart by a constant.
  static std::uint64_t key(const Face& face) {
    std::uint64_t sum = 0;
    for (const auto& [atom, k] : analysis::linearize(face.reach).terms) {
      sum += mixed(atom.node().hash, static_cast<std::uint64_t>(k));
    }
    return sum;
  }

  bool low_;
  std::vector<Face> faces_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places_;  // in faces_, for lookup only
};

// What reads each Func and input, in the order of the pipeline.
class Readers {
 public:
  struct Reader {
    const FunctionData* func;
    const Definition* definition;
    std::vector<const Access*> accesses;
  };

  explicit Readers(const Pipeline& pipeline) {
    for (const auto& func : pipeline.funcs) {
      for (const auto& definition : func->definitions) {
        analysis::for_each_access(definition, [&](const Access& access) {
          auto& readers = readers_[access.name];
          if (readers.empty() || readers.back().definition != &definition) {
            readers.push_back({func.get(), &definition, {}});
          }
          readers.back().accesses.push_back(&access);
        });
      }
    }
  }
  [[nodiscard]] const std::vector<Reader>& of(const std::string& name) const {
    static const std::vector<Reader> none;
    const auto found = readers_.find(name);
    return found != readers_.end() ? found->second : none;
  }

 private:
  std::map<std::string, std::vector<Reader>> readers_;
};

using Names = std::set<std::string>;

bool uses_any(const Expr& e, const Names& names) {
  bool found = false;
  walk(e, [&](const Expr& node) {
    const auto* var = node.as<VarRef>();
    found = found || (var != nullptr && names.count(var->name) > 0);
  });
  return found;
}

// What the boxes that are realized decide. Not what `bound` or a domain of constants does.
Names names_of_outputs(const Program& program) {
  Names names;
  for (const auto& name : program.pipeline.outputs) {
    const FunctionData& output = *program.pipeline.find(name);
    const std::string array = storage_name(name, 0, output.types.size());
    for (std::size_t d = 0; d < output.args.size(); ++d) {
      for (const Expr& symbol : {min_symbol(array, d), extent_symbol(array, d)}) {
        names.insert(symbol.as<VarRef>()->name);
      }
    }
  }
  for (const PlanValue& value : program.plan.values) {
    if (uses_any(value.value, names)) names.insert(value.name);
  }
  return names;
}

// What a user can do about an input, which is all that a halo can be asked for.
std::string advice_for_input(const Names& of_outputs, const std::string& input, const Expr& reach) {
  const std::string crop =
      uses_any(reach, of_outputs) ? "Realize onto an interior crop, give " : "Give ";
  return crop + input + " a wider halo, or read it through a boundary condition";
}

void emit_checks(Program& program, const Names& of_outputs, const std::string& array, bool is_input,
                 std::size_t d, const Faces& faces) {
  const bool low = faces.low();
  Expr min = min_symbol(array, d), max = simplify(min + extent_symbol(array, d) - 1);
  for (const auto& face : faces.list()) {
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
                    (is_input ? advice_for_input(of_outputs, array, face.reach)
                              : "Realize " + array + " over a box that is larger by that");
    program.plan.checks.push_back(std::move(check));
  }
}

// A copy of an input, point by point, that keeps to the input's box whatever it is read at: frames see
// to it.
bool is_held(const FunctionData& consumer, const Access& access) {
  return access.image != nullptr && access.image == consumer.held.of &&
         std::all_of(access.args.begin(), access.args.end(),
                     [](const Expr& arg) { return arg.as<VarRef>() != nullptr; });
}

// `name` is the Func or input as accesses call it, `array` its (first) buffer.
void check_array(Program& program, const Readers& readers, const Names& of_outputs,
                 const std::string& name, const std::string& array, bool is_input, std::size_t dims) {
  std::vector<Faces> low(dims, Faces(true)), high(dims, Faces(false));
  for (const auto& reader : readers.of(name)) {
    const FunctionData& consumer = *reader.func;
    const auto box = program.required.find(consumer.name);
    if (box == program.required.end()) continue;
    const auto scope = analysis::definition_scope(consumer, *reader.definition, box->second);
    analysis::SharedIntervals intervals(scope);
    for (const Access* access : reader.accesses) {
      if (access->is_self && reader.definition->recurrence) continue;
      if (is_held(consumer, *access)) continue;
      for (std::size_t d = 0; d < dims; ++d) {
        const Interval i = analysis::index_interval(*reader.definition, access->args[d], intervals);
        check_bounded(consumer, *access, d, i);
        low[d].add({&consumer, access, i.min});
        high[d].add({&consumer, access, i.max});
      }
    }
  }
  for (std::size_t d = 0; d < dims; ++d) {
    emit_checks(program, of_outputs, array, is_input, d, low[d]);
    emit_checks(program, of_outputs, array, is_input, d, high[d]);
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

bool is_large(const Expr& e, NodeSet& met) {
  constexpr std::size_t kMost = 256;  // nodes: boxes of stencils and tiled steps are smaller
  if (!met.insert(e.ptr().get())) return false;
  bool large = met.size() > kMost;
  for_each_child(e, [&](const Expr& child) { large = large || is_large(child, met); });
  return large;
}

// Where a Func is read at clamped points, its box is a larger expression than that of its reader. Ends
// that have become large get names, so that a chain of such Funcs takes time in proportion to its
// length.
void name_large_ends(Program& program, const FunctionData& func, Box& box) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto name_end = [&](Expr& end, const char* which) {
      NodeSet met;
      if (!is_large(end, met)) return;
      const std::string name = func.name + which + std::to_string(d);
      program.plan.values.push_back({name, end});
      end = make_var(name, end.type());
    };
    name_end(box[d].min, ".low.");
    name_end(box[d].max, ".high.");
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
  const Readers readers(program.pipeline);
  for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {
    const FunctionData& func = **it;
    Box box;
    if (program.pipeline.is_output(func.name)) {
      box = buffer_box(storage_name(func.name, 0, func.types.size()), func.dimensions());
    } else {
      for (const auto& reader : readers.of(func.name)) {
        if (reader.func == &func) continue;
        const auto need = program.required.find(reader.func->name);
        if (need == program.required.end()) continue;
        const auto scope = analysis::definition_scope(*reader.func, *reader.definition, need->second);
        analysis::SharedIntervals intervals(scope);
        for (const Access* access : reader.accesses) {
          Box one;
          for (std::size_t d = 0; d < access->args.size(); ++d) {
            one.push_back(analysis::index_interval(*reader.definition, access->args[d], intervals));
            check_bounded(*reader.func, *access, d, one.back());
          }
          unite(box, one);
        }
      }
      if (box.empty()) continue;  // nothing reads it
      box = with_updates(func, analysis::with_start(program.pipeline, func, box));
      if (program.is_root(func.name)) apply_bounds(program, func, box);
      name_large_ends(program, func, box);
    }
    program.required[func.name] = box;
    check_domains(program, func);
  }
  const Names of_outputs = names_of_outputs(program);
  for (const auto& func : funcs) {
    if (!program.pipeline.is_output(func->name)) continue;
    const std::string array = storage_name(func->name, 0, func->types.size());
    // First, so that f(i) += v beyond the buffer is called what it is, a write.
    check_writes(program, *func, array);
    check_array(program, readers, of_outputs, func->name, array, false,
                static_cast<std::size_t>(func->dimensions()));
    check_start(program, *func, array);
  }
  for (const auto& input : program.pipeline.inputs) {
    check_array(program, readers, of_outputs, input.name, input.name, true,
                static_cast<std::size_t>(input.image->dimensions));
  }
}

}  // namespace mica::passes
