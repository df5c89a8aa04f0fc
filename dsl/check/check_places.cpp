// Where Funcs are computed and stored: levels that do not exist or do not enclose every use.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/schedule/schedule_view.h"

namespace mica {

namespace {

std::vector<std::string> view_names(const std::vector<const FuncView*>& views) {
  std::vector<std::string> names;
  for (const auto* view : views) names.push_back(view->name());
  return names;
}

class PlaceChecker {
 public:
  PlaceChecker(const ScheduleView& view, const FuncView& f, Diagnostics& findings)
      : view_(view), f_(f), findings_(findings) {}

  void run() {
    if (f_.place.directive) check_compute(*f_.place.directive);
    const Directive* store_in = nullptr;
    for (const auto& d : f_.func->definitions.front().directives) {
      if (std::holds_alternative<directive::StoreIn>(d.op)) store_in = &d;
      if (std::holds_alternative<directive::FoldStorage>(d.op)) check_fold(d);
      if (std::holds_alternative<directive::ReorderStorage>(d.op)) check_order(d);
    }
    if (f_.place.store) check_store(*f_.place.store);
    if (store_in) check_memory(*store_in);
  }

 private:
  void report(const Directive& directive, const std::string& what) {
    findings_.push_back({described(f_, 0, directive) + ": " + what, directive.where});
  }

  void check_compute(const Directive& directive) {
    if (std::holds_alternative<directive::ComputeRoot>(directive.op)) return;
    if (f_.is_output) {
      report(directive, fmt::format("{} is an output, and outputs are computed whole: remove this, or "
                                    "give the pipeline another output",
                                    f_.name()));
      return;
    }
    if (std::holds_alternative<directive::ComputeInline>(directive.op)) {
      if (f_.func->definitions.front().recurrence) {
        report(directive, fmt::format("{} reads itself, so its values must be kept somewhere: "
                                      "compute_root() or compute_at(...)",
                                      f_.name()));
      } else if (f_.func->definitions.size() > 1) {
        report(directive, fmt::format("{} has {}, so its values must be kept somewhere: compute_root() "
                                      "or compute_at(...)",
                                      f_.name(), counted(f_.func->definitions.size() - 1, "update")));
      }
      return;
    }
    const LoopLevel& level = f_.place.level;
    const FuncView* host = host_of(directive, level);
    if (!host) return;
    if (f_.staged_by && f_.staged_by != host) {
      report(directive, fmt::format("{} is also staged by {} (line {}), which places it there: remove "
                                    "one of the two",
                                    f_.name(), f_.staged_by->name(), f_.stage->where.line));
      return;
    }
    for (const auto* consumer : view_.consumers(f_)) {
      if (view_.is_inside(*consumer, level)) continue;
      report(directive,
             fmt::format("{} reads {} outside loop {} of {}: compute {} at a loop around all of {}, or "
                         "at the root",
                         consumer->name(), f_.name(), level.var, level.func, f_.name(),
                         joined(view_names(view_.consumers(f_)))));
      return;
    }
    for (const std::size_t d : definitions_at(level)) {
      if (!check_context(directive, *host, level, d)) return;
    }
  }

  /// Can code stand at `level` in definition `d` of its Func?
  bool check_context(const Directive& directive, const FuncView& host, const LoopLevel& level,
                     std::size_t d) {
    const GpuContext context = view_.context_at(level, d);
    const std::string name = definition_name(*host.func, static_cast<int>(d));
    const auto& nest = *host.find_loop(level.var, d).nest;
    const GpuContext around = view_.context_of(host);
    const bool threads = std::any_of(nest.dims.begin(), nest.dims.end(),
                                     [](const LoopDim& dim) { return dim.kind == LoopKind::GpuThread; });
    if (around.in_block && !around.in_thread && !threads) {
      const LoopLevel outer = view_.level_of(host);
      report(directive,
             fmt::format("the threads of a block share out the points of {}, so {} is no loop "
                         "around any of them: name loop {} of {} too, or give {} thread loops",
                         name, level.var, outer.var, outer.func, host.name()));
      return false;
    }
    if (context.between_threads) {
      const auto innermost = std::find_if(nest.dims.begin(), nest.dims.end(), [](const LoopDim& dim) {
        return dim.kind == LoopKind::GpuThread;
      });
      report(directive, fmt::format("loop {} of {} is inside some of its thread loops only: name the "
                                    "innermost thread loop, {}, or the innermost block loop",
                                    level.var, name, innermost->name));
    } else if (context.between_blocks && innermost_block(nest) == nest.dims.size()) {
      const LoopLevel outer = view_.level_of(host);
      report(directive, fmt::format("{} is computed at loop {} of {}, inside some of its block loops "
                                    "only: compute {} at the innermost block loop, or a loop inside it",
                                    name, outer.var, outer.func, host.name()));
    } else if (context.between_blocks) {
      report(directive, fmt::format("loop {} of {} is inside some of its block loops only: name the "
                                    "innermost block loop, {}, or a loop inside it",
                                    level.var, name, nest.dims[innermost_block(nest)].name));
    }
    return !context.between_threads && !context.between_blocks;
  }

  /// The definitions of the level's Func inside whose loop f_ is computed; the first that has the loop
  /// if none needs f_.
  [[nodiscard]] std::vector<std::size_t> definitions_at(const LoopLevel& level) const {
    std::vector<std::size_t> list;
    const FuncView* host = view_.find(level.func);
    if (!host) return list;
    for (std::size_t d = 0; d < host->loops.size(); ++d) {
      if (host->find_loop(level.var, d).nest && view_.needs(*host, d, f_)) list.push_back(d);
    }
    for (std::size_t d = 0; list.empty() && d < host->loops.size(); ++d) {
      if (host->find_loop(level.var, d).nest) list.push_back(d);
    }
    return list;
  }

  /// The Func of `level` when it has that loop around its uses of f_; else null, after reporting.
  const FuncView* host_of(const Directive& directive, const LoopLevel& level) {
    const auto consumers = view_.consumers(f_);
    const FuncView* host = view_.find(level.func);
    if (!host) {
      report(directive, fmt::format("there is no Func {}{}; Funcs that read {} are {}", level.func,
                                    did_you_mean(level.func, view_.func_names()), f_.name(),
                                    joined(view_names(consumers))));
      return nullptr;
    }
    if (host->is_inline()) {
      report(directive, fmt::format("{} is computed inline and has no loops; Funcs with loops that read "
                                    "{} are {}",
                                    level.func, f_.name(), joined(view_names(consumers))));
      return nullptr;
    }
    const bool used_inside = std::any_of(consumers.begin(), consumers.end(), [&](const FuncView* c) {
      return view_.is_inside(*c, {host->name(), ""});
    });
    if (host == &f_ || !used_inside) {
      report(directive, fmt::format("{} does not read {}, so it cannot be computed there; Funcs that "
                                    "read {} are {}",
                                    level.func, f_.name(), f_.name(), joined(view_names(consumers))));
      return nullptr;
    }
    for (std::size_t d = 0; d < host->loops.size(); ++d) {
      const auto& dims = host->loops[d].dims;
      const auto loop = std::find_if(dims.begin(), dims.end(),
                                     [&](const LoopDim& dim) { return dim.name == level.var; });
      const bool needed = view_.needs(*host, d, f_) || (d == 0 && !host->find_loop(level.var).nest);
      if (loop == dims.end() && needed) {
        report(directive, fmt::format("{} has no loop {}{}; its loops are {} (innermost first)",
                                      definition_name(*host->func, static_cast<int>(d)), level.var,
                                      did_you_mean(level.var, names_of_loops(host->loops[d])),
                                      loop_names(host->loops[d])));
        return nullptr;
      }
      if (loop != dims.end() && loop->kind == LoopKind::Vectorized) {
        report(directive, fmt::format("loop {} of {} is vectorized: nothing can be computed inside one "
                                      "of its lanes; name a loop outside it",
                                      level.var, level.func));
        return nullptr;
      }
    }
    return host;
  }

  void check_store(const Directive& directive) {
    const auto* at = std::get_if<directive::StoreAt>(&directive.op);
    if (f_.place.kind != ComputePlace::Kind::At) {
      if (!at && f_.place.kind == ComputePlace::Kind::Root) return;  // store_root of a root Func
      report(directive, fmt::format("{} is {}: store_at and store_root widen the storage of a Func with "
                                    "compute_at",
                                    f_.name(),
                                    f_.is_inline() ? "computed inline and has no storage"
                                                   : "computed and stored at the root"));
      return;
    }
    const LoopLevel& compute = f_.place.level;
    if (!at) {
      // In a thread it depends on which points the threads need.
      const auto kernel = kernel_around(compute);
      if (!kernel || (kernel->in_thread && !kernel->between_threads)) return;
      report(directive,
             fmt::format("loop {} of {} is inside a kernel, whose blocks run at once and would "
                         "share the storage: leave this out, or compute {} at the root",
                         compute.var, compute.func, f_.name()));
      return;
    }
    const FuncView* host = view_.find(at->level.func);
    if (!host) {
      report(directive,
             fmt::format("there is no Func {}{}; Funcs are {}", at->level.func,
                         did_you_mean(at->level.func, view_.func_names()), joined(view_.func_names())));
      return;
    }
    for (std::size_t d = 0; d < host->loops.size(); ++d) {
      const bool needed = view_.needs(*host, d, f_) || !host->find_loop(at->level.var).nest;
      if (!needed || host->find_loop(at->level.var, d).nest) continue;
      report(directive, fmt::format("{} has no loop {}{}; its loops are {} (innermost first)",
                                    definition_name(*host->func, static_cast<int>(d)), at->level.var,
                                    did_you_mean(at->level.var, names_of_loops(host->loops[d])),
                                    loop_names(host->loops[d])));
      return;
    }
    if (host != &f_ && view_.is_inside(f_, at->level)) return;
    report(directive, fmt::format("loop {} of {} is not around loop {} of {}, where {} is computed: "
                                  "storage is made at the same loop or outside it",
                                  at->level.var, at->level.func, compute.var, compute.func, f_.name()));
  }

  /// Storage is folded where it outlives the loop that moves along it.
  void check_fold(const Directive& directive) {
    if (f_.place.kind != ComputePlace::Kind::At) {
      report(directive,
             fmt::format("{} is {}, and storage is folded between a loop that computes a part "
                         "of it and a place outside: add compute_at(...) and store_root() or "
                         "store_at(...)",
                         f_.name(), f_.is_inline() ? "computed inline" : "computed whole"));
      return;
    }
    const LoopLevel* store = f_.place.store_level();
    if (f_.place.store && (!store || *store != f_.place.level)) return;
    report(directive,
           fmt::format("{} is stored at loop {} of {}, where it is computed, so its storage "
                       "holds what one iteration reads: add store_root(), or store_at(...) of "
                       "a loop around",
                       f_.name(), f_.place.level.var, f_.place.level.func));
  }

  /// The order of dimensions is free where the memory is Mica's and nothing goes by positions in it.
  void check_order(const Directive& directive) {
    const FuncView* host =
        f_.place.kind == ComputePlace::Kind::At ? view_.find(f_.place.level.func) : nullptr;
    const bool marched =
        host && std::any_of(host->loops.begin(), host->loops.end(), [](const auto& nest) {
          return std::any_of(nest.dims.begin(), nest.dims.end(),
                             [](const LoopDim& dim) { return dim.kind == LoopKind::March; });
        });
    const auto& all = view_.funcs();
    const bool copied = std::any_of(all.begin(), all.end(), [&](const FuncView& other) {
      return (other.staged_by || view_.is_made(other)) && other.reads_directly(f_.name());
    });
    if (f_.is_output) {
      report(directive, fmt::format("{} is an output, and its memory is the caller's: give the run a "
                                    "buffer with those strides",
                                    f_.name()));
    } else if (f_.staged_by || marched) {
      report(directive,
             fmt::format("{} is kept in a block's box or ring, whose rows are filled along its "
                         "first dimension: remove this",
                         f_.name()));
    } else if (copied) {
      report(directive,
             fmt::format("rows of {} are copied into a block's box or ring, neighbours of its "
                         "first dimension at once: remove this",
                         f_.name()));
    } else if (f_.is_inline()) {
      report(directive, fmt::format("{} is computed inline and has no storage: add compute_root() or "
                                    "compute_at(...)",
                                    f_.name()));
    }
  }

  void check_memory(const Directive& directive) {
    const auto memory = std::get<directive::StoreIn>(directive.op).memory;
    if (f_.is_inline()) {
      report(directive, fmt::format("{} is computed inline and has no storage: add compute_root() or "
                                    "compute_at(...)",
                                    f_.name()));
      return;
    }
    if (memory == MemoryType::Heap) check_heap(directive);
    if (f_.place.stores_at_root() && (memory == MemoryType::Register || memory == MemoryType::Stack)) {
      report(directive, fmt::format("store_root() keeps {} in an array for all that the pipeline needs, "
                                    "which MemoryType::{} cannot hold: remove one of the two",
                                    f_.name(), to_string(memory)));
    }
    if (memory != MemoryType::Shared || f_.staged_by) return;
    if (f_.place.kind != ComputePlace::Kind::At) {
      report(directive,
             fmt::format("{} is computed at the root, and shared memory belongs to one block: "
                         "compute it at a block loop",
                         f_.name()));
      return;
    }
    const LoopLevel level = storage_level();
    const FuncView* host = view_.find(level.func);
    if (!host) {
      check_shared(directive, level, level.func, GpuContext());
      return;
    }
    for (const std::size_t d : definitions_at(level)) {
      const std::string name = definition_name(*host->func, static_cast<int>(d));
      if (!check_shared(directive, level, name, view_.context_at(level, d))) return;
    }
  }

  /// The loop at which f_ is stored; none for store_root.
  [[nodiscard]] LoopLevel storage_level() const {
    if (!f_.place.store) return f_.place.level;
    const LoopLevel* at = f_.place.store_level();
    return at ? *at : LoopLevel();
  }

  /// Heap memory is made by the host.
  void check_heap(const Directive& directive) {
    if (f_.place.kind != ComputePlace::Kind::At) return;
    const LoopLevel level = storage_level();
    if (const auto context = kernel_around(level)) {
      report(directive,
             fmt::format("loop {} of {} is inside a kernel, and heap memory is made outside: store in "
                         "MemoryType::{}",
                         level.var, level.func,
                         context->in_thread ? "Register or Stack, or leave this out" : "Shared"));
    }
  }

  /// What surrounds code placed at `level` in the first definition where that is inside a kernel.
  [[nodiscard]] std::optional<GpuContext> kernel_around(const LoopLevel& level) const {
    for (const std::size_t d : definitions_at(level)) {
      const GpuContext context = view_.context_at(level, d);
      if (context.in_block || context.in_thread || context.between_blocks) return context;
    }
    return std::nullopt;
  }

  /// Can shared memory be allocated at `level`, which is a loop of the Func or definition `name`?
  bool check_shared(const Directive& directive, const LoopLevel& level, const std::string& name,
                    const GpuContext& context) {
    if (!context.in_block) {
      report(directive, level.func.empty()
                            ? fmt::format("store_root() keeps {} outside all blocks, and shared memory "
                                          "belongs to one block",
                                          f_.name())
                            : fmt::format("loop {} of {} is not inside all block loops, and shared "
                                          "memory belongs to one block: name the innermost block loop",
                                          level.var, name));
    } else if (context.in_thread) {
      report(directive,
             fmt::format("loop {} of {} is inside a thread loop, and shared memory belongs to "
                         "the whole block: name the innermost block loop, or store in "
                         "MemoryType::Register or Stack",
                         level.var, name));
    }
    return context.in_block && !context.in_thread;
  }

  const ScheduleView& view_;
  const FuncView& f_;
  Diagnostics& findings_;
};

}  // namespace

void check_places(const ScheduleView& view, Diagnostics& findings) {
  for (const auto& f : view.funcs()) {
    if (!view.is_made(f)) PlaceChecker(view, f, findings).run();  // check_marches judges the directive
  }
}

}  // namespace mica
