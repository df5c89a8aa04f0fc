#include "dsl/pipeline/block_taps.h"

#include <algorithm>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"

namespace mica {

namespace {

using Reaches = std::vector<std::optional<Reach>>;

/// Where an argument of an access by a Func with the given reaches lies.
std::optional<Reach> reach_of_index(const Expr& index, const std::vector<std::string>& args,
                                    const Reaches& own) {
  for (std::size_t d = 0; d < args.size(); ++d) {
    const auto offset = offset_from(index, args[d]);
    if (!offset || !own[d]) continue;
    return Reach{own[d]->var, own[d]->low + *offset, own[d]->high + *offset};
  }
  return std::nullopt;
}

void unite(std::optional<Reach>& reach, const std::optional<Reach>& other) {
  if (!reach || !other || reach->var != other->var) {
    reach.reset();
    return;
  }
  reach->low = std::min(reach->low, other->low);
  reach->high = std::max(reach->high, other->high);
}

void visit_accesses(const FunctionData& f, const std::function<void(const Access&)>& visit) {
  for (const auto& definition : f.definitions) {
    for (const auto* exprs : {&definition.args, &definition.values}) {
      visit_nodes(*exprs, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        if (access && !access->is_self) visit(*access);
      });
    }
  }
}

}  // namespace

std::string dimension_of(const LoopNestSpec& nest, const std::string& loop) {
  std::map<std::string, std::string> dimension;
  const auto of = [&](const std::string& name) {
    const auto it = dimension.find(name);
    return it == dimension.end() ? name : it->second;
  };
  for (const auto& step : nest.steps) {
    if (step.kind == SplitStep::Split) {
      const std::string divided = of(step.old_var);
      dimension[step.outer] = dimension[step.inner] = divided;
    } else {
      const bool same = of(step.inner) == of(step.outer);
      dimension[step.old_var] = same ? of(step.inner) : "";
    }
  }
  return of(loop);
}

std::optional<std::int64_t> block_points(const LoopNestSpec& nest, const std::string& var) {
  std::int64_t points = 1;
  for (const auto& dim : nest.dims) {
    if (dim.kind == LoopKind::GpuBlock || dim.kind == LoopKind::March) continue;
    const std::string of = dimension_of(nest, dim.name);
    if (of.empty()) return std::nullopt;
    if (of != var) continue;
    if (dim.extent == 0) return std::nullopt;
    points *= dim.extent;
  }
  return points;
}

std::vector<Access> taps_of(const ScheduleView& view, const FuncView& f, const std::string& source) {
  std::vector<Access> taps;
  for (const auto& reader : view.funcs()) {
    const bool part = view.is_part_of(reader, f);
    if (&reader != &f && !part) continue;
    visit_accesses(*reader.func, [&](const Access& access) {
      if (access.name != source && user_name(view, access.name) != source) return;
      const bool known = std::any_of(taps.begin(), taps.end(), [&](const Access& tap) {
        return std::equal(tap.args.begin(), tap.args.end(), access.args.begin(), access.args.end(),
                          [](const Expr& a, const Expr& b) { return equal(a, b); });
      });
      if (!known) taps.push_back(access);
    });
  }
  return taps;
}

std::vector<std::optional<Reach>> reach_of(const ScheduleView& view, const FuncView& f,
                                           const std::string& source) {
  std::map<std::string, Reaches> reaches;
  for (const auto& arg : f.func->args) reaches[f.name()].push_back(Reach{arg, 0, 0});
  const auto& funcs = view.funcs();
  for (auto reader = funcs.rbegin(); reader != funcs.rend(); ++reader) {
    const auto own = reaches.find(reader->name());
    const bool root = !reader->staged_by && reader->place.kind == ComputePlace::Kind::Root;
    if (own == reaches.end() || (root && &*reader != &f)) continue;
    const Reaches from = own->second;
    visit_accesses(*reader->func, [&](const Access& access) {
      Reaches& to = reaches[access.name];
      const bool first = to.empty();
      for (std::size_t d = 0; d < access.args.size(); ++d) {
        const auto reach = reach_of_index(access.args[d], reader->func->args, from);
        if (first) {
          to.push_back(reach);
        } else {
          unite(to[d], reach);
        }
      }
    });
  }
  const auto it = reaches.find(source);
  return it == reaches.end() ? Reaches() : it->second;
}

}  // namespace mica
