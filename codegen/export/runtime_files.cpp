#include "codegen/export/runtime_files.h"

#include <cstddef>

// The build says where the files are, and makes this anew when they change.
asm(R"(
  .pushsection .rodata
  .hidden mica_export_archive
  .hidden mica_export_archive_end
  .hidden mica_export_abi
  .hidden mica_export_abi_end
  .balign 16
mica_export_archive:
  .incbin ")" MICA_EXPORT_ARCHIVE R"("
mica_export_archive_end:
mica_export_abi:
  .incbin ")" MICA_EXPORT_ABI_HEADER R"("
mica_export_abi_end:
  .globl mica_export_archive
  .globl mica_export_archive_end
  .globl mica_export_abi
  .globl mica_export_abi_end
  .popsection
)");

extern "C" {
[[gnu::visibility("hidden")]] extern const char mica_export_archive[], mica_export_archive_end[];
[[gnu::visibility("hidden")]] extern const char mica_export_abi[], mica_export_abi_end[];
}

namespace mica::exported {

std::string_view runtime_archive() {
  return {mica_export_archive, static_cast<std::size_t>(mica_export_archive_end - mica_export_archive)};
}

std::string_view abi_header() {
  return {mica_export_abi, static_cast<std::size_t>(mica_export_abi_end - mica_export_abi)};
}

}  // namespace mica::exported
