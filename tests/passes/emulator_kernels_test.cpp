// Kernels written as IR, run by the emulator: sound ones give their results, and each way of breaking
// them is found and named.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "dsl/expr/operators.h"
#include "runtime/emulator/emulator.h"

namespace mica {
namespace {

using ir::make_stmt;
using ir::Stmt;

constexpr int kThreads = 8;
constexpr int kTile = kThreads + 2;

Expr thread_x() { return make_var("thread.x"); }
Expr block_x() { return make_var("block.x"); }

Expr load(const char* buffer, const Expr& at, Type type = Float(32)) {
  return make_expr(type, Load{buffer, {at}, {at}, 1});
}
Stmt store(const char* buffer, const Expr& at, const Expr& value) {
  return make_stmt(ir::Store{buffer, {at}, value, {at}, 1});
}
Stmt when(const Expr& condition, const Stmt& then) { return make_stmt(ir::If{condition, then, {}}); }
Stmt barrier() { return make_stmt(ir::Barrier{}); }
Stmt shared_tile(const Stmt& body, Type type = Float(32)) {
  return make_stmt(ir::Allocate{"tile", type, MemoryType::Shared, {Expr(0)}, {Expr(kTile)}, {1}, body});
}

/// A kernel of blocks of 8 threads with input u, output out, their boxes, and a scalar n.
struct TestKernel {
  ir::Kernel kernel;
  std::vector<float> u, out;
  std::int32_t min = -1, u_extent, out_min = 0, out_extent, n;
  std::uint32_t blocks;
  bool in_place = false;  // out is the memory of u

  TestKernel(const Stmt& body, int blocks_wanted)
      : u_extent(blocks_wanted * kThreads + 2),
        out_extent(blocks_wanted * kThreads),
        n(out_extent),
        blocks(static_cast<std::uint32_t>(blocks_wanted)) {
    kernel.name = "blur";
    kernel.on_device = true;
    kernel.block[0] = kThreads;
    kernel.params = {
        {"u", Float(32), true, false, false},        {"out", Float(32), true, true, false},
        {"u.min.0", Int(32), false, false, false},   {"u.extent.0", Int(32), false, false, false},
        {"out.min.0", Int(32), false, false, false}, {"out.extent.0", Int(32), false, false, false},
        {"n", Int(32), false, false, false}};
    kernel.body = body;
    u.resize(static_cast<std::size_t>(u_extent));
    std::iota(u.begin(), u.end(), 1.0F);
    out.assign(static_cast<std::size_t>(out_extent), -1.0F);
  }

  void run() {
    ir::Module module;
    module.name = "test";
    module.kernels = {kernel};
    const auto loaded = llvm_backend::load_emulated_kernels(module);
    LaunchShape shape;
    shape.grid[0] = blocks;
    shape.block[0] = kThreads;
    shape.shared_bytes = static_cast<std::uint32_t>(ir::shared_bytes(kernel));
    float* u_at_zero = u.data() + 1;
    float* out_at_zero = in_place ? u_at_zero : out.data();
    void* arguments[] = {&u_at_zero, &out_at_zero, &min, &u_extent, &out_min, &out_extent, &n};
    loaded.at(0).second->launch(shape, arguments, 7, {});
  }
  std::string fault() {
    try {
      run();
    } catch (const EmulatorError& e) {
      return e.what();
    }
    return "";
  }
};

Expr x() { return block_x() * kThreads + thread_x(); }

/// Every thread copies a point of u with a halo of 1 into the tile; then adds its neighbours.
Stmt blur(const Stmt& between, int reach = 1) {
  const Expr first = block_x() * kThreads - 1;
  const Stmt copy = store("tile", thread_x(), load("u", first + thread_x()));
  const Stmt halo = when(thread_x() < 2,
                         store("tile", thread_x() + kThreads, load("u", first + thread_x() + kThreads)));
  const Expr sum = load("tile", thread_x()) + load("tile", thread_x() + 1 + reach);
  return shared_tile(ir::make_block({copy, halo, between, store("out", x(), sum)}));
}

TEST(EmulatorKernels, ASharedTileGivesTheSums) {
  TestKernel k(blur(barrier()), 3);
  EXPECT_EQ(k.fault(), "");
  for (std::size_t i = 0; i < k.out.size(); ++i) EXPECT_EQ(k.out[i], k.u[i] + k.u[i + 2]);
}

/// Adds 1 to out[at], of i32, in one step.
Stmt count_at(const Expr& at) {
  ir::Store one{"out", {at}, Expr(1), {at}, 1};
  one.atomic = BinaryOp::Add;
  return make_stmt(one);
}

TEST(EmulatorKernels, AtomicOperationsOfAllThreadsMeetInOneElement) {
  TestKernel k(ir::make_block({count_at(3), count_at(thread_x() % 2 + 4)}), 3);
  k.kernel.params[1].type = Int(32);
  std::fill(k.out.begin(), k.out.end(), 0.0F);
  EXPECT_EQ(k.fault(), "");
  EXPECT_EQ(std::bit_cast<std::int32_t>(k.out[3]), 3 * kThreads);
  EXPECT_EQ(std::bit_cast<std::int32_t>(k.out[4]), 3 * kThreads / 2);
}

TEST(EmulatorKernels, AtomicOperationsRaceWithOtherAccesses) {
  const auto fault = [](const Stmt& other, int blocks) {
    TestKernel k(ir::make_block({when(thread_x() != 2, count_at(3)), when(thread_x() == 2, other)}),
                 blocks);
    k.kernel.params[1].type = Int(32);
    return k.fault();
  };
  const Stmt plain = store("out", 3, Expr(7));
  const Stmt read = store("out", 5, load("out", 3, Int(32)));
  for (const int blocks : {1, 2}) {
    EXPECT_NE(fault(plain, blocks).find("out(3)"), std::string::npos) << fault(plain, blocks);
    EXPECT_NE(fault(plain, blocks).find("atomic operation"), std::string::npos);
    EXPECT_NE(fault(read, blocks).find("race in kernel blur"), std::string::npos);
  }
  EXPECT_NE(fault(count_at(kThreads), 1).find("index out of range"), std::string::npos);
}

TEST(EmulatorKernels, RegistersThatNothingHasWrittenAreNaN) {
  const Stmt rest = when(thread_x() == 3, store("kept", 0, load("u", x())));
  const Stmt body = make_stmt(ir::Allocate{"kept",
                                           Float(32),
                                           MemoryType::Register,
                                           {Expr(0)},
                                           {Expr(1)},
                                           {1},
                                           ir::make_block({rest, store("out", x(), load("kept", 0))})});
  TestKernel k(body, 2);
  EXPECT_EQ(k.fault(), "");
  for (std::size_t i = 0; i < k.out.size(); ++i) {
    EXPECT_EQ(std::isnan(k.out[i]), i % kThreads != 3) << i;
  }
}

TEST(EmulatorKernels, WithoutItsBarrierItIsARaceOrReadsUninitialisedMemory) {
  const std::string fault = TestKernel(blur(Stmt()), 3).fault();
  EXPECT_TRUE(fault.find("race in kernel blur") != std::string::npos ||
              fault.find("uninitialised shared memory in kernel blur") != std::string::npos)
      << fault;
}

TEST(EmulatorKernels, ATapOutsideTheTileIsOutOfRange) {
  const std::string fault = TestKernel(blur(barrier(), 2), 1).fault();
  EXPECT_NE(fault.find(
                "index out of range in kernel blur: thread (7, 0, 0) of block (0, 0, 0) reads tile(10), "
                "and tile holds [0..9]"),
            std::string::npos)
      << fault;
}

TEST(EmulatorKernels, InTheMemoryOfAnInputAnotherPointOfItIsARace) {
  const auto fault_of = [](const Expr& tap, bool shared) {
    TestKernel k(store("out", x(), load("u", tap) + 1.0F), 2);
    k.in_place = true;
    k.kernel.params[0].shared = k.kernel.params[1].shared = shared;
    return k.fault();
  };
  EXPECT_EQ(fault_of(x(), true), "");
  for (const Expr& beside : {x() + 1, x() - 1}) {
    EXPECT_NE(fault_of(beside, true).find("race in kernel blur"), std::string::npos);
    EXPECT_EQ(fault_of(beside, false), "") << "the kernel is told that the two are apart";
  }
}

TEST(EmulatorKernels, AStorePastTheOutputIsOutOfRangeAndNotCarriedOut) {
  TestKernel k(store("out", x(), Expr(1.0F)), 2);
  k.out_extent = 15;
  EXPECT_NE(k.fault().find("writes out(15), and out holds [0..14]"), std::string::npos);
  EXPECT_EQ(k.out[15], -1.0F);
}

TEST(EmulatorKernels, ALoadBeforeTheInputIsOutOfRange) {
  TestKernel k(store("out", x(), load("u", x() - 2)), 2);
  EXPECT_NE(k.fault().find("reads u(-2), and u holds [-1..16]"), std::string::npos);
}

/// Half the threads copy two neighbours from u, `shift` beside their place in out.
Stmt pairs(int shift) {
  const auto two = [](const Expr& first) {
    return make_expr(Int(32).with_lanes(2), Ramp{first, Expr(1)});
  };
  const Expr to = thread_x() * 2, from = thread_x() * 2 + shift;
  const Expr value = make_expr(Float(32).with_lanes(2), Load{"u", {two(from)}, {two(from)}, 2});
  return when(thread_x() < kThreads / 2, make_stmt(ir::Store{"out", {two(to)}, value, {two(to)}, 2}));
}

TEST(EmulatorKernels, AVectorOffItsAlignmentIsFound) {
  // u starts one element before a multiple of 16 bytes and one element.
  TestKernel aligned(pairs(1), 1);
  EXPECT_EQ(aligned.fault(), "");
  EXPECT_EQ(aligned.out[2], aligned.u[4]);
  const std::string fault = TestKernel(pairs(0), 1).fault();
  EXPECT_NE(fault.find("misaligned access in kernel blur: thread ("), std::string::npos) << fault;
  EXPECT_NE(fault.find("reads 2 elements from u("), std::string::npos) << fault;
  EXPECT_NE(fault.find("no multiple of 8 bytes"), std::string::npos) << fault;
}

TEST(EmulatorKernels, BlocksThatShareAnOutputElementRace) {
  const Stmt body = store("out", thread_x(), cast(Float(32), block_x()));
  EXPECT_NE(TestKernel(body, 2).fault().find("race in kernel blur"), std::string::npos);
}

TEST(EmulatorKernels, AnUpdateThatReadsANeighboursElementRaces) {
  const Stmt body = store("out", x(), load("out", select(x() > 0, x() - 1, 0)) + 1.0F);
  EXPECT_NE(TestKernel(body, 2).fault().find("race in kernel blur"), std::string::npos);
  TestKernel own(store("out", x(), load("out", x()) + 1.0F), 2);
  EXPECT_EQ(own.fault(), "");
  EXPECT_EQ(own.out[3], 0.0F);
}

TEST(EmulatorKernels, ARotatingBufferNeedsBothBarriers) {
  // for p in [0, 4): tile[t] = u[t]; barrier; out[x] = tile[t + 1 mod 8]; (barrier)
  const auto march = [](const Stmt& last) {
    const Stmt fill = store("tile", thread_x(), load("u", thread_x()));
    const Stmt use = store("out", x(), load("tile", (thread_x() + 1) % kThreads));
    const Stmt body = ir::make_block({fill, barrier(), use, last});
    return shared_tile(make_stmt(ir::For{"p", Expr(0), Expr(4), LoopKind::Serial, body}));
  };
  EXPECT_EQ(TestKernel(march(barrier()), 2).fault(), "");
  EXPECT_NE(TestKernel(march(Stmt()), 2).fault().find("race in kernel blur"), std::string::npos);
}

TEST(EmulatorKernels, VectorsAreCheckedAtBothEnds) {
  const auto vector_copy = [](int from) {
    const Type f32x4 = Float(32).with_lanes(4);
    const auto ramp = [](const Expr& base) {
      return make_expr(Int(32).with_lanes(4), Ramp{base, Expr(1)});
    };
    const Expr at = thread_x() * 4;
    const Expr source = ramp(at + from);
    const Expr value = make_expr(f32x4, Load{"u", {source}, {source}, 1});
    return when(thread_x() < 2, make_stmt(ir::Store{"out", {ramp(at)}, value, {ramp(at)}, 1}));
  };
  TestKernel sound(vector_copy(1), 1);
  EXPECT_EQ(sound.fault(), "");
  EXPECT_EQ(sound.out[7], sound.u[9]);
  EXPECT_NE(TestKernel(vector_copy(2), 1).fault().find("reads u(9)"), std::string::npos);
}

TEST(EmulatorKernels, PrivateArraysAreCheckedAndSurviveBarriers) {
  const auto window = [](int tap) {
    const Stmt fill = make_stmt(ir::For{"i", Expr(0), Expr(3), LoopKind::Serial,
                                        store("w", make_var("i"), load("u", x() + make_var("i") - 1))});
    const Stmt use = store("out", x(), load("w", Expr(0)) + load("w", make_var("n") * 0 + tap));
    return make_stmt(ir::Allocate{"w",
                                  Float(32),
                                  MemoryType::Register,
                                  {Expr(0)},
                                  {Expr(3)},
                                  {1},
                                  ir::make_block({fill, barrier(), use})});
  };
  TestKernel sound(window(2), 2);
  EXPECT_EQ(sound.fault(), "");
  EXPECT_EQ(sound.out[5], sound.u[5] + sound.u[7]);
  EXPECT_NE(TestKernel(window(3), 2).fault().find("reads w(3), and w holds [0..2]"), std::string::npos);
}

TEST(EmulatorKernels, BytesOfSharedMemoryAreToldApart) {
  const Expr value = cast(UInt(8), thread_x());
  const Stmt fill = store("tile", thread_x(), value);
  const Stmt use = store("out", x(), cast(Float(32), load("tile", kThreads - 1 - thread_x(), UInt(8))));
  TestKernel k(shared_tile(ir::make_block({fill, barrier(), use}), UInt(8)), 1);
  EXPECT_EQ(k.fault(), "");
  EXPECT_EQ(k.out[2], 5.0F);
}

TEST(EmulatorKernels, AKernelMayBeLaunchedAgain) {
  TestKernel k(blur(barrier()), 3);
  EXPECT_EQ(k.fault(), "");
  k.out.assign(k.out.size(), 0.0F);
  EXPECT_EQ(k.fault(), "");
  EXPECT_EQ(k.out[1], k.u[1] + k.u[3]);
}

}  // namespace
}  // namespace mica
