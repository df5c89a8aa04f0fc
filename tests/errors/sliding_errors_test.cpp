// fold_storage and reorder_storage where they cannot be followed.
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "dsl/check/check_schedule.h"
#include "dsl/func/func.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;
using test::only_finding;

const Var x("x"), y("y"), yo("yo"), yi("yi");

class SlidingErrors : public ::testing::Test {
 protected:
  SlidingErrors() {
    b(x, y) = u(x - 1, y) + u(x + 1, y);
    next(x, y) = b(x, y - 1) + b(x, y + 1);
  }
  Diagnostics check() const { return check_schedule(make_pipeline({next.function()}), false); }
  void lower_on(Backend backend) const {
    lower(make_pipeline({next.function()}), {Target{backend, 0}, {}, {}, DeviceLimits{}});
  }
  ImageParam u{Float(32), 2, "u"};
  Func b{"b"}, next{"next"};
};

#define EXPECT_FINDING(statement, ...) \
  statement;                           \
  EXPECT_TRUE(only_finding(check(), {__VA_ARGS__}, __LINE__))
#define EXPECT_REFUSED(statement, ...) \
  statement;                           \
  EXPECT_TRUE(fails_with([&] { lower_on(Backend::Host); }, {__VA_ARGS__}, __LINE__))

TEST_F(SlidingErrors, FoldsOfADimensionThatIsNotThere) {
  b.compute_at(next, y).store_root();
  EXPECT_FINDING(b.fold_storage("z", 4), "z is no dimension of b", "x, y");
}
TEST_F(SlidingErrors, FoldsByNothing) {
  b.compute_at(next, y).store_root();
  EXPECT_FINDING(b.fold_storage(y, 0), "the factor is 0; legal are 1 to");
}
TEST_F(SlidingErrors, FoldsOfAFuncThatIsComputedWhole) {
  b.compute_root();
  EXPECT_FINDING(b.fold_storage(y, 4), "b is computed whole", "add compute_at(...) and store_root()");
}
TEST_F(SlidingErrors, FoldsOfAnInlineFunc) {
  EXPECT_FINDING(b.fold_storage(y, 4), "b is computed inline", "add compute_at(...)");
}
TEST_F(SlidingErrors, FoldsOfStorageInsideTheLoop) {
  b.compute_at(next, y);
  EXPECT_FINDING(b.fold_storage(y, 4), "b is stored at loop y of next, where it is computed",
                 "add store_root()");
}
TEST_F(SlidingErrors, FoldsThatDropWhatIsAlive) {
  next.reorder(x, y);
  b.compute_at(next, y).store_root();
  EXPECT_REFUSED(b.fold_storage(y, 2), "fold_storage(y, 2) of b",
                 "an iteration of loop y reads 3 indices of y, and 2 would be stored",
                 "the factor is to be 3 or more");
  b.clear_schedule().compute_at(next, y).store_root().fold_storage(y, 3);
  EXPECT_NO_THROW(lower_on(Backend::Host));
}
TEST_F(SlidingErrors, FoldsAcrossTheWindow) {
  next.reorder(x, y);
  b.compute_at(next, y).store_root();
  EXPECT_REFUSED(b.fold_storage(x, 8), "only y can be folded", "fold that one");
}
TEST_F(SlidingErrors, FoldsOfWhatDoesNotSlide) {
  next.reorder(x, y);
  b(x, y) += 1.0F;
  b.compute_at(next, y).store_root();
  EXPECT_REFUSED(b.fold_storage(y, 8), "b does not slide along y: b has updates", "remove this");
}
TEST_F(SlidingErrors, FoldsBetweenLoopsOfTwoFuncs) {
  Func last("last");
  last(x, y) = next(x, y) + next(x, y + 1);
  last.reorder(x, y);
  next.compute_at(last, y).reorder(x, y);
  b.compute_at(next, y).store_root();
  b.fold_storage(y, 8);
  EXPECT_TRUE(fails_with(
      [&] {
        lower(make_pipeline({last.function()}), {Target{Backend::Host, 0}, {}, {}, DeviceLimits{}});
      },
      {"b is computed in loops of next and stored outside of them", "store it at a loop of next"},
      __LINE__ - 6));
}
TEST_F(SlidingErrors, FoldsInsideAKernel) {
  next.gpu_tile(x, y, 16, 4).unroll(y, 2);
  b.compute_at(next, "y.unroll").store_at(next, "x.thread");
  EXPECT_REFUSED(b.fold_storage(y, 8), "fold_storage(y, 8) of b", "it is computed inside a kernel");
}

TEST_F(SlidingErrors, TheOrderOfAnOutput) {
  EXPECT_FINDING(next.reorder_storage(y, x), "next is an output, and its memory is the caller's",
                 "a buffer with those strides");
}
TEST_F(SlidingErrors, TheOrderOfAnInlineFunc) {
  EXPECT_FINDING(b.reorder_storage(y, x), "b is computed inline and has no storage");
}
TEST_F(SlidingErrors, TheOrderOfOneDimension) {
  b.compute_root();
  EXPECT_FINDING(b.reorder_storage({y}), "it needs at least two");
}
TEST_F(SlidingErrors, TheOrderOfADimensionTwice) {
  b.compute_root();
  EXPECT_FINDING(b.reorder_storage(y, y), "y is named twice");
}
TEST_F(SlidingErrors, TheOrderOfWhatABlockHolds) {
  b.compute_root().gpu_tile(x, y, 8, 8);
  next.gpu_tile(x, y, 8, 8).stage(b, MemoryType::Shared);
  EXPECT_FINDING(b.reorder_storage(y, x), "rows of b are copied into a block's box or ring");
}

}  // namespace
}  // namespace mica
