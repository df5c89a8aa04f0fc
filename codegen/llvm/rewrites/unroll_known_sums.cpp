#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "codegen/llvm/rewrites/unroll_known_sums_llvm.h"

namespace mica::llvm_backend {
namespace {

class KnownSums {
 public:
  KnownSums(llvm::Function& function, const llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution)
      : loops_(loops), evolution_(evolution) {
    for (const llvm::Loop* loop : loops_.getLoopsInPreorder()) turns_[loop] = turns_of(*loop);
    if (std::ranges::none_of(turns_, [](const auto& of) { return of.second > 0; })) return;
    find_unknown(function);
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& i : block) {
        if (is_sum(i) && !unknown_.contains(&i)) collect_counters(i);
      }
    }
  }

  /// False: there are none.
  bool mark() const {
    for (const llvm::Loop* loop : counting_) {
      if (operations(*loop) <= kMostOperations) {
        set(*loop, "llvm.loop.unroll.full");
      } else {
        set(*loop, "llvm.loop.unroll.count", kTurnsOfLong);
      }
    }
    return !counting_.empty();
  }
  void keep_rolled() const {
    for (const llvm::Loop* loop : counting_) set(*loop, "llvm.loop.unroll.disable");
  }

 private:
  static constexpr double kMostOperations = 2048;  // of a loop that is written out
  static constexpr std::uint32_t kTurnsOfLong = 4;

  /// 0: not known, or one, or nobody unrolls the loop.
  unsigned turns_of(const llvm::Loop& loop) {
    if (llvm::getBooleanLoopAttribute(&loop, "llvm.loop.unroll.disable")) return 0;
    const unsigned turns = evolution_.getSmallConstantTripCount(&loop);
    return turns > 1 && loop.getLoopLatch() != nullptr ? turns : 0;
  }

  static bool is_sum(const llvm::Instruction& i) {
    if (!i.getType()->isFPOrFPVectorTy()) return false;
    switch (i.getOpcode()) {
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub: return true;
      case llvm::Instruction::Call: {
        const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        return intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::fma;
      }
      default: return false;
    }
  }

  /// Is a value that no constants and counters make?
  bool begins_unknown(const llvm::Instruction& i) const {
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) {
      const llvm::Loop* loop = loops_.getLoopFor(phi->getParent());
      const bool is_header = loop != nullptr && loop->getHeader() == phi->getParent();
      return is_header && turns_.at(loop) == 0;
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) {
      return call->arg_size() == 0 || (call->mayReadOrWriteMemory() && !call->isInlineAsm());
    }
    return i.mayReadOrWriteMemory() || i.getType()->isPointerTy();
  }

  /// What is counted is taken for known until something else turns up in it.
  void find_unknown(llvm::Function& function) {
    std::vector<const llvm::Value*> found;
    const auto add = [&](const llvm::Value* value) {
      if (unknown_.insert(value).second) found.push_back(value);
    };
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& i : block) {
        bool unknown = begins_unknown(i);
        for (const llvm::Value* operand : i.operands()) {
          unknown = unknown || llvm::isa<llvm::Argument>(operand);
        }
        if (unknown) add(&i);
      }
    }
    while (!found.empty()) {
      const llvm::Value* value = found.back();
      found.pop_back();
      for (const llvm::User* user : value->users()) add(user);
    }
  }

  /// The loops whose turns the operands of `sum` depend on.
  void collect_counters(const llvm::Instruction& sum) {
    std::vector<const llvm::Value*> values{&sum};
    while (!values.empty()) {
      const auto* i = llvm::dyn_cast<llvm::Instruction>(values.back());
      values.pop_back();
      if (i == nullptr || !visited_.insert(i).second) continue;
      if (llvm::isa<llvm::PHINode>(i)) {
        const llvm::Loop* loop = loops_.getLoopFor(i->getParent());
        if (loop != nullptr && loop->getHeader() == i->getParent()) counting_.insert(loop);
      }
      for (const llvm::Value* operand : i->operands()) values.push_back(operand);
    }
  }

  /// Of all turns; of loops within, of as many as are known.
  double operations(const llvm::Loop& loop) const {
    double sum = 0;
    for (const llvm::BasicBlock* block : loop.blocks()) {
      double times = 1;
      for (const llvm::Loop* of = loops_.getLoopFor(block);; of = of->getParentLoop()) {
        times *= std::max(1U, turns_.at(of));
        if (of == &loop) break;
      }
      sum += times * static_cast<double>(block->size());
    }
    return sum;
  }

  static void set(const llvm::Loop& loop, const char* what, std::uint32_t number = 0) {
    llvm::LLVMContext& context = loop.getHeader()->getContext();
    llvm::SmallVector<llvm::Metadata*, 2> words{llvm::MDString::get(context, what)};
    if (number != 0) {
      words.push_back(llvm::ConstantAsMetadata::get(
          llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), number)));
    }
    llvm::MDNode* of_loop =
        llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, words)});
    of_loop->replaceOperandWith(0, of_loop);
    loop.setLoopID(of_loop);
  }

  const llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  std::map<const llvm::Loop*, unsigned> turns_;  // looked up only
  std::set<const llvm::Value*> unknown_, visited_;
  std::set<const llvm::Loop*> counting_;  // each is marked by itself
};

}  // namespace

bool mark_known_sums(llvm::Function& function, const llvm::LoopInfo& loops,
                     llvm::ScalarEvolution& evolution) {
  return KnownSums(function, loops, evolution).mark();
}

void keep_known_sums_rolled(llvm::Function& function, const llvm::LoopInfo& loops,
                            llvm::ScalarEvolution& evolution) {
  KnownSums(function, loops, evolution).keep_rolled();
}

}  // namespace mica::llvm_backend
