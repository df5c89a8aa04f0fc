// Static libraries, as `ar` makes them.
#include <llvm/Object/Archive.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codegen/llvm/export_objects.h"
#include "dsl/expr/diagnostics.h"

namespace mica::llvm_backend {

namespace {

template <typename T>
T check(llvm::Expected<T> value) {
  if (!value) throw InternalError("archive: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

}  // namespace

std::vector<ArchiveMember> archive_members(std::string_view archive) {
  const llvm::MemoryBufferRef bytes(llvm::StringRef(archive.data(), archive.size()), "archive");
  const auto read = check(llvm::object::Archive::create(bytes));
  std::vector<ArchiveMember> members;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child& child : read->children(error)) {
    members.push_back({check(child.getName()).str(), check(child.getBuffer()).str()});
  }
  if (error) throw InternalError("archive: " + llvm::toString(std::move(error)));
  return members;
}

std::string make_archive(const std::vector<ArchiveMember>& members) {
  std::vector<llvm::NewArchiveMember> added;
  for (const ArchiveMember& member : members) {
    added.emplace_back(llvm::MemoryBufferRef(member.bytes, member.name));
  }
  const auto archive = check(llvm::writeArchiveToBuffer(added, llvm::SymtabWritingMode::NormalSymtab,
                                                        llvm::object::Archive::K_GNU,
                                                        /*Deterministic=*/true, /*Thin=*/false));
  return archive->getBuffer().str();
}

}  // namespace mica::llvm_backend
