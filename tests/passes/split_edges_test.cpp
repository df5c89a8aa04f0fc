// What is beside the interior of host loops with boundary conditions, and which loops have one.
#include <string>

#include <gtest/gtest.h>

#include "dsl/func/func.h"
#include "dsl/func/rdom.h"
#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

std::string code(const Func& f, const char* pass = "split_interiors") {
  return test::code(f, Backend::Host, pass);
}
/// From the first `begin` to the next `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  return from == std::string::npos ? "" : text.substr(from, text.find(end, from) - from);
}

class SplitEdges : public ::testing::Test {
 protected:
  ImageParam u_{Float(32), 2, "u"};
  Func f_{"f"};
};

// In a row of more than a vector no vector sticks out at both ends: each end has one name of a lane.
TEST_F(SplitEdges, ChooseAtTheirOwnEndOnly) {
  const Func b = BoundaryConditions::repeat_edge(u_);
  f_(x, y) = b(x - 1, y) + b(x + 1, y);
  const std::string text = code(f_);
  const std::string left = between(text, "for f.x in [0, f.x.inside):", "for f.x in [f.x.inside");
  const std::string right = between(text, "for f.x in [f.x.outside, ", "else:");
  EXPECT_EQ(count(left, "select(f.x.vec >="), 1) << text;
  EXPECT_EQ(count(left, "select(f.x.vec <="), 0) << text;
  EXPECT_EQ(count(right, "select(f.x.vec <="), 1) << text;
  EXPECT_EQ(count(right, "select(f.x.vec >="), 0) << text;
  // A row of one vector chooses at both.
  const std::string other = text.substr(text.find(right) + right.size());
  const std::string both = between(other, "for f.x in [0, (f.extent.0 + 15)/16):", "else:");
  EXPECT_EQ(count(both, "select(f.x.vec <="), 1) << text;
  EXPECT_EQ(count(both, "select(f.x.vec >="), 1) << text;
}

// The left end of a periodic row is computed last: it reads the right one.
TEST_F(SplitEdges, ReadWhatIsInTheCache) {
  const auto left_is_first = [&](const Func& b) {
    Func f("f");
    f(x, y) = b(x - 1, y) + b(x + 1, y);
    const std::string text = code(f);
    return text.find("for f.x in [0, f.x.inside):") < text.find("for f.x in [f.x.outside, ");
  };
  EXPECT_FALSE(left_is_first(BoundaryConditions::repeat_image(u_)));
  EXPECT_TRUE(left_is_first(BoundaryConditions::repeat_edge(u_)));
  EXPECT_TRUE(left_is_first(BoundaryConditions::mirror_image(u_)));
  EXPECT_TRUE(left_is_first(BoundaryConditions::mirror_interior(u_)));
  EXPECT_TRUE(left_is_first(BoundaryConditions::constant_exterior(u_, 0.0F)));
}

// Else all rows of the first and of the last block would have the condition.
TEST_F(SplitEdges, OfABlockOfRowsAreSingleRows) {
  const ImageParam v(Float(32), 3, "v");
  const Func b = BoundaryConditions::constant_exterior(v, 0.0F);
  Func f("f");
  f(x, y, z) = b(x - 1, y, z) + b(x + 1, y, z) + b(x, y - 1, z) + b(x, y + 1, z) + b(x, y, z - 1) +
               b(x, y, z + 1);
  const std::string text = code(f);
  EXPECT_NE(text.find("if f.y.row.inside <= f.y.row && f.y.row < f.y.row.outside:"), std::string::npos)
      << text;
}

// The first point of a colour in a row follows it with a period of 2: no row is outside for that.
TEST_F(SplitEdges, AreNoneOfAShortPeriod) {
  const Func b = BoundaryConditions::repeat_edge(u_);
  const ImageParam v(Float(32), 2, "v");
  f_(x, y) = v(x, y);
  f_(x, y) = 0.25F * (f_(x - 1, y) + f_(x + 1, y)) + b(x, y - 1);
  f_.update().color((x + y) % 2);
  f_.bound(x, 0, 256).bound(y, 0, 256);
  const std::string text = code(f_);
  const std::string inside = between(text, "let f.u1.y.inside = ", "\n");
  EXPECT_EQ(inside,
            "let f.u1.y.inside = cast<i32>(min(max(cast<i64>(0), 0 - (-1 + cast<i64>(u.min.1)*-1)),"
            " cast<i64>(0) + cast<i64>(256)))")
      << text;
}

// The box of a Func that is computed inside of a tile follows the tile.
TEST_F(SplitEdges, OfTilesAreThoseOfWhatIsComputedInside) {
  const Var xo("xo"), yo("yo"), xi("xi"), yi("yi");
  const Func b = BoundaryConditions::constant_exterior(u_, 0.0F);
  Func g("g");
  g(x, y) = b(x - 1, y) + b(x + 1, y);
  f_(x, y) = g(x, y - 1) + g(x, y + 1);
  f_.tile(x, y, xo, yo, xi, yi, 64, 32).vectorize(xi, 16);
  g.compute_at(f_, xo).vectorize(x, 16);
  const std::string text = code(f_, "simplify_unrolled");
  const std::string whole = between(text, "if f.xo.inside <= f.xo && f.xo < f.xo.outside:", "else:");
  const std::string row = between(whole, "for g.x in [0, 4):", "for f.yi");
  EXPECT_NE(row, "") << text;
  EXPECT_EQ(row.find("select("), std::string::npos) << row;
  EXPECT_EQ(row.find("min("), std::string::npos) << row;
}

// A sum over a box around the point: at the ends its taps are written out, and chosen lane by lane.
TEST_F(SplitEdges, OfSumsOverABoxAreVectors) {
  const Func b = BoundaryConditions::mirror_image(u_);
  const RDom r({{-1, 3}, {-1, 3}});
  f_(x, y) = 0.0F;
  f_(x, y) += b(x + r.x, y + r.y);
  const std::string text = code(f_);
  const std::string left =
      between(text, "for f.u1.x in [0, f.u1.x.inside):", "for f.u1.x in [f.u1.x.inside");
  EXPECT_EQ(count(left, "f[f.min.0"), 72) << "nine stores of four rows, and what they add to\n" << left;
  EXPECT_EQ(count(left, "select(f.u1.x.vec >= f.u1.x.point.cut0"), 12) << left;
}

// One of 9 x 9 points is too large to be written out.
TEST_F(SplitEdges, OfSumsOverALargeBoxAreNot) {
  const Func b = BoundaryConditions::mirror_image(u_);
  const RDom r({{-4, 9}, {-4, 9}});
  f_(x, y) = 0.0F;
  f_(x, y) += b(x + r.x, y + r.y);
  EXPECT_EQ(code(f_).find(".cut"), std::string::npos);
}

}  // namespace
}  // namespace mica::test
