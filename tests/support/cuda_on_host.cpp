#include "tests/support/cuda_on_host.h"

#include <memory>
#include <vector>

#include <ucontext.h>

#include "dsl/expr/diagnostics.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

// The bounds of the section that holds every shared array; an array of the section is always there.
extern "C" std::byte __start_mica_shared[];
extern "C" std::byte __stop_mica_shared[];

namespace mica::test::cuda {
namespace {

__attribute__((section("mica_shared"), used)) std::byte at_least_one[1];

constexpr std::size_t kStackBytes = 128 << 10;

// A stack and where its thread stopped.
struct Fiber {
  ucontext_t context = {};
  Position position;
  bool done = false;
#ifdef __SANITIZE_THREAD__
  void* shadow = nullptr;
#endif
};

// The threads of one block and the scheduler that they return to.
class Block {
 public:
  Block(const LaunchShape& shape, Order order, const std::function<void()>& thread)
      : thread_(thread),
        shape_(shape),
        order_(order),
        fibers_(std::size_t{shape.block[0]} * shape.block[1] * shape.block[2]),
        stacks_(std::make_unique_for_overwrite<std::byte[]>(fibers_.size() * kStackBytes)) {
#ifdef __SANITIZE_THREAD__
    scheduler_.shadow = __tsan_get_current_fiber();
    for (Fiber& f : fibers_) f.shadow = __tsan_create_fiber(0);
#endif
  }
  ~Block() {
#ifdef __SANITIZE_THREAD__
    for (Fiber& f : fibers_) __tsan_destroy_fiber(f.shadow);
#endif
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void run(const Index3& block) {
    std::fill(__start_mica_shared, __stop_mica_shared, std::byte{0xFF});
    for (std::size_t i = 0; i < fibers_.size(); ++i) start(i, block);
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < fibers_.size(); ++i) {
        Fiber& fiber = fibers_[place(i)];
        if (fiber.done) continue;
        current_ = &fiber;
        switch_to(fiber, scheduler_);
        again = again || !fiber.done;
      }
    }
  }
  void wait() { switch_to(scheduler_, *current_); }
  [[nodiscard]] const Position& position() const { return current_->position; }
  [[noreturn]] void finish() {
    thread_();
    current_->done = true;
    wait();
    throw InternalError("a thread that has returned was run again");
  }

 private:
  static void entry();

  // The thread that runs in turn i.
  [[nodiscard]] std::size_t place(std::size_t i) const {
    const std::size_t n = fibers_.size(), half = (n + 1) / 2;
    switch (order_) {
      case Order::Forward: return i;
      case Order::Backward: return n - 1 - i;
      case Order::EvenFirst: return i < half ? 2 * i : 2 * (i - half) + 1;
    }
    return i;
  }

  void start(std::size_t i, const Index3& block) {
    const auto index = static_cast<unsigned>(i);
    Fiber& fiber = fibers_[i];
    fiber.done = false;
    fiber.position = {{index % shape_.block[0], index / shape_.block[0] % shape_.block[1],
                       index / (shape_.block[0] * shape_.block[1])},
                      block};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_.get() + i * kStackBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, entry, 0);
  }

  static void switch_to(Fiber& to, Fiber& from) {
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to.shadow, 0);
#endif
    swapcontext(&from.context, &to.context);
  }

  const std::function<void()>& thread_;
  const LaunchShape shape_;
  const Order order_;
  std::vector<Fiber> fibers_;
  std::unique_ptr<std::byte[]> stacks_;
  Fiber scheduler_;
  Fiber* current_ = nullptr;
};

// The block that this host thread runs: kernels have no other way to it.
Block*& running() {
  thread_local Block* block = nullptr;
  return block;
}

void Block::entry() { running()->finish(); }

}  // namespace

const Position& position() { return running()->position(); }
void barrier() { running()->wait(); }

void run_blocks(const LaunchShape& shape, Order order, const std::function<void()>& thread) {
  if (running() != nullptr) throw InternalError("a kernel was started from within a kernel");
  Block block(shape, order, thread);
  running() = &block;
  for (unsigned z = 0; z < shape.grid[2]; ++z) {
    for (unsigned y = 0; y < shape.grid[1]; ++y) {
      for (unsigned x = 0; x < shape.grid[0]; ++x) block.run({x, y, z});
    }
  }
  running() = nullptr;
}

}  // namespace mica::test::cuda
