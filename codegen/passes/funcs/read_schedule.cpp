#include "codegen/passes/funcs/read_schedule.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "dsl/expr/diagnostics.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::passes {
namespace {

/// One overload for each directive that says something beside the loops of its definition.
class Reader {
 public:
  explicit Reader(const FunctionData& func) : func_(func) {
    schedule_.march = march_of(func);
    schedule_.block = func.where;
  }

  FuncSchedule run() && {
    for (std::size_t i = 0; i < func_.definitions.size(); ++i) {
      const Definition& definition = func_.definitions[i];
      Diagnostics findings;
      auto& of = schedule_.definitions.emplace_back();
      of.loops = expand_loops(func_, static_cast<int>(i), findings);
      throw_if_any(findings);
      of.warp_split = definition.where;
      for (const Directive& directive : definition.directives) {
        directive_ = &directive;
        std::visit([&](const auto& op) { read(op); }, directive.op);
        if (i == 0) std::visit([&](const auto& op) { note_tail(op); }, directive.op);
      }
    }
    return std::move(schedule_);
  }

 private:
  template <typename Op>
  void read(const Op& /*unused*/) {}  // of loops, or of where the Func is computed
  void read(const directive::LaunchBounds& bounds) { schedule_.min_blocks = bounds.min_blocks; }
  void read(const directive::MaxRegisters& most) { schedule_.max_registers = most.count; }
  void read(const directive::WarpSplit& split) {
    own().filling_warps = split.warps;
    own().warp_split = directive_->where;
  }
  void read(const directive::Atomic& /*unused*/) { own().atomic = true; }
  void read(const directive::GpuTile& /*unused*/) {
    if (!has_wide_halos_) schedule_.block = directive_->where;
  }
  void read(const directive::StagedSource& stage) {
    if (stage.load != LoadPolicy::HaloThreads || has_wide_halos_) return;
    has_wide_halos_ = true;
    schedule_.block = directive_->where;
  }
  void read(const directive::StreamLoads& loads) { schedule_.streamed_loads.insert(loads.source); }
  void read(const directive::StreamStores& /*unused*/) { schedule_.streamed_stores = true; }
  void read(const directive::Texture& texture) {
    schedule_.textures.insert(texture.source);
    schedule_.unwritten.emplace(texture.source, said());
  }
  void read(const directive::ReadOnly& source) {
    schedule_.read_only.insert(source.source);
    schedule_.unwritten.emplace(source.source, said());
  }
  void read(const directive::Shuffle& shuffle) {
    schedule_.exchanges.push_back({shuffle.source, shuffle.var});
  }
  void read(const directive::FoldStorage& fold) {
    schedule_.folds.push_back({said(), fold.var, fold.factor});
  }
  void read(const directive::AlignStorage& align) {
    schedule_.alignment.emplace(align.var, align.elements);
  }
  void read(const directive::Bound& bound) {
    schedule_.bounds.push_back({directive_->where, bound.var, bound.min, bound.extent});
  }
  void read(const directive::ComputeAt& /*unused*/) { keep(schedule_.compute_at); }
  void read(const directive::StoreAt& /*unused*/) { keep(schedule_.store_at); }
  void read(const directive::StoreRoot& /*unused*/) { keep(schedule_.store_root); }
  void read(const directive::StoreIn& /*unused*/) { keep(schedule_.store_in); }

  template <typename Op>
  void note_tail(const Op& op) {
    if constexpr (requires { op.tail; }) schedule_.tails.emplace(op.tail, directive_->where);
  }
  [[nodiscard]] Said said() const { return {to_string(*directive_).substr(1), directive_->where}; }
  FuncSchedule::OfDefinition& own() { return schedule_.definitions.back(); }
  /// Of several the first.
  void keep(std::optional<Said>& said) const {
    if (!said) said = this->said();
  }

  const FunctionData& func_;
  FuncSchedule schedule_;
  const Directive* directive_ = nullptr;  // which is read
  bool has_wide_halos_ = false;
};

}  // namespace

std::optional<FuncSchedule::March> march_of(const FunctionData& func) {
  for (const Directive& directive : func.definitions.front().directives) {
    const auto* march = std::get_if<directive::March>(&directive.op);
    if (march != nullptr) {
      return FuncSchedule::March{march->var, march_loop(func, march->var), march->chunk};
    }
  }
  return std::nullopt;
}

void read_schedule(Program& program) {
  for (auto& func : program.pipeline.funcs) {
    if (program.required.count(func->name) > 0) {
      program.schedule.emplace(func->name, Reader(*func).run());
    }
    if (std::ranges::all_of(func->definitions, [](const Definition& d) { return d.directives.empty(); }))
      continue;
    auto bare = std::make_shared<FunctionData>(*func);
    for (Definition& definition : bare->definitions) definition.directives.clear();
    func = std::move(bare);
  }
}

}  // namespace mica::passes
