// Native code in this process through LLVM's ORC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/ops_llvm.h"

namespace mica::llvm_backend {

/// A C function of Mica's that generated code may call.
struct RuntimeFunction {
  std::string name;
  void* address = nullptr;
};

/// One module being made for this CPU, then its machine code. mica_parallel_for, mica_allocate,
/// mica_free and the C library's functions resolve by themselves. Freed with the object: those who
/// keep addresses keep it too.
class HostCode {
 public:
  /// An empty module for this CPU, with all its features or those of the family's oldest. What is to
  /// take_object says so here.
  explicit HostCode(const std::string& name, HostCpu cpu = HostCpu::Native, bool keep_object = false);

  [[nodiscard]] llvm::Module& module() { return *module_; }
  /// What this CPU does in hardware.
  [[nodiscard]] const TargetFacts& facts() const { return facts_; }
  [[nodiscard]] llvm::TargetMachine& machine() { return *machine_; }

  /// Verifies, optimises (unless the module already is) and compiles; module() is gone afterwards.
  void compile(const std::vector<RuntimeFunction>& functions = {}, bool optimize = true);
  /// In place of compile: machine code that take_object of an equal module for this CPU gave; module()
  /// is gone afterwards.
  void load(const std::string& object);
  /// After compile or load: the address of an external function. InternalError if there is none.
  [[nodiscard]] void* address_of(const std::string& function);
  /// After compile and the first address_of, once: the machine code, to be linked again in any process.
  [[nodiscard]] std::string take_object() { return std::move(*object_); }
  /// The CPU's name and features, as LLVM writes them.
  [[nodiscard]] const std::string& cpu() const { return cpu_; }

 private:
  void define_runtime(const std::vector<RuntimeFunction>& functions);

  std::string cpu_;
  std::shared_ptr<std::string> object_;  // null: not kept
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  TargetFacts facts_;
};

}  // namespace mica::llvm_backend
