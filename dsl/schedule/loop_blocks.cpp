// LoopExpander: tiles of blocks and threads, and the loops that blocks walk.
#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/schedule/loop_expander.h"

namespace mica {

namespace {

constexpr int kMaxTile = 1024;  // threads of a block

int factor_of(const directive::Vectorize& d) { return d.width; }
int factor_of(const directive::Unroll& d) { return d.factor; }

}  // namespace

void LoopExpander::operator()(const directive::GpuTile& d) {
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

void LoopExpander::operator()(const directive::March& d) {
  if (definition_ > 0) return;  // belongs to the Func as a whole: a finding of check_schedule
  if (!is_marchable(d) || !are_chunks(d)) return;
  std::string walked = d.var;
  if (d.chunk > 0) {
    const std::string block = d.var + ".block";
    walked = d.var + ".march";
    if (!is_free(block, "") || !is_free(walked, "")) return;
    const std::int64_t extent = dims()[*find(d.var)].extent;
    if (!split(d.var, block, walked, d.chunk, TailStrategy::GuardWithIf)) return;
    LoopDim& blocks = dims()[*find(block)];
    blocks.kind = LoopKind::GpuBlock;
    spec_.steps.back().shortest = d.shortest;
    for (int n = d.shortest; n > 0 && n < d.chunk && extent > n; n *= 2) ++blocks.extent;
  }
  dims()[*find(walked)].kind = LoopKind::March;
  dims()[*find(walked)].where = where();
  march_ = &directives_[current_];
  place_marches();
}

void LoopExpander::operator()(const directive::OrderBlocks& d) {
  if (definition_ > 0) return;  // as for march
  std::vector<std::string> blocks;
  for (const auto& dim : dims()) {
    if (dim.kind == LoopKind::GpuBlock) blocks.push_back(dim.name);
  }
  if (blocks.empty()) {
    report(fmt::format("{} has no block loops at this point: write gpu_tile before it", f_.name));
    return;
  }
  if (d.vars.empty()) {
    report(fmt::format("it names no loop; the block loops are {}", joined(blocks)));
    return;
  }
  std::vector<std::string> order = d.vars;
  for (const auto& name : order) {
    if (!is_loop(name)) return;
    if (std::count(order.begin(), order.end(), name) > 1) {
      report(fmt::format("loop {} is named twice", name));
      return;
    }
    if (std::find(blocks.begin(), blocks.end(), name) != blocks.end()) continue;
    report(fmt::format("{} is a {} loop, and order_blocks orders block loops: {}", name,
                       to_string(dims()[*find(name)].kind), joined(blocks)));
    return;
  }
  for (const auto& name : blocks) {
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  }
  (*this)(directive::Reorder{order});
}

template <typename D>
const D* LoopExpander::take_later(const std::string& var) {
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

template <typename D>
LoopExpander::Points LoopExpander::take_points(const std::string& var, const char* suffix, LoopKind kind,
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

void LoopExpander::add_tile_steps(const std::string& v, int threads, const Points& vector,
                                  const Points& rows, TailStrategy tail) {
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

void LoopExpander::tile(const directive::GpuTile& d) {
  std::vector<LoopDim> vectors, unrolled, inside, threads, blocks, outside;
  std::size_t innermost = dims().size();
  bool over_domain = false;  // then its other loops, whose order counts, stand in one thread
  for (const auto& v : d.vars) {
    if (!may_use_tail(v, d.tail)) return;
    innermost = std::min(innermost, *find(v));
    over_domain = over_domain || dims()[*find(v)].is_rvar;
  }
  for (std::size_t i = 0; i < d.vars.size(); ++i) {
    const std::string& v = d.vars[i];
    const Points vector = take_points<directive::Vectorize>(v, ".vec", LoopKind::Vectorized, vectors);
    const Points rows = take_points<directive::Unroll>(v, ".unroll", LoopKind::Unrolled, unrolled);
    const std::int64_t points = std::int64_t{d.sizes[i]} * vector.factor * rows.factor;
    if (!has_room(v, points)) return;
    add_tile_steps(v, d.sizes[i], vector, rows, d.tail);
    const std::int64_t extent = dims()[*find(v)].extent;
    threads.push_back({v + ".thread", LoopKind::GpuThread, false, d.sizes[i], where()});
    blocks.push_back({v + ".block", LoopKind::GpuBlock, false, (extent + points - 1) / points, where()});
  }
  for (std::size_t i = 0; i < dims().size(); ++i) {
    if (std::find(d.vars.begin(), d.vars.end(), dims()[i].name) != d.vars.end()) continue;
    const bool in_thread = i < innermost || dims()[i].recurs || (over_domain && dims()[i].is_ordered());
    (in_thread ? inside : outside).push_back(dims()[i]);
  }
  dims().clear();
  for (const auto* group : {&vectors, &unrolled, &inside, &threads, &blocks, &outside}) {
    dims().insert(dims().end(), group->begin(), group->end());
  }
  const bool marched = std::any_of(dims().begin(), dims().end(),
                                   [](const LoopDim& dim) { return dim.kind == LoopKind::March; });
  if (marched) place_marches();
}

void LoopExpander::operator()(const directive::GpuSingleThread& /*d*/) {
  single_ = &directives_[current_];
}

void LoopExpander::add_single_loops() {
  if (single_ == nullptr) return;
  current_ = static_cast<std::size_t>(single_ - directives_.data());
  for (const auto& dim : dims()) {
    if (dim.kind == LoopKind::Serial || dim.kind == LoopKind::Unrolled ||
        dim.kind == LoopKind::Vectorized) {
      continue;
    }
    report(fmt::format("loop {} is {}, and one thread is to carry out all loops: remove one of the two",
                       dim.name, to_string(dim.kind)));
    return;
  }
  const LoopKind kinds[] = {LoopKind::GpuThread, LoopKind::GpuBlock};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    if (!is_free(kSingleLoops[i], "")) return;
    dims().push_back({kSingleLoops[i], kinds[i], false, 1, where()});
    dims().back().is_single = true;
  }
}

void LoopExpander::place_marches() {
  std::vector<LoopDim> inside, marches, blocks, outside;
  const std::string own = std::get<directive::March>(march_->op).var + ".block";
  std::size_t first_block = dims().size();
  for (std::size_t i = dims().size(); i-- > 0;) {
    if (dims()[i].kind == LoopKind::GpuBlock && dims()[i].name != own) first_block = i;
  }
  for (std::size_t i = 0; i < dims().size(); ++i) {
    const LoopKind kind = dims()[i].kind;
    (kind == LoopKind::March      ? marches
     : kind == LoopKind::GpuBlock ? blocks
     : i < first_block            ? inside
                                  : outside)
        .push_back(dims()[i]);
  }
  dims().clear();
  for (const auto* group : {&inside, &marches, &blocks, &outside}) {
    dims().insert(dims().end(), group->begin(), group->end());
  }
}

}  // namespace mica
