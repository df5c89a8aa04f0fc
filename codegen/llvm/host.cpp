#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/host_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/types_llvm.h"
#include "runtime/cpu/cpu_device.h"

namespace mica::llvm_backend {

namespace {

constexpr std::int64_t kFrameLimit = 256 * 1024;  // bytes a function
constexpr unsigned kScratchAlignment = 64;        // bytes: the widest vector
constexpr std::uint64_t kStreamedBytes = 16;      // bytes: the narrowest vector that is streamed
constexpr std::uint64_t kLineBytes = 64;          // of a cache, and of the widest vector register

// Where all functions of a kernel note that memory ran out, as a parameter: see add_host_kernel.
const FunctionParam kFailed{"memory.failed", Int(64), true, true, MemoryType::Heap};

/// A nest of loops that runs as one parallel loop, outermost first.
using Nest = std::vector<const ir::For*>;

/// The GpuBlock loops directly inside each other whose bounds do not depend on one another.
Nest block_nest(const ir::For& outermost) {
  Nest nest{&outermost};
  for (const ir::For* inner = outermost.body.as<ir::For>();
       inner != nullptr && inner->kind == LoopKind::GpuBlock; inner = inner->body.as<ir::For>()) {
    const bool depends = std::any_of(nest.begin(), nest.end(), [&](const ir::For* outer) {
      return uses_var(inner->min, outer->name) || uses_var(inner->extent, outer->name);
    });
    if (depends) break;
    nest.push_back(inner);
  }
  return nest;
}

class HostKernel {
 public:
  HostKernel(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts, std::string name,
             Accesses accesses)
      : module_(module), kernel_(kernel), name_(std::move(name)) {
    hooks_.facts = facts;
    // Elements between those that are asked for may be nobody's.
    hooks_.facts.dense_accesses = accesses == Accesses::Plain;
    hooks_.facts.wide_addresses = true;
    hooks_.facts.lane_loads = true;
    hooks_.facts.slow_division = true;
    hooks_.loop = [this](Emitter& e, const ir::For& loop) { emit_loop(e, loop); };
    hooks_.allocate = [this](Emitter& e, const ir::Allocate& a) { return allocate(e, a); };
    hooks_.streamed_store = [this](Emitter& e, const MemoryAccess& /*access*/, llvm::Value* pointer,
                                   llvm::Value* value, int alignment) {
      return store_streamed(e, pointer, value, alignment);
    };
    hooks_.release = [this](Emitter& e, const ir::Allocate& a, const BufferBinding& binding) {
      if (binding.memory == MemoryType::Heap) release(e, a, binding);
    };
    if (accesses == Accesses::Plain) return;
    checks_.emplace(kernel);
    hooks_.on_access = [this](Emitter& e, const MemoryAccess& access) {
      checks_->check(e, access, exit_of(e));
    };
    hooks_.on_scattered = [this](Emitter& e, const MemoryAccess& access) {
      return checks_->check_scattered(e, access, exit_of(e));
    };
  }

  void emit() {
    const std::vector<FunctionParam> params = params_of(kernel_);
    std::vector<FunctionParam> all = params;
    all.push_back(kFailed);
    llvm::Function* body = define(name_ + ".body", all, [&](Emitter& emitter) {
      bind_params(emitter, all);
      emitter.emit(kernel_.body);
    });
    emit_entry(params, body);
  }

 private:
  AccessChecks::Exit exit_of(Emitter& e) {
    return {e.find_buffer(kFailed.name)->base, exits_[&e.function()].back()};
  }

  llvm::LLVMContext& context() { return module_.getContext(); }
  llvm::PointerType* pointer() { return llvm::PointerType::get(context(), 0); }
  llvm::Type* i64() { return llvm::Type::getInt64Ty(context()); }

  llvm::FunctionCallee free_function() {
    return module_.getOrInsertFunction("mica_free", llvm::Type::getVoidTy(context()), pointer());
  }

  /// A function that only this module calls. It is not inlined: its parameters' noalias would be lost.
  template <typename Body>
  llvm::Function* define(const std::string& name, const std::vector<FunctionParam>& params,
                         Body&& body) {
    llvm::Function* function = make_function(module_, name, params, 0);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::NoInline);
    Emitter emitter(*function, *llvm::BasicBlock::Create(context(), "entry", function), hooks_);
    if (checks_) exits_[function].push_back(emitter.make_block("end"));
    body(emitter);
    if (checks_) {
      llvm::BasicBlock* end = exits_[function].front();
      emitter.builder().CreateBr(end);
      emitter.builder().SetInsertPoint(end);
    }
    // Streamed stores become visible before those who wait for this function go on.
    if (streaming_.count(function) > 0) {
      emitter.builder().CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    }
    emitter.builder().CreateRetVoid();
    return function;
  }

  /// The kernel's function: loads the parameters' values and calls `body`.
  void emit_entry(const std::vector<FunctionParam>& params, llvm::Function* body) {
    const std::vector<llvm::Type*> types(checks_ ? 2 : 1, pointer());
    auto* signature = llvm::FunctionType::get(i64(), types, false);
    auto* entry = llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, name_, module_);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    Builder b(llvm::BasicBlock::Create(context(), "entry", entry));
    std::vector<llvm::Value*> values;
    for (unsigned i = 0; i < params.size(); ++i) {
      llvm::Value* at = b.CreateLoad(pointer(), b.CreateConstGEP1_64(pointer(), entry->getArg(0), i));
      llvm::Type* type = params[i].is_buffer ? pointer() : memory_type(context(), params[i].type);
      llvm::Value* value = b.CreateLoad(type, at);
      if (!params[i].is_buffer && params[i].type.is_bool()) {
        value = b.CreateICmpNE(value, llvm::Constant::getNullValue(type));
      }
      values.push_back(value);
    }
    llvm::Value* failed = checks_ ? entry->getArg(1) : static_cast<llvm::Value*>(b.CreateAlloca(i64()));
    b.CreateStore(b.getInt64(0), failed);
    values.push_back(failed);
    b.CreateCall(body, values);
    b.CreateRet(b.CreateLoad(i64(), failed));
  }

  /// Stores a whole vector past the caches where its address is aligned, which is tested at run time
  /// where it is not known: the processor has such stores for aligned vectors only. False for other
  /// values.
  bool store_streamed(Emitter& emitter, llvm::Value* pointer, llvm::Value* value, int alignment) {
    const std::uint64_t bytes = module_.getDataLayout().getTypeStoreSize(value->getType());
    if (!value->getType()->isVectorTy() || bytes % kStreamedBytes != 0) return false;
    Builder& b = emitter.builder();
    const std::uint64_t needed = std::min(bytes & (~bytes + 1), kLineBytes);
    streaming_.insert(&emitter.function());
    if (static_cast<std::uint64_t>(alignment) % needed == 0) {
      stream(b, pointer, value, needed);
      return true;
    }
    llvm::Value* address = b.CreatePtrToInt(pointer, i64());
    llvm::Value* aligned = b.CreateICmpEQ(b.CreateAnd(address, needed - 1), b.getInt64(0));
    llvm::BasicBlock* past = emitter.make_block("streamed");
    llvm::BasicBlock* through = emitter.make_block("through_caches");
    llvm::BasicBlock* after = emitter.make_block("stored");
    b.CreateCondBr(aligned, past, through);
    b.SetInsertPoint(past);
    stream(b, pointer, value, needed);
    b.CreateBr(after);
    b.SetInsertPoint(through);
    b.CreateAlignedStore(value, pointer, llvm::Align(static_cast<std::uint64_t>(alignment)));
    b.CreateBr(after);
    b.SetInsertPoint(after);
    return true;
  }

  void stream(Builder& b, llvm::Value* pointer, llvm::Value* value, std::uint64_t alignment) {
    llvm::StoreInst* store = b.CreateAlignedStore(value, pointer, llvm::Align(alignment));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                       llvm::MDNode::get(context(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
  }

  BufferBinding allocate(Emitter& emitter, const ir::Allocate& a) {
    llvm::Type* element = memory_type(context(), a.type);
    BufferBinding binding{nullptr, a.type, false, MemoryType::Stack};
    Builder& b = emitter.builder();
    const std::int64_t bytes = a.type.bytes() + (checks_ ? 1 : 0);  // an element's, with its mark
    if (a.memory != MemoryType::Heap) {
      const std::int64_t count = std::max<std::int64_t>(ir::element_count(a), 1);
      std::int64_t& used = frame_bytes_[&emitter.function()];
      if (used + count * bytes <= kFrameLimit) {
        used += count * bytes;
        binding.base = emitter.frame_memory(element, count, kScratchAlignment);
        if (checks_) {
          checks_->hold(emitter, a, b.getInt64(static_cast<std::uint64_t>(count)),
                        emitter.frame_memory(b.getInt8Ty(), count, 1));
        }
        return binding;
      }
    }
    llvm::Value* count = element_count(emitter, a);
    llvm::FunctionCallee allocate =
        module_.getOrInsertFunction("mica_allocate", pointer(), i64(), pointer());
    llvm::Value* failed = emitter.find_buffer(kFailed.name)->base;
    llvm::CallInst* memory = b.CreateCall(allocate, {bytes_of(b, count, bytes), failed});
    memory->addRetAttr(llvm::Attribute::NoAlias);
    memory->addRetAttr(llvm::Attribute::getWithAlignment(context(), llvm::Align(kScratchAlignment)));
    binding.base = memory;
    binding.memory = MemoryType::Heap;
    // Without the memory its body is left out.
    llvm::BasicBlock* body = emitter.make_block("allocated");
    llvm::BasicBlock* after = emitter.make_block("released");
    b.CreateCondBr(b.CreateIsNull(memory), after, body);
    b.SetInsertPoint(body);
    after_[&a] = after;
    if (checks_) {
      checks_->hold(emitter, a, count, b.CreateGEP(element, memory, count));
      exits_[&emitter.function()].push_back(emitter.make_block("left"));
    }
    return binding;
  }

  /// i64: the largest extent times stride, as ir::element_count; extents may be run-time values.
  llvm::Value* element_count(Emitter& emitter, const ir::Allocate& a) {
    Builder& b = emitter.builder();
    llvm::Value* count = b.getInt64(1);
    llvm::Value* product = count;
    for (std::size_t d = 0; d < a.extents.size(); ++d) {
      llvm::Value* extent = b.CreateSExt(emitter.emit(a.extents[d]), i64());
      product = times(b, product, extent);
      llvm::Value* reach =
          a.strides.at(d) == ir::kUnknownStride ? product : times(b, extent, a.strides[d]);
      count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, reach);
    }
    return count;
  }

  /// What mica_allocate is asked for, for so many elements of `bytes`. Their places are i32s.
  llvm::Value* bytes_of(Builder& b, llvm::Value* count, std::int64_t bytes) {
    llvm::Value* many = b.CreateICmpSGT(count, b.getInt64(std::numeric_limits<std::int32_t>::max()));
    llvm::Value* number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count,
                                                  b.getInt64(static_cast<std::uint64_t>(kMostCounted)));
    llvm::Value* refused = b.CreateOr(number, b.getInt64(static_cast<std::uint64_t>(kTooMany)));
    return b.CreateSelect(many, refused, times(b, count, bytes));
  }

  /// value * factor, or the largest number where that is beyond 64 bits.
  llvm::Value* times(Builder& b, llvm::Value* value, std::int64_t factor) {
    return times(b, value, b.getInt64(static_cast<std::uint64_t>(factor)));
  }
  llvm::Value* times(Builder& b, llvm::Value* value, llvm::Value* factor) {
    llvm::Value* both = b.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, value, factor);
    llvm::Value* most = b.getInt64(std::numeric_limits<std::int64_t>::max());
    return b.CreateSelect(b.CreateExtractValue(both, 1), most, b.CreateExtractValue(both, 0));
  }

  void release(Emitter& emitter, const ir::Allocate& a, const BufferBinding& binding) {
    Builder& b = emitter.builder();
    b.CreateCall(free_function(), {binding.base});
    llvm::BasicBlock* after = after_.at(&a);
    after_.erase(&a);
    b.CreateBr(after);
    b.SetInsertPoint(after);
    if (!checks_) return;
    std::vector<llvm::BasicBlock*>& exits = exits_[&emitter.function()];
    Builder left(exits.back());
    exits.pop_back();
    left.CreateCall(free_function(), {binding.base});
    left.CreateBr(exits.back());
  }

  void emit_loop(Emitter& emitter, const ir::For& loop) {
    if (loop.kind == LoopKind::Parallel) {
      emit_parallel(emitter, {&loop});
    } else if (loop.kind == LoopKind::GpuBlock && !in_block_) {
      in_block_ = true;
      emit_parallel(emitter, block_nest(loop));
      in_block_ = false;
    } else {
      emitter.emit_serial(loop);
    }
  }

  /// What a loop's body uses of the code around it.
  [[nodiscard]] std::vector<FunctionParam> captures(const Emitter& emitter, const ir::Stmt& body) const {
    std::map<std::string, Type> scalars;
    std::map<std::string, FunctionParam> buffers;
    const auto use_buffer = [&](const std::string& name, bool written) {
      const BufferBinding* binding = emitter.find_buffer(name);
      if (binding == nullptr) return;  // allocated in the body
      FunctionParam& p = buffers
                             .try_emplace(name, FunctionParam{name, binding->type, true, false,
                                                              binding->memory, binding->shared})
                             .first->second;
      p.is_written = p.is_written || written;
    };
    ir::walk(
        body,
        [&](const ir::Stmt& s) {
          for (const ir::ArrayUse& use : ir::array_uses(s)) {
            if (use.kind != ir::ArrayUse::Kind::Synchronize) {
              use_buffer(use.array, use.kind == ir::ArrayUse::Kind::Write);
            }
          }
        },
        [&](const Expr& e) {
          if (const VarRef* var = e.as<VarRef>()) {
            if (emitter.find(var->name) != nullptr) scalars.emplace(var->name, e.type());
          } else if (const Load* load = e.as<Load>()) {
            use_buffer(load->buffer, false);
          }
        });
    std::vector<FunctionParam> params;
    for (const auto& [name, param] : buffers) {
      params.push_back(param);
      if (!checks_) continue;
      for (const auto& [scalar, type] : AccessChecks::needs(emitter, name))
        scalars.emplace(scalar, type);
    }
    if (emitter.find(ir::kPrintLines) != nullptr) scalars.emplace(ir::kPrintLines, Int(64));
    for (const auto& [name, type] : scalars) params.push_back({name, type, false, false, {}});
    return params;
  }

  /// Runs the nest as one loop over the product of its extents. The body becomes a function of the
  /// loop's number and the values it uses, called by another that takes them from a closure:
  ///
  ///     name.loop0(i, u, v, n)                       the body
  ///     name.call0(i, closure)                       name.loop0(i, closure->u, closure->v, ...)
  ///     mica_parallel_for(name.call0, min, extent, &closure, failed)
  void emit_parallel(Emitter& outer, const Nest& nest) {
    const ir::Stmt& body = nest.back()->body;
    Builder& b = outer.builder();
    std::vector<FunctionParam> params = captures(outer, body);
    params.push_back(kFailed);
    std::vector<llvm::Value*> values;
    for (const FunctionParam& p : params) {
      values.push_back(p.is_buffer ? outer.find_buffer(p.name)->base : outer.find(p.name));
    }
    llvm::Value* total = b.getInt64(1);
    for (const ir::For* loop : nest) {
      const Type type = loop->min.type();
      llvm::Value* extent = outer.emit(loop->extent);
      params.push_back({loop->name + ".min", type, false, false, {}});
      values.push_back(outer.emit(loop->min));
      params.push_back({loop->name + ".extent", type, false, false, {}});
      values.push_back(extent);
      llvm::Value* counted = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent,
                                                     llvm::Constant::getNullValue(extent->getType()));
      total = b.CreateMul(total, b.CreateSExt(counted, i64()));
    }
    params.push_back({"iteration", Int(64), false, false, {}});

    const std::string number = std::to_string(loops_++);
    llvm::Function* function = define(name_ + ".loop" + number, params, [&](Emitter& inner) {
      bind_params(inner, params);
      const std::size_t first = params.size() - 1 - 2 * nest.size();
      bind_nest(inner, nest, static_cast<unsigned>(first));
      inner.set_producing(outer.producing());
      inner.emit(body);
    });
    llvm::StructType* closure_type = nullptr;
    llvm::Function* call = define_call(name_ + ".call" + number, function, closure_type);
    llvm::Value* closure = outer.frame_memory(closure_type, 1, kScratchAlignment);
    for (unsigned i = 0; i < values.size(); ++i) {
      b.CreateStore(values[i], b.CreateStructGEP(closure_type, closure, i));
    }
    llvm::FunctionCallee run =
        module_.getOrInsertFunction("mica_parallel_for", llvm::Type::getVoidTy(context()), pointer(),
                                    i64(), i64(), pointer(), pointer());
    llvm::Value* failed = outer.find_buffer(kFailed.name)->base;
    b.CreateCall(run, {call, b.getInt64(0), total, closure, failed});
    if (!checks_) return;
    llvm::BasicBlock* after = outer.make_block("joined");
    b.CreateCondBr(b.CreateIsNull(b.CreateLoad(i64(), failed)), after, exits_[&outer.function()].back());
    b.SetInsertPoint(after);
  }

  /// Binds the loops' variables to the values that the iteration's number stands for, innermost
  /// loop fastest. Arguments from `first` on are min and extent of each loop, then the number.
  void bind_nest(Emitter& inner, const Nest& nest, unsigned first) {
    Builder& b = inner.builder();
    llvm::Value* rest = inner.function().getArg(first + 2 * static_cast<unsigned>(nest.size()));
    for (std::size_t k = nest.size(); k-- > 0;) {
      llvm::Value* min = inner.function().getArg(first + 2 * static_cast<unsigned>(k));
      llvm::Value* extent =
          b.CreateSExt(inner.function().getArg(first + 2 * static_cast<unsigned>(k) + 1), i64());
      llvm::Value* digit = k == 0 ? rest : b.CreateURem(rest, extent);
      if (k > 0) rest = b.CreateUDiv(rest, extent);
      inner.bind(nest[k]->name, b.CreateAdd(min, b.CreateIntCast(digit, min->getType(), true)));
    }
  }

  /// void name(i64 iteration, void* closure): `function` with all but its last argument from the
  /// closure, a struct of their types.
  llvm::Function* define_call(const std::string& name, llvm::Function* function,
                              llvm::StructType*& closure_type) {
    std::vector<llvm::Type*> fields(function->getFunctionType()->param_begin(),
                                    function->getFunctionType()->param_end() - 1);
    closure_type = llvm::StructType::get(context(), fields);
    auto* signature =
        llvm::FunctionType::get(llvm::Type::getVoidTy(context()), {i64(), pointer()}, false);
    auto* call = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage, name, module_);
    call->addFnAttr(llvm::Attribute::NoUnwind);
    Builder b(llvm::BasicBlock::Create(context(), "entry", call));
    std::vector<llvm::Value*> values;
    for (unsigned i = 0; i < fields.size(); ++i) {
      values.push_back(b.CreateLoad(fields[i], b.CreateStructGEP(closure_type, call->getArg(1), i)));
    }
    values.push_back(call->getArg(0));
    b.CreateCall(function, values);
    b.CreateRetVoid();
    return call;
  }

  llvm::Module& module_;
  const ir::Kernel& kernel_;
  std::string name_;
  TargetHooks hooks_;
  std::map<llvm::Function*, std::int64_t> frame_bytes_;
  std::set<llvm::Function*> streaming_;                              // those with streamed stores
  std::map<const ir::Allocate*, llvm::BasicBlock*> after_;           // where those without memory go on
  std::optional<AccessChecks> checks_;                               // unless accesses are plain
  std::map<llvm::Function*, std::vector<llvm::BasicBlock*>> exits_;  // where bad accesses lead
  int loops_ = 0;
  bool in_block_ = false;
};

}  // namespace

void add_host_kernel(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts,
                     const std::string& name, Accesses accesses) {
  HostKernel(module, kernel, facts, name, accesses).emit();
}

}  // namespace mica::llvm_backend
