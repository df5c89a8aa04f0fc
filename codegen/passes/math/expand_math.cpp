#include "codegen/passes/math/expand_math.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codegen/ir/traverse.h"
#include "codegen/passes/math/math_binary.h"
#include "codegen/passes/math/math_f32.h"
#include "codegen/passes/math/math_f64.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

/// The function's name if `op` is expanded, else null.
const char* function_name(UnaryOp op) {
  switch (op) {
    case UnaryOp::Exp: return "exp";
    case UnaryOp::Log: return "log";
    case UnaryOp::Sin: return "sin";
    case UnaryOp::Cos: return "cos";
    case UnaryOp::Tanh: return "tanh";
    case UnaryOp::Neg:
    case UnaryOp::Not:
    case UnaryOp::BitNot:
    case UnaryOp::Abs:
    case UnaryOp::Sqrt:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: return nullptr;
  }
  return nullptr;
}

void check_type(Type type) {
  internal_check(type.code == TypeCode::Float && (type.bits == 32 || type.bits == 64),
                 "a math function on f16 or bf16 met expand_math; legalize_half comes first");
}

Expr expanded(const Binary& b, const std::string& height) {
  switch (b.op) {
    case BinaryOp::Atan2: return expand_atan2(b.a, b.b, "atan2" + height);
    case BinaryOp::Fmod: return expand_fmod(b.a, b.b, "fmod" + height);
    default: break;
  }
  internal_check(b.op == BinaryOp::Pow, "expand_math of an operation that is no math function");
  return b.a.type().bits == 32 ? pow_f32(b.a, b.b, "pow" + height) : pow_f64(b.a, b.b, "pow" + height);
}

class Expander {
 public:
  Expr run(const Expr& e) { return visit(e).expr; }

 private:
  struct Expanded {
    Expr source;  // keeps the node alive, since its address is the key
    Expr expr;
    int height = 0;  // math functions on the deepest path
  };

  const Expanded& visit(const Expr& e) {
    const auto found = done_.find(e.ptr().get());
    if (found != done_.end()) return found->second;
    int height = 0;
    const Expr mapped = map_children(e, [&](const Expr& child) {
      const Expanded& inner = visit(child);
      height = std::max(height, inner.height);
      return inner.expr;
    });
    Expanded result{e, mapped, height};
    if (const Unary* u = mapped.as<Unary>(); u != nullptr && function_name(u->op) != nullptr) {
      const std::string prefix = function_name(u->op) + ("." + std::to_string(height));
      check_type(e.type());
      result.expr = e.type().bits == 32 ? math_f32(u->op, u->a, prefix) : math_f64(u->op, u->a, prefix);
      ++result.height;
    } else if (const Binary* b = mapped.as<Binary>(); b != nullptr && is_math_function(b->op)) {
      check_type(e.type());
      result.expr = expanded(*b, "." + std::to_string(height));
      ++result.height;
    }
    return done_.emplace(e.ptr().get(), std::move(result)).first->second;
  }

  NodeMap<Expanded> done_;
};

}  // namespace

Expr expand_math(const Expr& e) { return Expander().run(e); }

ir::Stmt expand_math(const ir::Stmt& s) {
  Expander expander;
  return ir::map_exprs(s, [&](const Expr& e) { return expander.run(e); });
}

}  // namespace mica::passes
