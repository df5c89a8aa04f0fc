// to_string of an expression (dsl/expr/traverse.h).
#include <array>
#include <charconv>
#include <cmath>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/function.h"
#include "dsl/pipeline/graph_names.h"

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

class Printer {
 public:
  Printer(std::string& out, std::size_t most) : out_(out), most_(most) {}

  // Writes `e`, in parentheses if it binds weaker than `limit`.
  void print(const Expr& e, Strength limit = kLet) {
    if (!e.defined()) {
      out_ += "<undefined>";
      return;
    }
    if (out_.size() >= most_) {
      out_ += "...";
      return;
    }
    const Type type = e.type();
    std::visit([&](const auto& op) { print_op(type, op, limit); }, e.node().op);
  }

 private:
  template <typename Body>
  void bracketed(bool needed, Body&& body) {
    if (needed) out_ += '(';
    body();
    if (needed) out_ += ')';
  }
  void list(const std::vector<Expr>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(items[i]);
    }
  }
  void call(const std::string& name, std::initializer_list<const Expr*> args) {
    out_ += name;
    out_ += '(';
    bool first = true;
    for (const Expr* arg : args) {
      if (!first) out_ += ", ";
      first = false;
      print(*arg);
    }
    out_ += ')';
  }
  // Left-associative: the right operand must bind tighter.
  void between(const Infix& form, const Expr& a, const Expr& b, Strength limit) {
    bracketed(form.strength > limit, [&] {
      print(a, form.strength);
      out_ += form.text;
      print(b, static_cast<Strength>(form.strength - 1));
    });
  }

  void print_op(Type type, const IntImm& op, Strength) { out_ += integer_text(type, op.value); }
  void print_op(Type type, const FloatImm& op, Strength) { out_ += float_text(type, op.value); }
  void print_op(Type, const VarRef& op, Strength) { out_ += printed(op.name); }
  void print_op(Type, const ParamRef& op, Strength) { out_ += op.param->name; }
  void print_op(Type, const RVarRef& op, Strength) {
    out_ += op.domain->dims.at(static_cast<std::size_t>(op.index)).name;
  }
  void print_op(Type, const ImageField& op, Strength) { out_ += field_symbol(op.image->name, op); }
  void print_op(Type type, const Cast& op, Strength) {
    call("cast<" + to_string(type) + ">", {&op.value});
  }
  void print_op(Type, const Unary& op, Strength limit) {
    const Prefix form = prefix(op.op);
    if (form.is_call) return call(form.text, {&op.a});
    bracketed(kUnary > limit, [&] {
      out_ += form.text;
      // "-" before a minus sign would read as a decrement.
      const std::size_t start = out_.size();
      print(op.a, kUnary);
      if (form.text[0] == '-' && out_[start] == '-') {
        out_.insert(start, 1, '(');
        out_ += ')';
      }
    });
  }
  void print_op(Type type, const Binary& op, Strength limit) {
    const Infix form = infix(op.op);
    if (form.text == nullptr) return call(call_name(op.op), {&op.a, &op.b});
    const auto* constant = op.b.as<IntImm>();
    const bool negative = constant != nullptr && constant->value < 0 && !type.is_uint();
    if (op.op == BinaryOp::Add && negative) {
      return bracketed(kSum > limit, [&] {  // x + -1 reads x - 1
        print(op.a, kSum);
        out_ += " - " + std::to_string(constant->value).substr(1);
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
    out_ += op.name + "(";
    list(op.args);
    out_ += ')';
    const bool is_tuple = op.function != nullptr && op.function->types.size() > 1;
    if (is_tuple || op.value_index > 0) out_ += "[" + std::to_string(op.value_index) + "]";
  }
  void print_op(Type, const Let& op, Strength limit) {
    bracketed(kLet > limit, [&] {
      out_ += "let " + printed(op.name) + " = ";
      print(op.value, kOr);
      out_ += " in ";
      print(op.body);
    });
  }
  void print_op(Type, const Load& op, Strength) {
    out_ += (op.streamed ? "streamed(" : "") + op.buffer + "[";
    list(op.index);
    out_ += op.streamed ? "])" : "]";
  }
  void print_op(Type type, const Ramp& op, Strength) {
    out_ += "ramp(";
    print(op.base);
    out_ += ", ";
    print(op.stride);
    out_ += ", " + std::to_string(type.lanes) + ")";
  }
  void print_op(Type type, const Broadcast& op, Strength) {
    call("x" + std::to_string(type.lanes), {&op.value});
  }
  void print_op(Type, const Shuffle& op, Strength) {
    out_ += "shuffle(";
    list(op.vectors);
    out_ += ';';
    for (std::size_t i = 0; i < op.lanes.size(); ++i) {
      out_ += (i > 0 ? ", " : " ") + std::to_string(op.lanes[i]);
    }
    out_ += ')';
  }
  void print_op(Type type, const Reinterpret& op, Strength) {
    call("reinterpret<" + to_string(type) + ">", {&op.value});
  }
  void print_op(Type, const WarpShuffle& op, Strength) {
    out_ += "warp_shuffle(";
    print(op.value);
    out_ += ", " + std::to_string(op.delta) + ")";
  }
  void print_op(Type, const Print& op, Strength) {
    out_ += "print_when(";
    print(op.condition);
    out_ += ", ";
    print(op.value);
    for (std::size_t i = 0; i < op.texts.size(); ++i) {
      out_ += ", \"" + op.texts[i] + '"';
      if (i >= op.operands.size()) continue;
      out_ += ", ";
      print(op.operands[i]);
    }
    out_ += ')';
  }

  std::string& out_;
  std::size_t most_;
};

}  // namespace

std::string to_string(const Expr& e, std::size_t most) {
  std::string out;
  Printer(out, most).print(e);
  return out;
}

}  // namespace mica
