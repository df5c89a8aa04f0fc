// Loads device kernels for the emulator.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
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

/// Before a code generator that does nothing of the kind.
void simplify_functions(llvm::Module& module, llvm::TargetMachine& machine) {
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

  llvm::FunctionPassManager pipeline;
  if (!has_many_registers(module)) pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  pipeline.addPass(llvm::EarlyCSEPass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::DCEPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pipeline)));
  passes.run(module, modules);
}

/// The bytes of each function's frame, by its name, that the code generator tells of when it has them.
using FrameBytes = std::map<std::string, std::size_t>;
class NotesFrames : public llvm::DiagnosticHandler {
 public:
  explicit NotesFrames(std::shared_ptr<FrameBytes> bytes) : bytes_(std::move(bytes)) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    const auto* frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info);
    if (frame == nullptr) return false;
    (*bytes_)[frame->getFunction().getName().str()] = frame->getStackSize();
    return true;
  }

 private:
  std::shared_ptr<FrameBytes> bytes_;
};

}  // namespace

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
  simplify_functions(code->module(), code->machine());
  const auto frames = std::make_shared<FrameBytes>();
  code->module().getContext().setDiagnosticHandler(std::make_unique<NotesFrames>(frames));
  code->compile(emulator_functions());
  for (auto& [kernel, description] : emulated) {
    description.entry = reinterpret_cast<EmulatedKernel::Entry>(code->address_of(host_name(*kernel)));
    const auto frame = frames->find(host_name(*kernel));
    if (frame != frames->end()) description.frame_bytes = frame->second;
    loaded.emplace_back(kernel->name, std::make_shared<LoadedEmulatedKernel>(std::move(description),
                                                                             kernel->block, code));
  }
  return loaded;
}

}  // namespace mica::llvm_backend
