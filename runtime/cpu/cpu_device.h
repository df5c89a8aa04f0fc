// Host memory as a device, and the C functions that machine code for the host calls.
//
// The environment variable MICA_NUM_THREADS limits the threads that Parallel loops use, and that compile
// for the host; without it they use all CPUs that the process may run on. With 1 each of the user's
// threads runs its own loops and waits for no other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "runtime/run/device.h"

namespace mica {

/// The process's host memory and threads. A released block of 64 KiB or more is kept for later
/// allocations of about its size, as long as the kept blocks fit an eighth of physical memory.
/// UserError when MICA_NUM_THREADS is not a number from 1 to 4096.
std::shared_ptr<Device> cpu_device();

/// Threads that Parallel loops may use.
int host_threads();

/// Calls `body`; while it waits for loops of its own, this thread takes up no iteration of the loop
/// around. Throws what `body` throws.
void run_isolated(const std::function<void()>& body);

/// `bytes` of host memory aligned to kHostAlignment, on large pages where the system offers them;
/// std::bad_alloc when there is none. `bytes` may be 0. Blocks of 64 KiB or more that are made one after
/// the other begin at different places of a page: points with the same coordinates in many arrays would
/// else have the same few places in the caches.
void* allocate_host_memory(std::size_t bytes);
/// `memory` is from allocate_host_memory, or null.
void free_host_memory(void* memory);
inline constexpr std::size_t kHostAlignment = 256;

/// Bytes read and written a second when all threads copy `bytes` (1 at least) of host memory, the median
/// of `runs` runs. It takes 2 * bytes of memory.
double host_copy_bandwidth(std::size_t bytes, int runs);

/// In place of a number of bytes that could not be had: see mica_parallel_for.
inline constexpr std::int64_t kNoTasks = -1;
/// Added to a number of elements, at most kMostCounted, in place of the bytes of an array of more than
/// 2^31 - 1, which code for the host does not address: see mica_allocate.
inline constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 62;

}  // namespace mica

extern "C" {

/// Calls body(i, closure) once for every i in [min, min + extent), on several threads at once, all in
/// the calling thread's floating-point mode, and returns when all calls have returned. Calls may nest.
/// `body` must not throw. With `failed`, calls are left out as soon as *failed is not 0, and where there
/// is no memory for the threads' tasks, *failed becomes kNoTasks; without, that is a std::bad_alloc.
void mica_parallel_for(void (*body)(std::int64_t i, void* closure), std::int64_t min,
                       std::int64_t extent, void* closure, std::int64_t* failed = nullptr);

/// Scratch memory of `bytes`, aligned to 64 bytes. Blocks up to 16 MiB come from a cache of the
/// calling thread, so that scratch for every tile is cheap. Null when memory runs out; *failed, if
/// given, is then `bytes`; of kTooMany and a number of elements, that sum, which is negative.
void* mica_allocate(std::size_t bytes, std::int64_t* failed = nullptr) noexcept;

/// Gives back what mica_allocate returned, on any thread; null is allowed.
void mica_free(void* memory) noexcept;

}  // extern "C"
