// Misused directives: each finding names what disagrees, the user's line and the fix.
#include <gtest/gtest.h>

#include "dsl/check/check_schedule.h"
#include "dsl/func/func.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;
using test::only_finding;

const Var x("x"), y("y"), z("z"), xo("xo"), xi("xi"), yo("yo"), yi("yi");

/// u -> b -> next in two dimensions.
class ScheduleErrors : public ::testing::Test {
 protected:
  ScheduleErrors() {
    b(x, y) = u(x - 1, y) + u(x + 1, y);
    next(x, y) = b(x, y - 1) + b(x, y + 1);
  }
  Diagnostics check(bool gpu = true) const {
    return check_schedule(make_pipeline({next.function()}), gpu);
  }
  ImageParam u{Float(32), 2, "u"};
  Func b{"b"}, next{"next"};
};

/// Runs `statement`, and EXPECTs one finding at its line.
#define EXPECT_FINDING(statement, ...) \
  statement;                           \
  EXPECT_TRUE(only_finding(check(), {__VA_ARGS__}, __LINE__))

TEST_F(ScheduleErrors, LegalSchedulesHaveNoFindings) {
  EXPECT_TRUE(check().empty());
  b.compute_at(next, "x.block").store_in(MemoryType::Shared).gpu_threads(x, y);
  next.gpu_tile(x, y, 32, 8).vectorize(x, 4).unroll(y, 2).launch_bounds(4).max_registers(64);
  EXPECT_TRUE(check().empty());
  next.clear_schedule();
  b.compute_at(next, yi).store_at(next, "yo").vectorize(x, 8);
  next.split(y, yo, yi, 32).parallel(yo).vectorize(x, 8);
  EXPECT_TRUE(check(false).empty());
  next.clear_schedule();
  next.gpu_tile(x, y, 16, 16).stage(b, MemoryType::Shared, LoadPolicy::Strided);
  EXPECT_TRUE(check().empty());
  next.clear_schedule();
  b.compute_root().gpu_tile(x, y, 16, 16).stage(u, MemoryType::Shared).read_only(u);
  next.gpu_tile(x, y, 16, 16);
  EXPECT_TRUE(check().empty());
}

TEST_F(ScheduleErrors, UnknownLoop) {
  EXPECT_FINDING(next.split(z, xo, xi, 8), "next.split(z, xo, xi, 8): there is no loop z", "x, y");
}
TEST_F(ScheduleErrors, ALoopThatASplitTookApart) {
  next.split(x, xo, xi, 8);
  EXPECT_FINDING(next.vectorize(x, 4), "no loop x", "xi, xo, y");
}
TEST_F(ScheduleErrors, ATiledVarIsNoLoopAnyMore) {
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(next.unroll(x), "no loop x", "x.thread, y.thread, x.block, y.block");
}
TEST_F(ScheduleErrors, NameTaken) { EXPECT_FINDING(next.split(x, y, xi, 8), "the name y is taken"); }
TEST_F(ScheduleErrors, NameOfADimensionThatWasTakenApart) {
  next.split(x, xo, xi, 8);
  EXPECT_FINDING(next.split(y, x, yi, 8), "the name x is taken");
}
TEST_F(ScheduleErrors, OneNameForBothLoops) {
  EXPECT_FINDING(next.split(x, xi, xi, 8), "both named xi");
}
TEST_F(ScheduleErrors, Factor) { EXPECT_FINDING(next.split(x, xo, xi, 0), "factor is 0", "at least 1"); }
TEST_F(ScheduleErrors, TileSize) { EXPECT_FINDING(next.gpu_tile(x, y, 32, -8), "size is -8"); }
TEST_F(ScheduleErrors, VectorWidth) {
  EXPECT_FINDING(next.vectorize(x, 6), "6 is no vector width", "powers of two 1, 2, 4, ... 64");
  next.clear_schedule();
  EXPECT_FINDING(next.vectorize(x, 128), "128 is no vector width");
  next.clear_schedule();
  EXPECT_FINDING(next.gpu_tile(x, y, 32, 8).vectorize(x, 3), "next.vectorize(x, 3)", "3 is no vector");
  next.clear_schedule();
  EXPECT_FINDING(next.split(x, xo, xi, 12).vectorize(xi), "12 is no vector width");
  EXPECT_FAILS(next.vectorize(x, 0), "vectorize(x, 0)", "at least 1");
  EXPECT_FAILS(next.unroll(x, 0), "unroll(x, 0)", "at least 1");
}
TEST_F(ScheduleErrors, VectorOfUnknownExtent) {
  EXPECT_FINDING(next.vectorize(x), "vectorize(x)", "no constant extent", "vectorize(x, 4)");
}
TEST_F(ScheduleErrors, TwoVectors) {
  next.vectorize(x, 4);
  EXPECT_FINDING(next.vectorize(y, 4), "x.vec and y.vec", "both vectorized");
}
TEST_F(ScheduleErrors, UnrollTooFar) {
  EXPECT_FINDING(next.unroll(x, 1000), "1000 iterations", "1 to 256");
}
TEST_F(ScheduleErrors, ReorderOfAnUnknownOrRepeatedLoop) {
  EXPECT_FINDING(next.reorder(y, z), "no loop z");
  next.clear_schedule();
  EXPECT_FINDING(next.reorder(y, y), "loop y is named twice");
}
TEST_F(ScheduleErrors, FuseOfLoopsThatAreNotAdjacent) {
  next.split(x, xo, xi, 8);
  EXPECT_FINDING(next.fuse(xi, y, "f"), "y is not directly around xi", "xi, xo, y");
}
TEST_F(ScheduleErrors, TwoKindsForOneLoop) {
  next.parallel(y);
  EXPECT_FINDING(next.gpu_blocks(y), "loop y is already Parallel", "serial(y)");
}
TEST_F(ScheduleErrors, SplitOfAMarkedLoop) {
  next.parallel(y);
  EXPECT_FINDING(next.split(y, yo, yi, 8), "loop y is already Parallel");
}

TEST_F(ScheduleErrors, ReductionLoopsKeepTheirOrder) {
  RDom r({{0, 3}, {0, 4}});
  next(x, y) += u(x + r.x, y + r.y);
  EXPECT_FINDING(next.update().parallel(r.x), "next.update(0).parallel(\"r.x\")", "cannot be Parallel",
                 "serial and unroll");
  next.clear_schedule();
  EXPECT_FINDING(next.update().vectorize(r.x, 2), "cannot be Vectorized");
  next.clear_schedule();
  EXPECT_FINDING(next.update().gpu_tile(r.x, 2), "cannot be GpuThread");
  next.clear_schedule();
  EXPECT_FINDING(next.update().reorder(r.y, r.x), "order of the reduction loops r.x, r.y to r.y, r.x");
  next.clear_schedule();
  EXPECT_FINDING(next.update().fuse(r.y, x, "f"), "r.y belongs to a reduction domain and x does not");
  next.clear_schedule();
  next.update().unroll(r.x).reorder(x, r.x, y, r.y).split(r.y, "ro", "ri", 2);
  EXPECT_TRUE(check().empty());
}
TEST_F(ScheduleErrors, ADomainStandsForItsOnlyDimension) {
  RDom r({{0, 3}}), s({{0, 3}, {0, 4}}, "s");
  next(x, y) += u(x + r, y);
  next.update().unroll(r);
  EXPECT_TRUE(check().empty());
  EXPECT_FAILS(next.update().unroll(s), "RDom s has 2 dimensions", "s.x");
}
TEST_F(ScheduleErrors, TailsThatComputePointsTwiceInAnUpdate) {
  RDom r({{0, 3}});
  next(x, y) += u(x + r, y);
  EXPECT_FINDING(next.update().split(x, xo, xi, 8, TailStrategy::ShiftInwards), "x twice",
                 "GuardWithIf");
  next.clear_schedule();
  EXPECT_FINDING(next.update().split(r.x, xo, xi, 2, TailStrategy::RoundUp), "RoundUp",
                 "reduction loop r.x");
}

TEST_F(ScheduleErrors, FourThreadAxes) {
  next.tile(x, y, xo, yo, xi, yi, 4, 4).split(xi, "a", "b", 2).split(yi, "c", "d", 2);
  next.gpu_blocks(xo, yo);
  EXPECT_FINDING(next.gpu_threads("a", "b", "c").gpu_threads("d"), "4 thread loops, b, a, d, c",
                 "3 axes");
}
TEST_F(ScheduleErrors, ThreadsOutsideBlocks) {
  next.split(x, xo, xi, 32).gpu_blocks(xi, y);
  EXPECT_TRUE(only_finding((next.gpu_threads(xo), next.bound(x, 0, 64), check()),
                           {"thread loop xo stands outside block loop xi"}, __LINE__ - 1));
}
TEST_F(ScheduleErrors, ThreadsWithoutBlocks) {
  next.split(x, xo, xi, 32);
  EXPECT_FINDING(next.gpu_threads(xi), "thread loop xi stands in no block loop", "gpu_blocks");
}
TEST_F(ScheduleErrors, ThreadsOfUnknownExtent) {
  next.gpu_blocks(y);
  EXPECT_FINDING(next.gpu_threads(x), "thread loop x has no constant extent", "gpu_tile");
  next.bound(x, 0, 128);
  EXPECT_TRUE(check().empty());
}
TEST_F(ScheduleErrors, TooManyThreads) {
  EXPECT_FINDING(next.gpu_tile(x, y, 64, 32), "2048 threads", "64 x 32", "1024");
}
TEST_F(ScheduleErrors, TooManyThreadsAlongZ) {
  Func f("f");
  f(x, y, z) = x + y + z;
  const int line = __LINE__ + 1;
  f.gpu_tile(x, y, z, 2, 2, 128);
  EXPECT_TRUE(only_finding(check_schedule(make_pipeline({f.function()}), true),
                           {"128 threads", "z axis (z.thread)", "64"}, line));
}
TEST_F(ScheduleErrors, UnscheduledDimension) {
  Func f("f");
  f(x, y, z) = x + y + z;
  const int line = __LINE__ + 1;
  f.gpu_tile(x, y, 32, 8);
  const auto findings = [&](bool gpu) { return check_schedule(make_pipeline({f.function()}), gpu); };
  EXPECT_TRUE(only_finding(findings(true), {"unscheduled dimension z of f", "gpu_blocks(z)"}, line));
  EXPECT_TRUE(findings(false).empty()) << "on the CPU it is a loop like any other";
  f.gpu_blocks(z);
  EXPECT_TRUE(findings(true).empty());
}
TEST_F(ScheduleErrors, ParallelInAKernel) {
  next.gpu_tile(x, 32);
  EXPECT_FINDING(next.parallel(y), "parallel loop y stands in a GPU kernel");
}
TEST_F(ScheduleErrors, AVectorOutsideThreads) {
  next.tile(x, y, xo, yo, xi, yi, 32, 8).gpu_blocks(xo, yo).gpu_threads(xi, yi);
  EXPECT_FINDING(next.vectorize(yi, 2), "vectorized loop yi.vec stands outside loop xi", "GpuThread");
}

TEST_F(ScheduleErrors, ComputeAtAFuncThatIsNotThere) {
  Func other("other");
  other(x, y) = x + y;
  EXPECT_FINDING(b.compute_at(other, x), "no Func other", "Funcs that read b are next");
}
TEST_F(ScheduleErrors, ComputeAtAFuncThatDoesNotReadIt) {
  Func c("c");
  c(x, y) = u(x, y);
  next(x, y) = next(x, y) + c(x, y);
  c.compute_root();
  EXPECT_FINDING(b.compute_at(c, x), "c does not read b", "next");
  next.clear_schedule();
  EXPECT_FINDING(b.compute_at(b, x), "b does not read b");
}
TEST_F(ScheduleErrors, ComputeAtAnInlinedFunc) {
  Func out("out");
  out(x, y) = next(x, y);
  const int line = __LINE__ + 1;
  b.compute_at(next, x);
  EXPECT_TRUE(only_finding(check_schedule(make_pipeline({out.function()}), true),
                           {"next is computed inline", "out"}, line));
}
TEST_F(ScheduleErrors, ComputeAtALoopThatIsNotThere) {
  next.split(x, xo, xi, 8);
  EXPECT_FINDING(b.compute_at(next, x), "next has no loop x", "xi, xo, y");
}
TEST_F(ScheduleErrors, ComputeAtAVectorLane) {
  next.vectorize(x, 4);
  EXPECT_FINDING(b.compute_at(next, "x.vec"), "x.vec of next is vectorized");
}
TEST_F(ScheduleErrors, ComputeAtThatDoesNotEncloseEveryUse) {
  Func c("c");
  c(x, y) = b(x, y) * 2;
  next(x, y) = next(x, y) + c(x, y);
  c.compute_root();
  EXPECT_FINDING(b.compute_at(next, y), "c reads b outside loop y of next", "c, next");
}
TEST_F(ScheduleErrors, ComputeAtInsideTheLoopWhereAConsumerIs) {
  Func c("c");
  c(x, y) = b(x, y) * 2;
  next(x, y) = next(x, y) + c(x, y);
  c.compute_at(next, y);
  b.compute_at(next, y);
  EXPECT_TRUE(check().empty()) << "the same loop encloses both";
  EXPECT_FINDING(b.compute_at(next, x), "c reads b outside loop x of next");
}
TEST_F(ScheduleErrors, ComputeAtBetweenBlockLoops) {
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(b.compute_at(next, "y.block"), "inside some of its block loops", "x.block");
}
TEST_F(ScheduleErrors, ComputeAtALoopOfAFuncBetweenBlockLoops) {
  next.gpu_tile(x, y, 32, 8);
  b.compute_at(next, "y.block");
  u.in(b).compute_at(b, x);
  std::string said;
  for (const Diagnostic& finding : check()) said += finding.message + "\n";
  EXPECT_NE(said.find("b is computed at loop y.block of next, inside some of its block loops only"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("loop y.block of next is inside some of its block loops"), std::string::npos);
}
TEST_F(ScheduleErrors, ComputeAtBetweenThreadLoops) {
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(b.compute_at(next, "y.thread"), "y.thread of next is inside some of its thread loops",
                 "x.thread");
}
TEST_F(ScheduleErrors, ComputeAtBetweenThreadLoopsOfAnUpdate) {
  next(x, y) += b(x, y);
  next.gpu_tile(y, x, 8, 8);
  next.update(0).gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(b.compute_at(next, "y.thread"),
                 "y.thread of next.update(0) is inside some of its thread loops", "x.thread");
}
TEST_F(ScheduleErrors, ComputeAtALoopOfAFuncThatABlockSharesOut) {
  Func c("c");
  c(x, y) = u(x, y) * 2;
  b(x, y) = b(x, y) + c(x, y);
  next.gpu_tile(x, y, 32, 8);
  b.compute_at(next, "x.block");
  EXPECT_FINDING(c.compute_at(b, x), "the threads of a block share out the points of b",
                 "loop x.block of next");
}
TEST_F(ScheduleErrors, HeapMemoryInAKernel) {
  next.gpu_tile(x, y, 32, 8);
  b.compute_at(next, "x.thread");
  EXPECT_FINDING(b.store_in(MemoryType::Heap), "x.thread of next is inside a kernel",
                 "Register or Stack");
  b.clear_schedule();
  b.compute_at(next, "x.block");
  EXPECT_FINDING(b.store_in(MemoryType::Heap), "x.block of next is inside a kernel", "Shared");
}
TEST_F(ScheduleErrors, ComputeAtALoopThatIsInsideAConsumersInOneDefinitionOnly) {
  Func c("c");
  c(x, y) = b(x, y) * 2;
  next(x, y) = next(x, y) + c(x, y);
  next(x, y) += b(x, y) + c(x, y);
  c.compute_at(next, y);
  next.reorder(y, x);
  EXPECT_FINDING(b.compute_at(next, x), "c reads b outside loop x of next");
}
TEST_F(ScheduleErrors, PlacesOfOutputs) {
  EXPECT_FINDING(next.compute_inline(), "next is an output");
  next.clear_schedule();
  EXPECT_FINDING(next.compute_at(b, x), "next is an output");
}
TEST_F(ScheduleErrors, InlineOfAFuncWithUpdates) {
  b(x, y) += 1.0f;
  EXPECT_FINDING(b.compute_inline(), "b has 1 update", "compute_root()");
}
TEST_F(ScheduleErrors, LoopsOfAnInlinedFunc) {
  EXPECT_FINDING(b.vectorize(x, 4), "b is computed inline and has no loops", "compute_root()");
}
TEST_F(ScheduleErrors, StoreAtWithoutComputeAt) {
  EXPECT_FINDING(b.store_at(next, y), "b is computed inline and has no storage", "compute_at");
}
TEST_F(ScheduleErrors, StoreAtInsideComputeAt) {
  b.compute_at(next, y);
  EXPECT_FINDING(b.store_at(next, x), "loop x of next is not around loop y of next");
}
TEST_F(ScheduleErrors, StoreAtALoopThatIsNotThere) {
  b.compute_at(next, y);
  EXPECT_FINDING(b.store_at(next, z), "next has no loop z");
}
TEST_F(ScheduleErrors, AnArrayForAllBlocks) {
  next.gpu_tile(x, y, 8, 8);
  b.compute_at(next, "x.block");
  EXPECT_FINDING(b.store_root(), "loop x.block of next is inside a kernel", "compute b at the root");
}
TEST_F(ScheduleErrors, OneThreadAndMore) {
  next.gpu_tile(x, y, 8, 8);
  EXPECT_FINDING(next.gpu_single_thread(), "gpu_single_thread()", "loop x.thread is GpuThread",
                 "remove one of the two");
}
TEST_F(ScheduleErrors, RegistersOutsideAllLoops) {
  b.compute_at(next, y).store_root();
  EXPECT_FINDING(b.store_in(MemoryType::Register), "which MemoryType::Register cannot hold",
                 "remove one of the two");
}
TEST_F(ScheduleErrors, SharedMemoryOutsideABlock) {
  b.compute_root();
  EXPECT_FINDING(b.store_in(MemoryType::Shared), "computed at the root", "one block");
  next.clear_schedule();
  b.compute_at(next, y);
  EXPECT_FINDING(b.store_in(MemoryType::Shared), "loop y of next is not inside all block loops");
}
TEST_F(ScheduleErrors, SharedMemoryInsideAThread) {
  next.gpu_tile(x, y, 32, 8);
  b.compute_at(next, "x.thread");
  EXPECT_FINDING(b.store_in(MemoryType::Shared), "inside a thread loop", "MemoryType::Register");
}
TEST_F(ScheduleErrors, ThreadsInsideThreads) {
  next.gpu_tile(x, y, 32, 8);
  b.compute_at(next, "x.thread");
  EXPECT_FINDING(b.gpu_threads(x), "thread loop x stands inside a thread loop");
}
TEST_F(ScheduleErrors, BlocksInsideABlock) {
  next.gpu_tile(x, y, 32, 8);
  b.compute_at(next, "x.block");
  EXPECT_FINDING(b.gpu_tile(x, y, 8, 8), "block loop x.block stands inside the blocks");
}
TEST_F(ScheduleErrors, BlocksInsideALoopThatIsNoKernel) {
  b.compute_at(next, y);
  EXPECT_FINDING(b.gpu_tile(x, y, 8, 8), "block loop x.block makes a kernel",
                 "b is computed inside loop y of next, which is in none",
                 "compute b at the root, or next in blocks");
}

TEST_F(ScheduleErrors, StageWithoutBlocks) {
  EXPECT_FINDING(next.stage(b, MemoryType::Shared), "next has no block loops", "gpu_tile");
}
TEST_F(ScheduleErrors, StageOfSomethingThatIsNotRead) {
  b.compute_root();  // else a helper, whose taps of u are those of next
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(next.stage(u, MemoryType::Shared), "next does not read u; it reads b");
}
TEST_F(ScheduleErrors, StageInTheWrongMemory) {
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(next.stage(b, MemoryType::Heap), "MemoryType::Heap", "Shared and Auto");
}
TEST_F(ScheduleErrors, StageTwice) {
  b.compute_root().gpu_tile(x, y, 32, 8);
  b.stage(u, MemoryType::Shared);
  b.stage(u, MemoryType::Shared);
  EXPECT_TRUE(only_finding(check(), {"b.stage(u, MemoryType::Shared)", "u is staged already"}));
}
TEST_F(ScheduleErrors, StageOfAFuncPlacedElsewhere) {
  Func c("c");
  c(x, y) = b(x, y) * 2;
  next(x, y) = next(x, y) + c(x, y);
  c.compute_root().gpu_tile(x, y, 32, 8).stage(b, MemoryType::Shared);
  EXPECT_FINDING(b.compute_at(next, y), "staged by c");
}
TEST_F(ScheduleErrors, ReadOnlyOfSomethingThatIsNoInput) {
  next.apply({{{"next", 0, {{directive::ReadOnly{"u"}, {}}}}}});
  EXPECT_TRUE(check().empty()) << "next reads u through b";
  Pipeline p = make_pipeline({next.function()});
  auto copy = std::make_shared<FunctionData>(*p.funcs.back());
  copy->definitions[0].directives = {{directive::ReadOnly{"b"}, {}}};
  p.funcs.back() = copy;
  EXPECT_TRUE(only_finding(check_schedule(p, true), {"b is no input; inputs are u"}));
}
TEST_F(ScheduleErrors, Bounds) {
  constexpr std::int64_t kExtent = (std::int64_t{1} << 32) + 3, kMin = std::int64_t{1} << 28;
  EXPECT_FINDING(next.bound(x, 0, 0), "the extent is 0; legal are 1 to 1073741823");
  next.clear_schedule();
  EXPECT_FINDING(next.bound(x, 0, -1), "the extent is -1;");
  next.clear_schedule();
  EXPECT_FINDING(next.bound(x, 0, kExtent), "bound(x, 0, 4294967299)", "the extent is 4294967299;");
  next.clear_schedule();
  EXPECT_FINDING(next.bound(x, 0, INT64_MAX), "the extent is 9223372036854775807;");
  next.clear_schedule();
  EXPECT_FINDING(next.bound(x, 0, INT64_MIN), "the extent is -9223372036854775808;");
  next.clear_schedule();
  EXPECT_FINDING(next.bound(x, -kMin - 1, 4),
                 "the min is -268435457; legal are -268435456 to 268435456");
  next.clear_schedule();
  EXPECT_FINDING(next.bound(x, INT64_MIN, 4), "the min is -9223372036854775808;");
  next.clear_schedule();
  next.bound(x, INT64_MIN, INT64_MAX);
  EXPECT_EQ(check().size(), 2U) << "the min and the extent";
  next.clear_schedule();
  next.bound(x, -kMin, 1).bound(y, kMin, (std::int64_t{1} << 30) - 1);
  EXPECT_TRUE(check().empty());
  next.clear_schedule();
  EXPECT_FINDING(next.bound(z, 0, 4), "z is no dimension of next", "x, y");
  next.clear_schedule();
  EXPECT_FINDING(next.align_storage(x, 0), "the number of elements is 0; legal are 1 to");
}
TEST_F(ScheduleErrors, LaunchLimits) {
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(next.launch_bounds(33), "min_blocks is 33", "1 to 32");
  next.clear_schedule();
  next.gpu_tile(x, y, 32, 8);
  EXPECT_FINDING(next.max_registers(8), "registers is 8", "16 to 255");
  next.clear_schedule();
  EXPECT_FINDING(next.max_registers(64), "next has no block loops");
}

TEST_F(ScheduleErrors, AllFindingsAreThrownTogether) {
  next.split(z, xo, xi, 8).vectorize(x, 3);
  EXPECT_TRUE(fails_with([&] { throw_if_any(check()); }, {"no loop z", "3 is no vector width"}));
}

TEST_F(ScheduleErrors, DirectivesBeforeTheDefinition) {
  Func f("f");
  EXPECT_FAILS(f.split(x, xo, xi, 8), "f.split(x, xo, xi, 8)", "f is not defined yet");
  EXPECT_FAILS(f.compute_root(), "f is not defined yet");
}
TEST_F(ScheduleErrors, InOfSomethingThatIsNotRead) {
  EXPECT_FAILS(u.in(next), "u.in(next)", "next does not read u", "it reads b");
  Func f("f");
  EXPECT_FAILS(u.in(f), "f is not defined yet");
  EXPECT_FAILS(f.in(next), "f is not defined yet");
}

TEST_F(ScheduleErrors, ApplyOfNamesThatAreNotThere) {
  namespace d = directive;
  const auto apply = [&](DefinitionSchedule stage) { next.apply({{std::move(stage)}}); };
  EXPECT_TRUE(fails_with(
      [&] {
        apply({"f", 0, {{d::ComputeRoot{}, {}}}});
      },
      {"no Func f", "legal are b, next"}));
  EXPECT_TRUE(fails_with(
      [&] {
        apply({"b", 1, {{d::ComputeRoot{}, {}}}});
      },
      {"definition 1 of b, which has 1 definition"}));
  EXPECT_TRUE(fails_with(
      [&] {
        apply({"b", 0, {{d::Vectorize{"q", 4, {}}, {}}}});
      },
      {"b.vectorize(q, 4)", "no q in b", "x, y"}));
  EXPECT_TRUE(fails_with([&] { apply({"b", 0, {{d::ComputeAt{{"q", "x"}}, {}}}}); }, {"no Func q"}));
  EXPECT_TRUE(fails_with(
      [&] {
        apply({"b", 0, {{d::StagedSource{"q", {}, {}}, {}}}});
      },
      {"no Func or input q", "u, b, next"}));
  EXPECT_TRUE(fails_with([&] { apply({"b", 0, {{d::Bound{"xo", 0, 1}, {}}}}); }, {"no xo in b"}));
  EXPECT_TRUE(fails_with(
      [&] {
        apply({"next", 0, {{d::In{"u", "u.in.next"}, {}}}});
      },
      {"u.in(next)", "next does not read u; it reads b"}));
}

}  // namespace
TEST_F(ScheduleErrors, AFuncStagedInItselfByAReaderComputedInsideIt) {
  Func first("first");
  Func second("second");
  Func third("third");
  first(x, y) = 1.0F;
  second(x, y) = first(x, y);
  third(x, y) = second(x, y);
  first.stage(first, MemoryType::Shared);
  second.compute_at(first, y);
  EXPECT_FALSE(check_schedule(make_pipeline({third.function()}), true).empty());
}

}  // namespace mica
