#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/GlobalVariable.h>

#include "codegen/llvm/constant_data_llvm.h"

namespace mica::llvm_backend {

namespace {

constexpr unsigned kTextAlignment = 16;  // bytes: machine code is text too

template <typename Int>
llvm::Constant* integer(llvm::LLVMContext& context, Int value) {
  return llvm::ConstantInt::get(llvm::IntegerType::get(context, 8 * sizeof(Int)),
                                static_cast<std::uint64_t>(value), /*IsSigned=*/true,
                                /*ImplicitTrunc=*/true);
}

}  // namespace

llvm::Constant* ConstantData::i64(std::int64_t value) const {
  return integer(module_.getContext(), value);
}
llvm::Constant* ConstantData::i32(std::int32_t value) const {
  return integer(module_.getContext(), value);
}
llvm::Constant* ConstantData::u8(std::uint8_t value) const {
  return integer(module_.getContext(), value);
}
llvm::Constant* ConstantData::null() const {
  return llvm::ConstantPointerNull::get(llvm::PointerType::get(module_.getContext(), 0));
}

llvm::Constant* ConstantData::text(const std::string& value) {
  llvm::Constant* at = placed(llvm::ConstantDataArray::getString(module_.getContext(), value));
  llvm::cast<llvm::GlobalVariable>(at)->setAlignment(llvm::Align(kTextAlignment));
  return at;
}

llvm::Constant* ConstantData::record(const std::vector<llvm::Constant*>& members) const {
  return llvm::ConstantStruct::getAnon(module_.getContext(), members);
}

llvm::Constant* ConstantData::list(const std::vector<llvm::Constant*>& elements) {
  if (elements.empty()) return null();
  auto* type = llvm::ArrayType::get(elements.front()->getType(), elements.size());
  return placed(llvm::ConstantArray::get(type, elements));
}

llvm::Constant* ConstantData::integers(const std::vector<std::int64_t>& values) {
  std::vector<llvm::Constant*> elements;
  for (const std::int64_t value : values) elements.push_back(i64(value));
  return list(elements);
}

llvm::Constant* ConstantData::placed(llvm::Constant* value, bool constant) {
  return new llvm::GlobalVariable(  // the module owns it
      module_, value->getType(), constant, llvm::GlobalValue::InternalLinkage, value, "data");
}

}  // namespace mica::llvm_backend
