#include "runtime/emulator/fiber.h"

#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include <boost/context/fiber.hpp>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace mica {

namespace {

using Context = boost::context::fiber;

/// A context that is not destroyed: that would unwind its stack, through code without tables for it.
class Kept {
 public:
  explicit Kept(Context&& context) { new (place_) Context(std::move(context)); }
  [[nodiscard]] Context take() { return std::move(*std::launder(reinterpret_cast<Context*>(place_))); }

 private:
  alignas(Context) std::byte place_[sizeof(Context)];
};

/// A stack that belongs to somebody else, in the form of the library's allocators.
struct GivenStack {
  std::span<std::byte> stack;
  [[nodiscard]] boost::context::stack_context allocate() const {
    boost::context::stack_context context;
    context.size = stack.size();
    context.sp = stack.data() + stack.size();
    return context;
  }
  void deallocate(boost::context::stack_context& /*context*/) const {}
};

/// What the address sanitizer is to know of a change of stacks; nothing without it.
class Change {
 public:
#ifdef __SANITIZE_ADDRESS__
  /// To the stack at `bottom`. `back`: this one is never come back to.
  Change(const void* bottom, std::size_t bytes, bool back = true) {
    __sanitizer_start_switch_fiber(back ? &frames_ : nullptr, bottom, bytes);
  }
  /// Back on the stack of the constructor; where from.
  void over(const void** bottom = nullptr, std::size_t* bytes = nullptr) {
    __sanitizer_finish_switch_fiber(frames_, bottom, bytes);
  }
  static void begun(const void** bottom, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(nullptr, bottom, bytes);
  }

 private:
  void* frames_ = nullptr;
#else
  Change(const void* /*bottom*/, std::size_t /*bytes*/, bool /*back*/ = true) {}
  void over(const void** /*bottom*/ = nullptr, std::size_t* /*bytes*/ = nullptr) {}
  static void begun(const void** /*bottom*/, std::size_t* /*bytes*/) {}
#endif
};

/// What the thread sanitizer is to know of one stack; nothing without it.
class Watched {
 public:
#ifdef __SANITIZE_THREAD__
  static Watched current() { return Watched(__tsan_get_current_fiber()); }
  static Watched made() { return Watched(__tsan_create_fiber(0)); }
  void forget() { __tsan_destroy_fiber(fiber_); }
  /// The next jump goes there.
  void jump() const { __tsan_switch_to_fiber(fiber_, 0); }

 private:
  explicit Watched(void* fiber) : fiber_(fiber) {}
  void* fiber_;
#else
  static Watched current() { return {}; }
  static Watched made() { return {}; }
  void forget() {}
  void jump() const {}
#endif
};

}  // namespace

struct Fiber::State {
  std::span<std::byte> stack;
  std::optional<Kept> self, main;  // where the body goes on, and who started or resumed it
  Watched self_watched = Watched::made(), main_watched = Watched::current();
  const void* main_bottom = nullptr;
  std::size_t main_bytes = 0;
  bool ended = true;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { self_watched.forget(); }

  void go_on(Context&& to) {
    Change change(stack.data(), stack.size());
    main_watched = Watched::current();
    self_watched.jump();
    Context stopped = std::move(to).resume();
    change.over();
    self.emplace(std::move(stopped));
  }
};

Fiber::Fiber() noexcept = default;
Fiber::~Fiber() = default;
Fiber::Fiber(Fiber&&) noexcept = default;
Fiber& Fiber::operator=(Fiber&&) noexcept = default;

bool Fiber::has_ended() const { return state_ == nullptr || state_->ended; }

void Fiber::start(std::span<std::byte> stack, FunctionRef<void()> body) {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  State& s = *state_;
  s.stack = stack;
  s.ended = false;
  s.go_on(Context(std::allocator_arg, GivenStack{stack}, [&s, body](Context&& from) {
    Change::begun(&s.main_bottom, &s.main_bytes);
    s.main.emplace(std::move(from));
    body();
    s.ended = true;
    Change(s.main_bottom, s.main_bytes, /*back=*/false);
    s.main_watched.jump();
    return s.main->take();
  }));
}

void Fiber::resume() { state_->go_on(state_->self->take()); }

void Fiber::stop() {
  State& s = *state_;
  Change change(s.main_bottom, s.main_bytes);
  s.main_watched.jump();
  Context from = s.main->take().resume();
  change.over(&s.main_bottom, &s.main_bytes);
  s.main.emplace(std::move(from));
}

namespace {

constexpr std::size_t kLine = 64;  // bytes
// For what code calls, with what the address sanitizer puts between its variables.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kCallBytes = std::size_t{512} << 10;
#else
constexpr std::size_t kCallBytes = std::size_t{64} << 10;
#endif
// Stacks do not begin at the same places of a page, which would share few lines of a cache.
constexpr std::size_t kBetween = 3 * kLine;
constexpr unsigned char kUntouched = 0xa5;

}  // namespace

FiberStacks::FiberStacks(std::size_t count, std::size_t frame_bytes)
    : bytes_((frame_bytes + kCallBytes + 4095) / 4096 * 4096 + kBetween),
      memory_(std::make_unique_for_overwrite<std::byte[]>(count * bytes_)) {
  for (std::size_t i = 0; i < count; ++i) std::memset(memory_.get() + i * bytes_, kUntouched, kLine);
}

std::span<std::byte> FiberStacks::stack(std::size_t i) {
  return {memory_.get() + i * bytes_ + kLine, bytes_ - kLine};
}

bool FiberStacks::is_whole(std::size_t i) const {
  static constexpr auto untouched = [] {  // asked for after each turn of a thread
    std::array<unsigned char, kLine> line{};
    line.fill(kUntouched);
    return line;
  }();
  return std::memcmp(memory_.get() + i * bytes_, untouched.data(), kLine) == 0;
}

}  // namespace mica
