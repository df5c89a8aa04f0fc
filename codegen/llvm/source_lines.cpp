#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/source_lines_llvm.h"

namespace mica::llvm_backend {

SourceLines::SourceLines(llvm::Module& module) : module_(module), builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
}

llvm::DIFile* SourceLines::file_of(const SourceLocation& where) {
  llvm::DIFile*& file = files_[where.file];
  if (file == nullptr) file = builder_.createFile(where.file, "");
  return file;
}

llvm::DebugLoc SourceLines::at(llvm::Function& function, const SourceLocation& where) {
  llvm::DIFile* const file = file_of(where);
  if (unit_ == nullptr) {
    unit_ =
        builder_.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus, file, "mica", /*isOptimized=*/true,
                                   "", 0, "", llvm::DICompileUnit::DebugDirectivesOnly);
  }
  llvm::DISubprogram* whole = function.getSubprogram();
  if (whole == nullptr) {
    whole = builder_.createFunction(
        file, function.getName(), function.getName(), file, static_cast<unsigned>(where.line),
        builder_.createSubroutineType(builder_.getOrCreateTypeArray({})),
        static_cast<unsigned>(where.line), llvm::DINode::FlagZero,
        llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
    function.setSubprogram(whole);
  }
  llvm::DIScope* const scope = whole->getFile() == file ? static_cast<llvm::DIScope*>(whole)
                                                        : builder_.createLexicalBlockFile(whole, file);
  return llvm::DILocation::get(module_.getContext(), static_cast<unsigned>(where.line), 0, scope);
}

void SourceLines::finish() { builder_.finalize(); }

SourceLocation first_line(const ir::Stmt& s) {
  SourceLocation first;
  ir::walk(
      s,
      [&](const ir::Stmt& inner) {
        const auto* store = inner.as<ir::Store>();
        if (store != nullptr && !first.known()) first = store->where;
      },
      nullptr);
  return first;
}

}  // namespace mica::llvm_backend
