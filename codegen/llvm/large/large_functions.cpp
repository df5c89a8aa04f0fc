// What LLVM takes more than its share of time for in large functions
// (codegen/llvm/large/large_functions_llvm.h).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/llvm/large/large_functions_llvm.h"

namespace mica::llvm_backend {

namespace {

constexpr int kDeepest = 256;               // integer operations inside one another
constexpr std::size_t kMostNumbers = 4096;  // in a function's constant pool

/// Integer operations that LLVM looks through, but for sums, which it takes apart at once.
bool is_looked_through(const llvm::Instruction& i) {
  if (!i.getType()->isIntOrIntVectorTy()) return false;
  return llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::SelectInst, llvm::CmpInst,
                   llvm::IntrinsicInst, llvm::FreezeInst>(i);
}
bool is_sum(const llvm::Instruction& i) {
  return i.getOpcode() == llvm::Instruction::Add || i.getOpcode() == llvm::Instruction::Sub;
}

/// The number of a scalar, or of a vector that has one number in all lanes; else null.
llvm::ConstantFP* number_in(llvm::Value* operand) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(operand);
  if (constant == nullptr || !constant->getType()->isFPOrFPVectorTy()) return nullptr;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
}

/// The numbers of one type, as an array that the function loads from.
class NumberTable {
 public:
  NumberTable(llvm::Module& module, const std::vector<llvm::Constant*>& numbers)
      : element_(numbers.front()->getType()) {
    auto* type = llvm::ArrayType::get(element_, numbers.size());
    table_ = new llvm::GlobalVariable(  // the module owns it
        module, type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantArray::get(type, numbers), "numbers");
    for (std::size_t i = 0; i < numbers.size(); ++i) places_[numbers[i]] = i;
  }
  llvm::Value* load(llvm::IRBuilder<>& before, llvm::ConstantFP* number, llvm::Type* type) const {
    llvm::Value* at = before.CreateConstGEP1_64(element_, table_, places_.at(number));
    llvm::LoadInst* scalar = before.CreateLoad(element_, at);
    scalar->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(before.getContext(), {}));
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector == nullptr ? scalar : before.CreateVectorSplat(vector->getNumElements(), scalar);
  }

 private:
  llvm::Type* element_;
  llvm::GlobalVariable* table_ = nullptr;
  std::unordered_map<const llvm::Constant*, std::size_t> places_;  // looked up only
};

void tabulate_numbers(llvm::Function& function) {
  std::unordered_map<llvm::Type*, std::vector<llvm::Constant*>> numbers;  // looked up only
  std::unordered_set<const llvm::Constant*> met;
  std::vector<llvm::Type*> types;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    for (llvm::Value* operand : i.operands()) {
      llvm::ConstantFP* number = number_in(operand);
      if (number == nullptr || !met.insert(number).second) continue;
      auto& list = numbers[number->getType()];
      if (list.empty()) types.push_back(number->getType());
      list.push_back(number);
    }
  }
  if (met.size() <= kMostNumbers) return;
  std::unordered_map<llvm::Type*, NumberTable> tables;
  for (llvm::Type* type : types) tables.try_emplace(type, *function.getParent(), numbers.at(type));
  std::vector<llvm::Instruction*> users;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    if (!llvm::isa<llvm::PHINode>(i)) users.push_back(&i);
  }
  for (llvm::Instruction* user : users) {
    llvm::IRBuilder<> before(user);
    for (llvm::Use& use : user->operands()) {
      llvm::ConstantFP* number = number_in(use.get());
      if (number == nullptr || number->isZero()) continue;
      use.set(tables.at(number->getType()).load(before, number, use->getType()));
    }
  }
}

}  // namespace

bool has_deep_integers(llvm::Function& function) {
  if (function.isDeclaration()) return false;
  std::unordered_map<const llvm::Value*, int> depths;  // looked up only
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    for (const llvm::Instruction& i : *block) {
      if (!is_looked_through(i)) continue;
      int depth = 0;
      for (const llvm::Value* operand : i.operands()) {
        const auto known = depths.find(operand);
        if (known != depths.end()) depth = std::max(depth, known->second);
      }
      if (!is_sum(i)) ++depth;
      if (depth > kDeepest) return true;
      depths[&i] = depth;
    }
  }
  return false;
}

void keep_as_is(llvm::Function& function) {
  function.addFnAttr(llvm::Attribute::OptimizeNone);
  function.addFnAttr(llvm::Attribute::NoInline);
}

void tabulate_numbers(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) tabulate_numbers(function);
  }
}

}  // namespace mica::llvm_backend
