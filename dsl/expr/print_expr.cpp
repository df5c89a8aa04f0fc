// to_string of an expression (dsl/expr/traverse.h).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/function.h"

namespace mica {
namespace {

// Binding strengths, tightest first, in C's order.
enum Strength : int {
  kPrimary,
  kUnary,
  kProduct,
  kSum,
  kShift,
  kOrder,
  kEquality,
  kBitAnd,
  kBitXor,
  kBitOr,
  kAnd,
  kOr,
  kLet
};

struct Infix {
  const char* text;
  Strength strength;
};

// How a binary operator is written between its operands; a null text means as a call.
Infix infix(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return {" + ", kSum};
    case BinaryOp::Sub: return {" - ", kSum};
    case BinaryOp::Mul: return {"*", kProduct};
    case BinaryOp::Div: return {"/", kProduct};
    case BinaryOp::Mod: return {" % ", kProduct};
    case BinaryOp::Shl: return {" << ", kShift};
    case BinaryOp::Shr: return {" >> ", kShift};
    case BinaryOp::BitAnd: return {" & ", kBitAnd};
    case BinaryOp::BitXor: return {" ^ ", kBitXor};
    case BinaryOp::BitOr: return {" | ", kBitOr};
    case BinaryOp::And: return {" && ", kAnd};
    case BinaryOp::Or: return {" || ", kOr};
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
    case BinaryOp::Fmod: return {nullptr, kPrimary};
  }
  return {nullptr, kPrimary};
}

Infix infix(CompareOp op) {
  switch (op) {
    case CompareOp::Eq: return {" == ", kEquality};
    case CompareOp::Ne: return {" != ", kEquality};
    case CompareOp::Lt: return {" < ", kOrder};
    case CompareOp::Le: return {" <= ", kOrder};
    case CompareOp::Gt: return {" > ", kOrder};
    case CompareOp::Ge: return {" >= ", kOrder};
  }
  return {nullptr, kPrimary};
}

const char* call_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::Min: return "min";
    case BinaryOp::Max: return "max";
    case BinaryOp::Atan2: return "atan2";
    case BinaryOp::Fmod: return "fmod";
    default: return "pow";
  }
}

// The operator before its operand, or the function's name.
struct Prefix {
  const char* text;
  bool is_call;
};
Prefix prefix(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg: return {"-", false};
    case UnaryOp::Not: return {"!", false};
    case UnaryOp::BitNot: return {"~", false};
    case UnaryOp::Abs: return {"abs", true};
    case UnaryOp::Sqrt: return {"sqrt", true};
    case UnaryOp::Floor: return {"floor", true};
    case UnaryOp::Ceil: return {"ceil", true};
    case UnaryOp::Round: return {"round", true};
    case UnaryOp::Exp: return {"exp", true};
    case UnaryOp::Log: return {"log", true};
    case UnaryOp::Sin: return {"sin", true};
    case UnaryOp::Cos: return {"cos", true};
    case UnaryOp::Tanh: return {"tanh", true};
  }
  return {"", true};
}

// The shortest decimal that reads back as `value`, with a point or exponent so that it reads as a float.
template <typename F>
std::string shortest(F value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string result(text.data(), end);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

std::string float_text(Type type, double value) {
  return type.bits == 64 ? shortest(value) : shortest(static_cast<float>(value));
}

// Writes an expression of any depth: what is left to write waits on a stack of its own.
class Printer {
 public:
  Printer(std::string& out, std::size_t most) : out_(out), most_(most) {}

  // Writes `e` and, once the text is `most` long, "..." in place of all that is left.
  void print(const Expr& e) {
    left_.push_back({&e, {}, kLet});
    while (!left_.empty()) {
      if (out_.size() >= most_) {
        out_ += "...";
        return;
      }
      const Item item = std::move(left_.back());
      left_.pop_back();
      if (item.e == nullptr) {
        out_ += item.text;
      } else if (!item.e->defined()) {
        out_ += "<undefined>";
      } else {
        const auto first = static_cast<std::ptrdiff_t>(left_.size());
        const Type type = item.e->type();
        std::visit([&](const auto& op) { print_op(type, op, item.limit); }, item.e->node().op);
        std::reverse(left_.begin() + first, left_.end());
      }
    }
  }

 private:
  // A text or, with `e`, an expression, in parentheses if it binds weaker than `limit`.
  struct Item {
    const Expr* e;
    std::string text;
    Strength limit;
  };

  // What print_op says comes next, in the order in which it is read.
  void text(std::string words) { left_.push_back({nullptr, std::move(words), kLet}); }
  void value(const Expr& e, Strength limit = kLet) { left_.push_back({&e, {}, limit}); }

  template <typename Body>
  void bracketed(bool needed, Body&& body) {
    if (needed) text("(");
    body();
    if (needed) text(")");
  }
  void list(const std::vector<Expr>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text(", ");
      value(items[i]);
    }
  }
  void call(const std::string& name, std::initializer_list<const Expr*> args) {
    text(name + "(");
    bool first = true;
    for (const Expr* arg : args) {
      if (!first) text(", ");
      first = false;
      value(*arg);
    }
    text(")");
  }
  // Left-associative: the right operand must bind tighter.
  void between(const Infix& form, const Expr& a, const Expr& b, Strength limit) {
    bracketed(form.strength > limit, [&] {
      value(a, form.strength);
      text(form.text);
      value(b, static_cast<Strength>(form.strength - 1));
    });
  }
  // Does the text of an operand of a prefix begin with a minus sign?
  static bool begins_with_minus(const Expr& e) {
    if (const auto* imm = e.as<IntImm>()) return integer_text(e.type(), imm->value).front() == '-';
    if (const auto* imm = e.as<FloatImm>()) return float_text(e.type(), imm->value).front() == '-';
    const auto* inner = e.as<Unary>();
    return inner != nullptr && prefix(inner->op).text[0] == '-';
  }

  void print_op(Type type, const IntImm& op, Strength) { text(integer_text(type, op.value)); }
  void print_op(Type type, const FloatImm& op, Strength) { text(float_text(type, op.value)); }
  void print_op(Type, const VarRef& op, Strength) { text(printed(op.name)); }
  void print_op(Type, const ParamRef& op, Strength) { text(op.param->name); }
  void print_op(Type, const RVarRef& op, Strength) {
    text(op.domain->dims.at(static_cast<std::size_t>(op.index)).name);
  }
  void print_op(Type, const ImageField& op, Strength) {
    text(symbol_name(op.image->name, op.field, static_cast<std::size_t>(op.dimension)));
  }
  void print_op(Type type, const Cast& op, Strength) {
    call("cast<" + to_string(type) + ">", {&op.value});
  }
  void print_op(Type, const Unary& op, Strength limit) {
    const Prefix form = prefix(op.op);
    if (form.is_call) return call(form.text, {&op.a});
    bracketed(kUnary > limit, [&] {
      text(form.text);
      // "-" before a minus sign would read as a decrement.
      const bool apart = form.text[0] == '-' && op.a.defined() && begins_with_minus(op.a);
      bracketed(apart, [&] { value(op.a, kUnary); });
    });
  }
  void print_op(Type type, const Binary& op, Strength limit) {
    const Infix form = infix(op.op);
    if (form.text == nullptr) return call(call_name(op.op), {&op.a, &op.b});
    const auto* constant = op.b.as<IntImm>();
    const bool negative = constant != nullptr && constant->value < 0 && !type.is_uint();
    if (op.op == BinaryOp::Add && negative) {
      return bracketed(kSum > limit, [&] {  // x + -1 reads x - 1
        value(op.a, kSum);
        text(" - " + std::to_string(constant->value).substr(1));
      });
    }
    between(form, op.a, op.b, limit);
  }
  void print_op(Type, const Compare& op, Strength limit) { between(infix(op.op), op.a, op.b, limit); }
  void print_op(Type, const Select& op, Strength) {
    call("select", {&op.condition, &op.if_true, &op.if_false});
  }
  void print_op(Type, const Fma& op, Strength) { call("fma", {&op.a, &op.b, &op.c}); }
  void print_op(Type, const Strict& op, Strength) { call("strict", {&op.value}); }
  void print_op(Type, const Access& op, Strength) {
    text(op.name + "(");
    list(op.args);
    text(")");
    const bool is_tuple = op.function != nullptr && op.function->types.size() > 1;
    if (is_tuple || op.value_index > 0) text("[" + std::to_string(op.value_index) + "]");
  }
  void print_op(Type, const Let& op, Strength limit) {
    bracketed(kLet > limit, [&] {
      text("let " + printed(op.name) + " = ");
      value(op.value, kOr);
      text(" in ");
      value(op.body);
    });
  }
  void print_op(Type, const Load& op, Strength) {
    text((op.streamed ? "streamed(" : "") + op.buffer + "[");
    list(op.index);
    text(op.streamed ? "])" : "]");
  }
  void print_op(Type type, const Ramp& op, Strength) {
    text("ramp(");
    value(op.base);
    text(", ");
    value(op.stride);
    text(", " + std::to_string(type.lanes) + ")");
  }
  void print_op(Type type, const Broadcast& op, Strength) {
    call("x" + std::to_string(type.lanes), {&op.value});
  }
  void print_op(Type, const Shuffle& op, Strength) {
    text("shuffle(");
    list(op.vectors);
    std::string lanes = ";";
    for (std::size_t i = 0; i < op.lanes.size(); ++i) {
      lanes += (i > 0 ? ", " : " ") + std::to_string(op.lanes[i]);
    }
    text(lanes + ")");
  }
  void print_op(Type type, const Reinterpret& op, Strength) {
    call("reinterpret<" + to_string(type) + ">", {&op.value});
  }
  void print_op(Type, const WarpShuffle& op, Strength) {
    text("warp_shuffle(");
    value(op.value);
    text(", " + std::to_string(op.delta) + ")");
  }
  void print_op(Type, const Print& op, Strength) {
    text("print_when(");
    value(op.condition);
    text(", ");
    value(op.value);
    for (std::size_t i = 0; i < op.texts.size(); ++i) {
      text(", \"" + op.texts[i] + '"');
      if (i >= op.operands.size()) continue;
      text(", ");
      value(op.operands[i]);
    }
    text(")");
  }

  std::string& out_;
  std::size_t most_;
  std::vector<Item> left_;  // what comes next is last
};

}  // namespace

std::string to_string(const Expr& e, std::size_t most) {
  std::string out;
  Printer(out, most).print(e);
  return out;
}

}  // namespace mica
