// The CPU back end: kernels as native functions, and the checks of Target::host_checked().
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Value.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/ops_llvm.h"

namespace mica::llvm_backend {

/// Adds to `module` a function  i64 name(void* const* arguments)  that runs the kernel; arguments[i]
/// points at the value of parameter i. The result is 0, or where memory ran out the bytes that were
/// asked for (kNoTasks for those of a parallel loop's tasks, kTooMany and elements for too many):
/// statements that need what could not be had are left out then, and all memory is given back.
///
/// Parallel loops and the outermost nest of GpuBlock loops, as one loop over all blocks, become
/// calls of mica_parallel_for with a function of their own; GpuThread and inner GpuBlock loops are
/// serial. Heap memory comes from mica_allocate; other memory is in the frame up to 256 KiB a
/// function, beyond that from mica_allocate too.
///
/// Of Checked accesses the function is  i64 name(void* const* arguments, CheckedRun* run)
/// (runtime/cpu/checked_run.h); AccessChecks has what it checks. Behind a bad access nothing of the
/// iteration is done, all memory is given back, and no other iterations begin.
void add_host_kernel(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts,
                     const std::string& name, Accesses accesses = Accesses::Plain);

/// Makes the checks of one kernel's functions. An access outside its array's box is bad, and so is a
/// read of an element that nothing has written, of arrays that the kernel allocates. (What a Func reads
/// of itself in a select may be such an element, which the select drops where the Func starts.) For
/// those arrays it binds names:
///
///     u.held.0     i32: the extent of dimension 0
///     u.held       i64: elements
///     u.written    i64: the address of a byte an element, not 0 where it has been written
///
/// Arrays that the kernel is given have boxes u.min.0, u.extent.0, ... among its parameters.
class AccessChecks {
 public:
  /// `kernel` must outlive the checks.
  explicit AccessChecks(const ir::Kernel& kernel);

  /// Where a bad access leads: `run` is the address of a CheckedRun.
  struct Exit {
    llvm::Value* run = nullptr;
    llvm::BasicBlock* block = nullptr;
  };

  /// At the start of the array's life. `elements` is i64; `marks` is the address of a byte for each,
  /// which are set to 0.
  void hold(Emitter& emitter, const ir::Allocate& array, llvm::Value* elements, llvm::Value* marks);
  /// The bound scalars that accesses of `array` are checked with.
  static std::vector<std::pair<std::string, Type>> needs(const Emitter& emitter,
                                                         const std::string& array);
  /// Judges the access. Goes on in a new block; a bad one is noted and leads to `exit`. Stores mark what
  /// they are about to write.
  void check(Emitter& emitter, const MemoryAccess& access, const Exit& exit);
  /// The same for TargetHooks::on_scattered: false for an array whose elements have marks.
  bool check_scattered(Emitter& emitter, const MemoryAccess& access, const Exit& exit);

 private:
  struct Judged {
    const MemoryAccess& access;
    const Exit& exit;
    std::vector<llvm::Value*> at;  ///< indices: of all its elements, or where it is a copy of the first
  };
  struct Bounds {
    llvm::Value* min = nullptr;  ///< null: 0
    llvm::Value* extent = nullptr;
  };
  static Judged judged(Emitter& emitter, const MemoryAccess& access, const Exit& exit);
  [[nodiscard]] static Bounds bounds_of(const Emitter& emitter, const std::string& array,
                                        std::size_t dimension);
  void check_box(Emitter& emitter, const Judged& judged);
  void check_marks(Emitter& emitter, const Judged& judged, llvm::Value* marks);
  /// Notes the access where `good`, of each element or of all, does not hold, and goes on where it does.
  void unless(Emitter& emitter, const Judged& judged, llvm::Value* good, const char* title,
              bool with_box);
  [[nodiscard]] std::string text(const Emitter& emitter, const Judged& judged, const char* title,
                                 bool with_box) const;

  const ir::Kernel& kernel_;
  std::set<std::pair<std::string, std::string>> may_drop_;  // Funcs and arrays of theirs
  std::map<llvm::Function*, llvm::Value*> numbers_;  // memory of each function for a text's numbers
};

}  // namespace mica::llvm_backend
