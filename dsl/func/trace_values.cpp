#include "dsl/func/trace_values.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/traverse.h"

namespace mica {
namespace {

/// `value`, beside which a line "<what> <name>(<args>)<element> = <shown>" is printed.
Expr with_line(Expr value, const std::string& what, const std::vector<Expr>& args,
               const std::string& element, const Expr& shown) {
  const Type type = value.type();
  Print line{std::move(value), make_const(Bool(), 1), args, {what + "("}};
  for (std::size_t d = 0; d < args.size(); ++d) {
    line.texts.emplace_back(d + 1 < args.size() ? ", " : ")" + element + " = ");
  }
  line.operands.push_back(shown.type().is_half() ? make_expr(Float(32), Cast{shown}) : shown);
  line.texts.emplace_back();
  return make_expr(type, std::move(line));
}

std::string element_text(const FunctionData& f, int element) {
  return f.types.size() > 1 ? "[" + std::to_string(element) + "]" : "";
}

/// The Func that `e` reads, if that is traced.
const FunctionData* traced_source(const Expr& e, const FunctionData& reader) {
  const auto* access = e.as<Access>();
  if (access == nullptr) return nullptr;
  const FunctionData* source = access->is_self ? &reader : access->function.get();
  return source != nullptr && source->traces.loads ? source : nullptr;
}

}  // namespace

std::shared_ptr<FunctionData> traced(const FunctionData& f, std::shared_ptr<FunctionData> copy) {
  copy->traces = f.traces;
  if (!f.made_of.empty()) return copy;
  for (Definition& definition : copy->definitions) {
    std::vector<Expr> seen;
    for (std::size_t i = 0; i < definition.values.size(); ++i) {
      Expr& value = definition.values[i];
      std::vector<std::pair<Expr, const FunctionData*>> loads;
      const auto note = [&](const Expr& e) {
        const FunctionData* source = traced_source(e, *copy);
        const auto is_e = [&](const Expr& other) { return equal(e, other); };
        if (source == nullptr || std::any_of(seen.begin(), seen.end(), is_e)) return;
        seen.push_back(e);
        loads.emplace_back(e, source);
      };
      if (i == 0) {
        for (const Expr& arg : definition.args) walk(arg, note);
      }
      walk(value, note);
      const Expr stored = value;
      for (const auto& [load, source] : loads) {
        const auto& access = *load.as<Access>();
        value = with_line(value, "load " + source->name, access.args,
                          element_text(*source, access.value_index), load);
      }
      if (!f.traces.stores) continue;
      value = with_line(value, "store " + copy->name, definition.args,
                        element_text(*copy, static_cast<int>(i)), stored);
    }
  }
  return copy;
}

}  // namespace mica
