#include "codegen/plan/frame/loop_vars.h"

#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/plan/frame/chunks.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::planning {

using analysis::Interval;
using passes::simplify;

namespace {

std::string cannot_overlap(const std::string& func, const std::string& dim) {
  return "the blocks of " + func + " would have to overlap along " + dim +
         ", since a Func that its threads keep in registers is read beside a thread's own points "
         "there, and no block loop walks " +
         dim + ": add gpu_tile over " + dim + ", or keep the Func in MemoryType::Shared";
}

std::string no_frame(const std::string& func, const std::string& dim) {
  return "the threads of " + func + " walk more points along " + dim +
         " than a block has, since a split of it does not divide, and keep Funcs in registers at all of "
         "them: take a factor that divides the block's points, or keep the Funcs in "
         "MemoryType::Shared";
}

bool walks(const Guard& guard, const std::set<std::string>& loops) {
  return std::any_of(loops.begin(), loops.end(),
                     [&](const auto& name) { return guard.loops.count(name) > 0; });
}

}  // namespace

LoopVars::LoopVars(const LoopNestSpec& spec, const std::map<std::string, Root>& roots,
                   std::string prefix, bool of_fixed_size)
    : spec_(spec), roots_(roots), prefix_(std::move(prefix)), of_fixed_size_(of_fixed_size) {
  // Blocks and threads that are moved inwards would compute points that others compute at the same
  // time; on GPU loops the points past the end are skipped instead.
  const bool on_gpu = std::any_of(spec_.dims.begin(), spec_.dims.end(), [](const LoopDim& d) {
    return d.kind == LoopKind::GpuBlock || d.kind == LoopKind::GpuThread;
  });
  for (auto& step : spec_.steps) {
    if (on_gpu && step.tail == TailStrategy::ShiftInwards) step.tail = TailStrategy::GuardWithIf;
  }
  std::map<std::string, Expr> extents;
  for (const auto& [name, root] : roots_) extents[name] = root.extent;
  for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
    const auto& step = spec_.steps[i];
    if (step.kind == SplitStep::Split) {
      Expr old = extents.at(step.old_var);
      Expr outer = simplify(step.shortest > 0 ? Chunks{step.factor, step.shortest}.count(old)
                                              : Expr((old + (step.factor - 1)) / step.factor));
      if (step.shortest > 0) add_places(step, old, outer);
      Expr inner = make_const(Int(32), std::int64_t{step.factor});
      old_extent_.push_back(old);
      outer_extent_.push_back(outer);
      inner_extent_.push_back(inner);
      extents.erase(step.old_var);
      extents[step.outer] = outer;
      extents[step.inner] = inner;
    } else {
      Expr outer = extents.at(step.outer), inner = extents.at(step.inner);
      Expr fused = simplify(outer * inner);
      old_extent_.push_back(fused);
      outer_extent_.push_back(outer);
      inner_extent_.push_back(inner);
      extents.erase(step.outer);
      extents.erase(step.inner);
      extents[step.old_var] = fused;
    }
  }
  for (const auto& dim : spec_.dims) {
    loops_.push_back(
        {dim.name, loop_name(prefix_, dim.name), dim.kind, simplify(extents.at(dim.name)), dim.recurs});
  }
  // A guarded split's outer variable stays below ceil(extent/factor) whenever the guard holds, so
  // taking it apart again needs no guard of its own. Where it may be moved inwards the guard holds for
  // any.
  std::set<std::string> guarded_outers;
  exact_.resize(spec_.steps.size(), true);
  for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
    const auto& step = spec_.steps[i];
    if (step.kind != SplitStep::Split) continue;
    bool implied = guarded_outers.erase(step.old_var) > 0;
    const auto* constant = as_int(old_extent_[i]);
    const bool whole = step.factor == 1 || (constant && *constant % step.factor == 0) ||
                       step.tail == TailStrategy::RoundUp;
    const bool exact = whole && step.shortest == 0;
    exact_[i] = exact;
    if ((implied || !exact) && step.tail != TailStrategy::ShiftInwards && step.shortest == 0)
      guarded_outers.insert(step.outer);
    if (exact || implied) continue;
    Guard guard{simplify(offset_at(step.old_var, static_cast<int>(i))), old_extent_[i], {}};
    if (step.shortest > 0) guard.extent = end_of(step);
    collect_loops(step.old_var, static_cast<int>(i), guard.loops);
    guards_.push_back(std::move(guard));
  }
  add_step_guards();
  for (const auto& [dim, root] : roots_) {
    if (root.framed) check_framed(dim, root);
    if (root.before > 0 || root.after > 0) add_overlap(dim, root);
  }
}

Expr LoopVars::start_of(const SplitStep& step) const {
  return make_var(loop_name(prefix_, step.outer) + ".start");
}
Expr LoopVars::end_of(const SplitStep& step) const {
  return make_var(loop_name(prefix_, step.outer) + ".end");
}

void LoopVars::add_places(const SplitStep& step, const Expr& extent, const Expr& count) {
  const std::string block = loop_name(prefix_, step.outer);
  const Chunks chunks{step.factor, step.shortest};
  const Expr left = count - make_var(block);
  const auto add = [&](const Expr& place, const Expr& value) {
    places_.push_back({block, place.as<VarRef>()->name, simplify(value)});
  };
  add(start_of(step), clamp(extent - chunks.planes(left), 0, extent - 1));
  add(end_of(step), clamp(extent - chunks.planes(left - 1), 1, extent));
}

// A test of a loop of blocks and all inside it is about the last points of all, whatever the block. One
// without a loop of blocks, or about a part of the dimension, is about a split that does not divide.
void LoopVars::check_framed(const std::string& dim, const Root& root) const {
  std::set<std::string> names, blocks;
  collect_loops(dim, 0, names);
  for (const Loop& loop : loops_) {
    if (loop.kind == LoopKind::GpuBlock) blocks.insert(loop.name);
  }
  for (const Guard& guard : guards_) {
    if (!walks(guard, names)) continue;
    if (walks(guard, blocks) && analysis::same(guard.extent, root.extent)) continue;
    throw UserError(no_frame(prefix_, dim), *root.framed);
  }
}

// Blocks of 12 points of which 2 on either side are others':
//
//   before      x = block*12 + inner          inside: x < n
//   after       x = block*8 - 2 + inner       inside: x < n, inner >= 2, inner < 10
//   still ends  x = block*8 + inner           inside: the same, but the first block has its first
//   points,
//                                             too, and the last one its last
void LoopVars::add_overlap(const std::string& dim, const Root& root) {
  const auto whole = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; };
  analysis::Linear inner = analysis::linearize(simplify(offset_at(dim, 0)));
  Overlap overlap;
  std::int64_t lanes = 1;
  std::string vector;
  std::set<std::string> names;
  collect_loops(dim, 0, names);
  for (Loop& loop : loops_) {
    if (names.count(loop.name) == 0) continue;
    if (loop.kind == LoopKind::GpuBlock) {
      overlap.block = loop.name;
      overlap.points = inner.take(loop.name);
    } else if (loop.kind == LoopKind::Vectorized && as_int(loop.extent)) {
      vector = loop.name;
      lanes = *as_int(loop.extent);
    }
  }
  if (overlap.points <= 0) throw UserError(cannot_overlap(prefix_, dim), *root.framed);
  overlap.before = whole(root.before, lanes);
  overlap.after = whole(root.after, lanes);
  overlap.still_ends = root.still_ends;
  const std::int64_t own = overlap.points - overlap.before - overlap.after;
  if (own < 1) {
    throw UserError("a block of " + prefix_ + " has " + std::to_string(overlap.points) +
                        " points along " + dim +
                        ", and the Funcs that its threads keep in registers need " +
                        std::to_string(overlap.before) + " before and " + std::to_string(overlap.after) +
                        " behind those that it stores; the next legal are " +
                        std::to_string(whole(overlap.before + overlap.after + 1, lanes)) + " points",
                    *root.framed);
  }
  std::erase_if(guards_, [&](const Guard& guard) { return walks(guard, names); });
  overlaps_[dim] = overlap;
  const auto number = [](std::int64_t n) { return make_const(Int(32), n); };
  const Expr points = overlap.still_ends
                          ? max(root.extent - number(overlap.before + overlap.after), number(1))
                          : root.extent;
  const Expr count = simplify((points + number(own - 1)) / number(own));
  for (Loop& loop : loops_) {
    if (loop.name == overlap.block) loop.extent = count;
  }
  guards_.push_back({simplify(value(dim) - root.base), root.extent, names});
  // The first of a vector's points says whether all are inside.
  names.erase(vector);
  if (!overlap.still_ends) names.erase(overlap.block);
  const auto at_end = [&](const Expr& block, std::int64_t n) {
    return overlap.still_ends ? select(make_var(overlap.block) == block, number(n), number(0))
                              : number(0);
  };
  const Expr place = substitute(analysis::to_expr(inner), vector, number(0));
  guards_.push_back({simplify(place),
                     simplify(number(overlap.points - overlap.after) + at_end(count - 1, overlap.after)),
                     names});
  guards_.push_back(
      {simplify(number(overlap.points - lanes) - place),
       simplify(number(overlap.points - lanes - overlap.before + 1) + at_end(number(0), overlap.before)),
       names});
}

Expr LoopVars::moved(const std::string& dim) const {
  const auto found = overlaps_.find(dim);
  if (found == overlaps_.end()) return make_const(Int(32), std::int64_t{0});
  const Overlap& overlap = found->second;
  return make_var(overlap.block) * make_const(Int(32), overlap.before + overlap.after) +
         make_const(Int(32), overlap.still_ends ? std::int64_t{0} : overlap.before);
}

void LoopVars::add_step_guards() {
  for (const auto& [dim, root] : roots_) {
    if (root.step == 1) continue;
    Guard guard{simplify(stepped_offset(dim)), root.points, {}};
    for (const auto& [other, unused] : roots_) {
      if (other == dim || uses_var(root.phase, other)) collect_loops(other, 0, guard.loops);
    }
    guards_.push_back(std::move(guard));
  }
}

Expr LoopVars::stepped_offset(const std::string& dim) const {
  const Root& root = roots_.at(dim);
  const Expr phase = substitute(root.phase, [&](const std::string& name) {
    return name != dim && roots_.count(name) > 0 ? value(name) : Expr();
  });
  return phase + offset_at(dim, 0) * make_const(Int(32), root.step);
}

std::vector<std::pair<std::string, Expr>> LoopVars::fused_extents() const {
  std::vector<std::pair<std::string, Expr>> extents;
  for (std::size_t i = 0; i < spec_.steps.size(); ++i) {
    if (spec_.steps[i].kind != SplitStep::Fuse) continue;
    extents.emplace_back(spec_.steps[i].old_var, outer_extent_[i] * inner_extent_[i]);
  }
  return extents;
}

bool LoopVars::is_marched() const {
  return std::any_of(loops_.begin(), loops_.end(),
                     [](const Loop& loop) { return loop.kind == LoopKind::March; });
}

const LoopVars::Loop* LoopVars::lanes() const {
  const auto found = std::find_if(loops_.begin(), loops_.end(),
                                  [](const Loop& loop) { return loop.kind == LoopKind::GpuThread; });
  return found == loops_.end() ? nullptr : &*found;
}

bool LoopVars::walks_lanes(const std::string& dim) const {
  const Loop* thread = lanes();
  return thread != nullptr && uses_var(value(dim), thread->name);
}

int LoopVars::step_of(const std::string& dim, int from) const {
  for (int i = from; i < static_cast<int>(spec_.steps.size()); ++i) {
    const auto& step = spec_.steps[static_cast<std::size_t>(i)];
    if (step.kind == SplitStep::Split ? step.old_var == dim : (step.outer == dim || step.inner == dim)) {
      return i;
    }
  }
  return -1;
}

Expr LoopVars::offset_at(const std::string& dim, int from) const {
  int i = step_of(dim, from);
  if (i < 0) return make_var(loop_name(prefix_, dim));
  const auto& step = spec_.steps[static_cast<std::size_t>(i)];
  const auto at = static_cast<std::size_t>(i);
  if (step.kind == SplitStep::Split) {
    Expr start = step.shortest > 0 ? start_of(step) : Expr(offset_at(step.outer, i + 1) * step.factor);
    if (step.tail == TailStrategy::ShiftInwards) {
      start = min(start, max(old_extent_[at] - step.factor, 0));
    }
    return start + offset_at(step.inner, i + 1);
  }
  Expr fused = offset_at(step.old_var, i + 1);
  return dim == step.inner ? fused % inner_extent_[at] : fused / inner_extent_[at];
}

void LoopVars::collect_loops(const std::string& dim, int from, std::set<std::string>& names) const {
  int i = step_of(dim, from);
  if (i < 0) {
    names.insert(loop_name(prefix_, dim));
    return;
  }
  const auto& step = spec_.steps[static_cast<std::size_t>(i)];
  if (step.kind == SplitStep::Split) {
    collect_loops(step.outer, i + 1, names);
    collect_loops(step.inner, i + 1, names);
  } else {
    collect_loops(step.old_var, i + 1, names);
  }
}

Interval LoopVars::interval_at(const std::string& dim, int from,
                               const std::set<std::string>& fixed) const {
  int i = step_of(dim, from);
  Expr zero = make_const(Int(32), std::int64_t{0});
  if (i < 0) {
    std::string name = loop_name(prefix_, dim);
    Expr var = make_var(name);
    if (fixed.count(name)) return {var, var};
    for (const auto& loop : loops_) {
      if (loop.name == name) return {zero, simplify(loop.extent - 1)};
    }
    internal_check(false, "a dimension that no step takes apart is a loop");
  }
  const auto& step = spec_.steps[static_cast<std::size_t>(i)];
  const auto at = static_cast<std::size_t>(i);
  std::set<std::string> parts;
  collect_loops(dim, from, parts);
  bool free = true;
  for (const auto& p : parts) free = free && !fixed.count(p);
  if (step.kind == SplitStep::Split) {
    if (free) return {zero, simplify(old_extent_[at] - 1)};
    Interval outer = interval_at(step.outer, i + 1, fixed),
             inner = interval_at(step.inner, i + 1, fixed);
    Expr low = outer.min * step.factor, high = outer.max * step.factor;
    if (step.shortest > 0 && fixed.count(loop_name(prefix_, step.outer)) > 0) {
      low = high = start_of(step);
    } else if (step.shortest > 0) {
      high = max(old_extent_[at] - step.shortest, 0);
    }
    if (step.tail == TailStrategy::ShiftInwards) {
      Expr last = max(old_extent_[at] - step.factor, 0);
      low = min(low, last);
      high = min(high, last);
    }
    Interval all{simplify(low + inner.min), simplify(high + inner.max)};
    // The rest of a split that is split again ends where the guards let its points end, so that no
    // interval has values that those of fewer fixed loops lack. A dimension's own end is the caller's.
    const bool is_decided = analysis::same(all.min, all.max) &&
                            std::includes(fixed.begin(), fixed.end(), parts.begin(), parts.end());
    const std::int64_t* extent = as_int(old_extent_[at]);
    const bool shifted =
        step.tail == TailStrategy::ShiftInwards && extent != nullptr && *extent >= step.factor;
    if (from > 0 && !is_decided && !shifted && !exact_[at] && !of_fixed_size_) {
      all.max = simplify(min(all.max, old_extent_[at] - 1));
    }
    return all;
  }
  const Expr& own = dim == step.inner ? inner_extent_[at] : outer_extent_[at];
  if (free) return {zero, simplify(own - 1)};
  Expr e = simplify(offset_at(dim, from));
  analysis::Scope scope;
  for (const auto& loop : loops_) {
    if (!fixed.count(loop.name)) scope[loop.name] = {zero, simplify(loop.extent - 1)};
  }
  // Of an extent only known at run time the loop's own range says as much.
  if (!as_int(inner_extent_[at])) return {zero, simplify(own - 1)};
  const Interval part = analysis::interval_of(e, scope);
  return part.bounded() ? part : Interval{zero, simplify(own - 1)};
}

Expr LoopVars::value(const std::string& dim) const {
  const Root& root = roots_.at(dim);
  if (root.step > 1) return simplify(root.base + stepped_offset(dim));
  if (root.descends) return simplify(root.base + root.extent - 1 - offset_at(dim, 0));
  return simplify(root.base + offset_at(dim, 0) - moved(dim));
}

Interval LoopVars::interval(const std::string& dim, const std::set<std::string>& fixed) const {
  Interval i = interval_at(dim, 0, fixed);
  const Root& root = roots_.at(dim);
  if (root.step > 1) {
    const Expr step = make_const(Int(32), root.step);
    return {simplify(root.base + i.min * step), simplify(root.base + i.max * step + (step - 1))};
  }
  if (root.descends) {
    const Expr last = root.base + root.extent - 1;
    return {simplify(last - i.max), simplify(last - i.min)};
  }
  if (const auto found = overlaps_.find(dim);
      found != overlaps_.end() && fixed.count(found->second.block)) {
    return {simplify(root.base + i.min - moved(dim)), simplify(root.base + i.max - moved(dim))};
  }
  return {simplify(root.base + i.min), simplify(root.base + i.max)};
}

bool operator==(const LoopVars& a, const LoopVars& b) {
  const auto same_loop = [](const LoopVars::Loop& l, const LoopVars::Loop& r) {
    return l.name == r.name && l.kind == r.kind && equal(l.extent, r.extent);
  };
  const auto same_guard = [](const Guard& l, const Guard& r) {
    return l.loops == r.loops && equal(l.offset, r.offset) && equal(l.extent, r.extent);
  };
  const auto same_values = [&](const auto& l, const auto& r) {
    return l.first == r.first && equal(a.value(l.first), b.value(r.first));
  };
  return std::ranges::equal(a.loops_, b.loops_, same_loop) &&
         std::ranges::equal(a.guards_, b.guards_, same_guard) &&
         std::ranges::equal(a.roots_, b.roots_, same_values);
}

}  // namespace mica::planning
