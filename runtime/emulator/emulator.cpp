#include "runtime/emulator/emulator.h"

#include <charconv>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "dsl/expr/diagnostics.h"
#include "runtime/emulator/emulated_cluster.h"

namespace mica {
namespace {

constexpr std::uint64_t kDefaultSeed = 20240229;

/// What `call` returns, or `otherwise` where memory runs out in it: nothing is thrown through the
/// kernel's code.
template <typename Result, typename Call>
Result guarded(EmulatedCluster* cluster, Result otherwise, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    cluster->note_no_memory();
    return otherwise;
  }
}
template <typename Call>
void guarded(EmulatedCluster* cluster, const Call& call) noexcept {
  guarded(cluster, 0, [&] {
    call();
    return 0;
  });
}

}  // namespace

void run_emulated(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                  std::uint64_t seed) {
  EmulatedCluster(kernel, shape, arguments, seed).run();
}

std::uint64_t emulator_seed() {
  const char* text = std::getenv("MICA_EMULATOR_SEED");
  if (text == nullptr || *text == '\0') return kDefaultSeed;
  const std::string_view digits(text);
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw UserError("MICA_EMULATOR_SEED is \"" + std::string(digits) +
                    "\": it must be a number from 0 to 2^64 - 1");
  }
  return seed;
}

void* emulator_shared_memory(EmulatedCluster* cluster, std::int32_t thread) noexcept {
  return cluster->shared_memory(thread);
}
void* emulator_cluster_memory(EmulatedCluster* cluster, void* address, std::int64_t rank,
                              std::int32_t thread) noexcept {
  return guarded(cluster, static_cast<void*>(nullptr),
                 [&] { return cluster->memory_of(address, rank, thread); });
}

bool emulator_check_shared(EmulatedCluster* cluster, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept {
  return guarded(cluster, false, [&] { return cluster->check_shared(address, access, thread); });
}
bool emulator_check_global(EmulatedCluster* cluster, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept {
  return guarded(cluster, false, [&] { return cluster->check_global(address, access, thread); });
}
bool emulator_conflict(EmulatedCluster* cluster, std::int32_t access, std::int32_t thread,
                       std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                       std::int64_t c4, std::int64_t c5) noexcept {
  return guarded(cluster, false, [&] {
    return cluster->judge(access, thread, {c0, c1, c2, c3, c4, c5});
  });
}
void emulator_misaligned(EmulatedCluster* cluster, std::int32_t access, std::int32_t thread,
                         std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                         std::int64_t c4, std::int64_t c5) noexcept {
  guarded(cluster, [&] { cluster->misaligned(access, thread, {c0, c1, c2, c3, c4, c5}); });
}
void emulator_out_of_range(EmulatedCluster* cluster, std::int32_t access, std::int32_t thread,
                           std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                           std::int64_t c4, std::int64_t c5) noexcept {
  guarded(cluster, [&] { cluster->out_of_range(access, thread, {c0, c1, c2, c3, c4, c5}); });
}
void emulator_barrier(EmulatedCluster* cluster, std::int32_t thread, std::int32_t barrier) noexcept {
  guarded(cluster, [&] { cluster->wait_at_barrier(thread, barrier); });
  cluster->stop(thread);
}
bool emulator_named_barrier(EmulatedCluster* cluster, std::int32_t thread, std::int32_t number,
                            std::int32_t count, bool waits) noexcept {
  const bool good = guarded(
      cluster, false, [&] { return cluster->come_to_named_barrier(thread, number, count, waits); });
  if (good && waits) cluster->stop(thread);
  return good;
}
void emulator_cluster_barrier(EmulatedCluster* cluster, std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->wait_for_cluster(thread); });
  cluster->stop(thread);
}
void emulator_fence_copies(EmulatedCluster* cluster, std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->fence_copies(thread); });
}
void emulator_shuffle(EmulatedCluster* cluster, void* value, std::int32_t bytes, std::int32_t delta,
                      std::int32_t site, std::int32_t thread) noexcept {
  guarded(cluster, [&] {
    cluster->wait_for_exchange(thread, value, static_cast<std::size_t>(bytes), delta, site);
  });
  cluster->stop(thread);
}

bool emulator_copy(EmulatedCluster* cluster, void* to, std::int32_t to_access, const void* from,
                   std::int32_t from_access, std::int64_t count, std::int32_t thread) noexcept {
  return guarded(cluster, false, [&] {
    return cluster->begin_copy(thread, {to, from, to_access, from_access, count, nullptr});
  });
}
bool emulator_bulk_copy(EmulatedCluster* cluster, void* to, std::int32_t to_access, const void* from,
                        std::int32_t from_access, std::int64_t count, void* barrier,
                        std::int32_t barrier_access, std::int64_t slot, std::int32_t thread) noexcept {
  return guarded(cluster, false, [&] {
    const BarrierCell cell = cluster->cell(barrier, barrier_access, slot);
    return cluster->begin_copy(thread, {to, from, to_access, from_access, count, &cell});
  });
}
void emulator_copy_conflict(EmulatedCluster* cluster, std::int32_t to_access, std::int32_t from_access,
                            std::int32_t thread, std::int64_t t0, std::int64_t t1, std::int64_t t2,
                            std::int64_t t3, std::int64_t t4, std::int64_t t5, std::int64_t f0,
                            std::int64_t f1, std::int64_t f2, std::int64_t f3, std::int64_t f4,
                            std::int64_t f5) noexcept {
  guarded(cluster, [&] {
    cluster->copy_conflict({nullptr, nullptr, to_access, from_access, 0, nullptr}, thread,
                           {t0, t1, t2, t3, t4, t5}, {f0, f1, f2, f3, f4, f5});
  });
}
void emulator_commit_copies(EmulatedCluster* cluster, std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->commit_copies(thread); });
}
void emulator_wait_for_copies(EmulatedCluster* cluster, std::int32_t pending,
                              std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->wait_for_copies(thread, pending); });
}
void emulator_end(EmulatedCluster* cluster, std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->end_thread(thread); });
}

void emulator_bulk_init(EmulatedCluster* cluster, void* first, std::int32_t access, std::int32_t count,
                        std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->bulk_init(thread, cluster->cell(first, access, 0), count); });
}
void emulator_bulk_expect(EmulatedCluster* cluster, void* barrier, std::int32_t access,
                          std::int64_t slot, std::int32_t bytes, std::int32_t thread) noexcept {
  guarded(cluster, [&] { cluster->bulk_expect(thread, cluster->cell(barrier, access, slot), bytes); });
}
void emulator_bulk_wait(EmulatedCluster* cluster, void* barrier, std::int32_t access, std::int64_t slot,
                        std::int32_t parity, std::int32_t thread) noexcept {
  const auto passes = [&] {
    return cluster->bulk_wait(thread, cluster->cell(barrier, access, slot), parity);
  };
  while (!guarded(cluster, false, passes)) cluster->stop(thread);
}

void emulator_print(const char* format, const std::int64_t* values, EmulatedCluster* cluster) noexcept {
  cluster->print({format, values});
}

}  // namespace mica
