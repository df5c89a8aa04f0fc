// Native code in this process through LLVM's ORC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/ops_llvm.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

/// A C function of Mica's that generated code may call.
struct RuntimeFunction {
  std::string name;
  void* address = nullptr;
};

/// A CPU as LLVM's code generators take it.
struct HostTarget {
  /// This CPU with all its features, or with those of the family's oldest.
  explicit HostTarget(HostCpu cpu = HostCpu::Native);
  /// A code generator, for one thread at a time.
  [[nodiscard]] std::unique_ptr<llvm::TargetMachine> machine() const;

  llvm::orc::JITTargetMachineBuilder builder;
  TargetFacts facts;    ///< what it does in hardware
  std::string name;     ///< and its features, as LLVM writes them
  bool guarded = true;  ///< see guard_addresses; not for code that runs without this library
  Accesses accesses = Accesses::Plain;
};

/// Machine code of the module that `emit` fills, optimised, to be linked in any process. Several threads
/// may call it at once.
std::string compile_object(const std::string& name, const HostTarget& target,
                           FunctionRef<void(llvm::Module&)> emit);

/// What functions of objects are called.
struct ObjectNames {
  std::function<std::string(const ir::Kernel&)> kernel = host_name;
  std::function<void(llvm::Module&)> finish = {};  ///< done to each module before it is compiled
};

/// compile_object of the host kernels of `module`, in one object or several, made on several threads.
/// `depth`: of the expressions, as Pipeline::depth.
std::vector<std::string> compile_objects(const ir::Module& module, const HostTarget& target,
                                         std::int64_t depth, const ObjectNames& names = {});

/// One module being made for this CPU, then its machine code; or machine code that was made before.
/// mica_parallel_for, mica_allocate, mica_free and the C library's functions resolve by themselves.
/// Freed with the object: those who keep addresses keep it too.
class HostCode {
 public:
  /// An empty module for this CPU.
  explicit HostCode(const std::string& name, const HostTarget& target = HostTarget());

  [[nodiscard]] llvm::Module& module() { return *module_; }
  /// What this CPU does in hardware.
  [[nodiscard]] const TargetFacts& facts() const { return facts_; }
  [[nodiscard]] llvm::TargetMachine& machine() { return *machine_; }

  /// Verifies and compiles the module, which is optimised already; module() is gone afterwards.
  void compile(const std::vector<RuntimeFunction>& functions);
  /// In place of compile: what compile_object gave for this CPU; module() is gone afterwards.
  void load(const std::vector<std::string>& objects);
  /// After compile or load: the address of an external function. InternalError if there is none.
  [[nodiscard]] void* address_of(const std::string& function);

 private:
  void define_runtime(const std::vector<RuntimeFunction>& functions);

  TargetFacts facts_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
};

}  // namespace mica::llvm_backend
