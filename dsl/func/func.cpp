// Func handles: names, arguments, calls, and Stage's loop directives given back as Func.
#include "dsl/func/func.h"

#include <fmt/format.h>

#include "dsl/expr/names.h"

namespace mica {

const Expr& Tuple::operator[](ElementIndex i) const {
  if (i.value() < 0 || static_cast<std::size_t>(i.value()) >= values_.size()) {
    throw UserError(
        fmt::format("element {} of a Tuple of {}", i.value(), counted(values_.size(), "value")),
        i.where());
  }
  return values_[static_cast<std::size_t>(i.value())];
}

VarOrName::VarOrName(const RVar& v, CallSite at) : name(v.name()), where(at) {}

VarOrName::VarOrName(const RDom& r, CallSite at) : name(r.x.name()), where(at) {
  if (r.dimensions() == 1) return;
  throw UserError(fmt::format("RDom {} has {} dimensions: name one of them, {}", r.data()->name,
                              r.dimensions(), name),
                  at);
}

Func::Func(std::string name, CallSite at) : Stage(std::make_shared<FunctionData>(), 0) {
  if (name.empty()) throw UserError("a Func's name is empty", at);
  function_->name = std::move(name);
  function_->where = at;
}

std::vector<Var> Func::args() const {
  std::vector<Var> vars;
  for (const auto& name : function_->args) vars.emplace_back(name);
  return vars;
}

FuncRef Func::operator()(CallSite at) const { return FuncRef(function_, {}, at); }
FuncRef Func::operator()(Expr x, CallSite at) const { return FuncRef(function_, {std::move(x)}, at); }
FuncRef Func::operator()(Expr x, Expr y, CallSite at) const {
  return FuncRef(function_, {std::move(x), std::move(y)}, at);
}
FuncRef Func::operator()(Expr x, Expr y, Expr z, CallSite at) const {
  return FuncRef(function_, {std::move(x), std::move(y), std::move(z)}, at);
}
FuncRef Func::operator()(Expr x, Expr y, Expr z, Expr w, CallSite at) const {
  return FuncRef(function_, {std::move(x), std::move(y), std::move(z), std::move(w)}, at);
}
FuncRef Func::operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, CallSite at) const {
  return FuncRef(function_, {std::move(x), std::move(y), std::move(z), std::move(w), std::move(d4)}, at);
}
FuncRef Func::operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, Expr d5, CallSite at) const {
  return FuncRef(function_,
                 {std::move(x), std::move(y), std::move(z), std::move(w), std::move(d4), std::move(d5)},
                 at);
}
FuncRef Func::operator()(std::vector<Expr> args, CallSite at) const {
  return FuncRef(function_, std::move(args), at);
}

Stage Func::update(int i, CallSite at) {
  const std::size_t updates = defined() ? function_->definitions.size() - 1 : 0;
  if (i < 0 || static_cast<std::size_t>(i) >= updates) {
    throw UserError(
        fmt::format("{}.update({}): {} has {}{}", name(), i, name(), counted(updates, "update"),
                    updates > 1 ? fmt::format(", numbered 0 to {}", updates - 1) : ""),
        at);
  }
  return Stage(function_, i + 1);
}

Func& Func::split(VarOrName v, VarOrName outer, VarOrName inner, int factor, TailStrategy tail) {
  Stage::split(std::move(v), std::move(outer), std::move(inner), factor, tail);
  return *this;
}
Func& Func::tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi,
                 int tx, int ty, TailStrategy tail) {
  Stage::tile(std::move(x), std::move(y), std::move(xo), std::move(yo), std::move(xi), std::move(yi), tx,
              ty, tail);
  return *this;
}
Func& Func::fuse(VarOrName inner, VarOrName outer, VarOrName fused) {
  Stage::fuse(std::move(inner), std::move(outer), std::move(fused));
  return *this;
}
Func& Func::reorder(std::initializer_list<VarOrName> vars) {
  Stage::reorder(vars);
  return *this;
}
Func& Func::serial(VarOrName v) {
  Stage::serial(std::move(v));
  return *this;
}
Func& Func::parallel(VarOrName v) {
  Stage::parallel(std::move(v));
  return *this;
}
Func& Func::parallel(VarOrName v, int chunk) {
  Stage::parallel(std::move(v), chunk);
  return *this;
}
Func& Func::vectorize(VarOrName v) {
  Stage::vectorize(std::move(v));
  return *this;
}
Func& Func::vectorize(VarOrName v, int width, TailStrategy tail) {
  Stage::vectorize(std::move(v), width, tail);
  return *this;
}
Func& Func::unroll(VarOrName v) {
  Stage::unroll(std::move(v));
  return *this;
}
Func& Func::unroll(VarOrName v, int factor, TailStrategy tail) {
  Stage::unroll(std::move(v), factor, tail);
  return *this;
}
Func& Func::gpu_blocks(VarOrName x) {
  Stage::gpu_blocks(std::move(x));
  return *this;
}
Func& Func::gpu_blocks(VarOrName x, VarOrName y) {
  Stage::gpu_blocks(std::move(x), std::move(y));
  return *this;
}
Func& Func::gpu_blocks(VarOrName x, VarOrName y, VarOrName z) {
  Stage::gpu_blocks(std::move(x), std::move(y), std::move(z));
  return *this;
}
Func& Func::gpu_threads(VarOrName x) {
  Stage::gpu_threads(std::move(x));
  return *this;
}
Func& Func::gpu_threads(VarOrName x, VarOrName y) {
  Stage::gpu_threads(std::move(x), std::move(y));
  return *this;
}
Func& Func::gpu_threads(VarOrName x, VarOrName y, VarOrName z) {
  Stage::gpu_threads(std::move(x), std::move(y), std::move(z));
  return *this;
}
Func& Func::gpu_tile(VarOrName x, int tx, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), tx, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName y, int tx, int ty, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(y), tx, ty, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName y, VarOrName z, int tx, int ty, int tz, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(y), std::move(z), tx, ty, tz, tail);
  return *this;
}
Func& Func::gpu_single_thread(CallSite at) {
  Stage::gpu_single_thread(at);
  return *this;
}

Func& Func::gpu_tile(VarOrName x, VarOrName xi, int tx, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(xi), tx, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName y, VarOrName xi, VarOrName yi, int tx, int ty,
                     TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(y), std::move(xi), std::move(yi), tx, ty, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xi, VarOrName yi, VarOrName zi,
                     int tx, int ty, int tz, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(y), std::move(z), std::move(xi), std::move(yi), std::move(zi),
                  tx, ty, tz, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName xo, VarOrName xi, int tx, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(xo), std::move(xi), tx, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName y, VarOrName xo, VarOrName yo, VarOrName xi, VarOrName yi,
                     int tx, int ty, TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(y), std::move(xo), std::move(yo), std::move(xi), std::move(yi),
                  tx, ty, tail);
  return *this;
}
Func& Func::gpu_tile(VarOrName x, VarOrName y, VarOrName z, VarOrName xo, VarOrName yo, VarOrName zo,
                     VarOrName xi, VarOrName yi, VarOrName zi, int tx, int ty, int tz,
                     TailStrategy tail) {
  Stage::gpu_tile(std::move(x), std::move(y), std::move(z), std::move(xo), std::move(yo), std::move(zo),
                  std::move(xi), std::move(yi), std::move(zi), tx, ty, tz, tail);
  return *this;
}
Func& Func::launch_bounds(int min_blocks, CallSite at) {
  Stage::launch_bounds(min_blocks, at);
  return *this;
}
Func& Func::max_registers(int count, CallSite at) {
  Stage::max_registers(count, at);
  return *this;
}

}  // namespace mica
