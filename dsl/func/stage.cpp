// The directives on one definition's loops: each call records data and checks nothing but that the
// definition exists; check_schedule judges the whole.
#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/func/func.h"

namespace mica {

namespace {

/// In the data, 0 means the whole loop; in a call it is a mistake.
void check_not_zero(int value, const char* directive, const char* what, const VarOrName& v) {
  if (value != 0) return;
  throw UserError(fmt::format("{}({}, 0): a {} is at least 1; {}({}) takes the whole loop", directive,
                              v.name, what, directive, v.name),
                  v.where);
}

}  // namespace

Stage::Stage(std::shared_ptr<FunctionData> function, int definition, CallSite at)
    : function_(std::move(function)), definition_(definition) {
  if (function_ == nullptr) throw UserError("a handle on a Func is made from a null pointer", at);
  const std::size_t count = function_->definitions.size();
  // Definition 0 may be yet to come.
  if (definition_ == 0 || (definition_ > 0 && static_cast<std::size_t>(definition_) < count)) return;
  throw UserError(fmt::format("definition {} of {} is asked for, which has {} (numbered from 0)",
                              definition_, function_->name, counted(count, "definition")),
                  at);
}

void Stage::add(Directive directive) {
  if (!function_->defined()) {
    throw UserError(fmt::format("{}{}: {} is not defined yet; write {}(...) = ... before its schedule",
                                function_->name, to_string(directive), function_->name, function_->name),
                    directive.where);
  }
  Definition& definition = function_->definitions.at(static_cast<std::size_t>(definition_));
  if (specialization_ < 0) {
    definition.directives.push_back(std::move(directive));
    return;
  }
  const auto special = static_cast<std::size_t>(specialization_);
  if (special >= definition.specializations.size()) {
    throw UserError(
        fmt::format("{}{}: this specialization of {} is gone, with the schedule that it was a "
                    "part of: specialize again",
                    function_->name, to_string(directive), function_->name),
        directive.where);
  }
  definition.specializations[special].directives.push_back(std::move(directive));
}

Stage& Stage::split(VarOrName v, VarOrName outer, VarOrName inner, int factor, TailStrategy tail) {
  add({directive::Split{v.name, outer.name, inner.name, factor, tail}, v.where});
  return *this;
}

Stage& Stage::tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi,
                   int tx, int ty, TailStrategy tail) {
  add({directive::Split{x.name, xo.name, xi.name, tx, tail}, x.where});
  add({directive::Split{y.name, yo.name, yi.name, ty, tail}, x.where});
  add({directive::Reorder{{xi.name, yi.name, xo.name, yo.name}}, x.where});
  return *this;
}

Stage& Stage::fuse(VarOrName inner, VarOrName outer, VarOrName fused) {
  add({directive::Fuse{inner.name, outer.name, fused.name}, inner.where});
  return *this;
}

Stage& Stage::reorder(std::initializer_list<VarOrName> vars) {
  directive::Reorder reorder;
  for (const auto& v : vars) reorder.vars.push_back(v.name);
  add({reorder, vars.size() > 0 ? vars.begin()->where : SourceLocation()});
  return *this;
}

Stage& Stage::serial(VarOrName v) {
  add({directive::MarkLoop{v.name, LoopKind::Serial}, v.where});
  return *this;
}

Stage& Stage::parallel(VarOrName v) {
  add({directive::MarkLoop{v.name, LoopKind::Parallel}, v.where});
  return *this;
}

Stage& Stage::parallel(VarOrName v, int chunk) {
  add({directive::Split{v.name, v.name, v.name + ".chunk", chunk, TailStrategy::Auto}, v.where});
  return parallel(std::move(v));
}

Stage& Stage::vectorize(VarOrName v) {
  add({directive::Vectorize{v.name, 0, TailStrategy::Auto}, v.where});
  return *this;
}

Stage& Stage::vectorize(VarOrName v, int width, TailStrategy tail) {
  check_not_zero(width, "vectorize", "width", v);
  add({directive::Vectorize{v.name, width, tail}, v.where});
  return *this;
}

Stage& Stage::unroll(VarOrName v) {
  add({directive::Unroll{v.name, 0, TailStrategy::Auto}, v.where});
  return *this;
}

Stage& Stage::unroll(VarOrName v, int factor, TailStrategy tail) {
  check_not_zero(factor, "unroll", "factor", v);
  add({directive::Unroll{v.name, factor, tail}, v.where});
  return *this;
}

Stage& Stage::gpu_blocks(VarOrName x) {
  add({directive::MarkLoop{x.name, LoopKind::GpuBlock}, x.where});
  return *this;
}
Stage& Stage::gpu_blocks(VarOrName x, VarOrName y) {
  gpu_blocks(std::move(x));
  return gpu_blocks(std::move(y));
}
Stage& Stage::gpu_blocks(VarOrName x, VarOrName y, VarOrName z) {
  gpu_blocks(std::move(x), std::move(y));
  return gpu_blocks(std::move(z));
}

Stage& Stage::gpu_threads(VarOrName x) {
  add({directive::MarkLoop{x.name, LoopKind::GpuThread}, x.where});
  return *this;
}
Stage& Stage::gpu_threads(VarOrName x, VarOrName y) {
  gpu_threads(std::move(x));
  return gpu_threads(std::move(y));
}
Stage& Stage::gpu_threads(VarOrName x, VarOrName y, VarOrName z) {
  gpu_threads(std::move(x), std::move(y));
  return gpu_threads(std::move(z));
}

Stage& Stage::gpu_tile(VarOrName x, int tx, TailStrategy tail) {
  add({directive::GpuTile{{x.name}, {tx}, tail}, x.where});
  return *this;
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName y, int tx, int ty, TailStrategy tail) {
  add({directive::GpuTile{{x.name, y.name}, {tx, ty}, tail}, x.where});
  return *this;
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName y, VarOrName z, int tx, int ty, int tz,
                       TailStrategy tail) {
  add({directive::GpuTile{{x.name, y.name, z.name}, {tx, ty, tz}, tail}, x.where});
  return *this;
}

Stage& Stage::gpu_single_thread(CallSite at) {
  add({directive::GpuSingleThread{}, at});
  return *this;
}

Stage& Stage::atomic(CallSite at) {
  add({directive::Atomic{}, at});
  return *this;
}

Stage& Stage::gpu_tile(VarOrName x, VarOrName xi, int tx, TailStrategy tail) {
  return gpu_tile(x, x, std::move(xi), tx, tail);
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName y, VarOrName xi, VarOrName yi, int tx, int ty,
                       TailStrategy tail) {
  return gpu_tile(x, y, x, y, std::move(xi), std::move(yi), tx, ty, tail);
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xi, VarOrName yi, VarOrName zi,
                       int tx, int ty, int tz, TailStrategy tail) {
  return gpu_tile(x, y, z, x, y, z, std::move(xi), std::move(yi), std::move(zi), tx, ty, tz, tail);
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName xo, VarOrName xi, int tx, TailStrategy tail) {
  split(std::move(x), xo, xi, tx, tail);
  gpu_blocks(std::move(xo));
  return gpu_threads(std::move(xi));
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi,
                       int tx, int ty, TailStrategy tail) {
  tile(std::move(x), std::move(y), xo, yo, xi, yi, tx, ty, tail);
  gpu_blocks(std::move(xo), std::move(yo));
  return gpu_threads(std::move(xi), std::move(yi));
}
Stage& Stage::gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xo, VarOrName yo, VarOrName zo,
                       VarOrName xi, VarOrName yi, VarOrName zi, int tx, int ty, int tz,
                       TailStrategy tail) {
  split(std::move(x), xo, xi, tx, tail);
  split(std::move(y), yo, yi, ty, tail);
  split(std::move(z), zo, zi, tz, tail);
  reorder({xi, yi, zi, xo, yo, zo});
  gpu_blocks(std::move(xo), std::move(yo), std::move(zo));
  return gpu_threads(std::move(xi), std::move(yi), std::move(zi));
}

Stage Stage::specialize(const Expr& condition, CallSite at) {
  constexpr const char* kLegal =
      "conditions are made of constants, Params and inputs' mins and extents, which a run knows when it "
      "begins";
  const std::string what = fmt::format("specialize of {}: the condition", function_->name);
  if (!function_->defined()) {
    throw UserError(fmt::format("specialize of {}, which is not defined; write {}(...) = ... before its "
                                "schedule",
                                function_->name, function_->name),
                    at);
  }
  if (specialization_ >= 0) {
    throw UserError(
        fmt::format("specialize of what is a specialization of {} itself: write one condition, "
                    "c1 && c2, on {}",
                    function_->name, function_->name),
        at);
  }
  Definition& definition = function_->definitions.at(static_cast<std::size_t>(definition_));
  Definition::Specialization special;
  special.condition = launch_condition(condition, what, kLegal, at);
  special.directives = definition.directives;
  special.taken_over = definition.directives.size();
  special.where = at;
  definition.specializations.push_back(std::move(special));
  Stage stage(function_, definition_, at);
  stage.specialization_ = static_cast<int>(definition.specializations.size()) - 1;
  return stage;
}

Stage& Stage::launch_bounds(int min_blocks, CallSite at) {
  add({directive::LaunchBounds{min_blocks}, at});
  return *this;
}

Stage& Stage::max_registers(int count, CallSite at) {
  add({directive::MaxRegisters{count}, at});
  return *this;
}

}  // namespace mica
