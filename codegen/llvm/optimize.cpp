#include <string>

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
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "codegen/llvm/optimize_llvm.h"
#include "dsl/diagnostics.h"

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
  void run(llvm::FunctionPassManager& pipeline, llvm::Module& module) {
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) pipeline.run(function, functions_);
    }
  }
  void run(llvm::ModulePassManager& pipeline, llvm::Module& module) { pipeline.run(module, modules_); }

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
}

void optimize_for_host(llvm::Module& module, llvm::TargetMachine& machine) {
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
  analyses.run(pipeline, module);
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
