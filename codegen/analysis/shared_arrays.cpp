#include "codegen/analysis/shared_arrays.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/traverse.h"

namespace mica::analysis {

namespace {

struct Array {
  std::string text;
  std::int64_t bytes = 0;
};

Array described(const ir::Allocate& alloc) {
  std::vector<std::int64_t> sizes;
  Array array;
  for (const auto& extent : alloc.extents) {
    const auto* size = as_int(extent);
    internal_check(size != nullptr, "memory in a kernel has a constant size");
    sizes.push_back(*size);
  }
  array.bytes = ir::element_count(alloc) * alloc.type.bytes();
  std::string planes;
  if (alloc.places > 0) {
    const auto ring = std::find(sizes.rbegin(), sizes.rend(), alloc.places);
    if (ring != sizes.rend()) {
      sizes.erase(std::next(ring).base());
      planes = std::to_string(alloc.places) + (alloc.places == 1 ? " plane of " : " planes of ");
    }
  }
  std::string box;
  for (const auto size : sizes) box += (box.empty() ? "" : " x ") + std::to_string(size);
  array.text = alloc.buffer + " " + std::to_string(array.bytes) + " bytes (" + planes + box + " of " +
               to_string(alloc.type) + ")";
  return array;
}

std::string arrays_in(const ir::Stmt& body, const std::function<bool(MemoryType)>& chosen) {
  std::vector<Array> arrays;
  std::set<std::string> seen;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* alloc = s.as<ir::Allocate>();
        if (!alloc || !chosen(alloc->memory) || !seen.insert(alloc->buffer).second) return;
        arrays.push_back(described(*alloc));
      },
      [](const Expr&) {});
  std::stable_sort(arrays.begin(), arrays.end(),
                   [](const Array& a, const Array& b) { return a.bytes > b.bytes; });
  std::string text;
  for (const auto& array : arrays) text += (text.empty() ? "" : ", ") + array.text;
  return text;
}

}  // namespace

std::string shared_arrays(const ir::Stmt& body) {
  return arrays_in(body, [](MemoryType memory) { return memory == MemoryType::Shared; });
}

std::string thread_arrays(const ir::Stmt& body) {
  return arrays_in(body, [](MemoryType memory) {
    return memory == MemoryType::Stack || memory == MemoryType::Register;
  });
}

}  // namespace mica::analysis
