// Long blocks in pieces (codegen/llvm/large/cut_blocks_llvm.h).
#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "codegen/llvm/large/cut_blocks_llvm.h"

namespace mica::llvm_backend {

namespace {

constexpr std::size_t kPiece = 1000;  // instructions

bool is_frame_memory(const llvm::Value& value) {
  const auto* memory = llvm::dyn_cast<llvm::AllocaInst>(&value);
  return memory != nullptr && memory->isStaticAlloca();
}

/// Memory of the frame is known by its place only in a function's first block.
void move_frame_memory_ahead(llvm::Function& function) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  std::vector<llvm::Instruction*> memory;
  for (llvm::Instruction& i : entry) {
    if (is_frame_memory(i)) memory.push_back(&i);
  }
  for (std::size_t k = memory.size(); k-- > 0;) {
    memory[k]->moveBefore(entry, entry.getFirstInsertionPt());
  }
}

/// The pieces of `block`, in order; itself alone if it is short. Phis stay in the first one.
std::vector<llvm::BasicBlock*> pieces_of(llvm::BasicBlock& block) {
  std::vector<llvm::Instruction*> first;  // of each piece but the first
  std::size_t count = 0;
  for (llvm::Instruction& i : block) {
    if (llvm::isa<llvm::PHINode>(i) || is_frame_memory(i)) continue;
    if (count > 0 && count % kPiece == 0) first.push_back(&i);
    ++count;
  }
  // A call stays beside the return that must follow it.
  if (!first.empty() && count % kPiece < kPiece / 2) first.pop_back();
  std::vector<llvm::BasicBlock*> pieces;
  for (std::size_t k = first.size(); k-- > 0;) {  // from the end: a cut moves what stands behind it
    pieces.push_back(block.splitBasicBlock(first[k]->getIterator(), "piece"));
  }
  pieces.push_back(&block);
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

/// Lets the pieces of a function's long blocks hand values on in memory of its frame.
class ValuesInMemory {
 public:
  explicit ValuesInMemory(llvm::Function& function) : function_(function) {}

  void hand_on(const std::vector<llvm::BasicBlock*>& pieces) {
    places_.clear();
    for (std::size_t k = 0; k < pieces.size(); ++k) places_[pieces[k]] = k;
    ending_.assign(pieces.size() + 1, {});
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      if (k > 0) {
        for (llvm::AllocaInst* slot : ending_[k - 1]) free_[slot->getAllocatedType()].push_back(slot);
      }
      rewrite(*pieces[k], k);
    }
    for (llvm::AllocaInst* slot : ending_[pieces.size() - 1]) {
      free_[slot->getAllocatedType()].push_back(slot);
    }
  }

 private:
  void rewrite(llvm::BasicBlock& piece, std::size_t place) {
    std::unordered_map<llvm::Value*, llvm::Value*> loaded;  // looked up only
    std::vector<llvm::Instruction*> all;
    for (llvm::Instruction& i : piece) {
      if (!llvm::isa<llvm::PHINode>(i)) all.push_back(&i);
    }
    for (llvm::Instruction* i : all) {
      for (llvm::Use& use : i->operands()) {
        llvm::Value* value = use.get();
        if (!is_from_outside(*value, piece)) continue;
        llvm::Value*& here = loaded[value];
        if (here == nullptr) {
          llvm::IRBuilder<> before(i);
          here = before.CreateLoad(value->getType(), slot_of(*value));
        }
        use.set(here);
      }
      keep_for_later(*i, place);
    }
  }

  static bool is_from_outside(const llvm::Value& value, const llvm::BasicBlock& piece) {
    if (llvm::isa<llvm::Argument>(value)) return true;
    const auto* i = llvm::dyn_cast<llvm::Instruction>(&value);
    return i != nullptr && i->getParent() != &piece && !is_frame_memory(*i);
  }

  /// If later pieces use what `i` computes, it goes to memory that is free again after the last of them.
  void keep_for_later(llvm::Instruction& i, std::size_t place) {
    std::size_t last = place;
    bool elsewhere = false;  // in other blocks, which may be long ones, too
    for (const llvm::User* user : i.users()) {
      const auto* other = llvm::cast<llvm::Instruction>(user);
      if (llvm::isa<llvm::PHINode>(other)) continue;
      const auto at = places_.find(other->getParent());
      elsewhere = elsewhere || at == places_.end();
      if (at != places_.end()) last = std::max(last, at->second);
    }
    if (last == place) return;
    llvm::AllocaInst* slot = elsewhere ? new_slot(*i.getType()) : free_slot(*i.getType());
    if (!elsewhere) ending_[last].push_back(slot);
    slots_[&i] = slot;
    store_after(i, slot);
  }

  llvm::AllocaInst* slot_of(llvm::Value& value) {
    llvm::AllocaInst*& slot = slots_[&value];
    if (slot != nullptr) return slot;
    slot = new_slot(*value.getType());
    store_after(value, slot);
    return slot;
  }

  void store_after(llvm::Value& value, llvm::AllocaInst* slot) {
    auto* i = llvm::dyn_cast<llvm::Instruction>(&value);
    llvm::BasicBlock& block = i == nullptr ? function_.getEntryBlock() : *i->getParent();
    const bool at_start = i == nullptr || llvm::isa<llvm::PHINode>(*i);
    auto place = at_start ? block.getFirstInsertionPt() : std::next(i->getIterator());
    while (is_frame_memory(*place)) ++place;
    llvm::IRBuilder<>(&block, place).CreateStore(&value, slot);
  }

  llvm::AllocaInst* free_slot(llvm::Type& type) {
    std::vector<llvm::AllocaInst*>& free = free_[&type];
    if (free.empty()) return new_slot(type);
    llvm::AllocaInst* slot = free.back();
    free.pop_back();
    return slot;
  }
  llvm::AllocaInst* new_slot(llvm::Type& type) {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    return llvm::IRBuilder<>(&entry, entry.getFirstInsertionPt()).CreateAlloca(&type);
  }

  llvm::Function& function_;
  std::unordered_map<const llvm::BasicBlock*, std::size_t> places_;       // looked up only
  std::unordered_map<const llvm::Value*, llvm::AllocaInst*> slots_;       // looked up only
  std::unordered_map<llvm::Type*, std::vector<llvm::AllocaInst*>> free_;  // looked up only
  std::vector<std::vector<llvm::AllocaInst*>> ending_;  // by the piece that uses them last
};

}  // namespace

void cut_long_blocks(llvm::Function& function, Handing handing) {
  move_frame_memory_ahead(function);
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock& block : function) blocks.push_back(&block);
  ValuesInMemory memory(function);
  for (llvm::BasicBlock* block : blocks) {
    const std::vector<llvm::BasicBlock*> pieces = pieces_of(*block);
    if (pieces.size() > 1 && handing == Handing::Memory) memory.hand_on(pieces);
  }
}

}  // namespace mica::llvm_backend
