#include "runtime/emulator.h"

#include <cstdlib>

#include "runtime/emulated_block.h"

namespace mica {
namespace {

constexpr std::uint64_t kDefaultSeed = 20240229;

}  // namespace

void run_emulated(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                  std::uint64_t seed) {
  EmulatedBlock(kernel, shape, arguments, seed).run();
}

std::uint64_t emulator_seed() {
  const char* text = std::getenv("MICA_EMULATOR_SEED");
  return text == nullptr ? kDefaultSeed : std::strtoull(text, nullptr, 10);
}

void* emulator_frame(EmulatedBlock* block, std::uint64_t bytes) noexcept { return block->frame(bytes); }
void* emulator_shared_memory(EmulatedBlock* block) noexcept { return block->shared_memory(); }

bool emulator_check_shared(EmulatedBlock* block, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept {
  return block->check_shared(address, access, thread);
}
bool emulator_check_global(EmulatedBlock* block, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept {
  return block->check_global(address, access, thread);
}
bool emulator_conflict(EmulatedBlock* block, std::int32_t access, std::int32_t thread, std::int64_t c0,
                       std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept {
  return block->judge(access, thread, {c0, c1, c2, c3});
}
void emulator_misaligned(EmulatedBlock* block, std::int32_t access, std::int32_t thread, std::int64_t c0,
                         std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept {
  block->misaligned(access, thread, {c0, c1, c2, c3});
}
void emulator_out_of_range(EmulatedBlock* block, std::int32_t access, std::int32_t thread,
                           std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept {
  block->out_of_range(access, thread, {c0, c1, c2, c3});
}
void emulator_barrier(EmulatedBlock* block, std::int32_t thread, std::int32_t barrier) noexcept {
  block->wait_at_barrier(thread, barrier);
}
void emulator_fence_copies(EmulatedBlock* block, std::int32_t thread) noexcept {
  block->fence_copies(thread);
}
void emulator_shuffle(EmulatedBlock* block, void* value, std::int32_t bytes, std::int32_t delta,
                      std::int32_t site, std::int32_t thread) noexcept {
  block->wait_for_exchange(thread, value, static_cast<std::size_t>(bytes), delta, site);
}

bool emulator_copy(EmulatedBlock* block, void* to, std::int32_t to_access, const void* from,
                   std::int32_t from_access, std::int64_t count, std::int32_t thread) noexcept {
  return block->begin_copy(thread, {to, from, to_access, from_access, count, nullptr});
}
bool emulator_bulk_copy(EmulatedBlock* block, void* to, std::int32_t to_access, const void* from,
                        std::int32_t from_access, std::int64_t count, void* barrier,
                        std::int32_t barrier_access, std::int64_t slot, std::int32_t thread) noexcept {
  const BarrierCell cell = block->cell(barrier, barrier_access, slot);
  return block->begin_copy(thread, {to, from, to_access, from_access, count, &cell});
}
void emulator_copy_conflict(EmulatedBlock* block, std::int32_t to_access, std::int32_t from_access,
                            std::int32_t thread, std::int64_t t0, std::int64_t t1, std::int64_t t2,
                            std::int64_t t3, std::int64_t f0, std::int64_t f1, std::int64_t f2,
                            std::int64_t f3) noexcept {
  block->copy_conflict({nullptr, nullptr, to_access, from_access, 0, nullptr}, thread, {t0, t1, t2, t3},
                       {f0, f1, f2, f3});
}
void emulator_commit_copies(EmulatedBlock* block, std::int32_t thread) noexcept {
  block->commit_copies(thread);
}
void emulator_wait_for_copies(EmulatedBlock* block, std::int32_t pending, std::int32_t thread) noexcept {
  block->wait_for_copies(thread, pending);
}
void emulator_end(EmulatedBlock* block, std::int32_t thread) noexcept { block->end_thread(thread); }

void emulator_bulk_init(EmulatedBlock* block, void* first, std::int32_t access, std::int32_t count,
                        std::int32_t thread) noexcept {
  block->bulk_init(thread, block->cell(first, access, 0), count);
}
void emulator_bulk_expect(EmulatedBlock* block, void* barrier, std::int32_t access, std::int64_t slot,
                          std::int32_t bytes, std::int32_t thread) noexcept {
  block->bulk_expect(thread, block->cell(barrier, access, slot), bytes);
}
bool emulator_bulk_wait(EmulatedBlock* block, void* barrier, std::int32_t access, std::int64_t slot,
                        std::int32_t parity, std::int32_t thread) noexcept {
  return block->bulk_wait(thread, block->cell(barrier, access, slot), parity);
}

}  // namespace mica
