#include "codegen/analysis/in_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "codegen/analysis/simplify.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/schedule/loop_dims.h"

namespace mica::analysis {
namespace {

/// What is in the way, and where the user said it.
struct Obstacle {
  std::string text;
  SourceLocation where;
};
using MaybeObstacle = std::optional<Obstacle>;

/// Does it read the element that takes the Func's `value` at the point?
bool is_own_element(const Access& access, const FunctionData& func, std::size_t value) {
  if (access.args.size() != func.args.size()) return false;
  const auto& places = func.definitions.front().places;
  for (std::size_t d = 0; d < func.args.size(); ++d) {
    const Expr place = places.empty() ? make_var(func.args[d]) : passes::simplify(places[value][d]);
    if (!equal(passes::simplify(access.args[d]), place)) return false;
  }
  return true;
}

/// A place where an input is read: in definition `index` of `reader`.
struct Tap {
  const FunctionData* reader = nullptr;
  std::size_t index = 0;
  const Access* access = nullptr;
};

/// By input, every place where what is computed reads it.
std::map<std::string, std::vector<Tap>> find_taps(const Program& program) {
  std::map<std::string, std::vector<Tap>> taps;
  for (const auto& reader : program.pipeline.funcs) {
    if (program.required.count(reader->name) == 0) continue;
    for (std::size_t i = 0; i < reader->definitions.size(); ++i) {
      const Definition& definition = reader->definitions[i];
      std::vector<Expr> roots = definition.values;
      roots.insert(roots.end(), definition.args.begin(), definition.args.end());
      visit_nodes(roots, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        if (access == nullptr || access->image == nullptr) return;
        taps[access->name].push_back({reader.get(), i, access});
      });
    }
  }
  return taps;
}

/// One output, element `value` of `func`, and one input, read at `taps`.
class Pair {
 public:
  Pair(const Program& program, const FunctionData& func, std::size_t value, std::string input)
      : program_(program),
        func_(func),
        schedule_(schedule_of(program, func)),
        value_(value),
        input_(std::move(input)) {}

  [[nodiscard]] MaybeObstacle obstacle(const std::vector<Tap>& taps) const {
    for (const Tap& tap : taps) {
      if (auto found = obstacle_of(*tap.reader, tap.index, *tap.access)) return found;
    }
    if (!program_.is_root(func_.name)) {
      return Obstacle{func_.name + " is computed inside other loops", func_.where};
    }
    if (auto found = second_visit()) return found;
    return unordered_load();
  }

 private:
  /// Why the tap is not the one that is allowed.
  [[nodiscard]] MaybeObstacle obstacle_of(const FunctionData& reader, std::size_t index,
                                          const Access& access) const {
    if (&reader != &func_) return obstacle_of_another(reader, access);
    if (index > 0) {
      return Obstacle{fmt::format("update {} of {} reads {} after it was written over", index,
                                  func_.name, tap_text(access)),
                      access.where};
    }
    if (!is_own_element(access, func_, value_)) {
      return Obstacle{fmt::format("{} reads {}, and may write over nothing but {}", call_text(func_),
                                  tap_text(access), call_text(input_, func_.args)),
                      access.where};
    }
    return std::nullopt;
  }

  [[nodiscard]] MaybeObstacle obstacle_of_another(const FunctionData& reader,
                                                  const Access& access) const {
    const auto& staged = program_.pipeline.staged;
    const auto& windows = program_.pipeline.windows;
    const auto window = windows.find(reader.name);
    if (staged.count(reader.name) > 0) {
      return Obstacle{fmt::format("stage({}) reads it ahead of the points that write over it", input_),
                      reader.where};
    }
    if (window != windows.end() && window->second.source == input_) {
      return Obstacle{
          fmt::format("register_window({}) reads it ahead of the points that write over it", input_),
          reader.where};
    }
    return Obstacle{fmt::format("{} reads {}, too, and only {} may read what it writes over",
                                call_text(reader), tap_text(access), func_.name),
                    access.where};
  }

  /// A directive by which the loops come to a point twice, or to others.
  [[nodiscard]] MaybeObstacle second_visit() const {
    const LoopNestSpec& spec = schedule_.definitions.front().loops;
    const bool on_gpu = std::any_of(spec.dims.begin(), spec.dims.end(), [](const LoopDim& dim) {
      return dim.kind == LoopKind::GpuBlock || dim.kind == LoopKind::GpuThread;
    });
    for (const SplitStep& step : spec.steps) {
      // Blocks and threads are never moved inwards.
      const bool shifts = step.tail == TailStrategy::ShiftInwards && !on_gpu;
      if (!shifts && step.tail != TailStrategy::RoundUp) continue;
      return Obstacle{fmt::format("TailStrategy::{} computes {}", to_string(step.tail),
                                  shifts ? "some points a second time, from what was written over them"
                                         : "points past the output's"),
                      place_of(step.tail)};
    }
    return std::nullopt;
  }

  [[nodiscard]] SourceLocation place_of(TailStrategy tail) const {
    const auto found = schedule_.tails.find(tail);
    return found == schedule_.tails.end() ? func_.where : found->second;
  }

  [[nodiscard]] MaybeObstacle unordered_load() const {
    const auto found = schedule_.unwritten.find(input_);
    if (found == schedule_.unwritten.end()) return std::nullopt;
    return Obstacle{found->second.text + " is for memory that nobody writes", found->second.where};
  }

  const Program& program_;
  const FunctionData& func_;
  const FuncSchedule& schedule_;
  const std::size_t value_;
  const std::string input_;
};

}  // namespace

std::vector<PlanSharing> find_sharing(const Program& program) {
  std::map<std::string, std::vector<Tap>> taps = find_taps(program);
  std::vector<PlanSharing> pairs;
  for (const std::string& output : program.pipeline.outputs) {
    const FunctionData& func = *program.pipeline.find(output);
    for (std::size_t i = 0; i < func.types.size(); ++i) {
      for (const Pipeline::Input& input : program.pipeline.inputs) {
        if (input.image->type != func.types[i] || input.image->dimensions != func.dimensions()) continue;
        const MaybeObstacle obstacle = Pair(program, func, i, input.name).obstacle(taps[input.name]);
        PlanSharing pair;
        pair.output = storage_name(output, static_cast<int>(i), func.types.size());
        pair.input = input.name;
        if (obstacle) {
          pair.obstacle = obstacle->text;
          pair.where = obstacle->where;
        }
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

bool copies_onto_itself(const Program& program, const FunctionData& func, std::size_t index) {
  if (program.options.variant.separate || index != 0 || program.pipeline.outputs.size() != 1 ||
      !program.pipeline.is_output(func.name) || func.types.size() != 1) {
    return false;
  }
  const auto* access = func.definitions[0].values[0].as<Access>();
  if (access == nullptr || !access->image || access->args.size() != func.args.size()) return false;
  for (std::size_t d = 0; d < func.args.size(); ++d) {
    const auto* var = access->args[d].as<VarRef>();
    if (var == nullptr || var->name != func.args[d]) return false;
  }
  // It is the only input that the output can be: in this variant it is.
  for (const PlanSharing& pair : program.plan.sharing) {
    if (pair.obstacle.empty() != (pair.input == access->name)) return false;
  }
  return !program.plan.sharing.empty();
}

}  // namespace mica::analysis
