#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include "codegen/ir/fingerprint.h"
#include "codegen/ir/traverse.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/host_jit_llvm.h"
#include "codegen/llvm/host_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/large/cut_blocks_llvm.h"
#include "codegen/llvm/large/large_functions_llvm.h"
#include "codegen/llvm/optimize_llvm.h"
#include "dsl/expr/deep_stack.h"
#include "runtime/cpu/checked_run.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/run/print_line.h"

namespace mica::llvm_backend {

namespace {

constexpr unsigned kMostOptimized = 20'000;  // instructions of a function

template <typename T>
T check(llvm::Expected<T> value, const char* what) {
  if (!value) throw InternalError(std::string(what) + ": " + llvm::toString(value.takeError()));
  return std::move(*value);
}
void check(llvm::Error error, const char* what) {
  if (error) throw InternalError(std::string(what) + ": " + llvm::toString(std::move(error)));
}

// The machine combiner reorders sums, of which only those of integers may be: its time grows with the
// square of a block's instructions. LLVM has no other way to leave it out.
void leave_out_machine_combiner() {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("x86-machine-combiner");
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(false);
}

void initialize_native() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    leave_out_machine_combiner();
  });
}

template <typename Function>
RuntimeFunction runtime_function(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

/// A kernel of a compiled module, which it keeps loaded.
class LoadedHostKernel : public LoadedKernel {
 public:
  LoadedHostKernel(std::string name, std::shared_ptr<HostCode> code, void* address, Accesses accesses)
      : name_(std::move(name)), code_(std::move(code)), entry_(address), accesses_(accesses) {}

  void launch(const LaunchShape& /*shape*/, void* const* arguments, std::size_t /*count*/,
              Stream /*stream*/) override {
    CheckedRun run;
    const std::int64_t failed =
        accesses_ == Accesses::Checked
            ? reinterpret_cast<std::int64_t (*)(void* const*, CheckedRun*)>(entry_)(arguments, &run)
            : reinterpret_cast<std::int64_t (*)(void* const*)>(entry_)(arguments);
    throw_if_bad(run);
    if (failed == kNoTasks) {
      throw DeviceError("parallel_for", ENOMEM,
                        "no memory for the tasks of a parallel loop of kernel " + name_);
    }
    if (failed < 0) {
      throw UserError(fmt::format(
          "kernel {} needs {} elements at once of a Func that is computed inside its loops, more than "
          "2147483647: compute it at an inner loop, or with compute_root()",
          name_, failed - kTooMany));
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
  void* entry_;  // see add_host_kernel
  Accesses accesses_;
};

llvm::orc::JITTargetMachineBuilder describe_cpu(HostCpu cpu) {
  if (cpu == HostCpu::Baseline) {
    return llvm::orc::JITTargetMachineBuilder(llvm::Triple(llvm::sys::getProcessTriple()));
  }
  return check(llvm::orc::JITTargetMachineBuilder::detectHost(), "this CPU is unknown to LLVM");
}

}  // namespace

HostTarget::HostTarget(HostCpu cpu) : builder(describe_cpu(cpu)) {
  initialize_native();
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  // A module's sections lie next to each other, anywhere in memory.
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const std::string features = builder.getFeatures().getString();
  facts.native_half = features.find("+f16c") != std::string::npos;
  facts.native_gather = features.find("+avx512f") != std::string::npos;
  facts.native_f64_minimum = true;
  facts.native_saturation = false;
  name = builder.getCPU() + " " + features;
}

std::unique_ptr<llvm::TargetMachine> HostTarget::machine() const {
  llvm::orc::JITTargetMachineBuilder copy = builder;
  return check(copy.createTargetMachine(), "no code generator for this CPU");
}

namespace {

/// Verifies the module, optimises it, if asked to, for such accesses, and adds what the back end is to
/// know.
void prepare(llvm::Module& module, llvm::TargetMachine& machine, std::optional<Accesses> optimized,
             bool guarded) {
  for (llvm::Function& f : module) f.addFnAttr("prefer-vector-width", "512");
  check_module(module);
  if (optimized) optimize_for_host(module, machine, *optimized);
  tabulate_numbers(module);
  if (guarded) guard_addresses(module, machine);
  // The back end's time grows with the square of what is unrolled.
  bool is_cut = false;
  for (llvm::Function& f : module) {
    const bool is_large = f.getInstructionCount() > kMostOptimized;
    if (is_large || has_deep_integers(f)) keep_as_is(f);
    if (is_large) cut_long_blocks(f, Handing::Memory);
    is_cut = is_cut || is_large;
  }
  if (is_cut) check_module(module);
}

}  // namespace

std::string compile_object(const std::string& name, const HostTarget& target,
                           FunctionRef<void(llvm::Module&)> emit) {
  const std::unique_ptr<llvm::TargetMachine> machine = target.machine();
  llvm::LLVMContext context;
  llvm::Module module(name, context);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  emit(module);
  prepare(module, *machine, target.accesses, target.guarded);
  return check(llvm::orc::SimpleCompiler(*machine)(module), "machine code")->getBuffer().str();
}

HostCode::HostCode(const std::string& name, const HostTarget& target)
    : facts_(target.facts), machine_(target.machine()) {
  jit_ = check(llvm::orc::LLJITBuilder()
                   .setJITTargetMachineBuilder(target.builder)
                   .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                   .create(),
               "ORC did not start");
  context_ = std::make_unique<llvm::LLVMContext>();
  module_ = std::make_unique<llvm::Module>(name, *context_);
  module_->setDataLayout(jit_->getDataLayout());
  module_->setTargetTriple(jit_->getTargetTriple());
}

void HostCode::compile(const std::vector<RuntimeFunction>& functions) {
  prepare(*module_, *machine_, /*optimized=*/std::nullopt, /*guarded=*/true);
  define_runtime(functions);
  check(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module_), std::move(context_))),
        "module");
}

void HostCode::load(const std::vector<std::string>& objects) {
  module_.reset();
  context_.reset();
  define_runtime({});
  for (const std::string& object : objects) {
    check(jit_->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, "object")), "machine code");
  }
}

void HostCode::define_runtime(const std::vector<RuntimeFunction>& functions) {
  std::vector<RuntimeFunction> known = {runtime_function("mica_parallel_for", &mica_parallel_for),
                                        runtime_function("mica_allocate", &mica_allocate),
                                        runtime_function("mica_free", &mica_free),
                                        runtime_function("mica_bad_access", &mica_bad_access),
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
                         const std::vector<const ir::Kernel*>& kernels, Accesses accesses) {
  LoadedKernels loaded;
  for (const ir::Kernel* kernel : kernels) {
    void* const address = code->address_of(host_name(*kernel));
    loaded.emplace_back(kernel->name,
                        std::make_shared<LoadedHostKernel>(kernel->name, code, address, accesses));
  }
  return loaded;
}

/// Kernels that become one module.
struct Part {
  std::vector<const ir::Kernel*> kernels;
  std::size_t nodes = 0;  ///< of their expressions
};

/// The kernels in parts that threads may compile at once, large ones first. Small kernels share one: a
/// module has costs of its own. How many threads there are makes no difference.
std::vector<Part> parts_of(const std::vector<const ir::Kernel*>& kernels) {
  constexpr std::size_t kFewNodes = 1000;
  std::vector<Part> parts;
  for (const ir::Kernel* kernel : kernels) {
    if (parts.empty() || parts.back().nodes > kFewNodes) parts.emplace_back();
    parts.back().kernels.push_back(kernel);
    ir::walk(kernel->body, nullptr, [&](const Expr& /*e*/) { ++parts.back().nodes; });
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.nodes > b.nodes; });
  return parts;
}

/// The parts' machine code, made on several threads at once.
class PartsCompiler {
 public:
  PartsCompiler(std::vector<Part> parts, const HostTarget& target, std::int64_t depth,
                const ObjectNames& names)
      : parts_(std::move(parts)),
        target_(target),
        depth_(depth),
        names_(names),
        objects_(parts_.size()),
        failures_(parts_.size()) {}

  std::vector<std::string> run() {
    const auto work = [](std::int64_t /*i*/, void* compiler) {
      static_cast<PartsCompiler*>(compiler)->compile_next();
    };
    mica_parallel_for(work, 0, static_cast<std::int64_t>(parts_.size()), this);
    for (const std::exception_ptr& failure : failures_) {
      if (failure) std::rethrow_exception(failure);
    }
    return std::move(objects_);
  }

 private:
  void compile_next() {
    const std::size_t i = next_++;
    try {
      with_stack_for(depth_, [&] { objects_[i] = compiled(parts_[i]); });
    } catch (...) {
      failures_[i] = std::current_exception();
    }
  }

  [[nodiscard]] std::string compiled(const Part& part) const {
    return compile_object(part.kernels.front()->name, target_, [&](llvm::Module& module) {
      for (const ir::Kernel* kernel : part.kernels) {
        check_kernel(*kernel);
        add_host_kernel(module, *kernel, target_.facts, names_.kernel(*kernel), target_.accesses);
      }
      if (names_.finish) names_.finish(module);
    });
  }

  const std::vector<Part> parts_;
  const HostTarget& target_;
  const std::int64_t depth_;
  const ObjectNames& names_;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::string> objects_;
  std::vector<std::exception_ptr> failures_;
};

/// Texts as one: the length of each in 16 digits before it.
std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += fmt::format("{:016x}", text.size()) + text;
  return all;
}
std::vector<std::string> unpacked(std::string_view all) {
  constexpr std::size_t kDigits = 16;
  std::vector<std::string> texts;
  while (!all.empty()) {
    std::size_t size = 0;
    const std::string_view digits = all.substr(0, kDigits);
    all.remove_prefix(digits.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
    internal_check(error == std::errc() && end == digits.data() + kDigits && size <= all.size(),
                   "an entry of the cache is what was stored");
    texts.emplace_back(all.substr(0, size));
    all.remove_prefix(size);
  }
  return texts;
}

}  // namespace

std::vector<std::string> compile_objects(const ir::Module& module, const HostTarget& target,
                                         std::int64_t depth, const ObjectNames& names) {
  return PartsCompiler(parts_of(host_kernels(module)), target, depth, names).run();
}

LoadedKernels load_host_kernels(const ir::Module& module, HostCpu cpu, const KernelCache& cache,
                                std::int64_t depth, Accesses accesses) {
  const std::vector<const ir::Kernel*> kernels = host_kernels(module);
  if (kernels.empty()) return {};
  HostTarget target(cpu);
  target.accesses = accesses;
  CacheKey key;
  const bool cached = !cache.folder().empty();
  if (cached) {
    key.add("host", version()).add("cpu", target.name);
    key.add("accesses", accesses == Accesses::Checked ? "checked" : "plain");
    for (const ir::Kernel* kernel : kernels) key.add("kernel", ir::fingerprint(*kernel));
    if (const std::optional<std::string> objects = cache.load(key)) {
      try {
        const auto code = std::make_shared<HostCode>(module.name, target);
        code->load(unpacked(*objects));
        return launchable(code, kernels, accesses);
      } catch (const InternalError&) {  // what does not link is made anew
      }
    }
  }
  const std::vector<std::string> objects = compile_objects(module, target, depth);
  const auto code = std::make_shared<HostCode>(module.name, target);
  code->load(objects);
  LoadedKernels loaded = launchable(code, kernels, accesses);
  if (cached) cache.store(key, packed(objects));
  return loaded;
}

}  // namespace mica::llvm_backend
