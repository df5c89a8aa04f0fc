#include <cstdint>
#include <cstring>

#include <elf.h>
#include <link.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include "codegen/llvm/backend.h"

namespace mica::llvm_backend {

namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

/// The linker's build identifier in a note segment, or "".
std::string build_id_in(const unsigned char* notes, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes + at, sizeof(head));
    const unsigned char* name = notes + at + sizeof(head);
    const unsigned char* value = name + padded(head.n_namesz);
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      return hexadecimal(value, head.n_descsz);
    }
    at += sizeof(head) + padded(head.n_namesz) + padded(head.n_descsz);
  }
  return "";
}

struct Search {
  std::uintptr_t address;  ///< somewhere in the binary looked for
  std::string build_id;
};

int visit_binary(dl_phdr_info* binary, std::size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  bool holds = false;
  std::string found;
  for (int i = 0; i < binary->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = binary->dlpi_phdr[i];
    const std::uintptr_t begin = binary->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      holds = holds || (search->address >= begin && search->address < begin + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE && found.empty()) {
      found = build_id_in(reinterpret_cast<const unsigned char*>(begin), segment.p_memsz);
    }
  }
  if (!holds) return 0;
  search->build_id = found;
  return 1;
}

}  // namespace

std::string version() {
  Search search{reinterpret_cast<std::uintptr_t>(&version), ""};
  dl_iterate_phdr(visit_binary, &search);
  return "LLVM " LLVM_VERSION_STRING ", build " +
         (search.build_id.empty() ? std::string("without identifier") : search.build_id);
}

std::string host_cpu_name() { return llvm::sys::getHostCPUName().str(); }

}  // namespace mica::llvm_backend
