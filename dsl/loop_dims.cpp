#include "dsl/loop_dims.h"

#include <algorithm>
#include <optional>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "dsl/names.h"

namespace mica {

namespace {

constexpr int kMaxVectorWidth = 64;
constexpr std::int64_t kMaxUnroll = 256;
constexpr int kMaxTile = 1024;  // threads of a block

/// Directives that do not touch loops.
template <typename D>
concept PlacementDirective = std::is_same_v<D, directive::ComputeInline> ||
    std::is_same_v<D, directive::ComputeRoot> || std::is_same_v<D, directive::ComputeAt> ||
    std::is_same_v<D, directive::StoreAt> || std::is_same_v<D, directive::StoreRoot> ||
    std::is_same_v<D, directive::StoreIn> || std::is_same_v<D, directive::In> ||
    std::is_same_v<D, directive::AlignStorage> || std::is_same_v<D, directive::Bound> ||
    std::is_same_v<D, directive::Stage> || std::is_same_v<D, directive::ReadOnly> ||
    std::is_same_v<D, directive::LaunchBounds> || std::is_same_v<D, directive::MaxRegisters>;

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

class LoopExpander {
 public:
  LoopExpander(const FunctionData& f, int definition, Diagnostics& findings)
      : f_(f),
        definition_(definition),
        directives_(f.definitions.at(static_cast<std::size_t>(definition)).directives),
        findings_(findings) {}

  LoopNestSpec run() {
    add_initial_loops();
    absorbed_.assign(directives_.size(), false);
    for (current_ = 0; current_ < directives_.size(); ++current_) {
      if (!absorbed_[current_]) std::visit(*this, directives_[current_].op);
    }
    return std::move(spec_);
  }

  void operator()(const directive::Split& d) {
    if (!is_loop(d.old_var) || !is_factor(d.factor, "factor") || !is_unmarked(d.old_var)) return;
    if (d.outer == d.inner) {
      report(fmt::format("outer and inner loop are both named {}: give them two names", d.outer));
      return;
    }
    if (!is_free(d.outer, d.old_var) || !is_free(d.inner, d.old_var)) return;
    split(d.old_var, d.outer, d.inner, d.factor, d.tail);
  }

  void operator()(const directive::Fuse& d) {
    if (!is_loop(d.inner) || !is_loop(d.outer)) return;
    if (d.fused != d.inner && d.fused != d.outer && !is_free(d.fused, "")) return;
    if (!is_unmarked(d.inner) || !is_unmarked(d.outer)) return;
    const std::size_t inner = *find(d.inner);
    const std::size_t outer = *find(d.outer);
    if (outer != inner + 1) {
      report(
          fmt::format("loop {} is not directly around {}; the loops are {} (innermost first): "
                      "reorder them first",
                      d.outer, d.inner, loop_list()));
      return;
    }
    if (dims()[inner].is_rvar != dims()[outer].is_rvar) {
      report(fmt::format("{} belongs to a reduction domain and {} does not: they cannot be fused",
                         dims()[inner].is_rvar ? d.inner : d.outer,
                         dims()[inner].is_rvar ? d.outer : d.inner));
      return;
    }
    LoopDim fused = dims()[inner];
    fused.name = d.fused;
    fused.extent *= dims()[outer].extent;
    fused.where = where();
    dims()[inner] = fused;
    dims().erase(dims().begin() + static_cast<std::ptrdiff_t>(outer));
    used_.insert(d.fused);
    spec_.steps.push_back({SplitStep::Fuse, d.fused, d.outer, d.inner, 0, TailStrategy::GuardWithIf});
  }

  void operator()(const directive::Reorder& d) {
    std::vector<std::size_t> places;
    for (const auto& name : d.vars) {
      if (!is_loop(name)) return;
      const std::size_t place = *find(name);
      if (std::find(places.begin(), places.end(), place) != places.end()) {
        report(fmt::format("loop {} is named twice", name));
        return;
      }
      places.push_back(place);
    }
    std::vector<std::size_t> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    std::vector<LoopDim> next = dims();
    for (std::size_t i = 0; i < places.size(); ++i) next[sorted[i]] = dims()[places[i]];
    if (reduction_order(next) != reduction_order(dims())) {
      report(
          fmt::format("this changes the order of the reduction loops {} to {}, and with it the "
                      "order of the sum: a schedule must not change results",
                      joined(reduction_order(dims())), joined(reduction_order(next))));
      return;
    }
    dims() = std::move(next);
  }

  void operator()(const directive::MarkLoop& d) { mark(d.var, d.kind); }

  void operator()(const directive::Vectorize& d) {
    if (d.width == 0) {
      mark(d.var, LoopKind::Vectorized);
      return;
    }
    if (!is_loop(d.var) || !is_width(d.width) || !is_free(d.var + ".vec", "")) return;
    split_and_mark(d.var, d.var + ".vec", d.width, d.tail, LoopKind::Vectorized);
  }

  void operator()(const directive::Unroll& d) {
    if (d.factor == 0) {
      mark(d.var, LoopKind::Unrolled);
      return;
    }
    if (!is_loop(d.var) || !is_unroll(d.factor) || !is_free(d.var + ".unroll", "")) return;
    split_and_mark(d.var, d.var + ".unroll", d.factor, d.tail, LoopKind::Unrolled);
  }

  void operator()(const directive::GpuTile& d) {
    if (d.vars.empty() || d.vars.size() > 3 || d.vars.size() != d.sizes.size()) {
      report(fmt::format("{} with {}: gpu_tile takes 1 to 3 Vars and as many sizes",
                         counted(d.vars.size(), "Var"), counted(d.sizes.size(), "size")));
      return;
    }
    for (std::size_t i = 0; i < d.vars.size(); ++i) {
      const auto& v = d.vars[i];
      if (!is_loop(v) || !is_factor(d.sizes[i], "size") || !is_unmarked(v)) return;
      if (d.sizes[i] > kMaxTile) {
        report(fmt::format("{} threads along {}; legal are at most {}", d.sizes[i], v, kMaxTile));
        return;
      }
      if (!may_run_as(*find(v), LoopKind::GpuThread)) return;
      if (!is_free(v + ".block", "") || !is_free(v + ".thread", "")) return;
      if (std::count(d.vars.begin(), d.vars.end(), v) > 1) {
        report(fmt::format("loop {} is named twice", v));
        return;
      }
    }
    tile(d);
  }

  template <PlacementDirective D>
  void operator()(const D&) {}

 private:
  std::vector<LoopDim>& dims() { return spec_.dims; }
  [[nodiscard]] SourceLocation where() const { return directives_[current_].where; }

  void report(const std::string& what) {
    findings_.push_back(
        {definition_name(f_, definition_) + to_string(directives_[current_]) + ": " + what, where()});
  }

  void add_initial_loops() {
    const auto& definition = f_.definitions.at(static_cast<std::size_t>(definition_));
    if (definition.domain) {
      for (const auto& dim : definition.domain->dims) {
        dims().push_back({dim.name, LoopKind::Serial, true, dim.extent, definition.where});
      }
    }
    for (const auto& var : definition.pure_vars) {
      dims().push_back({var, LoopKind::Serial, false, bounded_range(f_, var).second, definition.where});
    }
    for (const auto& dim : dims()) used_.insert(dim.name);
  }

  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t i = 0; i < spec_.dims.size(); ++i) {
      if (spec_.dims[i].name == name) return i;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string loop_list() const {
    std::vector<std::string> names;
    for (const auto& dim : spec_.dims) names.push_back(dim.name);
    return joined(names);
  }

  // ---- checks: false after reporting -----------------------------------------------------------

  bool is_loop(const std::string& name) {
    if (find(name)) return true;
    report(fmt::format("there is no loop {} at this point; the loops are {} (innermost first)", name,
                       loop_list()));
    return false;
  }
  /// May a new loop be called `name`? `replaced` is the loop that goes away.
  bool is_free(const std::string& name, const std::string& replaced) {
    if (name == replaced && !name.empty()) return true;
    if (!name.empty() && used_.count(name) == 0) return true;
    report(name.empty() ? "a loop's name is empty"
                        : fmt::format("the name {} is taken: names in use are {}", name,
                                      joined({used_.begin(), used_.end()})));
    return false;
  }
  bool is_factor(int factor, const char* what) {
    if (factor >= 1) return true;
    report(fmt::format("the {} is {}; it must be at least 1", what, factor));
    return false;
  }
  bool is_width(std::int64_t width) {
    if (is_power_of_two(width) && width <= kMaxVectorWidth) return true;
    report(fmt::format("{} is no vector width; legal are the powers of two 1, 2, 4, ... {}", width,
                       kMaxVectorWidth));
    return false;
  }
  bool is_unroll(std::int64_t factor) {
    if (factor >= 1 && factor <= kMaxUnroll) return true;
    report(fmt::format("cannot write out {} iterations; legal are 1 to {}", factor, kMaxUnroll));
    return false;
  }
  /// Splits and fuses come before marks, so that a mark names the loop it means.
  bool is_unmarked(const std::string& name) {
    const LoopKind kind = dims()[*find(name)].kind;
    if (kind == LoopKind::Serial) return true;
    report(fmt::format("loop {} is already {}: take it apart before marking it", name, to_string(kind)));
    return false;
  }
  bool may_run_as(std::size_t place, LoopKind kind) {
    const bool ordered = kind == LoopKind::Serial || kind == LoopKind::Unrolled;
    if (!dims()[place].is_rvar || ordered) return true;
    report(
        fmt::format("loop {} runs over a reduction domain, whose order is part of the result, so it "
                    "cannot be {}; legal are serial and unroll",
                    dims()[place].name, to_string(kind)));
    return false;
  }

  /// Tails that compute a point twice, or points that are not there, would add terms twice.
  bool may_use_tail(const std::string& name, TailStrategy tail) {
    const bool guarded = tail == TailStrategy::Auto || tail == TailStrategy::GuardWithIf;
    if (guarded) return true;
    if (dims()[*find(name)].is_rvar) {
      report(
          fmt::format("TailStrategy::{} on reduction loop {} would add terms that are not in the "
                      "domain; use GuardWithIf",
                      to_string(tail), name));
      return false;
    }
    if (definition_ > 0 && tail == TailStrategy::ShiftInwards) {
      report(
          fmt::format("TailStrategy::ShiftInwards computes some points of {} twice, which an update "
                      "must not; use GuardWithIf or RoundUp",
                      name));
      return false;
    }
    return true;
  }

  [[nodiscard]] static std::vector<std::string> reduction_order(const std::vector<LoopDim>& loops) {
    std::vector<std::string> names;
    for (const auto& loop : loops) {
      if (loop.is_rvar) names.push_back(loop.name);
    }
    return names;
  }

  // ---- changes ---------------------------------------------------------------------------------

  void add_step(const std::string& old_var, const std::string& outer, const std::string& inner,
                int factor, TailStrategy tail) {
    if (tail == TailStrategy::Auto) tail = TailStrategy::GuardWithIf;
    spec_.steps.push_back({SplitStep::Split, old_var, outer, inner, factor, tail});
    used_.insert(outer);
    used_.insert(inner);
  }

  /// `old_var` becomes `inner` inside `outer`, in its place. Both keep its kind.
  bool split(const std::string& old_var, const std::string& outer, const std::string& inner, int factor,
             TailStrategy tail) {
    if (!may_use_tail(old_var, tail)) return false;
    const std::size_t place = *find(old_var);
    LoopDim in = dims()[place];
    in.where = where();
    LoopDim out = in;
    in.name = inner;
    in.extent = factor;
    out.name = outer;
    out.extent = (out.extent + factor - 1) / factor;
    dims()[place] = out;
    dims().insert(dims().begin() + static_cast<std::ptrdiff_t>(place), in);
    add_step(old_var, outer, inner, factor, tail);
    return true;
  }

  void mark(const std::string& name, LoopKind kind) {
    if (!is_loop(name)) return;
    LoopDim& dim = dims()[*find(name)];
    if (!may_run_as(*find(name), kind)) return;
    if (dim.kind != LoopKind::Serial && dim.kind != kind && kind != LoopKind::Serial) {
      report(fmt::format("loop {} is already {}; serial({}) would take that back", name,
                         to_string(dim.kind), name));
      return;
    }
    if (dim.extent > 0 && kind == LoopKind::Vectorized && !is_width(dim.extent)) return;
    if (dim.extent > 0 && kind == LoopKind::Unrolled && !is_unroll(dim.extent)) return;
    dim.kind = kind;
    dim.where = where();
  }

  /// vectorize(v, n) and unroll(v, n): v keeps its name and kind outside the new loop.
  void split_and_mark(const std::string& v, const std::string& inner, int factor, TailStrategy tail,
                      LoopKind kind) {
    const std::size_t place = *find(v);
    if (!may_run_as(place, kind)) return;
    if (dims()[place].kind == LoopKind::Vectorized) {
      report(fmt::format("loop {} is already Vectorized", v));
      return;
    }
    const SourceLocation outer_where = dims()[place].where;
    if (!split(v, v, inner, factor, tail)) return;
    dims()[place].kind = kind;
    dims()[place + 1].where = outer_where;
  }

  /// The later directive of kind D with a factor on tiled `var`, before `var` names another loop.
  template <typename D>
  const D* take_later(const std::string& var) {
    for (std::size_t i = current_ + 1; i < directives_.size(); ++i) {
      const auto& op = directives_[i].op;
      if (const auto* split = std::get_if<directive::Split>(&op)) {
        if (split->outer == var || split->inner == var) return nullptr;
      } else if (const auto* fuse = std::get_if<directive::Fuse>(&op)) {
        if (fuse->fused == var) return nullptr;
      } else if (const auto* found = std::get_if<D>(&op)) {
        if (found->var != var || factor_of(*found) == 0) continue;
        absorbed_[i] = true;
        return found;
      }
    }
    return nullptr;
  }
  static int factor_of(const directive::Vectorize& d) { return d.width; }
  static int factor_of(const directive::Unroll& d) { return d.factor; }

  /// The points along one Var that a thread computes, from a later vectorize or unroll.
  struct Points {
    int factor = 1;
    TailStrategy tail = TailStrategy::Auto;
    std::string loop;  // empty: one point
  };

  /// Adds the loop over the points to `inner`.
  template <typename D>
  Points take_points(const std::string& var, const char* suffix, LoopKind kind,
                     std::vector<LoopDim>& inner) {
    const std::size_t tile_directive = current_;
    const D* d = take_later<D>(var);
    if (!d) return {};
    for (current_ = tile_directive + 1; std::get_if<D>(&directives_[current_].op) != d;) ++current_;
    Points points{factor_of(*d), d->tail, var + suffix};
    const bool legal =
        (kind == LoopKind::Vectorized ? is_width(points.factor) : is_unroll(points.factor)) &&
        is_free(points.loop, "") && may_use_tail(var, d->tail);
    if (legal) inner.push_back({points.loop, kind, false, points.factor, where()});
    current_ = tile_directive;
    return legal ? points : Points();
  }

  /// v = ((v.block*threads + v.thread)*rows + v.unroll)*vector + v.vec. The block's whole tile is split
  /// off with the tile's tail; the rest divides it. A vector or row with a tail of its own is split off
  /// first with that instead.
  void add_tile_steps(const std::string& v, int threads, const Points& vector, const Points& rows,
                      TailStrategy tail) {
    const std::string block = v + ".block", thread = v + ".thread";
    std::vector<const Points*> points;
    for (const auto* p : {&vector, &rows}) {
      if (!p->loop.empty()) points.push_back(p);
    }
    const bool own_tail = std::any_of(points.begin(), points.end(), [&](const Points* p) {
      return p->tail != TailStrategy::Auto && p->tail != tail;
    });
    std::string rest = v;
    if (!own_tail && !points.empty()) {
      rest = v + ".tile";
      add_step(v, block, rest, threads * vector.factor * rows.factor, tail);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool last = i + 1 == points.size();
      const std::string left = last && !own_tail ? thread : v + (i == 0 ? ".vectors" : ".rows");
      const TailStrategy own = points[i]->tail == TailStrategy::Auto ? tail : points[i]->tail;
      add_step(rest, left, points[i]->loop, points[i]->factor, own_tail ? own : TailStrategy::Auto);
      rest = left;
    }
    if (own_tail || points.empty()) add_step(rest, block, thread, threads, tail);
  }

  void tile(const directive::GpuTile& d) {
    std::vector<LoopDim> vectors, unrolled, inside, threads, blocks, outside;
    std::size_t innermost = dims().size();
    for (const auto& v : d.vars) {
      if (!may_use_tail(v, d.tail)) return;
      innermost = std::min(innermost, *find(v));
    }
    for (std::size_t i = 0; i < d.vars.size(); ++i) {
      const std::string& v = d.vars[i];
      const Points vector = take_points<directive::Vectorize>(v, ".vec", LoopKind::Vectorized, vectors);
      const Points rows = take_points<directive::Unroll>(v, ".unroll", LoopKind::Unrolled, unrolled);
      add_tile_steps(v, d.sizes[i], vector, rows, d.tail);
      const std::int64_t points = std::int64_t{d.sizes[i]} * vector.factor * rows.factor;
      const std::int64_t extent = dims()[*find(v)].extent;
      threads.push_back({v + ".thread", LoopKind::GpuThread, false, d.sizes[i], where()});
      blocks.push_back(
          {v + ".block", LoopKind::GpuBlock, false, (extent + points - 1) / points, where()});
    }
    for (std::size_t i = 0; i < dims().size(); ++i) {
      if (std::find(d.vars.begin(), d.vars.end(), dims()[i].name) != d.vars.end()) continue;
      (i < innermost ? inside : outside).push_back(dims()[i]);
    }
    dims().clear();
    for (const auto* group : {&vectors, &unrolled, &inside, &threads, &blocks, &outside}) {
      dims().insert(dims().end(), group->begin(), group->end());
    }
  }

  const FunctionData& f_;
  int definition_;
  const std::vector<Directive>& directives_;
  Diagnostics& findings_;
  LoopNestSpec spec_;
  std::set<std::string> used_;  // every name a variable or loop of this definition has had
  std::vector<bool> absorbed_;  // directives that an earlier gpu_tile took up
  std::size_t current_ = 0;
};

}  // namespace

LoopNestSpec expand_loops(const FunctionData& f, int definition, Diagnostics& findings) {
  return LoopExpander(f, definition, findings).run();
}

std::string definition_name(const FunctionData& f, int definition) {
  return definition == 0 ? f.name : fmt::format("{}.update({})", f.name, definition - 1);
}

std::pair<std::int64_t, std::int64_t> bounded_range(const FunctionData& f, const std::string& var) {
  std::pair<std::int64_t, std::int64_t> range{0, 0};
  for (const auto& directive : f.definitions.at(0).directives) {
    const auto* bound = std::get_if<directive::Bound>(&directive.op);
    if (bound && bound->var == var && bound->extent > 0) range = {bound->min, bound->extent};
  }
  return range;
}

}  // namespace mica
