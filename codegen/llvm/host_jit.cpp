#include <cerrno>
#include <mutex>
#include <optional>
#include <set>

#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include "codegen/ir/fingerprint.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/host_jit_llvm.h"
#include "codegen/llvm/host_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/optimize_llvm.h"
#include "runtime/cpu_device.h"
#include "runtime/print_line.h"

namespace mica::llvm_backend {

namespace {

constexpr unsigned kMostOptimized = 50'000;  // instructions of a function

template <typename T>
T check(llvm::Expected<T> value, const char* what) {
  if (!value) throw InternalError(std::string(what) + ": " + llvm::toString(value.takeError()));
  return std::move(*value);
}
void check(llvm::Error error, const char* what) {
  if (error) throw InternalError(std::string(what) + ": " + llvm::toString(std::move(error)));
}

void initialize_native() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

template <typename Function>
RuntimeFunction runtime_function(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

/// A kernel of a compiled module, which it keeps loaded.
class LoadedHostKernel : public LoadedKernel {
 public:
  LoadedHostKernel(std::string name, std::shared_ptr<HostCode> code, void* address)
      : name_(std::move(name)),
        code_(std::move(code)),
        entry_(reinterpret_cast<std::int64_t (*)(void* const*)>(address)) {}

  void launch(const LaunchShape& /*shape*/, void* const* arguments, std::size_t /*count*/,
              Stream /*stream*/) override {
    const std::int64_t failed = entry_(arguments);
    if (failed == kNoTasks) {
      throw DeviceError("parallel_for", ENOMEM,
                        "no memory for the tasks of a parallel loop of kernel " + name_);
    }
    if (failed != 0) {
      throw DeviceError(
          "aligned_alloc", ENOMEM,
          "no memory for the " + std::to_string(failed) + " bytes that kernel " + name_ +
              " keeps for values computed inside its loops: compute them at inner loops or "
              "use smaller tiles");
    }
  }
  void describe(KernelInfo& info) const override {
    info.name = name_;
    info.on_device = false;
  }

 private:
  std::string name_;
  std::shared_ptr<HostCode> code_;
  std::int64_t (*entry_)(void* const*);  // see add_host_kernel
};

/// A compiler that leaves a copy of the machine code that it makes in `object`, unless that is null.
class KeepingCompiler : public llvm::orc::IRCompileLayer::IRCompiler {
 public:
  KeepingCompiler(std::unique_ptr<llvm::TargetMachine> machine, std::shared_ptr<std::string> object)
      : IRCompiler(llvm::orc::irManglingOptionsFromTargetOptions(machine->Options)),
        machine_(std::move(machine)),
        object_(std::move(object)) {}

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module& module) override {
    auto made = llvm::orc::SimpleCompiler(*machine_)(module);
    if (made && object_) *object_ = (*made)->getBuffer().str();
    return made;
  }

 private:
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::shared_ptr<std::string> object_;
};

llvm::orc::JITTargetMachineBuilder describe_cpu(HostCpu cpu) {
  if (cpu == HostCpu::Baseline) {
    return llvm::orc::JITTargetMachineBuilder(llvm::Triple(llvm::sys::getProcessTriple()));
  }
  return check(llvm::orc::JITTargetMachineBuilder::detectHost(), "this CPU is unknown to LLVM");
}

}  // namespace

HostCode::HostCode(const std::string& name, HostCpu cpu, bool keep_object) {
  initialize_native();
  if (keep_object) object_ = std::make_shared<std::string>();
  llvm::orc::JITTargetMachineBuilder builder = describe_cpu(cpu);
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder.setCodeModel(llvm::CodeModel::Small);  // a module's sections lie next to each other
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const std::string features = builder.getFeatures().getString();
  facts_.native_half = features.find("+f16c") != std::string::npos;
  facts_.native_f64_minimum = true;
  facts_.native_saturation = false;
  cpu_ = builder.getCPU() + " " + features;
  machine_ = check(builder.createTargetMachine(), "no code generator for this CPU");
  jit_ = check(llvm::orc::LLJITBuilder()
                   .setJITTargetMachineBuilder(std::move(builder))
                   .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                   .setCompileFunctionCreator(
                       [object = object_](llvm::orc::JITTargetMachineBuilder made)
                           -> llvm::Expected<std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler>> {
                         auto machine = made.createTargetMachine();
                         if (!machine) return machine.takeError();
                         return std::make_unique<KeepingCompiler>(std::move(*machine), object);
                       })
                   .create(),
               "ORC did not start");
  context_ = std::make_unique<llvm::LLVMContext>();
  module_ = std::make_unique<llvm::Module>(name, *context_);
  module_->setDataLayout(jit_->getDataLayout());
  module_->setTargetTriple(jit_->getTargetTriple());
}

void HostCode::compile(const std::vector<RuntimeFunction>& functions, bool optimize) {
  for (llvm::Function& f : *module_) f.addFnAttr("prefer-vector-width", "512");
  check_module(*module_);
  if (optimize) optimize_for_host(*module_, *machine_);
  guard_addresses(*module_, *machine_);
  // The back end's time grows with the square of what is unrolled: huge functions are translated as they
  // stand.
  for (llvm::Function& f : *module_) {
    if (f.getInstructionCount() <= kMostOptimized) continue;
    f.addFnAttr(llvm::Attribute::OptimizeNone);
    f.addFnAttr(llvm::Attribute::NoInline);
  }

  define_runtime(functions);
  check(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module_), std::move(context_))),
        "module");
}

void HostCode::load(const std::string& object) {
  module_.reset();
  context_.reset();
  define_runtime({});
  check(jit_->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, "cached")), "machine code");
}

void HostCode::define_runtime(const std::vector<RuntimeFunction>& functions) {
  std::vector<RuntimeFunction> known = {runtime_function("mica_parallel_for", &mica_parallel_for),
                                        runtime_function("mica_allocate", &mica_allocate),
                                        runtime_function("mica_free", &mica_free),
                                        runtime_function("mica_print", &mica_print)};
  known.insert(known.end(), functions.begin(), functions.end());
  llvm::orc::SymbolMap symbols;
  for (const RuntimeFunction& f : known) {
    symbols[jit_->mangleAndIntern(f.name)] = {llvm::orc::ExecutorAddr::fromPtr(f.address),
                                              llvm::JITSymbolFlags::Exported};
  }
  llvm::orc::JITDylib& library = jit_->getMainJITDylib();
  check(library.define(llvm::orc::absoluteSymbols(std::move(symbols))), "runtime functions");
}

void* HostCode::address_of(const std::string& function) {
  return check(jit_->lookup(function), "machine code").toPtr<void*>();
}

namespace {

std::vector<const ir::Kernel*> host_kernels(const ir::Module& module) {
  std::vector<const ir::Kernel*> kernels;
  std::set<std::string> names;
  for (const ir::Kernel& kernel : module.kernels) {
    if (kernel.on_device) continue;
    if (!names.insert(kernel.name).second) {
      throw InternalError("two host kernels are named " + kernel.name);
    }
    kernels.push_back(&kernel);
  }
  return kernels;
}

LoadedKernels launchable(const std::shared_ptr<HostCode>& code,
                         const std::vector<const ir::Kernel*>& kernels) {
  LoadedKernels loaded;
  for (const ir::Kernel* kernel : kernels) {
    void* const address = code->address_of(host_name(*kernel));
    loaded.emplace_back(kernel->name, std::make_shared<LoadedHostKernel>(kernel->name, code, address));
  }
  return loaded;
}

}  // namespace

LoadedKernels load_host_kernels(const ir::Module& module, HostCpu cpu, const KernelCache& cache) {
  const std::vector<const ir::Kernel*> kernels = host_kernels(module);
  if (kernels.empty()) return {};
  CacheKey key;
  const bool cached = !cache.folder().empty();
  auto code = std::make_shared<HostCode>(module.name, cpu, cached);
  if (cached) {
    key.add("host", version()).add("cpu", code->cpu());
    for (const ir::Kernel* kernel : kernels) key.add("kernel", ir::fingerprint(*kernel));
    if (const std::optional<std::string> object = cache.load(key)) {
      try {
        code->load(*object);
        return launchable(code, kernels);
      } catch (const InternalError&) {  // what does not link is made anew
        code = std::make_shared<HostCode>(module.name, cpu, cached);
      }
    }
  }
  for (const ir::Kernel* kernel : kernels) {
    check_kernel(*kernel);
    add_host_kernel(code->module(), *kernel, code->facts(), host_name(*kernel));
  }
  code->compile();
  LoadedKernels loaded = launchable(code, kernels);
  if (cached) cache.store(key, code->take_object());
  return loaded;
}

}  // namespace mica::llvm_backend
