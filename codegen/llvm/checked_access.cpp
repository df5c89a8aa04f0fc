#include <tuple>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/host_llvm.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/traverse.h"
#include "runtime/cpu/checked_run.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;

constexpr const char* kOutOfRange = "index out of range";
constexpr const char* kUninitialised = "uninitialised memory";
constexpr unsigned kNumberAlignment = 8;  // bytes

std::string held(const std::string& array) { return array + ".held"; }
std::string held(const std::string& array, std::size_t dimension) {
  return held(array) + "." + std::to_string(dimension);
}
std::string written(const std::string& array) { return array + ".written"; }

bool is_vector(const Value* value) { return value->getType()->isVectorTy(); }

/// `scalar` as a value of the type of `like`, in each of its elements.
Value* spread(Builder& b, Value* scalar, Value* like) {
  Value* cast = b.CreateIntCast(scalar, like->getType()->getScalarType(), /*isSigned=*/true);
  if (!is_vector(like)) return cast;
  return b.CreateVectorSplat(llvm::cast<llvm::VectorType>(like->getType())->getElementCount(), cast);
}

/// An index of each element of the access; of the first one where it is a copy.
Value* index_of_each(Emitter& emitter, const MemoryAccess& a, const Expr& index) {
  Builder& b = emitter.builder();
  Value* value = emitter.emit(index);
  if (a.copied != nullptr) return value;
  if (!is_vector(value)) {
    return a.count == 1 ? value : b.CreateVectorSplat(static_cast<unsigned>(a.count), value);
  }
  if (a.count == 1) return b.CreateExtractElement(value, static_cast<std::uint64_t>(a.lane));
  if (a.count == index.type().lanes) return value;
  std::vector<int> picked;
  for (int i = 0; i < a.count; ++i) picked.push_back(a.lane + i);
  return b.CreateShuffleVector(value, picked);
}

/// The arrays that the code for a Func's points stores to, and those that it loads in a select's values.
struct OwnUses {
  std::set<std::string> stored, selected;
};

class FindUses {
 public:
  void run(const ir::Stmt& s, const std::string& func) {
    const auto* produce = s.as<ir::Produce>();
    const std::string& inside = produce != nullptr ? produce->func : func;
    OwnUses& own = found[inside];
    if (const auto* store = s.as<ir::Store>()) own.stored.insert(store->buffer);
    VisitedNodes plain, selected;
    ir::for_each_child(
        s, [&](const ir::Stmt& child) { run(child, inside); },
        [&](const Expr& e) { run(e, false, plain, selected, own); });
  }

  std::map<std::string, OwnUses> found;

 private:
  void run(const Expr& e, bool is_selected, VisitedNodes& plain, VisitedNodes& selected, OwnUses& own) {
    if (!(is_selected ? selected : plain).enter(e)) return;
    const auto* load = e.as<Load>();
    if (load != nullptr && is_selected) own.selected.insert(load->buffer);
    const bool selects = is_selected || e.as<Select>() != nullptr;
    for_each_child(e, [&](const Expr& child) { run(child, selects, plain, selected, own); });
  }
};

/// A text's part in a format for formatted_line.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '%' ? std::string("%%") : std::string(1, c);
  return result;
}

}  // namespace

AccessChecks::AccessChecks(const ir::Kernel& kernel) : kernel_(kernel) {
  FindUses uses;
  uses.run(kernel.body, kernel.name);
  for (const auto& [func, own] : uses.found) {
    for (const std::string& array : own.stored) {
      if (own.selected.count(array) > 0) may_drop_.emplace(func, array);
    }
  }
}

AccessChecks::Bounds AccessChecks::bounds_of(const Emitter& emitter, const std::string& array,
                                             std::size_t dimension) {
  if (emitter.find(held(array)) != nullptr) return {nullptr, emitter.find(held(array, dimension))};
  const std::string tail = "." + std::to_string(dimension);
  const Bounds bounds{emitter.find(array + ".min" + tail), emitter.find(array + ".extent" + tail)};
  return bounds.min == nullptr ? Bounds{} : bounds;
}

void AccessChecks::hold(Emitter& emitter, const ir::Allocate& array, Value* elements, Value* marks) {
  Builder& b = emitter.builder();
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    emitter.bind(held(array.buffer, d), emitter.emit(array.extents[d]));
  }
  emitter.bind(held(array.buffer), elements);
  emitter.bind(written(array.buffer), b.CreatePtrToInt(marks, b.getInt64Ty()));
  b.CreateMemSet(marks, b.getInt8(0), elements, llvm::MaybeAlign(1));
}

std::vector<std::pair<std::string, Type>> AccessChecks::needs(const Emitter& emitter,
                                                              const std::string& array) {
  std::vector<std::string> names = {held(array), written(array)};
  for (std::size_t d = 0; d < kMaxDimensions; ++d) {
    const std::string tail = "." + std::to_string(d);
    names.insert(names.end(), {held(array, d), array + ".min" + tail, array + ".extent" + tail});
  }
  std::vector<std::pair<std::string, Type>> found;
  for (const std::string& name : names) {
    const Value* value = emitter.find(name);
    if (value == nullptr) continue;
    found.emplace_back(name, Int(static_cast<int>(value->getType()->getIntegerBitWidth())));
  }
  return found;
}

AccessChecks::Judged AccessChecks::judged(Emitter& emitter, const MemoryAccess& access,
                                          const Exit& exit) {
  Judged judged{access, exit, {}};
  for (const Expr& index : access.logical) {
    judged.at.push_back(index_of_each(emitter, access, index));
  }
  return judged;
}

void AccessChecks::check(Emitter& emitter, const MemoryAccess& access, const Exit& exit) {
  const Judged all = judged(emitter, access, exit);
  check_box(emitter, all);
  if (Value* marks = emitter.find(written(access.buffer))) check_marks(emitter, all, marks);
}

bool AccessChecks::check_scattered(Emitter& emitter, const MemoryAccess& access, const Exit& exit) {
  if (emitter.find(written(access.buffer)) != nullptr) return false;
  check_box(emitter, judged(emitter, access, exit));
  return true;
}

void AccessChecks::check_box(Emitter& emitter, const Judged& judged) {
  Builder& b = emitter.builder();
  const MemoryAccess& a = judged.access;
  Value* good = nullptr;
  const auto also = [&](Value* holds) { good = good == nullptr ? holds : b.CreateAnd(good, holds); };
  // Exact though the difference may wrap: the box itself lies in the numbers of this width.
  const auto inside = [&](Value* at, const Bounds& bounds) {
    if (bounds.min != nullptr) at = b.CreateSub(at, spread(b, bounds.min, at));
    return b.CreateICmpULT(at, spread(b, bounds.extent, at));
  };
  for (std::size_t d = 0; d < judged.at.size(); ++d) {
    const Bounds bounds = bounds_of(emitter, a.buffer, d);
    internal_check(bounds.extent != nullptr, "checked code knows the boxes of its arrays");
    also(inside(judged.at[d], bounds));
  }
  if (a.copied != nullptr) {
    Value* beyond = b.CreateSub(a.copied, b.getInt64(1));
    if (Value* elements = emitter.find(held(a.buffer))) {
      // What is filled may be several rows.
      Value* bytes = b.CreateSub(b.CreatePtrToInt(a.pointer, b.getInt64Ty()),
                                 b.CreatePtrToInt(a.binding.base, b.getInt64Ty()));
      const auto size = static_cast<std::uint64_t>(a.binding.type.bytes());
      Value* last = b.CreateAdd(b.CreateExactSDiv(bytes, b.getInt64(size)), beyond);
      also(b.CreateICmpULT(last, elements));
    } else if (!judged.at.empty()) {
      Value* last = b.CreateAdd(b.CreateSExt(judged.at[0], b.getInt64Ty()), beyond);
      also(inside(last, bounds_of(emitter, a.buffer, 0)));
    }
    if (good != nullptr) good = b.CreateOr(good, b.CreateICmpSLT(a.copied, b.getInt64(1)));
  }
  if (good == nullptr) return;
  if (a.mask != nullptr) good = b.CreateOr(good, b.CreateNot(a.mask));
  unless(emitter, judged, good, kOutOfRange, /*with_box=*/true);
}

void AccessChecks::check_marks(Emitter& emitter, const Judged& judged, Value* marks) {
  Builder& b = emitter.builder();
  const MemoryAccess& a = judged.access;
  Value* bytes = b.CreateSub(b.CreatePtrToInt(a.pointer, b.getInt64Ty()),
                             b.CreatePtrToInt(a.binding.base, b.getInt64Ty()));
  const auto size = static_cast<std::uint64_t>(a.binding.type.bytes());
  Value* own = b.CreateIntToPtr(b.CreateAdd(marks, b.CreateExactSDiv(bytes, b.getInt64(size))),
                                llvm::PointerType::get(b.getContext(), 0));
  if (a.copied != nullptr) {
    internal_check(a.is_store, "copies are from arrays that a kernel is given");
    b.CreateMemSet(own, b.getInt8(1), a.copied, llvm::MaybeAlign(1));
    return;
  }
  llvm::Type* type = b.getInt8Ty();
  if (a.count > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(a.count));
  const bool reads = !a.is_store || a.atomic;
  if (reads && may_drop_.count({emitter.producing(), a.buffer}) == 0) {
    const llvm::Align byte(1);
    Value* mark = a.mask == nullptr
                      ? static_cast<Value*>(b.CreateAlignedLoad(type, own, byte))
                      : b.CreateMaskedLoad(type, own, byte, a.mask, llvm::ConstantInt::get(type, 1));
    Value* good = b.CreateICmpNE(mark, llvm::Constant::getNullValue(type));
    unless(emitter, judged, good, kUninitialised, /*with_box=*/false);
  }
  if (a.is_store) b.CreateAlignedStore(llvm::ConstantInt::get(type, 1), own, llvm::Align(1));
}

std::string AccessChecks::text(const Emitter& emitter, const Judged& judged, const char* title,
                               bool with_box) const {
  const MemoryAccess& a = judged.access;
  const std::string& func = emitter.producing();
  const std::string array = escaped(a.buffer);
  std::string text = title + (" in kernel " + escaped(kernel_.name));
  if (!func.empty() && func != kernel_.name) text += ", computing " + escaped(func);
  text += a.atomic ? ": changes " : a.is_store ? ": writes " : ": reads ";
  if (a.copied != nullptr) text += "%lld elements from ";
  text += (judged.at.empty() ? "an element of " : "") + array;
  for (std::size_t d = 0; d < judged.at.size(); ++d) text += d > 0 ? ", %lld" : "(%lld";
  if (!judged.at.empty()) text += ")";
  if (a.copied != nullptr) text += " on";
  if (!with_box) return text + ", which nothing has written";
  text += ", and " + array + " holds ";
  for (std::size_t d = 0; d < judged.at.size(); ++d) text += d > 0 ? " x [%lld..%lld]" : "[%lld..%lld]";
  return text + (emitter.find(held(a.buffer)) != nullptr ? " from its first element on" : "");
}

void AccessChecks::unless(Emitter& emitter, const Judged& judged, Value* good, const char* title,
                          bool with_box) {
  Builder& here = emitter.builder();
  llvm::BasicBlock* next = emitter.make_block("checked");
  llvm::BasicBlock* fault = emitter.make_block("fault");
  here.CreateCondBr(is_vector(good) ? here.CreateAndReduce(good) : good, next, fault,
                    llvm::MDBuilder(emitter.context()).createBranchWeights(1 << 20, 1));
  here.SetInsertPoint(next);

  Builder b(fault);
  Value* lane = nullptr;  // the first that is bad
  if (is_vector(good)) {
    const auto lanes = static_cast<unsigned>(judged.access.count);
    Value* bits = b.CreateBitCast(b.CreateNot(good), b.getIntNTy(lanes));
    lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getFalse());
  }
  std::vector<Value*> numbers;
  const auto add = [&](Value* value) {
    if (is_vector(value)) value = b.CreateExtractElement(value, lane);
    numbers.push_back(b.CreateSExt(value, b.getInt64Ty()));
  };
  if (judged.access.copied != nullptr) add(judged.access.copied);
  for (Value* at : judged.at) add(at);
  for (std::size_t d = 0; with_box && d < judged.at.size(); ++d) {
    const Bounds bounds = bounds_of(emitter, judged.access.buffer, d);
    add(bounds.min == nullptr ? b.getInt64(0) : bounds.min);
    Value* extent = b.CreateSExt(bounds.extent, b.getInt64Ty());
    add(b.CreateSub(b.CreateAdd(numbers.back(), extent), b.getInt64(1)));
  }
  Value*& memory = numbers_[&emitter.function()];
  if (memory == nullptr) {
    memory = emitter.frame_memory(b.getInt64Ty(), std::tuple_size_v<decltype(CheckedRun::values)>,
                                  kNumberAlignment);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    b.CreateAlignedStore(numbers[i], b.CreateConstGEP1_64(b.getInt64Ty(), memory, i),
                         llvm::Align(kNumberAlignment));
  }
  llvm::PointerType* pointer = llvm::PointerType::get(emitter.context(), 0);
  const llvm::FunctionCallee note = emitter.module().getOrInsertFunction(
      "mica_bad_access", b.getVoidTy(), pointer, pointer, pointer, b.getInt64Ty());
  b.CreateCall(note,
               {judged.exit.run, constant_text(emitter.module(), text(emitter, judged, title, with_box)),
                memory, b.getInt64(numbers.size())});
  b.CreateBr(judged.exit.block);
}

}  // namespace mica::llvm_backend
