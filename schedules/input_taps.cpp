#include "schedules/input_taps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "codegen/analysis/bent_offset.h"
#include "dsl/expr/node_visit.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::schedules {

namespace {

/// So many points from one of a Func's variables, given by its place.
using Step = std::pair<std::size_t, std::int64_t>;
/// Where a Func reads an input, in each of the input's dimensions.
using Tap = std::vector<Step>;
/// By inputs, in the order in which these are met.
using Taps = std::vector<std::pair<std::string, std::set<Tap>>>;

void add(Taps& taps, const std::string& input, const Tap& tap) {
  auto known =
      std::find_if(taps.begin(), taps.end(), [&](const auto& other) { return other.first == input; });
  if (known == taps.end()) known = taps.insert(taps.end(), {input, {}});
  known->second.insert(tap);
}

std::optional<Step> step_of(const Expr& e, const std::vector<std::string>& vars, Boundaries boundaries) {
  for (std::size_t v = 0; v < vars.size(); ++v) {
    auto offset = offset_from(e, vars[v]);
    if (!offset && boundaries == Boundaries::Inside) offset = analysis::bent_offset(e, vars[v]);
    if (offset) return Step(v, *offset);
  }
  return std::nullopt;
}

/// Those of Funcs, of producers before consumers. A Func that another one takes in lends it its taps:
/// to write its value out would grow with the number of ways to an input.
class TapsOf {
 public:
  explicit TapsOf(Boundaries boundaries) : boundaries_(boundaries) {}

  const Taps& operator()(const FunctionData& func, int element) const {
    static const Taps kNone;
    const auto found = known_.find({&func, element});
    return found == known_.end() ? kNone : found->second;
  }

  void find(const FunctionData& func) {
    const auto& values = func.definitions.front().values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Taps& taps = known_[{&func, static_cast<int>(i)}];
      visit_nodes({values[i]}, [&](const Expr& e) {
        if (const auto* access = e.as<Access>()) add_those_of(*access, func.args, taps);
      });
    }
  }

 private:
  void add_those_of(const Access& access, const std::vector<std::string>& vars, Taps& taps) const {
    std::vector<std::optional<Step>> args;
    for (const Expr& arg : access.args) args.push_back(step_of(arg, vars, boundaries_));
    const auto is_known = [](const auto& arg) { return arg.has_value(); };
    if (access.image && std::all_of(args.begin(), args.end(), is_known)) {
      Tap tap;
      for (const auto& arg : args) tap.push_back(*arg);
      add(taps, access.image->name, tap);
    }
    if (!access.function) return;
    for (const auto& [input, inner] : (*this)(*access.function, access.value_index)) {
      for (Tap tap : inner) {
        bool all = true;
        for (auto& [var, offset] : tap) {
          const auto& arg = args.at(var);
          all = all && arg.has_value();
          if (arg) std::tie(var, offset) = std::pair(arg->first, arg->second + offset);
        }
        if (all) add(taps, input, tap);
      }
    }
  }

  const Boundaries boundaries_;
  std::map<std::pair<const FunctionData*, int>, Taps> known_;
};

bool is_taken_in(const FunctionData& f) {
  return f.definitions.size() == 1 && !f.definitions[0].recurrence &&
         f.definitions[0].directives.empty();
}

}  // namespace

std::vector<InputTaps> input_taps_of(const Func& func, Boundaries boundaries) {
  TapsOf taps_in(boundaries);
  for (const auto& f : collect_graph({func.function()}).funcs) {
    if (f == func.function() || is_taken_in(*f)) taps_in.find(*f);
  }
  const std::size_t rank = func.function()->args.size();
  std::vector<InputTaps> inputs;
  const auto taps_of = [&](const std::string& name) -> InputTaps& {
    const auto known = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const InputTaps& other) { return other.name == name; });
    return known == inputs.end() ? inputs.emplace_back(InputTaps{name}) : *known;
  };
  for (std::size_t i = 0; i < func.function()->types.size(); ++i) {
    for (const auto& [name, taps] : taps_in(*func.function(), static_cast<int>(i))) {
      for (const Tap& tap : taps) {
        std::vector<std::int64_t> offset;
        for (std::size_t d = 0; d < tap.size() && tap[d].first == d; ++d) {
          offset.push_back(tap[d].second);
        }
        if (tap.size() == rank && offset.size() == rank) taps_of(name).offsets.insert(offset);
      }
    }
  }
  const std::size_t march = std::min<std::size_t>(rank - 1, 2);
  for (InputTaps& input : inputs) {
    const auto own = std::count_if(input.offsets.begin(), input.offsets.end(), [&](const auto& offset) {
      for (std::size_t d = 0; d < rank; ++d) {
        if (d != march && offset[d] != 0) return false;
      }
      return true;
    });
    input.in_column = own > 1;
  }
  std::stable_sort(inputs.begin(), inputs.end(), [](const InputTaps& a, const InputTaps& b) {
    return a.offsets.size() > b.offsets.size();
  });
  return inputs;
}

}  // namespace mica::schedules
