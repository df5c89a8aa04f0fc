#include "codegen/ir/kernel.h"

#include <algorithm>

#include "codegen/ir/traverse.h"

namespace mica::ir {

namespace {

constexpr std::int64_t kSharedAlignment = 16;  // bytes: the widest access of a thread

std::int64_t constant_extent(const Allocate& allocate, std::size_t d) {
  const std::int64_t* extent = as_int(allocate.extents[d]);
  if (extent == nullptr) {
    throw InternalError("the extent of dimension " + std::to_string(d) + " of allocation " +
                        allocate.buffer + " is not a constant");
  }
  return *extent;
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  return overflow ? kMostElements : std::min(product, kMostElements);
}

}  // namespace

std::string texture_origin(const std::string& name) { return name + ".texture.origin"; }

bool has_textures(Type type) { return type == Float(32) || type == Int(32) || type == UInt(32); }

int cluster_blocks(const Kernel& kernel) {
  return kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2];
}

std::int64_t element_count(const Allocate& allocate) {
  std::int64_t product = 1;
  std::int64_t reach = 1;
  for (std::size_t d = 0; d < allocate.extents.size(); ++d) {
    const std::int64_t extent = constant_extent(allocate, d);
    if (extent <= 0) return 0;
    product = saturating_product(product, extent);
    if (allocate.strides.empty()) continue;
    reach = std::max(reach, saturating_product(extent, allocate.strides.at(d)));
  }
  return allocate.strides.empty() ? product : reach;
}

std::vector<SharedSlot> shared_layout(const Kernel& kernel) {
  std::vector<SharedSlot> slots;
  std::int64_t next = 0;
  walk(
      kernel.body,
      [&](const Stmt& s) {
        const Allocate* a = s.as<Allocate>();
        if (a == nullptr || a->memory != MemoryType::Shared) return;
        const std::int64_t bytes = element_count(*a) * a->type.bytes();
        slots.push_back({a->buffer, next, bytes});
        next += (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
      },
      nullptr);
  return slots;
}

std::int64_t thread_bytes(const Stmt& body) {
  std::int64_t bytes = 0;
  walk(
      body,
      [&](const Stmt& s) {
        const Allocate* a = s.as<Allocate>();
        const bool own =
            a != nullptr && (a->memory == MemoryType::Stack || a->memory == MemoryType::Register);
        if (own) bytes = std::min(bytes + element_count(*a) * a->type.bytes(), kMostElements);
      },
      nullptr);
  return bytes;
}

std::int64_t shared_bytes(const Kernel& kernel) {
  const std::vector<SharedSlot> slots = shared_layout(kernel);
  if (slots.empty()) return 0;
  const std::int64_t end = slots.back().offset + slots.back().bytes;
  return (end + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

}  // namespace mica::ir
