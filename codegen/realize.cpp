// The members of Func that compile and run.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "codegen/lower.h"
#include "codegen/print_loops.h"
#include "dsl/float_mode.h"
#include "dsl/func_graph.h"
#include "dsl/pipeline.h"
#include "dsl/traverse.h"

namespace mica {

/// What realize() compiled for a Func, and the schedule and definitions it was compiled from.
struct CompiledFunc {
  struct Entry {
    Target target;
    Schedule schedule;
    std::vector<std::string> definitions;
    Executable executable;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

namespace {

/// What may have changed of the definitions since: there are more of them, or their colors are others.
std::vector<std::string> definition_marks(const Func& f) {
  std::vector<std::string> marks;
  for (const auto& func : collect_graph({f.function()}).funcs) {
    marks.push_back(func->name);
    for (const Definition& definition : func->definitions) {
      const auto& coloring = definition.coloring;
      marks.push_back(coloring ? to_string(coloring->value) + " % " + std::to_string(coloring->count)
                               : "");
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

Executable compiled(Func& f, const Target& target) {
  const std::shared_ptr<CompiledFunc> cache = compiled_of(*f.function());
  std::lock_guard lock(cache->mutex);
  Schedule schedule = f.schedule();
  auto marks = definition_marks(f);
  for (auto& entry : cache->entries) {
    if (!(entry.target == target)) continue;
    if (entry.schedule == schedule && entry.definitions == marks) return entry.executable;
    entry = {target, schedule, marks, compile(f, target)};
    return entry.executable;
  }
  cache->entries.push_back({target, schedule, marks, compile(f, target)});
  return cache->entries.back().executable;
}

}  // namespace

void Func::realize(AnyBuffer& output) { realize(output, Target::best()); }

void Func::realize(AnyBuffer& output, const Target& target) { realize(output, target, RunOptions()); }

void Func::realize(AnyBuffer& output, const RunOptions& options) {
  realize(output, Target::best(), options);
}

void Func::realize(AnyBuffer& output, const Target& target, const RunOptions& options) {
  realize(std::vector<AnyBuffer*>{&output}, target, options);
}

void Func::realize(const std::vector<AnyBuffer*>& outputs) { realize(outputs, Target::best()); }

void Func::realize(const std::vector<AnyBuffer*>& outputs, const Target& target) {
  realize(outputs, target, RunOptions());
}

void Func::realize(const std::vector<AnyBuffer*>& outputs, const Target& target,
                   const RunOptions& options) {
  compiled(*this, target).run(outputs, options);
}

void Func::realize(std::initializer_list<AnyBuffer*> outputs) { realize(std::vector(outputs)); }

void Func::realize(std::initializer_list<AnyBuffer*> outputs, const Target& target) {
  realize(std::vector(outputs), target);
}

void Func::realize(std::initializer_list<AnyBuffer*> outputs, const Target& target,
                   const RunOptions& options) {
  realize(std::vector(outputs), target, options);
}

Realization Func::realize(std::initializer_list<int> sizes) { return realize(std::vector(sizes)); }

Realization Func::realize(std::initializer_list<int> sizes, const Target& target) {
  return realize(std::vector(sizes), target);
}

Realization Func::realize(std::initializer_list<int> sizes, const Target& target,
                          const RunOptions& options) {
  return realize(std::vector(sizes), target, options);
}

Realization Func::realize() { return realize(Target::best()); }

Realization Func::realize(const Target& target) {
  if (function_->is_scalar) return realize(std::vector<int>{1}, target);
  throw UserError(name() + " has " + std::to_string(dimensions()) +
                  " dimensions, but realize was given no sizes; give one for each dimension");
}

Realization Func::realize(const std::vector<int>& sizes) { return realize(sizes, Target::best()); }

Realization Func::realize(const std::vector<int>& sizes, const Target& target) {
  return realize(sizes, target, RunOptions());
}

Realization Func::realize(const std::vector<int>& sizes, const Target& target,
                          const RunOptions& options) {
  if (static_cast<int>(sizes.size()) != dimensions()) {
    throw UserError(name() + " has " + std::to_string(dimensions()) +
                    " dimensions, but realize was given " + std::to_string(sizes.size()) +
                    " sizes; give one for each dimension");
  }
  std::vector<AnyBuffer> buffers;
  std::vector<AnyBuffer*> pointers;
  for (const auto& type : types()) {
    buffers.emplace_back(type, std::vector<std::int64_t>(sizes.begin(), sizes.end()));
  }
  for (auto& b : buffers) pointers.push_back(&b);
  realize(pointers, target, options);
  return Realization(std::move(buffers));
}

std::string Func::print_loop_nest() const { return print_loop_nest(Target::best()); }

std::string Func::print_loop_nest(const Target& target) const {
  const DefaultFloatMode mode;
  LowerOptions options{target, Variant{}, {}, DeviceLimits{}};
  return print_loops(lower(make_pipeline({function()}), options, "simplify_loops"));
}

std::string Func::compile_to_lowered_stmt(const Target& target) const {
  return code_after_pass(*this, target, std::string(pass_list().back().name));
}

}  // namespace mica
