// Loads device kernels for the emulator.
#include <algorithm>
#include <set>
#include <utility>

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Coroutines/CoroCleanup.h>
#include <llvm/Transforms/Coroutines/CoroEarly.h>
#include <llvm/Transforms/Coroutines/CoroSplit.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/emulate_gpu_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/optimize_llvm.h"

namespace mica::llvm_backend {

namespace {

/// A kernel of a compiled module, which it keeps loaded.
class LoadedEmulatedKernel : public LoadedKernel {
 public:
  LoadedEmulatedKernel(EmulatedKernel kernel, const int (&block)[3], std::shared_ptr<HostCode> code)
      : kernel_(std::move(kernel)), code_(std::move(code)) {
    for (int d = 0; d < 3; ++d) shape_.block[d] = static_cast<std::uint32_t>(block[d]);
    shape_.shared_bytes = static_cast<std::uint32_t>(kernel_.shared_bytes);
  }

  void launch(const LaunchShape& shape, void* const* arguments, std::size_t count,
              Stream /*stream*/) override {
    internal_check(count == kernel_.parameters.size(), "a launch has one argument a parameter");
    run_emulated(kernel_, shape, arguments, emulator_seed());
  }
  void describe(KernelInfo& info) const override {
    info.name = kernel_.name;
    info.on_device = true;
    for (int d = 0; d < 3; ++d) info.shape.block[d] = shape_.block[d];
    info.shape.shared_bytes = shape_.shared_bytes;
  }

 private:
  EmulatedKernel kernel_;
  LaunchShape shape_;
  std::shared_ptr<HostCode> code_;
};

/// Would SROA take more than a second or two for what the module's threads keep in registers? Its time
/// grows with the number of those times that of the blocks: nearly all accesses have one of their own.
bool has_many_registers(const llvm::Module& module) {
  constexpr std::size_t kMostRegistersOfBlocks = 50'000'000;
  return std::ranges::any_of(module, [](const llvm::Function& function) {
    const auto allocates = [](const llvm::Instruction& i) { return llvm::isa<llvm::AllocaInst>(i); };
    const auto registers = std::ranges::count_if(llvm::instructions(function), allocates);
    return function.size() * static_cast<std::size_t>(registers) > kMostRegistersOfBlocks;
  });
}

llvm::FunctionPassManager simplification(bool in_memory) {
  llvm::FunctionPassManager pipeline;
  if (!in_memory) pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  pipeline.addPass(llvm::EarlyCSEPass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::DCEPass());
  return pipeline;
}

}  // namespace

void split_coroutines(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);

  const bool in_memory = has_many_registers(module);
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::CoroEarlyPass());
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(simplification(in_memory)));
  pipeline.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(llvm::CoroSplitPass()));
  pipeline.addPass(llvm::CoroCleanupPass());
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(simplification(in_memory)));
  pipeline.run(module, modules);
}

LoadedKernels load_emulated_kernels(const ir::Module& module) {
  // The emulator's own functions take nearly all of a run: a code generator that optimises took twice
  // as long as all the rest of a small kernel's first run, for runs 4 to 23 % faster.
  HostTarget target;
  target.builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto code = std::make_shared<HostCode>(module.name, target);
  std::vector<std::pair<const ir::Kernel*, EmulatedKernel>> emulated;
  std::set<std::string> names;
  for (const ir::Kernel& kernel : module.kernels) {
    if (!kernel.on_device) continue;
    if (!names.insert(kernel.name).second) {
      throw InternalError("two device kernels are named " + kernel.name);
    }
    check_kernel(kernel);
    emulated.emplace_back(&kernel,
                          add_emulated_kernel(code->module(), kernel, code->facts(), host_name(kernel)));
  }
  LoadedKernels loaded;
  if (emulated.empty()) return loaded;
  check_module(code->module());
  split_coroutines(code->module(), code->machine());
  code->compile(emulator_functions());
  for (auto& [kernel, description] : emulated) {
    description.entry = reinterpret_cast<EmulatedKernel::Entry>(code->address_of(host_name(*kernel)));
    loaded.emplace_back(kernel->name, std::make_shared<LoadedEmulatedKernel>(std::move(description),
                                                                             kernel->block, code));
  }
  return loaded;
}

}  // namespace mica::llvm_backend
