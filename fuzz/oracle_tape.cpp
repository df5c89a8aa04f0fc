#include "fuzz/oracle_tape.h"

#include <map>
#include <memory>
#include <string>

#include "dsl/expr/names.h"
#include "dsl/func/function.h"

namespace mica::test {
namespace {

using Step = std::function<Value(const TapeFrame&)>;

Step constant(Value value) {
  return [value](const TapeFrame&) { return value; };
}

/// Turns a tree with shared nodes into steps.
class Compiler {
 public:
  Compiler(const TapeEnvironment& environment, std::vector<Step>& steps)
      : environment_(environment), steps_(steps) {}

  std::size_t compile(const Expr& e) {
    const auto known = slots_.find(&e.node());
    if (known != slots_.end()) return known->second;
    Step step = std::visit([&](const auto& op) { return make(op, e.type()); }, e->op);
    steps_.push_back(std::move(step));
    slots_.emplace(&e.node(), steps_.size() - 1);
    return steps_.size() - 1;
  }

 private:
  Step make(const IntImm& op, Type type) { return constant(integer_value(type, op.value)); }
  Step make(const FloatImm& op, Type type) { return constant(float_value(type, op.value)); }

  Step named(const std::string& name, Type type) {
    const int position = environment_.variable(name);
    if (position < 0) return constant(environment_.symbol(name, type));
    return [position, type](const TapeFrame& frame) {
      return integer_value(type, frame.variables[position]);
    };
  }
  Step make(const VarRef& op, Type type) { return named(op.name, type); }
  Step make(const ParamRef& op, Type type) { return constant(load_value(type, &op.param->bits)); }
  Step make(const RVarRef& op, Type type) {
    return named(op.domain->dims.at(static_cast<std::size_t>(op.index)).name, type);
  }
  Step make(const ImageField& op, Type type) {
    return named(symbol_name(op.image->name, op.field, static_cast<std::size_t>(op.dimension)), type);
  }

  Step make(const Cast& op, Type type) {
    const std::size_t a = compile(op.value);
    return [a, from = op.value.type(), type](const TapeFrame& frame) {
      return apply_cast(from, type, frame.slots[a]);
    };
  }
  Step make(const Unary& op, Type type) {
    const std::size_t a = compile(op.a);
    return [a, kind = op.op, type](const TapeFrame& frame) {
      return apply_unary(kind, type, frame.slots[a]);
    };
  }
  Step make(const Binary& op, Type type) {
    const std::size_t a = compile(op.a);
    const std::size_t b = compile(op.b);
    return [a, b, kind = op.op, type](const TapeFrame& frame) {
      return apply_binary(kind, type, frame.slots[a], frame.slots[b]);
    };
  }
  Step make(const Compare& op, Type) {
    const std::size_t a = compile(op.a);
    const std::size_t b = compile(op.b);
    return [a, b, kind = op.op, type = op.a.type()](const TapeFrame& frame) {
      return apply_compare(kind, type, frame.slots[a], frame.slots[b]);
    };
  }
  Step make(const Select& op, Type) {
    const std::size_t condition = compile(op.condition);
    const std::size_t a = compile(op.if_true);
    const std::size_t b = compile(op.if_false);
    return [condition, a, b](const TapeFrame& frame) {
      return frame.slots[condition].i != 0 ? frame.slots[a] : frame.slots[b];
    };
  }
  Step make(const Fma& op, Type type) {
    const std::size_t a = compile(op.a);
    const std::size_t b = compile(op.b);
    const std::size_t c = compile(op.c);
    return [a, b, c, type](const TapeFrame& frame) {
      return apply_fma(type, frame.slots[a], frame.slots[b], frame.slots[c]);
    };
  }
  Step make(const Strict& op, Type) {
    const std::size_t a = compile(op.value);
    return [a](const TapeFrame& frame) { return frame.slots[a]; };
  }
  Step make(const Print& op, Type) {
    const std::size_t a = compile(op.value);
    return [a](const TapeFrame& frame) { return frame.slots[a]; };
  }
  Step make(const Access& op, Type type) {
    std::vector<std::size_t> args;
    for (const Expr& arg : op.args) args.push_back(compile(arg));
    return [args, read = environment_.access(op, type)](const TapeFrame& frame) {
      Point at{};
      for (std::size_t d = 0; d < args.size(); ++d) at[d] = frame.slots[args[d]].i;
      return read(at);
    };
  }

  template <typename Lowered>
  Step make(const Lowered&, Type) {
    throw InternalError("an algorithm holds a node that only lowering makes");
  }

  const TapeEnvironment& environment_;
  std::vector<Step>& steps_;
  std::map<const ExprNode*, std::size_t> slots_;
};

}  // namespace

Tape::Tape(const std::vector<Expr>& results, const TapeEnvironment& environment) {
  Compiler compiler(environment, steps_);
  for (const Expr& e : results) results_.push_back(compiler.compile(e));
}

void Tape::evaluate(const std::int64_t* variables, std::vector<Value>& results) const {
  std::vector<Value> slots(steps_.size());
  const TapeFrame frame{slots.data(), variables};
  for (std::size_t i = 0; i < steps_.size(); ++i) slots[i] = steps_[i](frame);
  results.resize(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) results[i] = slots[results_[i]];
}

}  // namespace mica::test
