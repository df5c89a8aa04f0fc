#include "schedules/tune/subject.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/iterate/copy_funcs.h"
#include "codegen/passes/funcs/repeated_work.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "schedules/families.h"

namespace mica::tuning {
namespace {

Reads reads_of(const schedules::InputTaps& taps, int dimensions, int bytes) {
  Reads reads{taps.name, bytes, taps.offsets.size(), 0, {}, taps.in_column, {}};
  reads.offsets.assign(taps.offsets.begin(), taps.offsets.end());
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

/// The inputs of all outputs with the taps of each, those of most taps first.
std::vector<schedules::InputTaps> taps_of(const std::vector<Func>& outputs,
                                          schedules::Boundaries boundaries) {
  std::vector<schedules::InputTaps> all;
  for (const Func& output : outputs) {
    for (schedules::InputTaps& taps : schedules::input_taps_of(output, boundaries)) {
      const auto known = std::find_if(all.begin(), all.end(),
                                      [&](const auto& other) { return other.name == taps.name; });
      if (known == all.end()) {
        all.push_back(std::move(taps));
        continue;
      }
      known->offsets.merge(taps.offsets);
      known->in_column = known->in_column || taps.in_column;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.offsets.size() > b.offsets.size(); });
  return all;
}

/// What a Func reads for a point, equal reads once.
std::vector<Expr> reads_by(const FunctionData& func) {
  std::vector<Expr> reads;
  analysis::EqualNodes equal_nodes;
  NodeSet known;
  for (const Definition& definition : func.definitions) {
    visit_nodes(definition.values, [&](const Expr& e) {
      if (e.as<Access>() == nullptr) return;
      const Expr first = equal_nodes(e);
      if (known.insert(&first.node())) reads.push_back(first);
    });
  }
  return reads;
}

/// Fills in what the CPU's model asks for. Each read of an inlined Func is taken for another point of
/// it.
void count_work(const std::vector<Func>& outputs, const FuncGraph& graph, Features& features) {
  const std::set<const FunctionData*> ahead = schedules::computed_ahead_of(outputs);
  std::map<const FunctionData*, double> inlined;  // operations of a point of those that are
  for (const auto& func : graph.funcs) {
    const std::vector<Expr> reads = reads_by(*func);
    features.accesses += static_cast<double>(reads.size());
    double operations = 0;
    for (const Definition& d : func->definitions)
      operations += static_cast<double>(arithmetic_in(d.values));
    for (const Expr& read : reads) {
      const auto callee = inlined.find(read.as<Access>()->function.get());
      if (callee != inlined.end()) operations += callee->second;
    }
    if (graph.is_output(func.get()) || ahead.count(func.get()) > 0) {
      features.inlined_operations += operations;
    } else {
      inlined[func.get()] = operations;
    }
  }
}

/// On a CPU what a boundary condition costs lies at the edges; marches of a GPU are not made for it.
Features features_of(const std::vector<Func>& outputs, const Target& target) {
  const auto boundaries =
      target.is_gpu() ? schedules::Boundaries::NotCounted : schedules::Boundaries::Inside;
  Features features;
  features.dimensions = outputs.front().dimensions();
  for (const Func& output : outputs) {
    features.widest = std::max(features.widest, widest_bytes(output.types()));
    for (const Type type : output.types()) features.written_bytes += type.bytes();
  }
  const FuncGraph graph = collect_graph(functions_of(outputs));
  features.producers = graph.funcs.size() - outputs.size();
  features.computing =
      static_cast<std::size_t>(std::ranges::count_if(graph.funcs, [&](const auto& func) {
        return !graph.is_output(func.get()) && !passes::only_moves(*func);
      }));
  for (const auto& func : graph.funcs) {
    features.plain = features.plain && func->definitions.size() == 1 && !func->definitions[0].recurrence;
  }
  features.operations = static_cast<double>(arithmetic_in(graph));
  if (!target.is_gpu()) count_work(outputs, graph, features);
  for (const auto& taps : taps_of(outputs, boundaries)) {
    int bytes = 4;
    for (const auto& image : graph.images)
      bytes = image->name == taps.name ? image->type.bytes() : bytes;
    features.inputs.push_back(reads_of(taps, features.dimensions, bytes));
  }
  Features inside;
  if (boundaries != schedules::Boundaries::Inside) {
    for (const auto& taps : taps_of(outputs, schedules::Boundaries::Inside)) {
      inside.inputs.push_back(reads_of(taps, features.dimensions, 1));
    }
  }
  const Features& counted = boundaries == schedules::Boundaries::Inside ? features : inside;
  for (int d = 0; d < features.dimensions; ++d) {
    features.reach_inside.push_back(counted.reach(static_cast<std::size_t>(d)));
  }
  return features;
}

/// The directives of some Funcs' definitions.
using Directives = std::map<const FunctionData*, std::vector<std::vector<Directive>>>;

}  // namespace

std::int64_t Features::reach(std::size_t dim) const {
  std::int64_t most = 0;
  for (const Reads& reads : inputs) {
    if (dim < reads.reach.size()) most = std::max(most, reads.reach[dim]);
  }
  return most;
}

Subject::Subject(std::vector<Func> outputs, std::vector<std::int64_t> extents, const Target& target,
                 const CallSite& at, std::optional<Stepping> stepping)
    : outputs_(std::move(outputs)),
      extents_(std::move(extents)),
      target_(target),
      stepping_(std::move(stepping)) {
  if (outputs_.empty()) throw UserError("tune: there is no Func to tune", at);
  const Func& first = outputs_.front();
  for (const Func& output : outputs_) {
    if (!output.defined()) {
      throw UserError(
          "tune: " + output.name() + " is not defined: write " + output.name() + "(...) = ... first",
          at);
    }
    if (output.dimensions() == first.dimensions()) continue;
    throw UserError("tune: " + first.name() + " has " + counted(first.args().size(), "dimension") +
                        " and " + output.name() + " has " + counted(output.args().size(), "dimension") +
                        "; outputs that are tuned together have as many",
                    at);
  }
  if (extents_.size() != static_cast<std::size_t>(first.dimensions())) {
    throw UserError("tune: " + first.name() + " has " + counted(first.args().size(), "dimension") +
                        ", and " + counted(extents_.size(), "extent") +
                        " were given; give one for each dimension",
                    at);
  }
  for (const std::int64_t n : extents_) {
    if (n < 1) {
      throw UserError("tune: an extent is " + std::to_string(n) + ", and must be 1 at least", at);
    }
  }
  features_ = features_of(iterate::without_schedule(outputs_), target_);
}

std::int64_t Subject::points() const {
  std::int64_t points = 1;
  for (const std::int64_t n : extents_) points *= n;
  return points;
}

void Subject::set_outputs(const std::vector<AnyBuffer>& outputs, const CallSite& at) {
  constexpr std::int64_t kFew = 4;
  if (outputs.empty()) return;
  std::vector<Type> types;
  for (const Func& output : outputs_) {
    types.insert(types.end(), output.types().begin(), output.types().end());
  }
  if (outputs.size() != types.size()) {
    throw UserError("tune: " + counted(outputs.size(), "output array") + " for " +
                        counted(types.size(), "value") + "; give one for each value, or none",
                    at);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<std::int64_t> extents;
    for (const BufferDim& dim : outputs[i].dims()) extents.push_back(dim.extent);
    if (extents != extents_ || outputs[i].type() != types[i]) {
      throw UserError(fmt::format("tune: output array {} has {} points of {}; the output has {} of {}",
                                  i, fmt::join(extents, " x "), to_string(outputs[i].type()),
                                  fmt::join(extents_, " x "), to_string(types[i])),
                      at);
    }
    for (const BufferDim& dim : outputs[i].dims()) {
      if (dim.stride > 0) continue;
      throw UserError(
          fmt::format("tune: output array {} has a stride of {}; give one of positive strides, "
                      "whose layout is the same otherwise",
                      i, dim.stride),
          at);
    }
    const BufferDim& last = outputs[i].dims().back();
    is_other_ = is_other_ || outputs[i].dims().front().stride != 1;
    is_interleaved_ = is_interleaved_ || (extents_.size() == 3 && last.stride == 1 && last.min == 0 &&
                                          last.extent > 1 && last.extent <= kFew);
  }
}

std::vector<Func> Subject::scheduled(const TuneCandidate& candidate) const {
  std::vector<Func> copies = iterate::without_schedule(outputs_);
  if (candidate.recipe.empty()) return copies;
  // A schedule is put on each output, and takes those away that are on what it reads. What one output
  // has computed ahead stays so where another says nothing of it.
  const auto is_ahead = [](const std::vector<std::vector<Directive>>& directives) {
    return directives.size() == 1 && directives[0].size() == 1 &&
           std::holds_alternative<directive::ComputeRoot>(directives[0][0].op);
  };
  Directives all;
  for (Func& copy : copies) {
    schedules::apply(copy, candidate.recipe, candidate.parameters);
    for (const auto& func : collect_graph({copy.function()}).funcs) {
      const bool is_output =
          std::any_of(copies.begin(), copies.end(), [&](const Func& f) { return f.function() == func; });
      if (is_output && func != copy.function()) continue;
      std::vector<std::vector<Directive>>& directives = all[func.get()];
      const bool says_nothing = func->definitions.size() == 1 && func->definitions[0].directives.empty();
      if (is_ahead(directives) && says_nothing) continue;
      directives.clear();
      for (Definition& definition : func->definitions) directives.push_back(definition.directives);
    }
  }
  for (const auto& func : collect_graph(functions_of(copies)).funcs) {
    const auto own = all.find(func.get());
    for (std::size_t d = 0; own != all.end() && d < func->definitions.size(); ++d) {
      func->definitions[d].directives = own->second[d];
    }
  }
  return copies;
}

std::shared_ptr<Iteration::State> Subject::scheduled_steps(const TuneCandidate& candidate) const {
  return stepping_->state->scheduled_as(scheduled(candidate), candidate.steps());
}

}  // namespace mica::tuning
