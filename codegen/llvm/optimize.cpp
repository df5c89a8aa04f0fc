#include <map>
#include <string>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/InstSimplifyPass.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "codegen/llvm/large/large_functions_llvm.h"
#include "codegen/llvm/optimize_llvm.h"
#include "codegen/llvm/rewrites/unroll_known_sums_llvm.h"
#include "dsl/expr/diagnostics.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

namespace {

/// LLVM's analyses, registered for the function and loop passes that a pipeline runs.
class Analyses {
 public:
  explicit Analyses(llvm::TargetMachine& machine) : builder_(&machine) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(call_graph_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, call_graph_, modules_);
  }
  /// On each function what `pipeline_for` gives for it.
  void run(llvm::Module& module, FunctionRef<llvm::FunctionPassManager&(llvm::Function&)> pipeline_for) {
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) pipeline_for(function).run(function, functions_);
    }
  }
  void run(llvm::FunctionPassManager& pipeline, llvm::Function& function) {
    pipeline.run(function, functions_);
  }
  void run(llvm::FunctionPassManager& pipeline, llvm::Module& module) {
    run(module, [&](llvm::Function&) -> llvm::FunctionPassManager& { return pipeline; });
  }
  void run(llvm::ModulePassManager& pipeline, llvm::Module& module) { pipeline.run(module, modules_); }
  template <typename Analysis>
  typename Analysis::Result& of(llvm::Function& function) {
    return functions_.getResult<Analysis>(function);
  }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager call_graph_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
};

void add_licm(llvm::FunctionPassManager& pipeline) {
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
}

/// InstCombine (LLVM 22) leaves a half out between an integer and a wider float where the integer's
/// significant bits fit the half, though the half may be infinite: cast<f32>(cast<f16>(u << 22)). It
/// does not look through a fence.
void keep_roundings_to_half(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& i : llvm::instructions(function)) {
      auto* narrow = llvm::dyn_cast<llvm::FPTruncInst>(&i);
      if (!narrow || !narrow->getType()->getScalarType()->isHalfTy()) continue;
      llvm::Value* wide = narrow->getOperand(0);
      narrow->setOperand(0, llvm::IRBuilder<>(narrow).CreateArithmeticFence(wide, wide->getType()));
    }
  }
}

/// Loop strength reduction takes every invariant address apart, and its time grows faster than the
/// number of accesses times that of the parts. In loops of many accesses each integer and address from
/// outside becomes one part: a freeze, which makes no code. So it does in all loops of a function with
/// many minima and maxima, of which the bounds of a time tile's levels are made, each of those of the
/// level behind it: at 16 levels that was two thirds of 10 s.
class HideInvariantSums : public llvm::PassInfoMixin<HideInvariantSums> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const bool many = has_many_bounds(function);
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (loop->getLoopPreheader() == nullptr) continue;
      if (many || (loop->isInnermost() && is_long(*loop))) hide(*loop);
    }
    return llvm::PreservedAnalyses::none();
  }

 private:
  static constexpr int kFewAccesses = 32, kFewBounds = 64;

  static bool has_many_bounds(const llvm::Function& function) {
    int bounds = 0;
    for (const llvm::Instruction& i : llvm::instructions(function)) {
      bounds += llvm::isa<llvm::MinMaxIntrinsic>(i) && i.getType()->isIntegerTy() ? 1 : 0;
    }
    return bounds > kFewBounds;
  }

  static bool is_long(const llvm::Loop& loop) {
    int accesses = 0;
    for (const llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& i : *block) {
        accesses += llvm::isa<llvm::LoadInst, llvm::StoreInst>(i) ? 1 : 0;
      }
    }
    return accesses > kFewAccesses;
  }

  static void hide(const llvm::Loop& loop) {
    std::map<llvm::Value*, llvm::Value*> hidden;  // looked up only
    llvm::IRBuilder<> before(loop.getLoopPreheader()->getTerminator());
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& i : *block) {
        if (llvm::isa<llvm::PHINode>(i)) continue;
        for (llvm::Use& use : i.operands()) {
          auto* sum = llvm::dyn_cast<llvm::Instruction>(use.get());
          if (sum == nullptr || loop.contains(sum) || !has_parts(*sum)) continue;
          llvm::Value*& whole = hidden[sum];
          if (whole == nullptr) whole = before.CreateFreeze(sum);
          use.set(whole);
        }
      }
    }
  }

  static bool has_parts(const llvm::Instruction& i) {
    const bool is_number = i.getType()->isIntegerTy() || i.getType()->isPointerTy();
    return is_number && llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst,
                                  llvm::MinMaxIntrinsic, llvm::SelectInst>(i);
  }
};

/// mark_known_sums, and what it asks for.
void unroll_known_sums(llvm::Function& function, Analyses& analyses) {
  const auto loops = [&]() -> auto& { return analyses.of<llvm::LoopAnalysis>(function); };
  const auto evolution = [&]() -> auto& { return analyses.of<llvm::ScalarEvolutionAnalysis>(function); };
  if (!mark_known_sums(function, loops(), evolution())) return;
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(
      llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  pipeline.addPass(llvm::InstSimplifyPass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::DCEPass());
  analyses.run(pipeline, function);
  keep_known_sums_rolled(function, loops(), evolution());
}

}  // namespace

void optimize_for_gpu(llvm::Module& module, llvm::TargetMachine& machine) {
  Analyses analyses(machine);
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  add_licm(pipeline);
  pipeline.addPass(llvm::InstSimplifyPass());
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::DCEPass());
  analyses.run(pipeline, module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (has_deep_integers(function)) {  // LLVM would count turns of loops recursively
      keep_as_is(function);
    } else {
      unroll_known_sums(function, analyses);
    }
  }
}

void optimize_for_host(llvm::Module& module, llvm::TargetMachine& machine, Accesses accesses) {
  keep_roundings_to_half(module);
  Analyses analyses(machine);
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  pipeline.addPass(llvm::InstCombinePass());
  add_licm(pipeline);
  pipeline.addPass(llvm::GVNPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::DCEPass());
  pipeline.addPass(llvm::LoopSimplifyPass());
  pipeline.addPass(HideInvariantSums());
  llvm::FunctionPassManager few;
  few.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  few.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  few.addPass(llvm::SimplifyCFGPass());
  few.addPass(llvm::DCEPass());
  analyses.run(module, [&](llvm::Function& function) -> llvm::FunctionPassManager& {
    return has_deep_integers(function) || accesses == Accesses::Checked ? few : pipeline;
  });
}

void guard_addresses([[maybe_unused]] llvm::Module& module,
                     [[maybe_unused]] llvm::TargetMachine& machine) {
#if defined(__SANITIZE_ADDRESS__)
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
  // Neither globals nor constructors: the modules have none, and nothing would call the latter.
  llvm::AddressSanitizerOptions options;
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false,
                                              llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
  Analyses(machine).run(pipeline, module);
#endif
}

void check_module(const llvm::Module& module) {
  std::string complaint;
  llvm::raw_string_ostream out(complaint);
  if (llvm::verifyModule(module, &out)) {
    throw InternalError("LLVM code of " + module.getName().str() + " is malformed: " + complaint);
  }
}

}  // namespace mica::llvm_backend
