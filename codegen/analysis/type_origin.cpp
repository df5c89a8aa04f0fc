#include "codegen/analysis/type_origin.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

/// Looks at all leaves behind a value, through Funcs that it reads.
class OriginFinder {
 public:
  OriginFinder(const Pipeline& pipeline, Type type) : pipeline_(pipeline), type_(type) {}

  void visit(const FunctionData& func, std::size_t value) {
    if (!seen_.insert({func.name, value}).second) return;
    for (const auto& definition : func.definitions) {
      visit_nodes({definition.values.at(value)}, [&](const Expr& e) { look(e); });
    }
  }

  [[nodiscard]] std::string text() const {
    if (!reads_narrower_) return {};
    for (const auto* found : {&param_, &input_, &constant_}) {
      if (!found->empty()) return fmt::format("because {} is a {}", *found, to_string(type_));
    }
    return {};
  }

 private:
  void look(const Expr& e) {
    const bool is_type = e.type() == type_;
    if (const auto* access = e.as<Access>()) {
      if (access->is_self) return;
      if (const FunctionData* func = pipeline_.find(access->name)) {
        visit(*func, static_cast<std::size_t>(access->value_index));
      } else if (is_type) {
        note(input_, "input " + access->name);
      } else if (e.type().code == type_.code) {
        reads_narrower_ = true;
      }
      return;
    }
    if (!is_type) return;
    if (const auto* var = e.as<VarRef>()) {
      const auto is_it = [&](const auto& param) { return param.name == var->name; };
      if (std::any_of(pipeline_.params.begin(), pipeline_.params.end(), is_it)) {
        note(param_, "Param " + var->name);
      }
    }
    if (e.as<FloatImm>() || e.as<IntImm>()) note(constant_, "the constant " + brief(e));
  }

  static void note(std::string& what, std::string text) {
    if (what.empty()) what = std::move(text);
  }

  const Pipeline& pipeline_;
  Type type_;
  std::set<std::pair<std::string, std::size_t>> seen_;
  std::string param_, input_, constant_;
  bool reads_narrower_ = false;
};

}  // namespace

std::string type_origin(const Pipeline& pipeline, const FunctionData& func, std::size_t value) {
  const Type type = func.types.at(value);
  if (type.bits < 64) return {};
  OriginFinder finder(pipeline, type);
  finder.visit(func, value);
  return finder.text();
}

}  // namespace mica::analysis
