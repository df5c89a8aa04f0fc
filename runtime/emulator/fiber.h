// Functions that stop in their middle and go on later, each on a stack of its own.
//
//   fiber.start(stack, body)     runs body until it stops or ends
//     body: ... fiber.stop();    goes back to who started or resumed it
//   fiber.resume()               body goes on behind its stop
//
// A fiber that is never resumed is forgotten: nothing on its stack is destroyed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "dsl/expr/traverse.h"

namespace mica {

class Fiber {
 public:
  Fiber() noexcept;
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) noexcept;

  /// `body` lives as long as it runs, and throws nothing. What ran before on the stack has ended or is
  /// forgotten.
  void start(std::span<std::byte> stack, FunctionRef<void()> body);
  void resume();
  /// Called in the body.
  void stop();
  /// Has the body that was started last ended, or none been started?
  [[nodiscard]] bool has_ended() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Stacks for fibers.
class FiberStacks {
 public:
  /// `count` of them, on which a function's own frames may have so many bytes, and calls from there
  /// those of the C and C++ libraries. std::bad_alloc.
  FiberStacks(std::size_t count, std::size_t frame_bytes);

  [[nodiscard]] std::span<std::byte> stack(std::size_t i);
  /// Did all that ran on stack `i` stay within it?
  [[nodiscard]] bool is_whole(std::size_t i) const;

 private:
  std::size_t bytes_;  // from one stack to the next
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace mica
