#include "runtime/emulator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "runtime/emulator_report.h"
#include "runtime/shadow_memory.h"

namespace mica {
namespace {

constexpr std::size_t kFrameAlignment = 64;    // bytes
constexpr std::size_t kSharedAlignment = 128;  // bytes
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::uint64_t kDefaultSeed = 20240229;

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// Memory for frames, kept from block to block.
class Arena {
 public:
  void* allocate(std::size_t bytes) {
    const std::size_t size = round_up(bytes, kFrameAlignment);
    while (chunk_ < chunks_.size() && used_ + size > chunks_[chunk_].size) ++chunk_, used_ = 0;
    if (chunk_ == chunks_.size()) add(std::max(size, kChunkBytes));
    void* result = chunks_[chunk_].start + used_;
    used_ += size;
    return result;
  }
  void clear() { chunk_ = 0, used_ = 0; }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::byte* start = nullptr;
    std::size_t size = 0;
  };
  void add(std::size_t size) {
    Chunk chunk{std::make_unique<std::byte[]>(size + kFrameAlignment), nullptr, size};
    void* start = chunk.memory.get();
    std::size_t space = size + kFrameAlignment;
    chunk.start = static_cast<std::byte*>(std::align(kFrameAlignment, size, start, space));
    chunks_.push_back(std::move(chunk));
  }

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0, used_ = 0;
};

/// Where a thread is between two resumes.
struct Thread {
  void* handle = nullptr;
  std::int32_t barrier = -1;
};

bool has_ended(const Thread& t) {
  return t.handle == nullptr || *static_cast<void**>(t.handle) == nullptr;
}

void resume(Thread& t) { (*static_cast<void (**)(void*)>(t.handle))(t.handle); }

}  // namespace

/// State of a launch, block after block.
class EmulatedBlock {
 public:
  EmulatedBlock(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                std::uint64_t seed)
      : kernel_(kernel),
        shape_(shape),
        arguments_(arguments),
        random_(seed),
        shared_shadow_(clock_, kernel.shared_bytes, kernel.shared_cell_bytes),
        shared_(kernel.shared_bytes + kSharedAlignment) {
    void* start = shared_.data();
    std::size_t space = shared_.size();
    shared_start_ =
        static_cast<std::byte*>(std::align(kSharedAlignment, kernel.shared_bytes, start, space));
    for (const EmulatedParameter& p : kernel.parameters) {
      global_shadow_.emplace_back();
      if (p.is_pointer && p.is_written) {
        global_shadow_.back().emplace(clock_, static_cast<std::size_t>(p.element_bytes));
      }
    }
    const std::size_t count = std::size_t{shape.block[0]} * shape.block[1] * shape.block[2];
    threads_.resize(count);
    order_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      order_[i] = static_cast<std::int32_t>(i);
      thread_index_.push_back(index_of(i, shape.block));
    }
  }

  void run() {
    const std::uint64_t count = std::uint64_t{shape_.grid[0]} * shape_.grid[1] * shape_.grid[2];
    std::vector<std::uint64_t> blocks(count);
    for (std::uint64_t i = 0; i < count; ++i) blocks[i] = i;
    std::shuffle(blocks.begin(), blocks.end(), random_);
    for (const std::uint64_t block : blocks) run_block(block);
  }

  void* frame(std::size_t bytes) { return arena_.allocate(bytes); }
  void* shared_memory() { return shared_start_; }

  bool check_shared(const void* address, const EmulatedAccess& access, std::int32_t thread) {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - shared_start_);
    const auto bytes = static_cast<std::size_t>(access.element_bytes) * access.count;
    return access.is_store ? shared_shadow_.write(offset, bytes, thread, conflict_)
                           : shared_shadow_.read(offset, bytes, thread, conflict_);
  }

  bool check_global(const void* address, const EmulatedAccess& access, std::int32_t thread) {
    std::optional<GlobalShadow>& shadow = global_shadow_[static_cast<std::size_t>(access.parameter)];
    if (!shadow) return true;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    conflict_address_ = static_cast<const std::byte*>(address);
    return access.is_store ? shadow->write(at, access.count, thread, conflict_)
                           : shadow->read(at, access.count, thread, conflict_);
  }

  /// What the last check found; true if the thread may go on.
  bool judge(std::int32_t index, std::int32_t thread, const Coordinates& at) {
    const EmulatedAccess& a = access(index);
    const bool may_agree =
        conflict_.hazard == Hazard::WriteOfWritten && a.memory == EmulatedAccess::Memory::Global;
    if (!may_agree) {
      report(reporter().conflict(a, thread, at, conflict_));
      return false;
    }
    const std::size_t bytes = static_cast<std::size_t>(a.element_bytes * a.count);
    overwrites_.push_back({index,
                           thread,
                           at,
                           conflict_,
                           conflict_address_,
                           {conflict_address_, conflict_address_ + bytes}});
    return true;
  }

  void report(const std::string& message) {
    if (message_.empty()) message_ = message;
  }
  void wait(std::int32_t thread, std::int32_t barrier) {
    threads_[static_cast<std::size_t>(thread)].barrier = barrier;
  }

  [[nodiscard]] const EmulatedKernel& kernel() const { return kernel_; }
  [[nodiscard]] const EmulatedAccess& access(std::int32_t index) const {
    return kernel_.accesses[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] EmulatorReport reporter() const { return {kernel_, shape_, arguments_, block_}; }

 private:
  void run_block(std::uint64_t block) {
    block_ = block;
    arena_.clear();
    clock_.start_block(block);
    const ThreadIndex at = index_of(block, shape_.grid);
    std::shuffle(order_.begin(), order_.end(), random_);
    for (const std::int32_t t : order_) {
      const ThreadIndex in = thread_index_[static_cast<std::size_t>(t)];
      threads_[static_cast<std::size_t>(t)].handle =
          kernel_.entry(this, arguments_, at.x, at.y, at.z, in.x, in.y, in.z, t);
      stop_if_faulty();
    }
    while (all_wait()) {
      clock_.next_epoch();
      std::shuffle(order_.begin(), order_.end(), random_);
      for (const std::int32_t t : order_) {
        resume(threads_[static_cast<std::size_t>(t)]);
        stop_if_faulty();
      }
    }
  }

  /// After a thread has run: its writes over others' are done, so the bits can be compared.
  void stop_if_faulty() {
    for (const Overwrite& w : overwrites_) {
      if (std::memcmp(w.address, w.before.data(), w.before.size()) == 0) continue;
      report(reporter().conflict(access(w.access), w.thread, w.at, w.finding));
    }
    overwrites_.clear();
    if (!message_.empty()) throw EmulatorError(message_);
  }

  /// False if all threads of the block have ended.
  bool all_wait() const {
    const Thread& first = threads_.front();
    const bool ended = has_ended(first);
    for (std::size_t t = 1; t < threads_.size(); ++t) {
      const Thread& other = threads_[t];
      if (has_ended(other) == ended && (ended || other.barrier == first.barrier)) continue;
      const auto where = [](const Thread& thread) { return has_ended(thread) ? -1 : thread.barrier; };
      throw EmulatorError(
          reporter().divergence(0, where(first), static_cast<std::int32_t>(t), where(other)));
    }
    return !ended;
  }

  /// A global element written by a second thread: no fault if its bits do not change.
  struct Overwrite {
    std::int32_t access, thread;
    Coordinates at;
    Finding finding;
    const std::byte* address;
    std::vector<std::byte> before;
  };

  const EmulatedKernel& kernel_;
  const LaunchShape& shape_;
  void* const* arguments_;
  std::mt19937_64 random_;
  LaunchClock clock_;
  SharedShadow shared_shadow_;
  std::vector<std::byte> shared_;
  std::byte* shared_start_ = nullptr;
  std::vector<std::optional<GlobalShadow>> global_shadow_;  // by parameter
  Arena arena_;
  std::vector<Thread> threads_;  // by linear number
  std::vector<ThreadIndex> thread_index_;
  std::vector<std::int32_t> order_;  // of the threads in this epoch
  std::uint64_t block_ = 0;
  Finding conflict_;  // of the last check that found something
  const std::byte* conflict_address_ = nullptr;
  std::vector<Overwrite> overwrites_;  // of the thread that runs now
  std::string message_;                // the first fault
};

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
  return block->check_shared(address, block->access(access), thread);
}
bool emulator_check_global(EmulatedBlock* block, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept {
  return block->check_global(address, block->access(access), thread);
}
bool emulator_conflict(EmulatedBlock* block, std::int32_t access, std::int32_t thread, std::int64_t c0,
                       std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept {
  return block->judge(access, thread, {c0, c1, c2, c3});
}
void emulator_out_of_range(EmulatedBlock* block, std::int32_t access, std::int32_t thread,
                           std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept {
  block->report(block->reporter().out_of_range(block->access(access), thread, {c0, c1, c2, c3}));
}
void emulator_barrier(EmulatedBlock* block, std::int32_t thread, std::int32_t barrier) noexcept {
  block->wait(thread, barrier);
}

}  // namespace mica
