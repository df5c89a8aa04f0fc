// Functions that stop in their middle, each on a stack of its own.
#include "runtime/emulator/fiber.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mica {
namespace {

TEST(Fiber, StopsWhereItSaysAndGoesOnThere) {
  FiberStacks stacks(1, 1024);
  Fiber fiber;
  EXPECT_TRUE(fiber.has_ended());
  std::string trace;
  const auto body = [&] {
    for (const char c : {'a', 'b', 'c'}) {
      trace += c;
      fiber.stop();
    }
  };
  fiber.start(stacks.stack(0), body);
  while (!fiber.has_ended()) {
    trace += '.';
    fiber.resume();
  }
  EXPECT_EQ(trace, "a.b.c.");
}

TEST(Fiber, ManyTakeTurnsAndKeepWhatStandsOnTheirStacks) {
  constexpr std::size_t kFibers = 100, kTurns = 50;
  FiberStacks stacks(kFibers, 4096);
  std::vector<Fiber> fibers(kFibers);
  std::vector<std::size_t> sums(kFibers);
  struct Body {
    Fiber* fiber;
    std::size_t number;
    std::size_t* sum;
    void operator()() const {
      volatile std::size_t own[64];
      for (std::size_t i = 0; i < 64; ++i) own[i] = number;
      for (std::size_t turn = 0; turn < kTurns; ++turn) {
        fiber->stop();
        own[turn] = own[turn] + turn;
      }
      for (std::size_t i = 0; i < 64; ++i) *sum += own[i];
    }
  };
  std::vector<Body> bodies;
  for (std::size_t i = 0; i < kFibers; ++i) bodies.push_back({&fibers[i], i, &sums[i]});
  for (std::size_t i = 0; i < kFibers; ++i) fibers[i].start(stacks.stack(i), bodies[i]);
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < kFibers; ++i) fibers[(i * 37 + turn) % kFibers].resume();
  }
  for (std::size_t i = 0; i < kFibers; ++i) {
    EXPECT_TRUE(fibers[i].has_ended());
    EXPECT_EQ(sums[i], 64 * i + kTurns * (kTurns - 1) / 2);
    EXPECT_TRUE(stacks.is_whole(i));
  }
}

// As a launch ends at its first fault.
TEST(Fiber, OneThatIsNeverResumedIsForgotten) {
  FiberStacks stacks(1, 1024);
  bool destroyed = false;
  struct Local {
    bool& destroyed;
    ~Local() { destroyed = true; }
  };
  Fiber fiber;
  const auto stops = [&] {
    const Local local{destroyed};
    fiber.stop();
  };
  fiber.start(stacks.stack(0), stops);
  EXPECT_FALSE(fiber.has_ended());
  int ran = 0;
  const auto runs = [&] { ++ran; };
  fiber.start(stacks.stack(0), runs);
  EXPECT_TRUE(fiber.has_ended());
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(destroyed);
}

TEST(Fiber, AStackThatWasTooSmallIsFound) {
  FiberStacks stacks(2, 0);
  const std::span<std::byte> second = stacks.stack(1);
  EXPECT_TRUE(stacks.is_whole(1));
  std::memset(second.data() - 8, 0, 8);
  EXPECT_FALSE(stacks.is_whole(1));
  EXPECT_TRUE(stacks.is_whole(0));
}

}  // namespace
}  // namespace mica
