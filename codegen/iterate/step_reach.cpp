#include "codegen/iterate/step_reach.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "codegen/analysis/bounds.h"
#include "codegen/iterate/bent_reads.h"
#include "codegen/iterate/periodic_step.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/bent_index.h"
#include "dsl/func/image_param.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::iterate {
namespace {

using Images = std::vector<std::shared_ptr<const ImageData>>;

class ReachFinder {
 public:
  ReachFinder(const FunctionData& step, const Images& fields) : fields_(fields) {
    around_[&step].assign(step.args.size(), 0);
    reach_.points.assign(step.args.size(), 0);
    reach_.wraps.assign(step.args.size(), false);
  }

  StepReach run(const FuncGraph& graph) {
    for (const auto& func : graph.funcs) {
      if (reads_fields(*func)) of_fields_.insert(func.get());
    }
    for (auto func = graph.funcs.rbegin(); func != graph.funcs.rend(); ++func) {
      const auto known = around_.find(func->get());
      if (known != around_.end()) look_at(**func, known->second);
    }
    return std::move(reach_);
  }

 private:
  [[nodiscard]] bool is_field(const std::shared_ptr<const ImageData>& image) const {
    return image != nullptr && std::find(fields_.begin(), fields_.end(), image) != fields_.end();
  }
  /// Funcs come producers first.
  [[nodiscard]] bool reads_fields(const FunctionData& func) const {
    bool reads = false;
    for (const Definition& definition : func.definitions) {
      std::vector<Expr> all = definition.values;
      all.insert(all.end(), definition.args.begin(), definition.args.end());
      visit_nodes(all, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        const auto* field = e.as<ImageField>();
        reads = reads || (field != nullptr && is_field(field->image)) ||
                (access != nullptr &&
                 (is_field(access->image) || of_fields_.count(access->function.get()) > 0));
      });
    }
    return reads;
  }

  void look_at(const FunctionData& func, const std::vector<std::int64_t>& around) {
    if (func.definitions.size() != 1 || func.definitions.front().recurrence ||
        func.args.size() != reach_.points.size()) {
      return refuse(func.name + " is computed from more of the fields than what lies around a point");
    }
    reader_ = &func;
    at_ = around;
    const std::vector<Expr>& values = func.definitions.front().values;
    with_stack_for(depth_of(values), [&] {
      VisitedNodes visited;
      for (const Expr& value : values) visit(value, visited);
    });
  }

  void visit(const Expr& e, VisitedNodes& visited) {
    if (!visited.enter(e) || is_known_comparison(e)) return;
    if (e.as<Print>() != nullptr) return refuse("the step prints, and would twice");
    if (const auto* field = e.as<ImageField>(); field != nullptr && is_field(field->image)) {
      return refuse("the step asks where " + field->image->name + " begins or ends");
    }
    const auto* access = e.as<Access>();
    if (access == nullptr) {
      return for_each_child(e, [&](const Expr& child) { visit(child, visited); });
    }
    const bool depends = is_field(access->image) || of_fields_.count(access->function.get()) > 0;
    std::vector<std::int64_t> there = at_;
    for (std::size_t d = 0; d < access->args.size(); ++d) {
      const auto offset = offset_of(access->args[d], d);
      if (offset) {
        there[d] = at_[d] + std::abs(*offset);
        reach_.points[d] = std::max(reach_.points[d], there[d]);
        continue;
      }
      if (depends) {
        return refuse(fmt::format("it reads {} at {}, which is no coordinate and a constant",
                                  access->name, brief(access->args[d])));
      }
      visit(access->args[d], visited);
    }
    if (!depends || access->function == nullptr) return;
    std::vector<std::int64_t>& of = around_[access->function.get()];
    of.resize(there.size(), 0);
    for (std::size_t d = 0; d < there.size(); ++d) of[d] = std::max(of[d], there[d]);
  }

  /// c of an index of dimension d that is the reader's own coordinate plus c, or that bent into a range.
  std::optional<std::int64_t> offset_of(const Expr& index, std::size_t d) {
    if (d >= reader_->args.size()) return std::nullopt;
    const std::string& arg = reader_->args[d];
    const Expr inside = unwrapped(index, d, fields_);
    if (const auto plain = offset_from(inside, arg)) {
      if (inside.ptr() != index.ptr()) reach_.wraps[d] = true;
      return plain;
    }
    const std::optional<Bent> bent = bent_of(index);
    const auto offset = bent ? offset_from(bent->coordinate, arg) : std::nullopt;
    if (!offset) return std::nullopt;
    if (is_own(bent->min, bent->max, d)) return offset;
    if (names_fields(bent->min) || names_fields(bent->max)) return std::nullopt;
    // A point of the range is bent to itself, and others no further from it than they were.
    const std::int64_t away = at_[d] + std::abs(*offset);
    const std::int64_t least = bent->how == Bend::Clamp    ? 1
                               : bent->how == Bend::Mirror ? away
                                                           : away + 1;
    reach_.edges.push_back({d, bent->min, bent->max, std::max<std::int64_t>(least, 1)});
    return offset;
  }
  /// x + c >= min or x + c <= max of a field, as constant_exterior asks. A part of the fields that goes
  /// on that far, or ends where they do, gives the same answer.
  bool is_known_comparison(const Expr& e) {
    const auto* compared = e.as<Compare>();
    const bool after = compared != nullptr && compared->op == CompareOp::Ge;
    const bool before = compared != nullptr && compared->op == CompareOp::Le;
    if (!after && !before) return false;
    for (std::size_t d = 0; d < reader_->args.size(); ++d) {
      const auto offset = offset_from(compared->a, reader_->args[d]);
      if (!offset) continue;
      for (const auto& field : fields_) {
        if (field->dimensions <= static_cast<int>(d)) continue;
        const boundary::Range own = range_of(field, d);
        if (!equal(compared->b, after ? own.min : own.max())) continue;
        reach_.points[d] = std::max(reach_.points[d], at_[d] + std::abs(*offset));
        return true;
      }
    }
    return false;
  }

  static boundary::Range range_of(const std::shared_ptr<const ImageData>& field, std::size_t d) {
    const auto dim = ImageParam(field).dim(static_cast<int>(d));
    return {dim.min(), dim.extent()};
  }
  /// Are these the ends of a field along dimension d?
  [[nodiscard]] bool is_own(const Expr& min, const Expr& max, std::size_t d) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const auto& field) {
      if (field->dimensions <= static_cast<int>(d)) return false;
      const boundary::Range own = range_of(field, d);
      return equal(min, own.min) && equal(max, own.max());
    });
  }
  [[nodiscard]] bool names_fields(const Expr& e) const {
    bool names = false;
    walk(e, [&](const Expr& node) {
      const auto* field = node.as<ImageField>();
      names = names || (field != nullptr && is_field(field->image));
    });
    return names;
  }

  void refuse(const std::string& why) {
    if (reach_.why.empty()) reach_.why = why;
  }

  const Images& fields_;
  StepReach reach_;
  std::map<const FunctionData*, std::vector<std::int64_t>> around_;
  std::set<const FunctionData*> of_fields_;
  const FunctionData* reader_ = nullptr;
  std::vector<std::int64_t> at_;
};

}  // namespace

StepReach reach_of(const Func& step, const Images& fields) {
  return ReachFinder(*step.function(), fields).run(collect_graph({step.function()}));
}

}  // namespace mica::iterate
