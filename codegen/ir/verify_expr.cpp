#include "codegen/ir/verify_expr.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::ir {

namespace {

using mica::to_string;

constexpr int kWarp = 32;  // threads

class ExprVerifier {
 public:
  ExprVerifier(Level level, Scope& scope, std::vector<std::string>& found)
      : level_(level), scope_(scope), found_(found) {}

  void check(const Expr& e) {
    if (!e.defined()) {
      found_.emplace_back("an undefined expression");
      return;
    }
    if (!visited_.insert(&e.node())) return;
    bool complete = true;
    for_each_child(e, [&](const Expr& child) { complete = complete && child.defined(); });
    if (!complete) {
      found_.emplace_back("an expression with an undefined operand");
      return;
    }
    if (const Let* let = e.as<Let>()) {
      check(let->value);
      scope_.names[let->name].push_back({let->value.type(), scope_.divergent(let->value)});
      NodeSet outside;
      std::swap(outside, visited_);
      check(let->body);
      std::swap(outside, visited_);
      scope_.names[let->name].pop_back();
      require(e, let->body.type() == e.type(), "let of another type than its body");
      return;
    }
    for_each_child(e, [&](const Expr& child) { check(child); });
    std::visit([&](const auto& op) { node(e, op); }, e.node().op);
  }

 private:
  void require(const Expr& e, bool holds, const char* what) {
    if (!holds) found_.push_back(std::string(what) + " in " + brief(e));
  }
  /// The text is made for what does not hold only.
  void require(const Expr& e, bool holds, FunctionRef<std::string()> what) {
    if (!holds) found_.push_back(what() + " in " + brief(e));
  }
  /// At the back end f16 and bf16 are moved and cast only.
  void computes(const Expr& e, Type type) {
    require(e, level_ < Level::BackEnd || !type.is_half(),
            [&] { return "arithmetic on " + to_string(type) + " is left for the back end"; });
  }
  void same(const Expr& e, const Expr& a, const Expr& b) {
    require(e, a.type() == b.type(),
            [&] { return "operands of types " + to_string(a.type()) + " and " + to_string(b.type()); });
  }
  void result(const Expr& e, Type expected) {
    require(e, e.type() == expected,
            [&] { return "type " + to_string(e.type()) + " instead of " + to_string(expected); });
  }

  void node(const Expr& e, const IntImm& /*imm*/) {
    require(e, e.type().is_scalar() && !e.type().is_float(), "integer constant of a wrong type");
  }
  void node(const Expr& e, const FloatImm& /*imm*/) {
    require(e, e.type().is_scalar() && e.type().is_float(), "float constant of a wrong type");
  }
  void node(const Expr& e, const VarRef& var) {
    const Scope::Name* name = scope_.find(var.name);
    if (name == nullptr) {
      found_.push_back(var.name + " is used but not defined here");
    } else if (name->type) {
      require(e, e.type() == *name->type, [&] {
        return "used as " + to_string(e.type()) + " but defined as " + to_string(*name->type);
      });
    } else {
      require(e, e.type().is_scalar() && e.type().is_integer(), "symbol that is no integer");
    }
  }
  void node(const Expr& e, const ParamRef& /*p*/) { require(e, false, "ParamRef"); }
  void node(const Expr& e, const RVarRef& /*r*/) { require(e, false, "RVarRef"); }
  void node(const Expr& e, const ImageField& /*f*/) { require(e, false, "ImageField"); }
  void node(const Expr& e, const Cast& cast) {
    require(e, cast.value.type().lanes == e.type().lanes, "cast that changes the lanes");
  }
  void node(const Expr& e, const Unary& u) {
    result(e, u.a.type());
    const Type t = e.type();
    computes(e, t);
    bool legal = false;
    switch (u.op) {
      case UnaryOp::Neg:
      case UnaryOp::Abs: legal = !t.is_bool(); break;
      case UnaryOp::Not: legal = t.is_bool(); break;
      case UnaryOp::BitNot: legal = t.is_integer(); break;
      case UnaryOp::Sqrt:
      case UnaryOp::Floor:
      case UnaryOp::Ceil:
      case UnaryOp::Round: legal = t.is_float(); break;
      case UnaryOp::Exp:
      case UnaryOp::Log:
      case UnaryOp::Sin:
      case UnaryOp::Cos:
      case UnaryOp::Tanh: legal = t.is_float() && level_ < Level::BackEnd; break;
    }
    require(e, legal, [&] { return "unary operation that " + to_string(t) + " does not have"; });
  }
  void node(const Expr& e, const Binary& b) {
    same(e, b.a, b.b);
    result(e, b.a.type());
    const Type t = e.type();
    computes(e, t);
    bool legal = false;
    switch (b.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub:
      case BinaryOp::Mul:
      case BinaryOp::Div: legal = !t.is_bool(); break;
      case BinaryOp::Min:
      case BinaryOp::Max: legal = true; break;
      case BinaryOp::Mod: legal = t.is_integer(); break;
      case BinaryOp::Pow:
      case BinaryOp::Atan2:
      case BinaryOp::Fmod: legal = t.is_float() && level_ < Level::BackEnd; break;
      case BinaryOp::And:
      case BinaryOp::Or: legal = t.is_bool(); break;
      case BinaryOp::BitAnd:
      case BinaryOp::BitOr:
      case BinaryOp::BitXor: legal = !t.is_float(); break;
      case BinaryOp::Shl:
      case BinaryOp::Shr: legal = t.is_integer(); break;
    }
    require(e, legal, [&] { return "binary operation that " + to_string(t) + " does not have"; });
  }
  void node(const Expr& e, const Compare& c) {
    same(e, c.a, c.b);
    result(e, Bool().with_lanes(c.a.type().lanes));
    computes(e, c.a.type());
  }
  void node(const Expr& e, const Select& s) {
    same(e, s.if_true, s.if_false);
    result(e, s.if_true.type());
    const Type c = s.condition.type();
    require(e, c.is_bool() && (c.is_scalar() || c.lanes == e.type().lanes),
            [&] { return "select by " + to_string(c); });
  }
  void node(const Expr& e, const Fma& f) {
    same(e, f.a, f.b);
    same(e, f.a, f.c);
    result(e, f.a.type());
    require(e, e.type().is_float(), "fma of integers");
    computes(e, e.type());
  }
  void node(const Expr& e, const Strict& s) {
    result(e, s.value.type());
    require(e, level_ < Level::BackEnd, "strict is left for the back end");
  }
  void node(const Expr& e, const Print& p) {
    result(e, p.value.type());
    const auto fits = [&](const Expr& part) {
      return part.type().is_scalar() || part.type().lanes == e.type().lanes;
    };
    require(e, p.condition.type().is_bool() && fits(p.condition),
            [&] { return "print where " + to_string(p.condition.type()); });
    require(e, p.texts.size() == p.operands.size() + 1, "print of other texts than operands");
    for (const Expr& operand : p.operands) {
      require(e, fits(operand) && !operand.type().is_half(),
              [&] { return "print of " + to_string(operand.type()); });
    }
  }
  void node(const Expr& e, const Access& a) {
    require(e, level_ < Level::Loads, "access that is no load");
    for (const Expr& arg : a.args) {
      require(e, arg.type().is_integer(), [&] { return "index of type " + to_string(arg.type()); });
    }
  }
  void node(const Expr& /*e*/, const Let& /*let*/) {}
  void node(const Expr& e, const Load& load) {
    std::vector<std::string> findings;
    verify_indices(load.buffer, load.index, load.alignment, e.type(), level_, scope_, findings);
    for (const std::string& finding : findings) require(e, false, finding.c_str());
  }
  void node(const Expr& e, const Ramp& r) {
    same(e, r.base, r.stride);
    require(e, r.base.type().is_scalar() && r.base.type().is_integer(), "ramp of no scalar integers");
    require(e, e.type().element() == r.base.type() && e.type().lanes > 1, "ramp of another type");
  }
  void node(const Expr& e, const Broadcast& b) {
    require(e, b.value.type().is_scalar() && e.type().element() == b.value.type(),
            [&] { return "broadcast of " + to_string(b.value.type()); });
  }
  void node(const Expr& e, const Shuffle& s) {
    int total = 0;
    for (const Expr& v : s.vectors) {
      total += v.type().lanes;
      require(e, v.type().element() == e.type().element(),
              [&] { return "shuffle of " + to_string(v.type()); });
    }
    require(e, static_cast<int>(s.lanes.size()) == e.type().lanes, "shuffle to other lanes");
    require(
        e,
        std::all_of(s.lanes.begin(), s.lanes.end(), [&](int lane) { return lane >= 0 && lane < total; }),
        "shuffle of a lane that is not there");
  }
  void node(const Expr& e, const Reinterpret& r) {
    const Type from = r.value.type();
    require(e, from.bits * from.lanes == e.type().bits * e.type().lanes,
            [&] { return "reinterpretation of " + to_string(from) + " in another width"; });
  }
  void node(const Expr& e, const WarpShuffle& w) {
    result(e, w.value.type());
    require(e, w.delta > -kWarp && w.delta < kWarp, "shuffle that leaves the warp");
    require(e, level_ < Level::BackEnd || scope_.axes_mapped, "shuffle between threads in host code");
  }

  Level level_;
  Scope& scope_;
  std::vector<std::string>& found_;
  /// Nodes seen with the names that are visible now: a shared node is checked once.
  NodeSet visited_;
};

}  // namespace

const Scope::Name* Scope::find(const std::string& name) const {
  const auto it = names.find(name);
  return it == names.end() || it->second.empty() ? nullptr : &it->second.back();
}

bool Scope::divergent(const Expr& e) const {
  bool result = false;
  // Names that a Let inside `e` binds are looked through: their values are nodes of `e`, too.
  walk(e, [&](const Expr& node) {
    if (const VarRef* var = node.as<VarRef>()) {
      const Name* name = find(var->name);
      result = result || (name != nullptr && name->divergent);
    } else if (const Load* load = node.as<Load>()) {
      result = result || thread_private.count(load->buffer) > 0;
    }
  });
  return result;
}

void verify_expr(const Expr& e, Level level, Scope& scope, std::vector<std::string>& found) {
  ExprVerifier(level, scope, found).check(e);
}

void verify_indices(const std::string& buffer, const std::vector<Expr>& index, int alignment, Type type,
                    Level level, const Scope& scope, std::vector<std::string>& found) {
  const auto it = scope.buffers.find(buffer);
  if (it == scope.buffers.end()) {
    found.push_back("access of " + buffer + ", which is no buffer here");
    return;
  }
  if (it->second.type != type.element()) {
    found.push_back("access of " + buffer + " as " + to_string(type) + ", but it holds " +
                    to_string(it->second.type));
  }
  const auto count = static_cast<int>(index.size());
  const int wanted = level >= Level::Flat ? 1 : it->second.dimensions;
  if (wanted != 0 && count != wanted) {
    found.push_back("access of " + buffer + " with " + std::to_string(count) + " indices, not " +
                    std::to_string(wanted));
  }
  bool spread = type.is_scalar() || count == 0;
  for (const Expr& e : index) {
    if (!e.defined()) return;
    const Type t = e.type();
    if (!t.is_integer() || (!t.is_scalar() && t.lanes != type.lanes)) {
      found.push_back("access of " + buffer + " as " + to_string(type) + " at an index of type " +
                      to_string(t));
    }
    spread = spread || t.lanes == type.lanes;
  }
  if (!spread) {
    found.push_back("access of " + buffer + " as " + to_string(type) + " at scalar indices");
  }
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) {
    found.push_back("alignment " + std::to_string(alignment) + " of an access of " + buffer);
  }
}

}  // namespace mica::ir
