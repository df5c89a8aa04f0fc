#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/emit_program_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;
using Step = HostProgram::Step;

// Values are held as HostValue holds them: an i64 that is sign- or zero-extended, an f64.
class ProgramEmitter {
 public:
  ProgramEmitter(Builder& builder, const TargetFacts& facts, Value* symbols)
      : b_(builder), facts_(facts), symbols_(symbols) {}

  Value* emit(const HostProgram& program) {
    stack_.clear();
    locals_.clear();
    for (const Step& step : program.steps()) emit_step(step);
    return stack_.back();
  }

  /// convert_and_pack: an i64.
  Value* packed(Value* value, Type from, Type to) {
    return pack(from == to ? value : cast(value, from, to), to);
  }

  /// An i64 whose low bits are those that `type` has in memory, zeros above.
  Value* pack(Value* value, Type type) {
    Value* bits = in_register(value, type);
    if (type.is_float()) bits = b_.CreateBitCast(bits, b_.getIntNTy(type.bits));
    return b_.CreateZExt(bits, b_.getInt64Ty());
  }
  Value* unpack(Value* bits, Type type) {
    Value* narrow = b_.CreateTrunc(bits, b_.getIntNTy(type.bits));
    if (type.is_float() && !type.is_half()) {
      narrow = b_.CreateBitCast(narrow, register_type(b_.getContext(), type));
    }
    return as_host_value(narrow, type);
  }

  /// From register_type(type), and to it.
  Value* as_host_value(Value* value, Type type) {
    if (type.is_float()) return emit_cast(b_, facts_, type, Float(64), value);
    return b_.CreateIntCast(value, b_.getInt64Ty(), /*isSigned=*/type.is_int());
  }
  Value* in_register(Value* value, Type type) {
    if (type.is_float()) return emit_cast(b_, facts_, Float(64), type, value);
    return b_.CreateTrunc(value, register_type(b_.getContext(), type));
  }

 private:
  Value* pop() {
    Value* top = stack_.back();
    stack_.pop_back();
    return top;
  }

  void emit_step(const Step& step) {
    switch (step.op) {
      case HostProgram::Op::Constant: stack_.push_back(constant(step)); return;
      case HostProgram::Op::Symbol: stack_.push_back(symbol(step)); return;
      case HostProgram::Op::Local: stack_.push_back(locals_.at(step.slot)); return;
      case HostProgram::Op::SetLocal: locals_[step.slot] = pop(); return;
      case HostProgram::Op::Unary: stack_.push_back(unary(step, pop())); return;
      case HostProgram::Op::Cast: {
        Value* value = pop();
        const bool same = step.is_exact() && step.from.is_int();
        stack_.push_back(same ? value : cast(value, step.from, step.type));
        return;
      }
      case HostProgram::Op::Reinterpret:
        stack_.push_back(unpack(pack(pop(), step.from), step.type));
        return;
      case HostProgram::Op::Binary:
      case HostProgram::Op::Compare: {
        Value* y = pop();
        Value* x = pop();
        stack_.push_back(step.op == HostProgram::Op::Binary ? binary(step, x, y) : compare(step, x, y));
        return;
      }
      case HostProgram::Op::Select: {
        Value* if_false = pop();
        Value* if_true = pop();
        stack_.push_back(b_.CreateSelect(b_.CreateICmpNE(pop(), b_.getInt64(0)), if_true, if_false));
        return;
      }
      case HostProgram::Op::Fma: {
        Value* c = pop();
        Value* y = pop();
        Value* x = pop();
        const Type type = computed(step.type);
        Value* result =
            b_.CreateIntrinsic(llvm::Intrinsic::fma, {register_type(b_.getContext(), type)},
                               {in_register(x, type), in_register(y, type), in_register(c, type)});
        stack_.push_back(rounded(as_host_value(result, type), step.type));
        return;
      }
    }
    throw InternalError("a HostProgram has an unknown step");
  }

  /// The type that operations on `type` are carried out in.
  static Type computed(Type type) { return type.is_half() ? Float(32) : type; }
  Value* rounded(Value* value, Type type) {
    return type.is_half() ? as_host_value(in_register(value, type), type) : value;
  }

  Value* constant(const Step& step) {
    if (step.type.is_float()) return llvm::ConstantFP::get(b_.getDoubleTy(), step.value.f);
    return b_.getInt64(static_cast<std::uint64_t>(step.value.i));
  }

  Value* symbol(const Step& step) {
    llvm::Type* type = step.type.is_float() ? b_.getDoubleTy() : b_.getInt64Ty();
    Value* at = b_.CreateConstGEP1_64(b_.getInt64Ty(), symbols_, static_cast<std::uint64_t>(step.slot));
    return b_.CreateLoad(type, at);
  }

  Value* unary(const Step& step, Value* a) {
    const auto op = static_cast<UnaryOp>(step.sub);
    if (step.is_exact()) return exact(op, a);
    if (op == UnaryOp::Not) return b_.CreateZExt(b_.CreateICmpEQ(a, b_.getInt64(0)), b_.getInt64Ty());
    const Type type = computed(step.type);
    Value* result = emit_unary(b_, op, type, in_register(a, type));
    return rounded(as_host_value(result, type), step.type);
  }

  Value* binary(const Step& step, Value* x, Value* y) {
    const auto op = static_cast<BinaryOp>(step.sub);
    if (step.is_exact()) return exact(op, x, y);
    const Type type = computed(step.type);
    Value* result = emit_binary(b_, facts_, op, type, in_register(x, type), in_register(y, type));
    return rounded(as_host_value(result, type), step.type);
  }

  Value* compare(const Step& step, Value* x, Value* y) {
    const Type type = step.from.is_float() ? Float(64) : step.from.is_int() ? Int(64) : UInt(64);
    Value* holds = emit_compare(b_, static_cast<CompareOp>(step.sub), type, x, y);
    return b_.CreateZExt(holds, b_.getInt64Ty());
  }

  Value* cast(Value* value, Type from, Type to) {
    const Type held = from.is_float() ? Float(64) : from.is_int() ? Int(64) : UInt(64);
    return as_host_value(emit_cast(b_, facts_, held, to, value), to);
  }

  // Integers that do not wrap: what leaves 64 bits stays at their end (host_arithmetic::exact).

  Value* exact(UnaryOp op, Value* a) {
    if (op == UnaryOp::Neg) return saturating(llvm::Intrinsic::ssub_sat, b_.getInt64(0), a);
    if (op == UnaryOp::Abs) {
      Value* negated = saturating(llvm::Intrinsic::ssub_sat, b_.getInt64(0), a);
      return b_.CreateSelect(b_.CreateICmpSLT(a, b_.getInt64(0)), negated, a);
    }
    if (op == UnaryOp::Not) return b_.CreateZExt(b_.CreateICmpEQ(a, b_.getInt64(0)), b_.getInt64Ty());
    return emit_unary(b_, op, Int(64), a);
  }

  Value* exact(BinaryOp op, Value* x, Value* y) {
    switch (op) {
      case BinaryOp::Add: return saturating(llvm::Intrinsic::sadd_sat, x, y);
      case BinaryOp::Sub: return saturating(llvm::Intrinsic::ssub_sat, x, y);
      case BinaryOp::Mul: return product(x, y);
      case BinaryOp::Shl: return shifted(x, y);
      default: return emit_binary(b_, facts_, op, Int(64), x, y);
    }
  }

  Value* saturating(llvm::Intrinsic::ID id, Value* x, Value* y) {
    return b_.CreateBinaryIntrinsic(id, x, y);
  }

  Value* end_of_range(Value* negative) {
    return b_.CreateSelect(negative, b_.getInt64(std::uint64_t{1} << 63),
                           b_.getInt64(~std::uint64_t{0} >> 1));
  }

  Value* product(Value* x, Value* y) {
    Value* both = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, x, y);
    Value* negative = b_.CreateICmpSLT(b_.CreateXor(x, y), b_.getInt64(0));
    return b_.CreateSelect(b_.CreateExtractValue(both, 1), end_of_range(negative),
                           b_.CreateExtractValue(both, 0));
  }

  Value* shifted(Value* x, Value* amount) {
    Value* zero = b_.getInt64(0);
    Value* low = b_.CreateAnd(amount, b_.getInt64(63));
    Value* result = product(x, b_.CreateShl(b_.getInt64(1), low));
    Value* beyond = b_.CreateICmpSGT(amount, b_.getInt64(62));
    result = b_.CreateSelect(beyond, end_of_range(b_.CreateICmpSLT(x, zero)), result);
    Value* none = b_.CreateOr(b_.CreateICmpEQ(x, zero), b_.CreateICmpSLT(amount, zero));
    return b_.CreateSelect(none, zero, result);
  }

  Builder& b_;
  const TargetFacts& facts_;
  Value* symbols_;
  std::vector<Value*> stack_;
  std::map<int, Value*> locals_;
};

}  // namespace

llvm::Function* add_programs(llvm::Module& module, const std::string& name,
                             const std::vector<WantedValue>& wanted, const TargetFacts& facts) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* signature = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  auto* function = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  Builder b(llvm::BasicBlock::Create(context, "entry", function));
  ProgramEmitter emitter(b, facts, function->getArg(0));
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    Value* value = emitter.emit(*wanted[k].program);
    if (wanted[k].packed) value = emitter.packed(value, wanted[k].program->type(), *wanted[k].packed);
    b.CreateStore(value, b.CreateConstGEP1_64(b.getInt64Ty(), function->getArg(1), k));
  }
  b.CreateRetVoid();
  return function;
}

llvm::Value* unpack_value(Builder& b, const TargetFacts& facts, Type type, llvm::Value* in_memory) {
  ProgramEmitter emitter(b, facts, nullptr);
  if (type.is_bool()) {
    in_memory = b.CreateICmpNE(in_memory, llvm::Constant::getNullValue(in_memory->getType()));
  }
  return emitter.as_host_value(in_memory, type);
}

}  // namespace mica::llvm_backend
