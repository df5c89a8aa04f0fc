#include "runtime/cpu/cpu_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include "dsl/expr/diagnostics.h"

namespace mica {

namespace {

constexpr std::size_t kKeepFrom = std::size_t{64} << 10;   // bytes of the smallest block kept
constexpr std::size_t kLargePages = std::size_t{4} << 20;  // bytes from which large pages are asked for
constexpr std::size_t kPlaces = 16;                        // of a page at which large blocks begin

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Threads from MICA_NUM_THREADS, or tbb's automatic choice.
int threads_from_environment() {
  const char* text = std::getenv("MICA_NUM_THREADS");
  if (text == nullptr || *text == '\0') return tbb::task_arena::automatic;
  const std::string_view digits(text);
  int threads = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), threads);
  if (error != std::errc() || end != digits.data() + digits.size() || threads < 1 || threads > 4096) {
    throw UserError("MICA_NUM_THREADS is \"" + std::string(digits) +
                    "\": it must be a number of threads from 1 to 4096");
  }
  return threads;
}

/// The threads of all Parallel loops of the process.
tbb::task_arena& arena() {
  static tbb::task_arena threads(threads_from_environment());
  return threads;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "CPU";
}

class CpuDevice final : public Device {
 public:
  CpuDevice() : keep_at_most_(physical_bytes() / 8) { arena(); }

  ~CpuDevice() override {
    for (const auto& [bytes, block] : kept_) free_host_memory(block);
  }

  std::uint64_t allocate(std::size_t bytes, Stream) override {
    const std::size_t size = block_size(bytes);
    {
      const std::lock_guard lock(mutex_);
      // A kept block serves when at most a quarter of it stays unused.
      const auto block = kept_.lower_bound(size);
      if (block != kept_.end() && block->first - size <= block->first / 4) {
        void* memory = block->second;
        in_use_.emplace(memory, block->first);
        kept_bytes_ -= block->first;
        kept_.erase(block);
        return std::bit_cast<std::uintptr_t>(memory);
      }
    }
    void* memory = allocate_or_give_back(size);
    const std::lock_guard lock(mutex_);
    in_use_.emplace(memory, size);
    return std::bit_cast<std::uintptr_t>(memory);
  }

  void release(std::uint64_t address, std::size_t, Stream) override {
    void* memory = std::bit_cast<void*>(static_cast<std::uintptr_t>(address));
    {
      const std::lock_guard lock(mutex_);
      const auto block = in_use_.find(memory);
      internal_check(block != in_use_.end(), "release of an address that was not allocated");
      const std::size_t size = block->second;
      in_use_.erase(block);
      if (size >= kKeepFrom && kept_bytes_ + size <= keep_at_most_) {
        kept_.emplace(size, memory);
        kept_bytes_ += size;
        return;
      }
    }
    free_host_memory(memory);
  }

  void copy_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream) override {
    if (bytes > 0) std::memcpy(std::bit_cast<void*>(static_cast<std::uintptr_t>(to)), from, bytes);
  }

  void copy_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream) override {
    if (bytes > 0) std::memcpy(to, std::bit_cast<void*>(static_cast<std::uintptr_t>(from)), bytes);
  }

  void synchronize(Stream) override {}

  [[nodiscard]] std::string name() const override { return cpu_name(); }

 private:
  static std::size_t physical_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
  }

  static std::size_t block_size(std::size_t bytes) {
    return round_up(bytes == 0 ? 1 : bytes, bytes >= kKeepFrom ? kKeepFrom / 16 : kHostAlignment);
  }

  void* allocate_or_give_back(std::size_t size) {
    try {
      return allocate_host_memory(size);
    } catch (const std::bad_alloc&) {
      give_back_kept();
    }
    try {
      return allocate_host_memory(size);
    } catch (const std::bad_alloc&) {
      throw DeviceError("aligned_alloc", ENOMEM, "no memory for " + std::to_string(size) + " bytes");
    }
  }

  void give_back_kept() {
    const std::lock_guard lock(mutex_);
    for (const auto& [bytes, block] : kept_) free_host_memory(block);
    kept_.clear();
    kept_bytes_ = 0;
  }

  std::mutex mutex_;
  std::multimap<std::size_t, void*> kept_;  // by bytes
  std::map<void*, std::size_t> in_use_;
  std::size_t kept_bytes_ = 0;
  const std::size_t keep_at_most_;
};

/// Free scratch blocks of one thread, by power of two.
class ScratchCache {
 public:
  static constexpr int kClasses = 25;                               // 64 bytes ... 16 MiB: 2^6 ... 2^24
  static constexpr std::size_t kKeepBytes = std::size_t{32} << 20;  // per thread

  ScratchCache() = default;
  ScratchCache(const ScratchCache&) = delete;
  ScratchCache& operator=(const ScratchCache&) = delete;
  ~ScratchCache() {
    for (const std::vector<void*>& blocks : free_) {
      for (void* block : blocks) std::free(block);
    }
  }

  void* take(int size_class) {
    std::vector<void*>& blocks = free_[static_cast<std::size_t>(size_class)];
    if (blocks.empty()) return nullptr;
    void* block = blocks.back();
    blocks.pop_back();
    kept_bytes_ -= std::size_t{1} << size_class;
    return block;
  }

  bool keep(int size_class, void* block) {
    const std::size_t bytes = std::size_t{1} << size_class;
    if (kept_bytes_ + bytes > kKeepBytes) return false;
    try {
      free_[static_cast<std::size_t>(size_class)].push_back(block);
    } catch (const std::bad_alloc&) {
      return false;
    }
    kept_bytes_ += bytes;
    return true;
  }

 private:
  std::array<std::vector<void*>, kClasses> free_;
  std::size_t kept_bytes_ = 0;
};

ScratchCache& scratch_cache() {
  thread_local ScratchCache cache;
  return cache;
}

// A scratch block starts with this many bytes, the first of which hold its size class (kUncached for
// a block that is too large to keep). 64 keeps what follows aligned.
constexpr std::size_t kScratchHeader = 64;
constexpr int kUncached = -1;
constexpr std::size_t kLargestScratch = std::size_t{1} << 62;

/// What several threads write and read of a run that fails.
std::atomic_ref<std::int64_t> shared(std::int64_t* failed) {
  return std::atomic_ref<std::int64_t>(*failed);
}

/// A scratch block with room for its header, of a size class or of `bytes` in all; null: no memory.
void* take_scratch(std::size_t bytes) {
  if (bytes > kLargestScratch) return nullptr;
  const std::size_t total = std::bit_ceil(bytes + kScratchHeader);
  const int size_class = std::countr_zero(total);
  const bool cached = size_class < ScratchCache::kClasses;
  void* block = cached ? scratch_cache().take(size_class) : nullptr;
  if (block != nullptr) return block;
  const std::size_t size = cached ? total : round_up(bytes + kScratchHeader, kScratchHeader);
  block = std::aligned_alloc(kScratchHeader, size);
  const int mark = cached ? size_class : kUncached;
  if (block != nullptr) std::memcpy(block, &mark, sizeof(mark));
  return block;
}

}  // namespace

std::shared_ptr<Device> cpu_device() {
  // The owning pointer is never destroyed: buffers with static lifetime may outlive this file's.
  static const std::shared_ptr<Device>* const device =
      new std::shared_ptr<Device>(std::make_shared<CpuDevice>());
  return *device;
}

int host_threads() { return arena().max_concurrency(); }

void* allocate_host_memory(std::size_t bytes) {
  const std::size_t size = round_up(bytes == 0 ? 1 : bytes, kHostAlignment);
  const bool large = size >= kKeepFrom;
  const std::size_t most = kHostAlignment + (large ? kPlaces * kHostAlignment : 0);
  if (size > SIZE_MAX - most) throw std::bad_alloc();
  auto* start = static_cast<std::byte*>(std::aligned_alloc(kHostAlignment, size + most));
  if (start == nullptr) throw std::bad_alloc();
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Systems put large blocks of one size one beside the other, each at the same place of a page.
  const std::uintptr_t number = std::bit_cast<std::uintptr_t>(start) / round_up(size + most, page);
  std::byte* memory = start + kHostAlignment + (large ? number % kPlaces * kHostAlignment : 0);
  std::memcpy(memory - sizeof(start), &start, sizeof(start));
#ifdef MADV_HUGEPAGE
  if (size >= kLargePages) {
    const std::uintptr_t first = round_up(std::bit_cast<std::uintptr_t>(start), page);
    const std::uintptr_t last = std::bit_cast<std::uintptr_t>(memory + size) / page * page;
    // Advice only: a system without large pages answers with an error that changes nothing.
    (void)madvise(std::bit_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
#endif
  return memory;
}

void free_host_memory(void* memory) {
  if (memory == nullptr) return;
  void* start = nullptr;
  std::memcpy(&start, static_cast<std::byte*>(memory) - sizeof(start), sizeof(start));
  std::free(start);
}

double host_copy_bandwidth(std::size_t bytes, int runs) {
  constexpr std::int64_t kChunks = 16;
  struct Job {
    char* to;
    const char* from;
    std::size_t chunk;
  };
  const auto copy_chunk = [](std::int64_t i, void* closure) {
    const auto& job = *static_cast<const Job*>(closure);
    const std::size_t at = static_cast<std::size_t>(i) * job.chunk;
    std::memcpy(job.to + at, job.from + at, job.chunk);
  };
  const std::size_t chunk = bytes / kChunks + 1;
  std::vector<char> from(chunk * kChunks, 1), to(chunk * kChunks, 2);
  Job job{to.data(), from.data(), chunk};
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    mica_parallel_for(copy_chunk, 0, kChunks, &job, nullptr);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return 2.0 * static_cast<double>(bytes) / *middle;
}

void run_isolated(const std::function<void()>& body) { tbb::this_task_arena::isolate(body); }

}  // namespace mica

extern "C" void mica_parallel_for(void (*body)(std::int64_t i, void* closure), std::int64_t min,
                                  std::int64_t extent, void* closure, std::int64_t* failed) {
  if (extent <= 0) return;
  const auto call = [&](std::int64_t i) {
    if (failed != nullptr && mica::shared(failed).load(std::memory_order_relaxed) != 0) return;
    body(i, closure);
  };
  // A thread of the user's that asks for one thread waits for no other.
  if (extent == 1 || mica::host_threads() == 1) {
    for (std::int64_t i = min; i < min + extent; ++i) call(i);
    return;
  }
  using Context = tbb::task_group_context;
  try {
    // The threads take over this one's floating-point mode.
    Context context(Context::bound, Context::default_traits | Context::fp_settings);
    mica::arena().execute([&] { tbb::parallel_for(min, min + extent, call, context); });
  } catch (const std::bad_alloc&) {
    if (failed == nullptr) throw;
    mica::shared(failed).store(mica::kNoTasks, std::memory_order_relaxed);
  }
}

extern "C" void* mica_allocate(std::size_t bytes, std::int64_t* failed) noexcept {
  void* block = mica::take_scratch(bytes);
  if (block != nullptr) return static_cast<std::byte*>(block) + mica::kScratchHeader;
  if (failed != nullptr) {
    const auto asked = static_cast<std::int64_t>(bytes);
    const auto wanted = asked < 0 ? asked : std::min(asked, std::int64_t{mica::kLargestScratch});
    mica::shared(failed).store(wanted, std::memory_order_relaxed);
  }
  return nullptr;
}

extern "C" void mica_free(void* memory) noexcept {
  if (memory == nullptr) return;
  void* block = static_cast<std::byte*>(memory) - mica::kScratchHeader;
  int size_class = 0;
  std::memcpy(&size_class, block, sizeof(size_class));
  if (size_class == mica::kUncached || !mica::scratch_cache().keep(size_class, block)) std::free(block);
}
