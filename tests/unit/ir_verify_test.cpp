// Every invariant at the top of codegen/ir/verify.h has a broken example here.
#include <memory>

#include <gtest/gtest.h>

#include "codegen/ir/verify.h"
#include "dsl/func/func.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

using ir::Level;

ir::Environment with_buffers() {
  ir::Environment environment;
  environment.add_buffer("u", Float(32), 2, false);
  environment.add_buffer("f", Float(32), 2);
  environment.symbols["n"] = Int(32);
  return environment;
}
Expr at2(const char* buffer, const Expr& x, const Expr& y) {
  return make_expr(Float(32), Load{buffer, {x, y}, {}, 1});
}
ir::Stmt put2(const Expr& x, const Expr& y, const Expr& value) {
  return ir::make_stmt(ir::Store{"f", {x, y}, value, {}, 1});
}
/// The only violation, or all of them, or "".
std::string fault(const ir::Stmt& s, Level level = Level::Loads,
                  const ir::Environment& environment = with_buffers()) {
  std::string text;
  for (const std::string& v : ir::verify(s, level, environment)) text += v + "\n";
  return text;
}
std::string kernel_fault(const ir::Kernel& kernel) {
  std::string text;
  for (const std::string& v : ir::verify(kernel, Level::BackEnd)) text += v + "\n";
  return text;
}
ir::Kernel device_kernel(const ir::Stmt& body) {
  ir::Kernel kernel = test::shared_reverse(32);
  kernel.body = body;
  return kernel;
}

#define EXPECT_FAULT(text, words)                                                  \
  do {                                                                             \
    const std::string found = (text);                                              \
    EXPECT_NE(found.find(words), std::string::npos) << "found: '" << found << "'"; \
  } while (false)

const Expr x = make_var("x"), y = make_var("y"), n = make_var("n");

TEST(IrVerify, SoundCodeHasNoViolations) {
  const ir::Stmt s = test::loop(
      LoopKind::Parallel, "y", 0, n,
      test::loop(LoopKind::Vectorized, "x", make_var("u.min.0"), 8, put2(x, y, at2("u", x + 1, y))));
  EXPECT_EQ(fault(s), "");
  EXPECT_EQ(kernel_fault(test::shared_reverse(32)), "");
  EXPECT_EQ(kernel_fault(test::seven_point_gpu()), "");
  EXPECT_EQ(kernel_fault(test::seven_point_march(4)), "");
  EXPECT_EQ(kernel_fault(test::seven_point_host(8)), "");
}

TEST(IrVerify, NamesAreDefinedBeforeUseAndKeepTheirType) {
  EXPECT_FAULT(fault(put2(x, 0, 1.0F)), "x is used but not defined");
  EXPECT_FAULT(
      fault(ir::make_block({ir::make_stmt(ir::LetStmt{"x", 1, put2(x, 0, 1.0F)}), put2(x, 0, 1.0F)})),
      "x is used but not defined");
  EXPECT_FAULT(fault(ir::make_stmt(ir::LetStmt{"x", 1, put2(make_var("x", Int(64)), 0, 1.0F)})),
               "used as i64 but defined as i32");
  EXPECT_FAULT(fault(put2(make_var("thread.x"), 0, 1.0F)), "thread.x is used but not defined");
}

TEST(IrVerify, BuffersAreAllocatedAndHaveTheirElementTypeAndDimensions) {
  EXPECT_FAULT(fault(put2(0, 0, at2("w", 0, 0))), "access of w, which is no buffer");
  EXPECT_FAULT(fault(ir::make_stmt(ir::Store{"w", {0}, 1.0F, {}, 1})), "store to w, which is no buffer");
  EXPECT_FAULT(fault(ir::make_stmt(ir::Store{"u", {0, 0}, 1.0F, {}, 1})),
               "store to u, which is only read");
  EXPECT_FAULT(fault(put2(0, 0, Expr(1))), "access of f as i32, but it holds f32");
  EXPECT_FAULT(fault(ir::make_stmt(ir::Store{"f", {0}, 1.0F, {}, 1})), "with 1 indices, not 2");
  ir::Store counted{"f", {0, 0}, 1.0F, {}, 1};
  counted.atomic = BinaryOp::Add;
  EXPECT_FAULT(fault(ir::make_stmt(counted)), "atomic store of f32");
}

TEST(IrVerify, OperandsAgreeInType) {
  const Expr bad = make_expr(Int(32), Binary{BinaryOp::Add, Expr(1), Expr(std::int64_t{1})});
  EXPECT_FAULT(fault(put2(bad, 0, 1.0F)), "operands of types i32 and i64");
  const Expr lanes = make_expr(Int(32), Binary{BinaryOp::Add, Expr(1), test::broadcast(Expr(1), 4)});
  EXPECT_FAULT(fault(put2(lanes, 0, 1.0F)), "operands of types i32 and i32x4");
  const Expr pow = make_expr(Int(32), Binary{BinaryOp::Pow, Expr(1), Expr(2)});
  EXPECT_FAULT(fault(put2(pow, 0, 1.0F)), "that i32 does not have");
  const Expr compare = make_expr(Int(32), Compare{CompareOp::Lt, Expr(1), Expr(2)});
  EXPECT_FAULT(fault(put2(compare, 0, 1.0F)), "type i32 instead of bool");
  const Expr chosen = make_expr(Int(32), Select{Expr(1), Expr(1), Expr(2)});
  EXPECT_FAULT(fault(put2(chosen, 0, 1.0F)), "select by i32");
  const Expr cast = make_expr(Int(32), Cast{test::broadcast(Expr(1), 4)});
  EXPECT_FAULT(fault(put2(cast, 0, 1.0F)), "cast that changes the lanes");
  const Expr bits = make_expr(Int(64), Reinterpret{Expr(1.0F)});
  EXPECT_FAULT(fault(put2(bits, 0, 1.0F)), "in another width");
  const Expr lane = make_expr(Float(32), Shuffle{{Expr(1.0F)}, {1}});
  EXPECT_FAULT(fault(put2(0, 0, lane)), "shuffle of a lane that is not there");
  EXPECT_FAULT(fault(ir::make_stmt(ir::If{Expr(1), put2(0, 0, 1.0F), {}})),
               "condition is i32, not bool");
}

TEST(IrVerify, LoopsHaveFittingBoundsAndNesting) {
  const ir::Stmt body = put2(0, 0, 1.0F);
  EXPECT_FAULT(fault(test::loop(LoopKind::Vectorized, "x", 0, n, body)),
               "extent of x is not a constant");
  EXPECT_FAULT(fault(test::loop(LoopKind::Unrolled, "x", 0, 0, body)), "extent of x is not a constant");
  EXPECT_FAULT(fault(test::loop(LoopKind::Serial, "x", 0, Expr(std::int64_t{4}), body)),
               "min and extent of x are i32 and i64");
  EXPECT_FAULT(fault(test::loop(LoopKind::Serial, "x", 0.0F, 4.0F, body)), "loop variable x is f32");
  EXPECT_FAULT(
      fault(test::loop(LoopKind::GpuThread, "x", 0, 4, test::loop(LoopKind::GpuBlock, "y", 0, 4, body))),
      "gpu_block loop y inside a gpu_thread loop");
  EXPECT_FAULT(
      fault(test::loop(LoopKind::GpuBlock, "x", 0, 4, test::loop(LoopKind::Parallel, "y", 0, 4, body))),
      "parallel loop y inside gpu_block");
}

TEST(IrVerify, AllocationsAreDecidedAndConstant) {
  ir::Allocate a{"t", Float(32), MemoryType::Stack, {0}, {4}, {}, put2(0, 0, 1.0F)};
  EXPECT_EQ(fault(ir::make_stmt(a)), "");
  EXPECT_FAULT(fault(ir::make_stmt(a), Level::Flat), "t has 0 strides for 1 dimensions");
  ir::Allocate automatic = a;
  automatic.memory = MemoryType::Auto;
  EXPECT_FAULT(fault(ir::make_stmt(automatic)), "memory of t is not decided");
  ir::Allocate open = a;
  open.extents = {n};
  EXPECT_FAULT(fault(ir::make_stmt(open)), "an extent of t is not a constant");
  open.memory = MemoryType::Heap;
  EXPECT_EQ(fault(ir::make_stmt(open)), "");
  ir::Allocate twice = a;
  twice.body = ir::make_stmt(a);
  EXPECT_FAULT(fault(ir::make_stmt(twice)), "t is allocated inside its lifetime");
}

TEST(IrVerify, AfterFlatteningAnAccessHasOneIndexOfItsLanes) {
  EXPECT_FAULT(fault(put2(0, 0, 1.0F), Level::Flat), "with 2 indices, not 1");
  const Type vector = Float(32).with_lanes(4);
  const Expr at_scalar = make_expr(vector, Load{"u", {Expr(0)}, {}, 1});
  EXPECT_FAULT(fault(test::store_vector("f", 0, at_scalar, 1), Level::Flat), "at scalar indices");
  EXPECT_FAULT(
      fault(test::store_vector("f", 0, test::load_vector("u", Float(32), 0, 4, 3), 1), Level::Flat),
      "alignment 3");
}

TEST(IrVerify, NodesOfTheAlgorithmAreGoneInTime) {
  const Expr access = make_expr(Float(32), Access{"g", nullptr, nullptr, 0, {0, 0}, {}, false});
  EXPECT_EQ(fault(put2(0, 0, access), Level::LoopNest), "");
  EXPECT_FAULT(fault(put2(0, 0, access), Level::Loads), "access that is no load");
  const auto data = make_param("c", Float(32), {});
  const Expr param = make_expr(Float(32), ParamRef{data});
  EXPECT_FAULT(fault(put2(0, 0, param), Level::LoopNest), "ParamRef in c");
}

TEST(IrVerify, TheBackEndGetsNoLoopsOrTypesItLacks) {
  ir::Kernel kernel;
  kernel.name = "k";
  kernel.params = {test::pointer("h", Float(16)), test::pointer("out", Float(16), true)};
  const Expr h = test::load("h", Float(16), 0);
  kernel.body = test::store("out", 0, h);
  EXPECT_EQ(kernel_fault(kernel), "");
  kernel.body = test::store("out", 0, make_expr(Float(16), Binary{BinaryOp::Add, h, h}));
  EXPECT_FAULT(kernel_fault(kernel), "arithmetic on f16 is left");
  kernel.body = test::loop(LoopKind::Unrolled, "i", 0, 4, test::store("out", make_var("i"), h));
  EXPECT_FAULT(kernel_fault(kernel), "unrolled loop i is left for the back end");
  kernel.body = ir::make_stmt(ir::Barrier{});
  EXPECT_FAULT(kernel_fault(kernel), "barrier in host code");
  kernel.params.push_back(kernel.params.back());
  EXPECT_FAULT(kernel_fault(kernel), "two parameters named out");
}

TEST(IrVerify, MappedCodeHasNoGpuLoopsAndSharedMemoryAtTheTop) {
  const ir::Stmt body = test::store("out", 0, 1.0F);
  EXPECT_FAULT(kernel_fault(device_kernel(test::loop(LoopKind::GpuThread, "t", 0, 4, body))),
               "gpu_thread loop t in the code of one thread");
  EXPECT_FAULT(kernel_fault(device_kernel(test::allocate(MemoryType::Heap, Float(32), "t", {4}, body))),
               "heap memory t in a GPU kernel");
  const ir::Stmt shared = test::allocate(MemoryType::Shared, Float(32), "t", {4}, body);
  EXPECT_EQ(kernel_fault(device_kernel(shared)), "");
  EXPECT_FAULT(kernel_fault(device_kernel(test::loop(LoopKind::Serial, "i", 0, 4, shared))),
               "shared memory t is not at the top");
}

TEST(IrVerify, ABarrierIsMetByAllThreadsOrNone) {
  const ir::Stmt barrier = ir::make_stmt(ir::Barrier{});
  const Expr t = make_var("thread.x"), b = make_var("block.x"), i = make_var("i");
  const auto when = [&](const Expr& condition) {
    return kernel_fault(device_kernel(ir::make_stmt(ir::If{condition, barrier, {}})));
  };
  EXPECT_EQ(when(b < 4), "");
  EXPECT_FAULT(when(t < 4), "barrier that only some threads reach");
  EXPECT_FAULT(kernel_fault(device_kernel(test::loop(LoopKind::Serial, "i", 0, t, barrier))),
               "barrier that only some threads reach");
  EXPECT_EQ(kernel_fault(device_kernel(test::loop(LoopKind::Serial, "i", 0, b, barrier))), "");
  EXPECT_FAULT(kernel_fault(device_kernel(
                   ir::make_stmt(ir::LetStmt{"i", t + b, ir::make_stmt(ir::If{i < 4, barrier, {}})}))),
               "barrier that only some threads reach");
  // Before mapping, the thread is a loop's variable.
  const ir::Stmt nest =
      test::loop(LoopKind::GpuThread, "t", 0, 4, ir::make_stmt(ir::If{make_var("t") < 2, barrier, {}}));
  EXPECT_FAULT(fault(nest), "barrier that only some threads reach");
  EXPECT_EQ(fault(test::loop(LoopKind::GpuThread, "t", 0, 4, barrier)), "");
}

TEST(IrVerify, ViolationsBecomeOneInternalErrorThatNamesThePass) {
  EXPECT_NO_THROW(ir::throw_if_unsound({}, "simplify"));
  try {
    ir::throw_if_unsound({"first", "second"}, "simplify");
    FAIL() << "no error";
  } catch (const InternalError& e) {
    EXPECT_STREQ(e.what(), "the code after simplify is unsound:\n  first\n  second");
  }
}

}  // namespace
}  // namespace mica
