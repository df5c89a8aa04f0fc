#include "dsl/pipeline/march_taps.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/pipeline.h"
#include "dsl/schedule/compute_place.h"

namespace mica {

namespace {

// coefficient*var + constant.
struct Affine {
  std::int64_t coefficient = 0, constant = 0;
};

std::optional<Affine> affine(const Expr& e, const std::string& var) {
  if (const auto* value = as_int(e)) return Affine{0, *value};
  if (const auto* ref = e.as<VarRef>()) {
    return ref->name == var ? std::optional(Affine{1, 0}) : std::nullopt;
  }
  const auto* op = e.as<Binary>();
  if (op == nullptr || (op->op != BinaryOp::Add && op->op != BinaryOp::Sub)) return std::nullopt;
  const std::optional<Affine> a = affine(op->a, var);
  const std::optional<Affine> b = affine(op->b, var);
  if (!a || !b) return std::nullopt;
  const std::int64_t sign = op->op == BinaryOp::Add ? 1 : -1;
  return Affine{a->coefficient + sign * b->coefficient, a->constant + sign * b->constant};
}

// The planes that an expression reads: offsets of its taps along the march. `known` is false when an
// index is something else than `march + c`.
struct Planes {
  std::set<std::int64_t> offsets;
  bool known = true;
};

Planes planes_of(const Expr& e, const std::string& march) {
  Planes planes;
  walk(e, [&](const Expr& node) {
    const auto* access = node.as<Access>();
    if (access == nullptr) return;
    for (const Expr& arg : access->args) {
      if (!uses_var(arg, march)) continue;
      const auto offset = offset_from(arg, march);
      if (offset) {
        planes.offsets.insert(*offset);
      } else {
        planes.known = false;
      }
    }
  });
  return planes;
}

// One link of a chain of sums: what it adds to the links before it.
struct Link {
  Expr node;  // fma(a, b, rest), rest + a or rest - a; the first link is any expression
  Expr rest;  // undefined in the first link
};

std::vector<Link> chain_of(const Expr& e) {
  std::vector<Link> links;
  Expr at = e;
  for (;;) {
    if (const auto* fma = at.as<Fma>()) {
      links.push_back({at, fma->c});
    } else if (const auto* op = at.as<Binary>();
               op && at.type().is_float() && (op->op == BinaryOp::Add || op->op == BinaryOp::Sub)) {
      links.push_back({at, op->a});
    } else {
      links.push_back({at, {}});
      break;
    }
    at = links.back().rest;
  }
  std::reverse(links.begin(), links.end());
  return links;
}

// The link with another expression in the place of what stood before it.
Expr with_rest(const Link& link, const Expr& rest) {
  if (const auto* fma = link.node.as<Fma>())
    return make_expr(link.node.type(), Fma{fma->a, fma->b, rest});
  const auto* op = link.node.as<Binary>();
  return make_expr(link.node.type(), Binary{op->op, rest, op->b});
}

// What a link adds, for looking at its taps.
Planes planes_of(const Link& link, const std::string& march) {
  if (!link.rest.defined()) return planes_of(link.node, march);
  if (const auto* fma = link.node.as<Fma>()) {
    Planes a = planes_of(fma->a, march);
    const Planes b = planes_of(fma->b, march);
    a.offsets.insert(b.offsets.begin(), b.offsets.end());
    a.known = a.known && b.known;
    return a;
  }
  return planes_of(link.node.as<Binary>()->b, march);
}

/// `e` where `condition` is known to hold, or not to.
Expr where(const Expr& condition, bool holds, const Expr& e) {
  NodeRewriter chosen([&](const Expr& node) -> Expr {
    const auto* select = node.as<Select>();
    if (select == nullptr || !equal(select->condition, condition)) return {};
    return where(condition, holds, holds ? select->if_true : select->if_false);
  });
  return chosen(e);
}

/// Conditions on a point's plane by which terms of its sum choose: where one does not hold, those of the
/// plane before (or behind) read the point's own plane. Undefined: there is none.
struct Edges {
  Expr before, behind;
};

class Scatterer {
 public:
  Scatterer(FunctionData& f, std::string march, Partials partials)
      : f_(f), march_(std::move(march)), partials_(partials) {}

  ScatteredSum run() {
    if (f_.definitions.size() != 1)
      return refuse("it has updates, whose order is part of the algorithm");
    if (f_.types.size() != 1) return refuse("it has several values; scatter each in a Func of its own");
    Definition& definition = f_.definitions.front();
    Expr value = rewrite(definition.values.front());
    if (!result_.refused.empty()) return std::move(result_);
    definition.values.front() = value;
    return std::move(result_);
  }

 private:
  ScatteredSum refuse(const std::string& why) {
    result_.parts.clear();
    result_.refused = why;
    return result_;
  }

  Expr rewrite(const Expr& e) {
    if (e.as<Strict>() != nullptr) {
      refuse("its sum is strict, so its terms keep their written order");
      return e;
    }
    if (e.as<Print>() != nullptr) {
      refuse("it prints its value or is traced, and there is no value before its last part");
      return e;
    }
    const Planes all = planes_of(e, march_);
    if (!all.known) {
      refuse(fmt::format("it reads planes at other places than {} + constant", march_));
      return e;
    }
    if (all.offsets.size() < 2) {
      refuse("it reads one plane only, so there is nothing to scatter");
      return e;
    }
    const std::vector<Link> links = chain_of(e);
    if (is_sum_of_planes(links)) return cut(links, e, nullptr);
    if (const auto* select = e.as<Select>(); select != nullptr && keeps_a_value(*select)) {
      return cut(chain_of(select->if_true), e, select);
    }
    if (const std::optional<Edges> edges = edges_of(e)) {
      if (const std::optional<Expr> sum = cut_at_edges(links, *edges)) return *sum;
    }
    // The sum may stand inside one operand.
    std::vector<Expr> operands;
    for_each_child(e, [&](const Expr& child) {
      if (planes_of(child, march_).offsets.size() > 1) operands.push_back(child);
    });
    if (operands.size() != 1) {
      refuse(
          "a term of it reads several planes, so the sum cannot be taken plane by plane; write it as a "
          "sum of terms that read one plane each");
      return e;
    }
    return map_children(
        e, [&](const Expr& child) { return child.same_as(operands.front()) ? rewrite(child) : child; });
  }

  [[nodiscard]] bool is_sum_of_planes(const std::vector<Link>& links) const {
    return links.size() > 1 && std::none_of(links.begin(), links.end(), [&](const Link& link) {
             return planes_of(link, march_).offsets.size() > 1;
           });
  }

  // select(inside(x, y, z), sum, u(x, y, z)): some points keep a value of their own plane.
  [[nodiscard]] bool keeps_a_value(const Select& select) const {
    const std::vector<Link> links = chain_of(select.if_true);
    if (!is_sum_of_planes(links) || !planes_of(select.condition, march_).offsets.empty()) return false;
    if (planes_of(select.if_false, march_).offsets != std::set<std::int64_t>{0}) return false;
    const auto is_before = [&](const Link& link) {
      return *planes_of(link, march_).offsets.begin() <= 0;
    };
    const auto reads = [&](const Link& link) { return !planes_of(link, march_).offsets.empty(); };
    return std::all_of(links.begin(), links.end(), reads) && is_before(links.front()) &&
           !is_before(links.back());
  }

  // The plane after which a link may be added: links of no plane follow those before them. With
  // `select`, whose sum this is, the part of the point's own plane chooses between the sum and the value
  // that is kept, and later parts leave that alone: no plane is held longer for it.
  Expr cut(const std::vector<Link>& links, const Expr& whole, const Select* select) {
    std::vector<std::int64_t> plane;
    std::int64_t last = 0;
    bool any = false;
    for (const Link& link : links) {
      const Planes p = planes_of(link, march_);
      const std::int64_t own =
          p.offsets.empty() ? (any ? last : *first_plane(links)) : *p.offsets.begin();
      if (any && own < last) {
        refuse(
            fmt::format("its terms are not in the order of their planes: {} comes after {}; "
                        "planes are in order along the last dimension",
                        plane_text(own), plane_text(last)));
        return whole;
      }
      last = own;
      any = true;
      plane.push_back(own);
    }
    const std::int64_t newest = plane.back();
    Expr sum, kept;
    const auto chosen = [&](const Expr& value) {
      if (select == nullptr) return value;
      return make_expr(value.type(), Select{select->condition, value, kept});
    };
    for (std::size_t i = 0; i < links.size(); ++i) {
      sum = i == 0 ? links[0].node : with_rest(links[i], sum);
      if (i + 1 == links.size()) break;
      const bool every = partials_ == Partials::EveryPlane && plane[i + 1] != plane[i];
      const bool centre = plane[i] <= 0 && plane[i + 1] > 0;
      if (select != nullptr && centre) kept = select->if_false;
      if (every || (centre && partials_ == Partials::Centre)) {
        const bool keeps = kept.defined();
        sum = add_part(keeps ? chosen(sum) : sum,
                       newest - (keeps ? std::max<std::int64_t>(plane[i], 0) : plane[i]));
        if (keeps) kept = sum;
      }
    }
    return chosen(sum);
  }

  /// The conditions on planes by which `e` chooses, if there are few and they choose so.
  [[nodiscard]] std::optional<Edges> edges_of(const Expr& e) const {
    constexpr std::size_t kMost = 2;
    std::vector<Expr> conditions;
    visit_nodes({e}, [&](const Expr& node) {
      const auto* select = node.as<Select>();
      if (select == nullptr || conditions.size() > kMost || !uses_var(select->condition, march_)) return;
      const bool known = std::any_of(conditions.begin(), conditions.end(), [&](const Expr& condition) {
        return equal(condition, select->condition);
      });
      if (!known) conditions.push_back(select->condition);
    });
    if (conditions.empty() || conditions.size() > kMost) return std::nullopt;
    Edges edges;
    for (const Expr& condition : conditions) {
      if (!planes_of(condition, march_).offsets.empty()) return std::nullopt;
      const std::set<std::int64_t> inside = planes_of(where(condition, true, e), march_).offsets;
      const std::set<std::int64_t> outside = planes_of(where(condition, false, e), march_).offsets;
      const bool before = inside.count(-1) > 0 && outside.count(-1) == 0;
      const bool behind = inside.count(1) > 0 && outside.count(1) == 0;
      Expr& edge = before ? edges.before : edges.behind;
      if (before == behind || edge.defined()) return std::nullopt;
      edge = condition;
    }
    return edges;
  }

  // A sum of the planes before, at and behind the point's own, in this order, of which the first and the
  // last are replaced by the point's own at an edge:
  //
  //   sum0(z) = a*u(z - 1)                                                     when plane z - 1 arrives
  //   sum1(z) = select(z < max, s, c*u(z) + s)                                 ... z ...
  //             s = b*u(z) + select(z > min, sum0(z), a*u(z))
  //   f(z)    = select(z < max, c*u(z + 1) + sum1(z), sum1(z))                 ... z + 1 ...
  std::optional<Expr> cut_at_edges(const std::vector<Link>& links, const Edges& edges) {
    const Type type = links.front().node.type();
    const auto known = [](const Expr& condition, bool holds, const Expr& e) {
      return condition.defined() ? where(condition, holds, e) : e;
    };
    // A link without what stands before it.
    std::vector<Expr> alone;
    for (const Link& link : links) {
      alone.push_back(link.rest.defined() ? with_rest(link, make_const(type, std::int64_t{0}))
                                          : link.node);
    }
    const auto planes_at = [&](std::size_t i, const Expr& e) {
      return planes_of(Link{e, i > 0 ? e : Expr()}, march_).offsets;
    };
    std::vector<std::int64_t> plane;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::int64_t last = plane.empty() ? -1 : plane.back();
      const Expr inside = known(edges.behind, true, known(edges.before, true, alone[i]));
      const std::set<std::int64_t> own = planes_at(i, inside);
      plane.push_back(own.empty() ? std::max<std::int64_t>(last, 0) : *own.begin());
      if (own.size() > 1 || std::abs(plane[i]) > 1 || plane[i] < last) return std::nullopt;
      const Expr& edge = plane[i] < 0 ? edges.before : edges.behind;
      if (plane[i] == 0 || !edge.defined()) continue;
      if (planes_at(i, where(edge, false, alone[i])) != std::set<std::int64_t>{0}) return std::nullopt;
    }
    const auto added = [&](std::size_t i, const Expr& condition, bool holds, const Expr& rest) {
      const Expr node = known(condition, holds, alone[i]);
      return i > 0 ? with_rest({node, node}, rest) : node;
    };
    const auto chosen = [](const Expr& condition, const Expr& a, const Expr& b) {
      return condition.defined() ? make_expr(a.type(), Select{condition, a, b}) : a;
    };
    const auto begin_of = [&](std::int64_t at) {
      return static_cast<std::size_t>(std::lower_bound(plane.begin(), plane.end(), at) - plane.begin());
    };
    const std::size_t here = begin_of(0), behind = begin_of(1);
    if (behind == links.size()) return std::nullopt;  // nothing is waited for

    const bool every = partials_ == Partials::EveryPlane;
    Expr sum, at_edge;
    for (std::size_t i = 0; i < here; ++i) {
      sum = added(i, every ? edges.before : Expr(), true, sum);
      at_edge = added(i, edges.before, false, at_edge);
    }
    if (here > 0 && every) sum = chosen(edges.before, add_part(sum, 2), at_edge);
    for (std::size_t i = here; i < behind; ++i) sum = added(i, {}, true, sum);
    at_edge = sum;
    for (std::size_t i = behind; i < links.size(); ++i) at_edge = added(i, edges.behind, false, at_edge);
    const Expr part = add_part(chosen(edges.behind, sum, at_edge), 1);
    sum = part;
    for (std::size_t i = behind; i < links.size(); ++i) sum = added(i, edges.behind, true, sum);
    return chosen(edges.behind, sum, part);
  }

  [[nodiscard]] std::string plane_text(std::int64_t offset) const {
    if (offset == 0) return march_;
    return fmt::format("{} {} {}", march_, offset < 0 ? "-" : "+", std::abs(offset));
  }

  [[nodiscard]] std::optional<std::int64_t> first_plane(const std::vector<Link>& links) const {
    for (const Link& link : links) {
      const Planes p = planes_of(link, march_);
      if (!p.offsets.empty()) return *p.offsets.begin();
    }
    return 0;
  }

  // A Func of the value so far; gives back the read of it.
  Expr add_part(const Expr& value, std::int64_t ahead) {
    auto part = std::make_shared<FunctionData>();
    part->name = f_.name + ".sum" + std::to_string(result_.parts.size());
    part->where = f_.where;
    part->args = f_.args;
    part->types = {value.type()};
    Definition definition;
    for (const auto& arg : f_.args) definition.args.push_back(make_var(arg));
    definition.values = {value};
    definition.pure_vars = f_.args;
    definition.where = f_.where;
    Access access;
    access.name = part->name;
    access.args = definition.args;
    access.where = f_.where;
    part->definitions.push_back(std::move(definition));
    access.function = part;
    result_.parts.push_back({part, ahead});
    return make_expr(value.type(), std::move(access));
  }

  FunctionData& f_;
  std::string march_;
  Partials partials_;
  ScatteredSum result_;
};

}  // namespace

std::optional<std::int64_t> offset_from(const Expr& e, const std::string& var) {
  const std::optional<Affine> form = affine(e, var);
  if (!form || form->coefficient != 1) return std::nullopt;
  return form->constant;
}

std::optional<std::vector<std::int64_t>> offsets_from(const std::vector<Expr>& args,
                                                      const std::vector<std::string>& vars) {
  if (args.size() != vars.size()) return std::nullopt;
  std::vector<std::int64_t> offsets;
  for (std::size_t d = 0; d < args.size(); ++d) {
    const auto offset = offset_from(args[d], vars[d]);
    if (!offset) return std::nullopt;
    offsets.push_back(*offset);
  }
  return offsets;
}

std::vector<std::string> own_column(const std::vector<Expr>& args, const std::vector<std::string>& vars,
                                    const std::string& march) {
  std::vector<std::string> pattern;
  bool marches = false;
  for (const Expr& arg : args) {
    std::string found;
    for (const auto& var : vars) {
      const auto offset = offset_from(arg, var);
      if (offset && (*offset == 0 || var == march)) found = var;
    }
    if (found.empty() || std::find(pattern.begin(), pattern.end(), found) != pattern.end()) return {};
    marches = marches || found == march;
    pattern.push_back(found);
  }
  return marches ? pattern : std::vector<std::string>();
}

ScatteredSum scatter_sum(FunctionData& f, const std::string& march, Partials partials) {
  return Scatterer(f, march, partials).run();
}

std::string march_loop(const FunctionData& f, const std::string& var) {
  for (const auto& directive : f.definitions.front().directives) {
    const auto* march = std::get_if<directive::March>(&directive.op);
    if (!march) continue;
    return march->var != var ? "" : march->chunk > 0 ? var + ".march" : var;
  }
  return {};
}

LoopLevel march_of(const FunctionData& f, const std::string& var, const FindFunc& find) {
  if (const std::string loop = march_loop(f, var); !loop.empty()) return {f.name, loop};
  const ComputePlace place = compute_place(f, false);
  if (place.kind != ComputePlace::Kind::At) return {};
  const FunctionData* host = find(place.level.func);
  if (host == nullptr || host->args.size() != f.args.size()) return {};
  for (std::size_t d = 0; d < f.args.size(); ++d) {
    if (f.args[d] == var && march_loop(*host, host->args[d]) == place.level.var) return place.level;
  }
  return {};
}

namespace {

void add_partial_sums(FunctionData& f, Pipeline& pipeline, const FindFunc& find) {
  for (const auto& directive : f.definitions.front().directives) {
    const auto* scatter = std::get_if<directive::Scatter>(&directive.op);
    if (!scatter) continue;
    const LoopLevel level = march_of(f, scatter->var, find);
    if (level.func.empty()) return;  // check_schedule reports it
    const SourceLocation where = directive.where;
    ScatteredSum sum = scatter_sum(f, scatter->var, scatter->partials);
    if (!sum.refused.empty()) pipeline.refused_scatters[f.name] = sum.refused;
    for (auto& part : sum.parts) {
      part.func->definitions.front().directives = {{directive::ComputeAt{level}, where},
                                                   {directive::StoreIn{MemoryType::Register}, where}};
      pipeline.partial_sums[part.func->name] = {f.name, part.ahead};
      pipeline.funcs.push_back(part.func);
    }
    return;
  }
}

}  // namespace

void add_with_partial_sums(const std::vector<std::shared_ptr<FunctionData>>& funcs, Pipeline& pipeline) {
  std::unordered_map<std::string, const FunctionData*> named;
  for (const auto& f : funcs) named[f->name] = f.get();
  const auto find = [&](const std::string& name) {
    const auto found = named.find(name);
    return found == named.end() ? nullptr : found->second;
  };
  for (const auto& f : funcs) {
    add_partial_sums(*f, pipeline, find);
    pipeline.funcs.push_back(f);
  }
}

}  // namespace mica
