#include "codegen/iterate/time_levels.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "codegen/analysis/bounds.h"
#include "codegen/iterate/copy_funcs.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/schedule/compute_place.h"

namespace mica::iterate {
namespace {

/// The value of a field at a point, after some steps.
using Value = std::function<Expr(const std::vector<Expr>&)>;

std::vector<Expr> args_of(const FunctionData& func) {
  std::vector<Expr> args;
  for (const std::string& name : func.args) args.emplace_back(Var(name));
  return args;
}

/// A Func of one value, or of a Tuple of them.
void define(Func& func, const std::vector<Expr>& args, const std::vector<Expr>& values) {
  if (values.size() == 1) {
    func(args) = values.front();
  } else {
    func(args) = Tuple(values);
  }
}

class LevelMaker {
 public:
  LevelMaker(const Iteration::State& state, const JointStep& joint, TimeLevels& tile,
             const TileForm& form)
      : state_(state),
        joint_(joint),
        step_func_(joint.func.function()),
        tile_(tile),
        form_(form),
        opened_(form.open ? open_edges(joint.func) : std::nullopt),
        holds_(!form.whole || state.periods.any() || opened_),
        funcs_(collect_graph({step_func_}).funcs),
        still_(
            [this](const Expr& e) -> std::optional<Expr> {
              const auto* access = e.as<Access>();
              return access != nullptr ? held_read(*access) : std::nullopt;
            },
            [this](const auto& copy, const FunctionData& original) { take(copy, original, {}); }) {
    std::erase(funcs_, step_func_);
    for (const Replacement& r : state.replacements) fields_.push_back(r.field.data());
    find_varying();
    find_far();
    for (const auto& func : funcs_) still_.require(func.get());
    tile_.periods = state.periods;
    if (opened_) tile_.edges = opened_->edges;
    tile_.box = *std::find_if(fields_.begin(), fields_.end(),
                              [&](const auto& field) { return state.reads->reads(field.get()); });
    for (const Replacement& r : state.replacements) {
      if (!holds_) {
        now_.push_back([field = r.field](const std::vector<Expr>& at) { return field(at); });
        continue;
      }
      const Func held = held_of(r.field);
      tile_.held.push_back(held);
      now_.push_back([held](const std::vector<Expr>& at) { return Expr(held(at)); });
    }
  }

  /// The fields after one more step, the `number`-th from 0 on.
  void step(int number) {
    const std::vector<Expr> values = values_of(number);
    Func level(step_func_->name + ".t" + std::to_string(number + 1));
    const std::vector<Expr> args = args_of(*step_func_);
    std::vector<Expr> kept;
    for (std::size_t v = 0; v < values.size(); ++v) {
      kept.push_back(form_.whole ? values[v] : kept_outside(values[v], v, args, args.size()));
    }
    define(level, args, kept);
    tile_.levels.push_back(level);
    std::vector<Value> next(now_.size());
    for (std::size_t f = 0; f < now_.size(); ++f) {
      const Replacement& r = state_.replacements[f];
      if (r.input) {
        next[f] = now_[state_.field_number(*r.input, r.where)];
      } else if (kept.size() == 1) {
        next[f] = [level](const std::vector<Expr>& at) { return Expr(level(at)); };
      } else {
        next[f] = [level, v = value_of(f)](const std::vector<Expr>& at) { return Expr(level(at)[v]); };
      }
    }
    now_ = std::move(next);
  }

  /// The last step, over the stepped box alone or, where its ends are still, beside it; of boxes that
  /// are apart, over what lies around them.
  void finish(int number) {
    const std::vector<Expr> args = args_of(*step_func_);
    std::vector<Expr> values = values_of(number);
    tile_.last.function()->still_ends = form_.still_ends;
    for (std::size_t v = 0; v < values.size() && (form_.still_ends || form_.apart); ++v) {
      values[v] = kept_outside(values[v], v, args, form_.apart ? args.size() : 1);
    }
    define(tile_.computed, args, values);
    for (std::size_t f = 0; f < state_.replacements.size(); ++f) {
      const Replacement& r = state_.replacements[f];
      if (r.input) {
        tile_.direct.push_back(now_[state_.field_number(*r.input, r.where)](args));
        tile_.kept.push_back(tile_.direct.back());
        continue;
      }
      const int v = value_of(f);
      tile_.direct.push_back(values[static_cast<std::size_t>(v)]);
      tile_.kept.push_back(values.size() == 1 ? Expr(tile_.computed(args))
                                              : Expr(tile_.computed(args)[v]));
    }
    define(tile_.last, args, tile_.direct);
  }

 private:
  /// Which of the step's values field `f` gets.
  [[nodiscard]] int value_of(std::size_t f) const {
    return static_cast<int>(std::find(joint_.fields.begin(), joint_.fields.end(), f) -
                            joint_.fields.begin());
  }
  /// Value `v` of the step within its box along the first `dims` dimensions, else what it was.
  Expr kept_outside(const Expr& value, std::size_t v, const std::vector<Expr>& args, std::size_t dims) {
    const Expr inside = stepped(args, dims, form_.apart ? joint_.outputs[v] : 0);
    return inside.defined() ? select(inside, value, now_[joint_.fields[v]](args)) : value;
  }
  /// The step's values, read from the fields as they are now.
  std::vector<Expr> values_of(int number) {
    const auto read = [&](const Expr& e) -> std::optional<Expr> {
      if (const auto* param = e.as<ParamRef>()) {
        if (param->param != step_param().data() || number == 0) return std::nullopt;
        return Expr(step_param()) + number;
      }
      const auto* access = e.as<Access>();
      if (access == nullptr) return std::nullopt;
      for (std::size_t f = 0; f < now_.size(); ++f) {
        if (state_.replacements[f].field.data() == access->image) return now_[f](around(access->args));
      }
      const bool still =
          access->function != nullptr && !access->is_self && varying_.count(access->function.get()) == 0;
      if (!still) return held_read(*access);
      Access changed = *access;
      changed.function = still_(access->function);
      return make_expr(e.type(), std::move(changed));
    };
    FuncCopier copier(read, [&](const auto& copy, const FunctionData& original) {
      if (take(copy, original, number)) copy->name += ".t" + std::to_string(number + 1);
    });
    // What is the user's keeps its directives when those of the tile are made anew.
    for (const auto& func : funcs_) copier.require(func.get());
    std::vector<Expr> values;
    const Definition& definition = step_func_->definitions.front();
    for (const Expr& value : opened_ ? opened_->values : definition.values) {
      values.push_back(copier(value));
    }
    return values;
  }

  /// Other inputs than the fields, where those are read beyond their boxes.
  std::optional<Expr> held_read(const Access& access) {
    if (access.image == nullptr || !holds_) return std::nullopt;
    const auto [found, is_new] = others_.try_emplace(access.image.get());
    if (is_new) {
      found->second = held_of(ImageParam(access.image));
      tile_.held.push_back(found->second);
    }
    return Expr(found->second(around(access.args)));
  }

  /// Takes a copy of what the step reads, without its directives. Is it one that is not inline?
  bool take(const std::shared_ptr<FunctionData>& copy, const FunctionData& original,
            std::optional<std::size_t> level) {
    clear_directives(*copy);
    if (compute_place(original, false).kind == ComputePlace::Kind::Inline) return false;
    const auto same = [&](const auto& func) { return func.get() == &original; };
    tile_.producers.push_back({Func(copy), *std::find_if(funcs_.begin(), funcs_.end(), same), level,
                               !level || (far_.count(&original) == 0 && is_near(original))});
    return true;
  }

  [[nodiscard]] bool is_of_fields(const Access& access) const {
    return of_fields_.count(access.function.get()) > 0 ||
           (access.image != nullptr &&
            std::find(fields_.begin(), fields_.end(), access.image) != fields_.end());
  }
  [[nodiscard]] bool varies(const Access& access) const {
    return varying_.count(access.function.get()) > 0 || is_of_fields(access);
  }
  /// The Funcs in which the fields, or the number of the step, have a part.
  void find_varying() {
    for (const auto& func : funcs_) {
      bool found = false, of_fields = false;
      for (const Definition& definition : func->definitions) {
        std::vector<Expr> all = definition.values;
        all.insert(all.end(), definition.args.begin(), definition.args.end());
        visit_nodes(all, [&](const Expr& e) {
          const auto* access = e.as<Access>();
          const auto* param = e.as<ParamRef>();
          of_fields = of_fields || (access != nullptr && is_of_fields(*access));
          found = found || (access != nullptr && varies(*access)) ||
                  (param != nullptr && param->param == step_param().data());
        });
      }
      if (found) varying_.insert(func.get());
      if (of_fields) of_fields_.insert(func.get());
    }
  }
  /// Does the read follow the reader's own point along each dimension?
  static bool follows(const Access& access, const FunctionData& reader) {
    bool follows = access.args.size() == reader.args.size();
    for (std::size_t d = 0; follows && d < access.args.size(); ++d) {
      follows = uses_var(access.args[d], reader.args[d]);
    }
    return follows;
  }
  /// Does every read of what varies?
  [[nodiscard]] bool is_near(const FunctionData& func) const {
    bool near = true;
    for (const Definition& definition : func.definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        near = near && (!varies(access) || follows(access, func));
      });
    }
    return near;
  }
  /// The Funcs made of the fields that a point of the step needs away from itself, at a row of all or as
  /// parts of a sum.
  void find_far() {
    const auto visit = [&](const FunctionData& reader) {
      const bool is_far = far_.count(&reader) > 0;
      for (const Definition& definition : reader.definitions) {
        analysis::for_each_access(definition, [&](const Access& access) {
          if (of_fields_.count(access.function.get()) == 0 || access.is_self) return;
          if (is_far || !follows(access, reader)) far_.insert(access.function.get());
        });
      }
    };
    visit(*step_func_);
    for (auto reader = funcs_.rbegin(); reader != funcs_.rend(); ++reader) visit(**reader);
  }

  /// An input within its own box; outside of it, where a step repeats, what the input is a period away,
  /// elsewhere the nearest element, on which no point inside of the stepped box depends.
  [[nodiscard]] Func held_of(const ImageParam& field) const {
    Func held(field.name() + ".held");
    std::vector<Expr> args, at;
    for (int d = 0; d < field.dimensions(); ++d) {
      args.emplace_back(Var("d" + std::to_string(d)));
      at.push_back(repeats(d) ? wrapped(args.back(), static_cast<std::size_t>(d), tile_.box)
                              : clamp(args.back(), field.dim(d).min(), field.dim(d).max()));
    }
    held(args) = field(at);
    return held;
  }
  [[nodiscard]] bool repeats(int d) const {
    const auto& repeats = state_.periods.repeats;
    return static_cast<std::size_t>(d) < repeats.size() && repeats[static_cast<std::size_t>(d)];
  }
  /// Where a step that repeats reads a field: the levels before it repeat, too.
  [[nodiscard]] std::vector<Expr> around(std::vector<Expr> args) const {
    for (std::size_t d = 0; d < args.size(); ++d) {
      if (repeats(static_cast<int>(d))) args[d] = unwrapped(args[d], d, fields_);
    }
    return args;
  }

  /// The box of the step's Func number `output` along the first `dims` dimensions; undefined where all
  /// of them repeat. Bounds that name the field's extents: passes take the box for the longer part of
  /// each loop.
  Expr stepped(const std::vector<Expr>& args, std::size_t dims, std::size_t output) {
    tile_.margins.resize(form_.apart ? state_.outputs.size() : 1);
    Margins& margins = tile_.margins[output];
    if (margins.empty()) {
      for (const std::string& name : step_func_->args) {
        margins.emplace_back(Param<std::int32_t>("kept before " + name),
                             Param<std::int32_t>("kept after " + name));
      }
    }
    const ImageParam& field = state_.replacements[state_.outputs[output].fields.front()].field;
    Expr all;
    for (std::size_t d = 0; d < dims; ++d) {
      if (repeats(static_cast<int>(d))) continue;
      const auto points = [&](const Param<std::int32_t>& margin) {
        return clamp(Expr(margin), 0, kWidestMargin);
      };
      const auto dim = field.dim(static_cast<int>(d));
      const Expr one = args[d] >= dim.min() + points(margins[d].first) &&
                       args[d] <= dim.max() - points(margins[d].second);
      all = all.defined() ? all && one : one;
    }
    return all;
  }

  const Iteration::State& state_;
  const JointStep& joint_;
  std::shared_ptr<FunctionData> step_func_;
  TimeLevels& tile_;
  TileForm form_;
  std::optional<OpenedStep> opened_;
  bool holds_;                                        ///< fields are read beyond their boxes
  std::vector<std::shared_ptr<FunctionData>> funcs_;  ///< that the step reads, producers first
  std::set<const FunctionData*> varying_, of_fields_, far_;
  FuncCopier still_;  ///< of those that do not vary
  std::vector<std::shared_ptr<const ImageData>> fields_;
  std::vector<Value> now_;
  std::map<const ImageData*, Func> others_;  ///< coefficients within their boxes
};

/// What becomes of Funcs that others of a step read. They are kept, which takes less of a GPU, too: two
/// steps of a staggered grid in three dimensions 157 registers, inline more than 168, and two thirds of
/// the instructions. But edges are opened where they are inline (open_edges.h).
ReadFuncs read_funcs(const Iteration::State& state, const TileForm& form) {
  if (!form.open || state.outputs.size() == 1) return ReadFuncs::Kept;
  const JointStep joint = joint_step(state, ReadFuncs::Inline);
  return joint.why.empty() && open_edges(joint.func) ? ReadFuncs::Inline : ReadFuncs::Kept;
}

}  // namespace

void TimeLevels::keep_last(bool keep) {
  last.function()->definitions.front().values = keep ? kept : direct;
}

std::vector<Func*> TimeLevels::all() {
  std::vector<Func*> funcs{&last, &computed};
  for (Func& level : levels) funcs.push_back(&level);
  for (Func& one : held) funcs.push_back(&one);
  for (Producer& one : producers) funcs.push_back(&one.func);
  return funcs;
}

bool may_have_still_ends(const Target& target, std::size_t dimensions) {
  return target.is_gpu() && dimensions > 2;
}

bool add_margins(const Margins& margins, const Ranges& box, const Ranges& field,
                 std::vector<RunParam>& params, const CallSite& at) {
  for (std::size_t d = 0; d < margins.size(); ++d) {
    const auto& [min, extent] = box[d];
    const std::int64_t before = min - field[d].first;
    const std::int64_t after = field[d].second - extent - before;
    if (std::max(before, after) > kWidestMargin) return false;
    params.emplace_back(margins[d].first, static_cast<std::int32_t>(before), at);
    params.emplace_back(margins[d].second, static_cast<std::int32_t>(after), at);
  }
  return true;
}

bool opens_edges(const Iteration::State& state, const Target& target) {
  return target.is_gpu() || state.outputs.front().func.dimensions() < 3 || state.reads->at_remainders();
}

TileForm usual_form(const Iteration::State& state, const Target& target) {
  const std::size_t dimensions = state.outputs.front().func.args().size();
  TileForm form{.whole = state.periods.any(), .in_lines = true, .open = opens_edges(state, target)};
  const JointStep joint = joint_step(state, ReadFuncs::Inline);
  const auto opened = form.open && joint.why.empty() ? open_edges(joint.func) : std::nullopt;
  if (opened) {
    std::set<std::size_t> along;
    for (const OpenedEdge& edge : opened->edges) along.insert(edge.dimension);
    form.whole = form.whole || along.size() == dimensions;
    form.in_lines = !form.whole;
  }
  form.apart = state.outputs.size() > 1 && !form.whole;
  if (may_have_still_ends(target, dimensions) && !form.whole && !form.apart) form.still_ends = true;
  return form;
}

TimeLevels make_time_levels(const Iteration::State& state, int steps, const TileForm& form,
                            const CallSite& at) {
  for (const Iteration::State::Output& output : state.outputs) {
    const Func& func = output.func;
    if (func.function()->definitions.front().recurrence) {
      throw UserError("time_tile needs a step that reads the fields alone, but " + func.name() +
                          " reads itself: leave time_tile out",
                      at);
    }
    if (func.function()->definitions.size() > 1) {
      throw UserError("time_tile needs a step without updates, but " + func.name() +
                          " has them: write it as one definition, or leave time_tile out",
                      at);
    }
  }
  const JointStep joint = joint_step(state, read_funcs(state, form));
  if (!joint.why.empty()) {
    throw UserError("time_tile needs a step whose Funcs have one number of dimensions, but " +
                        joint.why + ": leave time_tile out",
                    at);
  }
  TimeLevels tile;
  tile.last = Func(joint.func.name() + ".t" + std::to_string(steps));
  tile.computed = Func(tile.last.name() + ".computed");
  LevelMaker maker(state, joint, tile, form);
  for (int n = 0; n + 1 < steps; ++n) maker.step(n);
  maker.finish(steps - 1);
  return tile;
}

}  // namespace mica::iterate
