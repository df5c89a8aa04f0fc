#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/llvm/rewrites/divide_by_constants_llvm.h"
#include "codegen/passes/math/exact_quotient.h"

namespace mica::llvm_backend {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

/// In place of a division by a constant: the parts of its reciprocal, in lanes like the divisor's, and
/// 2 * bits(least) - 1.
struct Parts {
  llvm::Constant* high;
  llvm::Constant* low;
  llvm::Constant* least;
};

template <typename Float, typename Bits>
std::optional<Parts> parts_of(llvm::Type* type, Float divisor) {
  const auto parts = passes::exact_reciprocal(divisor);
  if (!parts) return std::nullopt;
  llvm::Type* bits = llvm::IntegerType::get(type->getContext(), 8 * sizeof(Float));
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type)) {
    bits = llvm::VectorType::getInteger(vector);
  }
  return Parts{llvm::ConstantFP::get(type, static_cast<double>(parts->high)),
               llvm::ConstantFP::get(type, static_cast<double>(parts->low)),
               llvm::ConstantInt::get(bits, 2 * std::bit_cast<Bits>(parts->least) - 1)};
}

std::optional<Parts> parts_of(const llvm::Constant& constant) {
  llvm::Type* type = constant.getType();
  const auto* divisor = llvm::dyn_cast_or_null<llvm::ConstantFP>(
      type->isVectorTy() ? constant.getSplatValue() : &constant);
  if (divisor == nullptr) return std::nullopt;
  const llvm::APFloat& value = divisor->getValueAPF();
  if (type->getScalarType()->isFloatTy()) {
    return parts_of<float, std::uint32_t>(type, value.convertToFloat());
  }
  if (type->getScalarType()->isDoubleTy()) {
    return parts_of<double, std::uint64_t>(type, value.convertToDouble());
  }
  return std::nullopt;
}

/// Instructions of one block that may be computed once more at their end.
struct Stretch {
  std::vector<Instruction*> all;  ///< in their order, stores left out
  std::vector<std::pair<Instruction*, Parts>> divisions;
  std::vector<llvm::StoreInst*> stores;  ///< that can be made after it
};

class Divider {
 public:
  void run(llvm::Function& function) {
    std::vector<BasicBlock*> blocks;
    for (BasicBlock& block : function) blocks.push_back(&block);
    for (BasicBlock* block : blocks) {
      for (Instruction* next = &*block->getFirstNonPHIOrDbg(); next != nullptr;)
        next = rewrite_from(next);
    }
  }

 private:
  static constexpr std::size_t kLongest = 4096;  // instructions of a stretch

  /// Does `load` find the same before the stores and after them: what nothing changes, or what is in
  /// another memory?
  static bool may_pass(const llvm::LoadInst& load, const std::vector<llvm::StoreInst*>& stores) {
    if (load.hasMetadata(llvm::LLVMContext::MD_invariant_load)) return true;
    constexpr unsigned kAnyMemory = 0;
    const unsigned from = load.getPointerAddressSpace();
    return std::ranges::all_of(stores, [&](const llvm::StoreInst* store) {
      const unsigned to = store->getPointerAddressSpace();
      return from != to && from != kAnyMemory && to != kAnyMemory;
    });
  }

  /// Rewrites the stretch that begins at `first`; where to go on, or null at the block's end.
  Instruction* rewrite_from(Instruction* first) {
    Stretch stretch;
    Instruction* end = first;
    while (!end->isTerminator() && stretch.all.size() < kLongest && take(*end, stretch)) {
      end = end->getNextNode();
    }
    if (!stretch.divisions.empty()) rewrite(stretch, end);
    if (end->isTerminator()) return nullptr;
    return end == first ? end->getNextNode() : end;
  }

  /// Adds `i` to the stretch, if it may be a part of it.
  bool take(Instruction& i, Stretch& stretch) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
      if (!store->isSimple()) return false;
      // What is stored before the first division is no part of what is computed again: it may change
      // what that loads.
      if (stretch.divisions.empty()) {
        stretch = {};
      } else {
        stretch.stores.push_back(store);
      }
      return true;
    }
    if (llvm::isa<llvm::AllocaInst>(i)) return true;  // there is one of it
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
      if (!load->isSimple() || !may_pass(*load, stretch.stores)) return false;
    } else if (i.mayReadOrWriteMemory() || i.mayHaveSideEffects()) {
      return false;
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call && call->isConvergent()) {
      return false;
    }
    stretch.all.push_back(&i);
    const auto* divisor =
        i.getOpcode() == Instruction::FDiv ? llvm::dyn_cast<llvm::Constant>(i.getOperand(1)) : nullptr;
    if (divisor == nullptr) return true;
    const auto [parts, is_new] = parts_.try_emplace(divisor);
    if (is_new) parts->second = parts_of(*divisor);
    if (parts->second) stretch.divisions.emplace_back(&i, *parts->second);
    return true;
  }

  /// Those that follow from a division, and are used where it ends or later.
  static std::vector<Instruction*> results_of(const Stretch& stretch) {
    llvm::SmallPtrSet<const Value*, 32> inside(stretch.all.begin(), stretch.all.end());
    llvm::SmallPtrSet<const Value*, 32> inexact;
    for (const auto& [division, parts] : stretch.divisions) inexact.insert(division);
    std::vector<Instruction*> results;
    for (Instruction* i : stretch.all) {
      for (const Value* operand : i->operands()) {
        if (inexact.contains(operand)) inexact.insert(i);
      }
      if (!inexact.contains(i)) continue;
      for (const llvm::User* user : i->users()) {
        if (inside.contains(user)) continue;
        results.push_back(i);
        break;
      }
    }
    return results;
  }

  /// What `results` are computed from, in its order.
  static std::vector<Instruction*> needed_for(const std::vector<Instruction*>& results,
                                              const Stretch& stretch) {
    llvm::SmallPtrSet<const Value*, 32> needed(results.begin(), results.end());
    std::vector<Instruction*> repeated;
    for (auto i = stretch.all.rbegin(); i != stretch.all.rend(); ++i) {
      if (!needed.contains(*i)) continue;
      repeated.push_back(*i);
      for (const Value* operand : (*i)->operands()) needed.insert(operand);
    }
    return {repeated.rbegin(), repeated.rend()};
  }

  static void rewrite(const Stretch& stretch, Instruction* end) {
    const std::vector<Instruction*> results = results_of(stretch);
    if (results.empty()) return;

    BasicBlock* before = end->getParent();
    BasicBlock* after = before->splitBasicBlock(end);
    BasicBlock* again = BasicBlock::Create(before->getContext(), "again", before->getParent());
    llvm::DenseMap<const Value*, Value*> exact;
    for (Instruction* i : needed_for(results, stretch)) {
      Instruction* copy = i->clone();
      for (llvm::Use& operand : copy->operands()) {
        if (Value* own = exact.lookup(operand.get())) operand.set(own);
      }
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(copy)) {
        load->setVolatile(true);
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
      }
      copy->insertInto(again, again->end());
      exact[i] = copy;
    }
    llvm::BranchInst::Create(after, again);

    for (llvm::StoreInst* store : stretch.stores) store->moveBefore(end->getIterator());
    for (Instruction* result : results) {
      auto* both = llvm::PHINode::Create(result->getType(), 2, "", after->begin());
      result->replaceUsesWithIf(both, [&](const llvm::Use& use) {
        const auto* user = llvm::cast<Instruction>(use.getUser());
        return user != both && (llvm::isa<llvm::PHINode>(user) || user->getParent() != before);
      });
      both->addIncoming(result, before);
      both->addIncoming(exact.lookup(result), again);
    }
    Value* all_exact = nullptr;
    for (const auto& [division, parts] : stretch.divisions) {
      Value* is_exact = multiply(division, parts);
      llvm::IRBuilder<> at_end(before->getTerminator());
      all_exact = all_exact == nullptr ? is_exact : at_end.CreateAnd(all_exact, is_exact);
    }
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<>(before).CreateCondBr(
        all_exact, after, again, llvm::MDBuilder(before->getContext()).createLikelyBranchWeights());
  }

  /// Puts multiplications in the place of `division`; whether all lanes are what it gives.
  static Value* multiply(Instruction* division, const Parts& parts) {
    llvm::IRBuilder<> b(division);
    Value* x = division->getOperand(0);
    Value* quotient = b.CreateFMA(x, parts.high, b.CreateFMul(x, parts.low));
    Value* bits = b.CreateBitCast(x, parts.least->getType());
    llvm::Constant* one = llvm::ConstantInt::get(bits->getType(), 1);
    Value* size = b.CreateSub(b.CreateAdd(bits, bits), one);
    Value* is_exact = b.CreateICmpUGE(size, parts.least);
    if (is_exact->getType()->isVectorTy()) is_exact = b.CreateAndReduce(is_exact);
    division->replaceAllUsesWith(quotient);
    division->eraseFromParent();
    return is_exact;
  }

  llvm::DenseMap<const llvm::Constant*, std::optional<Parts>> parts_;  ///< of divisors that were met
};

}  // namespace

void divide_by_constants(llvm::Module& module) {
  Divider divider;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) divider.run(function);
  }
}

}  // namespace mica::llvm_backend
