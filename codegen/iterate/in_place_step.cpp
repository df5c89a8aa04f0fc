#include "codegen/iterate/in_place_step.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "codegen/compile.h"
#include "codegen/iterate/copy_funcs.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::iterate {
namespace {

using Offset = std::vector<std::int64_t>;
using Images = std::vector<std::shared_ptr<const ImageData>>;

constexpr std::size_t kMostOffsets = 1000;  // at which one Func is read

/// "(x - 1, y)" of the Func's Vars.
std::string point_text(const FunctionData& step, const Offset& offset) {
  std::string text;
  for (std::size_t d = 0; d < offset.size(); ++d) {
    text += (d > 0 ? ", " : "(") + printed(step.args[d]);
    if (offset[d] != 0) text += (offset[d] < 0 ? " - " : " + ") + std::to_string(std::abs(offset[d]));
  }
  return text + ")";
}

/// Where the step reads a field.
struct Tap {
  Offset offset;            ///< from its point
  std::vector<Expr> place;  ///< the element, of the step's Vars
};

[[noreturn]] void fail(const std::string& why, const CallSite& at) {
  throw UserError("in_place needs a step that reads each field at one point, but " + why +
                      ": leave in_place out, or read it at one point",
                  at);
}

class Finder {
 public:
  Finder(const Func& step, const Images& fields, const CallSite& at)
      : fields_(fields), at_(at), step_(*step.function()), graph_(collect_graph({step.function()})) {}

  /// By field.
  std::vector<Tap> run() {
    for (const auto& f : graph_.funcs) look_for_fields(*f);
    read_at_[&step_].insert(Offset(step_.args.size(), 0));
    taps_.resize(fields_.size());
    for (auto f = graph_.funcs.rbegin(); f != graph_.funcs.rend(); ++f) {
      if (reads_fields_.count(f->get()) == 0 || read_at_.count(f->get()) == 0) continue;
      if ((*f)->definitions.size() > 1) fail((*f)->name + " has updates", at_);
      visit_nodes((*f)->definitions.front().values, [&](const Expr& e) {
        if (const auto* access = e.as<Access>()) add(**f, *access);
      });
    }
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (taps_[f].offset.empty()) fail("it does not read " + fields_[f]->name, at_);
    }
    return taps_;
  }

 private:
  // Funcs come after those that they read.
  void look_for_fields(const FunctionData& f) {
    for (const Definition& definition : f.definitions) {
      visit_nodes(definition.values, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        if (access == nullptr) return;
        const bool reads = access->function != nullptr ? reads_fields_.count(access->function.get()) > 0
                                                       : number_of(*access) < fields_.size();
        if (reads) reads_fields_.insert(&f);
      });
    }
  }
  [[nodiscard]] std::size_t number_of(const Access& access) const {
    const auto found = std::find(fields_.begin(), fields_.end(), access.image);
    return static_cast<std::size_t>(found - fields_.begin());
  }

  void add(const FunctionData& reader, const Access& access) {
    const bool is_func = access.function != nullptr;
    const std::size_t field = is_func ? fields_.size() : number_of(access);
    if (is_func ? reads_fields_.count(access.function.get()) == 0 : field == fields_.size()) return;
    const std::size_t dims = step_.args.size();
    Offset own;
    std::vector<bool> wraps;
    for (std::size_t d = 0; d < access.args.size() && access.args.size() == dims; ++d) {
      const Expr index = is_func ? access.args[d] : unwrapped(access.args[d], d, fields_);
      const auto offset = reader.args.size() == dims ? offset_from(index, reader.args[d]) : std::nullopt;
      if (!offset) break;
      own.push_back(*offset);
      wraps.push_back(index.ptr() != access.args[d].ptr());
    }
    if (own.size() < dims) fail(reader.name + " reads " + tap_text(access), at_);
    for (const Offset& from : read_at_[&reader]) {
      Offset sum = from;
      for (std::size_t d = 0; d < dims; ++d) sum[d] += own[d];
      if (is_func) {
        std::set<Offset>& at = read_at_[access.function.get()];
        at.insert(sum);
        if (at.size() > kMostOffsets) fail(access.name + " is read at many points", at_);
        continue;
      }
      for (std::size_t d = 0; d < dims; ++d) {
        if (sum[d] == 0 || wraps[d]) continue;
        fail(access.name + " is read at " + point_text(step_, sum) +
                 " and ends at its box there, where repeat_image would go on",
             at_);
      }
      Tap& tap = taps_[field];
      if (!tap.offset.empty() && tap.offset != sum) {
        fail(access.name + " is read at " + point_text(step_, tap.offset) + " and at " +
                 point_text(step_, sum),
             at_);
      }
      tap = {sum, {}};
      for (std::size_t d = 0; d < dims; ++d) {
        const Expr point = Expr(Var(step_.args[d])) + static_cast<int>(from[d]);
        tap.place.push_back(substitute(access.args[d], reader.args[d], point));
      }
    }
  }

  const Images& fields_;
  const CallSite& at_;
  const FunctionData& step_;
  const FuncGraph graph_;
  std::vector<Tap> taps_;
  std::set<const FunctionData*> reads_fields_;
  std::map<const FunctionData*, std::set<Offset>> read_at_;  ///< offsets from the step's point
};

/// For each field the one that is read on the other side; itself, if it is read at the point.
std::vector<std::size_t> opposites(const FunctionData& step, const Images& fields,
                                   const std::vector<Tap>& taps, const CallSite& at) {
  std::vector<std::size_t> others(fields.size(), fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (others[f] < fields.size()) continue;
    Offset other_side = taps[f].offset;
    for (std::int64_t& d : other_side) d = -d;
    std::size_t o = f;
    if (other_side != taps[f].offset) {
      for (o = 0; o < fields.size(); ++o) {
        if (others[o] == fields.size() && taps[o].offset == other_side &&
            fields[o]->type == fields[f]->type) {
          break;
        }
      }
    }
    if (o == fields.size()) {
      throw UserError(
          "in_place lets a value take the place of a field that is read on the other side, but " +
              fields[f]->name + " is read at " + point_text(step, taps[f].offset) +
              ", and no field of " + to_string(fields[f]->type) + " of its own at " +
              point_text(step, other_side) + ": leave in_place out",
          at);
    }
    others[f] = o;
    others[o] = f;
  }
  return others;
}

/// It keeps its name, by which directives of what it reads know it.
Func copied(const Func& step, const FuncCopier::Read& read, std::vector<std::vector<Expr>> places) {
  FuncCopier copier(read, [&](const std::shared_ptr<FunctionData>& copy, const FunctionData& original) {
    if (&original == step.function().get()) copy->definitions.front().places = places;
  });
  copier.require(step.function().get());
  const std::shared_ptr<const FunctionData> function = step.function();
  return Func(std::const_pointer_cast<FunctionData>(copier(function)));
}

/// Reads fields where the values lie after a step away, from a step later on.
FuncCopier::Read read_back(const Images& fields, const std::vector<Tap>& taps,
                           const std::vector<std::size_t>& others) {
  return [&](const Expr& e) -> std::optional<Expr> {
    if (const auto* param = e.as<ParamRef>()) {
      if (param->param != step_param().data()) return std::nullopt;
      return Expr(step_param()) + 1;
    }
    const auto* access = e.as<Access>();
    if (access == nullptr || access->image == nullptr) return std::nullopt;
    const auto f = static_cast<std::size_t>(std::find(fields.begin(), fields.end(), access->image) -
                                            fields.begin());
    if (f == fields.size()) return std::nullopt;
    std::vector<Expr> at;
    for (std::size_t d = 0; d < access->args.size(); ++d) {
      at.push_back(unwrapped(access->args[d], d, fields) - static_cast<int>(taps[f].offset[d]));
    }
    return ImageParam(fields[others[f]])(at);
  };
}

}  // namespace

InPlaceStep make_in_place_step(const Iteration::State& state, const CallSite& at) {
  const Func& step = state.outputs.front().func;
  const FunctionData& function = *step.function();
  if (state.outputs.size() > 1) {
    fail(step.name() + " and " + state.outputs[1].func.name() + " both replace fields", at);
  }
  if (function.definitions.front().recurrence) fail(step.name() + " reads itself", at);
  Images fields;
  for (const Replacement& r : state.replacements) {
    if (r.input) fail(r.field.name() + " takes what " + r.input->name() + " held", at);
    fields.push_back(r.field.data());
  }
  const std::vector<Tap> taps = Finder(step, fields, at).run();
  const std::vector<std::size_t> others = opposites(function, fields, taps, at);

  InPlaceStep result;
  std::vector<Expr> point;
  for (const std::string& arg : function.args) point.emplace_back(Var(arg));
  std::vector<std::vector<Expr>> places, home_places;
  std::vector<Expr> home;
  for (const std::size_t f : state.outputs.front().fields) {
    const std::size_t other = others[f];
    places.push_back(taps[other].place);
    result.away_to.push_back(other);
    result.back_to.push_back(f);
    if (other == f) continue;
    const bool first = f < other;
    home.push_back(ImageParam(fields[other])(first ? taps[other].place : point));
    home_places.push_back(first ? point : taps[f].place);
    result.home_to.push_back(f);
  }
  if (home.empty()) places.clear();
  const auto as_it_is = [](const Expr&) -> std::optional<Expr> { return std::nullopt; };
  result.away = copied(step, as_it_is, places);
  result.back = copied(step, read_back(fields, taps, others), {});
  if (home.empty()) return result;
  result.home = Func(function.name + ".home");
  result.home(point) = Tuple(home);
  result.home.function()->definitions.front().places = home_places;
  return result;
}

CompiledInPlace::CompiledInPlace(const Iteration::State& state, const Target& target)
    : step(make_in_place_step(state, *state.in_place)),
      away(compile(step.away, target)),
      back(compile(step.back, target)) {
  if (step.home_to.empty()) return;
  // A point a thread: vectors of all fields would not find registers.
  const std::vector<Var> v = step.home.args();
  if (target.is_gpu() && v.size() == 2) step.home.gpu_tile(v[0], v[1], 32, 4);
  if (target.is_gpu() && v.size() == 3) step.home.gpu_tile(v[0], v[1], v[2], 32, 4, 1);
  home = compile(step.home, target);
}

}  // namespace mica::iterate
