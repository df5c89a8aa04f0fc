#include "schedules/input_taps.h"

#include <algorithm>
#include <map>

#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/staged_helpers.h"

namespace mica::schedules {

std::vector<InputTaps> input_taps_of(const Func& func) {
  const auto inline_func = [&](const Access& access) -> const FunctionData* {
    const FunctionData* f = access.function.get();
    const bool placed = f == nullptr || f->definitions.size() != 1 || f->definitions[0].recurrence ||
                        !f->definitions[0].directives.empty();
    return placed ? nullptr : f;
  };
  const std::vector<std::string>& vars = func.function()->args;
  std::map<std::string, std::size_t> places;
  std::vector<InputTaps> inputs;
  for (const Expr& value : func.function()->definitions.front().values) {
    walk(StagedHelpers::taken_in(value, inline_func), [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access == nullptr || !access->image || access->args.size() != vars.size()) return;
      std::vector<std::int64_t> offset;
      for (std::size_t d = 0; d < vars.size(); ++d) {
        const auto one = offset_from(access->args[d], vars[d]);
        if (!one) return;
        offset.push_back(*one);
      }
      const auto [place, is_new] = places.emplace(access->image->name, inputs.size());
      if (is_new) inputs.push_back({access->image->name});
      inputs[place->second].offsets.insert(offset);
    });
  }
  const std::size_t march = std::min<std::size_t>(vars.size() - 1, 2);
  for (InputTaps& input : inputs) {
    const auto own = std::count_if(input.offsets.begin(), input.offsets.end(), [&](const auto& offset) {
      for (std::size_t d = 0; d < vars.size(); ++d) {
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
