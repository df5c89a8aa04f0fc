// The members of Func that compile and run.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/compile.h"
#include "codegen/lower.h"
#include "codegen/tuned.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"

namespace mica {

/// What realize() compiled for a Func, and the schedule and definitions it was compiled from.
struct CompiledFunc {
  struct Grid {
    std::optional<TunedFunc> found;  ///< and not compiled yet
    std::string compiled = {};       ///< the schedule's name; "": the compiler's choice
    double runs = 0;
    std::optional<double> asks_after = {};  ///< runs from which on tuned() is asked
  };
  struct Entry {
    Target target;
    Schedule schedule;
    std::vector<std::string> definitions;
    Executable executable;
    /// Of a Func without directives: those with schedules that tuning found, by their names, and which
    /// of them each grid has.
    std::map<std::string, Executable> tuned = {};
    std::map<std::vector<std::int64_t>, Grid> grids = {};
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

namespace {

/// What may have changed of the definitions since: there are more of them, or their traces, colors or
/// specializations are others.
std::vector<std::string> definition_marks(const Func& f) {
  std::vector<std::string> marks;
  for (const auto& func : collect_graph({f.function()}).funcs) {
    marks.push_back(func->name);
    marks.push_back(func->traces.stores ? "stores" : "");
    marks.push_back(func->traces.loads ? "loads" : "");
    marks.push_back(func->traces.realizations ? "realizations" : "");
    for (const Definition& definition : func->definitions) {
      const auto& coloring = definition.coloring;
      marks.push_back(coloring ? to_string(coloring->value) + " % " + std::to_string(coloring->count)
                               : "");
      for (const auto& special : definition.specializations) {
        marks.push_back("if " + to_string(special.condition));
        for (const auto& directive : special.directives) marks.push_back(to_string(directive));
      }
    }
  }
  return marks;
}

/// The Func's own, made by the first of several threads that ask.
std::shared_ptr<CompiledFunc> compiled_of(FunctionData& data) {
  std::shared_ptr<CompiledFunc> found = std::atomic_load(&data.compiled);
  if (found != nullptr) return found;
  const auto made = std::make_shared<CompiledFunc>();
  return std::atomic_compare_exchange_strong(&data.compiled, &found, made) ? made : found;
}

void require_definition(const Func& f, const SourceLocation& where) {
  if (f.defined()) return;
  throw UserError(
      "realize of " + f.name() + ", which is not defined: write " + f.name() + "(...) = ... first",
      where);
}

bool has_specializations(const Func& f) {
  for (const auto& func : collect_graph({f.function()}).funcs) {
    for (const Definition& definition : func->definitions) {
      if (!definition.specializations.empty()) return true;
    }
  }
  return false;
}

/// The entry for the Func as it is now; it may have nothing compiled yet.
CompiledFunc::Entry& entry_for(CompiledFunc& cache, const Func& f, const Target& target) {
  Schedule schedule = f.schedule();
  auto marks = definition_marks(f);
  for (auto& entry : cache.entries) {
    if (!(entry.target == target)) continue;
    if (entry.schedule != schedule || entry.definitions != marks) {
      entry = {target, std::move(schedule), std::move(marks), {}};
    }
    return entry;
  }
  return cache.entries.emplace_back(
      CompiledFunc::Entry{target, std::move(schedule), std::move(marks), {}});
}

/// What tuning found for a grid is compiled as soon as that pays.
void compile_tuned(CompiledFunc::Entry& entry, CompiledFunc::Grid& grid) {
  if (!grid.found) return;
  const bool is_there = entry.tuned.count(grid.found->schedule) > 0;
  if (grid.runs < grid.found->pays_after && !is_there) return;
  const TunedFunc found = *std::exchange(grid.found, std::nullopt);
  try {
    if (!is_there) {
      entry.tuned.emplace(found.schedule, compile(found.func, entry.target));
    }
    grid.compiled = found.schedule;
  } catch (const UserError&) {
    // What the user did not write is no error of the user's: the compiler chooses.
  }
}

/// Are the arrays those of the Func's values?
bool are_values_of(const Func& f, const std::vector<AnyBuffer*>& outputs) {
  return !outputs.empty() && std::equal(outputs.begin(), outputs.end(), f.types().begin(),
                                        f.types().end(), [&](const AnyBuffer* output, Type type) {
                                          return output != nullptr && output->defined() &&
                                                 output->type() == type &&
                                                 output->dimensions() == f.dimensions();
                                        });
}

/// Of each array the extents, which dimension's points lie beside each other, and where the last
/// dimension begins, of whose points colours are.
std::vector<std::int64_t> grid_of(const std::vector<AnyBuffer*>& outputs) {
  std::vector<std::int64_t> grid;
  for (const AnyBuffer* output : outputs) {
    std::int64_t number = 0, dense = -1;
    for (const BufferDim& dim : output->dims()) {
      if (dim.stride == 1 && dense < 0) dense = number;
      grid.push_back(dim.extent);
      ++number;
    }
    grid.push_back(dense);
    if (number > 0) grid.push_back(output->dims().back().min);
  }
  return grid;
}

/// The executable with that schedule; null if there is none. A grid is asked for once.
Executable* tuned_for(CompiledFunc::Entry& entry, const Func& f, const std::vector<AnyBuffer*>& outputs,
                      const RunOptions& options) {
  const std::vector<std::int64_t> grid_of_outputs = grid_of(outputs);
  const auto [known, is_new] = entry.grids.try_emplace(grid_of_outputs);
  CompiledFunc::Grid& grid = known->second;
  if (is_new && may_be_tuned() && !has_specializations(f)) {
    grid.asks_after = asks_after({f}, outputs.front()->elements(), entry.target);
  }
  ++grid.runs;
  if (grid.asks_after && grid.runs >= *grid.asks_after) {
    grid.found = tuned(f, entry.target, outputs, options);
    grid.asks_after.reset();
  }
  compile_tuned(entry, grid);
  const std::string& name = grid.compiled;
  return name.empty() ? nullptr : &entry.tuned.at(name);
}

Executable compiled(Func& f, const Target& target, const std::vector<AnyBuffer*>& outputs,
                    const RunOptions& options, const CallSite& at) {
  require_definition(f, at);
  const std::shared_ptr<CompiledFunc> cache = compiled_of(*f.function());
  std::lock_guard lock(cache->mutex);
  CompiledFunc::Entry& entry = entry_for(*cache, f, target);
  if (entry.schedule.stages.empty() && are_values_of(f, outputs)) {
    if (Executable* const found = tuned_for(entry, f, outputs, options)) return *found;
  }
  if (!entry.executable.defined()) entry.executable = compile(f, target);
  return entry.executable;
}

}  // namespace

void Func::realize(AnyBuffer& output, CallSite at) { realize(output, Target::best(), at); }

void Func::realize(AnyBuffer& output, const Target& target, CallSite at) {
  realize(output, target, RunOptions(), at);
}

void Func::realize(AnyBuffer& output, const RunOptions& options, CallSite at) {
  realize(output, Target::best(), options, at);
}

void Func::realize(AnyBuffer& output, const Target& target, const RunOptions& options, CallSite at) {
  realize(std::vector<AnyBuffer*>{&output}, target, options, at);
}

void Func::realize(const std::vector<AnyBuffer*>& outputs, CallSite at) {
  realize(outputs, Target::best(), at);
}

void Func::realize(const std::vector<AnyBuffer*>& outputs, const Target& target, CallSite at) {
  realize(outputs, target, RunOptions(), at);
}

void Func::realize(const std::vector<AnyBuffer*>& outputs, const Target& target,
                   const RunOptions& options, CallSite at) {
  compiled(*this, target, outputs, options, at).run(outputs, options, at);
}

void Func::realize(std::initializer_list<AnyBuffer*> outputs, CallSite at) {
  realize(std::vector(outputs), at);
}

void Func::realize(std::initializer_list<AnyBuffer*> outputs, const Target& target, CallSite at) {
  realize(std::vector(outputs), target, at);
}

void Func::realize(std::initializer_list<AnyBuffer*> outputs, const Target& target,
                   const RunOptions& options, CallSite at) {
  realize(std::vector(outputs), target, options, at);
}

Realization Func::realize(std::initializer_list<int> sizes, CallSite at) {
  return realize(std::vector(sizes), at);
}

Realization Func::realize(std::initializer_list<int> sizes, const Target& target, CallSite at) {
  return realize(std::vector(sizes), target, at);
}

Realization Func::realize(std::initializer_list<int> sizes, const Target& target,
                          const RunOptions& options, CallSite at) {
  return realize(std::vector(sizes), target, options, at);
}

Realization Func::realize(CallSite at) { return realize(Target::best(), at); }

Realization Func::realize(const Target& target, CallSite at) {
  require_definition(*this, at);
  if (function_->is_scalar) return realize(std::vector<int>{1}, target, at);
  throw UserError(name() + " has " + counted(args().size(), "dimension") +
                      ", but realize was given no sizes; give one for each dimension",
                  at);
}

Realization Func::realize(const std::vector<int>& sizes, CallSite at) {
  return realize(sizes, Target::best(), at);
}

Realization Func::realize(const std::vector<int>& sizes, const Target& target, CallSite at) {
  return realize(sizes, target, RunOptions(), at);
}

Realization Func::realize(const std::vector<int>& sizes, const Target& target, const RunOptions& options,
                          CallSite at) {
  require_definition(*this, at);
  if (static_cast<int>(sizes.size()) != dimensions()) {
    throw UserError(name() + " has " + counted(args().size(), "dimension") + ", but realize was given " +
                        counted(sizes.size(), "size") + "; give one for each dimension",
                    at);
  }
  std::vector<AnyBuffer> buffers;
  std::vector<AnyBuffer*> pointers;
  for (const auto& type : types()) {
    placed_at(
        at, [&] { buffers.emplace_back(type, std::vector<std::int64_t>(sizes.begin(), sizes.end())); });
  }
  for (auto& b : buffers) pointers.push_back(&b);
  realize(pointers, target, options, at);
  return Realization(std::move(buffers));
}

std::string Func::print_loop_nest() const { return print_loop_nest(Target::best()); }

std::string Func::print_loop_nest(const Target& target) const {
  return mica::print_loop_nest({*this}, target);
}

std::string Func::print_plan() const { return print_plan(Target::best()); }

std::string Func::print_plan(const Target& target) const { return mica::print_plan({*this}, target); }

std::string Func::compile_to_lowered_stmt(const Target& target) const {
  return code_after_pass(*this, target, std::string(pass_list().back().name));
}

}  // namespace mica
