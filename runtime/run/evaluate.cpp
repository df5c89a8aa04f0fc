#include "runtime/run/evaluate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>
#include <utility>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "runtime/run/host_arithmetic.h"

namespace mica {

namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

// Operand stack and locals that need no allocation.
constexpr std::size_t kSmallStack = 64;

}  // namespace

std::string print_value(HostValue value, Type type) {
  if (!type.is_float()) return integer_text(type, value.i);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value.f).ptr;
  return {text.data(), end};
}

int SymbolTable::add(const std::string& name, Type type) {
  const int slot = size();
  if (!slots_.emplace(name, slot).second) {
    throw InternalError("the plan names two scalars \"" + name + "\"");
  }
  types_.push_back(type);
  return slot;
}

int SymbolTable::find(const std::string& name) const {
  const auto found = slots_.find(name);
  return found == slots_.end() ? -1 : found->second;
}

/// Writes the steps of one program.
class HostProgramBuilder {
 public:
  HostProgramBuilder(HostProgram& program, const SymbolTable& symbols, Integers integers)
      : program_(program), symbols_(symbols), integers_(integers) {}

  void build(const Expr& e) {
    find_shared(e);
    emit(e);
    std::sort(program_.uses_.begin(), program_.uses_.end());
    const auto end = std::unique(program_.uses_.begin(), program_.uses_.end());
    program_.uses_.erase(end, program_.uses_.end());
    program_.type_ = e.type();
  }

 private:
  using Op = HostProgram::Op;
  using Step = HostProgram::Step;

  /// Appends a step that takes `operands` values off the stack and puts one on.
  void push(Step step, std::size_t operands) {
    step.integers = integers_;
    depth_ = depth_ - operands + 1;
    program_.depth_ = std::max(program_.depth_, depth_);
    program_.code_.push_back(step);
  }

  // Operations that several others use.
  void find_shared(const Expr& e) {
    std::unordered_set<const ExprNode*> met;
    visit_nodes({e}, [&](const Expr& node) {
      for_each_child(node, [&](const Expr& child) {
        bool leaf = true;
        for_each_child(child, [&](const Expr&) { leaf = false; });
        if (!leaf && !met.insert(child.ptr().get()).second) shared_.insert(child.ptr().get());
      });
    });
  }

  // What is used several times is computed once and kept; in a let, whose name may mean another value
  // elsewhere, each time.
  void emit(const Expr& e) {
    if (!locals_.empty() || shared_.count(e.ptr().get()) == 0) return emit_new(e);
    const std::pair key(e.ptr().get(), integers_);
    auto kept = kept_.find(key);
    if (kept == kept_.end()) {
      emit_new(e);
      const int slot = static_cast<int>(program_.locals_++);
      program_.code_.push_back({Op::SetLocal, 0, e.type(), e.type(), slot});
      --depth_;
      kept = kept_.emplace(key, slot).first;
    }
    push({Op::Local, 0, e.type(), e.type(), kept->second}, 0);
  }

  void emit_new(const Expr& e) {
    const Type type = e.type();
    if (!type.is_scalar()) refuse("a vector");
    std::visit(Overloaded{
                   [&](const IntImm& op) { constant(type, [&](HostValue& v) { v.i = op.value; }); },
                   [&](const FloatImm& op) { constant(type, [&](HostValue& v) { v.f = op.value; }); },
                   [&](const VarRef& op) { symbol(op.name, type); },
                   [&](const Cast& op) {
                     // Other types than an index's hold what code computes, which wraps.
                     const Integers meant = integers_;
                     if (type.is_integer() && !type.is_index()) integers_ = Integers::Wrap;
                     emit(op.value);
                     integers_ = meant;
                     push({Op::Cast, 0, type, op.value.type()}, 1);
                   },
                   [&](const Reinterpret& op) {
                     emit(op.value);
                     push({Op::Reinterpret, 0, type, op.value.type()}, 1);
                   },
                   [&](const Unary& op) {
                     if (!host_arithmetic::is_exact(op.op)) refuse("exp, log, sin, cos or tanh");
                     emit(op.a);
                     push({Op::Unary, static_cast<std::uint8_t>(op.op), type, type}, 1);
                   },
                   [&](const Binary& op) {
                     if (!host_arithmetic::is_exact(op.op)) refuse("pow");
                     const Integers meant = integers_;
                     if (op.op == BinaryOp::Mod) integers_ = Integers::Wrap;
                     emit(op.a);
                     integers_ = meant;
                     emit(op.b);
                     push({Op::Binary, static_cast<std::uint8_t>(op.op), type, type}, 2);
                   },
                   [&](const Compare& op) {
                     emit(op.a);
                     emit(op.b);
                     push({Op::Compare, static_cast<std::uint8_t>(op.op), type, op.a.type()}, 2);
                   },
                   [&](const Select& op) {
                     emit(op.condition);
                     emit(op.if_true);
                     emit(op.if_false);
                     push({Op::Select, 0, type, type}, 3);
                   },
                   [&](const Fma& op) {
                     emit(op.a);
                     emit(op.b);
                     emit(op.c);
                     push({Op::Fma, 0, type, type}, 3);
                   },
                   [&](const Strict& op) { emit(op.value); },
                   [&](const Print& op) { emit(op.value); },
                   [&](const Let& op) { let(op); },
                   [&](const ParamRef&) { refuse("a Param that is no VarRef"); },
                   [&](const RVarRef&) { refuse("a reduction variable"); },
                   [&](const ImageField&) { refuse("an image's field that is no VarRef"); },
                   [&](const Access&) { refuse("an access to a Func or image"); },
                   [&](const Load&) { refuse("a load"); },
                   [&](const Ramp&) { refuse("a ramp"); },
                   [&](const Broadcast&) { refuse("a broadcast"); },
                   [&](const Shuffle&) { refuse("a shuffle"); },
                   [&](const WarpShuffle&) { refuse("a shuffle between threads"); },
               },
               e->op);
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw InternalError("the host evaluates scalars of a plan, not " + what);
  }

  template <typename Set>
  void constant(Type type, const Set& set) {
    Step step{Op::Constant, 0, type, type};
    set(step.value);
    push(step, 0);
  }

  void symbol(const std::string& name, Type type) {
    const auto local = std::find_if(locals_.rbegin(), locals_.rend(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (local != locals_.rend()) {
      push({Op::Local, 0, type, type, local->second}, 0);
      return;
    }
    const int slot = symbols_.find(name);
    if (slot < 0)
      throw InternalError("a plan uses the scalar \"" + name + "\", which it does not define");
    if (symbols_.type(slot).is_float() != type.is_float()) {
      throw InternalError("a plan reads the scalar \"" + name + "\" of type " +
                          to_string(symbols_.type(slot)) + " as " + to_string(type));
    }
    program_.uses_.push_back(slot);
    push({Op::Symbol, 0, type, type, slot}, 0);
  }

  void let(const Let& op) {
    emit(op.value);
    const int slot = static_cast<int>(program_.locals_++);
    program_.code_.push_back({Op::SetLocal, 0, op.value.type(), op.value.type(), slot});
    --depth_;
    locals_.emplace_back(op.name, slot);
    emit(op.body);
    locals_.pop_back();
  }

  HostProgram& program_;
  const SymbolTable& symbols_;
  Integers integers_;
  std::vector<std::pair<std::string, int>> locals_;  // of lets, innermost last
  std::unordered_set<const ExprNode*> shared_;
  std::map<std::pair<const ExprNode*, Integers>, int> kept_;  // for lookup only
  std::size_t depth_ = 0;
};

HostProgram::HostProgram(const Expr& e, const SymbolTable& symbols, Integers integers) {
  HostProgramBuilder(*this, symbols, integers).build(e);
}

HostValue HostProgram::run(const HostValue* symbols) const {
  std::array<HostValue, kSmallStack> small;
  std::vector<HostValue> large;
  HostValue* locals = small.data();
  if (locals_ + depth_ > kSmallStack) {
    large.resize(locals_ + depth_);
    locals = large.data();
  }
  HostValue* top = locals + locals_;  // one past the operand on top
  for (const Step& step : code_) {
    const bool exact = step.is_exact();
    switch (step.op) {
      case Op::Constant: *top++ = step.value; break;
      case Op::Symbol: *top++ = symbols[step.slot]; break;
      case Op::Local: *top++ = locals[step.slot]; break;
      case Op::SetLocal: locals[step.slot] = *--top; break;
      case Op::Unary:
        top[-1] = exact ? host_arithmetic::exact(static_cast<UnaryOp>(step.sub), top[-1])
                        : host_arithmetic::unary(static_cast<UnaryOp>(step.sub), top[-1], step.type);
        break;
      case Op::Binary:
        top[-2] = exact ? host_arithmetic::exact(static_cast<BinaryOp>(step.sub), top[-2], top[-1])
                        : host_arithmetic::binary(static_cast<BinaryOp>(step.sub), top[-2], top[-1],
                                                  step.type);
        --top;
        break;
      case Op::Compare:
        top[-2] =
            host_arithmetic::compare(static_cast<CompareOp>(step.sub), top[-2], top[-1], step.from);
        --top;
        break;
      case Op::Select:
        top[-3] = top[-3].i != 0 ? top[-2] : top[-1];
        top -= 2;
        break;
      case Op::Fma:
        top[-3] = host_arithmetic::fma(top[-3], top[-2], top[-1], step.type);
        top -= 2;
        break;
      case Op::Cast:
        if (!exact || !step.from.is_int()) {
          top[-1] = host_arithmetic::cast(top[-1], step.from, step.type);
        }
        break;
      case Op::Reinterpret: top[-1] = host_arithmetic::reinterpret(top[-1], step.from, step.type); break;
    }
  }
  return top[-1];
}

std::int64_t evaluate_int(const Expr& e, const std::map<std::string, std::int64_t>& symbols,
                          Integers integers) {
  internal_check(!e.type().is_float(), "evaluate_int of a floating-point expression");
  SymbolTable table;
  std::vector<HostValue> values;
  for (const auto& [name, value] : symbols) {
    table.add(name, Int(64));
    HostValue v{};
    v.i = value;
    values.push_back(v);
  }
  return HostProgram(e, table, integers).run(values.data()).i;
}

}  // namespace mica
