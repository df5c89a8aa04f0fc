#include "schedules/tune/subject.h"

#include <algorithm>
#include <set>

#include "codegen/iterate/copy_funcs.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::tuning {
namespace {

Reads reads_of(const schedules::InputTaps& taps, int dimensions, int bytes) {
  Reads reads{taps.name, bytes, taps.offsets.size(), 0, {}, taps.in_column};
  std::set<std::vector<std::int64_t>> rows;
  std::vector<std::int64_t> low(static_cast<std::size_t>(dimensions)), high = low;
  bool first = true;
  for (const auto& offset : taps.offsets) {
    rows.emplace(offset.begin() + 1, offset.end());
    for (std::size_t d = 0; d < offset.size(); ++d) {
      low[d] = first ? offset[d] : std::min(low[d], offset[d]);
      high[d] = first ? offset[d] : std::max(high[d], offset[d]);
    }
    first = false;
  }
  reads.rows = rows.size();
  for (std::size_t d = 0; d < low.size(); ++d) reads.reach.push_back(high[d] - low[d]);
  return reads;
}

bool is_arithmetic(const Expr& e) {
  return !e.type().is_index() && (e.as<Binary>() || e.as<Unary>() || e.as<Fma>() || e.as<Select>() ||
                                  e.as<Compare>() || e.as<Cast>());
}

Features features_of(const Func& output) {
  Features features;
  const FunctionData& data = *output.function();
  features.dimensions = output.dimensions();
  features.widest = widest_bytes(output.types());
  for (const Type type : output.types()) {
    features.written_bytes += type.bytes();
  }
  const FuncGraph graph = collect_graph({output.function()});
  features.producers = graph.funcs.size() - 1;
  std::vector<Expr> values;
  for (const auto& func : graph.funcs) {
    features.plain = features.plain && func->definitions.size() == 1 && !func->definitions[0].recurrence;
    for (const auto& definition : func->definitions) {
      values.insert(values.end(), definition.values.begin(), definition.values.end());
    }
  }
  visit_nodes(values, [&](const Expr& e) { features.operations += is_arithmetic(e) ? 1 : 0; });
  for (const auto& taps : schedules::input_taps_of(output)) {
    int bytes = 4;
    for (const auto& image : graph.images)
      bytes = image->name == taps.name ? image->type.bytes() : bytes;
    features.inputs.push_back(reads_of(taps, static_cast<int>(data.args.size()), bytes));
  }
  return features;
}

}  // namespace

Subject::Subject(const Func& output, std::vector<std::int64_t> extents, const Target& target,
                 const CallSite& at)
    : output_(output), extents_(std::move(extents)), target_(target) {
  if (!output.defined()) {
    throw UserError(
        "tune: " + output.name() + " is not defined: write " + output.name() + "(...) = ... first", at);
  }
  if (extents_.size() != static_cast<std::size_t>(output.dimensions())) {
    throw UserError("tune: " + output.name() + " has " + counted(output.args().size(), "dimension") +
                        ", and " + counted(extents_.size(), "extent") +
                        " were given; give one for each dimension",
                    at);
  }
  for (const std::int64_t n : extents_) {
    if (n < 1) {
      throw UserError("tune: an extent is " + std::to_string(n) + ", and must be 1 at least", at);
    }
  }
  features_ = features_of(copied());
}

std::int64_t Subject::points() const {
  std::int64_t points = 1;
  for (const std::int64_t n : extents_) points *= n;
  return points;
}

Func Subject::copied() const {
  // Wrappers go before anything is done with the copies: the user's Funcs share them.
  iterate::FuncCopier copier([](const Expr&) { return std::nullopt; },
                             [](FunctionData& copy, const FunctionData&) {
                               copy.wrappers.clear();
                               for (Definition& definition : copy.definitions) {
                                 definition.directives.clear();
                                 definition.specializations.clear();
                               }
                             });
  for (const auto& func : collect_graph({output_.function()}).funcs) copier.require(func.get());
  return Func(std::const_pointer_cast<FunctionData>(
      copier(std::shared_ptr<const FunctionData>(output_.function()))));
}

Func Subject::scheduled(const TuneCandidate& candidate) const {
  Func copy = copied();
  if (!candidate.recipe.empty()) schedules::apply(copy, candidate.recipe, candidate.parameters);
  return copy;
}

}  // namespace mica::tuning
