// Func handles: names, arguments and calls.
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

Func::Func(std::string name, CallSite at) : LoopDirectives(std::make_shared<FunctionData>(), 0) {
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

Func& Func::trace_stores(CallSite at) {
  function()->traces.stores = true;
  function()->traces.where = at;
  return *this;
}

Func& Func::trace_loads() {
  function()->traces.loads = true;
  return *this;
}

Func& Func::trace_realizations(CallSite at) {
  function()->traces.realizations = true;
  function()->traces.where_realizations = at;
  return *this;
}

}  // namespace mica
