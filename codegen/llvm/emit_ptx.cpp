#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/nvptx_async_llvm.h"
#include "codegen/llvm/nvptx_llvm.h"
#include "codegen/llvm/optimize_llvm.h"
#include "codegen/llvm/rewrites/avoid_ptxas_faults_llvm.h"
#include "codegen/llvm/rewrites/divide_by_constants_llvm.h"

namespace mica::llvm_backend {

namespace {

/// Which of the minima and maxima of integers `value` is; not_intrinsic: none.
llvm::Intrinsic::ID extreme_of(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::MinMaxIntrinsic>(value);
  return call != nullptr ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
}

/// Has `function` a minimum of a minimum of a minimum, or a maximum of maxima?
bool nests_extremes(llvm::Function& function) {
  constexpr int kMost = 2;
  std::map<const llvm::Value*, int> depths;
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    for (llvm::Instruction& instruction : *block) {
      const llvm::Intrinsic::ID kind = extreme_of(&instruction);
      if (kind == llvm::Intrinsic::not_intrinsic) continue;
      int depth = 0;
      for (const llvm::Value* operand : instruction.operands()) {
        if (extreme_of(operand) == kind) depth = std::max(depth, depths[operand]);
      }
      if (depth == kMost) return true;
      depths[&instruction] = depth + 1;
    }
  }
  return false;
}

/// Has a block of `function` so many sums of integers that comparing each with all before it, and each
/// pair with what stands behind, would take longer than all else? (A point of 420 reads through a
/// texture: 1.8 s, of 1,680: 29 s.)
bool has_many_sums(const llvm::Function& function) {
  constexpr std::ptrdiff_t kMany = 256;
  return std::ranges::any_of(function, [](const llvm::BasicBlock& block) {
    return std::ranges::count_if(block, [](const llvm::Instruction& instruction) {
             return instruction.getOpcode() == llvm::Instruction::Add;
           }) > kMany;
  });
}

/// Keeps passes of the back end from running. Loop strength reduction: its 64-bit running sums cost
/// registers and time on GPUs, where an address is one multiply-add. N-ary reassociation of nested
/// extremes, some of which are superfluous: LLVM 22 goes on exchanging max(max(1, max(0, x)), x) and
/// max(max(0, x), 1) for ever. Straight-line strength reduction of many sums.
class PassGate : public llvm::OptPassGate {
 public:
  /// Of what `module` has now.
  void look_at(llvm::Module& module) {
    for (llvm::Function& function : module) {
      if (function.isDeclaration()) continue;
      const std::string name = "function (" + function.getName().str() + ")";
      if (nests_extremes(function)) nested_.insert(name);
      if (has_many_sums(function)) summed_.insert(name);
    }
  }
  [[nodiscard]] bool shouldRunPass(llvm::StringRef pass, llvm::StringRef where) const override {
    if (pass == "nary-reassociate") return !nested_.contains(where.str());
    if (pass == "slsr") return !summed_.contains(where.str());
    return pass != "Loop Strength Reduction";
  }
  [[nodiscard]] bool isEnabled() const override { return true; }

 private:
  std::set<std::string> nested_, summed_;
};

/// The targets that LLVM 22 has, with the first PTX version (times ten) that serves each.
struct PtxTarget {
  int sm;
  int ptx;
};
constexpr std::array<PtxTarget, 10> kTargets = {{{80, 70},
                                                 {86, 71},
                                                 {87, 74},
                                                 {89, 78},
                                                 {90, 78},
                                                 {100, 86},
                                                 {103, 88},
                                                 {110, 90},
                                                 {120, 87},
                                                 {121, 88}}};

[[noreturn]] void refuse(const ir::Kernel& kernel, const std::string& what, int least, int sm,
                         const std::string& advice) {
  throw UserError("kernel " + kernel.name + " " + what + ", which needs compute capability " +
                  std::to_string(least / 10) + "." + std::to_string(least % 10) + " (sm_" +
                  std::to_string(least) + ") or newer, and the code is for " + std::to_string(sm / 10) +
                  "." + std::to_string(sm % 10) + " (sm_" + std::to_string(sm) + "): " + advice);
}

/// Throws if `sm` has no bulk copies or clusters and a kernel has some; else the PTX version (times ten)
/// that the kernels need, or 0 for any.
int version_for_kernels(const ir::Module& module, int sm) {
  int version = 0;
  for (const ir::Kernel& kernel : module.kernels) {
    if (!kernel.on_device) continue;
    if (has_bulk_copies(kernel)) {
      if (sm < kBulkSm) {
        refuse(kernel, "copies in bulk", kBulkSm, sm,
               "stage by LoadPolicy::AsyncCopy there, which takes the same rows");
      }
      version = std::max(version, kBulkPtx);
    }
    if (ir::cluster_blocks(kernel) > 1) {
      if (sm < kClusterSm) {
        refuse(kernel, "has clusters of blocks", kClusterSm, sm, "give each block its own there");
      }
      version = std::max(version, kClusterPtx);
    }
  }
  return version;
}

/// `ptx_version` 0: the lowest that serves `sm` and is at least `least_version`.
PtxTarget choose_target(int sm, int ptx_version, int least_version) {
  if (sm < kTargets.front().sm) {
    throw UserError("compute capability " + std::to_string(sm / 10) + "." + std::to_string(sm % 10) +
                    " (sm_" + std::to_string(sm) + ") is too old; Mica needs 8.0 (sm_80) or newer");
  }
  const auto above =
      std::find_if(kTargets.begin(), kTargets.end(), [&](const PtxTarget& t) { return t.sm > sm; });
  PtxTarget target = *std::prev(above);
  target.ptx = std::max(target.ptx, least_version);
  if (ptx_version != 0 && ptx_version < target.ptx) {
    throw UserError("PTX version " + std::to_string(ptx_version) + " (ten times) does not serve sm_" +
                    std::to_string(target.sm) + "; use " + std::to_string(target.ptx) +
                    " or newer, or 0 for the lowest that does");
  }
  if (const int known = newest_ptx_version(ptx_version); ptx_version != 0 && ptx_version != known) {
    throw UserError("PTX version " + std::to_string(ptx_version) +
                    " (ten times) is none that LLVM writes; use " + std::to_string(known) +
                    ", or 0 for the lowest that serves");
  }
  if (ptx_version != 0) target.ptx = ptx_version;
  return target;
}

const llvm::Triple& nvptx() {
  static const llvm::Triple triple("nvptx64-nvidia-cuda");
  return triple;
}

const llvm::Target& nvptx_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(nvptx(), error);
  if (found == nullptr) throw InternalError("LLVM has no NVPTX target: " + error);
  return *found;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const PtxTarget& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(nvptx_target().createTargetMachine(
      nvptx(), "sm_" + std::to_string(target.sm), "+ptx" + std::to_string(target.ptx), options,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

bool has_lines(const ir::Module& module) {
  return std::any_of(module.kernels.begin(), module.kernels.end(), [](const ir::Kernel& kernel) {
    return kernel.on_device && first_line(kernel.body).known();
  });
}

std::string print_assembly(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                  /*DisableVerify=*/true)) {
    throw InternalError("LLVM's NVPTX target writes no assembly");
  }
  passes.run(module);
  return std::string(text);
}

}  // namespace

int newest_ptx_version(int at_most) {
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      nvptx_target().createMCSubtargetInfo(nvptx(), "", ""));
  int newest = 0;
  for (const llvm::SubtargetFeatureKV& feature : info->getAllProcessorFeatures()) {
    llvm::StringRef name(feature.Key);
    int version = 0;
    if (!name.consume_front("ptx") || name.getAsInteger(10, version)) continue;
    if (version <= at_most) newest = std::max(newest, version);
  }
  return newest;
}

std::string emit_ptx(const ir::Module& module, int sm, int ptx_version) {
  const PtxTarget target = choose_target(sm, ptx_version, version_for_kernels(module, sm));
  const std::unique_ptr<llvm::TargetMachine> machine = make_machine(target);
  PassGate gate;
  llvm::LLVMContext context;
  context.setOptPassGate(gate);
  llvm::Module code(module.name, context);
  code.setTargetTriple(machine->getTargetTriple());
  code.setDataLayout(machine->createDataLayout());
  std::optional<SourceLines> lines;
  if (has_lines(module)) lines.emplace(code);
  std::set<std::string> known;
  const std::vector<std::string> names = ptx_names(module);
  auto name = names.begin();
  for (const ir::Kernel& kernel : module.kernels) {
    if (!kernel.on_device) continue;
    if (!known.insert(kernel.name).second) {
      throw InternalError("two device kernels are named " + kernel.name);
    }
    check_kernel(kernel);
    add_nvptx_kernel(code, kernel, *name++, target.sm, lines ? &*lines : nullptr);
  }
  if (lines) lines->finish();
  check_module(code);
  optimize_for_gpu(code, *machine);
  divide_by_constants(code);
  avoid_ptxas_faults(code);
  gate.look_at(code);
  return avoid_ptxas_faults(print_assembly(code, *machine));
}

}  // namespace mica::llvm_backend
