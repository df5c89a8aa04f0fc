#include "codegen/passes/math/legalize_half.h"

#include <utility>

#include "codegen/ir/traverse.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

Type single(Type type) { return Float(32).with_lanes(type.lanes); }

/// `e` in f32 if it is of a half type. A constant changes its type; its value is exact in f32.
Expr widen(const Expr& e) {
  if (!e.type().is_half()) return e;
  if (const FloatImm* imm = e.as<FloatImm>()) return make_expr(single(e.type()), *imm);
  if (const Broadcast* broadcast = e.as<Broadcast>()) {
    return make_expr(single(e.type()), Broadcast{widen(broadcast->value)});
  }
  return make_expr(single(e.type()), Cast{e});
}

class Legalizer {
 public:
  Expr run(const Expr& e) {
    const auto found = done_.find(e.ptr().get());
    if (found != done_.end()) return found->second.second;
    Expr result = rewrite(map_children(e, [this](const Expr& child) { return run(child); }));
    done_.emplace(e.ptr().get(), std::pair{e, result});
    return result;
  }

 private:
  static Expr rewrite(const Expr& e) {
    const Type type = e.type();
    if (const Compare* c = e.as<Compare>()) {
      if (!c->a.type().is_half()) return e;
      return make_expr(type, Compare{c->op, widen(c->a), widen(c->b)});
    }
    if (const Cast* cast = e.as<Cast>()) return through_single(e, cast->value);
    if (!type.is_half()) return e;
    Expr computed;
    if (const Unary* u = e.as<Unary>()) {
      computed = make_expr(single(type), Unary{u->op, widen(u->a)});
    } else if (const Binary* b = e.as<Binary>()) {
      computed = make_expr(single(type), Binary{b->op, widen(b->a), widen(b->b)});
    } else if (const Fma* f = e.as<Fma>()) {
      computed = make_expr(single(type), Fma{widen(f->a), widen(f->b), widen(f->c)});
    } else {
      return e;
    }
    return make_expr(type, Cast{computed});
  }

  /// `cast`, a Cast of `value`, with f32 in between where one side is a half type.
  static Expr through_single(const Expr& cast, const Expr& value) {
    const Type from = value.type(), to = cast.type();
    if (from == to) return value;
    if (!from.is_half() && !to.is_half()) return cast;
    Expr middle = widen(value);
    if (middle.type() != single(to)) middle = make_expr(single(to), Cast{middle});
    return to == single(to) ? middle : make_expr(to, Cast{middle});
  }

  /// The handle keeps the node alive, since its address is the key.
  NodeMap<std::pair<Expr, Expr>> done_;
};

}  // namespace

Expr legalize_half(const Expr& e) { return Legalizer().run(e); }

ir::Stmt legalize_half(const ir::Stmt& s) {
  Legalizer legalizer;
  return ir::map_exprs(s, [&](const Expr& e) { return legalizer.run(e); });
}

}  // namespace mica::passes
