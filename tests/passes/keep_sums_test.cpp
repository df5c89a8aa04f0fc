// Which sums stay in registers while their loops run.
#include <gtest/gtest.h>

#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;

struct Filter {
  Var x{"x"}, y{"y"};
  ImageParam u{Float(32), 2, "u"};
  RDom r{{{0, 3}, {0, 4}}, "r"};
  Func f{"f"};
  Filter() {
    f(x, y) = 0.0F;
    f(x, y) += u(x + r.x, y + r.y);
    f.bound(x, 0, 64).bound(y, 0, 64);
  }
  [[nodiscard]] std::string kept(Variant variant = {}) const {
    return code(f, Backend::Host, "keep_sums", variant);
  }
};

TEST(KeepSums, OfVectorsInRowsAroundTheDomain) {
  Filter filter;
  filter.f.update().split("y", "y", "row", 4).reorder("row", "r.x", "r.y", "x", "y");
  filter.f.update().vectorize("x", 16).unroll("row");
  const std::string text = filter.kept();
  EXPECT_EQ(count(text, "allocate register f32 f.kept[4][16]"), 1) << text;
  EXPECT_EQ(count(text, "f.kept[f.u1.x.vec, f.u1.row] = f.kept[f.u1.x.vec, f.u1.row] + u["), 1) << text;
  EXPECT_EQ(count(text, "f.kept[f.u1.x.vec, f.u1.row] = f["), 1) << text;
  EXPECT_EQ(count(text, "] = f.kept[f.u1.x.vec, f.u1.row]\n"), 1) << text;
}

TEST(KeepSums, OfAVectorInTheDomainsLoops) {
  Filter filter;
  filter.f.update().split("x", "xo", "xi", 16).reorder("xi", "r.x", "r.y", "xo", "y");
  filter.f.update().vectorize("xi", 16);
  EXPECT_EQ(count(filter.kept(), "allocate register f32 f.kept[16]"), 1) << filter.kept();
}

// All copies of a loop of the domain that is written out add to the one sum.
TEST(KeepSums, OfADomainThatIsWrittenOut) {
  Filter filter;
  filter.f.update().reorder("r.x", "r.y", "x", "y").vectorize("x", 16).unroll("r.x");
  const std::string text = filter.kept();
  EXPECT_EQ(count(text, "allocate register f32 f.kept[16]"), 1) << text;
  EXPECT_EQ(count(text, "f.kept[f.u1.x.vec] = f["), 1) << text;
}

TEST(KeepSums, UnderTestsThatTheDomainLeavesAsTheyAre) {
  Filter filter;
  filter.f.bound(filter.y, 0, 62);
  filter.f.update().split("y", "y", "row", 4).reorder("row", "r.x", "r.y", "x", "y");
  filter.f.update().vectorize("x", 16).unroll("row");
  const std::string text = filter.kept();
  EXPECT_EQ(count(text, "allocate register f32 f.kept[4][16]"), 2)
      << "of all four rows, and of the last";
  EXPECT_EQ(count(text, "if f.u1.row + 60 < 62:"), 3) << "loads, sums and stores of the last\n" << text;
}

// A sum of 17 rows of vectors is no longer one of registers; an output that may be an input's memory is
// stored when it was; rows whose loops are inside of others' are loaded and stored.
TEST(KeepSums, NotWhereItMayNot) {
  Filter tall, shared, inside, threads;
  tall.f.update().split("y", "y", "row", 32).reorder("row", "r.x", "r.y", "x", "y");
  tall.f.update().vectorize("x", 16).unroll("row");
  EXPECT_EQ(count(tall.kept(), ".kept"), 0) << tall.kept();
  Variant in_place;
  in_place.separate = false;
  shared.f.update().reorder("r.x", "r.y", "x", "y");
  EXPECT_GT(count(shared.kept(), ".kept"), 0);
  EXPECT_EQ(count(shared.kept(in_place), ".kept"), 0);
  inside.f.update().reorder("x", "y", "r.x", "r.y");
  EXPECT_EQ(count(inside.kept(), ".kept"), 0);
  threads.f.gpu_tile("x", "y", 16, 4);
  threads.f.update().gpu_tile("x", "y", 16, 4);
  EXPECT_EQ(count(code(threads.f, Backend::GpuEmulator, "keep_sums"), ".kept"), 0);
}

// What is computed anew in each iteration: nothing need be there before.
TEST(KeepSums, NotOfWhatIsNoSum) {
  const Var x("x");
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 9}}, "r");
  Func last("last"), marks("marks");
  last(x) = 0.0F;
  last(x) = u(x, r);
  marks(x) = Tuple(0.0F, 0);
  marks(x) = Tuple(max(marks(x)[0], u(x, r)), select(u(x, r) > marks(x)[0], r, marks(x)[1]));
  EXPECT_EQ(count(code(last, Backend::Host, "keep_sums"), ".kept"), 0);
  for (Func f : {last, marks}) f.update().vectorize("x", 8);
  EXPECT_EQ(count(code(last, Backend::Host, "keep_sums"), ".kept"), 0);
  EXPECT_GT(count(code(marks, Backend::Host, "keep_sums"), "marks.1.kept"), 0);
}

// Points that data choose may be one.
TEST(KeepSums, NotOfPointsThatMayBeOne) {
  const Var x("x"), y("y");
  const ImageParam u(Int(32), 1, "u"), v(Int(32), 1, "v");
  const RDom r({{0, 64}}, "r");
  Func chosen("chosen"), row("row");
  chosen(x, y) = x;
  chosen(x, clamp(u(x), 0, 7)) += v(r);
  row(x, y) = x;
  row(x, 3) += v(r);
  for (Func f : {chosen, row}) {
    f.bound(x, 0, 64);
    f.update().split("x", "xo", "xi", 8).reorder("xi", "r.x", "xo").vectorize("xi", 8);
  }
  EXPECT_EQ(count(code(chosen, Backend::Host, "keep_sums"), ".kept"), 0);
  EXPECT_GT(count(code(row, Backend::Host, "keep_sums"), ".kept"), 0);
}

}  // namespace
}  // namespace mica
