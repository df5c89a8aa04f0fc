#include "schedules/input_taps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::schedules {

namespace {

/// Where a Func reads an input: in each of the input's dimensions so many points from one of the Func's
/// variables, given by its place.
using Place = std::vector<std::pair<std::size_t, std::int64_t>>;
/// The places by inputs, in the order in which these are met.
using Places = std::vector<std::pair<std::string, std::set<Place>>>;

void add(Places& places, const std::string& input, const Place& place) {
  auto known = std::find_if(places.begin(), places.end(),
                            [&](const auto& other) { return other.first == input; });
  if (known == places.end()) known = places.insert(places.end(), {input, {}});
  known->second.insert(place);
}

/// Without what keeps an index inside of an array: limits, remainders, and what is added beside a
/// remainder.
Expr inside(const Expr& e, const std::vector<std::string>& vars) {
  const auto follows = [&](const Expr& part) {
    return std::ranges::any_of(vars, [&](const std::string& v) { return uses_var(part, v); });
  };
  Expr at = e;
  while (const auto* op = at.as<Binary>()) {
    const bool limits = op->op == BinaryOp::Min || op->op == BinaryOp::Max || op->op == BinaryOp::Mod;
    const bool adds = op->op == BinaryOp::Add || op->op == BinaryOp::Sub;
    const bool constant = op->b.as<IntImm>() != nullptr || op->a.as<IntImm>() != nullptr;
    if ((!limits && !adds) || (adds && constant) || follows(op->a) == follows(op->b)) break;
    if (op->op == BinaryOp::Sub && follows(op->b)) break;
    at = follows(op->a) ? op->a : op->b;
  }
  return at;
}

std::optional<std::pair<std::size_t, std::int64_t>> from_variable(const Expr& e,
                                                                  const std::vector<std::string>& vars) {
  for (std::size_t v = 0; v < vars.size(); ++v) {
    if (const auto offset = offset_from(e, vars[v])) return std::pair(v, *offset);
  }
  return std::nullopt;
}

/// Those of Funcs, of producers before consumers. A Func that another one takes in lends it its places:
/// to write its value out would grow with the number of ways to an input.
class PlacesOf {
 public:
  explicit PlacesOf(Boundaries boundaries) : boundaries_(boundaries) {}

  const Places& operator()(const FunctionData& func, int element) const {
    static const Places kNone;
    const auto found = known_.find({&func, element});
    return found == known_.end() ? kNone : found->second;
  }

  void find(const FunctionData& func) {
    const auto& values = func.definitions.front().values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Places& places = known_[{&func, static_cast<int>(i)}];
      visit_nodes({values[i]}, [&](const Expr& e) {
        if (const auto* access = e.as<Access>()) add_those_of(*access, func.args, places);
      });
    }
  }

 private:
  void add_those_of(const Access& access, const std::vector<std::string>& vars, Places& places) const {
    std::vector<std::optional<std::pair<std::size_t, std::int64_t>>> args;
    for (const Expr& arg : access.args) {
      args.push_back(from_variable(boundaries_ == Boundaries::Inside ? inside(arg, vars) : arg, vars));
    }
    const auto is_known = [](const auto& arg) { return arg.has_value(); };
    if (access.image && std::all_of(args.begin(), args.end(), is_known)) {
      Place place;
      for (const auto& arg : args) place.push_back(*arg);
      add(places, access.image->name, place);
    }
    if (!access.function) return;
    for (const auto& [input, inner] : (*this)(*access.function, access.value_index)) {
      for (Place place : inner) {
        bool all = true;
        for (auto& [var, offset] : place) {
          const auto& arg = args.at(var);
          all = all && arg.has_value();
          if (arg) std::tie(var, offset) = std::pair(arg->first, arg->second + offset);
        }
        if (all) add(places, input, place);
      }
    }
  }

  const Boundaries boundaries_;
  std::map<std::pair<const FunctionData*, int>, Places> known_;
};

bool is_taken_in(const FunctionData& f) {
  return f.definitions.size() == 1 && !f.definitions[0].recurrence &&
         f.definitions[0].directives.empty();
}

}  // namespace

std::vector<InputTaps> input_taps_of(const Func& func, Boundaries boundaries) {
  PlacesOf places_of(boundaries);
  for (const auto& f : collect_graph({func.function()}).funcs) {
    if (f == func.function() || is_taken_in(*f)) places_of.find(*f);
  }
  const std::size_t rank = func.function()->args.size();
  std::vector<InputTaps> inputs;
  const auto taps_of = [&](const std::string& name) -> InputTaps& {
    const auto known = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const InputTaps& other) { return other.name == name; });
    return known == inputs.end() ? inputs.emplace_back(InputTaps{name}) : *known;
  };
  for (std::size_t i = 0; i < func.function()->types.size(); ++i) {
    for (const auto& [name, places] : places_of(*func.function(), static_cast<int>(i))) {
      for (const Place& place : places) {
        std::vector<std::int64_t> offset;
        for (std::size_t d = 0; d < place.size() && place[d].first == d; ++d) {
          offset.push_back(place[d].second);
        }
        if (place.size() == rank && offset.size() == rank) taps_of(name).offsets.insert(offset);
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
