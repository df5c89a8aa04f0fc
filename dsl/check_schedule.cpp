#include "dsl/check_schedule.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dsl/names.h"
#include "dsl/schedule_view.h"

namespace mica {

namespace {

/// Directives that belong to a Func as a whole, not to the loops of one definition.
bool is_whole_func(const Directive& directive) {
  const auto& op = directive.op;
  return std::holds_alternative<directive::ComputeInline>(op) ||
         std::holds_alternative<directive::ComputeRoot>(op) ||
         std::holds_alternative<directive::ComputeAt>(op) ||
         std::holds_alternative<directive::StoreAt>(op) ||
         std::holds_alternative<directive::StoreRoot>(op) ||
         std::holds_alternative<directive::StoreIn>(op) ||
         std::holds_alternative<directive::AlignStorage>(op) ||
         std::holds_alternative<directive::Bound>(op) || std::holds_alternative<directive::Stage>(op) ||
         std::holds_alternative<directive::ReadOnly>(op);
}

/// The checks of directives that stand alone.
class DirectiveChecker {
 public:
  DirectiveChecker(const ScheduleView& view, const FuncView& f, Diagnostics& findings)
      : view_(view), f_(f), findings_(findings) {}

  void run() {
    for (definition_ = 0; definition_ < f_.func->definitions.size(); ++definition_) {
      for (const auto& directive : f_.func->definitions[definition_].directives) {
        current_ = &directive;
        if (definition_ > 0 && is_whole_func(directive)) {
          report(fmt::format("this belongs to {} as a whole: write {}{}", f_.name(), f_.name(),
                             to_string(directive)));
          continue;
        }
        std::visit(*this, directive.op);
      }
    }
  }

  void operator()(const directive::Bound& d) {
    if (!is_dimension(d.var)) return;
    if (d.extent < 1) report(fmt::format("the extent is {}; it must be at least 1", d.extent));
  }
  void operator()(const directive::AlignStorage& d) {
    if (!is_dimension(d.var)) return;
    if (d.elements < 1) {
      report(fmt::format("{} is no number of elements to align to; it must be at least 1", d.elements));
    }
  }
  void operator()(const directive::LaunchBounds& d) {
    is_in_range("min_blocks", d.min_blocks, 1, 32);
    needs_blocks();
  }
  void operator()(const directive::MaxRegisters& d) {
    is_in_range("the number of registers", d.count, 16, 255);
    needs_blocks();
  }
  void operator()(const directive::ReadOnly& d) {
    std::set<std::string> seen;
    std::vector<std::string> inputs;
    for (const auto& input : view_.pipeline().inputs) inputs.push_back(input.name);
    if (!view_.pipeline().find_input(d.source)) {
      report(fmt::format("{} is no input; inputs are {}", d.source, joined(inputs)));
    } else if (!reaches(f_, d.source, seen)) {
      report(fmt::format("{} does not read {}; it reads {}", f_.name(), d.source, read_list()));
    }
  }
  void operator()(const directive::Stage& d) {
    const std::string source = user_name(view_, d.source);
    if (!f_.reads_directly(d.source)) {
      report(fmt::format("{} does not read {}; it reads {}", f_.name(), source, read_list()));
      return;
    }
    if (d.memory != MemoryType::Shared && d.memory != MemoryType::Auto) {
      report(
          fmt::format("a block's box of {} cannot be held in MemoryType::{}; legal are Shared and Auto",
                      source, to_string(d.memory)));
    }
    const FuncView* held = view_.find(d.source);
    if (!held || (held->stage && held->stage != current_)) {
      report(fmt::format(
          "{} is staged already{}: remove one of the two", source,
          held && held->stage->where.known() ? fmt::format(" (line {})", held->stage->where.line) : ""));
      return;
    }
    const bool in_block = view_.context_of(f_).in_block || has_blocks();
    if (!in_block) {
      report(
          fmt::format("{} has no block loops, so there is no block to hold {} for: add gpu_tile, or "
                      "gpu_blocks and gpu_threads",
                      f_.name(), source));
    }
  }
  // Judged with the loops and places.
  void operator()(const directive::Split&) {}
  void operator()(const directive::Fuse&) {}
  void operator()(const directive::Reorder&) {}
  void operator()(const directive::MarkLoop&) {}
  void operator()(const directive::GpuTile&) {}
  void operator()(const directive::Vectorize&) {}
  void operator()(const directive::Unroll&) {}
  void operator()(const directive::ComputeInline&) {}
  void operator()(const directive::ComputeRoot&) {}
  void operator()(const directive::ComputeAt&) {}
  void operator()(const directive::StoreAt&) {}
  void operator()(const directive::StoreRoot&) {}
  void operator()(const directive::StoreIn&) {}
  void operator()(const directive::In&) {}

 private:
  void report(const std::string& what) {
    Directive shown = *current_;
    if (auto* stage = std::get_if<directive::Stage>(&shown.op)) {
      stage->source = user_name(view_, stage->source);
    }
    findings_.push_back({described(f_, definition_, shown) + ": " + what, current_->where});
  }

  bool is_dimension(const std::string& var) {
    const auto& args = f_.func->args;
    if (std::find(args.begin(), args.end(), var) != args.end()) return true;
    report(fmt::format("{} is no dimension of {}; its dimensions are {}", var, f_.name(), joined(args)));
    return false;
  }
  void is_in_range(const char* what, int value, int low, int high) {
    if (value >= low && value <= high) return;
    report(fmt::format("{} is {}; legal are {} to {}", what, value, low, high));
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
  [[nodiscard]] std::string read_list() const {
    std::vector<std::string> names;
    for (const auto& name : f_.all_reads()) names.push_back(user_name(view_, name));
    return joined(names);
  }
  /// Does `f` read `input` itself or through Funcs computed for it?
  [[nodiscard]] bool reaches(const FuncView& f, const std::string& input,
                             std::set<std::string>& seen) const {
    for (const auto& name : f.all_reads()) {
      if (name == input) return true;
      const FuncView* callee = view_.find(name);
      if (!seen.insert(name).second) continue;
      const bool root = callee && !callee->staged_by && callee->place.kind == ComputePlace::Kind::Root;
      if (callee && !root && reaches(*callee, input, seen)) return true;
    }
    return false;
  }

  const ScheduleView& view_;
  const FuncView& f_;
  Diagnostics& findings_;
  std::size_t definition_ = 0;
  const Directive* current_ = nullptr;
};

}  // namespace

Diagnostics check_schedule(const Pipeline& pipeline, bool target_is_gpu) {
  Diagnostics findings;
  const ScheduleView view(pipeline, findings);
  for (const auto& f : view.funcs()) DirectiveChecker(view, f, findings).run();
  check_places(view, findings);
  check_loop_nests(view, target_is_gpu, findings);
  return findings;
}

}  // namespace mica
