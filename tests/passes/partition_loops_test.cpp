// Loops of which the first iterations pass a test that the others do not.
#include <gtest/gtest.h>

#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;

struct Row {
  Var x{"x"}, y{"y"};
  ImageParam u{Float(32), 2, "u"};
  Func f{"f"};
  Row() { f(x, y) = u(x, y) + u(x - 1, y) + u(x + 1, y); }
};

TEST(PartitionLoops, TakesTheVectorConditionOutOfTheLoop) {
  Row r;
  r.f.vectorize(r.x, 8);
  const std::string text = code(r.f, Backend::Host, "partition_loops");
  EXPECT_EQ(count(text, "if "), 0) << text;
  EXPECT_EQ(count(text, "for f.x in"), 2) << text;
}

// Rows that a vector's code writes out are tested together, once for all their vectors.
TEST(PartitionLoops, TakesTheTestsOfWrittenOutRowsOutOfTheLoops) {
  for (const bool parallel : {false, true}) {
    Row r;
    r.f.split(r.y, "yo", "yi", 4).vectorize(r.x, 8).reorder("x.vec", "yi", "x", "yo").unroll("yi");
    if (parallel) r.f.parallel("yo");
    const std::string text = code(r.f, Backend::Host, "partition_loops");
    const std::string loop = (parallel ? "parallel f.yo in [0," : "for f.yo in [0, f.yo.whole)");
    const std::size_t whole = text.find(loop);
    ASSERT_NE(whole, std::string::npos) << text;
    const std::size_t test = text.find("f.yo*4 + f.yi < f.extent.1");
    ASSERT_NE(test, std::string::npos) << text;
    const std::string inside = text.substr(whole, test - whole);
    EXPECT_NE(inside.find("for f.x in [0, f.x.whole)"), std::string::npos) << text;
    EXPECT_EQ(count(text, "vectorized f.x.vec in"), 2) << "with tests and without\n" << text;
    EXPECT_EQ(count(text, "f.yo*4 + f.yi < f.extent.1"), 1) << text;
  }
}

// Written out inside of the two loops of a vector, that of whole ones and that of the others' points.
TEST(PartitionLoops, TakesTheTestsOutOfBothLoopsOfAVector) {
  Row r;
  r.f.split(r.y, "yo", "yi", 4).reorder("yi", "x", "yo").vectorize(r.x, 8).unroll("yi");
  const std::string text = code(r.f, Backend::Host, "partition_loops");
  EXPECT_EQ(count(text, "for f.yo in"), 2) << text;
  EXPECT_NE(text.find("for f.yo in [0, f.yo.whole)"), std::string::npos) << text;
}

// A loop that was fused says with its quotient where it is.
TEST(PartitionLoops, TakesTestsOutOfFusedLoops) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  Func f("f");
  f(x, y, z) = u(x, y, z - 1) + u(x, y, z);
  f.split(z, "zo", "zi", 4).split(y, "yo", "yi", 8).reorder("zi", "x", "yi", "yo", "zo").unroll("zi");
  f.fuse("yo", "zo", "task");
  const std::string serial = code(f, Backend::Host, "partition_loops");
  EXPECT_EQ(serial.find(".whole"), std::string::npos) << serial;
  f.parallel("task");
  const std::string text = code(f, Backend::Host, "partition_loops");
  const std::size_t test = text.find("if f.task/((f.extent.1 + 7)/8) < f.task.whole:");
  ASSERT_NE(test, std::string::npos) << text;
  const std::string whole = text.substr(test, text.find("else:", test) - test);
  EXPECT_EQ(count(whole, "unrolled f.zi in [0, 4)"), 1) << text;
  EXPECT_EQ(count(whole, "f.zi < f.extent.2"), 0) << text;
  EXPECT_EQ(count(text, "f.zi < f.extent.2"), 1) << text;
}

// Strips of 256 points, of whose last one little may be left: no iterations without points.
TEST(PartitionLoops, EndsWhereNothingIsLeftOfAVector) {
  Row r;
  r.f.split(r.x, "xo", "xi", 256).reorder("xi", "y", "xo").vectorize("xi", 16);
  const std::string text = code(r.f, Backend::Host, "partition_loops");
  EXPECT_NE(
      text.find("for f.xi in [f.xi.whole, f.xi.whole + (max(f.xi.whole, min((f.extent.0 + 15)/16 - "
                "f.xo*16, 16)) - f.xi.whole))"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace mica
