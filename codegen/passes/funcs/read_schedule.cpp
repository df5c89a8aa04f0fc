#include "codegen/passes/funcs/read_schedule.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "dsl/expr/diagnostics.h"
#include "dsl/pipeline/march_taps.h"

namespace mica {

Said::Said(const Directive& directive) : text(to_string(directive).substr(1)), where(directive.where) {}

namespace passes {
namespace {

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
        std::visit(
            [&](const auto& op) {
              schedule_.read(op, directive);
              note_block(op, directive.where);
              if (i == 0) note_tail(op, directive.where);
            },
            directive.op);
      }
    }
    return std::move(schedule_);
  }

 private:
  template <typename Op>
  void note_tail(const Op& op, const SourceLocation& where) {
    if constexpr (requires { op.tail; }) schedule_.tails.emplace(op.tail, where);
  }
  template <typename Op>
  void note_block(const Op& /*op*/, const SourceLocation& /*where*/) {}
  void note_block(const directive::GpuTile& /*op*/, const SourceLocation& where) {
    if (!has_wide_halos_) schedule_.block = where;
  }
  void note_block(const directive::StagedSource& op, const SourceLocation& where) {
    if (op.load != LoadPolicy::HaloThreads || has_wide_halos_) return;
    has_wide_halos_ = true;
    schedule_.block = where;
  }

  const FunctionData& func_;
  FuncSchedule schedule_;
  bool has_wide_halos_ = false;
};

}  // namespace

std::optional<FuncSchedule::March> march_of(const FunctionData& func) {
  for (const Directive& directive : func.definitions.front().directives) {
    const auto* march = std::get_if<directive::March>(&directive.op);
    if (march != nullptr) {
      return FuncSchedule::March{march->var, march_loop(func, march->var), march->chunk,
                                 march->shortest};
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

}  // namespace passes
}  // namespace mica
