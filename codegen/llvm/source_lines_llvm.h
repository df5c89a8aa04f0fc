// Which of the user's lines code comes from, as LLVM writes it into PTX (.loc) and objects (DWARF's
// table of lines), for debuggers and profilers.
#pragma once

#include <map>
#include <string>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/ir/stmt.h"
#include "dsl/expr/diagnostics.h"

namespace mica::llvm_backend {

/// The lines of a module's functions. Must outlive the code's making, and be finished before the code is
/// verified.
class SourceLines {
 public:
  explicit SourceLines(llvm::Module& module);

  /// The place for code of `function`, which must be inside the module; `where` is known.
  llvm::DebugLoc at(llvm::Function& function, const SourceLocation& where);
  /// No lines come any more.
  void finish();

 private:
  llvm::DIFile* file_of(const SourceLocation& where);

  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DICompileUnit* unit_ = nullptr;
  std::map<std::string, llvm::DIFile*> files_;
};

/// The line of the first store in `s` that has one; else one that is not known.
SourceLocation first_line(const ir::Stmt& s);

}  // namespace mica::llvm_backend
