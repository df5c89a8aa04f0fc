#include "codegen/program.h"

namespace mica {

std::string storage_name(const std::string& func, int value, std::size_t count) {
  return count == 1 ? func : func + "." + std::to_string(value);
}
int storage_alignment(const FunctionData& func, std::size_t d, int otherwise) {
  for (const auto& directive : func.definitions.front().directives) {
    const auto* align = std::get_if<directive::AlignStorage>(&directive.op);
    if (align && align->var == func.args[d]) return align->elements;
  }
  return otherwise;
}
ArrayKind kind_of(const Plan& plan, const std::string& array) {
  for (const auto& b : plan.buffers) {
    if (b.name == array) return {b.type, static_cast<std::size_t>(b.dimensions)};
  }
  for (const auto& t : plan.temporaries) {
    if (t.name == array) return {t.type, t.extents.size()};
  }
  throw InternalError("the plan has no array " + array);
}
Expr min_symbol(const std::string& buffer, std::size_t d) {
  return make_var(buffer + ".min." + std::to_string(d));
}
Expr extent_symbol(const std::string& buffer, std::size_t d) {
  return make_var(buffer + ".extent." + std::to_string(d));
}
Expr stride_symbol(const std::string& buffer, std::size_t d) {
  return make_var(buffer + ".stride." + std::to_string(d));
}

}  // namespace mica
