#include "dsl/check/check_schedule.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dsl/check/field_checks.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/names.h"
#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/schedule_view.h"

namespace mica {

namespace {

/// The checks of directives that stand alone.
class DirectiveChecker {
 public:
  DirectiveChecker(const ScheduleView& view, const FuncView& f, std::set<const Directive*>& wrong,
                   Diagnostics& findings)
      : view_(view), f_(f), wrong_(wrong), findings_(findings) {}

  void run() {
    for (definition_ = 0; definition_ < f_.func->definitions.size(); ++definition_) {
      for (const auto& directive : f_.func->definitions[definition_].directives) {
        current_ = &directive;
        if (definition_ > 0 && directive::traits_of(directive).of == directive::Of::Func) {
          report(fmt::format("this belongs to {} as a whole: write {}{}", f_.name(), f_.name(),
                             to_string(directive)));
          continue;
        }
        const std::vector<std::string> wrong = wrong_fields(view_, f_, directive);
        for (const std::string& what : wrong) report(what);
        if (directive::traits_of(directive).acts == directive::ActsOn::Kernel) needs_blocks();
        if (wrong.empty()) {
          std::visit(*this, directive.op);
        } else {
          wrong_.insert(&directive);
        }
      }
    }
  }

  void operator()(const directive::ReorderStorage& d) {
    std::set<std::string> seen;
    for (const auto& var : d.vars) {
      if (!seen.insert(var).second) return report(fmt::format("{} is named twice", var));
    }
    if (d.vars.size() < 2) report("this orders dimensions, so it needs at least two");
  }
  void operator()(const directive::Texture& d) {
    const Type type = view_.pipeline().find_input(d.source)->image->type;
    if (type.bytes() != 4) {
      report(
          fmt::format("elements of {} are {} of {}, and a texture holds elements of 4 bytes: use "
                      "read_only({}), which loads any",
                      d.source, to_string(type), counted(type.bytes(), "byte"), d.source));
    }
    for (const FuncView& reader : view_.funcs()) {  // of one kernel
      if (!view_.is_inside(reader, {f_.name(), ""})) continue;
      for (const auto& other : reader.func->definitions.front().directives) {
        const auto* stage = std::get_if<directive::StagedSource>(&other.op);
        if (!stage || user_name(view_, stage->source) != d.source) continue;
        if (stage->load != LoadPolicy::AsyncCopy && stage->load != LoadPolicy::Bulk) continue;
        report(
            fmt::format("{} is staged by LoadPolicy::{}{}, which copies it past the texture: remove "
                        "this, or stage it by TwoStep",
                        d.source, to_string(stage->load), line_of(other.where)));
      }
    }
  }
  void operator()(const directive::StreamStores&) {
    const char* where = f_.is_inline()                                  ? "computed inline"
                        : f_.staged_by || view_.context_of(f_).in_block ? "kept inside a block"
                                                                        : nullptr;
    if (!where) return;
    report(
        fmt::format("{} is {}, so no store of it goes to global memory: put this on a Func that is "
                    "an output or has compute_root()",
                    f_.name(), where));
  }
  void operator()(const directive::StagedSource& d) {
    const std::string source = user_name(view_, d.source);
    if (!view_.reads_inside(f_, d.source)) {
      if (const FuncView* window = view_.window_of(f_, source)) {
        report(
            fmt::format("every tap of {} stands at the point's own column and is read from the "
                        "register_window{}, so nothing reads the stage: remove one of the two",
                        source, line_of(window->place.directive->where)));
        return;
      }
      report(fmt::format("{} does not read {}{}; it reads {}", f_.name(), source,
                         did_you_mean(source, read_names(view_, f_)), read_list(view_, f_)));
      return;
    }
    if (d.memory != MemoryType::Shared && d.memory != MemoryType::Auto) {
      report(
          fmt::format("a block's box of {} cannot be held in MemoryType::{}; legal are Shared and Auto",
                      source, to_string(d.memory)));
    }
    const FuncView* held = view_.find(d.source);
    if (!held) {  // no copy was made: Funcs inside this one's loops read it, and it does not
      const auto reader = std::ranges::find_if(view_.funcs(), [&](const FuncView& other) {
        return &other != &f_ && other.place.level.func == f_.name() && other.reads_directly(d.source);
      });
      const std::string name = reader != view_.funcs().end() ? reader->name() : "the Func that reads it";
      report(fmt::format("{} is read by {}, which is computed inside {}: write {}.stage({}, ...)",
                         source, name, f_.name(), name, source));
      return;
    }
    if (held->stage && held->stage != current_) {
      report(fmt::format("{} is staged already{}: remove one of the two", source,
                         line_of(held->stage->where)));
      return;
    }
    if (has_blocks()) {
      check_readers_have_blocks(d.source, source);
    } else if (const GpuContext around = view_.context_of(f_); around.in_thread) {
      report(fmt::format(
          "{} is computed inside a thread, and shared memory belongs to the whole block: compute "
          "{} at a block or march loop, or stage {} in the Func that has the blocks",
          f_.name(), f_.name(), source));
    } else if (!around.in_block) {
      report(
          fmt::format("{} has no block loops, so there is no block to hold {} for: add gpu_tile, or "
                      "gpu_blocks and gpu_threads",
                      f_.name(), source));
    }
  }
  /// Others are judged with the loops and places, or by check_marches.
  template <typename D>
  void operator()(const D&) {}
  void operator()(const directive::Atomic&) {
    std::string why;
    if (atomic_values(*f_.func, f_.func->definitions[definition_], why).empty()) return report(why);
    if (f_.is_inline() || f_.place.kind == ComputePlace::Kind::Root) return;
    report(
        fmt::format("{} is computed inside loop {} of {}, and only what is computed at the root is "
                    "combined by several threads: compute_root(), or remove this",
                    f_.name(), f_.place.level.var, f_.place.level.func));
  }

 private:
  void report(const std::string& what) {
    Directive shown = *current_;
    if (auto* stage = std::get_if<directive::StagedSource>(&shown.op)) {
      stage->source = user_name(view_, stage->source);
    }
    findings_.push_back({described(f_, definition_, shown) + ": " + what, current_->where});
  }

  /// Every definition that reads the stage needs blocks; updates without directives of their own get
  /// some when they have Vars to tile and no Func is computed or stored at one of those loops.
  void check_readers_have_blocks(const std::string& stage, const std::string& source) {
    for (std::size_t i = 0; i < f_.loops.size(); ++i) {
      const Definition& reader = f_.func->definitions[i];
      const bool tiled = innermost_block(f_.loops[i]) < f_.loops[i].dims.size() ||
                         (reader.directives.empty() && !reader.pure_vars.empty() &&
                          std::none_of(reader.pure_vars.begin(), reader.pure_vars.end(),
                                       [&](const auto& var) { return holds_others(var); }));
      if (tiled || !view_.uses(f_, i, stage)) continue;
      report(fmt::format(
          "{} reads {} and has no block loops, so there is no block to hold it for: stage it "
          "in a Func whose definitions all have blocks",
          definition_name(*f_.func, static_cast<int>(i)), source));
      return;
    }
  }
  /// Is another Func computed or stored at loop `var`?
  [[nodiscard]] bool holds_others(const std::string& var) const {
    const auto names = [&](const LoopLevel& level) {
      return level.func == f_.name() && level.var == var;
    };
    return std::any_of(view_.funcs().begin(), view_.funcs().end(), [&](const FuncView& other) {
      if (other.place.kind != ComputePlace::Kind::At) return false;
      const LoopLevel* store = other.place.store_level();
      return names(other.place.level) || (store && names(*store));
    });
  }
  [[nodiscard]] bool has_blocks() const {
    return std::any_of(f_.loops.begin(), f_.loops.end(), [](const LoopNestSpec& nest) {
      return innermost_block(nest) < nest.dims.size();
    });
  }
  void needs_blocks() {
    const auto& nest = f_.loops[definition_];
    if (!f_.is_inline() && innermost_block(nest) < nest.dims.size()) return;
    report(
        fmt::format("{} has no block loops and is no kernel of its own: add gpu_tile, or put this on "
                    "the Func that has it",
                    definition_name(*f_.func, static_cast<int>(definition_))));
  }
  const ScheduleView& view_;
  const FuncView& f_;
  std::set<const Directive*>& wrong_;  // those whose fields are
  Diagnostics& findings_;
  std::size_t definition_ = 0;
  const Directive* current_ = nullptr;
};

}  // namespace

Diagnostics check_schedule(const Pipeline& pipeline, bool target_is_gpu) {
  Diagnostics findings;
  const ScheduleView view(pipeline, findings);
  std::set<const Directive*> wrong;
  for (const auto& f : view.funcs()) DirectiveChecker(view, f, wrong, findings).run();
  check_places(view, findings);
  check_loop_nests(view, target_is_gpu, findings);
  check_marches(view, wrong, findings);
  return findings;
}

}  // namespace mica
