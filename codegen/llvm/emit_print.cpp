#include <algorithm>
#include <string>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/GlobalVariable.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

/// How printf writes a value of `type` that lane_slot has widened: with as many digits as tell floats of
/// that type apart.
const char* conversion(Type type) {
  if (type.is_float()) return type.bits == 64 ? "%.17g" : "%.9g";
  return type.is_int() ? "%lld" : "%llu";
}

/// The line as printf has it.
std::string format_of(const Print& print) {
  std::string format;
  for (std::size_t i = 0; i < print.texts.size(); ++i) {
    for (const char c : print.texts[i]) format += c == '%' ? std::string("%%") : std::string(1, c);
    if (i < print.operands.size()) format += conversion(print.operands[i].type());
  }
  return format + "\n";
}

}  // namespace

llvm::Constant* constant_text(llvm::Module& module, const std::string& text) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(context, text);
  const unsigned space = module.getDataLayout().getDefaultGlobalsAddressSpace();
  auto* global = new llvm::GlobalVariable(  // the module owns it
      module, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, bytes,
      "mica.line", nullptr, llvm::GlobalValue::NotThreadLocal, space);
  return llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(global,
                                                              llvm::PointerType::get(context, 0));
}

namespace {

/// One lane of a value of `type`, or the scalar, in 64 bits.
llvm::Value* lane_slot(Builder& b, llvm::Value* value, Type type, int lane) {
  if (!type.is_scalar()) value = b.CreateExtractElement(value, static_cast<std::uint64_t>(lane));
  if (type.is_float()) return b.CreateFPExt(value, b.getDoubleTy());
  return type.is_int() ? b.CreateSExt(value, b.getInt64Ty()) : b.CreateZExt(value, b.getInt64Ty());
}

}  // namespace

llvm::Value* Emitter::print_value(const Print& print) {
  // All that the lines need is computed before the first branch, where it serves what follows, too.
  llvm::Value* value = value_of(print.value);
  value_of(print.condition);
  int lanes = print.condition.type().lanes;
  for (const Expr& operand : print.operands) {
    value_of(operand);
    lanes = std::max<int>(lanes, operand.type().lanes);
  }
  for (int lane = 0; lane < lanes; ++lane) print_lane(print, lane);
  return value;
}

void Emitter::print_lane(const Print& print, int lane) {
  llvm::Value* condition = value_of(print.condition);
  if (!print.condition.type().is_scalar()) {
    condition = builder_.CreateExtractElement(condition, static_cast<std::uint64_t>(lane));
  }
  llvm::BasicBlock* line = make_block("print");
  llvm::BasicBlock* after = make_block("printed");
  builder_.CreateCondBr(condition, line, after);
  builder_.SetInsertPoint(line);
  const auto count = static_cast<std::int64_t>(print.operands.size());
  llvm::Type* slot = builder_.getInt64Ty();
  llvm::Value* slots = frame_memory(slot, std::max<std::int64_t>(count, 1), 8);
  for (std::size_t i = 0; i < print.operands.size(); ++i) {
    const Expr& operand = print.operands[i];
    llvm::Value* value = lane_slot(builder_, value_of(operand), operand.type(), lane);
    builder_.CreateAlignedStore(value, builder_.CreateConstGEP1_64(slot, slots, i), llvm::Align(8));
  }
  llvm::PointerType* pointer = llvm::PointerType::get(context(), 0);
  std::vector<llvm::Value*> arguments{constant_text(module(), format_of(print)), slots};
  if (hooks_.print_lines != nullptr) {
    arguments.push_back(builder_.CreateIntToPtr(find(hooks_.print_lines), pointer));
  }
  const std::vector<llvm::Type*> types(arguments.size(), pointer);
  const llvm::FunctionCallee function = module().getOrInsertFunction(
      hooks_.print_function, llvm::FunctionType::get(builder_.getInt32Ty(), types, false));
  builder_.CreateCall(function, arguments);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

}  // namespace mica::llvm_backend
