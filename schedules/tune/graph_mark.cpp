#include "schedules/tune/graph_mark.h"

#include <bit>
#include <map>
#include <variant>

#include "dsl/expr/deep_stack.h"
#include "dsl/expr/mix.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::tuning {
namespace {

class Marker {
 public:
  std::uint64_t of(const FuncGraph& graph) {
    std::uint64_t mark = 0;
    for (const auto& func : graph.funcs) {
      number_of(func.get());
      for (const auto& definition : func->definitions) mark = mixed(mark, of(*func, definition));
    }
    return mark;
  }
  /// Of what the fields hold after a step whose graph was marked.
  std::uint64_t of(const Iteration::State& state) {
    constexpr std::uint64_t kSteps = 0x7374657073;  // no mark of Funcs is one of steps
    std::uint64_t mark = kSteps;
    for (const Replacement& r : state.replacements) {
      mark = mixed(mark, number_of(r.field.data().get()));
      mark = mixed(
          mark, r.func ? number_of(r.func->function().get()) << 8 | static_cast<std::uint64_t>(r.element)
                       : number_of(r.input->data().get()));
    }
    return mark;
  }

 private:
  std::uint64_t of(const FunctionData& func, const Definition& definition) {
    vars_.clear();
    known_.clear();
    for (const auto& arg : func.args) vars_.emplace(arg, vars_.size());
    std::uint64_t mark = definition.pure_vars.size();
    const auto add = [&](const Expr& e) { mark = mixed(mark, e.defined() ? of(e) : 0); };
    for (const Expr& e : definition.args) add(e);
    for (const Expr& e : definition.values) add(e);
    for (const auto& place : definition.places) {
      for (const Expr& e : place) add(e);
    }
    if (definition.domain) {
      for (const auto& dim : definition.domain->dims) {
        add(dim.min);
        add(dim.extent);
      }
    }
    if (definition.coloring) {
      add(definition.coloring->value);
      mark = mixed(mark, static_cast<std::uint64_t>(definition.coloring->count));
    }
    return mark;
  }

  std::uint64_t of(const Expr& e) {
    return made_with_stack_for(depth_of({e}), [&] { return mark_of(e); });
  }

  std::uint64_t mark_of(const Expr& e) {
    const auto found = known_.find(e.ptr().get());
    if (found != known_.end()) return found->second;
    const Type type = e.type();
    std::uint64_t mark =
        mixed(e->op.index(), static_cast<std::uint64_t>(type.code) << 32 |
                                 static_cast<std::uint64_t>(type.bits) << 16 | type.lanes);
    std::visit([&](const auto& op) { mark = mixed(mark, payload(op)); }, e->op);
    for_each_child(e, [&](const Expr& child) { mark = mixed(mark, mark_of(child)); });
    known_.emplace(e.ptr().get(), mark);
    return mark;
  }

  std::uint64_t payload(const IntImm& op) { return static_cast<std::uint64_t>(op.value); }
  std::uint64_t payload(const FloatImm& op) { return std::bit_cast<std::uint64_t>(op.value); }
  std::uint64_t payload(const VarRef& op) { return vars_.emplace(op.name, vars_.size()).first->second; }
  std::uint64_t payload(const ParamRef& op) { return number_of(op.param.get()); }
  std::uint64_t payload(const RVarRef& op) {
    return number_of(op.domain.get()) << 8 | static_cast<std::uint64_t>(op.index);
  }
  std::uint64_t payload(const ImageField& op) {
    return number_of(op.image.get()) << 16 | static_cast<std::uint64_t>(op.dimension) << 8 |
           static_cast<std::uint64_t>(op.field);
  }
  std::uint64_t payload(const Unary& op) { return static_cast<std::uint64_t>(op.op); }
  std::uint64_t payload(const Binary& op) { return static_cast<std::uint64_t>(op.op); }
  std::uint64_t payload(const Compare& op) { return static_cast<std::uint64_t>(op.op); }
  std::uint64_t payload(const Access& op) {
    const void* callee = op.image ? static_cast<const void*>(op.image.get())
                                  : static_cast<const void*>(op.function.get());
    return number_of(callee) << 8 | static_cast<std::uint64_t>(op.value_index);
  }
  template <typename Op>
  std::uint64_t payload(const Op&) {
    return 0;  // told by its kind and its children
  }

  /// Counted from 1 in the order first met; 0 for a Func that reads itself.
  std::uint64_t number_of(const void* part) {
    return part == nullptr ? 0 : numbers_.emplace(part, numbers_.size() + 1).first->second;
  }

  std::map<const void*, std::uint64_t> numbers_;  // for lookup only
  std::map<std::string, std::uint64_t> vars_;
  NodeMap<std::uint64_t> known_;
};

}  // namespace

std::uint64_t graph_mark(const Func& output) { return graph_mark(std::vector<Func>{output}); }

std::uint64_t graph_mark(const std::vector<Func>& outputs) {
  return Marker().of(collect_graph(functions_of(outputs)));
}

std::uint64_t step_mark(const Iteration::State& state, bool whole) {
  Marker marker;
  const std::uint64_t mark = marker.of(collect_graph(functions_of(state.funcs())));
  const bool acted_upon = !state.sources.empty() || !state.receivers.empty();
  return mixed(mixed(mark, marker.of(state)), (whole ? 2U : 0U) + (acted_upon ? 1U : 0U));
}

}  // namespace mica::tuning
